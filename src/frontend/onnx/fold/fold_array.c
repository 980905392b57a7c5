// SPDX-License-Identifier: MIT
//
// Arrays of the folder: reading inputs, elements as 64-bit numbers, making outputs. Memory of an
// output is refused before it is allocated, so a node cannot claim more than the caller allows.
#include "base/fp16.h"
#include "base/mem.h"
#include "frontend/onnx/fold/fold_array.h"

#include <math.h>
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

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory"); }

void *ox_call_scratch(ox_call *c, size_t n, size_t elem) {
    size_t bytes;
    return qrn_mul_size(n, elem, &bytes) ? qrn_arena_alloc(c->scratch, bytes) : NULL;
}

// --- shapes

bool ox_dims_count(uint32_t rank, const uint32_t *dims, size_t *count) {
    size_t n = 1;
    bool zero = false;
    for (uint32_t i = 0; i < rank; i++) {
        zero |= dims[i] == 0;
        if (dims[i] > 1 && !qrn_mul_size(n, dims[i], &n))
            return false;
    }
    *count = zero ? 0 : n;
    return n <= SIZE_MAX / 64; // so that bytes and strides fit too
}

void ox_dims_steps(uint32_t rank, const uint32_t *dims, ptrdiff_t *steps) {
    ptrdiff_t step = 1;
    for (uint32_t d = rank; d-- > 0;) {
        steps[d] = step;
        step *= dims[d] ? (ptrdiff_t)dims[d] : 1;
    }
}

qrn_status ox_call_broadcast(const ox_call *c, const ox_array *const *a, uint32_t n, uint32_t *rank,
                             uint32_t *dims) {
    *rank = 0;
    for (uint32_t i = 0; i < n; i++)
        *rank = a[i]->rank > *rank ? a[i]->rank : *rank;
    for (uint32_t d = 0; d < *rank; d++) {
        dims[d] = 1;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t lead = *rank - a[i]->rank;
            uint32_t dim = d < lead ? 1 : a[i]->dims[d - lead];
            if (dim != 1 && dims[d] != 1 && dim != dims[d])
                return OX_CALL_FAIL(c, QRN_E_SHAPE,
                                    "input %u: dimension %u from the end is %u, "
                                    "another input has %u there",
                                    i, *rank - d, dim, dims[d]);
            if (dim != 1)
                dims[d] = dim;
        }
    }
    return QRN_OK;
}

ox_walk ox_walk_broadcast(const ox_array *a, uint32_t rank, const uint32_t *dims) {
    ox_walk w = {.rank = rank};
    ptrdiff_t own[OX_MAX_RANK];
    ox_dims_steps(a->rank, a->dims, own);
    for (uint32_t d = 0; d < rank; d++) {
        uint32_t lead = rank - a->rank;
        w.dims[d] = dims[d];
        w.steps[d] = d < lead || a->dims[d - lead] == 1 ? 0 : own[d - lead];
    }
    return w;
}

qrn_status ox_call_axis(const ox_call *c, int64_t axis, uint32_t rank, uint32_t *out) {
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "axis %lld is outside of rank %u", (long long)axis,
                            rank);
    *out = (uint32_t)(axis < 0 ? axis + rank : axis);
    return QRN_OK;
}

qrn_status ox_call_axes(const ox_call *c, const int64_t *axes, uint32_t n, uint32_t rank,
                        uint32_t *mask) {
    *mask = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d;
        QRN_TRY(ox_call_axis(c, axes[i], rank, &d));
        if (*mask & 1u << d)
            return OX_CALL_FAIL(c, QRN_E_PARAM, "axis %u is named twice", d);
        *mask |= 1u << d;
    }
    return QRN_OK;
}

// --- elements

ox_kind ox_type_kind(int type) {
    switch (type) {
    case OX_F32:
    case OX_F16:
    case OX_F64:
    case OX_BF16:
        return OX_FLOAT;
    case OX_I8:
    case OX_I16:
    case OX_I32:
    case OX_I64:
    case OX_I4:
        return OX_SIGNED;
    case OX_U8:
    case OX_U16:
    case OX_U32:
    case OX_U64:
    case OX_U4:
    case OX_BOOL:
        return OX_UNSIGNED;
    default:
        return OX_OPAQUE;
    }
}

ox_num ox_array_get(const ox_array *a, size_t i) {
    const unsigned char *p = a->data + i * a->elem;
    uint64_t u = 0;
    memcpy(&u, p, a->elem); // little-endian, as all machines we run on
    ox_num v = {.u = u};
    float f;
    switch (a->type) {
    case OX_F32:
        memcpy(&f, p, sizeof f);
        v.f = f;
        return v;
    case OX_F16:
        v.f = qrn_f16_to_f32((uint16_t)u);
        return v;
    case OX_BF16:
        v.f = qrn_bf16_to_f32((uint16_t)u);
        return v;
    case OX_BOOL:
        v.u = u != 0;
        return v;
    default:
        break;
    }
    if (a->kind == OX_SIGNED) {
        unsigned unused = 64 - ox_type_bits(a->type);
        v.i = (int64_t)(u << unused) >> unused;
    }
    return v;
}

