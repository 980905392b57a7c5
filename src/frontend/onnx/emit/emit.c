// SPDX-License-Identifier: MIT
//
// What importers call: inputs, outputs, constants, ops.
#include "frontend/onnx/driver/internal.h"

#include "base/fp16.h"
#include "reference/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

qrn_status ox_no_memory(const ox_import *im) {
    return QRN_FAIL(QRN_E_MEM, "%s: out of memory", im->model->path);
}

qrn_status ox_fail(const ox_import *im, const ox_node *n, qrn_status s, const char *fmt, ...) {
    (void)im;
    char text[QRN_MESSAGE_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!n)
        return QRN_FAIL(s, "%s", text);
    return QRN_FAIL(s, "node '%s' (%s): %s", n->name, n->op, text);
}

void *ox_alloc(ox_import *im, size_t bytes) { return qrn_arena_alloc(im->arena, bytes); }

int64_t ox_version(const ox_import *im, const ox_node *n) {
    return ox_model_opset(im->model, n->domain);
}

bool ox_is_quantized(const ox_import *im, const ox_node *n) {
    (void)n;
    return im->quantized;
}

void ox_leave_unit(ox_import *im) { im->quantized = false; }

// --- inputs

static ox_val *input_val(const ox_import *im, const ox_node *n, uint32_t i) {
    return i < n->n_in && n->in[i][0] ? ox_scope_find(im->scope, n->in[i]) : NULL;
}

const ox_val *ox_input(const ox_import *im, const ox_node *n, uint32_t i) {
    return input_val(im, n, i);
}

bool ox_const_ints(const ox_import *im, const ox_node *n, uint32_t i, int64_t *dst, uint32_t max,
                   uint32_t *count) {
    const ox_val *v = input_val(im, n, i);
    if (!v || !v->data || ox_count(v) > max)
        return false;
    qrn_dtype t = ox_type_dtype(v->type);
    if (t == QRN_DTYPE_COUNT || !qrn_dtype_is_int(t))
        return false;
    *count = (uint32_t)ox_count(v);
    for (uint32_t k = 0; k < *count; k++) {
        qrn_num x;
        qrn_nums_load(&x, t, (const char *)v->data + k * qrn_elem_of(t), 0, 1);
        dst[k] = x.i;
    }
    return true;
}

bool ox_const_float(const ox_import *im, const ox_node *n, uint32_t i, float *out) {
    const ox_val *v = input_val(im, n, i);
    if (v && v->quantized)
        v = v->quantized;
    if (!v || !v->data || ox_count(v) != 1)
        return false;
    const float *p = ox_const_floats((ox_import *)(uintptr_t)im, v);
    if (p)
        *out = *p;
    return p != NULL;
}

const float *ox_const_reals(ox_import *im, const ox_node *n, uint32_t i) {
    const ox_val *v = input_val(im, n, i);
    if (v && v->quantized)
        v = v->quantized;
    if (v && v->data && v->type == OX_F32 && (uintptr_t)v->data % sizeof(float) == 0)
        return v->data;
    return v && v->data ? ox_const_floats(im, v) : NULL;
}

qrn_status ox_ints_of(const ox_import *im, const ox_node *n, const char *attr, int input,
                      int64_t *dst, uint32_t max, uint32_t *count) {
    *count = 0;
    if (input >= 0 && (uint32_t)input < n->n_in && n->in[input][0]) {
        if (ox_const_ints(im, n, (uint32_t)input, dst, max, count))
            return QRN_OK;
        const ox_val *v = input_val(im, n, (uint32_t)input);
        if (v && v->data)
            return ox_fail(im, n, QRN_E_UNSUPPORTED,
                           "input %d ('%s', %s) must be a list of at most %u whole numbers", input,
                           n->in[input], attr, max);
        return ox_needs_constant(im, n, (uint32_t)input, attr);
    }
    const ox_attr *a = ox_attr_find(n, attr);
    if (a && a->type == OX_ATTR_INT) {
        dst[0] = a->i;
        *count = 1;
    } else {
        *count = ox_attr_ints(n, attr, dst, max);
    }
    return QRN_OK;
}

qrn_status ox_axis(const ox_import *im, const ox_node *n, int64_t axis, uint32_t rank,
                   uint32_t *out) {
    int64_t a = axis < 0 ? axis + (int64_t)rank : axis;
    if (a < 0 || a >= (int64_t)rank) // rank 0 has no axis, as ONNX's shape inference says
        return ox_fail(im, n, QRN_E_SHAPE, "axis %lld of a value of rank %u", (long long)axis,
                       rank);
    *out = (uint32_t)a;
    return QRN_OK;
}

// --- outputs

qrn_status ox_output_val(ox_import *im, const ox_node *n, uint32_t i, ox_val **out) {
    return ox_scope_add(im, im->scope, i < n->n_out ? n->out[i] : "", out);
}

