// SPDX-License-Identifier: MIT
//
// Ops of decompositions.
#include "frontend/onnx/import/compose.h"
#include "frontend/onnx/import/fixed.h"

#include <math.h>
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

// --- moving

// The axis that has a scale for each index; NULL: the tensor has no such encoding.
static int32_t *axis_of(qc_tensor *x) {
    Qnn_QuantizeParams_t *q = &x->t.v1.quantizeParams;
    if (q->encodingDefinition != QNN_DEFINITION_DEFINED)
        return NULL;
    return q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET
               ? &q->axisScaleOffsetEncoding.axis
           : q->quantizationEncoding == QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET
               ? &q->bwAxisScaleOffsetEncoding.axis
               : NULL;
}

qc_tensor *ox_reshape(ox_expr *e, qc_tensor *x, uint32_t rank, const uint32_t *dims) {
    x = ox_as_target(e, x);
    if (!x)
        return NULL;
    if (!e->to && x->rank == rank && memcmp(x->dims, dims, rank * sizeof *dims) == 0)
        return ox_made(e, x);
    qc_tensor like = *x;
    int32_t *axis = axis_of(&like);
    if (axis && rank > x->rank) // dimensions of size 1 before the others
        *axis += (int32_t)(rank - x->rank);
    qc_tensor *y = ox_result_like(e, &like, rank, dims);
    if (y)
        e->s = ox_emit_reshape(e->im, e->n, x, y);
    return ox_made(e, y);
}

qc_tensor *ox_transpose(ox_expr *e, qc_tensor *x, const uint32_t *perm) {
    uint32_t dims[OX_MAX_RANK];
    x = ox_as_target(e, x);
    if (!x)
        return NULL;
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = x->dims[perm[i]];
    qc_tensor like = *x;
    int32_t *axis = axis_of(&like);
    for (uint32_t i = 0; axis && i < x->rank; i++)
        if (perm[i] == (uint32_t)*axis_of(x))
            *axis = (int32_t)i;
    qc_tensor *y = ox_result_like(e, &like, x->rank, dims);
    if (y)
        e->s = ox_emit_transpose(e->im, e->n, x, perm, y);
    return ox_made(e, y);
}

qc_tensor *ox_axis_to_end(ox_expr *e, qc_tensor *x, uint32_t axis) {
    uint32_t perm[OX_MAX_RANK], at = 0;
    if (!ox_made(e, x) || axis + 1 >= x->rank)
        return ox_made(e, x);
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != axis)
            perm[at++] = i;
    perm[at] = axis;
    return ox_transpose(e, x, perm);
}

qc_tensor *ox_axis_back(ox_expr *e, qc_tensor *x, uint32_t axis) {
    uint32_t perm[OX_MAX_RANK];
    if (!ox_made(e, x) || axis + 1 >= x->rank)
        return ox_made(e, x);
    for (uint32_t i = 0; i < x->rank; i++)
        perm[i] = i < axis ? i : i == axis ? x->rank - 1 : i - 1;
    return ox_transpose(e, x, perm);
}

qc_tensor *ox_slice(ox_expr *e, qc_tensor *x, uint32_t axis, uint32_t first, uint32_t count,
                    int32_t step) {
    int32_t ranges[3 * OX_MAX_RANK];
    uint32_t dims[OX_MAX_RANK];
    x = ox_as_target(e, x);
    if (!x)
        return NULL;
    for (uint32_t i = 0; i < x->rank; i++) {
        dims[i] = i == axis ? count : x->dims[i];
        ranges[3 * i] = i == axis ? (int32_t)first : 0;
        ranges[3 * i + 2] = i == axis ? step : 1;
        ranges[3 * i + 1] = i == axis
                                ? (int32_t)first + (int32_t)(count - 1) * step + (step > 0 ? 1 : -1)
                                : (int32_t)x->dims[i];
    }
    qc_tensor *y = ox_result_like(e, x, x->rank, dims);
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_STRIDED_SLICE);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_i32s_2d(&o, QNN_OP_STRIDED_SLICE_PARAM_RANGES, ranges, x->rank, 3);
    return ox_ended(e, &o, y);
}

qc_tensor *ox_reverse(ox_expr *e, qc_tensor *x, uint32_t axis) {
    return x ? ox_slice(e, x, axis, x->dims[axis] - 1, x->dims[axis], -1) : NULL;
}

