// SPDX-License-Identifier: MIT
//
// Carriers: the types in which elements pass through ops that move them. What is emitted around
// the op is exact: a Cast between types of one width, a Convert that shifts the offset, or
// Dequantize and Quantize with one encoding.
#include "frontend/onnx/carry.h"

#include "frontend/onnx/internal.h"

#include <string.h>

static Qnn_DataType_t type_of(const qc_tensor *t) { return t->t.v1.dataType; }

static const Qnn_QuantizeParams_t *params_of(const qc_tensor *t) { return &t->t.v1.quantizeParams; }

static const struct {
    Qnn_DataType_t dtype;
    uint32_t bit;
} type_bits[] = {
    {QNN_DATATYPE_FLOAT_32, OX_T_F32},
    {QNN_DATATYPE_FLOAT_16, OX_T_F16},
    {QNN_DATATYPE_INT_32, OX_T_I32},
    {QNN_DATATYPE_UINT_32, OX_T_U32},
    {QNN_DATATYPE_BOOL_8, OX_T_B8},
    {QNN_DATATYPE_UFIXED_POINT_8, OX_T_UQ8},
    {QNN_DATATYPE_SFIXED_POINT_8, OX_T_SQ8},
    {QNN_DATATYPE_UFIXED_POINT_16, OX_T_UQ16},
    {QNN_DATATYPE_SFIXED_POINT_16, OX_T_SQ16},
    {QNN_DATATYPE_SFIXED_POINT_32, OX_T_SQ32},
};

static bool takes(uint32_t types, Qnn_DataType_t dtype) {
    for (size_t i = 0; i < sizeof type_bits / sizeof type_bits[0]; i++)
        if (type_bits[i].dtype == dtype)
            return (types & type_bits[i].bit) != 0;
    return false;
}

static bool per_tensor(const qc_tensor *t) {
    return params_of(t)->encodingDefinition != QNN_DEFINITION_DEFINED ||
           params_of(t)->quantizationEncoding == QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
}

static bool same_encoding(const qc_tensor *a, const qc_tensor *b) {
    const Qnn_QuantizeParams_t *p = params_of(a), *q = params_of(b);
    if (p->encodingDefinition != q->encodingDefinition)
        return false;
    if (p->encodingDefinition != QNN_DEFINITION_DEFINED)
        return true;
    return per_tensor(a) && per_tensor(b) &&
           p->scaleOffsetEncoding.scale == q->scaleOffsetEncoding.scale &&
           p->scaleOffsetEncoding.offset == q->scaleOffsetEncoding.offset;
}

static bool alike(const qc_tensor *a, const qc_tensor *b) {
    return type_of(a) == type_of(b) && same_encoding(a, b);
}

static bool is_real(const ox_val *v) {
    return v->type == OX_F32 || v->type == OX_F16 || v->type == OX_BF16;
}

static void become(qc_tensor *t, Qnn_DataType_t dtype) {
    t->t.v1.dataType = dtype;
    t->t.v1.quantizeParams = ox_plain_encoding(dtype);
}

// Signed codes as unsigned ones of the same width: the offset takes up the difference.
static void become_unsigned(qc_tensor *t, Qnn_DataType_t dtype, int32_t shift) {
    t->t.v1.dataType = dtype;
    t->t.v1.quantizeParams.scaleOffsetEncoding.offset -= shift;
}

qrn_status ox_carry_of(ox_import *im, const ox_node *n, const ox_val *value, const qc_tensor *t,
                       uint32_t types, ox_carry *c) {
    *c = (ox_carry){.base = *t, .like = *t, .real = is_real(value)};
    bool fixed = ox_is_fixed(t);
    if (fixed && !per_tensor(t)) {
        if (!c->real)
            return ox_fail(im, n, QRN_E_UNSUPPORTED,
                           "elements of '%s', which are encoded per axis or block, cannot be moved "
                           "as integers; dequantize them first",
                           value->name);
        become(&c->like, QNN_DATATYPE_FLOAT_32);
        c->base = c->like;
        return QRN_OK;
    }
    if (takes(types, type_of(t)))
        return QRN_OK;
    switch (type_of(t)) {
    case QNN_DATATYPE_BOOL_8:
        become(&c->like, QNN_DATATYPE_UFIXED_POINT_8);
        break;
    case QNN_DATATYPE_UINT_32:
        become(&c->like, QNN_DATATYPE_INT_32);
        break;
    case QNN_DATATYPE_FLOAT_16:
    case QNN_DATATYPE_UFIXED_POINT_4:
    case QNN_DATATYPE_SFIXED_POINT_4:
        become(&c->like, QNN_DATATYPE_FLOAT_32);
        break;
    case QNN_DATATYPE_SFIXED_POINT_8:
        become_unsigned(&c->like, QNN_DATATYPE_UFIXED_POINT_8, 128);
        break;
    case QNN_DATATYPE_SFIXED_POINT_16:
        become_unsigned(&c->like, QNN_DATATYPE_UFIXED_POINT_16, 32768);
        break;
    default:
        break;
    }
    if (takes(types, type_of(&c->like)))
        return QRN_OK;
    return ox_fail(im, n, QRN_E_UNSUPPORTED, "QNN has no such op for elements of type %s",
                   ox_type_name(value->type));
}

