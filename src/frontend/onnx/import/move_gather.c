// SPDX-License-Identifier: MIT
//
// Importers: Gather and its relatives, Compress, ReverseSequence. Indices that count from the end
// are made positive here when they are constant; those that come at run time are left to the
// backend.
#include "frontend/onnx/import/move.h"

#include <string.h>

qrn_status move_reshaped(ox_import *im, const ox_node *n, const qc_tensor *x, uint32_t rank,
                         const uint32_t *dims, const qc_tensor **out) {
    qc_tensor *y;
    QRN_TRY(ox_temp(im, x, rank, dims, &y));
    *out = y;
    return ox_emit_reshape(im, n, x, y);
}

qrn_status move_binary(ox_import *im, const ox_node *n, const char *op, const qc_tensor *a,
                       const qc_tensor *b, Qnn_DataType_t dtype, uint32_t rank,
                       const uint32_t *dims, const qc_tensor **out) {
    qc_tensor *y;
    QRN_TRY(ox_temp_typed(im, dtype, rank, dims, &y));
    *out = y;
    return ox_emit_binary(im, n, op, a, b, y);
}

qrn_status move_select(ox_import *im, const ox_node *n, const qc_tensor *cond, const qc_tensor *a,
                       const qc_tensor *b, uint32_t rank, const uint32_t *dims,
                       const qc_tensor **out) {
    qc_tensor *y;
    qc_op o;
    QRN_TRY(ox_temp(im, a, rank, dims, &y));
    ox_op(im, &o, n, QNN_OP_ELEMENT_WISE_SELECT);
    qc_in(&o, cond);
    qc_in(&o, a);
    qc_in(&o, b);
    qc_out(&o, y);
    *out = y;
    return qc_op_end(&o);
}

qrn_status move_emit_gather(ox_import *im, const ox_node *n, const qc_tensor *x,
                            const qc_tensor *indices, uint32_t axis, const qc_tensor *y) {
    qc_op o;
    ox_op(im, &o, n, QNN_OP_GATHER);
    qc_in(&o, x);
    qc_in(&o, indices);
    qc_out(&o, y);
    qc_i32(&o, QNN_OP_GATHER_PARAM_AXIS, (int32_t)axis);
    return qc_op_end(&o);
}

qrn_status move_emit_pick(ox_import *im, const ox_node *n, const qc_tensor *x,
                          const int32_t *indices, uint32_t count, uint32_t axis,
                          const qc_tensor *y) {
    qc_tensor *t;
    QRN_TRY(ox_static(im, QNN_DATATYPE_INT_32, 1, &count, indices, count * sizeof *indices, &t));
    return move_emit_gather(im, n, x, t, axis, y);
}

qrn_status move_indices(ox_import *im, const ox_node *n, uint32_t i, const uint32_t *dims,
                        uint32_t n_dims, qc_tensor **out) {
    const ox_val *v = ox_input(im, n, i);
    size_t count = move_count(v->rank, v->dims);
    uint32_t found;
    if (!v->data)
        return ox_in_as(im, n, i, OX_ONNX, QNN_DATATYPE_INT_32, out);
    int64_t *given = count <= UINT32_MAX ? ox_alloc(im, count * sizeof *given) : NULL;
    int32_t *indices = given ? ox_alloc(im, count * sizeof *indices) : NULL;
    if (!indices)
        return ox_fail(im, n, QRN_E_MEM, "out of memory");
    if (!ox_const_ints(im, n, i, given, (uint32_t)count, &found))
        return ox_fail(im, n, QRN_E_SHAPE, "input %u: indices of type %s", i,
                       ox_type_name(v->type));
    for (size_t k = 0; k < count; k++) {
        int64_t dim = dims[k % n_dims], at = given[k] < 0 ? given[k] + dim : given[k];
        if (at < 0 || at >= dim)
            return ox_fail(im, n, QRN_E_SHAPE, "index %lld of an axis of %lld elements",
                           (long long)given[k], (long long)dim);
        indices[k] = (int32_t)at;
    }
    return ox_static(im, QNN_DATATYPE_INT_32, v->rank, v->dims, indices, count * sizeof *indices,
                     out);
}

