// SPDX-License-Identifier: MIT
//
// Operators that give elements another place, shape or type, from one tensor to one.
#include "frontend/executorch/kernel.h"

#include "base/mem.h"

// The elements of `a`, in the order that steps walk over it, to a result of this shape.
static qrn_status gather(et_call *c, et_tensor *out, const et_tensor *a, uint32_t rank,
                         const int64_t *sizes, int64_t start, const int64_t *steps) {
    if (!et_same_type(c, a, out) || !et_shape(c, out, rank, sizes))
        return c->status;
    et_walk w;
    et_walk_shape(&w, rank, sizes);
    et_walk_add(&w, out);
    et_walk_add_steps(&w, start, steps);
    for (; w.left; et_walk_next(&w))
        et_copy(out, w.at[0], a, w.at[1]);
    return QRN_OK;
}

// Copies with a change of type or of order in memory; the result is the last argument.
static qrn_status copy(et_call *c, int n_args) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out = et_out(c, (uint32_t)n_args - 1);
    if (!a || !out || !et_shape(c, out, a->rank, a->sizes))
        return c->status;
    et_walk w;
    et_walk_shape(&w, a->rank, a->sizes);
    et_walk_add(&w, out);
    et_walk_add(&w, a);
    bool ints = !et_is_float(a->def->type) && !et_is_float(out->def->type);
    for (; w.left; et_walk_next(&w)) {
        if (a->def->type == out->def->type)
            et_copy(out, w.at[0], a, w.at[1]);
        else if (ints)
            et_set_int(out, w.at[0], et_get_int(a, w.at[1]));
        else
            et_set(out, w.at[0], et_get(a, w.at[1]));
    }
    return QRN_OK;
}

// copy_(self, src): src is broadcast to self, which is both argument and result.
static qrn_status copy_into(et_call *c, int self) {
    const et_tensor *a = et_in(c, 1);
    et_tensor *out = et_out(c, (uint32_t)self);
    if (!a || !out)
        return c->status;
    et_walk w;
    const et_tensor *shape = et_in(c, 0);
    if (!shape || !et_shape(c, out, shape->rank, shape->sizes))
        return c->status;
    et_walk_shape(&w, out->rank, out->sizes);
    et_walk_add(&w, out);
    if (!et_walk_add(&w, a))
        return et_refuse(c, "the shape of the source does not fit");
    for (; w.left; et_walk_next(&w)) {
        if (a->def->type == out->def->type)
            et_copy(out, w.at[0], a, w.at[1]);
        else
            et_set(out, w.at[0], et_get(a, w.at[1]));
    }
    return QRN_OK;
}

// Sizes of a view of `a`, of which one may be -1.
static uint32_t view_sizes(et_call *c, const et_tensor *a, uint32_t i, int64_t *sizes) {
    uint32_t rank = et_ints(c, i, sizes);
    size_t known = 1;
    int64_t open = -1;
    for (uint32_t d = 0; d < rank; d++) {
        if (sizes[d] == -1 && open < 0)
            open = d;
        else if (sizes[d] < 0 || !qrn_mul_size(known, (size_t)sizes[d], &known))
            et_refuse(c, "a view with an impossible dimension %lld", (long long)sizes[d]);
    }
    if (c->status != QRN_OK)
        return 0;
    if (open >= 0)
        sizes[open] = known ? (int64_t)(a->count / known) : 0;
    size_t total = open >= 0 ? known * (size_t)sizes[open] : known;
    if (total != a->count)
        et_refuse(c, "a view of %zu elements on a tensor of %zu", total, a->count);
    return rank;
}

// The elements of `a` in C order become those of `out` in C order.
static qrn_status refill(et_call *c, et_tensor *out, const et_tensor *a) {
    if (!et_same_type(c, a, out))
        return c->status;
    et_walk from, to;
    et_walk_shape(&from, a->rank, a->sizes);
    et_walk_shape(&to, out->rank, out->sizes);
    et_walk_add(&from, a);
    et_walk_add(&to, out);
    for (; to.left; et_walk_next(&to), et_walk_next(&from))
        et_copy(out, to.at[0], a, from.at[0]);
    return QRN_OK;
}

static qrn_status view(et_call *c, int h) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out = et_out(c, 2);
    int64_t sizes[ET_MAX_RANK];
    (void)h;
    if (!a || !out)
        return c->status;
    uint32_t rank = view_sizes(c, a, 1, sizes);
    return et_shape(c, out, rank, sizes) ? refill(c, out, a) : c->status;
}

// unsqueeze and squeeze: the result's own shape is the one that was asked for.
static qrn_status same_elements(et_call *c, int n_args) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out = et_out(c, (uint32_t)n_args - 1);
    int64_t sizes[ET_MAX_RANK];
    uint32_t rank = 0;
    if (!a || !out)
        return c->status;
    if (out->rank > a->rank) { // unsqueeze
        uint32_t dim = et_dim(c, 1, a->rank + 1);
        for (uint32_t i = 0; i <= a->rank && i < ET_MAX_RANK; i++)
            sizes[rank++] = i == dim ? 1 : a->sizes[i - (i > dim)];
    } else { // squeeze
        int64_t dims[ET_MAX_RANK];
        uint32_t n = et_ints(c, 1, dims), gone = 0;
        for (uint32_t i = 0; i < n; i++)
            gone |= 1u << et_dim_of(c, dims[i], a->rank);
        for (uint32_t i = 0; i < a->rank; i++)
            if (!(gone >> i & 1) || a->sizes[i] != 1)
                sizes[rank++] = a->sizes[i];
    }
    return et_shape(c, out, rank, sizes) ? refill(c, out, a) : c->status;
}

