// SPDX-License-Identifier: MIT
//
// Importers: ScatterElements, ScatterND, TensorScatter. Without reduction elements are only moved.
// Reductions run in float for real values and in int32 for integers, where they wrap around as in
// ONNX. QNN has no minimum: it is the maximum of what is mirrored.
#include "frontend/onnx/import/move.h"

#include <string.h>

typedef enum reduction { RED_NONE, RED_ADD, RED_MUL, RED_MAX, RED_MIN } reduction;

static qrn_status read_reduction(ox_import *im, const ox_node *n, reduction *r) {
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    const char *given = ox_attr_string(n, "reduction", "none");
    for (int i = 0; i < 5; i++) {
        *r = (reduction)i;
        if (strcmp(given, names[i]) == 0)
            return QRN_OK;
    }
    return ox_fail(im, n, QRN_E_UNSUPPORTED, "reduction '%s'; known are none, add, mul, max, min",
                   given);
}

static uint32_t qnn_reduction(reduction r) {
    static const uint32_t codes[] = {
        QNN_OP_SCATTER_ELEMENTS_REDUCTION_NONE, QNN_OP_SCATTER_ELEMENTS_REDUCTION_ADD,
        QNN_OP_SCATTER_ELEMENTS_REDUCTION_MUL, QNN_OP_SCATTER_ELEMENTS_REDUCTION_MAX,
        QNN_OP_SCATTER_ELEMENTS_REDUCTION_MAX};
    return codes[r];
}

// An op that scatters: x, indices, updates, y. ScatterNd has no axis.
typedef struct scatter {
    const char *op;
    const qc_tensor *x, *indices, *updates, *y;
    uint32_t axis;
    reduction how;
} scatter;

static qrn_status emit_scatter(ox_import *im, const ox_node *n, const scatter *s) {
    bool elements = strcmp(s->op, QNN_OP_SCATTER_ELEMENTS) == 0;
    qc_op o;
    ox_op(im, &o, n, s->op);
    qc_in(&o, s->x);
    qc_in(&o, s->indices);
    qc_in(&o, s->updates);
    qc_out(&o, s->y);
    if (elements)
        qc_u32(&o, QNN_OP_SCATTER_ELEMENTS_PARAM_AXIS, s->axis);
    // Both ops have the parameter by the same name.
    qc_u32(&o, QNN_OP_SCATTER_ELEMENTS_PARAM_REDUCTION, qnn_reduction(s->how));
    return qc_op_end(&o);
}

// Scatters without reduction. s gives op, indices and axis; input 2 has the updates.
static qrn_status replace(ox_import *im, const ox_node *n, uint32_t updates_in, uint32_t types,
                          scatter *s) {
    const ox_val *x = ox_input(im, n, 0);
    ox_carry c;
    qc_tensor *data, *updates, *y;
    QRN_TRY(ox_set_moved(im, n, 0, 0, x->rank, x->dims));
    QRN_TRY(ox_out(im, n, 0, OX_ONNX, &y));
    QRN_TRY(ox_carry_of(im, n, x, y, types, &c));
    QRN_TRY(ox_in(im, n, 0, OX_ONNX, &data));
    QRN_TRY(ox_in(im, n, updates_in, OX_ONNX, &updates));
    QRN_TRY(ox_carry_in(im, n, &c, data, &s->x));
    QRN_TRY(ox_carry_in(im, n, &c, updates, &s->updates));
    QRN_TRY(ox_carry_out(im, &c, y, &s->y));
    s->how = RED_NONE;
    QRN_TRY(emit_scatter(im, n, s));
    return ox_carry_end(im, n, &c, s->y, y);
}

static bool is_float(const ox_val *v) { return v->type == OX_F32 || v->type == OX_F16; }

// y = op(x, number) of integers, or of the number and x.
static qrn_status with_number(ox_import *im, const ox_node *n, const char *op, double number,
                              bool number_first, const qc_tensor **x) {
    qc_tensor *c;
    QRN_TRY(ox_number(im, QNN_DATATYPE_INT_32, number, &c));
    const qc_tensor *a = number_first ? c : *x, *b = number_first ? *x : c;
    return move_binary(im, n, op, a, b, QNN_DATATYPE_INT_32, (*x)->rank, (*x)->dims, x);
}

