// SPDX-License-Identifier: MIT
//
// TopK and MatMul of the folder: more work than one pass over the data, so MatMul is left to the
// backend when it is large.
#include "base/mem.h"
#include "frontend/onnx/fold/fold_array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Multiplications that are worth doing here.
#define MAX_PRODUCTS ((size_t)1 << 26)

// --- TopK

typedef struct ranked {
    ox_num v;
    uint32_t at;
    uint8_t kind;    // ox_kind
    uint8_t largest; // order sought
} ranked;

// The order of the result; NaN counts as larger than all numbers, equal ones keep their order.
static int by_rank(const void *pa, const void *pb) {
    const ranked *a = pa, *b = pb;
    int less, more;
    if (a->kind == OX_FLOAT) {
        bool nan_a = isnan(a->v.f), nan_b = isnan(b->v.f);
        less = nan_a || nan_b ? nan_b && !nan_a : a->v.f < b->v.f;
        more = nan_a || nan_b ? nan_a && !nan_b : a->v.f > b->v.f;
    } else if (a->kind == OX_SIGNED) {
        less = a->v.i < b->v.i;
        more = a->v.i > b->v.i;
    } else {
        less = a->v.u < b->v.u;
        more = a->v.u > b->v.u;
    }
    if (less != more)
        return (a->largest ? more : less) ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

static qrn_status read_k(ox_call *c, uint32_t dim, uint32_t *k) {
    int64_t v = ox_attr_int(c->node, "k", -1);
    if (ox_call_has(c, 1))
        QRN_TRY(ox_call_int(c, 1, &v));
    if (v < 0 || v > dim)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "k is %lld for a dimension of %u", (long long)v, dim);
    *k = (uint32_t)v;
    return QRN_OK;
}

qrn_status ox_fold_top_k(ox_call *c) {
    ox_array x, values, indices;
    uint32_t axis, k, dims[OX_MAX_RANK];
    QRN_TRY(ox_call_numbers(c, 0, &x));
    QRN_TRY(ox_call_axis(c, ox_attr_int(c->node, "axis", -1), x.rank, &axis));
    uint32_t n = x.dims[axis];
    QRN_TRY(read_k(c, n, &k));
    memcpy(dims, x.dims, sizeof dims);
    dims[axis] = k;
    QRN_TRY(ox_call_new(c, x.type, x.rank, dims, &values));
    QRN_TRY(ox_call_new(c, OX_I64, x.rank, dims, &indices));
    ranked *line = ox_call_scratch(c, n, sizeof *line);
    if (!line)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    ptrdiff_t steps[OX_MAX_RANK];
    ox_dims_steps(x.rank, x.dims, steps);
    size_t inner = (size_t)steps[axis], lines = values.count ? x.count / n : 0;
    for (size_t i = 0; i < lines; i++) {
        size_t from = i / inner * inner * n + i % inner, to = i / inner * inner * k + i % inner;
        for (uint32_t j = 0; j < n; j++)
            line[j] = (ranked){.v = ox_array_get(&x, from + j * inner),
                               .at = j,
                               .kind = (uint8_t)x.kind,
                               .largest = ox_attr_int(c->node, "largest", 1) != 0};
        qsort(line, n, sizeof *line, by_rank);
        for (uint32_t j = 0; j < k; j++) {
            ox_array_set(&values, to + j * inner, line[j].v);
            ox_array_set(&indices, to + j * inner, (ox_num){.i = line[j].at});
        }
    }
    QRN_TRY(ox_call_put(c, 0, &values));
    return ox_call_put(c, 1, &indices);
}

// --- MatMul

// The last two dimensions of an operand, and the others as an array of matrices.
static void take_matrix(ox_array *a, bool first, uint32_t *rows, uint32_t *columns) {
    if (a->rank == 1) { // a vector is one row on the left, one column on the right
        *rows = first ? 1 : a->dims[0];
        *columns = first ? a->dims[0] : 1;
        a->rank = 0;
        return;
    }
    a->rank -= 2;
    *rows = a->dims[a->rank];
    *columns = a->dims[a->rank + 1];
}

static void multiply(ox_array *y, size_t at, const ox_array *a, size_t at_a, const ox_array *b,
                     size_t at_b, const uint32_t size[3]) {
    for (size_t r = 0; r < size[0]; r++)
        for (size_t col = 0; col < size[2]; col++) {
            ox_num sum = {.u = 0}; // 0.0 too
            for (size_t k = 0; k < size[1]; k++) {
                ox_num p = ox_array_get(a, at_a + r * size[1] + k);
                ox_num q = ox_array_get(b, at_b + k * size[2] + col);
                if (a->kind == OX_FLOAT)
                    sum.f += p.f * q.f;
                else
                    sum.u += p.u * q.u;
            }
            ox_array_set(y, at + r * size[2] + col, sum);
        }
}

qrn_status ox_fold_mat_mul(ox_call *c) {
    ox_array a, b, y;
    uint32_t size[3], inner, rank, dims[OX_MAX_RANK + 2];
    QRN_TRY(ox_call_numbers(c, 0, &a));
    QRN_TRY(ox_call_numbers(c, 1, &b));
    QRN_TRY(ox_call_same_type(c, &a, &b));
    if (a.rank == 0 || b.rank == 0 || a.type == OX_BOOL)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "operands must be arrays of numbers");
    bool row = a.rank > 1, column = b.rank > 1;
    take_matrix(&a, true, &size[0], &size[1]);
    take_matrix(&b, false, &inner, &size[2]);
    if (inner != size[1])
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "%u columns and %u rows", size[1], inner);
    const ox_array *both[] = {&a, &b};
    QRN_TRY(ox_call_broadcast(c, both, 2, &rank, dims));
    ox_walk at_a = ox_walk_broadcast(&a, rank, dims), at_b = ox_walk_broadcast(&b, rank, dims);
    uint32_t batch_rank = rank;
    if (row)
        dims[rank++] = size[0];
    if (column)
        dims[rank++] = size[2];
    QRN_TRY(ox_call_new(c, a.type, rank, dims, &y));
    size_t work, batches = 1, matrix = (size_t)size[0] * size[2];
    if (!qrn_mul_size(y.count, size[1], &work) || work > MAX_PRODUCTS)
        return OX_CALL_PASS(c, "a product is too large");
    ox_dims_count(batch_rank, dims, &batches);
    for (size_t i = 0; y.count && i < batches; i++) {
        multiply(&y, i * matrix, &a, (size_t)at_a.index * size[0] * size[1], &b,
                 (size_t)at_b.index * size[1] * size[2], size);
        ox_walk_next(&at_a);
        ox_walk_next(&at_b);
    }
    return ox_call_put(c, 0, &y);
}
