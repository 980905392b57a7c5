// SPDX-License-Identifier: MIT
//
// Importers: reductions. Floats and fixed point go to QNN's reductions. These do not take all
// integers: maxima of 32-bit integers are found by TopK and products made by halving.
#include "frontend/onnx/import/reduce.h"

#include "frontend/onnx/import/matmul.h"
#include "frontend/onnx/import/table.h"

#include <string.h>

typedef enum before { AS_IS, ABS, SQUARE } before;
typedef enum after { NOTHING, ROOT, LOG } after;

typedef struct row {
    const char *onnx, *qnn;
    before first;
    after last;
    bool fixed; // QNN's op supports fixed point
} row;

static const row rows[] = {
    {"ReduceSum", QNN_OP_REDUCE_SUM, AS_IS, NOTHING, true},
    {"ReduceMean", QNN_OP_REDUCE_MEAN, AS_IS, NOTHING, true},
    {"ReduceMax", QNN_OP_REDUCE_MAX, AS_IS, NOTHING, true},
    {"ReduceMin", QNN_OP_REDUCE_MIN, AS_IS, NOTHING, true},
    {"ReduceProd", QNN_OP_REDUCE_PROD, AS_IS, NOTHING, false},
    {"ReduceL1", QNN_OP_REDUCE_SUM, ABS, NOTHING, false},
    {"ReduceL2", QNN_OP_REDUCE_SUM, SQUARE, ROOT, false},
    {"ReduceSumSquare", QNN_OP_REDUCE_SUM, SQUARE, NOTHING, false},
    {"ReduceLogSum", QNN_OP_REDUCE_SUM, AS_IS, LOG, false},
    {"ReduceLogSumExp", NULL, AS_IS, NOTHING, false},
};

static const row *row_of(const ox_node *n) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].onnx, n->op) == 0)
            return &rows[i];
    return NULL;
}

// --- axes

// ONNX axes of the node, in order, each once. None are listed: all, or with noop none.
static qrn_status read_axes(ox_import *im, const ox_node *n, uint32_t *axes, uint32_t *count) {
    const ox_val *x = ox_input(im, n, 0);
    int64_t list[OX_MAX_RANK];
    bool gone[OX_MAX_RANK] = {false};
    uint32_t listed, axis;
    const ox_val *given = ox_input(im, n, 1);
    if (given && given->rank == 1 && given->dims[0] == 0)
        listed = 0;
    else
        QRN_TRY(ox_ints_of(im, n, "axes", 1, list, OX_MAX_RANK, &listed));
    for (uint32_t i = 0; i < listed; i++) {
        QRN_TRY(ox_axis(im, n, list[i], x->rank, &axis));
        gone[axis] = true;
    }
    bool all = listed == 0 && ox_attr_int(n, "noop_with_empty_axes", 0) == 0;
    *count = 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (gone[i] || all)
            axes[(*count)++] = i;
    return QRN_OK;
}

void ox_reduction_plan(ox_import *im, const ox_node *n, const uint32_t *axes, uint32_t count,
                       bool keep, ox_reduction *r) {
    const ox_val *x = ox_input(im, n, 0);
    bool gone[OX_MAX_RANK] = {false}, spatial_left = false;
    *r = (ox_reduction){.n = count, .keep = keep, .layout = ox_layout_of(im, n)};
    for (uint32_t i = 0; i < count; i++)
        gone[axes[i]] = true;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (!gone[i] || keep)
            r->dims[r->rank++] = gone[i] ? 1 : x->dims[i];
        spatial_left |= i >= 2 && !gone[i];
    }
    if (x->rank < 3 || (!keep && count && !gone[1] && spatial_left))
        r->layout = OX_ONNX;
    r->out_layout = keep || count == 0 ? r->layout : OX_ONNX;
    for (uint32_t i = 0; i < count; i++)
        r->axes[i] = ox_axis_in(r->layout, axes[i], x->rank);
}

static qrn_status plan(ox_import *im, const ox_node *n, ox_reduction *r) {
    uint32_t axes[OX_MAX_RANK], count;
    const ox_val *x = ox_input(im, n, 0);
    if (!x)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input 0 is missing");
    QRN_TRY(read_axes(im, n, axes, &count));
    ox_reduction_plan(im, n, axes, count, ox_attr_int(n, "keepdims", 1) != 0, r);
    if (x->rank == 0) { // held as [1]
        r->n = 1;
        r->axes[0] = 0;
    }
    return ox_set_output(im, n, 0, x->type, r->rank, r->dims);
}

// --- floats

static qc_tensor *first_step(ox_expr *e, before first, qc_tensor *x) {
    if (first == ABS)
        return ox_unary(e, QNN_OP_ELEMENT_WISE_ABS, x);
    return first == SQUARE ? ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, x, x) : x;
}