qc_tensor *ox_pad(ox_expr *e, qc_tensor *x, const uint32_t *pad, float value) {
    uint32_t dims[OX_MAX_RANK], total = 0;
    if (!x)
        return NULL;
    for (uint32_t i = 0; i < x->rank; i++) {
        dims[i] = x->dims[i] + pad[2 * i] + pad[2 * i + 1];
        total += pad[2 * i] + pad[2 * i + 1];
    }
    if (total == 0 && !e->to)
        return ox_made(e, x);
    if (ox_is_ranged(e, x) && (x = ox_as_ranged(e, x)) != NULL) {
        ox_range r = ox_range_of(x), wider = {fmin(r.lo, (double)value), fmax(r.hi, (double)value)};
        x = e->to ? ox_as_target(e, x) : value != 0 ? ox_with_range(e, x, wider) : x;
    }
    qc_tensor *y = x ? ox_result_like(e, x, x->rank, dims) : NULL;
    if (!y)
        return NULL;
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_PAD);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_u32(&o, QNN_OP_PAD_PARAM_SCHEME, QNN_OP_PAD_SCHEME_CONSTANT);
    qc_u32s_2d(&o, QNN_OP_PAD_PARAM_PAD_AMOUNT, pad, x->rank, 2);
    if (ox_type_of(x) == QNN_DATATYPE_INT_32)
        qc_i32(&o, QNN_OP_PAD_PARAM_PAD_CONSTANT_VALUE, (int32_t)value);
    else
        qc_f32(&o, QNN_OP_PAD_PARAM_PAD_CONSTANT_VALUE, value);
    return ox_ended(e, &o, y);
}

// Operands of one encoding, in `room`; x itself where nothing is ranged.
static qc_tensor *const *one_encoding(ox_expr *e, qc_tensor *const *x, uint32_t n,
                                      qc_tensor **room) {
    if (!n || n > QC_MAX_OPERANDS || !ox_is_ranged(e, x[0]))
        return x;
    ox_range r = {0, 0};
    for (uint32_t i = 0; i < n; i++) {
        room[i] = ox_as_ranged(e, x[i]);
        ox_range a = room[i] ? ox_range_of(room[i]) : r;
        r = (ox_range){fmin(r.lo, a.lo), fmax(r.hi, a.hi)};
    }
    for (uint32_t i = 0; i < n; i++)
        room[i] = e->to ? ox_as_target(e, room[i]) : ox_with_range(e, room[i], r);
    return room;
}

qc_tensor *ox_concat(ox_expr *e, qc_tensor *const *x, uint32_t n, uint32_t axis) {
    uint32_t dims[OX_MAX_RANK];
    qc_tensor *room[QC_MAX_OPERANDS];
    for (uint32_t i = 0; i < n; i++)
        if (!x[i])
            return NULL;
    x = one_encoding(e, x, n, room);
    for (uint32_t i = 0; i < n; i++)
        if (!x[i])
            return NULL;
    memcpy(dims, x[0]->dims, sizeof dims);
    for (uint32_t i = 1; i < n; i++)
        dims[axis] += x[i]->dims[axis];
    qc_tensor *y = ox_result_like(e, x[0], x[0]->rank, dims);
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_CONCAT);
    for (uint32_t i = 0; i < n; i++)
        qc_in(&o, x[i]);
    qc_out(&o, y);
    qc_u32(&o, QNN_OP_CONCAT_PARAM_AXIS, axis);
    return ox_ended(e, &o, y);
}

qc_tensor *ox_tile(ox_expr *e, qc_tensor *x, const uint32_t *multiples) {
    uint32_t dims[OX_MAX_RANK];
    bool any = e->to != NULL;
    x = ox_as_target(e, x);
    if (!x)
        return NULL;
    for (uint32_t i = 0; i < x->rank; i++) {
        dims[i] = x->dims[i] * multiples[i];
        any |= multiples[i] != 1;
    }
    if (!any)
        return ox_made(e, x);
    qc_tensor *y = ox_result_like(e, x, x->rank, dims);
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_TILE);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_u32s(&o, QNN_OP_TILE_PARAM_MULTIPLES, multiples, x->rank);
    return ox_ended(e, &o, y);
}

qc_tensor *ox_gather(ox_expr *e, qc_tensor *table, qc_tensor *indices, uint32_t axis) {
    uint32_t dims[2 * OX_MAX_RANK], rank = 0;
    table = ox_is_ranged(e, table) ? ox_as_target(e, ox_as_ranged(e, table)) : table;
    if (!table || !indices)
        return NULL;
    for (uint32_t i = 0; i < axis; i++)
        dims[rank++] = table->dims[i];
    for (uint32_t i = 0; i < indices->rank; i++)
        dims[rank++] = indices->dims[i];
    for (uint32_t i = axis + 1; i < table->rank; i++)
        dims[rank++] = table->dims[i];
    qc_tensor *y = ox_result_like(e, table, rank, dims);
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_GATHER);
    qc_in(&o, table);
    qc_in(&o, indices);
    qc_out(&o, y);
    qc_i32(&o, QNN_OP_GATHER_PARAM_AXIS, (int32_t)axis);
    return ox_ended(e, &o, y);
}

