// SPDX-License-Identifier: MIT
//
// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear of the folder: per tensor, per axis,
// and in blocks along an axis. real = scale * (q - zero); halves round to even.
#include "base/fp16.h"
#include "frontend/onnx/fold/fold_array.h"

#include <math.h>

// Scale and zero point of each element.
typedef struct encoding {
    ox_array scale, zero;
    bool has_zero;
    ox_walk at;     // over x; its index follows the scale, except along a blocked axis
    uint32_t axis;  // blocked axis
    uint32_t block; // 0: not in blocks
    ptrdiff_t step; // of the scale along the blocked axis
} encoding;

static qrn_status blocked(const ox_call *c, const ox_array *x, int64_t block, encoding *e) {
    ptrdiff_t steps[OX_MAX_RANK];
    const ox_array *s = &e->scale;
    if (s->rank != x->rank || block > UINT32_MAX)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "scale of rank %u for blocks of rank %u", s->rank,
                            x->rank);
    ox_dims_steps(s->rank, s->dims, steps);
    for (uint32_t d = 0; d < x->rank; d++) {
        uint64_t want = d == e->axis
                            ? ((uint64_t)x->dims[d] + (uint64_t)block - 1) / (uint64_t)block
                            : x->dims[d];
        if (s->dims[d] != want)
            return OX_CALL_FAIL(c, QRN_E_SHAPE, "dimension %u of the scale is %u, expected %u", d,
                                s->dims[d], (unsigned)want);
        e->at.steps[d] = d == e->axis ? 0 : steps[d];
    }
    e->block = (uint32_t)block;
    e->step = steps[e->axis];
    return QRN_OK;
}

static qrn_status read_encoding(ox_call *c, const ox_array *x, encoding *e) {
    int64_t block = ox_attr_int(c->node, "block_size", 0);
    *e = (encoding){.has_zero = ox_call_has(c, 2), .at = ox_walk_broadcast(x, x->rank, x->dims)};
    QRN_TRY(ox_call_numbers(c, 1, &e->scale));
    if (e->scale.kind != OX_FLOAT || block < 0)
        return OX_CALL_FAIL(c, QRN_E_DTYPE, "scale of type %s, block size %lld",
                            ox_type_name(e->scale.type), (long long)block);
    if (e->has_zero) {
        QRN_TRY(ox_call_in(c, 2, &e->zero));
        if (e->zero.kind == OX_OPAQUE)
            return OX_CALL_PASS(c, "a zero point of a type that is not computed with");
        if (e->zero.kind == OX_FLOAT || e->zero.type == OX_BOOL)
            return OX_CALL_FAIL(c, QRN_E_DTYPE, "zero point of type %s",
                                ox_type_name(e->zero.type));
        if (e->zero.count != e->scale.count)
            return OX_CALL_FAIL(c, QRN_E_SHAPE, "%zu zero points for %zu scales", e->zero.count,
                                e->scale.count);
    }
    for (uint32_t d = 0; d < x->rank; d++)
        e->at.steps[d] = 0;
    if (e->scale.count == 1 && !block)
        return QRN_OK;
    QRN_TRY(ox_call_axis(c, ox_attr_int(c->node, "axis", 1), x->rank, &e->axis));
    if (block)
        return blocked(c, x, block, e);
    if (e->scale.rank != 1 || e->scale.dims[0] != x->dims[e->axis])
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "%zu scales for a dimension of %u", e->scale.count,
                            x->dims[e->axis]);
    e->at.steps[e->axis] = 1;
    return QRN_OK;
}

// Scale and zero point of the next element.
static void next_encoding(encoding *e, double *scale, int64_t *zero) {
    ptrdiff_t i = e->at.index;
    if (e->block)
        i += (ptrdiff_t)(e->at.at[e->axis] / e->block) * e->step;
    *scale = ox_array_get(&e->scale, (size_t)i).f;
    *zero = e->has_zero ? ox_array_get(&e->zero, (size_t)i).i : 0;
    ox_walk_next(&e->at);
}