// y = element `index` of an axis of x, kept as an axis of 1. A constant one is a slice, which needs
// no copy where the axis is the outermost.
static qrn_status emit_one(ox_import *im, const ox_node *n, const qc_tensor *x, uint32_t axis,
                           const qc_tensor *y) {
    const ox_val *v = ox_input(im, n, 1);
    move_range ranges[OX_MAX_RANK];
    qc_tensor *indices;
    uint32_t found;
    int64_t index;
    QRN_TRY(move_indices(im, n, 1, &x->dims[axis], 1, &indices));
    if (!v->data || !ox_const_ints(im, n, 1, &index, 1, &found))
        return move_emit_gather(im, n, x, indices, axis, y);
    for (uint32_t i = 0; i < x->rank; i++)
        ranges[i] = (move_range){0, 1, x->dims[i]};
    ranges[axis] = (move_range){index < 0 ? index + x->dims[axis] : index, 1, 1};
    return move_emit_slice(im, n, x, ranges, y);
}

// One index of an axis, which disappears: taken as an axis of 1, then dropped. In a channel-last
// tensor that leaves ONNX's order when the channel goes, and channel last when a spatial axis goes.
static qrn_status gather_one(ox_import *im, const ox_node *n, uint32_t axis) {
    const ox_val *x = ox_input(im, n, 0);
    ox_layout from = axis ? ox_layout_of_input(im, n, 0) : OX_ONNX;
    ox_layout to = from == OX_LAST && axis > 1 ? OX_LAST : OX_ONNX;
    uint32_t at = ox_axis_in(from, axis, x->rank), dims[OX_MAX_RANK];
    ox_carry c;
    const qc_tensor *in, *w;
    qc_tensor *one, *y;
    unsigned types = ox_input(im, n, 1)->data ? MOVE_SLICE : MOVE_GATHER;
    QRN_TRY(ox_carry_input(im, n, 0, from, types, &c, &in));
    memcpy(dims, in->dims, sizeof dims);
    dims[at] = 1;
    QRN_TRY(ox_temp(im, in, in->rank, dims, &one));
    QRN_TRY(emit_one(im, n, in, at, one));
    QRN_TRY(ox_out(im, n, 0, to, &y));
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    QRN_TRY(ox_emit_reshape(im, n, one, w));
    return ox_carry_end(im, n, &c, w, y);
}

qrn_status move_import_gather(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0), *ix = ox_input(im, n, 1);
    uint32_t axis, rank = 0, dims[2 * OX_MAX_RANK];
    ox_carry c;
    const qc_tensor *in, *w;
    qc_tensor *indices, *quantized, *y;
    if (x->rank == 0)
        return ox_fail(im, n, QRN_E_SHAPE, "a scalar has no axis");
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", 0), x->rank, &axis));
    for (uint32_t i = 0; i < axis; i++)
        dims[rank++] = x->dims[i];
    for (uint32_t i = 0; i < ix->rank; i++)
        dims[rank++] = ix->dims[i];
    for (uint32_t i = axis + 1; i < x->rank; i++)
        dims[rank++] = x->dims[i];
    if (rank <= OX_MAX_RANK && move_count(rank, dims) == 0)
        return ox_set_const(im, n, 0, x->type, rank, dims, "");
    QRN_TRY(ox_set_moved(im, n, 0, 0, rank, dims));
    if (ix->rank == 0)
        return gather_one(im, n, axis);
    ox_layout layout = ix->rank == 1 ? ox_layout_of_input(im, n, 0) : OX_ONNX;
    QRN_TRY(move_indices(im, n, 1, &x->dims[axis], 1, &indices));
    QRN_TRY(ox_quantized_of(im, n, 0, 0, &quantized, &y));
    if (quantized)
        return move_emit_gather(im, n, quantized, indices, axis, y);
    QRN_TRY(ox_carry_input(im, n, 0, layout, MOVE_GATHER, &c, &in));
    QRN_TRY(ox_out(im, n, 0, layout, &y));
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    QRN_TRY(move_emit_gather(im, n, in, indices, ox_axis_in(layout, axis, x->rank), w));
    return ox_carry_end(im, n, &c, w, y);
}

qrn_status move_import_gather_elements(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0), *ix = ox_input(im, n, 1);
    uint32_t axis;
    ox_carry c;
    const qc_tensor *in, *w;
    qc_tensor *indices, *y;
    qc_op o;
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", 0), x->rank, &axis));
    if (ix->rank != x->rank || x->rank == 0)
        return ox_fail(im, n, QRN_E_SHAPE, "indices of rank %u for data of rank %u", ix->rank,
                       x->rank);
    QRN_TRY(ox_set_moved(im, n, 0, 0, ix->rank, ix->dims));
    QRN_TRY(ox_carry_input(im, n, 0, OX_ONNX, MOVE_GATHER_ELEMENTS, &c, &in));
    QRN_TRY(move_indices(im, n, 1, &x->dims[axis], 1, &indices));
    QRN_TRY(ox_out(im, n, 0, OX_ONNX, &y));
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    ox_op(im, &o, n, QNN_OP_GATHER_ELEMENTS);
    qc_in(&o, in);
    qc_in(&o, indices);
    qc_out(&o, w);
    qc_u32(&o, QNN_OP_GATHER_ELEMENTS_PARAM_AXIS, axis);
    QRN_TRY(qc_op_end(&o));
    return ox_carry_end(im, n, &c, w, y);
}