// Makes maximum and minimum fit: what QNN takes the signed maximum of. Its own inverse.
static qrn_status mirror(ox_import *im, const ox_node *n, const ox_val *v, reduction how, bool back,
                         const qc_tensor **x) {
    bool shift = (v->type == OX_U32 || v->type == OX_U64) && (how == RED_MAX || how == RED_MIN);
    if (shift && !back) // unsigned order as signed order
        QRN_TRY(with_number(im, n, QNN_OP_ELEMENT_WISE_ADD, INT32_MIN, false, x));
    if (how == RED_MIN && is_float(v)) {
        qc_tensor *y;
        QRN_TRY(ox_temp(im, *x, (*x)->rank, (*x)->dims, &y));
        QRN_TRY(ox_emit_unary(im, n, QNN_OP_ELEMENT_WISE_NEG, *x, y));
        *x = y;
    } else if (how == RED_MIN) { // -1 - x has no overflow
        QRN_TRY(with_number(im, n, QNN_OP_ELEMENT_WISE_SUBTRACT, -1, true, x));
    }
    if (shift && back)
        QRN_TRY(with_number(im, n, QNN_OP_ELEMENT_WISE_ADD, INT32_MIN, false, x));
    return QRN_OK;
}

// Operands of a reduction in the type it runs in; what becomes the output has shape dims.
typedef struct reduced {
    Qnn_DataType_t dtype;
    const qc_tensor *x, *updates;
} reduced;

static qrn_status reduced_inputs(ox_import *im, const ox_node *n, reduction how, reduced *r) {
    const ox_val *x = ox_input(im, n, 0);
    qc_tensor *data, *updates;
    r->dtype = is_float(x) ? QNN_DATATYPE_FLOAT_32 : QNN_DATATYPE_INT_32;
    QRN_TRY(ox_set_output(im, n, 0, x->type, x->rank, x->dims));
    QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, r->dtype, &data));
    QRN_TRY(ox_in_as(im, n, 2, OX_ONNX, r->dtype, &updates));
    r->x = data;
    r->updates = updates;
    QRN_TRY(mirror(im, n, x, how, false, &r->x));
    return mirror(im, n, x, how, false, &r->updates);
}

static qrn_status reduced_output(ox_import *im, const ox_node *n, reduction how,
                                 const qc_tensor *w) {
    const ox_val *x = ox_input(im, n, 0);
    qc_tensor *y;
    QRN_TRY(mirror(im, n, x, how, true, &w));
    QRN_TRY(ox_out_as(im, n, 0, OX_ONNX, w->t.v1.dataType, &y));
    QRN_TRY(ox_emit_reshape(im, n, w, y));
    return ox_out_end(im, n, 0, OX_ONNX, y);
}

static qrn_status reduce(ox_import *im, const ox_node *n, reduction how, scatter *s) {
    reduced r;
    qc_tensor *w;
    QRN_TRY(reduced_inputs(im, n, how, &r));
    QRN_TRY(ox_temp(im, r.x, r.x->rank, r.x->dims, &w));
    s->x = r.x;
    s->updates = r.updates;
    s->y = w;
    s->how = how;
    QRN_TRY(emit_scatter(im, n, s));
    return reduced_output(im, n, how, w);
}

qrn_status move_import_scatter_elements(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0), *ix = ox_input(im, n, 1), *up = ox_input(im, n, 2);
    scatter s = {.op = QNN_OP_SCATTER_ELEMENTS};
    qc_tensor *indices;
    reduction how;
    QRN_TRY(read_reduction(im, n, &how));
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", 0), x->rank, &s.axis));
    if (x->rank == 0 || ix->rank != x->rank || up->rank != x->rank ||
        memcmp(ix->dims, up->dims, x->rank * sizeof *x->dims) != 0)
        return ox_fail(im, n, QRN_E_SHAPE, "indices and updates differ, or have not rank %u",
                       x->rank);
    if (move_count(ix->rank, ix->dims) == 0)
        return ox_alias(im, n, 0, 0);
    QRN_TRY(move_indices(im, n, 1, &x->dims[s.axis], 1, &indices));
    s.indices = indices;
    return how == RED_NONE ? replace(im, n, 2, MOVE_SCATTER_ELEMENTS, &s) : reduce(im, n, how, &s);
}

