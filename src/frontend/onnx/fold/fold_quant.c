// SPDX-License-Identifier: MIT
//
// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear of the folder: per tensor, per axis,
// and in blocks along an axis. real = scale * (q - zero); ties round to even.
#include "frontend/onnx/fold/fold_array.h"
#include "reference/elementwise.h"

#include <math.h>

// Scales and zero points, in the rank of the input.
typedef struct encoding {
    qrn_nd scale, zero;
    uint32_t axis;   // with blocks
    size_t block;    // 0: not in blocks
    int64_t no_zero; // what stands for a missing zero point
} encoding;

static qrn_status blocked(const ox_call *c, const qrn_nd *x, encoding *e) {
    const qrn_nd *s = &e->scale;
    if (s->rank != x->rank)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "scale of rank %u for blocks of rank %u", s->rank,
                            x->rank);
    for (uint32_t d = 0; d < x->rank; d++) {
        size_t want = d == e->axis ? (x->dims[d] + e->block - 1) / e->block : x->dims[d];
        if (s->dims[d] != want)
            return OX_CALL_FAIL(c, QRN_E_SHAPE, "dimension %u of the scale is %zu, expected %zu", d,
                                s->dims[d], want);
    }
    return QRN_OK;
}

static qrn_status read_encoding(ox_call *c, const qrn_nd *x, encoding *e) {
    int64_t block = ox_attr_int(c->node, "block_size", 0);
    *e = (encoding){.zero = qrn_nd_scalar(QRN_DTYPE_I64, &e->no_zero)};
    QRN_TRY(ox_call_numbers(c, 1, &e->scale));
    if (e->scale.kind != QRN_KIND_FLOAT || block < 0 || block > UINT32_MAX)
        return OX_CALL_FAIL(c, QRN_E_DTYPE, "scale of type %s, block size %lld",
                            ox_type_name(e->scale.type), (long long)block);
    if (ox_call_has(c, 2)) {
        QRN_TRY(ox_call_integers(c, 2, &e->zero));
        if (e->zero.count != e->scale.count)
            return OX_CALL_FAIL(c, QRN_E_SHAPE, "%zu zero points for %zu scales", e->zero.count,
                                e->scale.count);
    }
    e->block = (size_t)block;
    if (e->scale.count > 1 || block)
        QRN_TRY(ox_call_attr_axis(c, 1, x->rank, &e->axis));
    if (block) {
        if (e->zero.count == 1)
            qrn_nd_along(&e->zero, x->rank, e->axis);
        return blocked(c, x, e);
    }
    if (e->scale.count != 1 && (e->scale.rank != 1 || e->scale.dims[0] != x->dims[e->axis]))
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "%zu scales for a dimension of %zu", e->scale.count,
                            x->rank ? x->dims[e->axis] : 1);
    qrn_nd_along(&e->scale, x->rank, e->axis);
    qrn_nd_along(&e->zero, x->rank, e->axis);
    return QRN_OK;
}

// y = m(x, scale, zero), block by block.
static void map_encoded(qrn_map *m, const qrn_nd *y, const qrn_nd *x, const encoding *e) {
    size_t n = e->block ? x->dims[e->axis] : 1, step = e->block ? e->block : 1;
    for (size_t at = 0; at < n; at += step) {
        qrn_nd in[] = {*x, e->scale, e->zero}, out = *y;
        size_t part = n - at < step ? n - at : step;
        for (int k = 0; k < 3 && e->block; k++) {
            if (k && in[k].dims[e->axis] > 1)
                qrn_nd_slice(&in[k], e->axis, (int64_t)(at / step), 1, 1);
            else if (!k)
                qrn_nd_slice(&in[k], e->axis, (int64_t)at, 1, part);
        }
        if (e->block)
            qrn_nd_slice(&out, e->axis, (int64_t)at, 1, part);
        qrn_nd_map(m, &out, in, 3);
    }
}

