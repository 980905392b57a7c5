// SPDX-License-Identifier: MIT
//
// Reading GGUF files. A file is
//
//   "GGUF", version u32, tensors u64, keys u64
//   for each key:     name, kind u32, value
//   for each tensor:  name, rank u32, rank dimensions u64, type u32, offset u64
//   padding to the alignment (key general.alignment, else 32); offsets count from here
//
// in little-endian order; a string is its length, u64, and its bytes; an array its kind, u32, its
// length, u64, and its elements. What the reader keeps is in proportion to the file's size: a count
// is held against the bytes that are left before anything is allocated for it.
#include "frontend/llm/gguf.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/strmap.h"
#include "frontend/onnx/reader/model.h"

#include <stdlib.h>
#include <string.h>

#define NEST_MAX 4       // arrays in arrays
#define NAME_BYTES 65535 // of a key, as the format says
#define ALIGN_DEFAULT 32
#define ALIGN_MAX (1u << 20)
#define KEY_BYTES_MIN 13    // empty name, kind, one byte
#define TENSOR_BYTES_MIN 24 // empty name, rank 0, type, offset

typedef struct gguf_file {
    ql_gguf pub;
    qrn_file file; // zeroed: parsed from memory
    qrn_arena *arena;
    qrn_strmap keys, tensors;
} gguf_file;

// What is not read yet.
typedef struct cursor {
    const char *path; // for messages
    const uint8_t *at;
    size_t left;
} cursor;

static const struct {
    const char *text;
    uint8_t bytes;
} kinds[] = {
#define X(name, number, bytes, text) [number] = {text, bytes},
    QL_GGUF_KINDS(X)
#undef X
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static const struct {
    const char *name;
    uint16_t block, bytes;
} types[] = {
#define X(name, number, block, bytes) [number] = {#name, block, bytes},
#include "frontend/llm/gguf_types.def"
#undef X
};
enum { N_TYPES = sizeof types / sizeof types[0] };

const char *ql_gguf_kind_name(ql_gguf_kind kind) { return kinds[kind].text; }

const char *ql_gguf_type_name(ql_ggml_type type) { return types[type].name; }

uint32_t ql_gguf_block(ql_ggml_type type, uint32_t *bytes) {
    *bytes = types[type].bytes;
    return types[type].block;
}

static bool take(cursor *c, void *out, size_t n) {
    if (n > c->left)
        return false;
    memcpy(out, c->at, n);
    c->at += n;
    c->left -= n;
    return true;
}

static bool skip(cursor *c, uint64_t n) {
    if (n > c->left)
        return false;
    c->at += n;
    c->left -= (size_t)n;
    return true;
}

// A name with a zero behind it, in the arena. `what` says which, for messages.
static qrn_status take_name(gguf_file *g, cursor *c, const char *what, uint32_t index,
                            const char **out) {
    uint64_t n = 0;
    if (!take(c, &n, sizeof n) || n > c->left)
        return QRN_FAIL(QRN_E_BINARY, "%.500s: the name of %s %u goes beyond the end of the file",
                        c->path, what, index);
    if (n > NAME_BYTES || memchr(c->at, 0, (size_t)n))
        return QRN_FAIL(QRN_E_BINARY, "%.500s: the name of %s %u %s", c->path, what, index,
                        n > NAME_BYTES ? "is longer than 65535 bytes" : "has a zero byte");
    char *name = qrn_arena_alloc(g->arena, (size_t)n + 1);
    if (!name)
        return QRN_FAIL(QRN_E_MEM, "%.500s: no memory", c->path);
    memcpy(name, c->at, (size_t)n);
    skip(c, n);
    *out = name;
    return QRN_OK;
}

static qrn_status take_value(cursor *c, const char *key, uint32_t depth, ql_gguf_value *v);

static qrn_status beyond(const cursor *c, const char *key) {
    return QRN_FAIL(QRN_E_BINARY, "%.500s: the value of key '%s' goes beyond the end of the file",
                    c->path, key);
}

static qrn_status check_kind(const cursor *c, const char *key, uint32_t kind) {
    if (kind >= N_KINDS)
        return QRN_FAIL(QRN_E_BINARY, "%.500s: key '%s' has the unknown type %u", c->path, key,
                        kind);
    return QRN_OK;
}

// The elements behind the head of an array.
static qrn_status skip_elements(cursor *c, const char *key, uint32_t depth,
                                const ql_gguf_value *v) {
    size_t bytes = 0;
    if (kinds[v->element].bytes) {
        if (!qrn_mul_size((size_t)v->n, kinds[v->element].bytes, &bytes) || !skip(c, bytes))
            return beyond(c, key);
        return QRN_OK;
    }
    if (depth == NEST_MAX && v->element == QL_GGUF_ARRAY)
        return QRN_FAIL(QRN_E_BINARY, "%.500s: key '%s' has arrays nested more than %d deep",
                        c->path, key, NEST_MAX);
    // Each element takes 8 bytes at least, so the loop ends with the file.
    for (uint64_t i = 0; i < v->n; i++) {
        ql_gguf_value e = {.kind = v->element};
        QRN_TRY(take_value(c, key, depth + 1, &e));
    }
    return QRN_OK;
}

// Reads the value of v->kind.
static qrn_status take_value(cursor *c, const char *key, uint32_t depth, ql_gguf_value *v) {
    uint32_t element = 0;
    v->at = c->at;
    if (v->kind == QL_GGUF_STRING) {
        if (!take(c, &v->n, sizeof v->n))
            return beyond(c, key);
        v->at = c->at;
        return skip(c, v->n) ? QRN_OK : beyond(c, key);
    }
    if (v->kind != QL_GGUF_ARRAY)
        return skip(c, kinds[v->kind].bytes) ? QRN_OK : beyond(c, key);
    if (!take(c, &element, sizeof element) || !take(c, &v->n, sizeof v->n))
        return beyond(c, key);
    QRN_TRY(check_kind(c, key, element));
    v->element = (ql_gguf_kind)element;
    v->at = c->at;
    return skip_elements(c, key, depth, v);
}

static qrn_status read_keys(gguf_file *g, cursor *c, uint32_t n) {
    ql_gguf_key *list = qrn_arena_alloc(g->arena, n * sizeof *list);
    if (!list)
        return QRN_FAIL(QRN_E_MEM, "%.500s: no memory", c->path);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t kind = 0;
        QRN_TRY(take_name(g, c, "key", i, &list[i].name));
        if (!take(c, &kind, sizeof kind))
            return beyond(c, list[i].name);
        QRN_TRY(check_kind(c, list[i].name, kind));
        list[i].value.kind = (ql_gguf_kind)kind;
        QRN_TRY(take_value(c, list[i].name, 1, &list[i].value));
        if (qrn_strmap_get(&g->keys, list[i].name))
            return QRN_FAIL(QRN_E_BINARY, "%.500s: two keys '%s'", c->path, list[i].name);
        if (!qrn_strmap_put(&g->keys, list[i].name, &list[i].value))
            return QRN_FAIL(QRN_E_MEM, "%.500s: no memory", c->path);
    }
    g->pub.keys = list;
    g->pub.n_keys = n;
    return QRN_OK;
}