qrn_status ox_fold_dequantize(ox_call *c) {
    ox_array x, y;
    encoding e;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    QRN_TRY(read_encoding(c, &x, &e));
    if (x.kind == OX_FLOAT || x.type == OX_BOOL)
        return OX_CALL_FAIL(c, QRN_E_DTYPE, "input of type %s", ox_type_name(x.type));
    if (e.has_zero)
        QRN_TRY(ox_call_same_type(c, &x, &e.zero));
    int type = (int)ox_attr_int(c->node, "output_dtype", 0);
    type = type ? type : e.scale.type;
    if (ox_type_kind(type) != OX_FLOAT)
        return OX_CALL_PASS(c, "an output of a type that is not computed");
    QRN_TRY(ox_call_new(c, type, x.rank, x.dims, &y));
    for (size_t i = 0; i < x.count; i++) {
        double scale;
        int64_t zero;
        next_encoding(&e, &scale, &zero);
        ox_array_set(&y, i, (ox_num){.f = (double)(ox_array_get(&x, i).i - zero) * scale});
    }
    return ox_call_put(c, 0, &y);
}

// A double as a float type has it.
static double round_to(double x, int type) {
    switch (type) {
    case OX_F32:
        return (float)x;
    case OX_F16:
        return qrn_f16_to_f32(qrn_f16_from_f64(x));
    case OX_BF16:
        return qrn_bf16_to_f32(qrn_bf16_from_f64(x));
    default:
        return x;
    }
}

// NaN becomes the zero point.
static ox_num code_of(double ratio, int64_t zero, int type) {
    double v = isnan(ratio) ? (double)zero : ox_round_even(ratio) + (double)zero;
    return ox_num_saturate(v, type);
}

static qrn_status quantized_type(ox_call *c, const encoding *e, int *type) {
    *type = (int)ox_attr_int(c->node, "output_dtype", 0);
    if (e->has_zero && *type && *type != e->zero.type)
        return OX_CALL_FAIL(c, QRN_E_DTYPE, "output of type %s with zero points of type %s",
                            ox_type_name(*type), ox_type_name(e->zero.type));
    *type = e->has_zero ? e->zero.type : *type ? *type : OX_U8;
    ox_kind kind = ox_type_kind(*type);
    return kind == OX_FLOAT || kind == OX_OPAQUE
               ? OX_CALL_PASS(c, "an output of a type that is not computed")
               : QRN_OK;
}

qrn_status ox_fold_quantize(ox_call *c) {
    ox_array x, y;
    encoding e;
    int type;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    QRN_TRY(read_encoding(c, &x, &e));
    QRN_TRY(quantized_type(c, &e, &type));
    // The quotient is rounded to this type before it is rounded to an integer.
    int precision = (int)ox_attr_int(c->node, "precision", 0);
    precision = precision ? precision : e.scale.type;
    QRN_TRY(ox_call_new(c, type, x.rank, x.dims, &y));
    for (size_t i = 0; i < x.count; i++) {
        double scale;
        int64_t zero;
        next_encoding(&e, &scale, &zero);
        double v = round_to(ox_num_double(ox_array_get(&x, i), x.kind), precision);
        ox_array_set(&y, i,
                     code_of(round_to(v / round_to(scale, precision), precision), zero, type));
    }
    return ox_call_put(c, 0, &y);
}

qrn_status ox_fold_dynamic_quantize(ox_call *c) {
    ox_array x, y, scale, zero;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    if (x.type != OX_F32)
        return OX_CALL_FAIL(c, QRN_E_DTYPE, "input of type %s", ox_type_name(x.type));
    float lo = 0, hi = 0; // the range holds 0
    for (size_t i = 0; i < x.count; i++) {
        float v = (float)ox_array_get(&x, i).f;
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    float step = (hi == lo ? 1.0f : hi - lo) / 255.0f;
    float at_zero = -lo / step;
    ox_num z = code_of(at_zero, 0, OX_U8);
    QRN_TRY(ox_call_new(c, OX_U8, x.rank, x.dims, &y));
    QRN_TRY(ox_call_new(c, OX_F32, 0, NULL, &scale));
    QRN_TRY(ox_call_new(c, OX_U8, 0, NULL, &zero));
    for (size_t i = 0; i < x.count; i++) {
        float ratio = (float)ox_array_get(&x, i).f / step;
        ox_array_set(&y, i, code_of(ratio, z.i, OX_U8));
    }
    ox_array_set(&scale, 0, (ox_num){.f = step});
    ox_array_set(&zero, 0, z);
    QRN_TRY(ox_call_put(c, 0, &y));
    QRN_TRY(ox_call_put(c, 1, &scale));
    return ox_call_put(c, 2, &zero);
}
