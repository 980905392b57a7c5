// SPDX-License-Identifier: MIT
//
// Numbers of one type as another: operands that a QNN op does not take in the type they have, and
// results that are computed in another type than the output's. Integers keep their value, or their
// low bits where they do not fit, as in ONNX; 4, 8 and 16-bit integers are quantized values
// in QNN tensors (place.c), and it is the stored integer that counts unless the value is a float
// one.
#include "frontend/onnx/driver/internal.h"

#include <math.h>

static Qnn_DataType_t type_of(const qc_tensor *t) { return t->t.v1.dataType; }

static bool is_float(Qnn_DataType_t t) {
    return t == QNN_DATATYPE_FLOAT_32 || t == QNN_DATATYPE_FLOAT_16;
}

static bool is_nibble(Qnn_DataType_t t) {
    return t == QNN_DATATYPE_UFIXED_POINT_4 || t == QNN_DATATYPE_SFIXED_POINT_4;
}

bool ox_is_fixed(const qc_tensor *t) {
    switch (type_of(t)) {
    case QNN_DATATYPE_UFIXED_POINT_4:
    case QNN_DATATYPE_SFIXED_POINT_4:
    case QNN_DATATYPE_UFIXED_POINT_8:
    case QNN_DATATYPE_SFIXED_POINT_8:
    case QNN_DATATYPE_UFIXED_POINT_16:
    case QNN_DATATYPE_SFIXED_POINT_16:
    case QNN_DATATYPE_UFIXED_POINT_32:
    case QNN_DATATYPE_SFIXED_POINT_32:
        return true;
    default:
        return false;
    }
}

qrn_status ox_number(ox_import *im, Qnn_DataType_t dtype, double value, qc_tensor **out) {
    uint32_t one = 1;
    float f = (float)value;
    qc_tensor like = {.t = QNN_TENSOR_INIT};
    like.t.v1.dataType = dtype;
    if (is_float(dtype))
        return ox_static_like(im, &like, &f, 1, &one, out);
    uint32_t bits = value < 0 ? (uint32_t)(int32_t)value : (uint32_t)value;
    return ox_static(im, dtype, 1, &one, &bits, qc_dtype_bits(dtype) / 8, out);
}

// y = op(x, constant) in a new tensor of x's type and shape.
static qrn_status with_number(ox_import *im, const ox_node *n, const char *op, qc_tensor **x,
                              double value) {
    qc_tensor *c, *y;
    QRN_TRY(ox_number(im, type_of(*x), value, &c));
    QRN_TRY(ox_temp(im, *x, (*x)->rank, (*x)->dims, &y));
    QRN_TRY(ox_emit_binary(im, n, op, *x, c, y));
    *x = y;
    return QRN_OK;
}

static qrn_status cast_to(ox_import *im, const ox_node *n, const char *op, qc_tensor **x,
                          Qnn_DataType_t dtype) {
    qc_tensor *y;
    QRN_TRY(ox_temp_typed(im, dtype, (*x)->rank, (*x)->dims, &y));
    QRN_TRY(ox_emit_unary(im, n, op, *x, y));
    *x = y;
    return QRN_OK;
}

// The real number of a quantized value q is (q + offset) * scale.
static qrn_status encoding_of(const ox_import *im, const ox_node *n, const qc_tensor *t,
                              Qnn_ScaleOffset_t *e) {
    const Qnn_QuantizeParams_t *q = &t->t.v1.quantizeParams;
    *e = (Qnn_ScaleOffset_t){1, 0};
    if (q->encodingDefinition != QNN_DEFINITION_DEFINED)
        return QRN_OK;
    if (q->quantizationEncoding != QNN_QUANTIZATION_ENCODING_SCALE_OFFSET)
        return ox_fail(
            im, n, QRN_E_UNSUPPORTED,
            "quantized values of tensor '%s', which is encoded per axis or block, as plain numbers",
            t->t.v1.name);
    *e = q->scaleOffsetEncoding;
    return QRN_OK;
}

