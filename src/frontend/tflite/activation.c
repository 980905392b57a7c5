// SPDX-License-Identifier: MIT
//
// Fused activations. The encoding of a quantized output mostly clips already: then there is nothing
// to do.
#include "frontend/tflite/activation.h"

#include <math.h>

bool tl_clips_to(int activation, float *lo, float *hi) {
    static const struct {
        float lo, hi;
    } ranges[] = {[TL_RELU] = {0, INFINITY}, [TL_RELU_N1_TO_1] = {-1, 1}, [TL_RELU6] = {0, 6}};
    if (activation < TL_RELU || activation > TL_RELU6)
        return false;
    *lo = ranges[activation].lo;
    *hi = ranges[activation].hi;
    return true;
}

// The least and largest stored value of a fixed-point type.
static void stored_range(Qnn_DataType_t type, double *lo, double *hi) {
    unsigned bits = qc_dtype_bits(type);
    bool is_signed = type == QNN_DATATYPE_SFIXED_POINT_8 || type == QNN_DATATYPE_SFIXED_POINT_16 ||
                     type == QNN_DATATYPE_SFIXED_POINT_4;
    *lo = is_signed ? -ldexp(1, (int)bits - 1) : 0;
    *hi = *lo + ldexp(1, (int)bits) - 1;
}

bool tl_activates(const tl *t, const qc_tensor *y) {
    int act = (int)ox_attr_int(t->e.n, "fused_activation_function", TL_NONE);
    float lo, hi;
    if (act == TL_NONE)
        return false;
    const Qnn_QuantizeParams_t *q = &y->t.v1.quantizeParams;
    if (!ox_is_fixed(y) || !tl_clips_to(act, &lo, &hi) ||
        q->quantizationEncoding != QNN_QUANTIZATION_ENCODING_SCALE_OFFSET)
        return true;
    double least, most, scale = (double)q->scaleOffsetEncoding.scale;
    double zero = -(double)q->scaleOffsetEncoding.offset;
    stored_range(y->t.v1.dataType, &least, &most);
    return zero + floor((double)lo / scale + 0.5) > least ||
           (isfinite(hi) && zero + floor((double)hi / scale + 0.5) < most);
}

void tl_clip_to(tl *t, qc_tensor *x, qc_tensor *y, float lo, float hi) {
    qc_op o;
    if (t->e.s != QRN_OK || !x || !y)
        return;
    bool relu = lo == 0 && isinf(hi);
    ox_op(t->e.im, &o, t->e.n, relu ? QNN_OP_RELU : QNN_OP_RELU_MIN_MAX);
    qc_in(&o, x);
    qc_out(&o, y);
    if (!relu) {
        qc_f32(&o, QNN_OP_RELU_MIN_MAX_PARAM_MIN_VALUE, lo);
        qc_f32(&o, QNN_OP_RELU_MIN_MAX_PARAM_MAX_VALUE, hi);
    }
    tl_emit(t, &o);
}

void tl_activate(tl *t, qc_tensor *x, qc_tensor *y) {
    int act = (int)ox_attr_int(t->e.n, "fused_activation_function", TL_NONE);
    float lo, hi;
    if (t->e.s != QRN_OK)
        return;
    if (tl_clips_to(act, &lo, &hi)) {
        tl_clip_to(t, x, y, lo, hi);
        return;
    }
    if (act != TL_TANH) {
        t->e.s = tl_fail(t, QRN_E_UNSUPPORTED, "fused activation %d is not supported", act);
        return;
    }
    qc_op o;
    ox_op(t->e.im, &o, t->e.n, QNN_OP_TANH);
    qc_in(&o, x);
    qc_out(&o, y);
    tl_emit(t, &o);
}
