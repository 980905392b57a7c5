// SPDX-License-Identifier: MIT
//
// Ops of decompositions: where they begin and end, element-wise ones, constants. Others are in
// compose_move.c and compose_sum.c.
#include "frontend/onnx/import/compose.h"
#include "frontend/onnx/import/fixed.h"

#include <string.h>

Qnn_DataType_t ox_type_of(const qc_tensor *t) {
    return t ? t->t.v1.dataType : QNN_DATATYPE_UNDEFINED;
}

ox_expr ox_begin(ox_import *im, const ox_node *n) {
    return (ox_expr){.im = im, .n = n, .s = QRN_OK};
}

qrn_status ox_done(const ox_expr *e) { return e->s; }

void ox_into(ox_expr *e, qc_tensor *y) { e->to = y; }

static qc_tensor *take_target(ox_expr *e, uint32_t rank, const uint32_t *dims) {
    qc_tensor *y = e->to;
    e->to = NULL;
    // [1] stands for rank 0.
    size_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    bool same = y->rank == rank || (n == 1 && qc_tensor_count(y) == 1);
    for (uint32_t i = 0; same && i < rank && i < y->rank; i++)
        same = y->dims[i] == dims[i];
    if (same)
        return y;
    e->s = ox_fail(e->im, e->n, QRN_E_GENERAL, "its result has not the shape of tensor '%s'",
                   y->t.v1.name);
    return NULL;
}

qc_tensor *ox_result_like(ox_expr *e, const qc_tensor *x, uint32_t rank, const uint32_t *dims) {
    qc_tensor *y = NULL;
    if (e->s != QRN_OK)
        return NULL;
    if (e->to)
        return take_target(e, rank, dims);
    e->s = ox_temp(e->im, x, rank, dims, &y);
    return ox_made(e, y);
}

qc_tensor *ox_result_typed(ox_expr *e, Qnn_DataType_t dtype, uint32_t rank, const uint32_t *dims) {
    qc_tensor *y = NULL;
    if (e->s != QRN_OK)
        return NULL;
    if (e->to)
        return take_target(e, rank, dims);
    e->s = ox_temp_typed(e->im, dtype, rank, dims, &y);
    return ox_made(e, y);
}

void ox_end(ox_expr *e, qc_op *o) {
    if (e->s == QRN_OK)
        e->s = qc_op_end(o);
}

bool ox_taken(ox_expr *e, qc_op *o) {
    if (e->s == QRN_OK)
        e->s = o->status; // what cannot be built is no matter of support
    if (e->s != QRN_OK || qc_op_validate(o) == QRN_OK)
        return true;
    qrn_message_clear();
    return false;
}

qc_tensor *ox_made(const ox_expr *e, qc_tensor *y) { return e->s == QRN_OK ? y : NULL; }

qc_tensor *ox_ended(ox_expr *e, qc_op *o, qc_tensor *y) {
    ox_end(e, o);
    return ox_made(e, y);
}

// --- inputs and outputs

Qnn_DataType_t ox_real_type(const ox_expr *e) {
    for (uint32_t i = 0; i < e->n->n_in; i++) {
        const ox_val *v = ox_input(e->im, e->n, i);
        if (v && v->type == OX_F16 && !ox_is_quantized(e->im, e->n))
            return QNN_DATATYPE_FLOAT_16;
    }
    return QNN_DATATYPE_FLOAT_32;
}

qc_tensor *ox_in_real(ox_expr *e, uint32_t i, ox_layout layout) {
    qc_tensor *x = NULL;
    if (e->s == QRN_OK)
        e->s = ox_in_as(e->im, e->n, i, layout, ox_real_type(e), &x);
    return ox_made(e, x);
}

qc_tensor *ox_out_real(ox_expr *e, uint32_t i, ox_layout layout) {
    qc_tensor *y = NULL;
    if (e->s == QRN_OK)
        e->s = ox_out_as(e->im, e->n, i, layout, ox_real_type(e), &y);
    return ox_made(e, y);
}

qrn_status ox_end_real(ox_expr *e, uint32_t i, ox_layout layout, const qc_tensor *y) {
    if (e->s == QRN_OK)
        e->s = ox_out_end(e->im, e->n, i, layout, y);
    return e->s;
}