// 4-bit quantized values as floats, through their real numbers: Cast does not support them.
static qrn_status from_nibbles(ox_import *im, const ox_node *n, qc_tensor **x) {
    Qnn_ScaleOffset_t e;
    QRN_TRY(encoding_of(im, n, *x, &e));
    QRN_TRY(cast_to(im, n, QNN_OP_DEQUANTIZE, x, QNN_DATATYPE_FLOAT_32));
    if (e.scale == 1 && e.offset == 0)
        return QRN_OK;
    QRN_TRY(with_number(im, n, QNN_OP_ELEMENT_WISE_DIVIDE, x, (double)e.scale));
    QRN_TRY(with_number(im, n, QNN_OP_ELEMENT_WISE_SUBTRACT, x, e.offset));
    QRN_TRY(with_number(im, n, QNN_OP_ELEMENT_WISE_ADD, x, 0.5));
    qc_tensor *y;
    QRN_TRY(ox_temp(im, *x, (*x)->rank, (*x)->dims, &y));
    QRN_TRY(ox_emit_unary(im, n, QNN_OP_ELEMENT_WISE_FLOOR, *x, y));
    *x = y;
    return QRN_OK;
}

static qrn_status through_float(ox_import *im, const ox_node *n, qc_tensor *x, const qc_tensor *y) {
    QRN_TRY(cast_to(im, n, QNN_OP_CAST, &x, QNN_DATATYPE_FLOAT_32));
    return ox_emit_unary(im, n, QNN_OP_QUANTIZE, x, y);
}

// An i32 of 16 bits whose real number is itself, as the sum of its bytes: floats may be fp16 on the
// HTP, which holds each of the two but not both, and the sum of quantized values is exact.
static qrn_status from_bytes(ox_import *im, const ox_node *n, qc_tensor *x, const qc_tensor *y) {
    qc_tensor *low = x, *high, *parts[2];
    QRN_TRY(with_number(im, n, QNN_OP_ELEMENT_WISE_MOD, &low, 256));
    QRN_TRY(ox_temp(im, x, x->rank, x->dims, &high));
    QRN_TRY(ox_emit_binary(im, n, QNN_OP_ELEMENT_WISE_SUBTRACT, x, low, high));
    for (int i = 0; i < 2; i++) {
        QRN_TRY(ox_temp(im, y, y->rank, y->dims, &parts[i]));
        QRN_TRY(through_float(im, n, i ? low : high, parts[i]));
    }
    return ox_emit_binary(im, n, QNN_OP_ELEMENT_WISE_ADD, parts[0], parts[1], y);
}

// Types that Cast does not write: the low bits of an i32, then the real number that it stands for.
static qrn_status to_quantized(ox_import *im, const ox_node *n, qc_tensor *x, const qc_tensor *y) {
    unsigned bits = qc_dtype_bits(type_of(y));
    bool is_signed = type_of(y) != QNN_DATATYPE_UFIXED_POINT_4;
    Qnn_ScaleOffset_t e;
    QRN_TRY(encoding_of(im, n, y, &e));
    bool plain = e.scale == 1 && e.offset == 0; // a value's real number is itself
    if (type_of(x) != QNN_DATATYPE_INT_32)
        QRN_TRY(cast_to(im, n, QNN_OP_CAST, &x, QNN_DATATYPE_INT_32));
    if (is_signed) {
        double shift = ldexp(1, 32 - (int)bits);
        QRN_TRY(with_number(im, n, QNN_OP_ELEMENT_WISE_MULTIPLY, &x, shift));
        // Exact. With an encoding the HTP would round in fp16 below; it has no FloorDiv, and says
        // so.
        QRN_TRY(with_number(
            im, n, plain ? QNN_OP_ELEMENT_WISE_DIVIDE : QNN_OP_ELEMENT_WISE_FLOOR_DIV, &x, shift));
    } else {
        QRN_TRY(with_number(im, n, QNN_OP_ELEMENT_WISE_MOD, &x, ldexp(1, (int)bits)));
    }
    if (plain)
        return bits == 16 ? from_bytes(im, n, x, y) : through_float(im, n, x, y);
    QRN_TRY(cast_to(im, n, QNN_OP_CAST, &x, QNN_DATATYPE_FLOAT_32));
    QRN_TRY(with_number(im, n, QNN_OP_ELEMENT_WISE_ADD, &x, e.offset));
    QRN_TRY(with_number(im, n, QNN_OP_ELEMENT_WISE_MULTIPLY, &x, (double)e.scale));
    return ox_emit_unary(im, n, QNN_OP_QUANTIZE, x, y);
}

qrn_status ox_emit_cast(ox_import *im, const ox_node *n, const qc_tensor *x, const qc_tensor *y) {
    qc_tensor *in = (qc_tensor *)(uintptr_t)x;
    if (is_nibble(type_of(in)))
        QRN_TRY(from_nibbles(im, n, &in));
    if (is_nibble(type_of(y)) || type_of(y) == QNN_DATATYPE_SFIXED_POINT_16)
        return to_quantized(im, n, in, y);
    return ox_emit_unary(im, n, QNN_OP_CAST, in, y);
}

