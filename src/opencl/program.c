// SPDX-License-Identifier: MIT
//
// Building programs, once a text.
#include "opencl/program.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define FORMAT "quern-gpu-1" // part of every key: change it when stored programs lose their meaning
#define LOG_LINES 20         // of a failed build that an error shows
#define MOST_BINARY (256u << 20)

typedef struct entry {
    struct entry *next;
    uint64_t hash;                 // of the source
    qrn_cl_source source;          // with copies behind the entry
    uint8_t key[QRN_SHA256_BYTES]; // in files
    cl_program program;            // NULL: some thread is building it
    uint32_t store;                // serial of the store that has it for sure
} entry;

struct qrn_cl_programs {
    const qrn_cl_device *device;
    cl_context context;
    pthread_mutex_t lock; // of the list; not held while a program is built
    pthread_cond_t built; // an entry has changed
    entry *first;
};

qrn_status qrn_cl_programs_create(const qrn_cl_device *d, cl_context context,
                                  qrn_cl_programs **out) {
    qrn_cl_programs *p = *out = qrn_calloc(sizeof *p);
    if (!p)
        return QRN_FAIL(QRN_E_MEM, "out of memory for OpenCL programs");
    p->device = d;
    p->context = context;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->built, NULL);
    return QRN_OK;
}

void qrn_cl_programs_destroy(qrn_cl_programs *p) {
    while (p && p->first) {
        entry *e = p->first;
        p->first = e->next;
        qrn_cl.clReleaseProgram(e->program);
        qrn_free(e);
    }
    if (p) {
        pthread_mutex_destroy(&p->lock);
        pthread_cond_destroy(&p->built);
    }
    qrn_free(p);
}

// --- keys

// A text with its end, so that two of them cannot run into each other.
static void add_text(qrn_sha256 *h, const char *text) { qrn_sha256_add(h, text, strlen(text) + 1); }

static void make_key(const qrn_cl_device *d, const qrn_cl_source *from,
                     uint8_t key[QRN_SHA256_BYTES]) {
    qrn_sha256 h;
    qrn_sha256_begin(&h);
    add_text(&h, FORMAT);
    add_text(&h, from->text);
    add_text(&h, from->options);
    add_text(&h, d->platform_name);
    add_text(&h, d->name);
    add_text(&h, d->driver);
    add_text(&h, d->version);
    add_text(&h, d->tier);
    if (*from->salt)
        add_text(&h, from->salt);
    qrn_sha256_end(&h, key);
}

static size_t size_of(const qrn_cl_source *s) {
    return s->binary_bytes ? s->binary_bytes : strlen(s->text) + 1;
}

