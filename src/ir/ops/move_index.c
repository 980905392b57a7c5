// SPDX-License-Identifier: MIT
//
// Shape rules of gather, scatter and generator ops. Indices that are known are checked here, the
// others by the kernels.
#include "ir/ops/move.h"

// Number of 32-bit indices that are known; 0 when they are not.
static size_t known_indices(const qrn_op_call *c, uint32_t i) {
    const qrn_tensor *t = c->in[i];
    size_t n;
    bool words = t->dtype == QRN_DTYPE_I32 || t->dtype == QRN_DTYPE_U32;
    return t->data && words && qrn_shape_count(&c->in_shape[i], &n) ? n : 0;
}

static int64_t index_value(const qrn_tensor *t, size_t k) {
    if (t->dtype == QRN_DTYPE_I32)
        return ((const int32_t *)t->data)[k];
    return ((const uint32_t *)t->data)[k];
}

// Known index k of input i is in -dim .. dim-1.
static qrn_status check_index(const qrn_op_call *c, uint32_t i, size_t k, int64_t dim) {
    int64_t v = index_value(c->in[i], k);
    if (v >= -dim && v < dim)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_SHAPE,
                       "input %u: index %lld at position %zu, expected %lld to %lld", i,
                       (long long)v, k, (long long)-dim, (long long)dim - 1);
}

static qrn_status check_axis_indices(const qrn_op_call *c, uint32_t dim) {
    size_t n = known_indices(c, 1);
    for (size_t k = 0; k < n; k++)
        QRN_TRY(check_index(c, 1, k, dim));
    return QRN_OK;
}

static qrn_status check_tuple_indices(const qrn_op_call *c, const uint32_t *dims, uint32_t q) {
    size_t n = known_indices(c, 1);
    for (size_t k = 0; k < n; k++)
        QRN_TRY(check_index(c, 1, k, dims[k % q]));
    return QRN_OK;
}

qrn_status qrn_rule_batch_permutation(const qrn_op_call *c) {
    qrn_shape y = c->in_shape[0];
    QRN_TRY(qrn_move_types(c, 0, 0));
    if (c->in_shape[1].dims[0] > y.dims[0])
        return qrn_op_fail(c, QRN_E_SHAPE, "input 1: %u indices, expected at most %u",
                           c->in_shape[1].dims[0], y.dims[0]);
    size_t n = known_indices(c, 1);
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < k; j++) {
            int64_t v = index_value(c->in[1], k);
            if (v == index_value(c->in[1], j) && v >= 0 && v < y.dims[0])
                return qrn_op_fail(c, QRN_E_SHAPE, "input 1: index %lld occurs twice",
                                   (long long)v);
        }
    y.dims[0] = c->in_shape[1].dims[0];
    c->out_shape[0] = y;
    return QRN_OK;
}

static qrn_status check_rank(const qrn_op_call *c, uint32_t rank) {
    if (rank <= QRN_MAX_RANK)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_SHAPE, "output 0: rank %u, expected at most %u", rank,
                       QRN_MAX_RANK);
}

qrn_status qrn_rule_gather(const qrn_op_call *c) {
    const qrn_shape *table = &c->in_shape[0], *idx = &c->in_shape[1];
    int32_t axis = qrn_op_i32(c, "axis", 0);
    QRN_TRY(qrn_move_types(c, 0, 0));
    if (axis < 0 || (uint32_t)axis >= table->rank)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'axis': %d, expected 0 to %u", axis,
                           table->rank - 1);
    QRN_TRY(check_rank(c, table->rank + idx->rank - 1));
    qrn_shape y = {0};
    for (uint32_t d = 0; d < table->rank; d++) {
        if (d != (uint32_t)axis) {
            y.dims[y.rank++] = table->dims[d];
            continue;
        }
        for (uint32_t i = 0; i < idx->rank; i++)
            y.dims[y.rank++] = idx->dims[i];
    }
    c->out_shape[0] = y;
    return check_axis_indices(c, table->dims[axis]);
}

