// SPDX-License-Identifier: MIT
//
// Carriers: the types in which elements pass through ops that move them. What is emitted around
// the op is exact: a Cast between types of one width, a Convert that shifts the offset, or
// Dequantize and Quantize with one encoding. Then transposition: a value remembers of which tensor
// it is a permutation, so that nothing moves before a reader asks for an order.
#include "frontend/onnx/emit/carry.h"

#include "frontend/onnx/driver/internal.h"

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

static bool supports(uint32_t types, Qnn_DataType_t dtype) {
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

// Signed quantized values as unsigned ones of the same width: the offset takes up the difference.
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
    if (supports(types, type_of(t)))
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
    if (supports(types, type_of(&c->like)))
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
        qc_tensor *quantized;
        QRN_TRY(ox_temp(im, &c->base, t->rank, t->dims, &quantized));
        QRN_TRY(ox_emit_cast(im, n, t, quantized));
        t = quantized;
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
    if (!is_real(x))
        y->enc = x->enc && x->enc->n == 1 && !x->enc->block ? x->enc : NULL;
    return QRN_OK;
}

ox_layout ox_layout_of_input(const ox_import *im, const ox_node *n, uint32_t i) {
    const ox_val *v = ox_input(im, n, i);
    if (!v || v->data || v->rank < 3)
        return OX_ONNX;
    if (v->quantized && v->quantized->enc && !v->at[OX_ONNX] && !v->at[OX_LAST])
        v = v->quantized;
    if (v->at[OX_ONNX] || v->at[OX_LAST])
        return v->at[OX_ONNX] ? OX_ONNX : OX_LAST;
    for (uint32_t d = 0; v->transposed && d < v->rank; d++)
        if (v->transposed->dims[d] != ox_axis_in(OX_LAST, d, v->rank))
            return OX_ONNX;
    return v->transposed ? OX_LAST : OX_ONNX;
}

bool ox_same_in_layouts(const ox_val *v) {
    uint32_t spatial = 1;
    for (uint32_t i = 2; i < v->rank; i++)
        spatial *= v->dims[i];
    return v->rank < 3 || spatial == 1 || v->dims[1] == 1;
}

// Where the elements of input 0 are: a tensor, and which of its dimensions is which of the value.
static qrn_status find_elements(ox_import *im, const ox_node *n, ox_transposed *from) {
    const ox_val *x = ox_input(im, n, 0);
    if (im->quantized && x->quantized && x->quantized->enc)
        x = x->quantized;
    from->node = n;
    if (x->transposed && !x->at[OX_ONNX] && !x->at[OX_LAST]) {
        from->t = x->transposed->t;
        memcpy(from->dims, x->transposed->dims, sizeof from->dims);
        from->last = x->transposed->last;
        return QRN_OK;
    }
    ox_layout layout = ox_layout_of_input(im, n, 0);
    from->last = layout == OX_LAST;
    for (uint32_t i = 0; i < x->rank; i++)
        from->dims[i] = ox_axis_in(layout, i, x->rank);
    return ox_in(im, n, 0, layout, &from->t);
}

// What a tensor of v would be like.
static qrn_status like_value(ox_import *im, const ox_val *v, qc_tensor *like) {
    *like = (qc_tensor){.t = QNN_TENSOR_INIT};
    like->t.v1.dataType = ox_qnn_type(im, v);
    return ox_quantize_params(im, v, OX_ONNX, &like->t.v1.quantizeParams);
}

// The transposition as an op at once, through the carrier where the type needs one.
static qrn_status transpose_now(ox_import *im, const ox_node *n, const ox_transposed *to,
                                uint32_t types) {
    const ox_val *x = ox_input(im, n, 0);
    ox_carry c;
    const qc_tensor *in, *w;
    qc_tensor *y;
    QRN_TRY(ox_carry_of(im, n, x, to->t, types, &c));
    QRN_TRY(ox_carry_in(im, n, &c, to->t, &in));
    QRN_TRY(ox_out(im, n, 0, OX_ONNX, &y));
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    QRN_TRY(ox_emit_transpose(im, n, in, to->dims, w));
    return ox_carry_end(im, n, &c, w, y);
}

qrn_status ox_out_transposed(ox_import *im, const ox_node *n, const uint32_t *perm) {
    const uint32_t types = OX_T_ACT | OX_T_SQ16 | OX_T_I32 | OX_T_U32 | OX_T_B8;
    ox_val *v = ox_scope_find(im->scope, n->out[0]), *target;
    ox_transposed from, *to = ox_alloc(im, sizeof *to);
    qc_tensor like;
    bool identity = true;
    if (!to)
        return ox_no_memory(im);
    QRN_TRY(find_elements(im, n, &from));
    to->t = from.t;
    to->node = n;
    to->last = from.last;
    for (uint32_t i = 0; i < v->rank; i++)
        to->dims[i] = from.dims[perm[i]];
    QRN_TRY(ox_unit_output(im, v, &target));
    QRN_TRY(like_value(im, target, &like));
    if (!supports(types, type_of(from.t)) || !alike(from.t, &like))
        return transpose_now(im, n, to, types);
    target->transposed = to;
    // Channel last after four dimensions is a layout, not a matrix: readers should keep it.
    for (uint32_t i = 0; i < v->rank; i++)
        identity &= to->dims[i] == ox_axis_in(OX_LAST, i, v->rank);
    if (identity && v->rank > 3)
        target->at[OX_LAST] = to->t;
    return QRN_OK;
}