qrn_status ox_set_output(ox_import *im, const ox_node *n, uint32_t i, int type, uint32_t rank,
                         const uint32_t *dims) {
    ox_val *v;
    if (rank > OX_MAX_RANK)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "output %u has rank %u, at most %d are possible",
                       i, rank, OX_MAX_RANK);
    for (uint32_t d = 0; d < rank; d++)
        if (dims[d] == 0)
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "output %u ('%s') is empty: dimension %u is 0",
                           i, n->out[i], d);
    QRN_TRY(ox_output_val(im, n, i, &v));
    v->narrowed = type == OX_F64 || ox_makes_float64(im, n, type);
    v->type = type = ox_held_type(im, n, type);
    v->rank = rank;
    for (uint32_t d = 0; d < rank; d++)
        v->dims[d] = dims[d];
    v->known = true;
    // Small integers that pass through an op as quantized values keep what these stand for.
    const ox_val *x = input_val(im, n, 0);
    if (ox_type_bits(type) <= 16 && type != OX_F16 && type != OX_BF16 && type != OX_BOOL)
        v->enc = x && x->type == type && x->enc && x->enc->n == 1 && !x->enc->block ? x->enc : NULL;
    const ox_info *declared = v->name[0] ? ox_declared(im, v->name) : NULL;
    if (declared && declared->enc && declared->type == type)
        v->enc = declared->enc;
    return QRN_OK;
}

qrn_status ox_alias(ox_import *im, const ox_node *n, uint32_t i, uint32_t i_in) {
    ox_val *y;
    const ox_val *x = input_val(im, n, i_in);
    if (!x)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input %u is missing", i_in);
    QRN_TRY(ox_set_output(im, n, i, x->type, x->rank, x->dims));
    QRN_TRY(ox_output_val(im, n, i, &y));
    y->type = x->type;
    y->wide = x->wide;
    y->narrowed = x->narrowed;
    y->kind = x->kind;
    y->items = x->items;
    y->n_items = x->n_items;
    y->data = x->data;
    y->bytes = x->bytes;
    y->enc = x->enc;
    y->quantized = x->quantized;
    y->transposed = x->transposed;
    y->why = x->why;
    memcpy(y->at, x->at, sizeof y->at);
    return QRN_OK;
}

qrn_status ox_set_const(ox_import *im, const ox_node *n, uint32_t i, int type, uint32_t rank,
                        const uint32_t *dims, const void *data) {
    ox_val *v;
    QRN_TRY(ox_output_val(im, n, i, &v));
    v->type = type;
    v->rank = rank;
    for (uint32_t d = 0; d < rank; d++)
        v->dims[d] = dims[d];
    v->known = true;
    v->bytes = (ox_count(v) * ox_type_bits(type) + 7) / 8;
    v->data = qrn_arena_copy(im->arena, data, v->bytes);
    return v->data ? QRN_OK : ox_no_memory(im);
}

qrn_status ox_out(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout, qc_tensor **out) {
    ox_val *v, *target;
    QRN_TRY(ox_output_val(im, n, i, &v));
    if (!v->known)
        return ox_fail(im, n, QRN_E_GENERAL, "output %u has no shape yet", i);
    QRN_TRY(ox_unit_output(im, v, &target));
    return ox_tensor_new(im, target, target->rank < 3 ? OX_ONNX : layout, out);
}

qrn_status ox_out_made(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout,
                       qc_tensor **out) {
    ox_val *v, *target;
    QRN_TRY(ox_output_val(im, n, i, &v));
    QRN_TRY(ox_unit_output(im, v, &target));
    *out = target->at[target->rank < 3 ? OX_ONNX : layout];
    return QRN_OK;
}

// --- tensors of inputs

// In a unit the quantized value stands for the float one.
static ox_val *operand(const ox_import *im, ox_val *v) {
    return im->quantized && v->quantized && v->quantized->enc ? v->quantized : v;
}

qrn_status ox_in(ox_import *im, const ox_node *n, uint32_t i, ox_layout layout, qc_tensor **out) {
    ox_val *v = input_val(im, n, i);
    *out = NULL;
    if (!v)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input %u is missing", i);
    return ox_tensor_in(im, operand(im, v), layout, out);
}

static bool same_shape(const ox_val *v, uint32_t rank, const uint32_t *dims) {
    bool same = v->rank == rank;
    for (uint32_t d = 0; same && d < rank; d++)
        same = v->dims[d] == dims[d];
    return same;
}

