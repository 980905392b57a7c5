// SPDX-License-Identifier: MIT
//
// Matrix multiplication: with a result, a bias and dimensions before the last two.
#include "frontend/executorch/kernel.h"

#include "reference/reduce.h"

// y = a b (+ what is added); all have two dimensions and perhaps more before them.
static qrn_status multiply(et_call *c, const qrn_nd *a, const qrn_nd *b, const qrn_addend *add,
                           uint32_t out_at) {
    size_t dims[ET_MAX_RANK];
    if (c->status != QRN_OK)
        return c->status;
    if (a->dims[a->rank - 1] != b->dims[b->rank - 2])
        return et_refuse(c, "a matrix of %zu columns meets one of %zu rows", a->dims[a->rank - 1],
                         b->dims[b->rank - 2]);
    for (uint32_t d = 0; d + 1 < a->rank; d++)
        dims[d] = a->dims[d];
    dims[a->rank - 1] = b->dims[b->rank - 1];
    qrn_nd y = et_result(c, out_at, a->rank, dims), bias = {.count = 0};
    if (add && add->bias) {
        bias = *add->bias;
        if (c->status == QRN_OK && !qrn_nd_expand(&bias, a->rank, dims))
            et_refuse(c, "the shape of what is added does not fit");
    }
    if (!et_apart(c, &y, a) || !et_apart(c, &y, b) || (bias.data && !et_apart(c, &y, add->bias)))
        return c->status;
    qrn_nd rows = *a;
    if (a->rank == 1) { // one row
        qrn_nd_insert(&rows, 0, 1, 0);
        qrn_nd_insert(&y, 0, 1, 0);
    }
    qrn_nd_matmul(&y, &rows, b, add);
    return QRN_OK;
}

static void need_ranks(et_call *c, const qrn_nd *a, const qrn_nd *b, uint32_t rank) {
    if (c->status == QRN_OK && (a->rank != rank || b->rank != rank))
        et_refuse(c, "tensors of ranks %u and %u, expected %u", a->rank, b->rank, rank);
}

static qrn_status mm(et_call *c, int rank) {
    qrn_nd a = et_in(c, 0), b = et_in(c, 1);
    need_ranks(c, &a, &b, (uint32_t)rank);
    if (c->status == QRN_OK && rank == 3 && a.dims[0] != b.dims[0])
        et_refuse(c, "batches of %zu and %zu", a.dims[0], b.dims[0]);
    return multiply(c, &a, &b, NULL, 2);
}

static qrn_status addmm(et_call *c, int rank) {
    qrn_nd bias = et_in(c, 0), a = et_in(c, 1), b = et_in(c, 2);
    qrn_addend add = {.beta = et_number(c, 3), .alpha = et_number(c, 4), .bias = &bias};
    need_ranks(c, &a, &b, (uint32_t)rank);
    return multiply(c, &a, &b, &add, 5);
}

// The input's rows, whatever its rank, times the transposed weights.
static qrn_status linear(et_call *c, int h) {
    qrn_nd a = et_in(c, 0), w = et_in(c, 1), bias;
    qrn_addend add = {.alpha = 1, .beta = 1};
    (void)h;
    if (!et_absent(c, 2)) {
        bias = et_in(c, 2);
        add.bias = &bias;
    }
    if (c->status != QRN_OK || a.rank == 0 || w.rank != 2)
        return et_refuse(c, "an input of rank %u and weights of rank %u", a.rank, w.rank);
    if (add.bias && (bias.rank != 1 || bias.dims[0] != w.dims[0]))
        return et_refuse(c, "a bias of %zu elements for %zu columns", bias.count, w.dims[0]);
    qrn_nd_permute(&w, (const uint32_t[]){1, 0});
    return multiply(c, &a, &w, &add, 3);
}

// clang-format off
const et_kernel et_kernels_linear[] = {
    {"aten::mm.out", 3, mm, 2},
    {"aten::bmm.out", 3, mm, 3},
    {"aten::addmm.out", 6, addmm, 2},
    {"aten::linear.out", 4, linear, 0},
    {0},
};