// Dimensions and the bytes that follow from them.
static qrn_status read_shape(cursor *c, ql_gguf_tensor *t) {
    uint32_t rank = 0, type = 0;
    if (!take(c, &rank, sizeof rank))
        return QRN_FAIL(QRN_E_BINARY, "%.500s: the file ends in tensor '%s'", c->path, t->name);
    if (rank < 1 || rank > QL_GGUF_RANK)
        return QRN_FAIL(QRN_E_BINARY, "%.500s: tensor '%s' has the rank %u; 1 to %d are allowed",
                        c->path, t->name, rank, QL_GGUF_RANK);
    t->rank = rank;
    size_t n = 1, bytes = 0;
    for (uint32_t i = 0; i < QL_GGUF_RANK; i++) {
        t->dims[i] = 1;
        if (i < rank && !take(c, &t->dims[i], sizeof t->dims[i]))
            return QRN_FAIL(QRN_E_BINARY, "%.500s: the file ends in tensor '%s'", c->path, t->name);
        if (!t->dims[i] || !qrn_mul_size(n, (size_t)t->dims[i], &n))
            return QRN_FAIL(QRN_E_BINARY, "%.500s: tensor '%s' has the dimension %llu", c->path,
                            t->name, (unsigned long long)t->dims[i]);
    }
    if (!take(c, &type, sizeof type))
        return QRN_FAIL(QRN_E_BINARY, "%.500s: the file ends in tensor '%s'", c->path, t->name);
    if (type >= N_TYPES || !types[type].name)
        return QRN_FAIL(QRN_E_BINARY, "%.500s: tensor '%s' has the unknown type %u", c->path,
                        t->name, type);
    t->type = (ql_ggml_type)type;
    t->n_values = n;
    if (t->dims[0] % types[type].block)
        return QRN_FAIL(
            QRN_E_BINARY, "%.500s: tensor '%s' has rows of %llu values; %s has blocks of %u",
            c->path, t->name, (unsigned long long)t->dims[0], types[type].name, types[type].block);
    if (!qrn_mul_size(n / types[type].block, types[type].bytes, &bytes))
        return QRN_FAIL(QRN_E_BINARY, "%.500s: tensor '%s' is too large", c->path, t->name);
    t->bytes = bytes;
    return QRN_OK;
}