static qrn_status permuted(et_call *c, et_tensor *out, const et_tensor *a, const uint32_t *dims) {
    int64_t sizes[ET_MAX_RANK], steps[ET_MAX_RANK];
    for (uint32_t i = 0; i < a->rank; i++) {
        sizes[i] = a->sizes[dims[i]];
        steps[i] = a->strides[dims[i]];
    }
    return gather(c, out, a, a->rank, sizes, 0, steps);
}

static qrn_status permute(et_call *c, int h) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out = et_out(c, 2);
    int64_t list[ET_MAX_RANK];
    uint32_t dims[ET_MAX_RANK], seen = 0, n = et_ints(c, 1, list);
    (void)h;
    if (!a || !out)
        return c->status;
    for (uint32_t i = 0; i < n; i++) {
        dims[i] = et_dim_of(c, list[i], a->rank);
        seen |= 1u << dims[i];
    }
    if (n != a->rank || seen != (1u << n) - 1)
        return et_refuse(c, "its dimensions are no permutation of %u", a->rank);
    return permuted(c, out, a, dims);
}

static qrn_status transpose(et_call *c, int two_given) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out = et_out(c, two_given ? 3 : 1);
    uint32_t dims[ET_MAX_RANK];
    if (!a || !out)
        return c->status;
    uint32_t x = two_given ? et_dim(c, 1, a->rank) : 0;
    uint32_t y = two_given ? et_dim(c, 2, a->rank) : a->rank > 1 ? 1 : 0;
    if (c->status != QRN_OK)
        return c->status;
    for (uint32_t i = 0; i < a->rank; i++)
        dims[i] = i == x ? y : i == y ? x : i;
    return permuted(c, out, a, dims);
}

static int64_t clamp_index(int64_t i, int64_t n) {
    i = i < 0 ? i + n : i;
    return i < 0 ? 0 : i > n ? n : i;
}

static qrn_status slice(et_call *c, int h) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out = et_out(c, 5);
    int64_t sizes[ET_MAX_RANK], steps[ET_MAX_RANK];
    (void)h;
    if (!a || !out)
        return c->status;
    uint32_t dim = et_dim(c, 1, a->rank);
    int64_t step = et_int(c, 4);
    if (c->status == QRN_OK && (a->rank == 0 || step < 1))
        return et_refuse(c, "a slice with a step of %lld of a tensor of rank %u", (long long)step,
                         a->rank);
    if (c->status != QRN_OK)
        return c->status;
    int64_t start = clamp_index(et_int_or(c, 2, 0), a->sizes[dim]);
    int64_t end = clamp_index(et_int_or(c, 3, INT64_MAX), a->sizes[dim]);
    for (uint32_t i = 0; i < a->rank; i++) {
        sizes[i] = a->sizes[i];
        steps[i] = a->strides[i];
    }
    int64_t n = end > start ? (end - start - 1) / step + 1 : 0;
    sizes[dim] = n;
    steps[dim] = n > 1 ? steps[dim] * step : 0;
    return gather(c, out, a, a->rank, sizes, start * a->strides[dim], steps);
}

static qrn_status select_one(et_call *c, int h) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out = et_out(c, 3);
    int64_t sizes[ET_MAX_RANK], steps[ET_MAX_RANK];
    (void)h;
    if (!a || !out)
        return c->status;
    uint32_t dim = et_dim(c, 1, a->rank), n = 0;
    int64_t index = et_int(c, 2), size = a->rank ? a->sizes[dim] : 0;
    if (c->status != QRN_OK)
        return c->status;
    if (index < -size || index >= size)
        return et_refuse(c, "index %lld of a dimension of %lld", (long long)index, (long long)size);
    index = index < 0 ? index + size : index;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (i == dim)
            continue;
        sizes[n] = a->sizes[i];
        steps[n++] = a->strides[i];
    }
    return gather(c, out, a, n, sizes, index * a->strides[dim], steps);
}

static qrn_status expand(et_call *c, int h) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out = et_out(c, 3);
    int64_t sizes[ET_MAX_RANK], steps[ET_MAX_RANK];
    uint32_t rank = et_ints(c, 1, sizes);
    (void)h;
    if (!a || !out)
        return c->status;
    if (rank < a->rank)
        return et_refuse(c, "a tensor of rank %u cannot have rank %u", a->rank, rank);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t own = i + a->rank < rank ? 1 : a->sizes[i + a->rank - rank];
        sizes[i] = sizes[i] == -1 ? own : sizes[i];
        if (sizes[i] < 0 || (own != 1 && own != sizes[i]))
            return et_refuse(c, "a dimension of %lld cannot become %lld", (long long)own,
                             (long long)sizes[i]);
        steps[i] = own == 1 ? 0 : a->strides[i + a->rank - rank];
    }
    return gather(c, out, a, rank, sizes, 0, steps);
}

static qrn_status fill(et_call *c, int like) {
    et_tensor *out = et_out(c, like ? 3 : 2);
    int64_t sizes[ET_MAX_RANK];
    double v = et_number(c, 1);
    uint32_t rank = 0;
    const et_tensor *a = like ? et_in(c, 0) : NULL;
    if (!like)
        rank = et_ints(c, 0, sizes);
    if (c->status != QRN_OK || !et_shape(c, out, a ? a->rank : rank, a ? a->sizes : sizes))
        return c->status;
    for (size_t i = 0; i < out->count; i++)
        et_set(out, (int64_t)i, v);
    return QRN_OK;
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
    {"aten::unsqueeze_copy.out", 3, same_elements, 3},
    {"aten::squeeze_copy.dim_out", 3, same_elements, 3},
    {"aten::squeeze_copy.dims_out", 3, same_elements, 3},
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
