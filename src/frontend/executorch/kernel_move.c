// SPDX-License-Identifier: MIT
//
// Operators that give elements another place, shape or type, from one tensor to one.
#include "frontend/executorch/kernel.h"

#include "reference/elementwise.h"

#include <string.h>

// Elements with a change of type or of order in memory.
static qrn_status convert(et_call *c, const qrn_nd *y, qrn_nd *x) {
    if (c->status == QRN_OK && x->dtype == y->dtype)
        qrn_nd_copy(y, x);
    else if (c->status == QRN_OK)
        qrn_nd_apply(QRN_OP_CAST, y, x, 1, QRN_CAST_WRAP);
    return c->status;
}

// The result is the last argument.
static qrn_status copy(et_call *c, int n_args) {
    qrn_nd x = et_in(c, 0), y = et_result(c, (uint32_t)n_args - 1, x.rank, x.dims);
    return convert(c, &y, &x);
}

// copy_(self, src): src is broadcast to self, which is both argument and result.
static qrn_status copy_into(et_call *c, int self) {
    qrn_nd shape = et_in(c, 0), x = et_in(c, 1);
    qrn_nd y = et_result(c, (uint32_t)self, shape.rank, shape.dims);
    if (c->status == QRN_OK && !qrn_nd_expand(&x, y.rank, y.dims))
        et_refuse(c, "the shape of the source does not fit");
    return convert(c, &y, &x);
}

// The elements of x in C order become those of result i in C order.
static qrn_status refill(et_call *c, uint32_t i, const qrn_nd *x, uint32_t rank,
                         const size_t *dims) {
    qrn_nd y = et_result(c, i, rank, dims);
    qrn_index to = {{0}}, from = {{0}};
    if (!et_same_type(c, x, &y))
        return c->status;
    for (size_t k = 0; k < x->count; k++) {
        memmove(y.data + qrn_index_offset(&to, y.rank, y.steps),
                x->data + qrn_index_offset(&from, x->rank, x->steps), y.elem);
        qrn_index_next(&to, y.rank, y.dims);
        qrn_index_next(&from, x->rank, x->dims);
    }
    return c->status;
}

static qrn_status view(et_call *c, int h) {
    qrn_nd x = et_in(c, 0);
    size_t dims[ET_MAX_RANK];
    (void)h;
    uint32_t rank = et_view_dims(c, &x, 1, dims);
    return refill(c, 2, &x, rank, dims);
}

static qrn_status unsqueeze(et_call *c, int h) {
    qrn_nd x = et_in(c, 0);
    size_t dims[ET_MAX_RANK + 1];
    uint32_t dim = et_dim(c, 1, x.rank + 1);
    (void)h;
    for (uint32_t d = 0; d <= x.rank; d++)
        dims[d] = d == dim ? 1 : x.dims[d - (d > dim)];
    return refill(c, 2, &x, x.rank + 1, dims);
}

static qrn_status squeeze(et_call *c, int h) {
    qrn_nd x = et_in(c, 0);
    size_t dims[ET_MAX_RANK];
    int64_t list[ET_MAX_RANK];
    uint32_t n = et_ints(c, 1, list), gone = 0, rank = 0;
    (void)h;
    for (uint32_t k = 0; k < n; k++)
        gone |= 1u << et_dim_of(c, list[k], x.rank);
    for (uint32_t d = 0; d < x.rank; d++)
        if (!(gone >> d & 1) || x.dims[d] != 1)
            dims[rank++] = x.dims[d];
    return refill(c, 2, &x, rank, dims);
}

static qrn_status permute(et_call *c, int h) {
    qrn_nd x = et_in(c, 0);
    int64_t list[ET_MAX_RANK];
    uint32_t dims[ET_MAX_RANK], seen = 0, n = et_ints(c, 1, list);
    (void)h;
    for (uint32_t d = 0; d < n; d++) {
        dims[d] = et_dim_of(c, list[d], x.rank);
        seen |= 1u << dims[d];
    }
    if (c->status != QRN_OK || n != x.rank || seen != (1u << n) - 1)
        return et_refuse(c, "its dimensions are not a permutation of %u", x.rank);
    qrn_nd_permute(&x, dims);
    return et_put(c, 2, &x);
}

static qrn_status transpose(et_call *c, int two_given) {
    qrn_nd x = et_in(c, 0);
    uint32_t dims[ET_MAX_RANK];
    uint32_t a = two_given ? et_dim(c, 1, x.rank) : 0;
    uint32_t b = two_given ? et_dim(c, 2, x.rank) : x.rank > 1;
    for (uint32_t d = 0; d < x.rank; d++)
        dims[d] = d == a ? b : d == b ? a : d;
    qrn_nd_permute(&x, dims);
    return et_put(c, two_given ? 3 : 1, &x);
}

