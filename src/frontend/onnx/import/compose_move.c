// SPDX-License-Identifier: MIT
//
// Ops of decompositions that move values: shapes, slices, joins and look-ups.
#include "frontend/onnx/import/compose.h"
#include "frontend/onnx/import/fixed.h"

#include <math.h>
#include <string.h>

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
