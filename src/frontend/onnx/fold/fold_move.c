// SPDX-License-Identifier: MIT
//
// Ops of the folder that move whole elements, of any type. All but Concat and Trilu are one copy:
// each dimension of the output says which index of the input it reads.
#include "frontend/onnx/fold/fold_array.h"

#include <string.h>

// What lies outside of the input.
typedef enum beyond { NOTHING, FILL, EDGE, REFLECT, WRAP } beyond;

// Output index o of a dimension reads input index start + o * step.
typedef struct view {
    ptrdiff_t stride; // of the input dimension, in elements
    int64_t start, step, n;
    beyond mode; // NOTHING: the index never leaves [0, n)
} view;

static int64_t modulo(int64_t i, int64_t n) {
    int64_t r = i % n;
    return r < 0 ? r + n : r;
}

// Offset in the input; -1: the fill value.
static ptrdiff_t offset_of(const view *v, uint32_t o) {
    int64_t i = v->start + (int64_t)o * v->step;
    if (v->mode != NOTHING && (i < 0 || i >= v->n)) {
        if (v->mode == FILL)
            return -1;
        if (v->mode == EDGE || v->n == 1) {
            i = i < 0 ? 0 : v->n - 1;
        } else if (v->mode == WRAP) {
            i = modulo(i, v->n);
        } else {
            i = modulo(i, 2 * v->n - 2);
            i = i < v->n ? i : 2 * v->n - 2 - i;
        }
    }
    return (ptrdiff_t)i * v->stride;
}

// Fills y through one view a dimension.
static void copy_view(ox_array *y, const ox_array *x, const view *views, const void *fill) {
    uint32_t at[OX_MAX_RANK] = {0};
    uint32_t outer = y->rank ? y->rank - 1 : 0, length = y->rank ? y->dims[outer] : 1;
    for (size_t done = 0; done < y->count; done += length) {
        ptrdiff_t base = 0;
        for (uint32_t d = 0; d < outer && base >= 0; d++) {
            ptrdiff_t offset = offset_of(&views[d], at[d]);
            base = offset < 0 ? -1 : base + offset;
        }
        unsigned char *dst = y->own + done * y->elem;
        for (uint32_t o = 0; o < length; o++, dst += y->elem) {
            ptrdiff_t last = y->rank && base >= 0 ? offset_of(&views[outer], o) : base;
            memcpy(dst, last < 0 ? fill : x->data + (size_t)(base + (y->rank ? last : 0)) * x->elem,
                   y->elem);
        }
        for (uint32_t d = outer; d-- > 0;) {
            if (++at[d] < y->dims[d])
                break;
            at[d] = 0;
        }
    }
}

// Views of an input that is read as it is.
static void plain_views(const ox_array *x, view *views) {
    ptrdiff_t steps[OX_MAX_RANK];
    ox_dims_steps(x->rank, x->dims, steps);
    memset(views, 0, OX_MAX_RANK * sizeof *views);
    for (uint32_t d = 0; d < x->rank; d++)
        views[d] = (view){.stride = steps[d], .step = 1, .n = x->dims[d]};
}

static qrn_status put_view(ox_call *c, uint32_t i, const ox_array *x, uint32_t rank,
                           const uint32_t *dims, const view *views, const void *fill) {
    ox_array y;
    QRN_TRY(ox_call_new(c, x->type, rank, dims, &y));
    copy_view(&y, x, views, fill);
    return ox_call_put(c, i, &y);
}

qrn_status ox_fold_transpose(ox_call *c) {
    ox_array x;
    int64_t perm[OX_MAX_RANK];
    uint32_t n, mask, dims[OX_MAX_RANK];
    bool given;
    view plain[OX_MAX_RANK], views[OX_MAX_RANK];
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(ox_call_list(c, 0, "perm", perm, OX_MAX_RANK, &n, &given));
    for (uint32_t d = 0; !given && d < x.rank; d++)
        perm[d] = x.rank - 1 - d;
    n = given ? n : x.rank;
    QRN_TRY(ox_call_axes(c, perm, n, x.rank, &mask));
    if (n != x.rank)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "perm has %u entries for rank %u", n, x.rank);
    plain_views(&x, plain);
    for (uint32_t d = 0; d < n; d++) {
        uint32_t from = (uint32_t)(perm[d] < 0 ? perm[d] + n : perm[d]);
        views[d] = plain[from];
        dims[d] = x.dims[from];
    }
    return put_view(c, 0, &x, n, dims, views, NULL);
}

