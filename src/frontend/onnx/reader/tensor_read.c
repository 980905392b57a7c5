// SPDX-License-Identifier: MIT
//
// Reading tensors and declared types. Raw data stays where it lies in the mapped file; only the
// rare typed lists (float_data and so on) and misaligned data are copied.
#include "base/mem.h"
#include "frontend/onnx/reader/reader.h"
#include "frontend/onnx/reader/schema.h"

#include <string.h>

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory"); }

// --- typed lists

typedef struct sink {
    unsigned char *at, *end;
    unsigned elem_bytes;
    bool full; // more came than there is room for
} sink;

// The field of the message that holds elements of a type; 0 for types that have none.
static uint32_t list_of(int type) {
    switch (type) {
    case OX_F32:
    case OX_COMPLEX64:
        return PB_TENSOR_FLOAT_DATA;
    case OX_I64:
        return PB_TENSOR_INT64_DATA;
    case OX_F64:
        return PB_TENSOR_DOUBLE_DATA;
    case OX_U32:
    case OX_U64:
        return PB_TENSOR_UINT64_DATA;
    default:
        return ox_type_bits(type) ? PB_TENSOR_INT32_DATA : 0;
    }
}

static qrn_status too_many(const ox_wire *w) {
    return QRN_FAIL(QRN_E_BINARY, "offset %zu: more elements than the tensor's shape has",
                    ox_wire_offset(w));
}

static qrn_status add_number(void *ctx, int64_t v) {
    sink *s = ctx;
    s->full = (size_t)(s->end - s->at) < s->elem_bytes;
    if (!s->full) {
        memcpy(s->at, &v, s->elem_bytes);
        s->at += s->elem_bytes;
    }
    return QRN_OK;
}

static qrn_status add_numbers(const ox_wire *w, sink *s) {
    size_t size = w->field == PB_TENSOR_FLOAT_DATA ? 4 : 8;
    if (w->field != PB_TENSOR_FLOAT_DATA && w->field != PB_TENSOR_DOUBLE_DATA) {
        QRN_TRY(ox_wire_ints(w, add_number, s));
        return s->full ? too_many(w) : QRN_OK;
    }
    size_t n = 0;
    QRN_TRY(ox_wire_count(w, size == 4 ? OX_FIXED32 : OX_FIXED64, &n));
    if (n > (size_t)(s->end - s->at) / size)
        return too_many(w);
    memcpy(s->at, w->kind == OX_BYTES ? (const void *)w->bytes.p : (const void *)&w->value,
           n * size);
    s->at += n * size;
    return QRN_OK;
}

static qrn_status read_lists(ox_reader *r, ox_bytes message, ox_tensor *t) {
    unsigned char *data = qrn_arena_alloc(r->model->arena, t->bytes);
    if (!data)
        return no_memory();
    unsigned bits = ox_type_bits(t->type);
    uint32_t list = list_of(t->type);
    sink s = {data, data + t->bytes, bits < 8 ? 1 : bits / 8, false};
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            break;
        if (w.field == list)
            QRN_TRY(add_numbers(&w, &s));
    }
    if (s.at != s.end)
        return QRN_FAIL(QRN_E_BINARY, "tensor '%.200s': %zu bytes of data, its shape needs %zu",
                        t->name, (size_t)(s.at - data), t->bytes);
    t->data = data;
    return QRN_OK;
}

// --- tensors

static qrn_status add_dim(void *ctx, int64_t v) {
    ox_tensor *t = ctx;
    if (t->rank < OX_MAX_RANK)
        t->dims[t->rank] = (uint64_t)v; // negative ones are refused as too large
    t->rank++;
    return QRN_OK;
}

// Checks the shape and sets the size.
static qrn_status size_of(const ox_reader *r, ox_bytes message, ox_tensor *t) {
    size_t n = 1, offset = (size_t)(message.p - r->base);
    unsigned bits = ox_type_bits(t->type);
    if (t->rank > OX_MAX_RANK)
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "offset %zu: tensor '%.200s' has %u dimensions, at most %d "
                        "are supported",
                        offset, t->name, t->rank, OX_MAX_RANK);
    bool fits = true;
    for (uint32_t i = 0; i < t->rank; i++)
        fits = fits && t->dims[i] <= INT64_MAX && qrn_mul_size(n, t->dims[i], &n);
    if (!fits || !qrn_mul_size(n, bits, &n))
        return QRN_FAIL(QRN_E_BINARY, "offset %zu: the shape of tensor '%.200s' is out of range",
                        offset, t->name);
    // Strings and the like keep no data; users of them are refused.
    t->bytes = bits > 64 ? 0 : n / 8 + (n % 8 != 0);
    return QRN_OK;
}

typedef struct raw_parts {
    ox_bytes raw;
    bool has_raw, is_external;
    size_t n_lists; // bytes of typed lists in the file: bounds what is allocated
    ox_external x;
} raw_parts;