// Indices have the rank of x and, but for the axis, no dim larger than it has.
static qrn_status check_element_indices(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0], *idx = &c->in_shape[1];
    uint32_t axis = qrn_op_u32(c, "axis", 0);
    QRN_TRY(qrn_move_types(c, 0, 0));
    QRN_TRY(qrn_move_axis(c, "axis", axis, x->rank));
    if (idx->rank != x->rank)
        return qrn_op_fail(c, QRN_E_SHAPE, "input 1: rank %u, expected %u as input 0", idx->rank,
                           x->rank);
    for (uint32_t d = 0; d < x->rank; d++)
        if (d != axis && idx->dims[d] > x->dims[d])
            return qrn_op_fail(c, QRN_E_SHAPE,
                               "input 1: dimension %u is %u, expected at most %u as input 0", d,
                               idx->dims[d], x->dims[d]);
    return check_axis_indices(c, x->dims[axis]);
}

qrn_status qrn_rule_gather_elements(const qrn_op_call *c) {
    QRN_TRY(check_element_indices(c));
    c->out_shape[0] = c->in_shape[1];
    return QRN_OK;
}

static qrn_status check_updates(const qrn_op_call *c, const qrn_shape *want) {
    const qrn_shape *have = &c->in_shape[2];
    bool one = have->rank + want->rank == 1 && (have->rank ? have : want)->dims[0] == 1;
    QRN_TRY(qrn_move_types(c, 2, 0));
    if (one || qrn_shape_equal(have, want))
        return QRN_OK;
    char a[128], b[128];
    return qrn_op_fail(c, QRN_E_SHAPE, "input 2: shape %s, expected %s",
                       qrn_shape_text(have, a, sizeof a), qrn_shape_text(want, b, sizeof b));
}

qrn_status qrn_rule_scatter_elements(const qrn_op_call *c) {
    QRN_TRY(check_element_indices(c));
    QRN_TRY(check_updates(c, &c->in_shape[1]));
    return qrn_rule_same_shape(c);
}

// Shape of what the tuples of indices name: indices[:-1] + table[first + q:].
static qrn_status tuple_shape(const qrn_op_call *c, uint32_t first, qrn_shape *out) {
    const qrn_shape *table = &c->in_shape[0], *idx = &c->in_shape[1];
    uint32_t q = idx->dims[idx->rank - 1];
    if (q == 0 || q > table->rank - first)
        return qrn_op_fail(c, QRN_E_SHAPE, "input 1: last dimension is %u, expected 1 to %u", q,
                           table->rank - first);
    QRN_TRY(check_rank(c, idx->rank - 1 + table->rank - first - q));
    qrn_shape y = {0};
    for (uint32_t d = 0; d + 1 < idx->rank; d++)
        y.dims[y.rank++] = idx->dims[d];
    for (uint32_t d = first + q; d < table->rank; d++)
        y.dims[y.rank++] = table->dims[d];
    *out = y;
    return check_tuple_indices(c, table->dims + first, q);
}

qrn_status qrn_rule_gather_nd(const qrn_op_call *c) {
    const qrn_shape *table = &c->in_shape[0], *idx = &c->in_shape[1];
    uint32_t batch_dims = qrn_op_u32(c, "batch_dims", 0);
    uint32_t limit = table->rank < idx->rank ? table->rank : idx->rank;
    QRN_TRY(qrn_move_types(c, 0, 0));
    QRN_TRY(qrn_move_axis(c, "batch_dims", batch_dims, limit));
    for (uint32_t d = 0; d < batch_dims; d++)
        if (table->dims[d] != idx->dims[d])
            return qrn_op_fail(c, QRN_E_SHAPE,
                               "input 1: batch dimension %u is %u, expected %u as input 0", d,
                               idx->dims[d], table->dims[d]);
    return tuple_shape(c, batch_dims, &c->out_shape[0]);
}