// y = x with the values kept.
static qrn_status convert(ox_import *im, const ox_node *n, const qc_tensor *x, const qc_tensor *y) {
    const char *op = QNN_OP_CAST;
    bool narrow = qc_dtype_bits(type_of(x)) < 8 || qc_dtype_bits(type_of(y)) < 8;
    if (type_of(x) == QNN_DATATYPE_BOOL_8 || type_of(y) == QNN_DATATYPE_BOOL_8)
        op = QNN_OP_CAST;
    else if (ox_is_fixed(x) && ox_is_fixed(y) && !narrow)
        op = QNN_OP_CONVERT;
    else if (ox_is_fixed(y))
        op = QNN_OP_QUANTIZE;
    else if (ox_is_fixed(x))
        op = QNN_OP_DEQUANTIZE;
    if (ox_is_fixed(x) && ox_is_fixed(y) && narrow) {
        qc_tensor *f;
        QRN_TRY(ox_temp_typed(im, QNN_DATATYPE_FLOAT_32, x->rank, x->dims, &f));
        QRN_TRY(ox_emit_unary(im, n, QNN_OP_DEQUANTIZE, x, f));
        x = f;
    }
    return ox_emit_unary(im, n, op, x, y);
}

static qrn_status converted(ox_import *im, const ox_node *n, const qc_tensor *x,
                            const qc_tensor *like, const qc_tensor **out) {
    qc_tensor *y;
    QRN_TRY(ox_temp(im, like, x->rank, x->dims, &y));
    *out = y;
    return convert(im, n, x, y);
}

qrn_status ox_carry_in(ox_import *im, const ox_node *n, const ox_carry *c, const qc_tensor *t,
                       const qc_tensor **x) {
    if (!c->real && !alike(t, &c->base)) {
        qc_tensor *codes;
        QRN_TRY(ox_temp(im, &c->base, t->rank, t->dims, &codes));
        QRN_TRY(ox_emit_cast(im, n, t, codes));
        t = codes;
    }
    *x = t;
    return alike(t, &c->like) ? QRN_OK : converted(im, n, t, &c->like, x);
}

qrn_status ox_carry_out(ox_import *im, const ox_carry *c, const qc_tensor *y, const qc_tensor **w) {
    qc_tensor *t;
    *w = y;
    if (alike(y, &c->like))
        return QRN_OK;
    QRN_TRY(ox_temp(im, &c->like, y->rank, y->dims, &t));
    *w = t;
    return QRN_OK;
}

qrn_status ox_carry_end(ox_import *im, const ox_node *n, const ox_carry *c, const qc_tensor *w,
                        const qc_tensor *y) {
    if (w == y)
        return QRN_OK;
    if (c->real || alike(y, &c->base))
        return convert(im, n, w, y);
    if (!alike(w, &c->base))
        QRN_TRY(converted(im, n, w, &c->base, &w));
    return ox_emit_cast(im, n, w, y);
}

qrn_status ox_carry_input(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout,
                          uint32_t types, ox_carry *c, const qc_tensor **x) {
    qc_tensor *t;
    QRN_TRY(ox_in(im, n, i, layout, &t));
    QRN_TRY(ox_carry_of(im, n, ox_input(im, n, i), t, types, c));
    return ox_carry_in(im, n, c, t, x);
}

qrn_status ox_set_moved(ox_import *im, const ox_node *n, uint32_t i, uint32_t i_in, uint32_t rank,
                        const uint32_t *dims) {
    const ox_val *x = ox_input(im, n, i_in);
    QRN_TRY(ox_set_output(im, n, i, x->type, rank, dims));
    ox_val *y = ox_scope_find(im->scope, n->out[i]);
    if (!is_real(x) && !y->enc && x->enc && x->enc->n == 1 && !x->enc->block)
        y->enc = x->enc;
    return QRN_OK;
}

ox_layout ox_layout_of_input(const ox_import *im, const ox_node *n, uint32_t i) {
    const ox_val *v = ox_input(im, n, i);
    if (!v || v->data || v->rank < 3)
        return OX_ONNX;
    if (v->quantized && v->quantized->enc && !v->at[OX_ONNX] && !v->at[OX_LAST])
        v = v->quantized;
    return v->at[OX_LAST] && !v->at[OX_ONNX] ? OX_LAST : OX_ONNX;
}

bool ox_same_in_layouts(const ox_val *v) {
    uint32_t spatial = 1;
    for (uint32_t i = 2; i < v->rank; i++)
        spatial *= v->dims[i];
    return v->rank < 3 || spatial == 1 || v->dims[1] == 1;
}

const ox_node *ox_consumer_of(const ox_import *im, const ox_node *n, uint32_t i) {
    const char *name = n->out[i];
    for (int hop = 0; hop < 3; hop++) {
        const ox_val *v = ox_scope_find(im->scope, name);
        const ox_node *next = v && v->n_uses == 1 && !v->is_output ? v->consumer : NULL;
        if (!next || !strstr(next->op, "uantizeLinear") || next->n_out == 0)
            return next;
        name = next->out[0];
    }
    return NULL;
}

qrn_status ox_out_view(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout,
                       const ox_carry *c, const qc_tensor *t) {
    ox_val *v = ox_scope_find(im->scope, n->out[i]), *target;
    qc_tensor *y;
    QRN_TRY(ox_unit_output(im, v, &target));
    if (target->rank < 3)
        layout = OX_ONNX;
    // A tensor that only says what the target is like; the view needs none of its own.
    qc_tensor like = {.t = QNN_TENSOR_INIT};
    like.t.v1.dataType = ox_qnn_type(im, target);
    QRN_TRY(ox_quantize_params(im, target, layout, &like.t.v1.quantizeParams));
    bool ends_here = target->is_output && layout == OX_ONNX;
    if (alike(t, &like) && !ends_here) {
        target->at[layout] = (qc_tensor *)(uintptr_t)t;
        return QRN_OK;
    }
    QRN_TRY(ox_out(im, n, i, layout, &y));
    if (alike(t, y))
        return ox_emit_reshape(im, n, t, y);
    return ox_carry_end(im, n, c, t, y);
}
