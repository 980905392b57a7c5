// SPDX-License-Identifier: MIT
//
// Ops of the folder that move whole elements, of any type: most are one copy of a view.
#include "frontend/onnx/fold/fold_array.h"

#include <string.h>

// Output i is a copy of a view.
static qrn_status put_view(ox_call *c, uint32_t i, const qrn_nd *x) {
    qrn_nd y;
    QRN_TRY(ox_call_new(c, i, x->type, x->rank, x->dims, &y));
    qrn_nd_copy(&y, x);
    return QRN_OK;
}

qrn_status ox_fold_transpose(ox_call *c) {
    qrn_nd x;
    int64_t list[OX_MAX_RANK];
    uint32_t n, mask, perm[OX_MAX_RANK];
    bool given;
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(ox_call_list(c, 0, "perm", list, OX_MAX_RANK, &n, &given));
    QRN_TRY(ox_call_axes(c, list, n, x.rank, &mask));
    if (given && n != x.rank)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "perm has %u entries for rank %u", n, x.rank);
    for (uint32_t d = 0; d < x.rank; d++)
        perm[d] = given ? (uint32_t)list[d] : x.rank - 1 - d;
    qrn_nd_permute(&x, perm);
    return put_view(c, 0, &x);
}

// --- slices

qrn_status ox_fold_slice(ox_call *c) {
    qrn_nd x;
    int64_t starts[OX_MAX_RANK], ends[OX_MAX_RANK], axes[OX_MAX_RANK], steps[OX_MAX_RANK];
    uint32_t n, n_ends, n_axes, n_steps, mask;
    bool has_starts, has_ends, has_axes, has_steps;
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(ox_call_list(c, 1, "starts", starts, OX_MAX_RANK, &n, &has_starts));
    QRN_TRY(ox_call_list(c, 2, "ends", ends, OX_MAX_RANK, &n_ends, &has_ends));
    QRN_TRY(ox_call_list(c, 3, "axes", axes, OX_MAX_RANK, &n_axes, &has_axes));
    QRN_TRY(ox_call_list(c, 4, "steps", steps, OX_MAX_RANK, &n_steps, &has_steps));
    if (!has_starts || !has_ends || n_ends != n || (has_axes && n_axes != n) ||
        (has_steps && n_steps != n))
        return OX_CALL_FAIL(c, QRN_E_PARAM, "starts, ends, axes and steps differ in length");
    for (uint32_t k = 0; k < n; k++) {
        axes[k] = has_axes ? axes[k] : k;
        steps[k] = has_steps ? steps[k] : 1;
    }
    QRN_TRY(ox_call_axes(c, axes, n, x.rank, &mask));
    for (uint32_t k = 0; k < n; k++) {
        uint32_t d = (uint32_t)axes[k];
        if (steps[k] == 0)
            return OX_CALL_FAIL(c, QRN_E_PARAM, "the step of axis %u is 0", d);
        size_t size = qrn_slice_of(x.dims[d], &starts[k], ends[k], &steps[k]);
        qrn_nd_slice(&x, d, starts[k], steps[k], size);
    }
    return put_view(c, 0, &x);
}

// Lengths of the parts: given, or as equal as possible with a shorter last one.
static qrn_status split_sizes(ox_call *c, int64_t dim, int64_t *sizes) {
    uint32_t parts = c->node->n_out, n;
    bool given;
    QRN_TRY(ox_call_list(c, 1, "split", sizes, parts, &n, &given));
    if (given && n != parts)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "%u sizes for %u outputs", n, parts);
    int64_t named = ox_attr_int(c->node, "num_outputs", parts);
    if (named != parts)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "num_outputs is not the number of outputs, %u", parts);
    int64_t chunk = (dim + parts - 1) / parts, left = dim;
    for (uint32_t k = 0; k < parts; k++) {
        if (!given)
            sizes[k] = chunk < left ? chunk : left;
        if (sizes[k] < 0 || sizes[k] > left)
            return OX_CALL_FAIL(c, QRN_E_PARAM, "size %lld of part %u of a dimension of %lld",
                                (long long)sizes[k], k, (long long)dim);
        left -= sizes[k];
    }
    return left == 0
               ? QRN_OK
               : OX_CALL_FAIL(c, QRN_E_PARAM, "the parts do not add up to %lld", (long long)dim);
}

qrn_status ox_fold_split(ox_call *c) {
    qrn_nd x;
    uint32_t axis;
    int64_t at = 0;
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(ox_call_attr_axis(c, 0, x.rank, &axis));
    int64_t *sizes = ox_call_scratch(c, c->node->n_out, sizeof *sizes);
    if (!sizes)
        return ox_call_no_memory();
    QRN_TRY(split_sizes(c, (int64_t)x.dims[axis], sizes));
    for (uint32_t k = 0; k < c->node->n_out; at += sizes[k++]) {
        qrn_nd part = x;
        qrn_nd_slice(&part, axis, at, 1, (size_t)sizes[k]);
        QRN_TRY(put_view(c, k, &part));
    }
    return QRN_OK;
}

