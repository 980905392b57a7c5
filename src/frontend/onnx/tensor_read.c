// SPDX-License-Identifier: MIT
//
// Reading tensors, declared types, and external data. Raw data stays where it lies in the mapped
// file; only the rare typed lists (float_data and so on) and misaligned data are copied.
#include "base/mem.h"
#include "frontend/onnx/reader.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory"); }

qrn_status ox_map_file(ox_model *m, const char *path, const qrn_file **out) {
    for (ox_mapping *p = m->mappings; p; p = p->next)
        if (strcmp(p->path, path) == 0) {
            *out = &p->file;
            return QRN_OK;
        }
    ox_mapping *p = qrn_arena_alloc(m->arena, sizeof *p);
    if (!p || !(p->path = qrn_arena_strdup(m->arena, path)))
        return no_memory();
    QRN_TRY(qrn_file_map(path, &p->file));
    p->next = m->mappings;
    m->mappings = p;
    *out = &p->file;
    return QRN_OK;
}

void ox_unmap_files(ox_model *m) {
    for (ox_mapping *p = m->mappings; p; p = p->next)
        qrn_file_unmap(&p->file);
}

// --- external data
// ------------------------------------------------------------------------------------

typedef struct external {
    const char *location;
    uint64_t offset, length;
    bool has_length;
} external;

static qrn_status read_entry(ox_reader *r, ox_bytes message, external *x) {
    const char *key = "", *value = "";
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            break;
        if (w.field == 1)
            QRN_TRY(ox_read_text(r, &w, &key));
        if (w.field == 2)
            QRN_TRY(ox_read_text(r, &w, &value));
    }
    if (strcmp(key, "location") == 0)
        x->location = value;
    if (strcmp(key, "offset") == 0)
        x->offset = strtoull(value, NULL, 10);
    if (strcmp(key, "length") == 0) {
        x->length = strtoull(value, NULL, 10);
        x->has_length = true;
    }
    return QRN_OK;
}

// The file must lie in the folder of the model, links followed.
static qrn_status resolve(const ox_model *m, const char *location, char *out) {
    char model[PATH_MAX], path[PATH_MAX * 2];
    if (location[0] == '/' || !realpath(m->path, model))
        return QRN_FAIL(QRN_E_BINARY, "external data '%s' is not a file beside the model",
                        location);
    char *slash = strrchr(model, '/');
    slash[1] = '\0';
    snprintf(path, sizeof path, "%s%s", model, location);
    if (!realpath(path, out))
        return QRN_FAIL(QRN_E_NOT_FOUND, "external data '%s' is missing", location);
    if (strncmp(out, model, strlen(model)) != 0)
        return QRN_FAIL(QRN_E_BINARY, "external data '%s' lies outside the folder of the model",
                        location);
    return QRN_OK;
}

static qrn_status read_external(ox_reader *r, const external *x, ox_tensor *t) {
    if (!x->location || !r->model->mappings)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "tensor '%s': external data of a model in memory",
                        t->name);
    char path[PATH_MAX];
    const qrn_file *f;
    QRN_TRY(resolve(r->model, x->location, path));
    QRN_TRY(ox_map_file(r->model, path, &f));
    uint64_t length = x->has_length ? x->length : t->bytes;
    if (x->offset > f->size || length > f->size - x->offset || length < t->bytes)
        return QRN_FAIL(
            QRN_E_BINARY,
            "tensor '%s': external data '%s' has %zu bytes, needed are %zu from offset %llu",
            t->name, x->location, f->size, t->bytes, (unsigned long long)x->offset);
    t->data = (const char *)f->data + x->offset;
    return QRN_OK;
}

// --- typed lists
// --------------------------------------------------------------------------------------

typedef struct sink {
    unsigned char *at, *end;
    unsigned elem_bytes;
} sink;

static qrn_status add_number(void *ctx, int64_t v) {
    sink *s = ctx;
    if ((size_t)(s->end - s->at) < s->elem_bytes)
        return QRN_FAIL(QRN_E_BINARY, "more elements than its shape has");
    memcpy(s->at, &v, s->elem_bytes);
    s->at += s->elem_bytes;
    return QRN_OK;
}

static qrn_status add_fixed(const ox_wire *w, sink *s, size_t size) {
    const void *src = w->kind == 2 ? (const void *)w->bytes.p : (const void *)&w->value;
    size_t n = w->kind == 2 ? w->bytes.n : size;
    if (n > (size_t)(s->end - s->at))
        return QRN_FAIL(QRN_E_BINARY, "more elements than its shape has");
    memcpy(s->at, src, n);
    s->at += n;
    return QRN_OK;
}

static qrn_status read_lists(ox_reader *r, ox_bytes message, ox_tensor *t) {
    unsigned char *data = qrn_arena_alloc(r->model->arena, t->bytes);
    if (!data)
        return no_memory();
    unsigned bits = ox_type_bits(t->type);
    sink s = {data, data + t->bytes, bits < 8 ? 1 : bits / 8};
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            break;
        if (w.field == 4)
            QRN_TRY(add_fixed(&w, &s, 4));
        else if (w.field == 10)
            QRN_TRY(add_fixed(&w, &s, 8));
        else if (w.field == 5 || w.field == 7 || w.field == 11)
            QRN_TRY(ox_wire_ints(&w, add_number, &s));
    }
    if (s.at != s.end)
        return QRN_FAIL(QRN_E_BINARY, "tensor '%s': %zu bytes of data, its shape needs %zu",
                        t->name, (size_t)(s.at - data), t->bytes);
    t->data = data;
    return QRN_OK;
}

// --- tensors
// ------------------------------------------------------------------------------------------

