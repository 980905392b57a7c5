// SPDX-License-Identifier: MIT
//
// Operators that put tensors together, take them apart, or look up rows.
#include "frontend/executorch/kernel.h"

#include <string.h>

// Copies between `part` and the region of `whole` that begins at `start` of `dim`.
static qrn_status copy_part(et_call *c, et_tensor *to, const et_tensor *from, bool to_whole,
                            uint32_t dim, int64_t start) {
    const et_tensor *part = to_whole ? from : to, *whole = to_whole ? to : from;
    et_walk w;
    if (!et_same_type(c, to, from))
        return c->status;
    et_walk_shape(&w, part->rank, part->sizes);
    et_walk_add(&w, part);
    et_walk_add_steps(&w, part->count ? start * whole->strides[dim] : 0, whole->strides);
    for (; w.left; et_walk_next(&w))
        et_copy(to, w.at[!to_whole ? 0 : 1], from, w.at[!to_whole ? 1 : 0]);
    return c->status;
}

// An old way of saying "nothing" in a list of tensors to be joined.
static bool is_nothing(const et_tensor *t) { return t->rank == 1 && t->sizes[0] == 0; }

static qrn_status cat(et_call *c, int h) {
    et_tensor *out = et_out(c, 2);
    uint32_t n = et_list_n(c, 0), rank = 0, dim = 0;
    int64_t sizes[ET_MAX_RANK] = {0}, at = 0;
    (void)h;
    const et_tensor *first = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const et_tensor *t = et_list_at(c, 0, i);
        if (!t)
            return c->status;
        if (is_nothing(t) && out && out->rank != 1)
            continue;
        if (!first) {
            first = t;
            rank = t->rank;
            dim = et_dim(c, 1, rank);
            memcpy(sizes, t->sizes, rank * sizeof *sizes);
            continue;
        }
        for (uint32_t d = 0; d < rank; d++)
            if (t->rank != rank || (d != dim && t->sizes[d] != sizes[d]))
                return et_refuse(c, "tensor %u does not fit the first one", i);
        if (rank)
            sizes[dim] += t->sizes[dim];
    }
    if (c->status == QRN_OK && (!first || rank == 0))
        return et_refuse(c, "there is nothing to join");
    if (c->status != QRN_OK || !et_shape(c, out, rank, sizes))
        return c->status;
    for (uint32_t i = 0; i < n && c->status == QRN_OK; i++) {
        const et_tensor *t = et_list_at(c, 0, i);
        if (!t || t == out)
            return et_refuse(c, "a tensor is joined to itself");
        if (is_nothing(t) && rank != 1)
            continue;
        copy_part(c, out, t, true, dim, at);
        at += t->sizes[dim];
    }
    return c->status;
}

static qrn_status stack(et_call *c, int h) {
    et_tensor *out = et_out(c, 2);
    uint32_t n = et_list_n(c, 0);
    (void)h;
    for (uint32_t i = 0; i < n && c->status == QRN_OK; i++) {
        const et_tensor *t = et_list_at(c, 0, i);
        int64_t sizes[ET_MAX_RANK + 1], steps[ET_MAX_RANK];
        if (!t || t->rank >= ET_MAX_RANK || t == out)
            return et_refuse(c, "tensor %u cannot be stacked", i);
        uint32_t dim = et_dim(c, 1, t->rank + 1);
        for (uint32_t d = 0; d <= t->rank; d++)
            sizes[d] = d == dim ? n : t->sizes[d - (d > dim)];
        if (!et_shape(c, out, t->rank + 1, sizes) || !et_same_type(c, t, out))
            return c->status;
        for (uint32_t d = 0; d < t->rank; d++)
            steps[d] = out->strides[d + (d >= dim)];
        et_walk w;
        et_walk_shape(&w, t->rank, t->sizes);
        et_walk_add(&w, t);
        et_walk_add_steps(&w, out->count ? i * out->strides[dim] : 0, steps);
        for (; w.left; et_walk_next(&w))
            et_copy(out, w.at[1], t, w.at[0]);
    }
    return c->status;
}

// split_copy (one size) and split_with_sizes_copy (a list).
static qrn_status split(et_call *c, int listed) {
    const et_tensor *a = et_in(c, 0);
    uint32_t n = et_list_n(c, 3), dim = a ? et_dim(c, 2, a->rank) : 0, n_sizes = 1;
    int64_t given[ET_MAX_RANK] = {0}, at = 0;
    if (listed)
        n_sizes = et_ints(c, 1, given);
    else
        given[0] = et_int(c, 1);
    if (c->status != QRN_OK || a->rank == 0 || (listed && n_sizes != n))
        return et_refuse(c, "there are %u results for %u parts", n, n_sizes);
    for (uint32_t i = 0; i < n && c->status == QRN_OK; i++) {
        et_tensor *out = et_list_at(c, 3, i);
        int64_t sizes[ET_MAX_RANK], part = given[listed ? i : 0];
        if (!listed && part > a->sizes[dim] - at)
            part = a->sizes[dim] - at; // the last one may be smaller
        if (!out || out->fixed || out == a || part < 0 || part > a->sizes[dim] - at)
            return et_refuse(c, "part %u of %lld elements cannot be had", i, (long long)part);
        memcpy(sizes, a->sizes, sizeof sizes);
        sizes[dim] = part;
        if (et_shape(c, out, a->rank, sizes))
            copy_part(c, out, a, false, dim, at);
        at += part;
    }
    return c->status;
}

