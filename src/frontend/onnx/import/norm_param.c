// SPDX-License-Identifier: MIT
//
// Parameters and statistics of normalizations.
#include "frontend/onnx/import/norm.h"

#include "base/mem.h"
#include "frontend/onnx/emit/filter.h"

#include <math.h>

static size_t count_of(uint32_t rank, const uint32_t *dims) {
    size_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    return n;
}

static double largest(const float *values, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)values[i]));
    return most > 0 ? most : 1;
}

// values as integers of `dtype` in steps of `scale`, zero at `zero`.
static qc_tensor *encoded(ox_expr *e, const float *values, Qnn_DataType_t dtype, double scale,
                          int32_t zero, uint32_t rank, const uint32_t *dims) {
    size_t n = count_of(rank, dims), wide = qc_dtype_bits(dtype) == 32;
    qc_tensor *out = NULL;
    int32_t *quantized = qrn_alloc(n * sizeof *quantized);
    if (!quantized) {
        e->s = QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", e->n->name);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        double q = floor((double)values[i] / scale + 0.5) + zero;
        if (wide)
            quantized[i] = (int32_t)q;
        else
            ((uint16_t *)quantized)[i] = (uint16_t)fmin(fmax(q, 0), 65535);
    }
    Qnn_QuantizeParams_t p = QNN_QUANTIZE_PARAMS_INIT;
    p.encodingDefinition = QNN_DEFINITION_DEFINED;
    p.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    p.scaleOffsetEncoding.scale = (float)scale;
    p.scaleOffsetEncoding.offset = -zero;
    e->s = ox_static_encoded(e->im, dtype, rank, dims, &p, quantized, n * (wide ? 4 : 2), &out);
    qrn_free(quantized);
    return out;
}

qc_tensor *ox_gamma_of(ox_expr *e, const float *values, const qc_tensor *x, uint32_t rank,
                       const uint32_t *dims) {
    if (!x || e->s != QRN_OK)
        return NULL;
    if (!ox_is_fixed(x) || qc_dtype_bits(ox_type_of(x)) < 16)
        return ox_floats(e, x, rank, dims, values);
    double scale = largest(values, count_of(rank, dims)) / 32767;
    return encoded(e, values, QNN_DATATYPE_UFIXED_POINT_16, scale, 32768, rank, dims);
}

qc_tensor *ox_beta_of(ox_expr *e, const float *values, const qc_tensor *x, uint32_t rank,
                      const uint32_t *dims) {
    if (!x || e->s != QRN_OK)
        return NULL;
    if (!ox_is_fixed(x))
        return ox_floats(e, x, rank, dims, values);
    double scale = largest(values, count_of(rank, dims)) / (1 << 24);
    return encoded(e, values, QNN_DATATYPE_SFIXED_POINT_32, scale, 0, rank, dims);
}

typedef qc_tensor *(*make_fn)(ox_expr *e, const float *values, const qc_tensor *x, uint32_t rank,
                              const uint32_t *dims);

static qc_tensor *param(ox_expr *e, uint32_t i, const qc_tensor *x, uint32_t rank,
                        const uint32_t *dims, make_fn make) {
    const ox_val *v = ox_input(e->im, e->n, i);
    float *values;
    if (!v || !x || e->s != QRN_OK)
        return NULL;
    if (count_of(v->rank, v->dims) != count_of(rank, dims)) {
        e->s = ox_fail(e->im, e->n, QRN_E_SHAPE, "input %u has %zu elements, expected %zu", i,
                       count_of(v->rank, v->dims), count_of(rank, dims));
        return NULL;
    }
    e->s = ox_real_numbers(e->im, e->n, i, &values);
    if (e->s != QRN_OK)
        return NULL;
    qc_tensor *y;
    if (values)
        y = make(e, values, x, rank, dims);
    else
        y = ox_reshape(e, ox_as(e, ox_in_real(e, i, OX_ONNX), ox_type_of(x)), rank, dims);
    qrn_free(values);
    return y;
}

qc_tensor *ox_gamma(ox_expr *e, uint32_t i, const qc_tensor *x, uint32_t rank,
                    const uint32_t *dims) {
    return param(e, i, x, rank, dims, ox_gamma_of);
}

qc_tensor *ox_beta(ox_expr *e, uint32_t i, const qc_tensor *x, uint32_t rank,
                   const uint32_t *dims) {
    return param(e, i, x, rank, dims, ox_beta_of);
}

bool ox_params_constant(const ox_expr *e, uint32_t first, uint32_t last) {
    for (uint32_t i = first; i <= last; i++) {
        const ox_val *v = ox_input(e->im, e->n, i);
        if (v && !v->data && !(v->quantized && v->quantized->data))
            return false;
    }
    return true;
}

// --- unsigned fixed point

static bool is_s8(const qc_tensor *t) { return ox_type_of(t) == QNN_DATATYPE_SFIXED_POINT_8; }

// s8 as u8: the same steps, counted from the lowest value.
static qc_tensor *unsigned_like(ox_expr *e, const qc_tensor *x) {
    qc_tensor like = *x, *y = NULL;
    like.t.v1.dataType = QNN_DATATYPE_UFIXED_POINT_8;
    like.t.v1.quantizeParams.scaleOffsetEncoding.offset -= 128;
    e->s = ox_temp(e->im, &like, x->rank, x->dims, &y);
    return y;
}

qc_tensor *ox_unsigned_in(ox_expr *e, uint32_t i, ox_layout layout) {
    qc_tensor *x = ox_fixed_in(e, i, layout);
    if (!x || !is_s8(x))
        return x;
    qc_tensor *y = unsigned_like(e, x);
    if (y)
        e->s = ox_emit_unary(e->im, e->n, QNN_OP_CONVERT, x, y);
    return y;
}

qc_tensor *ox_unsigned_out(ox_expr *e, uint32_t i, ox_layout layout) {
    qc_tensor *y = ox_fixed_out(e, i, layout);
    return y && is_s8(y) ? unsigned_like(e, y) : y;
}

// --- statistics

qc_tensor *ox_mean(ox_expr *e, qc_tensor *x, const uint32_t *axes, uint32_t n) {
    return ox_reduce(e, QNN_OP_REDUCE_MEAN, x, axes, n, true);
}

qc_tensor *ox_mean_square(ox_expr *e, qc_tensor *x, const uint32_t *axes, uint32_t n) {
    return ox_mean(e, ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, x, x), axes, n);
}