static qrn_status read_tensor_field(ox_reader *r, const ox_wire *w, ox_tensor *t, raw_parts *p) {
    ox_bytes b;
    int64_t v;
    switch (w->field) {
    case PB_TENSOR_DIMS:
        return ox_wire_ints(w, add_dim, t);
    case PB_TENSOR_DATA_TYPE:
        QRN_TRY(ox_wire_int(w, &v));
        t->type = (int)v;
        return QRN_OK;
    case PB_TENSOR_FLOAT_DATA:
    case PB_TENSOR_INT32_DATA:
    case PB_TENSOR_INT64_DATA:
    case PB_TENSOR_DOUBLE_DATA:
    case PB_TENSOR_UINT64_DATA:
        p->n_lists += w->kind == OX_BYTES ? w->bytes.n : 1;
        return QRN_OK;
    case PB_TENSOR_NAME:
        return ox_read_text(r, w, &t->name);
    case PB_TENSOR_RAW_DATA:
        p->has_raw = true;
        return ox_wire_bytes(w, &p->raw);
    case PB_TENSOR_EXTERNAL_DATA:
        QRN_TRY(ox_wire_bytes(w, &b));
        return ox_read_external_entry(r, b, &p->x);
    case PB_TENSOR_DATA_LOCATION:
        QRN_TRY(ox_wire_int(w, &v));
        p->is_external = v == PB_LOCATION_EXTERNAL;
        return QRN_OK;
    default:
        return QRN_OK;
    }
}

// Data that is not aligned is copied, except large floats (weights): whoever reads those element by
// element takes care.
#define LARGE_BYTES ((size_t)64 << 10)
static qrn_status align(ox_reader *r, ox_tensor *t) {
    unsigned bytes = ox_type_bits(t->type) / 8;
    bool weights =
        t->bytes >= LARGE_BYTES && (t->type == OX_F32 || t->type == OX_F16 || t->type == OX_BF16);
    if (bytes < 2 || weights || (uintptr_t)t->data % bytes == 0)
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
    QRN_TRY(size_of(r, message, t));
    if (t->bytes == 0)
        t->data = "";
    else if (p.is_external)
        QRN_TRY(ox_read_external(r, &p.x, t));
    else if (p.has_raw && p.raw.n == t->bytes)
        t->data = p.raw.p;
    else if (p.has_raw)
        return QRN_FAIL(QRN_E_BINARY, "tensor '%.200s': %zu bytes of data, its shape needs %zu",
                        t->name, p.raw.n, t->bytes);
    else if (t->bytes / 8 > p.n_lists) // each element takes at least one byte in the file
        return QRN_FAIL(QRN_E_BINARY, "tensor '%.200s': its data is missing", t->name);
    else
        QRN_TRY(read_lists(r, message, t));
    return align(r, t);
}

// --- declared types

static qrn_status read_dim(ox_reader *r, ox_bytes message, int64_t *dim, const char **symbol) {
    *dim = -1;
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            return QRN_OK;
        if (w.field == PB_DIM_VALUE)
            QRN_TRY(ox_wire_int(&w, dim));
        if (w.field == PB_DIM_PARAM)
            QRN_TRY(ox_read_text(r, &w, symbol));
        *dim = *dim < 0 ? -1 : *dim;
    }
}

static qrn_status read_shape(ox_reader *r, ox_bytes message, ox_info *info) {
    info->has_shape = true;
    ox_wire w = ox_wire_of(r->base, message);
    for (bool more;;) {
        QRN_TRY(ox_wire_next(&w, &more));
        if (!more)
            return QRN_OK;
        if (w.field != PB_SHAPE_DIM || w.kind != OX_BYTES)
            continue;
        if (info->rank == OX_MAX_RANK)
            return QRN_FAIL(QRN_E_UNSUPPORTED,
                            "offset %zu: value '%.200s' of more than %d dimensions",
                            ox_wire_offset(&w), info->name, OX_MAX_RANK);
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
        if (w.field == PB_TENSOR_TYPE_ELEM_TYPE) {
            QRN_TRY(ox_wire_int(&w, &v));
            info->type = (int)v;
        }
        if (w.field == PB_TENSOR_TYPE_SHAPE && w.kind == OX_BYTES)
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
        if (w.field == PB_VALUE_NAME)
            QRN_TRY(ox_read_text(r, &w, &info->name));
        if (w.field != PB_VALUE_TYPE || w.kind != OX_BYTES)
            continue;
        ox_wire type = ox_wire_of(r->base, w.bytes);
        for (;;) { // only tensors; sequences, maps and optionals keep type OX_NONE
            QRN_TRY(ox_wire_next(&type, &more));
            if (!more)
                break;
            if (type.field == PB_TYPE_TENSOR && type.kind == OX_BYTES)
                QRN_TRY(read_tensor_type(r, type.bytes, info));
        }
    }
}
