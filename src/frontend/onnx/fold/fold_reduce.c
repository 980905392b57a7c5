// SPDX-License-Identifier: MIT
//
// Ops of the folder along axes: reductions, ArgMax and ArgMin, CumSum, TopK, MatMul.
#include "base/mem.h"
#include "frontend/onnx/fold/fold_array.h"
#include "reference/reduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

qrn_status ox_fold_reduce(ox_call *c) {
    qrn_nd x, y;
    int64_t list[OX_MAX_RANK];
    uint32_t n, mask;
    size_t dims[OX_MAX_RANK];
    bool given;
    qrn_nd_reduction code = (qrn_nd_reduction)c->row->code;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    QRN_TRY(ox_call_list(c, 1, "axes", list, OX_MAX_RANK, &n, &given));
    QRN_TRY(ox_call_axes(c, list, n, x.rank, &mask));
    if (n == 0 && ox_attr_int(c->node, "noop_with_empty_axes", 0) == 0)
        mask = (1u << x.rank) - 1;
    uint32_t rank = qrn_nd_reduced(&x, mask, ox_attr_int(c->node, "keepdims", 1) != 0, dims);
    QRN_TRY(ox_call_new(c, 0, x.type, rank, dims, &y));
    if (x.type == OX_BOOL && code != QRN_ND_MAX && code != QRN_ND_MIN)
        return ox_call_wrong_type(c, &x);
    if (x.count == 0 && y.count && code == QRN_ND_MEAN && x.kind != QRN_KIND_FLOAT)
        return OX_CALL_PASS(c, "a mean of no integers");
    qrn_nd_reduce(code, &y, &x, mask, QRN_CAST_SATURATE);
    return QRN_OK;
}

qrn_status ox_fold_arg(ox_call *c) {
    qrn_nd x, y;
    uint32_t axis;
    size_t dims[OX_MAX_RANK];
    QRN_TRY(ox_call_numbers(c, 0, &x));
    QRN_TRY(ox_call_attr_axis(c, 0, x.rank, &axis));
    bool keep = ox_attr_int(c->node, "keepdims", 1) != 0;
    QRN_TRY(ox_call_new(c, 0, OX_I64, qrn_nd_reduced(&x, 1u << axis, keep, dims), dims, &y));
    if (x.count == 0 && y.count)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "dimension %u is 0", axis);
    bool last = ox_attr_int(c->node, "select_last_index", 0) != 0;
    qrn_nd_arg(&y, &x, 1u << axis, c->row->code == QRN_ND_MIN, last);
    return QRN_OK;
}

// Element j of line i along an axis of n elements that lie `inner` apart.
static size_t place(size_t i, size_t j, size_t n, size_t inner) {
    return (i / inner * n + j) * inner + i % inner;
}

static size_t inner_of(const qrn_nd *x, uint32_t axis) { return (size_t)x->steps[axis] / x->elem; }

qrn_status ox_fold_cum_sum(ox_call *c) {
    qrn_nd x, y;
    int64_t which;
    uint32_t axis;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    QRN_TRY(ox_call_int(c, 1, &which));
    QRN_TRY(ox_call_axis(c, which, x.rank, &axis));
    if (x.type == OX_BOOL)
        return ox_call_wrong_type(c, &x);
    bool exclusive = ox_attr_int(c->node, "exclusive", 0) != 0;
    bool reverse = ox_attr_int(c->node, "reverse", 0) != 0;
    QRN_TRY(ox_call_new(c, 0, x.type, x.rank, x.dims, &y));
    size_t n = x.dims[axis], inner = inner_of(&x, axis), lines = n ? x.count / n : 0;
    for (size_t i = 0; i < lines; i++) {
        qrn_num sum = {.u = 0}; // 0.0 too
        for (size_t k = 0; k < n; k++) {
            size_t at = place(i, reverse ? n - 1 - k : k, n, inner);
            qrn_num v = qrn_nd_get(&x, at), next = {.u = sum.u + v.u};
            if (x.kind == QRN_KIND_FLOAT)
                next.f = sum.f + v.f;
            qrn_nd_set(&y, at, exclusive ? sum : next);
            sum = next;
        }
    }
    return QRN_OK;
}

// --- TopK

typedef struct ranked {
    qrn_num v;
    uint32_t at;
    uint8_t kind;    // qrn_kind
    uint8_t largest; // order sought
} ranked;

