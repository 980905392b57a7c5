// SPDX-License-Identifier: MIT
//
// Ops of the folder that read or write where indices say. An index counts from the end when it is
// negative; one out of range is an error in the model.
#include "frontend/onnx/fold/fold_array.h"
#include "reference/elementwise.h"

#include <string.h>

static qrn_status index_at(const ox_call *c, const qrn_nd *a, size_t i, size_t size,
                           ptrdiff_t *out) {
    int64_t v = qrn_nd_get(a, i).i, n = (int64_t)size;
    if (v < -n || v >= n)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "index %lld of a dimension of %zu", (long long)v, size);
    *out = (ptrdiff_t)(v < 0 ? v + n : v);
    return QRN_OK;
}

// Puts dims[0, at) of a, all of b, and the rest of a from `skip` on after each other.
static qrn_status join_dims(const ox_call *c, const qrn_nd *a, uint32_t at, uint32_t skip,
                            const size_t *b, uint32_t n_b, uint32_t *rank, size_t *dims) {
    *rank = at + n_b + a->rank - skip;
    if (*rank > OX_MAX_RANK)
        return OX_CALL_PASS(c, "an output has too many dimensions");
    for (uint32_t d = 0; d < *rank; d++)
        dims[d] = d < at ? a->dims[d] : d < at + n_b ? b[d - at] : a->dims[d - at - n_b + skip];
    return QRN_OK;
}

qrn_status ox_fold_gather(ox_call *c) {
    qrn_nd x, index, y;
    uint32_t axis, rank;
    size_t dims[OX_MAX_RANK];
    int64_t bad;
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(ox_call_integers(c, 1, &index));
    QRN_TRY(ox_call_attr_axis(c, 0, x.rank, &axis));
    QRN_TRY(join_dims(c, &x, axis, axis + 1, index.dims, index.rank, &rank, dims));
    QRN_TRY(ox_call_new(c, 0, x.type, rank, dims, &y));
    if (!qrn_nd_gather(&y, &x, axis, &index, &bad))
        return OX_CALL_FAIL(c, QRN_E_PARAM, "index %lld of a dimension of %zu", (long long)bad,
                            x.dims[axis]);
    return QRN_OK;
}

// --- scattering

// What an update does to what is there: an op of the two, or
#define REPLACE QRN_OP_CAST

static qrn_status read_reduction(const ox_call *c, const qrn_nd *x, qrn_op *out) {
    static const struct {
        const char *name;
        qrn_op op;
    } known[] = {{"none", REPLACE},
                 {"add", QRN_OP_ADD},
                 {"mul", QRN_OP_MUL},
                 {"min", QRN_OP_MIN},
                 {"max", QRN_OP_MAX}};
    const char *name = ox_attr_string(c->node, "reduction", "none");
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        if (strcmp(name, known[k].name) == 0) {
            *out = known[k].op;
            return k == 0 || x->kind != QRN_KIND_OPAQUE
                       ? QRN_OK
                       : OX_CALL_PASS(c, "a reduction of this type is not computed");
        }
    return OX_CALL_FAIL(c, QRN_E_PARAM, "unknown reduction '%s'", name);
}

// n elements of y from byte `at` on meet those of the updates from element i on.
static void scatter(const qrn_nd *y, ptrdiff_t at, const qrn_nd *updates, size_t i, size_t n,
                    qrn_op op) {
    qrn_nd to = *y, x[2];
    if (op == REPLACE) {
        memcpy(y->data + at, updates->data + i * y->elem, n * y->elem);
        return;
    }
    to.rank = 1;
    to.dims[0] = to.count = n;
    to.steps[0] = (ptrdiff_t)y->elem;
    x[0] = x[1] = to;
    to.data = x[0].data = y->data + at;
    x[1].data = updates->data + i * y->elem;
    qrn_nd_apply(op, &to, x, 2, QRN_CAST_SATURATE);
}

// Reads data, indices and updates, and makes the output a copy of the data.
static qrn_status begin_scatter(ox_call *c, qrn_nd *index, qrn_nd *updates, qrn_nd *y, qrn_op *op) {
    qrn_nd x;
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(ox_call_integers(c, 1, index));
    QRN_TRY(ox_call_in(c, 2, updates));
    QRN_TRY(ox_call_same_type(c, &x, updates));
    QRN_TRY(read_reduction(c, &x, op));
    QRN_TRY(ox_call_new(c, 0, x.type, x.rank, x.dims, y));
    qrn_nd_copy(y, &x);
    return QRN_OK;
}