// --- reductions and products

qc_tensor *ox_reduce(ox_expr *e, const char *op, qc_tensor *x, const uint32_t *axes, uint32_t n,
                     bool keep) {
    uint32_t dims[OX_MAX_RANK] = {1}, rank = 0, reduced = 1;
    bool ranged = ox_is_ranged(e, x);
    x = ranged ? ox_as_ranged(e, x) : x;
    if (!x)
        return NULL;
    for (uint32_t i = 0; i < x->rank; i++) {
        bool gone = false;
        for (uint32_t k = 0; k < n; k++)
            gone |= axes[k] == i;
        reduced *= gone ? x->dims[i] : 1;
        if (!gone || keep)
            dims[rank++] = gone ? 1 : x->dims[i];
    }
    rank = rank ? rank : 1;
    if (ranged)
        ox_check_fine(e, x);
    qc_tensor *y = ranged ? ox_ranged(e, ox_reduce_range(op, x, reduced), rank, dims)
                          : ox_result_like(e, x, rank, dims);
    qc_op o;
    ox_op(e->im, &o, e->n, op);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_u32s(&o, QNN_OP_REDUCE_SUM_PARAM_AXES, axes, n);
    qc_bool(&o, QNN_OP_REDUCE_SUM_PARAM_KEEP_DIMS, keep);
    return ox_ended(e, &o, y);
}

// The result of a matmul in 16 bits; its factors become what accelerators multiply.
static qc_tensor *ranged_product(ox_expr *e, qc_tensor **a, qc_tensor **b, bool transpose_a,
                                 bool transpose_b, uint32_t rank, const uint32_t *dims) {
    const qc_tensor *left = *a, *right = *b;
    uint32_t depth = left->dims[left->rank - (transpose_a ? 2 : 1)];
    *a = ox_as_ranged(e, *a);
    *b = ox_second_factor(e, *b);
    if (!*a || !*b)
        return NULL;
    ox_range r = right->values  ? ox_weighted_range(*a, right, depth, dims[rank - 1], transpose_b)
                 : left->values ? ox_weighted_range(*b, left, depth, dims[rank - 2], !transpose_a)
                                : ox_matmul_range(*a, *b, depth);
    return ox_ranged(e, r, rank, dims);
}

// w x as the transpose of x^T w^T, in which the constant is the second factor.
static qc_tensor *left_product(ox_expr *e, qc_tensor *w, qc_tensor *x, bool transpose_w,
                               bool transpose_x) {
    qc_tensor *to = e->to;
    uint32_t perm[OX_MAX_RANK];
    e->to = NULL;
    qc_tensor *y = ox_matmul(e, x, w, !transpose_x, !transpose_w);
    e->to = to;
    for (uint32_t i = 0; y && i < y->rank; i++)
        perm[i] = i + 2 < y->rank ? i : 2 * y->rank - 3 - i;
    return ox_transpose(e, y, perm);
}

// x times what 16 bits leave of the constant w, which is little.
static qc_tensor *times_rest(ox_expr *e, qc_tensor *x, const qc_tensor *w, const qc_tensor *factor,
                             bool transpose_x, bool transpose_w) {
    size_t n = qc_tensor_count(w);
    float *left = ox_alloc(e->im, n * sizeof *left);
    double scale = (double)factor->t.v1.quantizeParams.scaleOffsetEncoding.scale, most = 0;
    if (!left) {
        e->s = ox_fail(e->im, e->n, QRN_E_MEM, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        double v = (double)w->values[i];
        left[i] = (float)(v - rint(v / scale) * scale);
        most = fmax(most, fabs((double)left[i]));
    }
    if (most < scale / 64)
        return NULL;
    qc_tensor *to = e->to;
    e->to = NULL;
    qc_tensor *r = ox_floats(e, x, w->rank, w->dims, left);
    e->exact = true;
    r = ox_matmul(e, x, r, transpose_x, transpose_w);
    e->exact = false;
    e->to = to;
    return r;
}

qc_tensor *ox_matmul(ox_expr *e, qc_tensor *a, qc_tensor *b, bool transpose_a, bool transpose_b) {
    uint32_t rank, dims[OX_MAX_RANK];
    if (!a || !b)
        return NULL;
    ox_broadcast_dims(a, b, &rank, dims);
    dims[rank - 2] = a->dims[a->rank - (transpose_a ? 1 : 2)];
    dims[rank - 1] = b->dims[b->rank - (transpose_b ? 2 : 1)];
    bool ranged = ox_is_ranged(e, a) && ox_is_ranged(e, b);
    if (ranged && a->values && !b->values)
        return left_product(e, a, b, transpose_a, transpose_b);
    qc_tensor *x = a, *to = e->to, *rest = NULL;
    const qc_tensor *w = ranged && b->values && !e->exact ? b : NULL;
    if (w && to) // the remainder is added to the result
        e->s = ox_temp(e->im, to, rank, dims, &e->to);
    qc_tensor *y = ranged ? ranged_product(e, &a, &b, transpose_a, transpose_b, rank, dims)
                          : ox_result_like(e, a, rank, dims);
    if (!y)
        return NULL;
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_MAT_MUL);
    qc_in(&o, a);
    qc_in(&o, b);
    qc_out(&o, y);
    qc_bool(&o, QNN_OP_MAT_MUL_PARAM_TRANSPOSE_IN0, transpose_a);
    qc_bool(&o, QNN_OP_MAT_MUL_PARAM_TRANSPOSE_IN1, transpose_b);
    y = ox_ended(e, &o, y);
    if (!w || !y)
        return y;
    e->to = to;
    rest = times_rest(e, x, w, b, transpose_a, transpose_b);
    if (rest)
        return ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, y, rest);
    return to ? ox_reshape(e, y, rank, dims) : y;
}