static qrn_status slice(et_call *c, int h) {
    qrn_nd x = et_in(c, 0);
    uint32_t dim = et_dim(c, 1, x.rank);
    int64_t start = et_int_or(c, 2, 0), end = et_int_or(c, 3, INT64_MAX), step = et_int(c, 4);
    (void)h;
    if (c->status != QRN_OK || x.rank == 0 || step < 1)
        return et_refuse(c, "a slice with a step of %lld of a tensor of rank %u", (long long)step,
                         x.rank);
    size_t n = qrn_slice_of(x.dims[dim], &start, end, &step);
    qrn_nd_slice(&x, dim, start, step, n);
    return et_put(c, 5, &x);
}

static qrn_status select_one(et_call *c, int h) {
    qrn_nd x = et_in(c, 0);
    uint32_t dim = et_dim(c, 1, x.rank);
    int64_t index = et_int(c, 2), size = x.rank ? (int64_t)x.dims[dim] : 0;
    (void)h;
    if (c->status != QRN_OK || index < -size || index >= size)
        return et_refuse(c, "index %lld of a dimension of %lld", (long long)index, (long long)size);
    qrn_nd_slice(&x, dim, index < 0 ? index + size : index, 1, 1);
    qrn_nd_drop(&x, dim);
    return et_put(c, 3, &x);
}

static qrn_status expand(et_call *c, int h) {
    qrn_nd x = et_in(c, 0);
    int64_t sizes[ET_MAX_RANK];
    size_t dims[ET_MAX_RANK];
    uint32_t rank = et_ints(c, 1, sizes);
    (void)h;
    if (c->status != QRN_OK || rank < x.rank)
        return et_refuse(c, "a tensor of rank %u cannot have rank %u", x.rank, rank);
    for (uint32_t d = 0; d < rank; d++) {
        size_t own = d + x.rank < rank ? 1 : x.dims[d + x.rank - rank];
        dims[d] = sizes[d] == -1 ? own : (size_t)sizes[d];
        if (sizes[d] < -1 || (own != 1 && own != dims[d]))
            return et_refuse(c, "a dimension of %zu cannot become %lld", own, (long long)sizes[d]);
    }
    qrn_nd_expand(&x, rank, dims);
    return et_put(c, 3, &x);
}

static qrn_status fill(et_call *c, int like) {
    double v = et_number(c, 1);
    qrn_nd x = qrn_nd_scalar(QRN_DTYPE_F64, &v), shape = {.rank = 0};
    int64_t sizes[ET_MAX_RANK];
    if (like)
        shape = et_in(c, 0);
    else
        shape.rank = et_ints(c, 0, sizes);
    for (uint32_t d = 0; !like && d < shape.rank; d++)
        shape.dims[d] = (size_t)sizes[d];
    qrn_nd y = et_result(c, like ? 3 : 2, shape.rank, shape.dims);
    qrn_nd_expand(&x, y.rank, y.dims);
    return convert(c, &y, &x);
}

// clang-format off
const et_kernel et_kernels_move[] = {
    {"aten::clone.out", 3, copy, 3},
    {"aten::_to_copy.out", 4, copy, 4},
    {"aten::alias_copy.out", 2, copy, 2},
    {"aten::detach_copy.out", 2, copy, 2},
    {"aten::lift_fresh_copy.out", 2, copy, 2},
    {"dim_order_ops::_to_dim_order_copy.out", 4, copy, 4},
    {"dim_order_ops::_clone_dim_order.out", 4, copy, 4},
    {"aten::copy_", 3, copy_into, 0},
    {"aten::copy.out", 4, copy_into, 3},
    {"aten::view_copy.out", 3, view, 0},
    {"aten::_unsafe_view.out", 3, view, 0},
    {"aten::unsqueeze_copy.out", 3, unsqueeze, 0},
    {"aten::squeeze_copy.dim_out", 3, squeeze, 0},
    {"aten::squeeze_copy.dims_out", 3, squeeze, 0},
    {"aten::permute_copy.out", 3, permute, 0},
    {"aten::t_copy.out", 2, transpose, 0},
    {"aten::transpose_copy.int_out", 4, transpose, 1},
    {"aten::slice_copy.Tensor_out", 6, slice, 0},
    {"aten::select_copy.int_out", 4, select_one, 0},
    {"aten::expand_copy.out", 4, expand, 0},
    {"aten::full.out", 3, fill, 0},
    {"aten::full_like.out", 4, fill, 1},
    {0},
};
