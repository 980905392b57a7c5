// SPDX-License-Identifier: MIT
//
// Ops of decompositions that add up: reductions, matmuls and softmax.
#include "frontend/onnx/import/compose.h"
#include "frontend/onnx/import/fixed.h"

#include <math.h>
#include <string.h>

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
