// SPDX-License-Identifier: MIT
//
// Models that LiteRT compiled: the options of DISPATCH_OP, a FlexBuffer map, and the context binary
// that they point to. Of FlexBuffers only what such a map needs is read: keys, integers, strings.
#include "frontend/tflite/internal.h"

#include <string.h>

enum { FLEX_INT = 1, FLEX_UINT = 2, FLEX_KEY = 4, FLEX_STRING = 5, FLEX_INDIRECT_INT = 6 };
enum { FLEX_INDIRECT_UINT = 7, FLEX_MAP = 9 };

typedef struct flex {
    const uint8_t *data;
    size_t size;
} flex;

// A little-endian integer of 1, 2, 4 or 8 bytes; false: outside.
static bool load(const flex *f, size_t at, unsigned width, uint64_t *out) {
    if (at > f->size || width > f->size - at)
        return false;
    *out = 0;
    for (unsigned i = 0; i < width; i++)
        *out |= (uint64_t)f->data[at + i] << (8 * i);
    return true;
}

// Offsets lead backwards.
static bool follow(const flex *f, size_t at, unsigned width, size_t *out) {
    uint64_t back;
    if (!load(f, at, width, &back) || back > at)
        return false;
    *out = at - (size_t)back;
    return true;
}

// A value of a vector: where it lies or leads to, the type, the width of what is there.
typedef struct item {
    size_t at;
    unsigned type, width;  // width: of what an offset leads to
    unsigned inline_width; // of the value or offset itself
} item;

static bool as_int(const flex *f, const item *v, uint64_t *out) {
    if (v->type == FLEX_INT || v->type == FLEX_UINT)
        return load(f, v->at, v->inline_width, out);
    size_t to;
    return (v->type == FLEX_INDIRECT_INT || v->type == FLEX_INDIRECT_UINT) &&
           follow(f, v->at, v->inline_width, &to) && load(f, to, v->width, out);
}

static bool as_text(const flex *f, const item *v, const char **out) {
    size_t to;
    if ((v->type != FLEX_STRING && v->type != FLEX_KEY) ||
        !follow(f, v->at, v->inline_width, &to) || !memchr(f->data + to, 0, f->size - to))
        return false;
    *out = (const char *)f->data + to;
    return true;
}

typedef struct map {
    size_t values, keys, types; // positions
    uint64_t n;
    unsigned width, key_width;
} map;

static bool open_map(const flex *f, map *m) {
    uint64_t root_width, packed, key_width;
    if (f->size < 3 || !load(f, f->size - 1, 1, &root_width) || !load(f, f->size - 2, 1, &packed) ||
        (root_width != 1 && root_width != 2 && root_width != 4 && root_width != 8) ||
        f->size < 2 + root_width || packed >> 2 != FLEX_MAP)
        return false;
    m->width = 1u << (packed & 3);
    if (!follow(f, f->size - 2 - root_width, (unsigned)root_width, &m->values) ||
        m->values < 3 * (size_t)m->width || !load(f, m->values - m->width, m->width, &m->n) ||
        !load(f, m->values - 2 * (size_t)m->width, m->width, &key_width) ||
        !follow(f, m->values - 3 * (size_t)m->width, m->width, &m->keys) ||
        (key_width != 1 && key_width != 2 && key_width != 4 && key_width != 8) || m->n > f->size)
        return false;
    m->key_width = (unsigned)key_width;
    m->types = m->values + (size_t)m->n * m->width;
    return m->types <= f->size && m->n <= f->size - m->types;
}

static bool entry(const flex *f, const map *m, uint64_t i, const char **key, item *v) {
    item k = {
        .at = m->keys + (size_t)i * m->key_width, .type = FLEX_KEY, .inline_width = m->key_width};
    unsigned packed = f->data[m->types + i];
    v->at = m->values + (size_t)i * m->width;
    v->type = packed >> 2;
    v->width = 1u << (packed & 3);
    v->inline_width = m->width;
    return as_text(f, &k, key);
}

qrn_status tl_read_dispatch(tl_reader *r, uint32_t op, const uint8_t *data, size_t size,
                            const ox_attr **out, uint32_t *n) {
    const flex f = {data, size};
    map m;
    ox_attr *list;
    uint32_t found = 0;
    QRN_TRY(tl_room(r, 3, sizeof *list, &list));
    if (!open_map(&f, &m))
        return tl_broken(r, "op %u (%s): its options are no FlexBuffer map", op, tl_dispatch);
    for (uint64_t i = 0; i < m.n && found < 3; i++) {
        const char *key, *text;
        uint64_t number;
        item v;
        if (!entry(&f, &m, i, &key, &v))
            return tl_broken(r, "op %u (%s): entry %u of its options lies outside", op, tl_dispatch,
                             (unsigned)i);
        ox_attr *a = &list[found];
        bool is_int = strcmp(key, "bytecode_offset") == 0 || strcmp(key, "bytecode_size") == 0;
        if (is_int && as_int(&f, &v, &number) && number <= INT64_MAX)
            *a = (ox_attr){.name = key, .type = OX_ATTR_INT, .i = (int64_t)number};
        else if (strcmp(key, "name") == 0 && as_text(&f, &v, &text))
            *a = (ox_attr){.name = key, .type = OX_ATTR_STRING, .s = text, .s_len = strlen(text)};
        else
            continue;
        found++;
    }
    *out = list;
    *n = found;
    return QRN_OK;
}

static const ox_node *dispatch_of(const ox_model *m) {
    for (uint32_t i = 0; i < m->graph->n_nodes; i++)
        if (strcmp(m->graph->nodes[i].op, tl_dispatch) == 0)
            return &m->graph->nodes[i];
    return NULL;
}

bool tl_is_compiled(const ox_model *m) { return dispatch_of(m) != NULL; }

qrn_status tl_compiled_of(const ox_model *m, const void *data, size_t size, tl_compiled *out) {
    const ox_node *op = dispatch_of(m);
    if (!op || m->graph->n_nodes != 1)
        return QRN_FAIL(
            QRN_E_UNSUPPORTED,
            "%.500s: %u ops besides %s; only models that were compiled whole can be run "
            "here",
            m->path, m->graph->n_nodes - (op != NULL), tl_dispatch);
    int64_t at = ox_attr_int(op, "bytecode_offset", 0), bytes = ox_attr_int(op, "bytecode_size", 0);
    if (at <= 0 || bytes <= 0 || (uint64_t)at > size || (uint64_t)bytes > size - (uint64_t)at)
        return QRN_FAIL(QRN_E_BINARY,
                        "%.500s: %s '%s': a context binary of %lld bytes at offset %lld does not "
                        "lie inside the file",
                        m->path, tl_dispatch, op->name, (long long)bytes, (long long)at);
    *out = (tl_compiled){.bytes = (const uint8_t *)data + at,
                         .n_bytes = (size_t)bytes,
                         .graph = ox_attr_string(op, "name", NULL),
                         .inputs = op->in,
                         .outputs = op->out,
                         .n_inputs = op->n_in,
                         .n_outputs = op->n_out};
    return QRN_OK;
}