static void begin_softmax(ox_expr *e, qc_op *o, const char *op, const qc_tensor *x,
                          const qc_tensor *y, uint32_t axis) {
    ox_op(e->im, o, e->n, op);
    qc_in(o, x);
    qc_out(o, y);
    qc_u32(o, QNN_OP_SOFTMAX_PARAM_AXIS, axis);
}

// Probabilities, or their logarithms.
static ox_range softmax_range(const char *op, const qc_tensor *x, uint32_t axis) {
    ox_range r = ox_range_of(x);
    if (strcmp(op, QNN_OP_LOG_SOFTMAX) != 0)
        return (ox_range){0, 1};
    return (ox_range){r.lo - r.hi - log((double)x->dims[axis]), 0};
}

qc_tensor *ox_softmax(ox_expr *e, const char *op, qc_tensor *x, uint32_t axis) {
    bool ranged = ox_is_ranged(e, x);
    x = ranged ? ox_as_ranged(e, x) : x;
    qc_tensor *y = !x       ? NULL
                   : ranged ? ox_ranged(e, softmax_range(op, x, axis), x->rank, x->dims)
                            : ox_result_like(e, x, x->rank, x->dims);
    if (!y)
        return NULL;
    qc_op o;
    begin_softmax(e, &o, op, x, y, axis);
    if (axis + 1 == x->rank || ox_taken(e, &o))
        return ox_ended(e, &o, y);
    qc_tensor *t = ox_axis_to_end(e, x, axis); // the backend wants the last axis
    qc_tensor *z = t ? ox_result_like(e, y, t->rank, t->dims) : NULL;
    if (!z)
        return NULL;
    begin_softmax(e, &o, op, t, z, x->rank - 1);
    ox_ended(e, &o, z);
    ox_into(e, y);
    return ox_axis_back(e, z, axis);
}

// log(1 + u) for u up to 1. What 1 + u loses of u, which in fp16 is much, is made up for by the
// factor u / ((1 + u) - 1).
static qc_tensor *log1p_of(ox_expr *e, qc_tensor *u) {
    qc_tensor *sum = ox_with(e, QNN_OP_ELEMENT_WISE_ADD, u, 1), *zero = NULL;
    qc_tensor *kept = ox_with(e, QNN_OP_ELEMENT_WISE_ADD, sum, -1);
    qc_tensor *log = ox_unary(e, QNN_OP_ELEMENT_WISE_LOG, sum);
    if (e->s == QRN_OK)
        e->s = ox_number(e->im, ox_type_of(u), 0, &zero);
    qc_tensor *some = ox_compare(e, QNN_OP_ELEMENT_WISE_GREATER, kept, zero);
    qc_tensor *factor = ox_binary(e, QNN_OP_ELEMENT_WISE_DIVIDE, u, kept);
    return ox_select(e, some, ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, log, factor), u);
}

qc_tensor *ox_softplus(ox_expr *e, qc_tensor *x) {
    qc_tensor *y = x ? ox_result_like(e, x, x->rank, x->dims) : NULL;
    if (!y)
        return NULL;
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_ELEMENT_WISE_SOFTPLUS);
    qc_in(&o, x);
    qc_out(&o, y);
    if (ox_taken(e, &o))
        return ox_ended(e, &o, y);
    // max(x, 0) + log(1 + u) with u = exp(-|x|), which does not overflow
    qc_tensor *u = ox_unary(e, QNN_OP_ELEMENT_WISE_NEG, ox_unary(e, QNN_OP_ELEMENT_WISE_ABS, x));
    u = log1p_of(e, ox_unary(e, QNN_OP_ELEMENT_WISE_EXP, u));
    qc_tensor *r = ox_unary(e, QNN_OP_RELU, x);
    ox_into(e, y);
    return ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, r, u);
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
