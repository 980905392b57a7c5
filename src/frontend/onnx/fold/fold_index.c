// SPDX-License-Identifier: MIT
//
// Ops of the folder that read or write where indices say. An index counts from the end when it is
// negative; one out of range is an error in the model.
#include "frontend/onnx/fold/fold_array.h"

#include <math.h>
#include <string.h>

static qrn_status read_indices(ox_call *c, uint32_t i, ox_array *a) {
    QRN_TRY(ox_call_numbers(c, i, a));
    if (a->kind == OX_FLOAT || a->type == OX_BOOL)
        return OX_CALL_FAIL(c, QRN_E_DTYPE, "indices of type %s", ox_type_name(a->type));
    return QRN_OK;
}

static qrn_status index_at(const ox_call *c, const ox_array *a, size_t i, uint32_t n, size_t *out) {
    int64_t v = ox_array_get(a, i).i;
    if (v < -(int64_t)n || v >= (int64_t)n)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "index %lld of a dimension of %u", (long long)v, n);
    *out = (size_t)(v < 0 ? v + n : v);
    return QRN_OK;
}

// Number of elements of dims[from, to); they are part of a shape that was counted before.
static size_t product(const uint32_t *dims, uint32_t from, uint32_t to) {
    size_t n = 1;
    for (uint32_t d = from; d < to; d++)
        n *= dims[d];
    return n;
}

// Puts dims[0, at) of a, all of b, and the rest of a from `skip` on after each other.
static qrn_status join_dims(const ox_call *c, const ox_array *a, uint32_t at, uint32_t skip,
                            const uint32_t *b, uint32_t n_b, uint32_t *rank, uint32_t *dims) {
    *rank = at + n_b + a->rank - skip;
    if (*rank > OX_MAX_RANK)
        return OX_CALL_PASS(c, "an output has too many dimensions");
    for (uint32_t d = 0; d < *rank; d++)
        dims[d] = d < at ? a->dims[d] : d < at + n_b ? b[d - at] : a->dims[d - at - n_b + skip];
    return QRN_OK;
}

qrn_status ox_fold_gather(ox_call *c) {
    ox_array x, index, y;
    uint32_t axis, rank, dims[OX_MAX_RANK];
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(read_indices(c, 1, &index));
    QRN_TRY(ox_call_axis(c, ox_attr_int(c->node, "axis", 0), x.rank, &axis));
    QRN_TRY(join_dims(c, &x, axis, axis + 1, index.dims, index.rank, &rank, dims));
    QRN_TRY(ox_call_new(c, x.type, rank, dims, &y));
    if (y.count == 0)
        return ox_call_put(c, 0, &y);
    size_t outer = product(x.dims, 0, axis);
    size_t block = product(x.dims, axis + 1, x.rank) * x.elem;
    unsigned char *dst = y.own;
    for (size_t o = 0; o < outer; o++)
        for (size_t k = 0; k < index.count; k++, dst += block) {
            size_t at;
            QRN_TRY(index_at(c, &index, k, x.dims[axis], &at));
            memcpy(dst, x.data + (o * x.dims[axis] + at) * block, block);
        }
    return ox_call_put(c, 0, &y);
}

// Walk over the indices of GatherElements and ScatterElements that follows the same position in
// the data, at index 0 of the axis.
static qrn_status walk_elements(const ox_call *c, const ox_array *x, const ox_array *index,
                                uint32_t axis, ox_walk *w, ptrdiff_t *step) {
    ptrdiff_t steps[OX_MAX_RANK];
    if (index->rank != x->rank)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "indices of rank %u for data of rank %u", index->rank,
                            x->rank);
    ox_dims_steps(x->rank, x->dims, steps);
    *w = (ox_walk){.rank = x->rank};
    for (uint32_t d = 0; d < x->rank; d++) {
        if (d != axis && index->dims[d] > x->dims[d])
            return OX_CALL_FAIL(c, QRN_E_SHAPE, "dimension %u of the indices is %u, of the data %u",
                                d, index->dims[d], x->dims[d]);
        w->dims[d] = index->dims[d];
        w->steps[d] = d == axis ? 0 : steps[d];
    }
    *step = steps[axis];
    return QRN_OK;
}

qrn_status ox_fold_gather_elements(ox_call *c) {
    ox_array x, index, y;
    uint32_t axis;
    ox_walk w;
    ptrdiff_t step;
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(read_indices(c, 1, &index));
    QRN_TRY(ox_call_axis(c, ox_attr_int(c->node, "axis", 0), x.rank, &axis));
    QRN_TRY(walk_elements(c, &x, &index, axis, &w, &step));
    QRN_TRY(ox_call_new(c, x.type, index.rank, index.dims, &y));
    for (size_t i = 0; i < y.count; i++, ox_walk_next(&w)) {
        size_t at;
        QRN_TRY(index_at(c, &index, i, x.dims[axis], &at));
        memcpy(y.own + i * y.elem, x.data + (size_t)(w.index + (ptrdiff_t)at * step) * x.elem,
               x.elem);
    }
    return ox_call_put(c, 0, &y);
}