qrn_status qrn_rule_scatter_nd(const qrn_op_call *c) {
    qrn_shape updates = {0};
    QRN_TRY(qrn_move_types(c, 0, 0));
    QRN_TRY(tuple_shape(c, 0, &updates));
    QRN_TRY(check_updates(c, &updates));
    return qrn_rule_same_shape(c);
}

qrn_status qrn_rule_nonzero(const qrn_op_call *c) {
    size_t count;
    if (!qrn_shape_count(&c->in_shape[0], &count) || count > UINT32_MAX)
        return qrn_op_fail(c, QRN_E_SHAPE, "input 0: has more elements than can be listed");
    c->out_shape[0] = (qrn_shape){.rank = 2, .dims = {(uint32_t)count, c->in_shape[0].rank}};
    return QRN_OK;
}

// on_value and off_value: a real number, or a quantized value of the output's own type.
static qrn_status check_hot_value(const qrn_op_call *c, const char *name) {
    const qrn_param *p = qrn_op_param(c, name);
    if (!p->present || qrn_dtype_is_float(p->dtype) || p->dtype == c->out[0]->dtype)
        return qrn_move_quantized(c, name, false);
    return qrn_op_fail(c, QRN_E_PARAM,
                       "parameter '%s': data type %s, expected f32 or %s as the "
                       "output",
                       name, qrn_dtypes[p->dtype].token, qrn_dtypes[c->out[0]->dtype].token);
}

qrn_status qrn_rule_one_hot(const qrn_op_call *c) {
    const qrn_shape *idx = &c->in_shape[0];
    uint32_t axis = qrn_op_u32(c, "axis", idx->rank), depth = qrn_op_u32(c, "depth", 1);
    QRN_TRY(qrn_move_axis(c, "axis", axis, idx->rank + 1));
    QRN_TRY(check_hot_value(c, "on_value"));
    QRN_TRY(check_hot_value(c, "off_value"));
    if (depth == 0)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'depth': 0, expected at least 1");
    QRN_TRY(check_rank(c, idx->rank + 1));
    qrn_shape y = {.rank = idx->rank + 1};
    for (uint32_t d = 0; d < y.rank; d++)
        y.dims[d] = d == axis ? depth : idx->dims[d - (d > axis)];
    c->out_shape[0] = y;
    return QRN_OK;
}

qrn_status qrn_rule_constant_of_shape(const qrn_op_call *c) {
    const qrn_param *value = qrn_op_param(c, "value");
    qrn_dtype t = c->out[0]->dtype;
    int64_t lo, hi;
    qrn_quant_range(t, 0, &lo, &hi);
    bool fits = value->dtype == QRN_DTYPE_I64 && qrn_dtype_is_int(t) && value->value.i >= lo &&
                value->value.i <= hi;
    if (value->dtype != t && !fits)
        return qrn_op_fail(c, QRN_E_DTYPE,
                           "output 0: data type %s, expected %s as parameter "
                           "'value'",
                           qrn_dtypes[t].token, qrn_dtypes[value->dtype].token);
    uint32_t n = c->in_shape[0].dims[0];
    QRN_TRY(check_rank(c, n));
    const uint32_t *dims = c->in[0]->data;
    if (!dims)
        return QRN_OK; // the kernel compares them
    qrn_shape y = {.rank = n};
    for (uint32_t d = 0; d < n; d++)
        y.dims[d] = dims[d];
    c->out_shape[0] = y;
    return QRN_OK;
}

qrn_status qrn_rule_shape(const qrn_op_call *c) {
    uint32_t rank = c->in_shape[0].rank;
    uint32_t start = qrn_op_u32(c, "start", 0), end = qrn_op_u32(c, "end", rank);
    QRN_TRY(qrn_move_axis(c, "start", start, rank));
    if (end <= start || end > rank)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'end': %u, expected %u to %u", end, start + 1,
                           rank);
    c->out_shape[0] = (qrn_shape){.rank = 1, .dims = {end - start}};
    return QRN_OK;
}