qrn_status ox_in_view(ox_import *im, const ox_node *n, uint32_t i, uint32_t rank,
                      const uint32_t *dims, ox_layout layout, qc_tensor **out) {
    ox_val *v = input_val(im, n, i);
    if (!v)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input %u is missing", i);
    v = operand(im, v);
    if (same_shape(v, rank, dims))
        return ox_tensor_in(im, v, layout, out);
    ox_val view = *v;
    view.rank = rank;
    memcpy(view.dims, dims, rank * sizeof *dims);
    view.at[OX_ONNX] = view.at[OX_LAST] = NULL;
    view.transposed = NULL;
    view.is_output = false;
    if (v->enc && v->enc->n > 1)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "input %u is encoded per axis and must be seen in another shape", i);
    if (v->data)
        return ox_tensor_in(im, &view, layout, out);
    qc_tensor *x, *reshaped;
    QRN_TRY(ox_tensor_in(im, v, OX_ONNX, &x));
    QRN_TRY(ox_temp(im, x, rank, dims, &reshaped));
    QRN_TRY(ox_emit_reshape(im, n, x, reshaped));
    view.at[OX_ONNX] = reshaped;
    return ox_tensor_in(im, &view, layout, out);
}

qrn_status ox_in_broadcast(ox_import *im, const ox_node *n, uint32_t i, uint32_t rank,
                           ox_layout layout, qc_tensor **out) {
    const ox_val *v = input_val(im, n, i);
    if (!v || v->rank >= rank || layout == OX_ONNX || v->rank == 0)
        return ox_in(im, n, i, layout, out);
    // Leading 1s, so that the channel of a shorter operand moves with the others.
    uint32_t dims[OX_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++)
        dims[d] = d < rank - v->rank ? 1 : v->dims[d - (rank - v->rank)];
    return ox_in_view(im, n, i, rank, dims, layout, out);
}

ox_layout ox_layout_of(const ox_import *im, const ox_node *n) {
    uint32_t rank = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const ox_val *v = input_val(im, n, i);
        rank = v && v->rank > rank ? v->rank : rank;
    }
    for (uint32_t i = 0; i < n->n_in; i++) {
        const ox_val *v = input_val(im, n, i);
        if (!v || v->data || v->rank < 3 || v->rank != rank)
            continue;
        if (v->quantized && v->quantized->enc && !v->at[OX_ONNX] && !v->at[OX_LAST])
            v = v->quantized;
        if (v->at[OX_LAST] && !v->at[OX_ONNX])
            return OX_LAST;
    }
    return OX_ONNX;
}

// --- temporaries and constants

// A value of rank 0 is held as [1].
static qrn_status create(ox_import *im, Qnn_TensorType_t type, Qnn_DataType_t dtype, uint32_t rank,
                         const uint32_t *dims, const Qnn_QuantizeParams_t *q, const void *data,
                         size_t bytes, qc_tensor **out) {
    static const uint32_t one[] = {1};
    const char *name = im->node ? im->node->name : type == QNN_TENSOR_TYPE_STATIC ? "c" : "t";
    return qc_tensor_create(im->graph, name, type, dtype, rank ? rank : 1, rank ? dims : one, q,
                            data, bytes, out);
}

qrn_status ox_temp(ox_import *im, const qc_tensor *like, uint32_t rank, const uint32_t *dims,
                   qc_tensor **out) {
    return create(im, QNN_TENSOR_TYPE_NATIVE, like->t.v1.dataType, rank, dims,
                  &like->t.v1.quantizeParams, NULL, 0, out);
}

qrn_status ox_temp_typed(ox_import *im, Qnn_DataType_t dtype, uint32_t rank, const uint32_t *dims,
                         qc_tensor **out) {
    Qnn_QuantizeParams_t q = ox_plain_encoding(dtype);
    return create(im, QNN_TENSOR_TYPE_NATIVE, dtype, rank, dims, &q, NULL, 0, out);
}

qrn_status ox_static(ox_import *im, Qnn_DataType_t dtype, uint32_t rank, const uint32_t *dims,
                     const void *data, size_t bytes, qc_tensor **out) {
    Qnn_QuantizeParams_t q = ox_plain_encoding(dtype);
    QRN_TRY(create(im, QNN_TENSOR_TYPE_STATIC, dtype, rank, dims, &q, data, bytes, out));
    if (im->fixed16 && dtype == QNN_DATATYPE_FLOAT_32) // to be quantized where it is used
        (*out)->values = qrn_arena_copy(im->arena, data, bytes);
    return QRN_OK;
}

qrn_status ox_static_encoded(ox_import *im, Qnn_DataType_t dtype, uint32_t rank,
                             const uint32_t *dims, const Qnn_QuantizeParams_t *q, const void *data,
                             size_t bytes, qc_tensor **out) {
    return create(im, QNN_TENSOR_TYPE_STATIC, dtype, rank, dims, q, data, bytes, out);
}

