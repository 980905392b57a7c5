// SPDX-License-Identifier: MIT
//
// Inputs and outputs of a node as arrays. Memory of an output is refused before it is allocated, so
// a node cannot claim more than the caller allows.
#include "frontend/onnx/fold/fold_array.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

qrn_status ox_call_say(const ox_call *c, qrn_status s, const char *fmt, ...) {
    char why[QRN_MESSAGE_MAX / 2];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    return QRN_FAIL(s, "node '%.200s' (%.64s): %s", c->node->name, c->node->op, why);
}

qrn_status ox_call_no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory"); }

void *ox_call_scratch(ox_call *c, size_t n, size_t elem) {
    size_t bytes;
    return qrn_mul_size(n, elem, &bytes) ? qrn_arena_alloc(c->scratch, bytes) : NULL;
}

// --- shapes

qrn_status ox_call_broadcast(const ox_call *c, const qrn_nd *a, uint32_t n, uint32_t *rank,
                             size_t *dims) {
    *rank = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = 1; // from the end
        if (qrn_nd_join(rank, dims, &a[i]))
            continue;
        for (; d < a[i].rank; d++) {
            size_t one = a[i].dims[a[i].rank - d], other = dims[*rank - d];
            if (one != other && one != 1 && other != 1)
                break;
        }
        return OX_CALL_FAIL(c, QRN_E_SHAPE,
                            "input %u: dimension %u from the end is %zu, "
                            "another input has %zu there",
                            i, d, a[i].dims[a[i].rank - d], dims[*rank - d]);
    }
    return QRN_OK;
}

qrn_status ox_call_axis(const ox_call *c, int64_t axis, uint32_t rank, uint32_t *out) {
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "axis %lld is outside of rank %u", (long long)axis,
                            rank);
    *out = (uint32_t)(axis < 0 ? axis + rank : axis);
    return QRN_OK;
}

qrn_status ox_call_attr_axis(const ox_call *c, int64_t fallback, uint32_t rank, uint32_t *out) {
    return ox_call_axis(c, ox_attr_int(c->node, "axis", fallback), rank, out);
}

qrn_status ox_call_axes(const ox_call *c, int64_t *axes, uint32_t n, uint32_t rank,
                        uint32_t *mask) {
    *mask = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d;
        QRN_TRY(ox_call_axis(c, axes[i], rank, &d));
        if (*mask & 1u << d)
            return OX_CALL_FAIL(c, QRN_E_PARAM, "axis %u is named twice", d);
        *mask |= 1u << d;
        axes[i] = d;
    }
    return QRN_OK;
}

qrn_status ox_call_dims(const ox_call *c, const int64_t *list, uint32_t n, size_t *dims) {
    for (uint32_t d = 0; d < n; d++) {
        if (list[d] < 0 || list[d] > UINT32_MAX)
            return OX_CALL_FAIL(c, QRN_E_SHAPE, "dimension %u of the output would be %lld", d,
                                (long long)list[d]);
        dims[d] = (size_t)list[d];
    }
    return QRN_OK;
}

// --- inputs

bool ox_call_has(const ox_call *c, uint32_t i) { return i < c->node->n_in && c->in[i]; }

// A dense array of a type of ONNX; numbers that are not computed with become bits.
static bool make_array(int type, uint32_t rank, const size_t *dims, qrn_nd *a) {
    qrn_dtype t = ox_type_dtype(type);
    unsigned bits = ox_type_bits(type);
    if (t != QRN_DTYPE_COUNT) {
        bool fits = qrn_nd_init(a, t, rank, dims, NULL);
        a->type = type;
        return fits;
    }
    bool fits = qrn_nd_init(a, bits > 8 ? QRN_DTYPE_U64 : QRN_DTYPE_U8, rank, dims, NULL);
    a->kind = QRN_KIND_OPAQUE;
    a->type = type;
    return fits;
}