qrn_status move_import_gather_nd(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0), *ix = ox_input(im, n, 1);
    int64_t batch = ox_attr_int(n, "batch_dims", 0);
    uint32_t rank = 0, dims[2 * OX_MAX_RANK];
    ox_carry c;
    const qc_tensor *in, *w, *indices;
    qc_tensor *given = NULL, *y;
    qc_op o;
    uint32_t depth = ix->rank ? ix->dims[ix->rank - 1] : 0;
    if (batch < 0 || batch >= ix->rank || depth < 1 || batch + depth > x->rank)
        return ox_fail(im, n, QRN_E_SHAPE,
                       "%lld batch dimensions and indices of %u numbers for data of rank %u",
                       (long long)batch, depth, x->rank);
    for (uint32_t i = 0; i + 1 < ix->rank; i++)
        dims[rank++] = ix->dims[i];
    for (uint32_t i = (uint32_t)batch + depth; i < x->rank; i++)
        dims[rank++] = x->dims[i];
    QRN_TRY(ox_set_moved(im, n, 0, 0, rank, dims));
    QRN_TRY(ox_carry_input(im, n, 0, OX_ONNX, MOVE_GATHER_ND, &c, &in));
    QRN_TRY(move_indices(im, n, 1, x->dims + batch, depth, &given));
    indices = given;
    if (rank == 0) // a scalar is held as [1]
        QRN_TRY(move_reshaped(im, n, given, 2, (const uint32_t[]){1, depth}, &indices));
    QRN_TRY(ox_out(im, n, 0, OX_ONNX, &y));
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    ox_op(im, &o, n, QNN_OP_GATHER_ND);
    qc_in(&o, in);
    qc_in(&o, indices);
    qc_out(&o, w);
    qc_u32(&o, QNN_OP_GATHER_ND_PARAM_BATCH_DIMS, (uint32_t)batch);
    QRN_TRY(qc_op_end(&o));
    return ox_carry_end(im, n, &c, w, y);
}

// Positions of the true elements of a constant condition, which may be shorter than the axis.
static qrn_status chosen(ox_import *im, const ox_node *n, uint32_t dim, int32_t **out,
                         uint32_t *count) {
    const ox_val *v = ox_input(im, n, 1);
    if (!v->data)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "its condition comes at run time, so its shape is not known; make the "
                       "condition constant");
    size_t given = move_count(v->rank, v->dims);
    if (v->type != OX_BOOL || given > dim)
        return ox_fail(im, n, QRN_E_SHAPE, "a condition of %zu elements of type %s for %u elements",
                       given, ox_type_name(v->type), dim);
    *out = ox_alloc(im, (given + 1) * sizeof **out);
    if (!*out)
        return ox_fail(im, n, QRN_E_MEM, "out of memory");
    *count = 0;
    for (size_t i = 0; i < given; i++)
        if (((const uint8_t *)v->data)[i])
            (*out)[(*count)++] = (int32_t)i;
    return QRN_OK;
}

qrn_status move_import_compress(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    bool flat = !ox_attr_find(n, "axis");
    uint32_t axis = 0, rank = x->rank, dims[OX_MAX_RANK], count = 0;
    int32_t *indices;
    ox_carry c;
    const qc_tensor *in, *w;
    qc_tensor *y;
    memcpy(dims, x->dims, sizeof dims);
    if (flat) {
        rank = 1;
        dims[0] = (uint32_t)move_count(x->rank, x->dims);
    } else {
        QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", 0), rank, &axis));
    }
    uint32_t whole = dims[0];
    QRN_TRY(chosen(im, n, dims[axis], &indices, &count));
    dims[axis] = count;
    if (!count)
        return ox_set_const(im, n, 0, x->type, rank, dims, "");
    ox_layout layout = flat ? OX_ONNX : ox_layout_of_input(im, n, 0);
    QRN_TRY(ox_set_moved(im, n, 0, 0, rank, dims));
    QRN_TRY(ox_carry_input(im, n, 0, layout, MOVE_GATHER, &c, &in));
    if (flat && x->rank != 1)
        QRN_TRY(move_reshaped(im, n, in, 1, &whole, &in));
    QRN_TRY(ox_out(im, n, 0, layout, &y));
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    QRN_TRY(move_emit_pick(im, n, in, indices, count, ox_axis_in(layout, axis, rank), w));
    return ox_carry_end(im, n, &c, w, y);
}

