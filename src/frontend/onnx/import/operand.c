// SPDX-License-Identifier: MIT
//
// Filters and biases of convolutions and matmuls.
#include "frontend/onnx/emit/filter.h"
#include "frontend/onnx/import/window.h"

#include "base/mem.h"

#include <math.h>

qc_tensor *ox_filter(ox_expr *e, uint32_t i, const uint32_t *perm, uint32_t rank, bool real) {
    qc_tensor *x = NULL;
    if (e->s != QRN_OK)
        return NULL;
    e->s = ox_static_permuted(e->im, e->n, i, perm, rank, real, &x);
    if (e->s != QRN_OK)
        return NULL;
    if (!x) {
        uint32_t dims[OX_MAX_RANK], lead = 0;
        x = real ? ox_in_real(e, i, OX_ONNX) : ox_fixed_in(e, i, OX_ONNX);
        bool moves = false;
        for (uint32_t d = 0; x && d < x->rank; d++)
            moves |= perm[d] != d;
        if (moves)
            x = ox_transpose(e, x, perm);
        for (; x && lead + x->rank < rank; lead++)
            dims[lead] = 1;
        for (uint32_t d = 0; x && d < x->rank; d++)
            dims[lead + d] = x->dims[d];
        return x ? ox_reshape(e, x, lead + x->rank, dims) : NULL;
    }
    if (ox_type_of(x) == QNN_DATATYPE_FLOAT_32 || ox_type_of(x) == QNN_DATATYPE_FLOAT_16)
        return ox_as(e, x, ox_real_type(e));
    return x;
}

bool ox_filter_fits(const ox_expr *e, uint32_t i, uint32_t axis) {
    const ox_val *v = ox_input(e->im, e->n, i);
    const ox_enc *enc = v && v->quantized ? v->quantized->enc : NULL;
    return ox_is_quantized(e->im, e->n) && enc && !enc->block &&
           (enc->n == 1 || (uint32_t)enc->axis == axis);
}

// Scale of channel c of a filter, whatever its encoding.
static double scale_of(const qc_tensor *t, uint32_t c) {
    const Qnn_QuantizeParams_t *q = &t->t.v1.quantizeParams;
    if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET)
        return (double)q->axisScaleOffsetEncoding
            .scaleOffset[c % q->axisScaleOffsetEncoding.numScaleOffsets]
            .scale;
    if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET)
        return (double)
            q->bwAxisScaleOffsetEncoding.scales[c % q->bwAxisScaleOffsetEncoding.numElements];
    if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET)
        return (double)q->bwScaleOffsetEncoding.scale;
    return (double)q->scaleOffsetEncoding.scale;
}

static bool per_axis(const qc_tensor *t) {
    Qnn_QuantizationEncoding_t e = t->t.v1.quantizeParams.quantizationEncoding;
    return e == QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET ||
           e == QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET;
}

static int32_t to_s32(double v) {
    v = floor(v + 0.5);
    return v >= INT32_MAX ? INT32_MAX : v <= INT32_MIN ? INT32_MIN : (int32_t)v;
}

// Values of a bias in units of the accumulators.
static void bias_values(const ox_expr *e, const float *values, const Qnn_ScaleOffset_t *pairs,
                        uint32_t channels, int32_t *out) {
    bool all = true;
    for (uint32_t c = 0; c < channels; c++) {
        double v = (double)values[c] / (double)pairs[c].scale;
        all = all && fabs(v) <= 0x1p31;
        out[c] = to_s32(v);
    }
    if (!all)
        ox_note(e->im, e->n, "have a bias that is cut to 32 bits in some channels",
                "its unit is the scale of the input times that of the weights, which is too small");
}

qc_tensor *ox_bias_of(ox_expr *e, const float *values, const qc_tensor *x, const qc_tensor *filter,
                      uint32_t channels) {
    qc_tensor *out = NULL;
    if (!x || !filter || e->s != QRN_OK)
        return NULL;
    if (!ox_is_fixed(x))
        return ox_floats(e, x, 1, &channels, values);
    int32_t *quantized = qrn_alloc(channels * sizeof *quantized);
    Qnn_ScaleOffset_t *pairs = qrn_alloc(channels * sizeof *pairs);
    if (!quantized || !pairs)
        e->s = QRN_FAIL(QRN_E_MEM, "node '%s': out of memory", e->n->name);
    for (uint32_t c = 0; e->s == QRN_OK && c < channels; c++)
        pairs[c] = (Qnn_ScaleOffset_t){(float)(scale_of(x, 0) * scale_of(filter, c)), 0};
    if (e->s == QRN_OK) {
        bias_values(e, values, pairs, channels, quantized);
        Qnn_QuantizeParams_t q = QNN_QUANTIZE_PARAMS_INIT;
        q.encodingDefinition = QNN_DEFINITION_DEFINED;
        q.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        q.scaleOffsetEncoding = pairs[0];
        if (per_axis(filter)) {
            q.quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
            q.axisScaleOffsetEncoding.axis = 0;
            q.axisScaleOffsetEncoding.numScaleOffsets = channels;
            q.axisScaleOffsetEncoding.scaleOffset = pairs;
        }
        e->s = ox_static_encoded(e->im, QNN_DATATYPE_SFIXED_POINT_32, 1, &channels, &q, quantized,
                                 channels * sizeof *quantized, &out);
    }
    qrn_free(quantized);
    qrn_free(pairs);
    return out;
}

qc_tensor *ox_bias(ox_expr *e, uint32_t i, const qc_tensor *x, const qc_tensor *filter,
                   uint32_t channels) {
    const ox_val *v = ox_input(e->im, e->n, i);
    float *values;
    qc_tensor *out = NULL;
    if (!v || !x || e->s != QRN_OK)
        return NULL;
    if (v->rank != 1 || v->dims[0] != channels) {
        e->s = ox_fail(e->im, e->n, QRN_E_SHAPE, "its bias has not %u values", channels);
        return NULL;
    }
    e->s = ox_real_numbers(e->im, e->n, i, &values);
    if (e->s != QRN_OK)
        return NULL;
    if (values)
        out = ox_bias_of(e, values, x, filter, channels);
    else
        out = ox_is_fixed(x) ? ox_fixed_in(e, i, OX_ONNX) : ox_in_real(e, i, OX_ONNX);
    qrn_free(values);
    return out;
}