// Types of fewer than 8 bits, low bits first, spread to one element a byte.
static unsigned char *unpack(ox_call *c, const unsigned char *src, size_t n, unsigned bits) {
    unsigned char *dst = ox_call_scratch(c, n, 1);
    unsigned per = 8 / bits;
    for (size_t i = 0; dst && i < n; i++)
        dst[i] = (unsigned char)(src[i / per] >> (i % per * bits) & ((1 << bits) - 1));
    return dst;
}

static qrn_status view_of(ox_call *c, uint32_t i, qrn_nd *a, const ox_val **out) {
    if (!ox_call_has(c, i))
        return OX_CALL_FAIL(c, QRN_E_OP_CONFIG, "input %u is missing", i);
    const ox_val *v = *out = c->in[i];
    unsigned bits = ox_type_bits(v->type);
    size_t dims[OX_MAX_RANK];
    if (!v->known || !v->data)
        return OX_CALL_PASS(c, "an input is not constant");
    if (bits == 0 || bits > 64)
        return OX_CALL_PASS(c, "an input is of a type that is not computed with");
    for (uint32_t d = 0; d < v->rank; d++)
        dims[d] = v->dims[d];
    if (!make_array(v->type, v->rank, dims, a) || v->bytes < (a->count * bits + 7) / 8)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "input %u has less data than its shape needs", i);
    return QRN_OK;
}

qrn_status ox_call_value(ox_call *c, uint32_t i, const ox_val **out) {
    qrn_nd a;
    return view_of(c, i, &a, out);
}

qrn_status ox_call_in(ox_call *c, uint32_t i, qrn_nd *a) {
    const ox_val *v;
    QRN_TRY(view_of(c, i, a, &v));
    unsigned bits = ox_type_bits(v->type);
    a->data = (unsigned char *)(uintptr_t)v->data;
    if (bits < 8)
        a->data = unpack(c, v->data, a->count, bits);
    return a->data ? QRN_OK : ox_call_no_memory();
}

qrn_status ox_call_numbers(ox_call *c, uint32_t i, qrn_nd *a) {
    QRN_TRY(ox_call_in(c, i, a));
    return a->kind == QRN_KIND_OPAQUE ? OX_CALL_PASS(c, "an input does not hold plain numbers")
                                      : QRN_OK;
}

qrn_status ox_call_integers(ox_call *c, uint32_t i, qrn_nd *a) {
    QRN_TRY(ox_call_numbers(c, i, a));
    if (a->kind == QRN_KIND_FLOAT || a->type == OX_BOOL)
        return OX_CALL_FAIL(c, QRN_E_DTYPE, "input %u: %s, integers are expected", i,
                            ox_type_name(a->type));
    return QRN_OK;
}

qrn_status ox_call_one(ox_call *c, uint32_t i, const qrn_nd *like, qrn_nd *a) {
    QRN_TRY(ox_call_in(c, i, a));
    QRN_TRY(ox_call_same_type(c, like, a));
    return a->count == 1 ? QRN_OK
                         : OX_CALL_FAIL(c, QRN_E_SHAPE, "input %u must have one element", i);
}

qrn_status ox_call_wrong_type(const ox_call *c, const qrn_nd *a) {
    return OX_CALL_FAIL(c, QRN_E_DTYPE, "input of type %s", ox_type_name(a->type));
}

qrn_status ox_call_same_type(const ox_call *c, const qrn_nd *a, const qrn_nd *b) {
    if (a->type == b->type)
        return QRN_OK;
    return OX_CALL_FAIL(c, QRN_E_DTYPE, "inputs of types %s and %s", ox_type_name(a->type),
                        ox_type_name(b->type));
}

qrn_status ox_call_ints(ox_call *c, uint32_t i, int64_t *dst, uint32_t max, uint32_t *n) {
    qrn_nd a;
    QRN_TRY(ox_call_integers(c, i, &a));
    if (a.count > max)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "input %u: %zu elements, at most %u are expected", i,
                            a.count, max);
    for (size_t k = 0; k < a.count; k++)
        dst[k] = qrn_nd_get(&a, k).i;
    *n = (uint32_t)a.count;
    return QRN_OK;
}