// --- larger outputs

qrn_status ox_fold_expand(ox_call *c) {
    qrn_nd x;
    int64_t list[OX_MAX_RANK];
    uint32_t n, rank;
    size_t dims[QRN_ND_RANK];
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(ox_call_ints(c, 1, list, OX_MAX_RANK, &n));
    QRN_TRY(ox_call_dims(c, list, n, dims));
    rank = n;
    if (!qrn_nd_join(&rank, dims, &x))
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "the input does not fit the shape");
    qrn_nd_expand(&x, rank, dims);
    return put_view(c, 0, &x);
}

qrn_status ox_fold_tile(ox_call *c) {
    qrn_nd x, y;
    int64_t repeats[OX_MAX_RANK];
    uint32_t n;
    size_t dims[OX_MAX_RANK];
    if (c->opset < 6)
        return OX_CALL_PASS(c, "the first form of Tile");
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(ox_call_ints(c, 1, repeats, OX_MAX_RANK, &n));
    if (n != x.rank)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "%u repeats for rank %u", n, x.rank);
    for (uint32_t d = 0; d < n; d++) {
        if (repeats[d] < 0 || (x.dims[d] && repeats[d] > UINT32_MAX / (int64_t)x.dims[d]))
            return OX_CALL_FAIL(c, QRN_E_PARAM, "dimension %u is repeated %lld times", d,
                                (long long)repeats[d]);
        dims[d] = x.dims[d] ? (size_t)repeats[d] * x.dims[d] : 0;
    }
    QRN_TRY(ox_call_new(c, 0, x.type, n, dims, &y));
    if (y.count == 0)
        return QRN_OK;
    for (uint32_t d = n; d-- > 0;) { // each dimension becomes its repetitions and itself
        y.dims[d] = x.dims[d];
        qrn_nd_insert(&y, d, (size_t)repeats[d], y.steps[d] * (ptrdiff_t)x.dims[d]);
        qrn_nd_insert(&x, d, (size_t)repeats[d], 0);
    }
    qrn_nd_copy(&y, &x);
    return QRN_OK;
}

// --- Pad

// What lies outside of the input.
typedef enum beyond { FILL, EDGE, REFLECT, WRAP } beyond;

static qrn_status pad_mode(const ox_call *c, beyond *mode) {
    static const char *const names[] = {"constant", "edge", "reflect", "wrap"};
    const char *name = ox_attr_string(c->node, "mode", "constant");
    for (int k = FILL; k <= WRAP; k++)
        if (strcmp(name, names[k]) == 0) {
            *mode = (beyond)k;
            return QRN_OK;
        }
    return OX_CALL_FAIL(c, QRN_E_PARAM, "unknown mode '%s'", name);
}

static int64_t modulo(int64_t i, int64_t n) { return (i % n + n) % n; }

// Which of n indices is read at i, which may lie outside of them.
static int64_t index_beyond(beyond mode, int64_t i, int64_t n) {
    if (i >= 0 && i < n)
        return i;
    if (mode == EDGE || n == 1)
        return i < 0 ? 0 : n - 1;
    if (mode == WRAP)
        return modulo(i, n);
    i = modulo(i, 2 * n - 2);
    return i < n ? i : 2 * n - 2 - i;
}

// The fill value: input 2, in old opsets the attribute 'value'.
static qrn_status pad_value(ox_call *c, const qrn_nd *x, const qrn_nd *y) {
    qrn_nd fill;
    if (ox_call_has(c, 2)) {
        QRN_TRY(ox_call_one(c, 2, x, &fill));
        qrn_nd_fill(y, fill.data);
        return QRN_OK;
    }
    qrn_num v = {.f = ox_attr_float(c->node, "value", 0)}, bits = {.u = 0};
    if (v.f != 0 && x->kind != QRN_KIND_OPAQUE) {
        qrn_nums_cast(&v, 1, QRN_KIND_FLOAT, x->dtype, QRN_CAST_SATURATE);
        qrn_nums_store(&v, x->dtype, &bits, 0, 1);
        qrn_nd_fill(y, &bits);
    }
    return QRN_OK;
}