void ox_array_set(ox_array *a, size_t i, ox_num v) {
    unsigned char *p = a->own + i * a->elem;
    float f;
    switch (a->type) {
    case OX_F32:
        f = (float)v.f;
        memcpy(p, &f, sizeof f);
        return;
    case OX_F16:
        v.u = qrn_f16_from_f64(v.f);
        break;
    case OX_BF16:
        v.u = qrn_bf16_from_f64(v.f);
        break;
    case OX_I4:
    case OX_U4:
        v.u &= 15;
        break;
    default:
        break;
    }
    memcpy(p, &v.u, a->elem);
}

void ox_type_range(int type, ox_num *lo, ox_num *hi) {
    unsigned bits = type == OX_BOOL ? 1 : ox_type_bits(type);
    if (ox_type_kind(type) == OX_SIGNED) {
        hi->i = (int64_t)(UINT64_MAX >> (65 - bits));
        lo->i = -hi->i - 1;
    } else {
        hi->u = UINT64_MAX >> (64 - bits);
        lo->u = 0;
    }
}

double ox_round_even(double x) {
    double r = round(x);
    return fabs(x - trunc(x)) == 0.5 && fmod(r, 2) != 0 ? r - copysign(1, x) : r;
}

ox_num ox_num_saturate(double x, int type) {
    ox_num lo, hi, v = {.u = 0};
    bool is_signed = ox_type_kind(type) == OX_SIGNED;
    ox_type_range(type, &lo, &hi);
    x = trunc(x);
    if (isnan(x))
        return v;
    if (is_signed ? x < (double)lo.i : x < 0)
        return lo;
    // The largest 64-bit values are rounded up as doubles: what reaches them is out of range.
    if (is_signed ? x >= (double)hi.i : x >= (double)hi.u)
        return hi;
    if (is_signed)
        v.i = (int64_t)x;
    else
        v.u = (uint64_t)x;
    return v;
}

// An integer as a double that rounds on to a narrower float as the integer itself would: what 53
// bits cannot hold is kept as an odd last bit.
static double sticky(uint64_t u) {
    if (u >> 53 == 0)
        return (double)u;
    uint64_t kept = u >> 11;
    return ldexp((double)(kept | ((u & 0x7ff) != 0)), 11);
}

ox_num ox_num_cast(ox_num v, ox_kind from, int to) {
    ox_num r = v;
    ox_kind kind = ox_type_kind(to);
    if (to == OX_BOOL)
        r.u = from == OX_FLOAT ? v.f != 0 : v.u != 0;
    else if (kind != OX_FLOAT)
        // ONNX's own tests want 4 bits to be cut from the integer, not saturated.
        return from == OX_FLOAT ? ox_num_saturate(v.f, ox_type_bits(to) < 8 ? OX_I32 : to) : v;
    else if (from == OX_FLOAT)
        return v;
    else if (to == OX_F64)
        r.f = ox_num_double(v, from);
    else if (from == OX_SIGNED && v.i < 0)
        r.f = -sticky(0 - v.u);
    else
        r.f = sticky(v.u);
    return r;
}

// --- inputs

bool ox_call_has(const ox_call *c, uint32_t i) { return i < c->node->n_in && c->in[i]; }

// Types of fewer than 8 bits, low bits first, spread to one element a byte.
static const unsigned char *unpack(ox_call *c, const unsigned char *src, size_t n, unsigned bits) {
    unsigned char *dst = ox_call_scratch(c, n, 1);
    unsigned per = 8 / bits;
    for (size_t i = 0; dst && i < n; i++)
        dst[i] = (unsigned char)(src[i / per] >> (i % per * bits) & ((1 << bits) - 1));
    return dst;
}

qrn_status ox_call_value(ox_call *c, uint32_t i, const ox_val **out) {
    if (!ox_call_has(c, i))
        return OX_CALL_FAIL(c, QRN_E_OP_CONFIG, "input %u is missing", i);
    const ox_val *v = c->in[i];
    unsigned bits = ox_type_bits(v->type);
    size_t count;
    if (!v->known || !v->data)
        return OX_CALL_PASS(c, "an input is not constant");
    if (bits == 0 || bits > 64)
        return OX_CALL_PASS(c, "an input is of a type that is not computed with");
    if (!ox_dims_count(v->rank, v->dims, &count) || v->bytes < (count * bits + 7) / 8)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "input %u has less data than its shape needs", i);
    *out = v;
    return QRN_OK;
}