qrn_status ox_call_list(ox_call *c, uint32_t i, const char *attr, int64_t *dst, uint32_t max,
                        uint32_t *n, bool *given) {
    *n = 0;
    *given = true;
    if (i > 0 && ox_call_has(c, i))
        return ox_call_ints(c, i, dst, max, n);
    const ox_attr *a = ox_attr_find(c->node, attr);
    *given = a != NULL;
    if (!a)
        return QRN_OK;
    if (a->type != OX_ATTR_INTS || a->n > max)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "attribute '%s': at most %u integers are expected",
                            attr, max);
    memcpy(dst, a->ints, a->n * sizeof *dst);
    *n = a->n;
    return QRN_OK;
}

qrn_status ox_call_int(ox_call *c, uint32_t i, int64_t *out) {
    uint32_t n;
    QRN_TRY(ox_call_ints(c, i, out, 1, &n));
    return n == 1 ? QRN_OK : OX_CALL_FAIL(c, QRN_E_SHAPE, "input %u must have one element", i);
}

// --- outputs

qrn_status ox_call_new(ox_call *c, uint32_t i, int type, uint32_t rank, const size_t *dims,
                       qrn_nd *a) {
    unsigned bits = ox_type_bits(type);
    bool fits = rank <= OX_MAX_RANK;
    if (bits == 0 || bits > 64)
        return OX_CALL_PASS(c, "an output is of a type that is not computed");
    if (!fits)
        return OX_CALL_PASS(c, "an output has too many dimensions");
    for (uint32_t d = 0; d < rank; d++)
        fits = fits && dims[d] <= UINT32_MAX;
    if (!fits || !make_array(type, rank, dims, a) || (a->count * bits + 7) / 8 > c->max_bytes)
        return OX_CALL_PASS(c, "an output is too large");
    bool put = i < c->node->n_out;
    a->data = qrn_arena_alloc(bits < 8 || !put ? c->scratch : c->arena, a->count * a->elem);
    if (!a->data)
        return ox_call_no_memory();
    if (!put)
        return QRN_OK;
    c->out[i] = (ox_folded){.type = type, .rank = rank, .data = a->data};
    c->out[i].bytes = bits < 8 ? 0 : a->count * a->elem; // 0: to be packed
    for (uint32_t d = 0; d < rank; d++)
        c->out[i].dims[d] = (uint32_t)dims[d];
    return QRN_OK;
}

qrn_status ox_call_pack(ox_call *c) {
    for (uint32_t k = 0; k < c->node->n_out; k++) {
        ox_folded *o = &c->out[k];
        unsigned bits = ox_type_bits(o->type), per = bits ? 8 / bits : 0;
        const unsigned char *src = o->data;
        if (bits >= 8 || o->bytes)
            continue;
        size_t n = 1;
        for (uint32_t d = 0; d < o->rank; d++)
            n *= o->dims[d];
        o->bytes = (n * bits + 7) / 8;
        unsigned char *dst = qrn_arena_alloc(c->arena, o->bytes);
        for (size_t i = 0; dst && i < n; i++)
            dst[i / per] = (unsigned char)(dst[i / per] | src[i] << (i % per * bits));
        o->data = dst;
        if (!dst)
            return ox_call_no_memory();
    }
    return QRN_OK;
}

qrn_status ox_call_share(ox_call *c, uint32_t rank, const size_t *dims) {
    const ox_val *v;
    qrn_nd x, y;
    QRN_TRY(view_of(c, 0, &x, &v));
    if (rank > OX_MAX_RANK)
        return OX_CALL_PASS(c, "an output has too many dimensions");
    if (!make_array(v->type, rank, dims, &y) || x.count != y.count)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "the new shape has another number of elements");
    c->out[0] = (ox_folded){.type = v->type, .rank = rank, .data = v->data, .bytes = v->bytes};
    for (uint32_t d = 0; d < rank; d++)
        c->out[0].dims[d] = (uint32_t)dims[d];
    return QRN_OK;
}