// GatherElements (one x element for each index) and ScatterElements (one update for each index).
static qrn_status along_axis(ox_call *c, const qrn_nd *x, const qrn_nd *index, const qrn_nd *other,
                             qrn_op *op) {
    uint32_t axis;
    ptrdiff_t steps[OX_MAX_RANK], at;
    QRN_TRY(ox_call_attr_axis(c, 0, x->rank, &axis));
    for (uint32_t d = 0; d < x->rank; d++) {
        if (d != axis && index->dims[d] > x->dims[d])
            return OX_CALL_FAIL(c, QRN_E_SHAPE,
                                "dimension %u of the indices is %zu, of the data %zu", d,
                                index->dims[d], x->dims[d]);
        steps[d] = d == axis ? 0 : x->steps[d];
    }
    qrn_index w = {{0}};
    for (size_t i = 0; i < index->count; i++, qrn_index_next(&w, x->rank, index->dims)) {
        QRN_TRY(index_at(c, index, i, x->dims[axis], &at));
        at = at * x->steps[axis] + qrn_index_offset(&w, x->rank, steps);
        if (op)
            scatter(x, at, other, i, 1, *op);
        else
            memcpy(other->data + i * x->elem, x->data + at, x->elem);
    }
    return QRN_OK;
}

static qrn_status same_rank(const ox_call *c, const qrn_nd *x, const qrn_nd *index) {
    return index->rank == x->rank
               ? QRN_OK
               : OX_CALL_FAIL(c, QRN_E_SHAPE, "indices of rank %u for data of rank %u", index->rank,
                              x->rank);
}

qrn_status ox_fold_gather_elements(ox_call *c) {
    qrn_nd x, index, y;
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(ox_call_integers(c, 1, &index));
    QRN_TRY(same_rank(c, &x, &index));
    QRN_TRY(ox_call_new(c, 0, x.type, index.rank, index.dims, &y));
    return along_axis(c, &x, &index, &y, NULL);
}

qrn_status ox_fold_scatter_elements(ox_call *c) {
    qrn_nd index, updates, y;
    qrn_op op;
    QRN_TRY(begin_scatter(c, &index, &updates, &y, &op));
    QRN_TRY(same_rank(c, &y, &index));
    if (updates.rank != index.rank || memcmp(updates.dims, index.dims, sizeof index.dims) != 0)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "indices and updates differ in shape");
    return along_axis(c, &y, &index, &updates, &op);
}

// --- index tuples

// Offset in the data of the tuple k of the indices; `first` is the dimension of its first entry.
static qrn_status tuple_offset(const ox_call *c, const qrn_nd *index, size_t k, const qrn_nd *x,
                               uint32_t first, uint32_t n, ptrdiff_t *out) {
    *out = 0;
    for (uint32_t d = 0; d < n; d++) {
        ptrdiff_t at;
        QRN_TRY(index_at(c, index, k * n + d, x->dims[first + d], &at));
        *out += at * x->steps[first + d];
    }
    return QRN_OK;
}

qrn_status ox_fold_gather_nd(ox_call *c) {
    qrn_nd x, index, y;
    uint32_t rank;
    size_t dims[OX_MAX_RANK];
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(ox_call_integers(c, 1, &index));
    int64_t batch = ox_attr_int(c->node, "batch_dims", 0);
    if (index.rank < 1 || batch < 0 || batch >= index.rank || batch >= x.rank)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "batch_dims %lld for ranks %u and %u", (long long)batch,
                            x.rank, index.rank);
    uint32_t first = (uint32_t)batch, n = (uint32_t)index.dims[index.rank - 1];
    if (n < 1 || n > x.rank - first || memcmp(x.dims, index.dims, first * sizeof *x.dims) != 0)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "indices do not fit the data");
    QRN_TRY(join_dims(c, &x, first, first + n, index.dims + first, index.rank - 1 - first, &rank,
                      dims));
    QRN_TRY(ox_call_new(c, 0, x.type, rank, dims, &y));
    if (y.count == 0)
        return QRN_OK;
    size_t tuples = index.count / n, batches = 1, block = y.count / tuples * y.elem;
    for (uint32_t d = 0; d < first; d++)
        batches *= x.dims[d];
    for (size_t k = 0; k < tuples; k++) {
        ptrdiff_t at;
        size_t base = k / (tuples / batches) * (x.count / batches) * x.elem;
        QRN_TRY(tuple_offset(c, &index, k, &x, first, n, &at));
        memcpy(y.data + k * block, x.data + base + at, block);
    }
    return QRN_OK;
}

