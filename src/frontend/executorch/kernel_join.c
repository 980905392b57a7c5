// SPDX-License-Identifier: MIT
//
// Operators that put tensors together, take them apart, or look up rows.
#include "frontend/executorch/kernel.h"

#include <string.h>

// Copies a tensor to the part of the result that begins at `start` of `dim`.
static void put_part(et_call *c, const qrn_nd *y, const qrn_nd *x, uint32_t dim, size_t start) {
    qrn_nd part = *y;
    if (!et_apart(c, y, x) || !et_same_type(c, y, x))
        return;
    qrn_nd_slice(&part, dim, (int64_t)start, 1, x->dims[dim]);
    qrn_nd_copy(&part, x);
}

// An old way of saying "nothing" in a list of tensors to be joined.
static bool is_nothing(const qrn_nd *t) { return t->rank == 1 && t->dims[0] == 0; }

static qrn_status cat(et_call *c, int h) {
    uint32_t n = et_list_n(c, 0), dim = 0;
    qrn_nd whole = {.rank = 0};
    size_t at = 0;
    (void)h;
    for (uint32_t i = 0; i < n; i++) {
        qrn_nd t = et_list_in(c, 0, i);
        if (c->status != QRN_OK || t.rank == 0)
            return et_refuse(c, "tensor %u is a single number, which cannot be joined", i);
        if (is_nothing(&t))
            continue;
        if (whole.rank == 0) {
            whole = t;
            dim = et_dim(c, 1, t.rank);
            continue;
        }
        for (uint32_t d = 0; d < whole.rank; d++)
            if (t.rank != whole.rank || (d != dim && t.dims[d] != whole.dims[d]))
                return et_refuse(c, "tensor %u does not fit the first one", i);
        whole.dims[dim] += t.dims[dim];
    }
    if (c->status == QRN_OK && whole.rank == 0 && n) { // nothing but nothing
        whole = et_list_in(c, 0, 0);
        dim = et_dim(c, 1, whole.rank);
    }
    if (c->status != QRN_OK || whole.rank == 0)
        return et_refuse(c, "there is nothing to join");
    qrn_nd y = et_result(c, 2, whole.rank, whole.dims);
    for (uint32_t i = 0; i < n && c->status == QRN_OK; i++) {
        qrn_nd t = et_list_in(c, 0, i);
        if (is_nothing(&t))
            continue;
        put_part(c, &y, &t, dim, at);
        at += t.dims[dim];
    }
    return c->status;
}

static qrn_status stack(et_call *c, int h) {
    uint32_t n = et_list_n(c, 0);
    (void)h;
    for (uint32_t i = 0; i < n && c->status == QRN_OK; i++) {
        qrn_nd t = et_list_in(c, 0, i), all = t;
        uint32_t dim = et_dim(c, 1, t.rank + 1);
        if (c->status != QRN_OK || t.rank >= ET_MAX_RANK)
            return et_refuse(c, "tensor %u cannot be stacked", i);
        qrn_nd_insert(&all, dim, n, 0);
        qrn_nd_insert(&t, dim, 1, 0);
        qrn_nd y = et_result(c, 2, all.rank, all.dims);
        put_part(c, &y, &t, dim, i);
    }
    return c->status;
}

// split_copy (one size) and split_with_sizes_copy (a list).
static qrn_status split(et_call *c, int listed) {
    qrn_nd x = et_in(c, 0);
    uint32_t n = et_list_n(c, 3), dim = et_dim(c, 2, x.rank), n_sizes = 1;
    int64_t given[ET_MAX_RANK] = {0}, left = (int64_t)x.dims[dim], at = 0;
    if (listed)
        n_sizes = et_ints(c, 1, given);
    else
        given[0] = et_int(c, 1);
    if (c->status != QRN_OK || x.rank == 0 || (listed && n_sizes != n))
        return et_refuse(c, "there are %u results for %u parts", n, n_sizes);
    for (uint32_t i = 0; i < n && c->status == QRN_OK; i++) {
        int64_t size = given[listed ? i : 0];
        if (!listed && size > left)
            size = left; // the last one may be smaller
        if (size < 0 || size > left)
            return et_refuse(c, "part %u of %lld elements cannot be had", i, (long long)size);
        qrn_nd part = x;
        qrn_nd_slice(&part, dim, at, 1, (size_t)size);
        qrn_nd y = et_list_out(c, 3, i, part.rank, part.dims);
        if (et_apart(c, &y, &x) && et_same_type(c, &y, &x))
            qrn_nd_copy(&y, &part);
        left -= size;
        at += size;
    }
    return c->status;
}