static qrn_status read_tensors(gguf_file *g, cursor *c, uint32_t n, uint64_t *offsets) {
    ql_gguf_tensor *list = qrn_arena_alloc(g->arena, n * sizeof *list);
    if (!list)
        return QRN_FAIL(QRN_E_MEM, "%.500s: no memory", c->path);
    g->pub.tensors = list;
    for (uint32_t i = 0; i < n; i++) {
        QRN_TRY(take_name(g, c, "tensor", i, &list[i].name));
        QRN_TRY(read_shape(c, &list[i]));
        if (!take(c, &offsets[i], sizeof offsets[i]))
            return QRN_FAIL(QRN_E_BINARY, "%.500s: the file ends in tensor '%s'", c->path,
                            list[i].name);
        if (qrn_strmap_get(&g->tensors, list[i].name))
            return QRN_FAIL(QRN_E_BINARY, "%.500s: two tensors '%s'", c->path, list[i].name);
        if (!qrn_strmap_put(&g->tensors, list[i].name, &list[i]))
            return QRN_FAIL(QRN_E_MEM, "%.500s: no memory", c->path);
        g->pub.n_tensors++;
    }
    return QRN_OK;
}

static int by_place(const void *a, const void *b) {
    const ql_gguf_tensor *x = *(const ql_gguf_tensor *const *)a;
    const ql_gguf_tensor *y = *(const ql_gguf_tensor *const *)b;
    return x->data < y->data ? -1 : x->data > y->data;
}

static qrn_status check_overlaps(gguf_file *g) {
    const ql_gguf_tensor **order = qrn_arena_alloc(g->arena, g->pub.n_tensors * sizeof *order);
    if (!order)
        return QRN_FAIL(QRN_E_MEM, "%.500s: no memory", g->pub.path);
    for (uint32_t i = 0; i < g->pub.n_tensors; i++)
        order[i] = &g->pub.tensors[i];
    qsort(order, g->pub.n_tensors, sizeof *order, by_place);
    for (uint32_t i = 1; i < g->pub.n_tensors; i++)
        if (order[i - 1]->data + order[i - 1]->bytes > order[i]->data)
            return QRN_FAIL(QRN_E_BINARY, "%.500s: tensors '%s' and '%s' overlap", g->pub.path,
                            order[i - 1]->name, order[i]->name);
    return QRN_OK;
}

// Where tensors lie: `begin` is the first byte of the file, c behind the last head.
static qrn_status place_tensors(gguf_file *g, cursor *c, const uint8_t *begin,
                                const uint64_t *offsets) {
    uint64_t align = ALIGN_DEFAULT;
    if (ql_gguf_find(&g->pub, "general.alignment"))
        QRN_TRY(ql_gguf_uint(&g->pub, "general.alignment", ALIGN_MAX, &align));
    if (align < 8 || (align & (align - 1)))
        return QRN_FAIL(QRN_E_BINARY,
                        "%.500s: key 'general.alignment' is %llu, not a power of two of 8 "
                        "and more",
                        c->path, (unsigned long long)align);
    size_t pad = (size_t)(align - (uint64_t)(c->at - begin) % align) % (size_t)align;
    if (g->pub.n_tensors && !skip(c, pad))
        return QRN_FAIL(QRN_E_BINARY, "%.500s: the file ends before the tensors' data", c->path);
    for (uint32_t i = 0; i < g->pub.n_tensors; i++) {
        ql_gguf_tensor *t = (ql_gguf_tensor *)(uintptr_t)&g->pub.tensors[i];
        if (offsets[i] % align)
            return QRN_FAIL(QRN_E_BINARY, "%.500s: tensor '%s' lies at %llu, no multiple of %llu",
                            c->path, t->name, (unsigned long long)offsets[i],
                            (unsigned long long)align);
        if (offsets[i] > c->left || t->bytes > c->left - offsets[i])
            return QRN_FAIL(
                QRN_E_BINARY,
                "%.500s: tensor '%s' (%zu bytes at %llu) goes beyond the end of the file, "
                "which has %zu bytes of data; it is truncated or damaged",
                c->path, t->name, t->bytes, (unsigned long long)offsets[i], c->left);
        t->data = c->at + offsets[i];
    }
    return check_overlaps(g);
}

