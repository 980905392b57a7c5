// SPDX-License-Identifier: MIT
//
// Shape rules of Reshape, ExpandDims, Squeeze and StridedSlice.
#include "ir/ops/move.h"

#include "base/mem.h"

static qrn_status count_of(const qrn_op_call *c, const qrn_shape *s, size_t *count) {
    if (qrn_shape_count(s, count))
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_SHAPE, "a shape has more elements than can be counted");
}

// The dims that in[1] asks for: 0 copies the dim of x, one -1 is inferred.
static qrn_status asked_shape(const qrn_op_call *c, const int32_t *want, size_t count,
                              qrn_shape *y) {
    size_t known = 1;
    uint32_t open = UINT32_MAX;
    for (uint32_t d = 0; d < y->rank; d++) {
        if (want[d] < -1 || (want[d] == -1 && open != UINT32_MAX) ||
            (want[d] == 0 && d >= c->in_shape[0].rank))
            return qrn_op_fail(c, QRN_E_SHAPE,
                               "input 1: entry %u is %d, expected a size, 0 for "
                               "the size of the input, or one -1",
                               d, want[d]);
        if (want[d] == -1) {
            open = d;
            continue;
        }
        y->dims[d] = want[d] ? (uint32_t)want[d] : c->in_shape[0].dims[d];
        if (!qrn_mul_size(known, y->dims[d], &known))
            return qrn_op_fail(c, QRN_E_SHAPE, "input 1: the shape is too large");
    }
    if (open != UINT32_MAX) {
        if (known == 0 || count % known || count / known > UINT32_MAX)
            return qrn_op_fail(c, QRN_E_SHAPE,
                               "input 1: %zu elements cannot be cut into parts of "
                               "%zu",
                               count, known);
        y->dims[open] = (uint32_t)(count / known);
    }
    return QRN_OK;
}

// A single dynamic dimension follows from the number of elements.
static void infer_dynamic(const qrn_op_call *c, size_t count, qrn_shape *y) {
    size_t known = 1;
    uint32_t open = UINT32_MAX, n_open = 0;
    for (uint32_t d = 0; d < y->rank; d++)
        if (c->out[0]->dynamic[d]) {
            open = d;
            n_open++;
        } else {
            known *= y->dims[d];
        }
    if (n_open == 1 && known && count % known == 0 && count / known <= UINT32_MAX)
        y->dims[open] = (uint32_t)(count / known);
}

qrn_status qrn_rule_reshape(const qrn_op_call *c) {
    const qrn_tensor *shape = c->n_in > 1 ? c->in[1] : NULL;
    qrn_shape y = c->out_shape[0];
    size_t count, out_count;
    QRN_TRY(qrn_move_types(c, 0, 0));
    QRN_TRY(count_of(c, &c->in_shape[0], &count));
    QRN_TRY(count_of(c, &y, &out_count));
    bool dynamic = c->out[0]->has_dynamic;
    if (dynamic && shape && c->in_shape[1].dims[0] != y.rank)
        return qrn_op_fail(c, QRN_E_SHAPE,
                           "input 1: %u entries, expected %u as the rank of the "
                           "output",
                           c->in_shape[1].dims[0], y.rank);
    if (dynamic && shape && !shape->data)
        return QRN_OK; // the kernel reads it
    if (dynamic && shape)
        QRN_TRY(asked_shape(c, shape->data, count, &y));
    else if (dynamic && out_count != count)
        infer_dynamic(c, count, &y);
    QRN_TRY(count_of(c, &y, &out_count));
    if (out_count != count) {
        char have[128], want[128];
        return qrn_op_fail(c, QRN_E_SHAPE, "output 0: shape %s has %zu elements, input %s has %zu",
                           qrn_shape_text(&y, have, sizeof have), out_count,
                           qrn_shape_text(&c->in_shape[0], want, sizeof want), count);
    }
    c->out_shape[0] = y;
    return QRN_OK;
}

// Bits of the dims that a list of axes names; all below `limit`, none twice.
static qrn_status axes_mask(const qrn_op_call *c, const uint32_t *axes, size_t n, uint32_t limit,
                            uint32_t *mask) {
    *mask = 0;
    for (size_t i = 0; i < n; i++) {
        QRN_TRY(qrn_move_axis(c, "axes", axes[i], limit));
        if (*mask & (1u << axes[i]))
            return qrn_op_fail(c, QRN_E_PARAM, "parameter 'axes': %u occurs twice", axes[i]);
        *mask |= 1u << axes[i];
    }
    return QRN_OK;
}

qrn_status qrn_rule_expand_dims(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0];
    const qrn_param *p = qrn_op_param(c, "axes");
    size_t n = 1;
    uint32_t axis = qrn_op_u32(c, "axis", 0), mask;
    const uint32_t *axes = p->present ? qrn_op_u32s(c, "axes", &n) : &axis;
    QRN_TRY(qrn_move_types(c, 0, 0));
    if (!axes)
        return QRN_OK;
    if (x->rank + n > QRN_MAX_RANK)
        return qrn_op_fail(c, QRN_E_SHAPE, "output 0: rank %zu, expected at most %u", x->rank + n,
                           QRN_MAX_RANK);
    qrn_shape y = {.rank = x->rank + (uint32_t)n};
    if (!p->present)
        QRN_TRY(qrn_move_axis(c, "axis", axis, y.rank));
    QRN_TRY(axes_mask(c, axes, n, y.rank, &mask));
    for (uint32_t d = 0, from = 0; d < y.rank; d++)
        y.dims[d] = mask & (1u << d) ? 1 : x->dims[from++];
    c->out_shape[0] = y;
    return QRN_OK;
}