qrn_status ox_call_in(ox_call *c, uint32_t i, ox_array *a) {
    const ox_val *v;
    QRN_TRY(ox_call_value(c, i, &v));
    unsigned bits = ox_type_bits(v->type);
    *a = (ox_array){.type = v->type,
                    .kind = ox_type_kind(v->type),
                    .rank = v->rank,
                    .elem = bits < 8 ? 1 : bits / 8,
                    .data = v->data};
    memcpy(a->dims, v->dims, sizeof a->dims);
    ox_dims_count(a->rank, a->dims, &a->count);
    if (bits < 8)
        a->data = unpack(c, v->data, a->count, bits);
    return a->data ? QRN_OK : no_memory();
}

qrn_status ox_call_numbers(ox_call *c, uint32_t i, ox_array *a) {
    QRN_TRY(ox_call_in(c, i, a));
    return a->kind != OX_OPAQUE ? QRN_OK : OX_CALL_PASS(c, "an input does not hold plain numbers");
}

qrn_status ox_call_same_type(const ox_call *c, const ox_array *a, const ox_array *b) {
    if (a->type == b->type)
        return QRN_OK;
    return OX_CALL_FAIL(c, QRN_E_DTYPE, "inputs of types %s and %s", ox_type_name(a->type),
                        ox_type_name(b->type));
}

qrn_status ox_call_ints(ox_call *c, uint32_t i, int64_t *dst, uint32_t max, uint32_t *n) {
    ox_array a;
    QRN_TRY(ox_call_numbers(c, i, &a));
    if (a.kind == OX_FLOAT)
        return OX_CALL_FAIL(c, QRN_E_DTYPE, "input %u: %s, integers are expected", i,
                            ox_type_name(a.type));
    if (a.count > max)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "input %u: %zu elements, at most %u are expected", i,
                            a.count, max);
    for (size_t k = 0; k < a.count; k++)
        dst[k] = ox_array_get(&a, k).i;
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

qrn_status ox_call_new(ox_call *c, int type, uint32_t rank, const uint32_t *dims, ox_array *a) {
    unsigned bits = ox_type_bits(type);
    if (bits == 0 || bits > 64)
        return OX_CALL_PASS(c, "an output is of a type that is not computed");
    if (rank > OX_MAX_RANK)
        return OX_CALL_PASS(c, "an output has too many dimensions");
    ox_array y = {.type = type, .kind = ox_type_kind(type), .rank = rank};
    y.elem = bits < 8 ? 1 : bits / 8;
    if (rank)
        memcpy(y.dims, dims, rank * sizeof *dims);
    if (!ox_dims_count(rank, dims, &y.count) || (y.count * bits + 7) / 8 > c->max_bytes)
        return OX_CALL_PASS(c, "an output is too large");
    y.own = qrn_arena_alloc(bits < 8 ? c->scratch : c->arena, y.count * y.elem);
    y.data = y.own;
    *a = y;
    return y.own ? QRN_OK : no_memory();
}

static unsigned char *pack(ox_call *c, const ox_array *a, unsigned bits, size_t bytes) {
    unsigned char *dst = qrn_arena_alloc(c->arena, bytes);
    unsigned per = 8 / bits;
    for (size_t i = 0; dst && i < a->count; i++)
        dst[i / per] = (unsigned char)(dst[i / per] | a->data[i] << (i % per * bits));
    return dst;
}

qrn_status ox_call_put(ox_call *c, uint32_t i, const ox_array *a) {
    if (i >= c->node->n_out)
        return QRN_OK;
    unsigned bits = ox_type_bits(a->type);
    ox_folded *o = &c->out[i];
    *o = (ox_folded){.type = a->type, .rank = a->rank, .data = a->data};
    memcpy(o->dims, a->dims, sizeof o->dims);
    o->bytes = (a->count * bits + 7) / 8;
    if (bits < 8)
        o->data = pack(c, a, bits, o->bytes);
    return o->data ? QRN_OK : no_memory();
}

qrn_status ox_call_share(ox_call *c, uint32_t i, uint32_t rank, const uint32_t *dims) {
    const ox_val *v;
    size_t have = 0, want = 0;
    QRN_TRY(ox_call_value(c, 0, &v));
    if (rank > OX_MAX_RANK)
        return OX_CALL_PASS(c, "an output has too many dimensions");
    if (!ox_dims_count(v->rank, v->dims, &have) || !ox_dims_count(rank, dims, &want) ||
        have != want)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "the new shape has another number of elements");
    ox_folded *o = &c->out[i];
    *o = (ox_folded){.type = v->type, .rank = rank, .data = v->data, .bytes = v->bytes};
    if (rank)
        memcpy(o->dims, dims, rank * sizeof *dims);
    return QRN_OK;
}