// Indices of ScatterND as rows of the data flattened to [rows, elements of one update]: [count, 1].
static qrn_status flat_rows(ox_import *im, const ox_node *n, uint32_t count, uint32_t depth,
                            const qc_tensor **out) {
    const ox_val *x = ox_input(im, n, 0);
    const Qnn_DataType_t i32 = QNN_DATATYPE_INT_32;
    uint32_t list[2] = {count, depth}, row[2] = {1, depth}, column[2] = {count, 1}, last = 1;
    int32_t lengths[OX_MAX_RANK], strides[OX_MAX_RANK], at = 1;
    qc_tensor *given, *dims, *steps, *zero, *sum;
    const qc_tensor *flat, *below, *ends, *scaled;
    qc_op o;
    for (uint32_t i = depth; i-- > 0; at *= lengths[i]) {
        lengths[i] = (int32_t)x->dims[i];
        strides[i] = at;
    }
    QRN_TRY(move_indices(im, n, 1, x->dims, depth, &given));
    QRN_TRY(ox_static(im, i32, 2, row, lengths, depth * sizeof *lengths, &dims));
    QRN_TRY(ox_static(im, i32, 2, row, strides, depth * sizeof *strides, &steps));
    QRN_TRY(ox_number(im, i32, 0, &zero));
    QRN_TRY(move_reshaped(im, n, given, 2, list, &flat));
    QRN_TRY(move_binary(im, n, QNN_OP_ELEMENT_WISE_LESS, flat, zero, QNN_DATATYPE_BOOL_8, 2, list,
                        &below));
    QRN_TRY(move_binary(im, n, QNN_OP_ELEMENT_WISE_ADD, flat, dims, i32, 2, list, &ends));
    QRN_TRY(move_select(im, n, below, ends, flat, 2, list, &flat));
    QRN_TRY(move_binary(im, n, QNN_OP_ELEMENT_WISE_MULTIPLY, flat, steps, i32, 2, list, &scaled));
    QRN_TRY(ox_temp_typed(im, i32, 2, column, &sum));
    ox_op(im, &o, n, QNN_OP_REDUCE_SUM);
    qc_in(&o, scaled);
    qc_out(&o, sum);
    qc_u32s(&o, QNN_OP_REDUCE_SUM_PARAM_AXES, &last, 1);
    qc_bool(&o, QNN_OP_REDUCE_SUM_PARAM_KEEP_DIMS, true);
    *out = sum;
    return qc_op_end(&o);
}

// ScatterNd has no maximum: whole rows are scattered element by element.
static qrn_status reduce_rows(ox_import *im, const ox_node *n, reduction how, uint32_t count,
                              uint32_t depth) {
    const ox_val *x = ox_input(im, n, 0);
    uint32_t rows = (uint32_t)move_count(depth, x->dims);
    uint32_t width = (uint32_t)move_count(x->rank - depth, x->dims + depth);
    uint32_t table[2] = {rows, width}, list[2] = {count, width}, times[2] = {1, width};
    reduced r;
    scatter s = {.op = QNN_OP_SCATTER_ELEMENTS, .how = how};
    const qc_tensor *index;
    qc_tensor *spread, *w;
    QRN_TRY(reduced_inputs(im, n, how, &r));
    QRN_TRY(flat_rows(im, n, count, depth, &index));
    QRN_TRY(ox_temp(im, index, 2, list, &spread));
    QRN_TRY(move_emit_tile(im, n, index, times, spread));
    QRN_TRY(move_reshaped(im, n, r.x, 2, table, &s.x));
    QRN_TRY(move_reshaped(im, n, r.updates, 2, list, &s.updates));
    QRN_TRY(ox_temp(im, r.x, 2, table, &w));
    s.indices = spread;
    s.y = w;
    QRN_TRY(emit_scatter(im, n, &s));
    return reduced_output(im, n, how, w);
}