static bool is_real(const ox_val *v) {
    return v->type == OX_F32 || v->type == OX_F16 || v->type == OX_BF16;
}

// Quantized values as u16, which most ops support: 8 bits and signed ones are converted.
static qrn_status as_u16(ox_import *im, const ox_node *n, qc_tensor **t) {
    const Qnn_QuantizeParams_t *q = &(*t)->t.v1.quantizeParams;
    qc_tensor like = **t, *y;
    Qnn_ScaleOffset_t *to = &like.t.v1.quantizeParams.scaleOffsetEncoding;
    if (type_of(*t) == QNN_DATATYPE_UFIXED_POINT_16)
        return QRN_OK;
    if (q->quantizationEncoding != QNN_QUANTIZATION_ENCODING_SCALE_OFFSET)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "tensor '%s' has several scales", (*t)->t.v1.name);
    if (type_of(*t) == QNN_DATATYPE_SFIXED_POINT_16)
        to->offset -= 32768;
    else if (type_of(*t) == QNN_DATATYPE_UFIXED_POINT_8)
        *to = (Qnn_ScaleOffset_t){to->scale / 256, to->offset * 256};
    else
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "tensor '%s' has no 16-bit form", (*t)->t.v1.name);
    like.t.v1.dataType = QNN_DATATYPE_UFIXED_POINT_16;
    QRN_TRY(ox_temp(im, &like, (*t)->rank, (*t)->dims, &y));
    QRN_TRY(ox_emit_unary(im, n, QNN_OP_CONVERT, *t, y));
    *t = y;
    return QRN_OK;
}

static qrn_status as_type(ox_import *im, const ox_node *n, bool real, Qnn_DataType_t dtype,
                          qc_tensor **t) {
    if (type_of(*t) == dtype)
        return QRN_OK;
    if (real && im->fixed16 && is_float(dtype) && ox_is_fixed(*t))
        return as_u16(im, n, t);
    if (real && ox_is_fixed(*t) && is_float(dtype))
        return cast_to(im, n, QNN_OP_DEQUANTIZE, t, dtype);
    qc_tensor *y;
    QRN_TRY(ox_temp_typed(im, dtype, (*t)->rank, (*t)->dims, &y));
    QRN_TRY(ox_emit_cast(im, n, *t, y));
    *t = y;
    return QRN_OK;
}

qrn_status ox_in_as(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout,
                    Qnn_DataType_t dtype, qc_tensor **out) {
    QRN_TRY(ox_in(im, n, i, layout, out));
    return as_type(im, n, is_real(ox_input(im, n, i)), dtype, out);
}

qrn_status ox_in_broadcast_as(ox_import *im, const ox_node *n, uint32_t i, uint32_t rank,
                              ox_layout layout, Qnn_DataType_t dtype, qc_tensor **out) {
    QRN_TRY(ox_in_broadcast(im, n, i, rank, layout, out));
    return as_type(im, n, is_real(ox_input(im, n, i)), dtype, out);
}

qrn_status ox_out_type(ox_import *im, const ox_node *n, uint32_t i, Qnn_DataType_t *out) {
    ox_val *v, *target;
    QRN_TRY(ox_output_val(im, n, i, &v));
    QRN_TRY(ox_unit_output(im, v, &target));
    *out = ox_qnn_type(im, target);
    return QRN_OK;
}

qrn_status ox_out_as(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout,
                     Qnn_DataType_t dtype, qc_tensor **out) {
    qc_tensor *y;
    QRN_TRY(ox_out(im, n, i, layout, &y));
    *out = y;
    if (im->fixed16 && is_float(dtype) && type_of(y) == QNN_DATATYPE_UFIXED_POINT_16)
        return QRN_OK;
    return type_of(y) == dtype ? QRN_OK : ox_temp_typed(im, dtype, y->rank, y->dims, out);
}

qrn_status ox_out_end(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout,
                      const qc_tensor *x) {
    ox_val *v;
    qc_tensor *y;
    QRN_TRY(ox_output_val(im, n, i, &v));
    QRN_TRY(ox_out_made(im, n, i, layout, &y));
    if (x == y)
        return QRN_OK;
    if (is_real(v) && ox_is_fixed(y) && is_float(type_of(x)))
        return ox_emit_unary(im, n, QNN_OP_QUANTIZE, x, y);
    return ox_emit_cast(im, n, x, y);
}