static qrn_status read_head(cursor *c, uint32_t *version, uint64_t *n_tensors, uint64_t *n_keys) {
    char magic[4];
    const char *what = ox_foreign_format(c->at, c->left);
    if (!take(c, magic, sizeof magic) || memcmp(magic, "GGUF", sizeof magic) != 0)
        return QRN_FAIL(QRN_E_BINARY, "%.500s: not a GGUF file%s%.*s", c->path,
                        what ? " but " : ", which begins with 'GGUF'",
                        what ? (int)strcspn(what, ";") : 0, what ? what : "");
    if (!take(c, version, sizeof *version))
        return QRN_FAIL(QRN_E_BINARY, "%.500s: the file ends in its head", c->path);
    if (*version && !(*version & 0xffff))
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "%.500s: a big-endian GGUF file; only little-endian ones "
                        "are supported",
                        c->path);
    if (*version < 2 || *version > 3)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%.500s: GGUF version %u; 2 and 3 are supported",
                        c->path, *version);
    if (!take(c, n_tensors, sizeof *n_tensors) || !take(c, n_keys, sizeof *n_keys))
        return QRN_FAIL(QRN_E_BINARY, "%.500s: the file ends in its head", c->path);
    if (*n_keys > c->left / KEY_BYTES_MIN || *n_tensors > c->left / TENSOR_BYTES_MIN ||
        *n_keys > UINT32_MAX || *n_tensors > UINT32_MAX)
        return QRN_FAIL(
            QRN_E_BINARY,
            "%.500s: %llu keys and %llu tensors do not fit into the %zu bytes of the file", c->path,
            (unsigned long long)*n_keys, (unsigned long long)*n_tensors, c->left);
    return QRN_OK;
}

static qrn_status parse(gguf_file *g, const void *data, size_t size) {
    cursor c = {g->pub.path, data, size};
    uint64_t n_keys = 0, n_tensors = 0;
    QRN_TRY(read_head(&c, &g->pub.version, &n_tensors, &n_keys));
    uint64_t *offsets = qrn_arena_alloc(g->arena, (size_t)n_tensors * sizeof *offsets);
    if (!offsets)
        return QRN_FAIL(QRN_E_MEM, "%.500s: no memory", c.path);
    QRN_TRY(read_keys(g, &c, (uint32_t)n_keys));
    QRN_TRY(read_tensors(g, &c, (uint32_t)n_tensors, offsets));
    return place_tensors(g, &c, data, offsets);
}

static gguf_file *create(const char *name) {
    gguf_file *g = qrn_calloc(sizeof *g);
    if (g)
        g->arena = qrn_arena_create();
    if (g && g->arena)
        g->pub.path = qrn_arena_strdup(g->arena, name);
    if (g && g->pub.path)
        return g;
    ql_gguf_close(g ? &g->pub : NULL);
    (void)QRN_FAIL(QRN_E_MEM, "%.500s: no memory", name);
    return NULL;
}

qrn_status ql_gguf_parse(const void *data, size_t size, const char *name, ql_gguf **out) {
    gguf_file *g = create(name);
    if (!g)
        return QRN_E_MEM;
    qrn_status s = parse(g, data, size);
    if (s == QRN_OK)
        *out = &g->pub;
    else
        ql_gguf_close(&g->pub);
    return s;
}

qrn_status ql_gguf_open(const char *path, ql_gguf **out) {
    gguf_file *g = create(path);
    if (!g)
        return QRN_E_MEM;
    qrn_status s = qrn_file_map(path, &g->file);
    if (s == QRN_OK)
        s = parse(g, g->file.data, g->file.size);
    if (s == QRN_OK)
        *out = &g->pub;
    else
        ql_gguf_close(&g->pub);
    return s;
}

void ql_gguf_close(ql_gguf *pub) {
    gguf_file *g = (gguf_file *)pub; // the first member
    if (!g)
        return;
    qrn_strmap_clear(&g->keys);
    qrn_strmap_clear(&g->tensors);
    qrn_file_unmap(&g->file);
    qrn_arena_destroy(g->arena);
    qrn_free(g);
}

qrn_status ql_gguf_check(const ql_gguf *pub) {
    const gguf_file *g = (const gguf_file *)pub;
    return g->file.data ? qrn_file_check(&g->file) : QRN_OK;
}

bool ql_gguf_is_file(const char *path) {
    qrn_file f = {0};
    bool is = qrn_file_map(path, &f) == QRN_OK && f.size >= 4 && memcmp(f.data, "GGUF", 4) == 0;
    qrn_file_unmap(&f);
    return is;
}

const ql_gguf_value *ql_gguf_find(const ql_gguf *g, const char *key) {
    return qrn_strmap_get(&((const gguf_file *)g)->keys, key);
}

const ql_gguf_tensor *ql_gguf_tensor_of(const ql_gguf *g, const char *name) {
    return qrn_strmap_get(&((const gguf_file *)g)->tensors, name);
}
