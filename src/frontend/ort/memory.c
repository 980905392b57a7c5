// SPDX-License-Identifier: MIT
//
// Shared memory; see memory.h.
#include "frontend/ort/memory.h"

#include "base/mem.h"

#include "HTP/QnnHtpMem.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libcdsprpc.so"
#define HEAP_SYSTEM 25 // the heap that every client of the library names
#define FLAGS 1u
#define VENDOR 0x5143u // as the public provider has it

// A tensor that a context knows.
typedef struct registration {
    struct registration *next;
    const qc_client *client;
    Qnn_ContextHandle_t context;
    const void *at;
    size_t bytes;
    Qnn_DataType_t dtype;
    Qnn_MemHandle_t handle;
} registration;

typedef struct buffer {
    struct buffer *next;
    char *data;
    size_t bytes;
    int fd;
    registration *known;
} buffer;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards all below
static buffer *buffers;
static struct {
    void *lib;
    void *(*alloc)(int heap, uint32_t flags, int bytes);
    void (*free)(void *data);
    int (*to_fd)(void *data);
} rpc;

// --- the library

static void take(const char *name, void *out) {
    void *symbol = rpc.lib ? dlsym(rpc.lib, name) : NULL;
    memcpy(out, &symbol, sizeof symbol);
}