// --- slices

// numpy's x[start:end:step] of a dimension of n.
static uint32_t slice_view(int64_t start, int64_t end, int64_t step, view *v) {
    int64_t n = v->n, low = step < 0 ? -1 : 0;
    start = ox_clamp(start < 0 ? start + n : start, low, n + low);
    end = ox_clamp(end < 0 ? end + n : end, low, n + low);
    int64_t span = step < 0 ? start - end : end - start;
    if (span <= 0)
        return 0;
    // Larger steps make no difference, and do not overflow.
    int64_t size = step < 0 ? -ox_clamp(step, -(n + 1), -1) : ox_clamp(step, 1, n + 1);
    v->start = start;
    v->step = step < 0 ? -size : size;
    return (uint32_t)((span + size - 1) / size);
}

qrn_status ox_fold_slice(ox_call *c) {
    ox_array x;
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
    view views[OX_MAX_RANK];
    uint32_t dims[OX_MAX_RANK];
    plain_views(&x, views);
    memcpy(dims, x.dims, sizeof dims);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t d = (uint32_t)(axes[k] < 0 ? axes[k] + x.rank : axes[k]);
        if (steps[k] == 0)
            return OX_CALL_FAIL(c, QRN_E_PARAM, "the step of axis %u is 0", d);
        dims[d] = slice_view(starts[k], ends[k], steps[k], &views[d]);
    }
    return put_view(c, 0, &x, x.rank, dims, views, NULL);
}

// Lengths of the parts: given, or as equal as possible with a shorter last one.
static qrn_status split_sizes(ox_call *c, uint32_t dim, int64_t *sizes) {
    uint32_t parts = c->node->n_out, n;
    bool given;
    QRN_TRY(ox_call_list(c, 1, "split", sizes, parts, &n, &given));
    if (given && n != parts)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "%u sizes for %u outputs", n, parts);
    int64_t named = ox_attr_int(c->node, "num_outputs", parts);
    if (named != parts)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "num_outputs is not the number of outputs, %u", parts);
    int64_t chunk = ((int64_t)dim + parts - 1) / parts, left = dim;
    for (uint32_t k = 0; k < parts; k++) {
        if (!given)
            sizes[k] = chunk < left ? chunk : left;
        if (sizes[k] < 0 || sizes[k] > left)
            return OX_CALL_FAIL(c, QRN_E_PARAM, "size %lld of part %u of a dimension of %u",
                                (long long)sizes[k], k, dim);
        left -= sizes[k];
    }
    return left == 0 ? QRN_OK : OX_CALL_FAIL(c, QRN_E_PARAM, "the parts do not add up to %u", dim);
}

qrn_status ox_fold_split(ox_call *c) {
    ox_array x;
    uint32_t axis;
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(ox_call_axis(c, ox_attr_int(c->node, "axis", 0), x.rank, &axis));
    int64_t *sizes = ox_call_scratch(c, c->node->n_out, sizeof *sizes);
    if (!sizes)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    QRN_TRY(split_sizes(c, x.dims[axis], sizes));
    view views[OX_MAX_RANK];
    uint32_t dims[OX_MAX_RANK];
    plain_views(&x, views);
    memcpy(dims, x.dims, sizeof dims);
    for (uint32_t k = 0; k < c->node->n_out; k++) {
        dims[axis] = (uint32_t)sizes[k];
        QRN_TRY(put_view(c, k, &x, x.rank, dims, views, NULL));
        views[axis].start += sizes[k];
    }
    return QRN_OK;
}

// --- larger outputs

// Gives the views leading dimensions of 1 up to `rank`.
static void lead_views(const ox_array *x, uint32_t rank, view *views) {
    view plain[OX_MAX_RANK];
    plain_views(x, plain);
    for (uint32_t d = 0; d < rank; d++)
        views[d] = d + x->rank < rank ? (view){.n = 1} : plain[d + x->rank - rank];
}