qrn_status ox_fold_scatter_nd(ox_call *c) {
    qrn_nd index, updates, y;
    qrn_op op;
    QRN_TRY(begin_scatter(c, &index, &updates, &y, &op));
    size_t n = index.rank ? index.dims[index.rank - 1] : 0;
    if (n < 1 || n > y.rank || updates.rank != index.rank - 1 + y.rank - n ||
        memcmp(updates.dims, index.dims, (index.rank - 1) * sizeof *index.dims) != 0 ||
        memcmp(updates.dims + index.rank - 1, y.dims + n, (y.rank - n) * sizeof *y.dims) != 0)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "indices, updates and data do not fit");
    size_t tuples = updates.count ? index.count / n : 0;
    for (size_t k = 0; k < tuples; k++) {
        ptrdiff_t at;
        size_t block = updates.count / tuples;
        QRN_TRY(tuple_offset(c, &index, k, &y, 0, (uint32_t)n, &at));
        scatter(&y, at, &updates, k * block, block, op);
    }
    return QRN_OK;
}

// --- NonZero, OneHot

qrn_status ox_fold_non_zero(ox_call *c) {
    qrn_nd x, y, truth;
    size_t n = 0, seen = 0;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    unsigned char *is = ox_call_scratch(c, x.count, 1);
    if (!is)
        return ox_call_no_memory();
    qrn_nd_init(&truth, QRN_DTYPE_B8, x.rank, x.dims, is);
    qrn_nd from = x;
    qrn_nd_apply(QRN_OP_CAST, &truth, &from, 1, QRN_CAST_SATURATE);
    for (size_t i = 0; i < x.count; i++)
        n += is[i];
    QRN_TRY(ox_call_new(c, 0, OX_I64, 2, (size_t[]){x.rank, n}, &y));
    qrn_index w = {{0}};
    for (size_t i = 0; i < x.count; i++, qrn_index_next(&w, x.rank, x.dims)) {
        for (uint32_t d = 0; d < x.rank && is[i]; d++)
            qrn_nd_set(&y, d * n + seen, (qrn_num){.u = w.at[d]});
        seen += is[i];
    }
    return QRN_OK;
}

// Numbers of any type as integers.
static int64_t integer_at(const qrn_nd *a, size_t i) {
    qrn_num v = qrn_nd_get(a, i);
    qrn_nums_cast(&v, 1, a->kind, QRN_DTYPE_I64, QRN_CAST_SATURATE);
    return v.i;
}

qrn_status ox_fold_one_hot(ox_call *c) {
    qrn_nd index, size, values, y;
    uint32_t axis, rank;
    size_t dims[OX_MAX_RANK];
    QRN_TRY(ox_call_numbers(c, 0, &index));
    QRN_TRY(ox_call_numbers(c, 1, &size));
    QRN_TRY(ox_call_in(c, 2, &values));
    if (size.count != 1 || values.count != 2)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "a depth of %zu elements and %zu values, expected 1, 2",
                            size.count, values.count);
    int64_t n = integer_at(&size, 0);
    if (n < 1 || n > UINT32_MAX)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "depth %lld", (long long)n);
    size_t depth = (size_t)n, inner = 1;
    QRN_TRY(ox_call_attr_axis(c, -1, index.rank + 1, &axis));
    QRN_TRY(join_dims(c, &index, axis, axis, &depth, 1, &rank, dims));
    QRN_TRY(ox_call_new(c, 0, values.type, rank, dims, &y));
    qrn_nd_fill(&y, values.data);
    for (uint32_t d = axis + 1; d < rank && y.count; d++)
        inner *= dims[d];
    for (size_t i = 0; i < index.count; i++) {
        int64_t v = integer_at(&index, i);
        if (v < -n || v >= n)
            continue; // stays off
        size_t at = (size_t)(v < 0 ? v + n : v);
        memcpy(y.data + ((i / inner * depth + at) * inner + i % inner) * y.elem,
               values.data + values.elem, y.elem);
    }
    return QRN_OK;
}