// Channels [C] become [c1, c2, ...]: number of parts that make up dimension 1, or 0.
static uint32_t split_parts(const ox_val *x, const ox_val *y) {
    uint32_t parts = y->rank > x->rank ? y->rank - x->rank + 1 : 0;
    uint64_t product = 1;
    for (uint32_t i = 1; parts && i <= parts; i++)
        product *= y->dims[i];
    bool same = parts > 1 && x->rank > 2 && product == x->dims[1] && y->dims[0] == x->dims[0];
    for (uint32_t i = 2; same && i < x->rank; i++)
        same = y->dims[i + parts - 1] == x->dims[i];
    return same ? parts : 0;
}

// [N, H, W, C] as [N, H, W, c1, c2]: the value [N, c1, c2, H, W] is that tensor transposed.
static qrn_status split_channels(ox_import *im, const ox_node *n, uint32_t parts, const ox_val *y,
                                 ox_val *target) {
    uint32_t dims[OX_MAX_RANK], spatial = y->rank - parts - 1;
    ox_transposed *to = ox_alloc(im, sizeof *to);
    qc_tensor *x, *t;
    if (!to)
        return ox_no_memory(im);
    for (uint32_t i = 0; i < y->rank; i++) {
        to->dims[i] = i == 0 ? 0 : i <= parts ? i + spatial : i - parts;
        dims[to->dims[i]] = y->dims[i];
    }
    QRN_TRY(ox_in(im, n, 0, OX_LAST, &x));
    QRN_TRY(ox_temp(im, x, y->rank, dims, &t));
    to->t = t;
    to->node = n;
    to->last = true;
    target->transposed = to;
    return ox_emit_reshape(im, n, x, t);
}

// Dimensions 1 to k of x make up channel 1 of y: k, or 0.
static uint32_t joined_parts(const ox_val *x, const ox_val *y) {
    uint64_t product = 1;
    if (x->rank < 4 || y->rank < 3 || x->dims[0] != y->dims[0])
        return 0;
    for (uint32_t k = 1; k + 1 < x->rank; k++) {
        product *= x->dims[k];
        if (product == y->dims[1])
            return k;
    }
    return 0;
}

// A transposed [N, c1, c2, H, W] as [N, H, W, c1, c2], which is y channel last.
static qrn_status join_channels(ox_import *im, const ox_node *n, uint32_t parts, const ox_val *x,
                                const ox_transposed *from) {
    uint32_t perm[OX_MAX_RANK], dims[OX_MAX_RANK], spatial = x->rank - parts - 1;
    bool identity = true;
    qc_tensor *t = from->t, *y;
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t dim = i == 0 ? 0 : i <= spatial ? i + parts : i - spatial;
        perm[i] = from->dims[dim];
        dims[i] = x->dims[dim];
        identity &= perm[i] == i;
    }
    if (!identity) {
        QRN_TRY(ox_temp(im, from->t, x->rank, dims, &t));
        QRN_TRY(ox_emit_transpose(im, from->node, from->t, perm, t));
    }
    QRN_TRY(ox_out(im, n, 0, OX_LAST, &y));
    return ox_emit_reshape(im, n, t, y);
}

qrn_status ox_out_channels(ox_import *im, const ox_node *n, bool *done) {
    const ox_val *in = ox_input(im, n, 0), *x = in;
    ox_val *y = ox_scope_find(im->scope, n->out[0]), *target;
    qc_tensor like;
    bool last = ox_layout_of_input(im, n, 0) == OX_LAST, ordered = true;
    if (im->quantized && x->quantized && x->quantized->enc)
        x = x->quantized;
    QRN_TRY(ox_unit_output(im, y, &target));
    QRN_TRY(like_value(im, target, &like));
    *done = false;
    if (x->at[OX_LAST] && last && alike(x->at[OX_LAST], &like) && split_parts(in, y)) {
        *done = true;
        return split_channels(im, n, split_parts(in, y), y, target);
    }
    const ox_transposed *from = x->at[OX_ONNX] || x->at[OX_LAST] ? NULL : x->transposed;
    if (!from || !from->last || !alike(from->t, &like) || !joined_parts(in, y))
        return QRN_OK;
    for (uint32_t i = 0; i < in->rank; i++)
        ordered &= from->dims[i] == i;
    if (ordered)
        return QRN_OK; // ONNX's order costs nothing
    *done = true;
    return join_channels(im, n, joined_parts(in, y), in, from);
}

qrn_status ox_quantized_of(ox_import *im, const ox_node *n, uint32_t i, uint32_t i_out,
                           qc_tensor **x, qc_tensor **y) {
    const ox_val *v = ox_input(im, n, i);
    ox_val *q = v->quantized, *out = ox_scope_find(im->scope, n->out[i_out]);
    *x = NULL;
    bool small = q && (q->type == OX_U8 || q->type == OX_I8 || q->type == OX_U16);
    if (im->quantized || !small || !q->data || !q->enc || q->enc->n != 1 || q->enc->block)
        return QRN_OK;
    ox_val *quantized = ox_alloc(im, sizeof *quantized);
    if (!quantized)
        return ox_no_memory(im);
    *quantized = (ox_val){
        .name = out->name, .type = q->type, .rank = out->rank, .known = true, .enc = q->enc};
    memcpy(quantized->dims, out->dims, sizeof quantized->dims);
    out->quantized = quantized;
    QRN_TRY(ox_tensor_in(im, q, OX_ONNX, x));
    return ox_tensor_new(im, quantized, OX_ONNX, y);
}