// The last op writes to y.
static void last_step(ox_expr *e, after last, qc_tensor *x, qc_tensor *y) {
    ox_into(e, y);
    if (!x || !y)
        return;
    if (last == ROOT)
        ox_unary(e, QNN_OP_ELEMENT_WISE_SQUARE_ROOT, x);
    else if (last == LOG)
        ox_unary(e, QNN_OP_ELEMENT_WISE_LOG, x);
    else
        ox_reshape(e, x, y->rank, y->dims);
}

static void log_sum_exp(ox_expr *e, const ox_reduction *r, qc_tensor *x, qc_tensor *y) {
    qc_tensor *max = ox_reduce(e, QNN_OP_REDUCE_MAX, x, r->axes, r->n, true);
    qc_tensor *z =
        ox_unary(e, QNN_OP_ELEMENT_WISE_EXP, ox_binary(e, QNN_OP_ELEMENT_WISE_SUBTRACT, x, max));
    z = ox_reduce(e, QNN_OP_REDUCE_SUM, z, r->axes, r->n, true);
    z = ox_binary(e, QNN_OP_ELEMENT_WISE_ADD, ox_unary(e, QNN_OP_ELEMENT_WISE_LOG, z), max);
    last_step(e, NOTHING, z, y);
}

// x to y; both float, or both fixed point.
static void reduce_real(ox_expr *e, const row *op, const ox_reduction *r, qc_tensor *x,
                        qc_tensor *y) {
    if (r->n == 0) { // exp and log undo each other
        last_step(e, op->last, first_step(e, op->first, x), y);
        return;
    }
    if (!op->qnn) {
        log_sum_exp(e, r, x, y);
        return;
    }
    x = first_step(e, op->first, x);
    if (op->last == NOTHING) {
        ox_into(e, y);
        ox_reduce(e, op->qnn, x, r->axes, r->n, r->keep);
        return;
    }
    last_step(e, op->last, ox_reduce(e, op->qnn, x, r->axes, r->n, r->keep), y);
}

// --- integers

qc_tensor *ox_flip_sign(ox_expr *e, qc_tensor *x) {
    return ox_with(e, QNN_OP_ELEMENT_WISE_ADD, x, (double)INT32_MIN);
}

// The reduced axes as one at the end: [rest..., product].
static qc_tensor *gathered(ox_expr *e, const ox_reduction *r, qc_tensor *x) {
    uint32_t perm[OX_MAX_RANK], dims[OX_MAX_RANK], at = 0, length = 1;
    bool gone[OX_MAX_RANK] = {false};
    if (!x)
        return NULL;
    for (uint32_t i = 0; i < r->n; i++)
        gone[r->axes[i]] = true;
    for (uint32_t i = 0; i < x->rank; i++)
        if (!gone[i]) {
            dims[at] = x->dims[i];
            perm[at++] = i;
        }
    uint32_t rest = at;
    for (uint32_t i = 0; i < x->rank; i++)
        if (gone[i]) {
            perm[at++] = i;
            length *= x->dims[i];
        }
    dims[rest] = length;
    bool moves = false;
    for (uint32_t i = 0; i < x->rank; i++)
        moves |= perm[i] != i;
    return ox_reshape(e, moves ? ox_transpose(e, x, perm) : x, rest + 1, dims);
}

// The largest or smallest along the last axis.
static qc_tensor *extreme(ox_expr *e, qc_tensor *x, bool largest) {
    uint32_t dims[OX_MAX_RANK];
    if (!x)
        return NULL;
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = 1;
    qc_tensor *y = ox_result_like(e, x, x->rank, dims);
    qc_tensor *index = ox_result_typed(e, QNN_DATATYPE_INT_32, x->rank, dims);
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_TOP_K);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_out(&o, index);
    qc_u32(&o, QNN_OP_TOP_K_PARAM_K, 1);
    qc_bool(&o, QNN_OP_TOP_K_PARAM_LARGEST, largest);
    return ox_ended(e, &o, y);
}

// Product along the last axis: the second half times the first until one element is left.
static qc_tensor *product(ox_expr *e, qc_tensor *x) {
    while (x && x->dims[x->rank - 1] > 1) {
        uint32_t axis = x->rank - 1, n = x->dims[axis], half = n / 2;
        qc_tensor *y = ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, ox_slice(e, x, axis, 0, half, 1),
                                 ox_slice(e, x, axis, half, half, 1));
        qc_tensor *parts[] = {y, n % 2 ? ox_slice(e, x, axis, n - 1, 1, 1) : NULL};
        x = n % 2 ? ox_concat(e, parts, 2, axis) : y;
    }
    return x;
}

// floor(sqrt(x)): the float root, put right where rounding made it too large.
static qc_tensor *integer_root(ox_expr *e, qc_tensor *x) {
    qc_tensor *f = ox_as(e, x, QNN_DATATYPE_FLOAT_32);
    f = ox_with(e, QNN_OP_ELEMENT_WISE_ADD, ox_unary(e, QNN_OP_ELEMENT_WISE_SQUARE_ROOT, f), 0.5);
    qc_tensor *r = ox_as(e, f, QNN_DATATYPE_INT_32);
    r = ox_with(e, QNN_OP_ELEMENT_WISE_MINIMUM, r, 46340); // its square fits 31 bits
    qc_tensor *above = ox_compare(e, QNN_OP_ELEMENT_WISE_GREATER,
                                  ox_binary(e, QNN_OP_ELEMENT_WISE_MULTIPLY, r, r), x);
    return ox_binary(e, QNN_OP_ELEMENT_WISE_SUBTRACT, r, ox_as(e, above, QNN_DATATYPE_INT_32));
}