// Without axes the declared shapes say which dims stay: the input's without some dims of size 1.
static qrn_status dropped_by_shape(const qrn_op_call *c, uint32_t *mask) {
    const qrn_shape *x = &c->in[0]->shape, *y = &c->out[0]->shape;
    uint32_t at = 0;
    *mask = 0;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (at < y->rank && y->dims[at] == x->dims[d])
            at++;
        else
            *mask |= 1u << d;
    }
    if (at == y->rank)
        return QRN_OK;
    char have[128], want[128];
    return qrn_op_fail(c, QRN_E_SHAPE,
                       "output 0: shape %s is not that of the input, %s, without "
                       "dimensions of size 1",
                       qrn_shape_text(y, have, sizeof have), qrn_shape_text(x, want, sizeof want));
}

qrn_status qrn_rule_squeeze(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0];
    size_t n;
    uint32_t mask;
    const uint32_t *axes = qrn_op_u32s(c, "axes", &n);
    QRN_TRY(qrn_move_types(c, 0, 0));
    if (qrn_op_param(c, "axes")->present && !axes)
        return QRN_OK;
    QRN_TRY(axes ? axes_mask(c, axes, n, x->rank, &mask) : dropped_by_shape(c, &mask));
    qrn_shape y = {0};
    for (uint32_t d = 0; d < x->rank; d++) {
        if (!(mask & (1u << d)))
            y.dims[y.rank++] = x->dims[d];
        else if (x->dims[d] != 1)
            return qrn_op_fail(c, QRN_E_SHAPE,
                               "input 0: dimension %u is %u, expected 1 to be "
                               "dropped",
                               d, x->dims[d]);
    }
    c->out_shape[0] = y;
    return QRN_OK;
}

// One row of `ranges` on a dimension of the input.
typedef struct range {
    int64_t begin, end, stride;
    bool open_begin, open_end, shrink, dynamic;
} range;

// Number of elements that a range takes of `dim`. The dims at execution may be smaller than the
// ones that the range was written for: then it is cut.
static qrn_status range_size(const qrn_op_call *c, uint32_t row, range r, int64_t dim,
                             uint32_t *size) {
    const char *what = NULL;
    if (r.open_begin)
        r.begin = r.stride > 0 ? 0 : dim - 1;
    if (r.open_end)
        r.end = r.stride > 0 ? dim : -1;
    if (r.dynamic && r.begin > dim - 1)
        r.begin = dim - 1;
    if (r.dynamic && r.end > dim)
        r.end = dim;
    if (r.stride == 0)
        what = "stride 0";
    else if (r.begin < 0 || r.begin >= dim)
        what = "begin outside of the dimension";
    else if (!r.shrink && (r.end < -1 || r.end > dim))
        what = "end outside of the dimension";
    else if (!r.shrink && (r.stride > 0 ? r.end < r.begin : r.end > r.begin))
        what = "stride leads away from end";
    if (what)
        return qrn_op_fail(c, QRN_E_PARAM,
                           "parameter 'ranges': row %u [%lld,%lld,%lld] on a dimension of %lld: %s",
                           row, (long long)r.begin, (long long)r.end, (long long)r.stride,
                           (long long)dim, what);
    int64_t step = r.stride > 0 ? r.stride : -r.stride;
    int64_t length = r.stride > 0 ? r.end - r.begin : r.begin - r.end;
    int64_t n = (length + step - 1) / step;
    *size = n > 1 ? (uint32_t)n : 1;
    return QRN_OK;
}

static uint32_t bits_set(uint32_t mask, uint32_t below) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < below && i < 32; i++)
        n += mask >> i & 1u;
    return n;
}

qrn_status qrn_rule_strided_slice(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0];
    const qrn_param *p = qrn_op_param(c, "ranges");
    size_t n;
    const int32_t *ranges = qrn_op_i32s(c, "ranges", &n);
    uint32_t begin_mask = qrn_op_u32(c, "begin_mask", 0), end_mask = qrn_op_u32(c, "end_mask", 0);
    uint32_t shrink = qrn_op_u32(c, "shrink_axes", 0), added = qrn_op_u32(c, "new_axes_mask", 0);
    uint32_t rows = p->tensor->shape.dims[0], at = 0;
    QRN_TRY(qrn_move_types(c, 0, 0));
    QRN_TRY(qrn_move_param_dims(c, "ranges", rows, 3));
    if (rows > QRN_MAX_RANK || rows - bits_set(added, rows) != x->rank)
        return qrn_op_fail(c, QRN_E_PARAM,
                           "parameter 'ranges': %u rows of which %u are new axes, expected %u for "
                           "the dimensions of the input",
                           rows, bits_set(added, rows), x->rank);
    if (!ranges)
        return QRN_OK;
    qrn_shape y = {0};
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t bit = 1u << i, size = 1;
        if (added & bit) {
            y.dims[y.rank++] = 1;
            continue;
        }
        range r = {ranges[3 * i],
                   ranges[3 * i + 1],
                   ranges[3 * i + 2],
                   (begin_mask & bit) != 0,
                   (end_mask & bit) != 0,
                   (shrink & bit) != 0,
                   c->in[0]->dynamic[at] != 0};
        QRN_TRY(range_size(c, i, r, x->dims[at++], &size));
        if (!(shrink & bit))
            y.dims[y.rank++] = size;
    }
    c->out_shape[0] = y;
    return QRN_OK;
}