// s16 as u16: the same steps, counted from the lowest value.
static qc_tensor *unsigned_like(ox_expr *e, const qc_tensor *x) {
    qc_tensor like = *x, *y = NULL;
    like.t.v1.dataType = QNN_DATATYPE_UFIXED_POINT_16;
    like.t.v1.quantizeParams.scaleOffsetEncoding.offset -= 32768;
    if (x->t.v1.quantizeParams.quantizationEncoding != QNN_QUANTIZATION_ENCODING_SCALE_OFFSET)
        e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED, "tensor '%s' is int16 with several scales",
                       x->t.v1.name);
    else
        e->s = ox_temp(e->im, &like, x->rank, x->dims, &y);
    return ox_made(e, y);
}

qc_tensor *ox_fixed_in(ox_expr *e, uint32_t i, ox_layout layout) {
    qc_tensor *x = NULL;
    if (e->s == QRN_OK)
        e->s = ox_in(e->im, e->n, i, layout, &x);
    if (!ox_made(e, x) || ox_type_of(x) != QNN_DATATYPE_SFIXED_POINT_16)
        return ox_made(e, x);
    qc_tensor *y = unsigned_like(e, x);
    if (y)
        e->s = ox_emit_unary(e->im, e->n, QNN_OP_CONVERT, x, y);
    return ox_made(e, y);
}

qc_tensor *ox_fixed_out(ox_expr *e, uint32_t i, ox_layout layout) {
    qc_tensor *y = NULL;
    if (e->s == QRN_OK)
        e->s = ox_out(e->im, e->n, i, layout, &y);
    y = ox_made(e, y);
    return ox_type_of(y) == QNN_DATATYPE_SFIXED_POINT_16 ? unsigned_like(e, y) : y;
}

qrn_status ox_fixed_end(ox_expr *e, uint32_t i, ox_layout layout, qc_tensor *y) {
    qc_tensor *out = NULL;
    if (e->s == QRN_OK)
        e->s = ox_out_made(e->im, e->n, i, layout, &out);
    if (e->s == QRN_OK && out != y)
        e->s = ox_emit_unary(e->im, e->n, QNN_OP_CONVERT, y, out);
    return e->s;
}

// --- element-wise

qc_tensor *ox_unary(ox_expr *e, const char *op, qc_tensor *x) {
    qc_tensor *y = NULL;
    ox_range r;
    if (ox_is_ranged(e, x)) {
        x = ox_as_ranged(e, x);
        y = x && ox_unary_range(e, op, x, &r) ? ox_ranged(e, r, x->rank, x->dims) : NULL;
    } else if (x) {
        y = ox_result_like(e, x, x->rank, x->dims);
    }
    if (y)
        e->s = ox_emit_unary(e->im, e->n, op, x, y);
    return ox_made(e, y);
}

void ox_broadcast_dims(const qc_tensor *a, const qc_tensor *b, uint32_t *rank, uint32_t *dims) {
    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 0; i < *rank; i++) {
        uint32_t da = i + a->rank < *rank ? 1 : a->dims[i + a->rank - *rank];
        uint32_t db = i + b->rank < *rank ? 1 : b->dims[i + b->rank - *rank];
        dims[i] = da > db ? da : db;
    }
}

qc_tensor *ox_binary(ox_expr *e, const char *op, qc_tensor *a, qc_tensor *b) {
    uint32_t rank, dims[OX_MAX_RANK];
    if (!a || !b)
        return NULL;
    ox_broadcast_dims(a, b, &rank, dims);
    qc_tensor *y = NULL;
    ox_range r;
    if (ox_is_ranged(e, a) && ox_is_ranged(e, b)) {
        qc_tensor *first = ox_as_ranged(e, a);
        b = b == a ? first : ox_as_ranged(e, b);
        a = first;
        if (a && b && ox_binary_range(e, op, a, b, &r))
            y = ox_ranged(e, r, rank, dims);
    } else {
        y = ox_result_like(e, a, rank, dims);
    }
    if (y)
        e->s = ox_emit_binary(e->im, e->n, op, a, b, y);
    return ox_made(e, y);
}

qc_tensor *ox_with(ox_expr *e, const char *op, qc_tensor *x, double value) {
    qc_tensor *c = NULL;
    if (ox_is_ranged(e, x) && strcmp(op, QNN_OP_ELEMENT_WISE_DIVIDE) == 0)
        return ox_with(e, QNN_OP_ELEMENT_WISE_MULTIPLY, x, 1 / value);
    if (x && e->s == QRN_OK)
        e->s =
            ox_number(e->im, ox_is_ranged(e, x) ? QNN_DATATYPE_FLOAT_32 : ox_type_of(x), value, &c);
    return ox_binary(e, op, x, c);
}