// The order of the result; NaN counts as larger than all numbers, equal ones keep their order.
static int by_rank(const void *pa, const void *pb) {
    const ranked *a = pa, *b = pb;
    bool floats = a->kind == QRN_KIND_FLOAT;
    bool nan_a = floats && isnan(a->v.f), nan_b = floats && isnan(b->v.f);
    bool less = nan_a || nan_b ? nan_b && !nan_a : qrn_num_less(a->v, b->v, (qrn_kind)a->kind);
    bool more = nan_a || nan_b ? nan_a && !nan_b : qrn_num_less(b->v, a->v, (qrn_kind)a->kind);
    if (less != more)
        return (a->largest ? more : less) ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

qrn_status ox_fold_top_k(ox_call *c) {
    qrn_nd x, values, indices;
    uint32_t axis;
    size_t dims[OX_MAX_RANK];
    int64_t k = ox_attr_int(c->node, "k", -1);
    QRN_TRY(ox_call_numbers(c, 0, &x));
    QRN_TRY(ox_call_attr_axis(c, -1, x.rank, &axis));
    size_t n = x.dims[axis], inner = inner_of(&x, axis);
    if (ox_call_has(c, 1))
        QRN_TRY(ox_call_int(c, 1, &k));
    if (k < 0 || (size_t)k > n)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "k is %lld for a dimension of %zu", (long long)k, n);
    memcpy(dims, x.dims, sizeof dims);
    dims[axis] = (size_t)k;
    QRN_TRY(ox_call_new(c, 0, x.type, x.rank, dims, &values));
    QRN_TRY(ox_call_new(c, 1, OX_I64, x.rank, dims, &indices));
    ranked *line = ox_call_scratch(c, n, sizeof *line);
    if (!line)
        return ox_call_no_memory();
    bool largest = ox_attr_int(c->node, "largest", 1) != 0;
    for (size_t i = 0; i < (values.count ? x.count / n : 0); i++) {
        for (uint32_t j = 0; j < n; j++)
            line[j] = (ranked){qrn_nd_get(&x, place(i, j, n, inner)), j, (uint8_t)x.kind, largest};
        qsort(line, n, sizeof *line, by_rank);
        for (size_t j = 0; j < dims[axis]; j++) {
            size_t to = place(i, j, dims[axis], inner);
            qrn_nd_set(&values, to, line[j].v);
            qrn_nd_set(&indices, to, (qrn_num){.u = line[j].at});
        }
    }
    return QRN_OK;
}

// --- MatMul

// Multiplications that are worth doing here; more are left to the backend.
#define MAX_PRODUCTS ((size_t)1 << 26)

qrn_status ox_fold_mat_mul(ox_call *c) {
    qrn_nd x[2], y;
    uint32_t rank;
    size_t dims[QRN_ND_RANK], work;
    for (uint32_t k = 0; k < 2; k++)
        QRN_TRY(ox_call_numbers(c, k, &x[k]));
    QRN_TRY(ox_call_same_type(c, &x[0], &x[1]));
    if (x[0].rank == 0 || x[1].rank == 0 || x[0].type == OX_BOOL)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "operands must be arrays of numbers");
    bool row = x[0].rank == 1, column = x[1].rank == 1;
    if (row) // a vector is one row on the left, one column on the right
        qrn_nd_insert(&x[0], 0, 1, 0);
    if (column)
        qrn_nd_insert(&x[1], 1, 1, 0);
    qrn_nd batch[2] = {x[0], x[1]};
    batch[0].rank -= 2;
    batch[1].rank -= 2;
    size_t rows = x[0].dims[x[0].rank - 2], inner = x[0].dims[x[0].rank - 1];
    if (inner != x[1].dims[x[1].rank - 2])
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "%zu columns and %zu rows", inner,
                            x[1].dims[x[1].rank - 2]);
    QRN_TRY(ox_call_broadcast(c, batch, 2, &rank, dims));
    if (!row)
        dims[rank++] = rows;
    if (!column)
        dims[rank++] = x[1].dims[x[1].rank - 1];
    QRN_TRY(ox_call_new(c, 0, x[0].type, rank, dims, &y));
    if (!qrn_mul_size(y.count, inner, &work) || work > MAX_PRODUCTS)
        return OX_CALL_PASS(c, "a product is too large");
    if (row)
        qrn_nd_insert(&y, y.rank - !column, 1, 0);
    if (column)
        qrn_nd_insert(&y, y.rank, 1, 0);
    qrn_nd_matmul(&y, &x[0], &x[1], NULL);
    return QRN_OK;
}
