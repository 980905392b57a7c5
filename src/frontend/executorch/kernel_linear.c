// SPDX-License-Identifier: MIT
//
// Matrix products, with sums in double.
#include "frontend/executorch/kernel.h"

// A matrix inside a tensor.
typedef struct matrix {
    const et_tensor *t;
    int64_t start, rows, columns, row_step, column_step;
} matrix;

static matrix of(const et_tensor *t, int64_t batch, bool turned) {
    uint32_t r = t->rank - 2, k = t->rank - 1;
    matrix m = {t,
                t->rank > 2 ? batch * t->strides[0] : 0,
                t->sizes[r],
                t->sizes[k],
                t->strides[r],
                t->strides[k]};
    return turned ? (matrix){t, m.start, m.columns, m.rows, m.column_step, m.row_step} : m;
}

static double product(const matrix *a, const matrix *b, int64_t i, int64_t k) {
    double sum = 0;
    for (int64_t j = 0; j < a->columns; j++)
        sum += et_get(a->t, a->start + i * a->row_step + j * a->column_step) *
               et_get(b->t, b->start + j * b->row_step + k * b->column_step);
    return sum;
}

// out = beta * bias + alpha * a b; the bias is broadcast, NULL: none.
static qrn_status multiply(et_call *c, et_tensor *out, const et_tensor *bias, const matrix *a,
                           const matrix *b, int64_t start, double beta, double alpha) {
    if (a->columns != b->rows)
        return et_refuse(c, "a matrix of %lld columns meets one of %lld rows",
                         (long long)a->columns, (long long)b->rows);
    const int64_t sizes[2] = {a->rows, b->columns};
    const int64_t steps[2] = {out->strides[out->rank - 2], out->strides[out->rank - 1]};
    et_walk w;
    et_walk_shape(&w, 2, sizes);
    et_walk_add_steps(&w, start, steps);
    if (bias && !et_walk_add(&w, bias))
        return et_refuse(c, "the shape of what is added does not fit");
    for (; w.left; et_walk_next(&w)) {
        double v = alpha * product(a, b, w.index[0], w.index[1]);
        et_set(out, w.at[0], bias ? v + beta * et_get(bias, w.at[1]) : v);
    }
    return QRN_OK;
}

static bool ranks(et_call *c, const et_tensor *a, const et_tensor *b, const et_tensor *out,
                  uint32_t rank) {
    if (c->status == QRN_OK && (a->rank != rank || b->rank != rank || a == out || b == out))
        et_refuse(c, "tensors of ranks %u and %u, expected %u", a->rank, b->rank, rank);
    return c->status == QRN_OK;
}

static qrn_status mm(et_call *c, int h) {
    const et_tensor *a = et_in(c, 0), *b = et_in(c, 1);
    et_tensor *out = et_out(c, 2);
    (void)h;
    if (!ranks(c, a, b, out, 2))
        return c->status;
    matrix x = of(a, 0, false), y = of(b, 0, false);
    const int64_t sizes[] = {x.rows, y.columns};
    return et_shape(c, out, 2, sizes) ? multiply(c, out, NULL, &x, &y, 0, 0, 1) : c->status;
}

static qrn_status bmm(et_call *c, int h) {
    const et_tensor *a = et_in(c, 0), *b = et_in(c, 1);
    et_tensor *out = et_out(c, 2);
    (void)h;
    if (!ranks(c, a, b, out, 3))
        return c->status;
    const int64_t sizes[] = {a->sizes[0], a->sizes[1], b->sizes[2]};
    if (a->sizes[0] != b->sizes[0])
        return et_refuse(c, "batches of %lld and %lld", (long long)a->sizes[0],
                         (long long)b->sizes[0]);
    if (!et_shape(c, out, 3, sizes))
        return c->status;
    for (int64_t i = 0; out->count && i < sizes[0] && c->status == QRN_OK; i++) {
        matrix x = of(a, i, false), y = of(b, i, false);
        multiply(c, out, NULL, &x, &y, i * out->strides[0], 0, 1);
    }
    return c->status;
}

static qrn_status addmm(et_call *c, int h) {
    const et_tensor *bias = et_in(c, 0), *a = et_in(c, 1), *b = et_in(c, 2);
    et_tensor *out = et_out(c, 5);
    double beta = et_number(c, 3), alpha = et_number(c, 4);
    (void)h;
    if (!ranks(c, a, b, out, 2) || bias == out)
        return et_refuse(c, "its input is its output");
    matrix x = of(a, 0, false), y = of(b, 0, false);
    const int64_t sizes[] = {x.rows, y.columns};
    return et_shape(c, out, 2, sizes) ? multiply(c, out, bias, &x, &y, 0, beta, alpha) : c->status;
}

// The input's rows, whatever its rank, times the turned weights.
static qrn_status linear(et_call *c, int h) {
    const et_tensor *a = et_in(c, 0), *w = et_in(c, 1);
    const et_tensor *bias = et_absent(c, 2) ? NULL : et_in(c, 2);
    et_tensor *out = et_out(c, 3);
    int64_t sizes[ET_MAX_RANK];
    (void)h;
    if (c->status != QRN_OK)
        return c->status;
    if (a->rank == 0 || w->rank != 2 || a == out || w == out || bias == out)
        return et_refuse(c, "an input of rank %u and weights of rank %u", a->rank, w->rank);
    for (uint32_t d = 0; d + 1 < a->rank; d++)
        sizes[d] = a->sizes[d];
    sizes[a->rank - 1] = w->sizes[0];
    if (!et_shape(c, out, a->rank, sizes))
        return c->status;
    uint32_t last = a->rank - 1;
    matrix y = of(w, 0, true);
    if (a->sizes[last] != y.rows || (bias && (bias->rank != 1 || bias->sizes[0] != y.columns)))
        return et_refuse(c, "rows of %lld elements and weights of %lld", (long long)a->sizes[last],
                         (long long)y.rows);
    et_walk rows;
    et_walk_shape(&rows, last, sizes);
    et_walk_add_steps(&rows, 0, a->strides);
    et_walk_add_steps(&rows, 0, out->strides);
    for (; out->count && rows.left; et_walk_next(&rows)) {
        matrix x = {a, rows.at[0], 1, a->sizes[last], 0, a->strides[last]};
        for (int64_t k = 0; k < y.columns; k++) {
            double v = product(&x, &y, 0, k);
            et_set(out, rows.at[1] + k * out->strides[last],
                   bias ? v + et_get(bias, k * bias->strides[0]) : v);
        }
    }
    return QRN_OK;
}

// clang-format off
const et_kernel et_kernels_linear[] = {
    {"aten::mm.out", 3, mm, 0},
    {"aten::bmm.out", 3, bmm, 0},
    {"aten::addmm.out", 6, addmm, 0},
    {"aten::linear.out", 4, linear, 0},
    {0},
};