qc_tensor *ox_compare(ox_expr *e, const char *op, qc_tensor *a, qc_tensor *b) {
    uint32_t rank, dims[OX_MAX_RANK];
    if (ox_is_ranged(e, a) && ox_is_ranged(e, b)) {
        a = ox_as_ranged(e, a);
        b = ox_as_ranged(e, b);
        ox_range r = a && b ? ox_union_range(a, b) : (ox_range){0};
        a = ox_with_range(e, a, r);
        b = ox_with_range(e, b, r);
    }
    if (!a || !b)
        return NULL;
    ox_broadcast_dims(a, b, &rank, dims);
    qc_tensor *y = ox_result_typed(e, QNN_DATATYPE_BOOL_8, rank, dims);
    if (y)
        e->s = ox_emit_binary(e->im, e->n, op, a, b, y);
    return ox_made(e, y);
}

qc_tensor *ox_select(ox_expr *e, qc_tensor *cond, qc_tensor *a, qc_tensor *b) {
    uint32_t rank, dims[OX_MAX_RANK];
    if (ox_is_ranged(e, a) && ox_is_ranged(e, b)) {
        a = ox_as_ranged(e, a);
        b = ox_as_ranged(e, b);
        ox_range r = a && b ? e->to ? ox_range_of(e->to) : ox_union_range(a, b) : (ox_range){0};
        a = ox_with_range(e, a, r);
        b = ox_with_range(e, b, r);
    }
    if (!cond || !a || !b)
        return NULL;
    qc_tensor shape = {.rank = 0};
    ox_broadcast_dims(a, b, &shape.rank, shape.dims);
    ox_broadcast_dims(cond, &shape, &rank, dims);
    qc_tensor *y = ox_result_like(e, a, rank, dims);
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_ELEMENT_WISE_SELECT);
    qc_in(&o, cond);
    qc_in(&o, a);
    qc_in(&o, b);
    qc_out(&o, y);
    return ox_ended(e, &o, y);
}

qc_tensor *ox_as(ox_expr *e, qc_tensor *x, Qnn_DataType_t dtype) {
    if (ox_is_ranged(e, x) && dtype == QNN_DATATYPE_FLOAT_32 && !e->to)
        return ox_made(e, x); // real numbers, in whichever form
    if (!ox_made(e, x) || (ox_type_of(x) == dtype && !e->to))
        return ox_made(e, x);
    if (ox_type_of(x) == dtype)
        return ox_reshape(e, x, e->to->rank, e->to->dims);
    qc_tensor *y = ox_result_typed(e, dtype, x->rank, x->dims);
    if (y)
        e->s = ox_emit_cast(e->im, e->n, x, y);
    return ox_made(e, y);
}

qc_tensor *ox_convert(ox_expr *e, qc_tensor *x, const qc_tensor *like) {
    qc_tensor *y = x ? ox_result_like(e, like, x->rank, x->dims) : NULL;
    if (y)
        e->s = ox_emit_unary(e->im, e->n, QNN_OP_CONVERT, x, y);
    return ox_made(e, y);
}

// --- constants

qc_tensor *ox_floats(ox_expr *e, const qc_tensor *like, uint32_t rank, const uint32_t *dims,
                     const float *values) {
    qc_tensor *c = NULL;
    qc_tensor real = {.t = QNN_TENSOR_INIT}; // quantized where it is used
    real.t.v1.dataType = QNN_DATATYPE_FLOAT_32;
    if (like && e->s == QRN_OK)
        e->s = ox_static_like(e->im, ox_is_ranged(e, like) ? &real : like, values, rank, dims, &c);
    return ox_made(e, c);
}

qc_tensor *ox_ints(ox_expr *e, uint32_t rank, const uint32_t *dims, const int32_t *values) {
    qc_tensor *c = NULL;
    size_t bytes = sizeof *values;
    for (uint32_t i = 0; i < rank; i++)
        bytes *= dims[i];
    if (e->s == QRN_OK)
        e->s = ox_static(e->im, QNN_DATATYPE_INT_32, rank, dims, values, bytes, &c);
    return ox_made(e, c);
}