// Fixed point: an encoding that holds the values' range, of the width of `like`.
static qrn_status static_fixed(ox_import *im, const qc_tensor *like, const float *values, size_t n,
                               uint32_t rank, const uint32_t *dims, qc_tensor **out) {
    bool wide = like->t.v1.dataType == QNN_DATATYPE_UFIXED_POINT_16 ||
                like->t.v1.dataType == QNN_DATATYPE_SFIXED_POINT_16;
    double lo = 0, hi = 0, steps = wide ? 65535 : 255;
    for (size_t i = 0; i < n; i++) {
        lo = fmin(lo, (double)values[i]);
        hi = fmax(hi, (double)values[i]);
    }
    float scale = (float)((hi - lo) / steps);
    if (!(scale > 0))
        scale = 1;
    int32_t offset = (int32_t)floor(lo / (double)scale + 0.5);
    uint16_t *quantized = ox_alloc(im, n * sizeof *quantized);
    if (!quantized)
        return ox_no_memory(im);
    for (size_t i = 0; i < n; i++) {
        double q = floor((double)values[i] / (double)scale + 0.5) - offset;
        q = fmin(fmax(q, 0), steps);
        if (wide)
            quantized[i] = (uint16_t)q;
        else
            ((uint8_t *)quantized)[i] = (uint8_t)q;
    }
    Qnn_QuantizeParams_t p = QNN_QUANTIZE_PARAMS_INIT;
    p.encodingDefinition = QNN_DEFINITION_DEFINED;
    p.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    p.scaleOffsetEncoding.scale = scale;
    p.scaleOffsetEncoding.offset = offset;
    return create(im, QNN_TENSOR_TYPE_STATIC,
                  wide ? QNN_DATATYPE_UFIXED_POINT_16 : QNN_DATATYPE_UFIXED_POINT_8, rank, dims, &p,
                  quantized, n * (wide ? 2 : 1), out);
}

qrn_status ox_static_like(ox_import *im, const qc_tensor *like, const float *values, uint32_t rank,
                          const uint32_t *dims, qc_tensor **out) {
    size_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    Qnn_DataType_t type = like->t.v1.dataType;
    if (type == QNN_DATATYPE_FLOAT_32)
        return ox_static(im, type, rank, dims, values, n * sizeof *values, out);
    if (type == QNN_DATATYPE_FLOAT_16) {
        uint16_t *half = ox_alloc(im, n * sizeof *half);
        if (!half)
            return ox_no_memory(im);
        for (size_t i = 0; i < n; i++)
            half[i] = qrn_f16_from_f64((double)values[i]);
        return ox_static(im, type, rank, dims, half, n * sizeof *half, out);
    }
    if (type == QNN_DATATYPE_INT_32 || type == QNN_DATATYPE_UINT_32) {
        int32_t *ints = ox_alloc(im, n * sizeof *ints);
        if (!ints)
            return ox_no_memory(im);
        for (size_t i = 0; i < n; i++)
            ints[i] = (int32_t)values[i];
        return ox_static(im, type, rank, dims, ints, n * sizeof *ints, out);
    }
    return static_fixed(im, like, values, n, rank, dims, out);
}

// --- ops

void ox_op(ox_import *im, qc_op *o, const ox_node *n, const char *type) {
    im->n_dequantized += strcmp(type, QNN_OP_DEQUANTIZE) == 0;
    qc_op_begin(o, im->graph, n ? n->name : "end", type);
    o->source = n ? n->name : NULL;
    o->source_type = n ? n->op : NULL;
    if (o->status == QRN_OK)
        o->status = qrn_budget_spend(&im->budget, QRN_COST_NODES, 1);
}

qrn_status ox_emit_unary(ox_import *im, const ox_node *n, const char *type, const qc_tensor *x,
                         const qc_tensor *y) {
    qc_op o;
    ox_op(im, &o, n, type);
    qc_in(&o, x);
    qc_out(&o, y);
    return qc_op_end(&o);
}

qrn_status ox_emit_binary(ox_import *im, const ox_node *n, const char *type, const qc_tensor *a,
                          const qc_tensor *b, const qc_tensor *y) {
    qc_op o;
    ox_op(im, &o, n, type);
    qc_in(&o, a);
    qc_in(&o, b);
    qc_out(&o, y);
    return qc_op_end(&o);
}

qrn_status ox_emit_reshape(ox_import *im, const ox_node *n, const qc_tensor *x,
                           const qc_tensor *y) {
    return ox_emit_unary(im, n, QNN_OP_RESHAPE, x, y);
}

qrn_status ox_emit_transpose(ox_import *im, const ox_node *n, const qc_tensor *x,
                             const uint32_t *perm, const qc_tensor *y) {
    qc_op o;
    ox_op(im, &o, n, QNN_OP_TRANSPOSE);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_u32s(&o, QNN_OP_TRANSPOSE_PARAM_PERM, perm, x->rank);
    return qc_op_end(&o);
}