// --- scattering

typedef enum reduction { REPLACE, ADD, MUL, MIN, MAX } reduction;

static qrn_status read_reduction(const ox_call *c, const ox_array *x, reduction *out) {
    static const char *const names[] = {"none", "add", "mul", "min", "max"};
    const char *name = ox_attr_string(c->node, "reduction", "none");
    for (int k = REPLACE; k <= MAX; k++)
        if (strcmp(name, names[k]) == 0) {
            *out = (reduction)k;
            return k == REPLACE || x->kind != OX_OPAQUE
                       ? QRN_OK
                       : OX_CALL_PASS(c, "a reduction of this type is not computed");
        }
    return OX_CALL_FAIL(c, QRN_E_PARAM, "unknown reduction '%s'", name);
}

static ox_num reduce_number(reduction r, ox_kind kind, ox_num a, ox_num b) {
    if (r == ADD || r == MUL) {
        if (kind == OX_FLOAT)
            return (ox_num){.f = r == ADD ? a.f + b.f : a.f * b.f};
        return (ox_num){.u = r == ADD ? a.u + b.u : a.u * b.u};
    }
    if (kind == OX_FLOAT && (isnan(a.f) || isnan(b.f)))
        return isnan(a.f) ? a : b;
    bool less = kind == OX_FLOAT ? b.f < a.f : kind == OX_SIGNED ? b.i < a.i : b.u < a.u;
    return less == (r == MIN) ? b : a;
}

static void scatter_one(ox_array *y, size_t at, const ox_array *updates, size_t i, reduction r) {
    if (r == REPLACE) {
        memcpy(y->own + at * y->elem, updates->data + i * y->elem, y->elem);
        return;
    }
    ox_num v = reduce_number(r, y->kind, ox_array_get(y, at), ox_array_get(updates, i));
    if (y->type == OX_BOOL)
        v.u = v.u != 0;
    ox_array_set(y, at, v);
}

// Reads data and updates, and makes the output a copy of the data.
static qrn_status begin_scatter(ox_call *c, ox_array *updates, ox_array *y, reduction *r) {
    ox_array x;
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(ox_call_in(c, 2, updates));
    QRN_TRY(ox_call_same_type(c, &x, updates));
    QRN_TRY(read_reduction(c, &x, r));
    QRN_TRY(ox_call_new(c, x.type, x.rank, x.dims, y));
    if (x.count)
        memcpy(y->own, x.data, x.count * x.elem);
    return QRN_OK;
}

qrn_status ox_fold_scatter_elements(ox_call *c) {
    ox_array index, updates, y;
    reduction r;
    uint32_t axis;
    ox_walk w;
    ptrdiff_t step;
    QRN_TRY(begin_scatter(c, &updates, &y, &r));
    QRN_TRY(read_indices(c, 1, &index));
    QRN_TRY(ox_call_axis(c, ox_attr_int(c->node, "axis", 0), y.rank, &axis));
    QRN_TRY(walk_elements(c, &y, &index, axis, &w, &step));
    if (updates.rank != index.rank || memcmp(updates.dims, index.dims, sizeof index.dims) != 0)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "indices and updates differ in shape");
    for (size_t i = 0; i < index.count; i++, ox_walk_next(&w)) {
        size_t at;
        QRN_TRY(index_at(c, &index, i, y.dims[axis], &at));
        scatter_one(&y, (size_t)(w.index + (ptrdiff_t)at * step), &updates, i, r);
    }
    return ox_call_put(c, 0, &y);
}

// --- index tuples

// Offset in the data of the tuple k of the indices; `first` is the dimension of its first entry.
static qrn_status tuple_offset(const ox_call *c, const ox_array *index, size_t k, const ox_array *x,
                               uint32_t first, uint32_t n, size_t *out) {
    ptrdiff_t steps[OX_MAX_RANK];
    ox_dims_steps(x->rank, x->dims, steps);
    *out = 0;
    for (uint32_t d = 0; d < n; d++) {
        size_t at;
        QRN_TRY(index_at(c, index, k * n + d, x->dims[first + d], &at));
        *out += at * (size_t)steps[first + d];
    }
    return QRN_OK;
}

qrn_status ox_fold_gather_nd(ox_call *c) {
    ox_array x, index, y;
    uint32_t rank, dims[OX_MAX_RANK];
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(read_indices(c, 1, &index));
    int64_t batch = ox_attr_int(c->node, "batch_dims", 0);
    if (index.rank < 1 || batch < 0 || batch >= index.rank || batch >= x.rank)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "batch_dims %lld for ranks %u and %u", (long long)batch,
                            x.rank, index.rank);
    uint32_t first = (uint32_t)batch, n = index.dims[index.rank - 1];
    if (n < 1 || n > x.rank - first || memcmp(x.dims, index.dims, first * sizeof *x.dims) != 0)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "indices do not fit the data");
    QRN_TRY(join_dims(c, &x, first, first + n, index.dims + first, index.rank - 1 - first, &rank,
                      dims));
    QRN_TRY(ox_call_new(c, x.type, rank, dims, &y));
    if (y.count == 0)
        return ox_call_put(c, 0, &y);
    size_t block = product(x.dims, first + n, x.rank);
    size_t tuples = index.count / n, batches = product(x.dims, 0, first);
    for (size_t k = 0; k < tuples; k++) {
        size_t at, base = k / (tuples / batches) * (x.count / batches);
        QRN_TRY(tuple_offset(c, &index, k, &x, first, n, &at));
        memcpy(y.own + k * block * y.elem, x.data + (base + at) * x.elem, block * x.elem);
    }
    return ox_call_put(c, 0, &y);
}