static qrn_status add_dim(void *ctx, int64_t v) {
    ox_tensor *t = ctx;
    if (t->rank == OX_MAX_RANK)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "tensor of more than %d dimensions", OX_MAX_RANK);
    if (v < 0)
        return QRN_FAIL(QRN_E_BINARY, "tensor with a negative dimension");
    t->dims[t->rank++] = (uint64_t)v;
    return QRN_OK;
}

static qrn_status size_of(ox_tensor *t) {
    size_t n = 1;
    unsigned bits = ox_type_bits(t->type);
    for (uint32_t i = 0; i < t->rank; i++)
        if (!qrn_mul_size(n, t->dims[i], &n))
            return QRN_FAIL(QRN_E_BINARY, "tensor '%s': its size overflows", t->name);
    if (bits == 0 || bits > 64) { // strings and the like keep no data; users of them are refused
        t->bytes = 0;
        return QRN_OK;
    }
    if (!qrn_mul_size(n, bits, &n))
        return QRN_FAIL(QRN_E_BINARY, "tensor '%s': its size overflows", t->name);
    t->bytes = n / 8 + (n % 8 != 0);
    return QRN_OK;
}

typedef struct raw_parts {
    ox_bytes raw;
    bool has_raw, has_lists, is_external;
    size_t n_lists; // bytes of typed lists in the file: bounds what is allocated
    external x;
} raw_parts;

static qrn_status read_tensor_field(ox_reader *r, const ox_wire *w, ox_tensor *t, raw_parts *p) {
    int64_t v;
    switch (w->field) {
    case 1:
        return ox_wire_ints(w, add_dim, t);
    case 2:
        QRN_TRY(ox_wire_int(w, &v));
        t->type = (int)v;
        return QRN_OK;
    case 4:
    case 5:
    case 7:
    case 10:
    case 11:
        p->has_lists = true;
        p->n_lists += w->kind == 2 ? w->bytes.n : 1;
        return QRN_OK;
    case 8:
        return ox_read_text(r, w, &t->name);
    case 9:
        p->has_raw = true;
        return ox_wire_bytes(w, &p->raw);
    case 13:
        return w->kind == 2 ? read_entry(r, w->bytes, &p->x) : QRN_OK;
    case 14:
        QRN_TRY(ox_wire_int(w, &v));
        p->is_external = v == 1;
        return QRN_OK;
    default:
        return QRN_OK;
    }
}

// Kernels and folding read whole elements: data that is not aligned is copied.
static qrn_status align(ox_reader *r, ox_tensor *t) {
    unsigned bytes = ox_type_bits(t->type) / 8;
    if (bytes < 2 || (uintptr_t)t->data % bytes == 0)
        return QRN_OK;
    t->data = qrn_arena_copy(r->model->arena, t->data, t->bytes);
    return t->data ? QRN_OK : no_memory();
}

qrn_status ox_read_tensor(ox_reader *r, ox_bytes message, ox_tensor *t) {
    raw_parts p = {0};
    t->name = "";
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            break;
        QRN_TRY(read_tensor_field(r, &w, t, &p));
    }
    QRN_TRY(size_of(t));
    if (p.is_external)
        QRN_TRY(read_external(r, &p.x, t));
    else if (p.has_raw && p.raw.n == t->bytes)
        t->data = p.raw.p;
    else if (p.has_raw)
        return QRN_FAIL(QRN_E_BINARY, "tensor '%s': %zu bytes of data, its shape needs %zu",
                        t->name, p.raw.n, t->bytes);
    else if (t->bytes == 0)
        t->data = "";
    else if (t->bytes / 8 > p.n_lists) // each element takes at least one byte in the file
        return QRN_FAIL(QRN_E_BINARY, "tensor '%s': its data is missing", t->name);
    else
        QRN_TRY(read_lists(r, message, t));
    return align(r, t);
}

// --- declared types
// -----------------------------------------------------------------------------------

static qrn_status read_dim(ox_reader *r, ox_bytes message, int64_t *dim, const char **symbol) {
    *dim = -1;
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            return QRN_OK;
        if (w.field == 1)
            QRN_TRY(ox_wire_int(&w, dim));
        if (w.field == 2)
            QRN_TRY(ox_read_text(r, &w, symbol));
    }
}

static qrn_status read_shape(ox_reader *r, ox_bytes message, ox_info *info) {
    info->has_shape = true;
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            return QRN_OK;
        if (w.field != 1 || w.kind != 2)
            continue;
        if (info->rank == OX_MAX_RANK)
            return QRN_FAIL(QRN_E_UNSUPPORTED, "value of more than %d dimensions", OX_MAX_RANK);
        QRN_TRY(read_dim(r, w.bytes, &info->dims[info->rank], &info->symbols[info->rank]));
        info->rank++;
    }
}

static qrn_status read_tensor_type(ox_reader *r, ox_bytes message, ox_info *info) {
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        int64_t v;
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            return QRN_OK;
        if (w.field == 1) {
            QRN_TRY(ox_wire_int(&w, &v));
            info->type = (int)v;
        }
        if (w.field == 2 && w.kind == 2)
            QRN_TRY(read_shape(r, w.bytes, info));
    }
}

qrn_status ox_read_info(ox_reader *r, ox_bytes message, ox_info *info) {
    info->name = "";
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            return QRN_OK;
        if (w.field == 1)
            QRN_TRY(ox_read_text(r, &w, &info->name));
        if (w.field != 2 || w.kind != 2)
            continue;
        ox_wire type = ox_wire_of(r->base, w.bytes);
        for (;;) { // only tensors; sequences, maps and optionals keep type OX_NONE
            QRN_TRY(ox_wire_next(&type, &more));
            if (!more)
                break;
            if (type.field == 1 && type.kind == 2)
                QRN_TRY(read_tensor_type(r, type.bytes, info));
        }
    }
}