// Finding a program in memory needs no more than this and a comparison: graphs of a second context
// are finalized in milliseconds, and a SHA-256 of all texts would be most of them.
static uint64_t hash_bytes(uint64_t h, const char *text, size_t n) {
    for (; n >= 8; n -= 8, text += 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    for (; n; n--)
        h = (h ^ (uint8_t)*text++) * 0x100000001b3u;
    return h;
}

static uint64_t hash_of(const qrn_cl_source *s) {
    uint64_t h = hash_bytes(0, s->options, strlen(s->options));
    h = hash_bytes(h, s->salt, strlen(s->salt));
    return hash_bytes(h, s->text, size_of(s));
}

static bool is_same(const qrn_cl_source *a, const qrn_cl_source *b) {
    return a->binary_bytes == b->binary_bytes && size_of(a) == size_of(b) &&
           memcmp(a->text, b->text, size_of(a)) == 0 && strcmp(a->options, b->options) == 0 &&
           strcmp(a->salt, b->salt) == 0;
}

static entry *new_entry(const qrn_cl_device *d, uint64_t hash, const qrn_cl_source *from) {
    size_t n_text = size_of(from), n_options = strlen(from->options) + 1;
    size_t n_salt = strlen(from->salt) + 1;
    entry *e = qrn_calloc(sizeof *e + n_text + n_options + n_salt);
    if (!e)
        return NULL;
    char *copy = (char *)(e + 1);
    e->hash = hash;
    e->source = (qrn_cl_source){.text = memcpy(copy, from->text, n_text),
                                .binary_bytes = from->binary_bytes,
                                .options = memcpy(copy + n_text, from->options, n_options),
                                .salt = memcpy(copy + n_text + n_options, from->salt, n_salt)};
    if (!from->binary_bytes)
        make_key(d, from, e->key);
    return e;
}

// --- building

static size_t first_lines(const char *text, unsigned n) {
    const char *p = text;
    while (n-- && (p = strchr(p, '\n')))
        p++;
    return p ? (size_t)(p - text) : strlen(text);
}

static qrn_status build_failed(const qrn_cl_programs *p, const qrn_cl_store *store,
                               cl_program program, cl_int err) {
    size_t n = 0;
    qrn_cl.clGetProgramBuildInfo(program, p->device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &n);
    char *all = qrn_calloc(n + 1);
    if (all && n)
        qrn_cl.clGetProgramBuildInfo(program, p->device->id, CL_PROGRAM_BUILD_LOG, n, all, NULL);
    if (all && store && store->say)
        store->say(store->ctx, false, all);
    int shown = all ? (int)first_lines(all, LOG_LINES) : 0;
    qrn_status s =
        QRN_FAIL(QRN_E_OPTIMIZE, "the driver of '%s' cannot build a kernel (%s): %.*s",
                 p->device->name, qrn_cl_error(err), shown < 700 ? shown : 700, all ? all : "");
    qrn_free(all);
    return s;
}

static qrn_status build_text(const qrn_cl_programs *p, const qrn_cl_store *store, const char *text,
                             const char *options, cl_program *out) {
    cl_int err;
    cl_program program = qrn_cl.clCreateProgramWithSource(p->context, 1, &text, NULL, &err);
    if (!program)
        return QRN_FAIL(QRN_E_MEM, "no OpenCL program can be made: %s", qrn_cl_error(err));
    err = qrn_cl.clBuildProgram(program, 1, &p->device->id, options, NULL, NULL);
    if (err != CL_SUCCESS) {
        qrn_status s = build_failed(p, store, program, err);
        qrn_cl.clReleaseProgram(program);
        return s;
    }
    *out = program;
    return QRN_OK;
}

// A program from what a driver once returned; NULL: the driver rejects it.
static cl_program from_binary(const qrn_cl_programs *p, const void *binary, size_t n,
                              const char *options) {
    cl_int err = CL_INVALID_BINARY, status = CL_SUCCESS;
    const unsigned char *bytes = binary;
    cl_program program =
        qrn_cl.clCreateProgramWithBinary(p->context, 1, &p->device->id, &n, &bytes, &status, &err);
    if (!program)
        return NULL;
    if (err == CL_SUCCESS && status == CL_SUCCESS)
        err = qrn_cl.clBuildProgram(program, 1, &p->device->id, options, NULL, NULL);
    if (err == CL_SUCCESS && status == CL_SUCCESS)
        return program;
    qrn_cl.clReleaseProgram(program);
    return NULL;
}

static qrn_status build_binary(const qrn_cl_programs *p, const qrn_cl_source *from,
                               cl_program *out) {
    *out = from->binary_bytes <= MOST_BINARY
               ? from_binary(p, from->text, from->binary_bytes, from->options)
               : NULL;
    return *out ? QRN_OK
                : QRN_FAIL(QRN_E_OPTIMIZE,
                           "the driver of '%s' rejects a kernel that is a binary of %zu bytes: it "
                           "was built for another device or driver, or is damaged",
                           p->device->name, from->binary_bytes);
}

// --- files

static cl_program from_file(const qrn_cl_programs *p, const qrn_cl_store *store, const entry *e) {
    const void *binary;
    size_t n;
    void *data;
    if (!store || !qrn_cl_store_load(store, e->key, &data, &binary, &n))
        return NULL;
    cl_program program = from_binary(p, binary, n, e->source.options);
    qrn_free(data);
    return program;
}

static void to_file(qrn_cl_store *store, entry *e, cl_program program) {
    size_t n = 0;
    e->store = store->serial;
    if (!store->folder ||
        qrn_cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof n, &n, NULL) !=
            CL_SUCCESS ||
        !n)
        return;
    unsigned char *bytes = qrn_alloc(n);
    if (bytes && qrn_cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes,
                                         NULL) == CL_SUCCESS)
        qrn_cl_store_save(store, e->key, bytes, n);
    qrn_free(bytes);
}

// A folder that the client named is to have every program that its context uses.
static void complete_store(qrn_cl_store *store, entry *e) {
    if (!store || !store->named || e->store == store->serial || e->source.binary_bytes)
        return;
    if (store->fresh || !qrn_cl_store_has(store, e->key))
        to_file(store, e, e->program);
    e->store = store->serial;
}

// --- the list

// The entry of a source, when it is built; NULL: there is none.
static entry *find(qrn_cl_programs *p, uint64_t hash, const qrn_cl_source *source) {
    for (;;) {
        entry *e = p->first;
        while (e && (e->hash != hash || !is_same(&e->source, source)))
            e = e->next;
        if (!e || e->program)
            return e;
        pthread_cond_wait(&p->built, &p->lock);
    }
}

static void drop(qrn_cl_programs *p, entry *e) {
    entry **at = &p->first;
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    qrn_free(e);
}

static qrn_status build(qrn_cl_programs *p, qrn_cl_store *store, entry *e, cl_program *out) {
    if (e->source.binary_bytes)
        return build_binary(p, &e->source, out);
    *out = from_file(p, store, e);
    if (*out) {
        e->store = store->serial;
        return QRN_OK;
    }
    QRN_TRY(build_text(p, store, e->source.text, e->source.options, out));
    if (store)
        to_file(store, e, *out);
    return QRN_OK;
}

qrn_status qrn_cl_program(qrn_cl_programs *p, qrn_cl_store *store, const qrn_cl_source *source,
                          cl_program *out) {
    qrn_cl_source from = *source;
    from.salt = source->salt ? source->salt : "";
    uint64_t hash = hash_of(&from);
    pthread_mutex_lock(&p->lock);
    entry *e = find(p, hash, &from);
    if (e) {
        complete_store(store, e);
        *out = e->program;
        pthread_mutex_unlock(&p->lock);
        return QRN_OK;
    }
    e = new_entry(p->device, hash, &from);
    if (e) {
        e->next = p->first;
        p->first = e;
    }
    pthread_mutex_unlock(&p->lock);
    if (!e)
        return QRN_FAIL(QRN_E_MEM, "out of memory for an OpenCL program");
    cl_program program = NULL;
    qrn_status s = build(p, store, e, &program);
    pthread_mutex_lock(&p->lock);
    e->program = program;
    if (s != QRN_OK)
        drop(p, e);
    pthread_cond_broadcast(&p->built);
    pthread_mutex_unlock(&p->lock);
    *out = program;
    return s;
}