static qc_tensor *reduce_ints(ox_expr *e, const row *op, const ox_reduction *r, bool is_unsigned,
                              qc_tensor *x) {
    if (op->first != ABS || !is_unsigned)
        x = first_step(e, op->first, x);
    if (!op->qnn || op->last == LOG) {
        e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED, "integers; cast its input to float");
        return NULL;
    }
    if (strcmp(op->qnn, QNN_OP_REDUCE_PROD) == 0)
        return product(e, gathered(e, r, x));
    bool max = strcmp(op->qnn, QNN_OP_REDUCE_MAX) == 0;
    if (max || strcmp(op->qnn, QNN_OP_REDUCE_MIN) == 0) {
        x = gathered(e, r, is_unsigned ? ox_flip_sign(e, x) : x);
        x = extreme(e, x, max);
        return is_unsigned ? ox_flip_sign(e, x) : x;
    }
    bool mean = strcmp(op->qnn, QNN_OP_REDUCE_MEAN) == 0;
    uint32_t count = 1;
    for (uint32_t i = 0; x && i < r->n; i++)
        count *= x->dims[r->axes[i]];
    if (is_unsigned && (mean || op->last == ROOT)) {
        e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED, "unsigned integers; cast its input first");
        return NULL;
    }
    if (r->n)
        x = ox_reduce(e, QNN_OP_REDUCE_SUM, x, r->axes, r->n, true);
    if (mean && r->n)
        x = ox_with(e, QNN_OP_ELEMENT_WISE_DIVIDE, x, count);
    return op->last == ROOT ? integer_root(e, x) : x;
}

static qrn_status import_reduce_ints(ox_import *im, const ox_node *n, const row *op,
                                     const ox_reduction *r) {
    ox_expr e = ox_begin(im, n);
    int type = ox_input(im, n, 0)->type;
    qc_tensor *x, *y;
    QRN_TRY(ox_in_as(im, n, 0, r->layout, QNN_DATATYPE_INT_32, &x));
    QRN_TRY(ox_out_as(im, n, 0, r->out_layout, QNN_DATATYPE_INT_32, &y));
    x = reduce_ints(&e, op, r, type == OX_U32 || type == OX_U64, x);
    last_step(&e, NOTHING, x, y);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, r->out_layout, y);
}

// --- the importer

static qrn_status import_bools(ox_import *im, const ox_node *n, const row *op,
                               const ox_reduction *r) {
    ox_expr e = ox_begin(im, n);
    qc_tensor *x, *y;
    QRN_TRY(ox_in_as(im, n, 0, r->layout, QNN_DATATYPE_UFIXED_POINT_8, &x));
    QRN_TRY(ox_out_as(im, n, 0, r->out_layout, QNN_DATATYPE_UFIXED_POINT_8, &y));
    reduce_real(&e, op, r, x, y);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, r->out_layout, y);
}

static qrn_status import_reduce(ox_import *im, const ox_node *n) {
    const row *op = row_of(n);
    ox_reduction r;
    QRN_TRY(plan(im, n, &r));
    int type = ox_input(im, n, 0)->type;
    if (type == OX_BOOL)
        return import_bools(im, n, op, &r);
    if (ox_is_integer(type) && !(op->last == LOG || !op->qnn))
        return import_reduce_ints(im, n, op, &r);
    ox_expr e = ox_begin(im, n);
    // 8-bit integers are fixed point with scale 1.
    bool fixed = op->fixed && (ox_is_quantized(im, n) || ox_type_bits(type) <= 8);
    qc_tensor *x = fixed ? ox_fixed_in(&e, 0, r.layout) : ox_in_real(&e, 0, r.layout);
    qc_tensor *y = fixed ? ox_fixed_out(&e, 0, r.out_layout) : ox_out_real(&e, 0, r.out_layout);
    reduce_real(&e, op, &r, x, y);
    return fixed ? ox_fixed_end(&e, 0, r.out_layout, y) : ox_end_real(&e, 0, r.out_layout, y);
}

const ox_importer ox_import_reduce[] = {
    {"ReduceSum", "", import_reduce},
    {"ReduceMean", "", import_reduce},
    {"ReduceMax", "", import_reduce},
    {"ReduceMin", "", import_reduce},
    {"ReduceProd", "", import_reduce},
    {"ReduceL1", "", import_reduce},
    {"ReduceL2", "", import_reduce},
    {"ReduceSumSquare", "", import_reduce},
    {"ReduceLogSum", "", import_reduce},
    {"ReduceLogSumExp", "", import_reduce},
    {0},
};