qrn_status move_import_scatter_nd(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0), *ix = ox_input(im, n, 1), *up = ox_input(im, n, 2);
    scatter s = {.op = QNN_OP_SCATTER_ND};
    qc_tensor *indices;
    reduction how;
    QRN_TRY(read_reduction(im, n, &how));
    uint32_t depth = ix->rank ? ix->dims[ix->rank - 1] : 0;
    size_t lists = ix->rank ? move_count(ix->rank - 1, ix->dims) : 0;
    if (depth < 1 || depth > x->rank || up->rank != ix->rank - 1 + x->rank - depth ||
        move_count(up->rank, up->dims) != lists * move_count(x->rank - depth, x->dims + depth))
        return ox_fail(im, n, QRN_E_SHAPE,
                       "data of rank %u, indices of %u numbers and updates of rank %u do not fit",
                       x->rank, depth, up->rank);
    if (lists == 0)
        return ox_alias(im, n, 0, 0);
    if (how != RED_NONE && move_count(x->rank, x->dims) > INT32_MAX)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "a reduction into more than 2^31 elements");
    if (how == RED_MAX || how == RED_MIN)
        return reduce_rows(im, n, how, (uint32_t)lists, depth);
    QRN_TRY(move_indices(im, n, 1, x->dims, depth, &indices));
    s.indices = indices;
    return how == RED_NONE ? replace(im, n, 2, MOVE_SCATTER_ND, &s) : reduce(im, n, how, &s);
}

// Position along `axis` that each element of the update is written to.
static qrn_status write_positions(ox_import *im, const ox_node *n, uint32_t axis, bool circular,
                                  const qc_tensor **out) {
    const ox_val *x = ox_input(im, n, 0), *up = ox_input(im, n, 1), *start = ox_input(im, n, 2);
    const Qnn_DataType_t i32 = QNN_DATATYPE_INT_32;
    uint32_t wide[OX_MAX_RANK], times[OX_MAX_RANK], rank = up->rank;
    qc_tensor *steps, *given, *length, *all;
    const qc_tensor *spread;
    QRN_TRY(move_count_up(im, n, rank, axis, up->dims[axis], 0, &steps));
    *out = steps;
    for (uint32_t i = 0; i < rank; i++)
        wide[i] = i ? 1 : up->dims[0];
    if (start) {
        QRN_TRY(ox_in_as(im, n, 2, OX_ONNX, i32, &given));
        QRN_TRY(move_reshaped(im, n, given, rank, wide, &spread));
        wide[axis] = up->dims[axis];
        QRN_TRY(move_binary(im, n, QNN_OP_ELEMENT_WISE_ADD, steps, spread, i32, rank, wide, out));
    }
    if (start && circular) {
        QRN_TRY(ox_number(im, i32, x->dims[axis], &length));
        QRN_TRY(move_binary(im, n, QNN_OP_ELEMENT_WISE_MOD, *out, length, i32, rank, wide, out));
    }
    for (uint32_t i = 0; i < rank; i++)
        times[i] = up->dims[i] / (*out)->dims[i];
    QRN_TRY(ox_temp_typed(im, i32, rank, up->dims, &all));
    QRN_TRY(move_emit_tile(im, n, *out, times, all));
    *out = all;
    return QRN_OK;
}

qrn_status move_import_tensor_scatter(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0), *up = ox_input(im, n, 1), *start = ox_input(im, n, 2);
    const char *mode = ox_attr_string(n, "mode", "linear");
    bool circular = strcmp(mode, "circular") == 0;
    scatter s = {.op = QNN_OP_SCATTER_ELEMENTS};
    if (!circular && strcmp(mode, "linear") != 0)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "mode '%s'; known are linear and circular", mode);
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", -2), x->rank, &s.axis));
    bool fits = up->rank == x->rank && s.axis > 0 && (!start || start->rank == 1) &&
                (!start || start->dims[0] == x->dims[0]);
    for (uint32_t i = 0; fits && i < x->rank; i++)
        fits = i == s.axis ? up->dims[i] <= x->dims[i] : up->dims[i] == x->dims[i];
    if (!fits)
        return ox_fail(im, n, QRN_E_SHAPE, "the update does not fit into the cache");
    QRN_TRY(write_positions(im, n, s.axis, circular, &s.indices));
    return replace(im, n, 1, MOVE_SCATTER_ELEMENTS, &s);
}