qrn_status ox_fold_scatter_nd(ox_call *c) {
    ox_array index, updates, y;
    reduction r;
    QRN_TRY(begin_scatter(c, &updates, &y, &r));
    QRN_TRY(read_indices(c, 1, &index));
    uint32_t n = index.rank ? index.dims[index.rank - 1] : 0;
    if (n < 1 || n > y.rank || updates.rank != index.rank - 1 + y.rank - n ||
        memcmp(updates.dims, index.dims, (index.rank - 1) * sizeof *index.dims) != 0 ||
        memcmp(updates.dims + index.rank - 1, y.dims + n, (y.rank - n) * sizeof *y.dims) != 0)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "indices, updates and data do not fit");
    size_t block = product(y.dims, n, y.rank), tuples = block ? index.count / n : 0;
    for (size_t k = 0; k < tuples; k++) {
        size_t at;
        QRN_TRY(tuple_offset(c, &index, k, &y, 0, n, &at));
        for (size_t i = 0; i < block; i++)
            scatter_one(&y, at + i, &updates, k * block + i, r);
    }
    return ox_call_put(c, 0, &y);
}

// --- NonZero, OneHot

static bool is_nonzero(const ox_array *x, size_t i) {
    ox_num v = ox_array_get(x, i);
    return x->kind == OX_FLOAT ? v.f != 0 : v.u != 0;
}

qrn_status ox_fold_non_zero(ox_call *c) {
    ox_array x, y;
    size_t n = 0, seen = 0;
    QRN_TRY(ox_call_numbers(c, 0, &x));
    for (size_t i = 0; i < x.count; i++)
        n += is_nonzero(&x, i);
    if (n > UINT32_MAX)
        return OX_CALL_PASS(c, "an output is too large");
    QRN_TRY(ox_call_new(c, OX_I64, 2, (uint32_t[]){x.rank, (uint32_t)n}, &y));
    ox_walk w = ox_walk_broadcast(&x, x.rank, x.dims);
    for (size_t i = 0; i < x.count; i++, ox_walk_next(&w)) {
        if (!is_nonzero(&x, i))
            continue;
        for (uint32_t d = 0; d < x.rank; d++)
            ox_array_set(&y, d * n + seen, (ox_num){.i = w.at[d]});
        seen++;
    }
    return ox_call_put(c, 0, &y);
}

// One number of any type as an integer.
static qrn_status read_depth(ox_call *c, uint32_t *depth) {
    ox_array a;
    QRN_TRY(ox_call_numbers(c, 1, &a));
    if (a.count != 1)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "input 1 must have one element");
    int64_t v = ox_num_cast(ox_array_get(&a, 0), a.kind, OX_I64).i;
    if (v < 1 || v > UINT32_MAX)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "depth %lld", (long long)v);
    *depth = (uint32_t)v;
    return QRN_OK;
}

qrn_status ox_fold_one_hot(ox_call *c) {
    ox_array index, values, y;
    uint32_t depth, axis, rank, dims[OX_MAX_RANK];
    QRN_TRY(ox_call_numbers(c, 0, &index));
    QRN_TRY(read_depth(c, &depth));
    QRN_TRY(ox_call_in(c, 2, &values));
    if (values.count != 2)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "input 2 must have two elements");
    QRN_TRY(ox_call_axis(c, ox_attr_int(c->node, "axis", -1), index.rank + 1, &axis));
    QRN_TRY(join_dims(c, &index, axis, axis, &depth, 1, &rank, dims));
    QRN_TRY(ox_call_new(c, values.type, rank, dims, &y));
    for (size_t i = 0; i < y.count; i++)
        memcpy(y.own + i * y.elem, values.data, y.elem);
    size_t inner = y.count ? product(dims, axis + 1, rank) : 1;
    for (size_t i = 0; i < index.count; i++) {
        int64_t v = ox_num_cast(ox_array_get(&index, i), index.kind, OX_I64).i;
        if (v < -(int64_t)depth || v >= (int64_t)depth)
            continue; // stays off
        size_t at = (size_t)(v < 0 ? v + depth : v);
        memcpy(y.own + ((i / inner * depth + at) * inner + i % inner) * y.elem,
               values.data + values.elem, y.elem);
    }
    return ox_call_put(c, 0, &y);
}