// Row of the flattened first two axes that each position of them takes its elements from: within
// the length of its batch, time counts backwards.
static qrn_status reversed_rows(ox_import *im, const ox_node *n, uint32_t time, uint32_t batch,
                                const qc_tensor **out) {
    const ox_val *x = ox_input(im, n, 0);
    uint32_t d1 = x->dims[1], grid[2] = {x->dims[0], d1};
    uint32_t wide[2] = {batch ? 1 : grid[0], batch ? d1 : 1};
    qc_tensor *lengths, *t, *next, *first, *zero, *stride, *step;
    const qc_tensor *spread, *back, *inside, *from, *scaled, *base, *index;
    const Qnn_DataType_t i32 = QNN_DATATYPE_INT_32;
    if ((uint64_t)grid[0] * d1 > INT32_MAX)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "%u sequences of %u elements", grid[batch],
                       grid[time]);
    uint32_t count = grid[0] * d1;
    QRN_TRY(ox_in_as(im, n, 1, OX_ONNX, i32, &lengths));
    QRN_TRY(move_reshaped(im, n, lengths, 2, wide, &spread));
    QRN_TRY(move_count_up(im, n, 2, time, grid[time], 0, &t));
    QRN_TRY(move_count_up(im, n, 2, time, grid[time], 1, &next));
    QRN_TRY(move_count_up(im, n, 2, batch, grid[batch], 0, &first));
    QRN_TRY(ox_number(im, i32, batch ? 1 : d1, &step));
    QRN_TRY(move_binary(im, n, QNN_OP_ELEMENT_WISE_MULTIPLY, first, step, i32, 2, wide, &base));
    QRN_TRY(ox_number(im, i32, 0, &zero));
    QRN_TRY(ox_number(im, i32, time ? 1 : d1, &stride));
    QRN_TRY(move_binary(im, n, QNN_OP_ELEMENT_WISE_SUBTRACT, spread, next, i32, 2, grid, &back));
    QRN_TRY(move_binary(im, n, QNN_OP_ELEMENT_WISE_GREATER_EQUAL, back, zero, QNN_DATATYPE_BOOL_8,
                        2, grid, &inside));
    QRN_TRY(move_select(im, n, inside, back, t, 2, grid, &from));
    QRN_TRY(move_binary(im, n, QNN_OP_ELEMENT_WISE_MULTIPLY, from, stride, i32, 2, grid, &scaled));
    QRN_TRY(move_binary(im, n, QNN_OP_ELEMENT_WISE_ADD, scaled, base, i32, 2, grid, &index));
    return move_reshaped(im, n, index, 1, &count, out);
}

qrn_status move_import_reverse_sequence(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0), *lengths = ox_input(im, n, 1);
    int64_t batch = ox_attr_int(n, "batch_axis", 1), time = ox_attr_int(n, "time_axis", 0);
    uint32_t dims[OX_MAX_RANK];
    ox_carry c;
    const qc_tensor *in, *rows = NULL, *flat;
    qc_tensor *y, *picked;
    if (x->rank < 2 || batch < 0 || batch > 1 || time != 1 - batch)
        return ox_fail(im, n, QRN_E_SHAPE, "batch axis %lld and time axis %lld of rank %u",
                       (long long)batch, (long long)time, x->rank);
    if (move_count(lengths->rank, lengths->dims) != x->dims[batch])
        return ox_fail(im, n, QRN_E_SHAPE, "%zu lengths for %u batches",
                       move_count(lengths->rank, lengths->dims), x->dims[batch]);
    QRN_TRY(ox_set_moved(im, n, 0, 0, x->rank, x->dims));
    QRN_TRY(ox_carry_input(im, n, 0, OX_ONNX, MOVE_GATHER, &c, &in));
    QRN_TRY(reversed_rows(im, n, (uint32_t)time, (uint32_t)batch, &rows));
    memcpy(dims, x->dims + 1, sizeof dims - sizeof *dims);
    dims[0] = x->dims[0] * x->dims[1];
    QRN_TRY(move_reshaped(im, n, in, x->rank - 1, dims, &flat));
    QRN_TRY(ox_temp(im, in, x->rank - 1, dims, &picked));
    QRN_TRY(move_emit_gather(im, n, flat, rows, 0, picked));
    QRN_TRY(ox_out(im, n, 0, OX_ONNX, &y));
    const qc_tensor *w;
    QRN_TRY(ox_carry_out(im, &c, y, &w));
    QRN_TRY(ox_emit_reshape(im, n, picked, w));
    return ox_carry_end(im, n, &c, w, y);
}