static void *open_library(void) {
    char path[PATH_MAX];
    Dl_info self;
    const char *slash = NULL;
    if (dladdr((const void *)&lock, &self) && self.dli_fname)
        slash = strrchr(self.dli_fname, '/');
    if (slash) {
        snprintf(path, sizeof path, "%.*s/" LIBRARY, (int)(slash - self.dli_fname), self.dli_fname);
        void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (lib)
            return lib;
    }
    return dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

// With the lock held. The library stays open: buffers may outlive sessions.
static qrn_status start(void) {
    if (rpc.to_fd)
        return QRN_OK;
    rpc.lib = open_library();
    if (!rpc.lib)
        return QRN_FAIL(QRN_E_NOT_FOUND,
                        "shared memory: " LIBRARY " is neither beside the plugin nor in the "
                        "loader's path (%s)",
                        dlerror());
    take("rpcmem_alloc", &rpc.alloc);
    take("rpcmem_free", &rpc.free);
    take("rpcmem_to_fd", &rpc.to_fd);
    if (rpc.alloc && rpc.free && rpc.to_fd)
        return QRN_OK;
    dlclose(rpc.lib);
    rpc.lib = NULL;
    rpc.to_fd = NULL;
    return QRN_FAIL(QRN_E_INCOMPATIBLE,
                    "shared memory: " LIBRARY " has no rpcmem_alloc, rpcmem_free or rpcmem_to_fd");
}

qrn_status qe_memory_start(void) {
    pthread_mutex_lock(&lock);
    qrn_status s = start();
    pthread_mutex_unlock(&lock);
    return s;
}

qrn_status qe_memory_describe(OrtMemoryInfo **out) {
    QE_TRY(CreateMemoryInfo_V2, "QnnHtpShared", ORT_MEMORY_OF_CPU, VENDOR, 0,
           ORT_MEMORY_HOST_ACCESSIBLE, 0, ORT_ALLOCATOR_OF_DEVICE, out);
    return QRN_OK;
}

// --- allocators

typedef struct allocator {
    OrtAllocator base; // first
    const OrtMemoryInfo *info;
} allocator;

static void *make_buffer(size_t bytes) {
    buffer *b = bytes <= INT_MAX ? qrn_calloc(sizeof *b) : NULL;
    if (!b || start() != QRN_OK || !(b->data = rpc.alloc(HEAP_SYSTEM, FLAGS, (int)bytes))) {
        qrn_free(b);
        return NULL;
    }
    b->bytes = bytes;
    b->fd = rpc.to_fd(b->data);
    b->next = buffers;
    buffers = b;
    return b->data;
}

static void *alloc(OrtAllocator *a, size_t bytes) {
    (void)a;
    if (!bytes)
        return NULL;
    pthread_mutex_lock(&lock);
    void *data = make_buffer(bytes);
    pthread_mutex_unlock(&lock);
    return data;
}

// Forgets a buffer's tensors, or those of one client.
static void forget(buffer *b, const qc_client *c) {
    for (registration **r = &b->known; *r;) {
        registration *old = *r;
        if (c && old->client != c) {
            r = &old->next;
            continue;
        }
        *r = old->next;
        if (old->client->qnn.memDeRegister)
            old->client->qnn.memDeRegister(&old->handle, 1);
        qrn_free(old);
    }
}

static void release(OrtAllocator *a, void *data) {
    (void)a;
    pthread_mutex_lock(&lock);
    buffer **at = &buffers;
    while (*at && (*at)->data != data)
        at = &(*at)->next;
    buffer *b = *at;
    if (b) {
        *at = b->next;
        forget(b, NULL);
        rpc.free(b->data);
    }
    pthread_mutex_unlock(&lock);
    qrn_free(b);
}

static const OrtMemoryInfo *info_of(const OrtAllocator *a) { return ((const allocator *)a)->info; }

OrtStatus *qe_memory_allocator(const OrtMemoryInfo *info, OrtAllocator **out) {
    allocator *a = qrn_calloc(sizeof *a);
    if (!a)
        return qe_status(QRN_FAIL(QRN_E_MEM, "shared memory: no memory for an allocator"));
    a->base = (OrtAllocator){.version = ORT_API_WANTED,
                             .Alloc = alloc,
                             .Free = release,
                             .Info = info_of,
                             .Reserve = alloc};
    a->info = info;
    *out = &a->base;
    return NULL;
}

void qe_memory_allocator_free(OrtAllocator *a) { qrn_free(a); }

// --- tensors

static qrn_status enter(const qc_client *c, Qnn_ContextHandle_t context, const qc_tensor *t,
                        buffer *b, const registration *like) {
    QnnMemHtp_Descriptor_t place = {
        .type = QNN_HTP_MEM_SHARED_BUFFER,
        .size = b->bytes,
        .sharedBufferConfig = {b->fd, (uint64_t)((const char *)like->at - b->data)}};
    Qnn_MemDescriptor_t about = {.memShape = {t->rank, t->t.v1.dimensions, NULL},
                                 .dataType = t->t.v1.dataType,
                                 .memType = QNN_MEM_TYPE_CUSTOM,
                                 .customInfo = &place};
    registration *r = qrn_alloc(sizeof *r);
    if (!r)
        return QRN_FAIL(QRN_E_MEM, "shared memory: no memory for a registration");
    *r = *like;
    qrn_status s =
        c->qnn.memRegister
            ? qc_check(c, c->qnn.memRegister(context, &about, 1, &r->handle), "memRegister")
            : QRN_FAIL(QRN_E_UNSUPPORTED, "%s cannot register memory", c->path);
    if (s != QRN_OK) {
        qrn_free(r);
        return s;
    }
    r->next = b->known;
    b->known = r;
    return QRN_OK;
}

static qrn_status find_handle(const qc_client *c, Qnn_ContextHandle_t context, const qc_tensor *t,
                              const void *data, Qnn_MemHandle_t *out) {
    buffer *b = buffers;
    while (b && ((const char *)data < b->data || (const char *)data >= b->data + b->bytes))
        b = b->next;
    if (!b)
        return QRN_OK;
    const registration want = {.client = c,
                               .context = context,
                               .at = data,
                               .bytes = qc_tensor_bytes(t),
                               .dtype = t->t.v1.dataType};
    if (want.bytes > (size_t)(b->data + b->bytes - (const char *)data))
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "tensor '%s': %zu bytes reach beyond the shared buffer that it begins in",
                        t->t.v1.name, want.bytes);
    registration *r = b->known;
    while (r && (r->context != context || r->at != data || r->bytes != want.bytes ||
                 r->dtype != want.dtype))
        r = r->next;
    if (!r) {
        QRN_TRY(enter(c, context, t, b, &want));
        r = b->known;
    }
    *out = r->handle;
    return QRN_OK;
}

qrn_status qe_memory_handle(const qc_client *c, Qnn_ContextHandle_t context, const qc_tensor *t,
                            const void *data, Qnn_MemHandle_t *out) {
    *out = NULL;
    pthread_mutex_lock(&lock);
    qrn_status s = find_handle(c, context, t, data, out);
    pthread_mutex_unlock(&lock);
    return s;
}

void qe_memory_forget(const qc_client *c) {
    pthread_mutex_lock(&lock);
    for (buffer *b = buffers; c && b; b = b->next)
        forget(b, c);
    pthread_mutex_unlock(&lock);
}