qrn_status ox_fold_expand(ox_call *c) {
    ox_array x, want = {.rank = 0};
    int64_t list[OX_MAX_RANK];
    uint32_t rank, dims[OX_MAX_RANK];
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(ox_call_ints(c, 1, list, OX_MAX_RANK, &want.rank));
    for (uint32_t d = 0; d < want.rank; d++) {
        if (list[d] < 0 || list[d] > UINT32_MAX)
            return OX_CALL_FAIL(c, QRN_E_SHAPE, "dimension %u of the shape is %lld", d,
                                (long long)list[d]);
        want.dims[d] = (uint32_t)list[d];
    }
    const ox_array *both[] = {&x, &want};
    QRN_TRY(ox_call_broadcast(c, both, 2, &rank, dims));
    view views[OX_MAX_RANK];
    lead_views(&x, rank, views);
    for (uint32_t d = 0; d < rank; d++)
        views[d].step = views[d].n == 1 ? 0 : 1;
    return put_view(c, 0, &x, rank, dims, views, NULL);
}

qrn_status ox_fold_tile(ox_call *c) {
    ox_array x;
    int64_t repeats[OX_MAX_RANK];
    uint32_t n, dims[OX_MAX_RANK];
    if (c->opset < 6)
        return OX_CALL_PASS(c, "the first form of Tile");
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(ox_call_ints(c, 1, repeats, OX_MAX_RANK, &n));
    if (n != x.rank)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "%u repeats for rank %u", n, x.rank);
    view views[OX_MAX_RANK];
    plain_views(&x, views);
    for (uint32_t d = 0; d < n; d++) {
        if (repeats[d] < 0 || (x.dims[d] && repeats[d] > UINT32_MAX / x.dims[d]))
            return OX_CALL_FAIL(c, QRN_E_PARAM, "dimension %u is repeated %lld times", d,
                                (long long)repeats[d]);
        dims[d] = (uint32_t)(x.dims[d] ? (uint64_t)repeats[d] * x.dims[d] : 0);
        views[d].mode = WRAP;
    }
    return put_view(c, 0, &x, n, dims, views, NULL);
}

// --- Pad

static qrn_status pad_mode(const ox_call *c, beyond *mode) {
    static const char *const names[] = {"", "constant", "edge", "reflect", "wrap"};
    const char *name = ox_attr_string(c->node, "mode", "constant");
    for (int k = FILL; k <= WRAP; k++)
        if (strcmp(name, names[k]) == 0) {
            *mode = (beyond)k;
            return QRN_OK;
        }
    return OX_CALL_FAIL(c, QRN_E_PARAM, "unknown mode '%s'", name);
}

// The fill value: input 2, in old opsets the attribute 'value'.
static qrn_status pad_value(ox_call *c, const ox_array *x, ox_array *fill) {
    if (ox_call_has(c, 2)) {
        QRN_TRY(ox_call_in(c, 2, fill));
        QRN_TRY(ox_call_same_type(c, x, fill));
        return fill->count == 1 ? QRN_OK
                                : OX_CALL_FAIL(c, QRN_E_SHAPE, "input 2 must have one element");
    }
    *fill = *x;
    fill->data = fill->own = ox_call_scratch(c, 1, sizeof(uint64_t));
    if (!fill->own)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    float v = ox_attr_float(c->node, "value", 0);
    if (v != 0 && x->kind != OX_OPAQUE)
        ox_array_set(fill, 0, ox_num_cast((ox_num){.f = v}, OX_FLOAT, x->type));
    return QRN_OK;
}

qrn_status ox_fold_pad(ox_call *c) {
    ox_array x, fill;
    int64_t pads[2 * OX_MAX_RANK], axes[OX_MAX_RANK];
    uint32_t n, n_axes, mask, dims[OX_MAX_RANK];
    bool given, has_axes;
    beyond mode;
    view views[OX_MAX_RANK];
    QRN_TRY(ox_call_in(c, 0, &x));
    QRN_TRY(
        ox_call_list(c, 1, c->opset < 2 ? "paddings" : "pads", pads, 2 * OX_MAX_RANK, &n, &given));
    QRN_TRY(ox_call_list(c, 3, "axes", axes, OX_MAX_RANK, &n_axes, &has_axes));
    QRN_TRY(pad_value(c, &x, &fill));
    QRN_TRY(pad_mode(c, &mode));
    for (uint32_t d = 0; !has_axes && d < x.rank; d++)
        axes[d] = d;
    n_axes = has_axes ? n_axes : x.rank;
    QRN_TRY(ox_call_axes(c, axes, n_axes, x.rank, &mask));
    if (!given || n != 2 * n_axes)
        return OX_CALL_FAIL(c, QRN_E_PARAM, "%u pads for %u axes", n, n_axes);
    plain_views(&x, views);
    memcpy(dims, x.dims, sizeof dims);
    for (uint32_t k = 0; k < n_axes; k++) {
        uint32_t d = (uint32_t)(axes[k] < 0 ? axes[k] + x.rank : axes[k]);
        int64_t before = pads[k], after = pads[k + n_axes], limit = UINT32_MAX;
        if (before < -limit || before > limit || after < -limit || after > limit)
            return OX_CALL_PASS(c, "an output is too large");
        int64_t size = x.dims[d] + before + after;
        if (size < 0 || size > limit || (x.dims[d] == 0 && size > 0 && mode != FILL))
            return OX_CALL_FAIL(c, QRN_E_PARAM, "dimension %u is %u, padded it would be %lld", d,
                                x.dims[d], (long long)size);
        dims[d] = (uint32_t)size;
        views[d].start = -before;
        views[d].mode = mode;
    }
    return put_view(c, 0, &x, x.rank, dims, views, fill.data);
}