// Rows of `a` along `dim`, chosen by `index`, take the place of that dimension in the result.
static qrn_status lookup(et_call *c, et_tensor *out, const et_tensor *a, uint32_t dim,
                         const et_tensor *index) {
    int64_t sizes[2 * ET_MAX_RANK], row_sizes[ET_MAX_RANK], row_a[ET_MAX_RANK],
        row_out[ET_MAX_RANK];
    uint32_t n = 0, rest = 0, inner = index->rank;
    for (uint32_t d = 0; d < dim; d++)
        sizes[n++] = a->sizes[d];
    for (uint32_t d = 0; d < inner; d++)
        sizes[n++] = index->sizes[d];
    for (uint32_t d = dim + 1; d < a->rank; d++)
        sizes[n++] = a->sizes[d];
    if (!et_same_type(c, a, out) || !et_shape(c, out, n, sizes))
        return c->status;
    for (uint32_t d = 0; d < a->rank; d++) {
        if (d == dim)
            continue;
        row_sizes[rest] = a->sizes[d];
        row_a[rest] = a->strides[d];
        row_out[rest++] = out->strides[d < dim ? d : d + inner - 1];
    }
    et_walk rows, w;
    et_walk_shape(&rows, inner, index->sizes);
    et_walk_add(&rows, index);
    et_walk_add_steps(&rows, 0, out->strides + dim);
    for (; rows.left; et_walk_next(&rows)) {
        int64_t at = et_get_int(index, rows.at[0]);
        at = at < 0 ? at + a->sizes[dim] : at;
        if (at < 0 || at >= a->sizes[dim])
            return et_refuse(c, "index %lld of a dimension of %lld", (long long)at,
                             (long long)a->sizes[dim]);
        et_walk_shape(&w, rest, row_sizes);
        et_walk_add_steps(&w, at * a->strides[dim], row_a);
        et_walk_add_steps(&w, rows.at[1], row_out);
        for (; w.left; et_walk_next(&w))
            et_copy(out, w.at[1], a, w.at[0]);
    }
    return QRN_OK;
}

static bool check_lookup(et_call *c, const et_tensor *a, const et_tensor *index,
                         const et_tensor *out) {
    if (!a || !index || !out)
        return false;
    if (a->rank == 0 || a == out || index == out || et_is_float(index->def->type))
        et_refuse(c, "indices of type %s in a tensor of rank %u", et_type_name(index->def->type),
                  a->rank);
    return c->status == QRN_OK;
}

static qrn_status embedding(et_call *c, int h) {
    const et_tensor *a = et_in(c, 0), *index = et_in(c, 1);
    et_tensor *out = et_out(c, 5);
    (void)h;
    return check_lookup(c, a, index, out) ? lookup(c, out, a, 0, index) : c->status;
}

static qrn_status index_select(et_call *c, int h) {
    const et_tensor *a = et_in(c, 0), *index = et_in(c, 2);
    et_tensor *out = et_out(c, 3);
    (void)h;
    if (!check_lookup(c, a, index, out))
        return c->status;
    uint32_t dim = et_dim(c, 1, a->rank);
    return c->status == QRN_OK ? lookup(c, out, a, dim, index) : c->status;
}

// Pads from the last dimension on; negative amounts cut.
static qrn_status pad(et_call *c, int h) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out = et_out(c, 3);
    int64_t amount[ET_MAX_RANK], sizes[ET_MAX_RANK];
    uint32_t n = et_ints(c, 1, amount);
    double value = et_number(c, 2);
    (void)h;
    if (c->status != QRN_OK)
        return c->status;
    if (n % 2 || n / 2 > a->rank || a == out)
        return et_refuse(c, "%u amounts for a tensor of rank %u", n, a->rank);
    memcpy(sizes, a->sizes, sizeof sizes);
    for (uint32_t i = 0; i < n; i++) {
        if (amount[i] < -(INT64_C(1) << 40) || amount[i] > INT64_C(1) << 40)
            return et_refuse(c, "an amount of %lld", (long long)amount[i]);
        sizes[a->rank - 1 - i / 2] += amount[i];
    }
    if (!et_same_type(c, a, out) || !et_shape(c, out, a->rank, sizes))
        return c->status;
    et_walk w;
    et_walk_shape(&w, out->rank, out->sizes);
    et_walk_add(&w, out);
    for (; w.left; et_walk_next(&w)) {
        int64_t at = 0;
        bool inside = true;
        for (uint32_t d = 0; d < a->rank; d++) {
            uint32_t k = 2 * (a->rank - 1 - d);
            int64_t i = w.index[d] - (k < n ? amount[k] : 0);
            inside = inside && i >= 0 && i < a->sizes[d];
            at += inside ? i * a->strides[d] : 0;
        }
        if (inside)
            et_copy(out, w.at[0], a, at);
        else
            et_set(out, w.at[0], value);
    }
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
