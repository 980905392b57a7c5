// SPDX-License-Identifier: MIT
//
// Real values at the border of quantized graphs: quantized values of application tensors that have
// one scale and offset. Rounded half up, as the HTP does.
#include "tools/quern/session.h"

#include "base/quant.h"

#include <math.h>

bool qt_border_encoding(const Qnn_Tensor_t *t, float *scale, int32_t *offset) {
    const Qnn_QuantizeParams_t *q = &t->v1.quantizeParams;
    qrn_dtype dtype = qrn_dtype_from_code((uint32_t)t->v1.dataType);
    if (q->encodingDefinition != QNN_DEFINITION_DEFINED || dtype == QRN_DTYPE_COUNT ||
        !qrn_dtype_is_fixed(dtype))
        return false;
    if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_SCALE_OFFSET) {
        *scale = q->scaleOffsetEncoding.scale;
        *offset = q->scaleOffsetEncoding.offset;
        return true;
    }
    if (q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET) {
        *scale = q->bwScaleOffsetEncoding.scale;
        *offset = q->bwScaleOffsetEncoding.offset;
        return true;
    }
    return false;
}

static uint32_t bits_of(const Qnn_Tensor_t *t) {
    const Qnn_QuantizeParams_t *q = &t->v1.quantizeParams;
    return q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET
               ? q->bwScaleOffsetEncoding.bitwidth
               : 0;
}

qrn_status qt_quantize(const qt_array *a, const Qnn_Tensor_t *t, void *buffer) {
    float scale = 1;
    int32_t offset = 0;
    int64_t lo, hi;
    qt_border_encoding(t, &scale, &offset);
    qrn_quant_range(qrn_dtype_from_code((uint32_t)t->v1.dataType), bits_of(t), &lo, &hi);
    qt_array codes;
    QRN_TRY(qt_array_create(t->v1.name, OX_I64, a->rank, a->dims, &codes));
    for (size_t i = 0; i < a->count; i++) {
        double v = floor(qt_array_at(a, i) / (double)scale + 0.5) - offset;
        v = isnan(v) ? -offset : v;
        ((int64_t *)codes.data)[i] = v < (double)lo ? lo : v > (double)hi ? hi : (int64_t)v;
    }
    qrn_status s = qt_to_qnn(t->v1.name, &codes, t->v1.dataType, buffer);
    qt_array_free(&codes);
    return s;
}

void qt_dequantize(const Qnn_Tensor_t *t, qt_array *a) {
    float scale, *v = a->data;
    int32_t offset;
    if (!qt_border_encoding(t, &scale, &offset))
        return;
    for (size_t i = 0; i < a->count; i++)
        v[i] = (float)(((double)v[i] + offset) * (double)scale);
}