// Where the output reads the input: index `start` at 0, and so on.
static qrn_status pad_dims(ox_call *c, const qrn_nd *x, beyond mode, int64_t *starts,
                           size_t *dims) {
    int64_t pads[2 * OX_MAX_RANK], axes[OX_MAX_RANK], limit = UINT32_MAX;
    uint32_t n, n_axes, mask;
    bool given, has_axes;
    QRN_TRY(
        ox_call_list(c, 1, c->opset < 2 ? "paddings" : "pads", pads, 2 * OX_MAX_RANK, &n, &given));
    QRN_TRY(ox_call_list(c, 3, "axes", axes, OX_MAX_RANK, &n_axes, &has_axes));
    for (uint32_t d = 0; !has_axes && d < x->rank; d++)
        axes[d] = d;
    n_axes = has_axes ? n_axes : x->rank;
    QRN_TRY(ox_call_axes(c, axes, n_axes, x->rank, &mask));
    if (!given || n != 2 * n_axes)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "%u pads for %u axes", n, n_axes);
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    for (uint32_t k = 0; k < n_axes; k++) {
        int64_t before = pads[k], after = pads[k + n_axes], dim = (int64_t)x->dims[axes[k]];
        if (before < -limit || before > limit || after < -limit || after > limit)
            return OX_CALL_PASS(c, "an output is too large");
        int64_t size = dim + before + after;
        if (size < 0 || (dim == 0 && size > 0 && mode != FILL))
            return OX_CALL_FAIL(c, QRN_E_PARAM, "dimension %u is %lld, padded it would be %lld",
                                (unsigned)axes[k], (long long)dim, (long long)size);
        dims[axes[k]] = (size_t)size;
        starts[axes[k]] = -before;
    }
    return QRN_OK;
}

// Copies each element from where its mode says.
static void pad_beyond(const qrn_nd *y, const qrn_nd *x, beyond mode, const int64_t *starts) {
    uint32_t last = x->rank - 1;
    unsigned char *dst = y->data;
    qrn_index i = {{0}};
    do {
        const unsigned char *row = x->data;
        for (uint32_t d = 0; d < last; d++)
            row +=
                index_beyond(mode, starts[d] + (int64_t)i.at[d], (int64_t)x->dims[d]) * x->steps[d];
        for (size_t j = 0; j < y->dims[last]; j++, dst += x->elem)
            memcpy(dst,
                   row + index_beyond(mode, starts[last] + (int64_t)j, (int64_t)x->dims[last]) *
                             x->steps[last],
                   x->elem);
    } while (qrn_index_next(&i, last, y->dims));
}

qrn_status ox_fold_pad(ox_call *c) {
    qrn_nd x, y;
    int64_t starts[OX_MAX_RANK] = {0};
    size_t dims[OX_MAX_RANK];
    beyond mode;
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(pad_mode(c, &mode));
    QRN_TRY(pad_dims(c, &x, mode, starts, dims));
    QRN_TRY(ox_call_new(c, 0, x.type, x.rank, dims, &y));
    QRN_TRY(pad_value(c, &x, &y));
    if (mode == FILL || x.rank == 0)
        qrn_nd_paste(&y, &x, starts);
    else if (y.count)
        pad_beyond(&y, &x, mode, starts);
    return QRN_OK;
}

// --- Concat, Trilu

qrn_status ox_fold_concat(ox_call *c) {
    uint32_t n = c->node->n_in, axis;
    size_t dims[OX_MAX_RANK], at = 0;
    qrn_nd *x = ox_call_scratch(c, n, sizeof *x), y;
    if (!x)
        return ox_call_no_memory();
    for (uint32_t k = 0; k < n; k++)
        QRN_TRY(ox_call_in(c, k, &x[k]));
    QRN_TRY(ox_call_attr_axis(c, c->opset < 4 ? 1 : 0, x[0].rank, &axis));
    memcpy(dims, x[0].dims, x[0].rank * sizeof *dims);
    dims[axis] = 0;
    for (uint32_t k = 0; k < n; k++) {
        QRN_TRY(ox_call_same_type(c, &x[0], &x[k]));
        for (uint32_t d = 0; d < x[0].rank; d++)
            if (x[k].rank != x[0].rank || (d != axis && x[k].dims[d] != x[0].dims[d]))
                return OX_CALL_FAIL(c, QRN_E_SHAPE, "input %u does not fit input 0", k);
        dims[axis] += x[k].dims[axis];
    }
    QRN_TRY(ox_call_new(c, 0, x[0].type, x[0].rank, dims, &y));
    for (uint32_t k = 0; k < n; at += x[k++].dims[axis]) {
        qrn_nd part = y;
        qrn_nd_slice(&part, axis, (int64_t)at, 1, x[k].dims[axis]);
        qrn_nd_copy(&part, &x[k]);
    }
    return QRN_OK;
}

qrn_status ox_fold_trilu(ox_call *c) {
    qrn_nd x, y;
    int64_t k = 0;
    QRN_TRY(ox_call_in(c, 0, &x));
    if (x.rank < 2)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "input of rank %u, expected are 2 or more", x.rank);
    if (ox_call_has(c, 1))
        QRN_TRY(ox_call_int(c, 1, &k));
    bool upper = ox_attr_int(c->node, "upper", 1) != 0;
    QRN_TRY(ox_call_new(c, 0, x.type, x.rank, x.dims, &y));
    size_t rows = x.dims[x.rank - 2], columns = x.dims[x.rank - 1];
    for (size_t i = 0; i < x.count; i++) {
        int64_t column = (int64_t)(i % columns), row = (int64_t)(i / columns % rows);
        if (upper ? column - row >= k : column - row <= k)
            memcpy(y.data + i * y.elem, x.data + i * x.elem, x.elem);
    }
    return QRN_OK;
}