qrn_status ox_fold_dequantize(ox_call *c) {
    qrn_nd x, y;
    encoding e;
    QRN_TRY(ox_call_integers(c, 0, &x));
    QRN_TRY(read_encoding(c, &x, &e));
    if (ox_call_has(c, 2))
        QRN_TRY(ox_call_same_type(c, &x, &e.zero));
    int type = (int)ox_attr_int(c->node, "output_dtype", 0);
    type = type ? type : e.scale.type;
    if (ox_type_dtype(type) == QRN_DTYPE_COUNT || !qrn_dtype_is_float(ox_type_dtype(type)))
        return OX_CALL_PASS(c, "an output of a type that is not computed");
    QRN_TRY(ox_call_new(c, 0, type, x.rank, x.dims, &y));
    map_encoded(&(qrn_map){.fn = qrn_map_dequantize, .arity = 3}, &y, &x, &e);
    return QRN_OK;
}

// How reals become integers.
typedef struct rounding {
    qrn_dtype precision; // of the quotient, before it is rounded to an integer
    double lo, hi;
} rounding;

// NaN becomes the zero point.
static double quantized(const rounding *r, double ratio, double zero) {
    double v = isnan(ratio) ? zero : qrn_round_even(ratio) + zero;
    return v < r->lo ? r->lo : v > r->hi ? r->hi : v;
}

static void quantize(const qrn_map *m, qrn_num *y, qrn_num *const *x, size_t n) {
    const rounding *r = m->context;
    for (size_t i = 0; i < n; i++) {
        double v = qrn_round_to(x[0][i].f, r->precision);
        double scale = qrn_round_to(x[1][i].f, r->precision);
        y[i].f = quantized(r, qrn_round_to(v / scale, r->precision), x[2][i].f);
    }
}

static rounding rounding_to(qrn_dtype t, qrn_dtype precision) {
    qrn_num lo, hi;
    qrn_range_of(t, &lo, &hi);
    bool is_signed = qrn_kind_of(t) == QRN_KIND_SIGNED;
    return (rounding){precision, is_signed ? (double)lo.i : 0,
                      is_signed ? (double)hi.i : (double)hi.u};
}

qrn_status ox_fold_quantize(ox_call *c) {
    qrn_nd x, y;
    encoding e;
    int type = (int)ox_attr_int(c->node, "output_dtype", 0);
    int precision = (int)ox_attr_int(c->node, "precision", 0);
    QRN_TRY(ox_call_numbers(c, 0, &x));
    QRN_TRY(read_encoding(c, &x, &e));
    bool has_zero = ox_call_has(c, 2);
    if (has_zero && type && type != e.zero.type)
        return OX_CALL_FAIL(c, QRN_E_DTYPE, "output of type %s with zero points of type %s",
                            ox_type_name(type), ox_type_name(e.zero.type));
    type = has_zero ? e.zero.type : type ? type : OX_U8;
    qrn_dtype t = ox_type_dtype(type);
    if (t == QRN_DTYPE_COUNT || qrn_dtype_is_float(t))
        return OX_CALL_PASS(c, "an output of a type that is not computed");
    QRN_TRY(ox_call_new(c, 0, type, x.rank, x.dims, &y));
    rounding r = rounding_to(t, ox_type_dtype(precision ? precision : e.scale.type));
    qrn_map m = {.fn = quantize, .arity = 3, .context = &r};
    map_encoded(&m, &y, &x, &e);
    return QRN_OK;
}

qrn_status ox_fold_dynamic_quantize(ox_call *c) {
    qrn_nd x, y, scale, zero;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    if (x.type != OX_F32)
        return ox_call_wrong_type(c, &x);
    float lo = 0, hi = 0; // the range holds 0
    for (size_t i = 0; i < x.count; i++) {
        float v = (float)qrn_nd_get(&x, i).f;
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    float step = (hi == lo ? 1.0f : hi - lo) / 255.0f;
    rounding r = rounding_to(QRN_DTYPE_U8, QRN_DTYPE_F32);
    uint8_t z = (uint8_t)quantized(&r, (double)(-lo / step), 0);
    QRN_TRY(ox_call_new(c, 0, OX_U8, x.rank, x.dims, &y));
    QRN_TRY(ox_call_new(c, 1, OX_F32, 0, NULL, &scale));
    QRN_TRY(ox_call_new(c, 2, OX_U8, 0, NULL, &zero));
    qrn_nd_set(&scale, 0, (qrn_num){.f = step});
    qrn_nd_set(&zero, 0, (qrn_num){.u = z});
    qrn_nd in[] = {x, scale, zero};
    qrn_nd_map(&(qrn_map){.fn = quantize, .arity = 3, .context = &r}, &y, in, 3);
    return QRN_OK;
}