// --- Concat, Trilu

// Bytes of everything behind `axis`, with that axis, and the number of such blocks.
static void blocks_of(const ox_array *a, uint32_t axis, size_t *block, size_t *n) {
    *block = a->elem;
    *n = 1;
    for (uint32_t d = 0; d < a->rank; d++)
        *(d < axis ? n : block) *= a->dims[d];
}

static qrn_status concat_dims(const ox_call *c, const ox_array *x, uint32_t n, uint32_t axis,
                              uint32_t *dims) {
    uint64_t total = 0;
    for (uint32_t k = 0; k < n; k++) {
        QRN_TRY(ox_call_same_type(c, &x[0], &x[k]));
        for (uint32_t d = 0; d < x[0].rank; d++)
            if (x[k].rank != x[0].rank || (d != axis && x[k].dims[d] != x[0].dims[d]))
                return OX_CALL_FAIL(c, QRN_E_SHAPE, "input %u does not fit input 0", k);
        total += x[k].dims[axis];
    }
    if (total > UINT32_MAX)
        return OX_CALL_PASS(c, "an output is too large");
    memcpy(dims, x[0].dims, sizeof x[0].dims);
    dims[axis] = (uint32_t)total;
    return QRN_OK;
}

qrn_status ox_fold_concat(ox_call *c) {
    uint32_t n = c->node->n_in, axis, dims[OX_MAX_RANK];
    ox_array *x = ox_call_scratch(c, n, sizeof *x), y;
    if (!x)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    for (uint32_t k = 0; k < n; k++)
        QRN_TRY(ox_call_in(c, k, &x[k]));
    QRN_TRY(ox_call_axis(c, ox_attr_int(c->node, "axis", c->opset < 4 ? 1 : 0), x[0].rank, &axis));
    QRN_TRY(concat_dims(c, x, n, axis, dims));
    QRN_TRY(ox_call_new(c, x[0].type, x[0].rank, dims, &y));
    size_t row, n_rows, at = 0;
    blocks_of(&y, axis, &row, &n_rows);
    for (uint32_t k = 0; y.count && k < n; k++) {
        size_t part, unused;
        blocks_of(&x[k], axis, &part, &unused);
        for (size_t r = 0; part && r < n_rows; r++)
            memcpy(y.own + r * row + at, x[k].data + r * part, part);
        at += part;
    }
    return ox_call_put(c, 0, &y);
}

qrn_status ox_fold_trilu(ox_call *c) {
    ox_array x, y;
    int64_t k = 0;
    QRN_TRY(ox_call_in(c, 0, &x));
    if (x.rank < 2)
        return OX_CALL_FAIL(c, QRN_E_SHAPE, "input of rank %u, expected are 2 or more", x.rank);
    if (ox_call_has(c, 1))
        QRN_TRY(ox_call_int(c, 1, &k));
    bool upper = ox_attr_int(c->node, "upper", 1) != 0;
    QRN_TRY(ox_call_new(c, x.type, x.rank, x.dims, &y));
    uint32_t rows = x.dims[x.rank - 2], columns = x.dims[x.rank - 1];
    for (size_t i = 0; i < x.count; i++) {
        int64_t column = (int64_t)(i % columns), row = (int64_t)(i / columns % rows);
        if (upper ? column - row >= k : column - row <= k)
            memcpy(y.own + i * y.elem, x.data + i * x.elem, x.elem);
    }
    return ox_call_put(c, 0, &y);
}