// Rows of x along `dim`, chosen by `index`, take the place of that dimension in the result.
static qrn_status lookup(et_call *c, const qrn_nd *x, uint32_t dim, const qrn_nd *index,
                         uint32_t out_at) {
    size_t dims[2 * ET_MAX_RANK];
    uint32_t n = 0;
    int64_t bad;
    if (c->status != QRN_OK || x->rank == 0 || index->kind == QRN_KIND_FLOAT)
        return et_refuse(c, "indices of type %s in a tensor of rank %u",
                         et_type_name((unsigned)index->type), x->rank);
    for (uint32_t d = 0; d < dim; d++)
        dims[n++] = x->dims[d];
    for (uint32_t d = 0; d < index->rank; d++)
        dims[n++] = index->dims[d];
    for (uint32_t d = dim + 1; d < x->rank; d++)
        dims[n++] = x->dims[d];
    qrn_nd y = et_result(c, out_at, n, dims);
    if (et_same_type(c, x, &y) && et_apart(c, &y, x) && et_apart(c, &y, index) &&
        !qrn_nd_gather(&y, x, dim, index, &bad))
        et_refuse(c, "index %lld of a dimension of %zu", (long long)bad, x->dims[dim]);
    return c->status;
}

static qrn_status embedding(et_call *c, int h) {
    qrn_nd x = et_in(c, 0), index = et_in(c, 1);
    (void)h;
    return lookup(c, &x, 0, &index, 5);
}

static qrn_status index_select(et_call *c, int h) {
    qrn_nd x = et_in(c, 0), index = et_in(c, 2);
    (void)h;
    return lookup(c, &x, et_dim(c, 1, x.rank), &index, 3);
}

// Pads from the last dimension on; negative amounts cut.
static qrn_status pad(et_call *c, int h) {
    qrn_nd x = et_in(c, 0);
    int64_t amount[ET_MAX_RANK], starts[ET_MAX_RANK] = {0};
    size_t dims[ET_MAX_RANK];
    uint32_t n = et_ints(c, 1, amount);
    qrn_num value = {.f = et_number(c, 2)}, bits = {.u = 0};
    (void)h;
    if (c->status != QRN_OK || n % 2 || n / 2 > x.rank)
        return et_refuse(c, "%u amounts for a tensor of rank %u", n, x.rank);
    memcpy(dims, x.dims, sizeof dims);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = x.rank - 1 - i / 2;
        if (amount[i] < -(INT64_C(1) << 40) || amount[i] > INT64_C(1) << 40)
            return et_refuse(c, "an amount of %lld", (long long)amount[i]);
        dims[d] += (size_t)amount[i]; // what is below 0 cannot be held
        if (i % 2 == 0)
            starts[d] = -amount[i];
    }
    qrn_nd y = et_result(c, 3, x.rank, dims);
    if (!et_same_type(c, &x, &y) || !et_apart(c, &y, &x))
        return c->status;
    qrn_nums_cast(&value, 1, QRN_KIND_FLOAT, y.dtype, QRN_CAST_WRAP);
    qrn_nums_store(&value, y.dtype, &bits, 0, 1);
    qrn_nd_fill(&y, &bits);
    qrn_nd_paste(&y, &x, starts);
    return QRN_OK;
}

// clang-format off
const et_kernel et_kernels_join[] = {
    {"aten::cat.out", 3, cat, 0},
    {"aten::stack.out", 3, stack, 0},
    {"aten::split_copy.Tensor_out", 4, split, 0},
    {"aten::split_with_sizes_copy.out", 4, split, 1},
    {"aten::embedding.out", 6, embedding, 0},
    {"aten::index_select.out", 4, index_select, 0},
    {"aten::constant_pad_nd.out", 4, pad, 0},
    {0},
};
