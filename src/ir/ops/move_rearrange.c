// SPDX-License-Identifier: MIT
//
// Shape rules of the ops that rearrange: blocks, channels, joining, cutting, padding, repeating.
#include "ir/ops/move.h"

static bool is_real(qrn_dtype t) { return qrn_dtype_is_float(t) || qrn_dtype_is_fixed(t); }

qrn_status qrn_move_types(const qrn_op_call *c, uint32_t i, uint32_t o) {
    if (is_real(c->in[i]->dtype) && is_real(c->out[o]->dtype))
        return QRN_OK;
    return qrn_op_same_dtype(c, i, o);
}

qrn_status qrn_move_axis(const qrn_op_call *c, const char *name, uint64_t axis, uint32_t limit) {
    if (axis < limit)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': %llu, expected 0 to %u", name,
                       (unsigned long long)axis, limit - 1);
}

qrn_status qrn_move_param_dims(const qrn_op_call *c, const char *name, uint32_t n_rows,
                               uint32_t n_cols) {
    const qrn_param *p = qrn_op_param(c, name);
    if (!p->present || !p->tensor)
        return QRN_OK;
    char have[128], want[128];
    qrn_shape expected = {.rank = n_cols ? 2 : 1, .dims = {n_rows, n_cols}};
    if (qrn_shape_equal(&p->tensor->shape, &expected))
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': shape %s, expected %s", name,
                       qrn_shape_text(&p->tensor->shape, have, sizeof have),
                       qrn_shape_text(&expected, want, sizeof want));
}

qrn_status qrn_move_dim(const qrn_op_call *c, uint32_t d, uint64_t size, uint32_t *dim) {
    if (size == 0 || size > UINT32_MAX)
        return qrn_op_fail(c, QRN_E_SHAPE, "output 0: dimension %u would be %llu", d,
                           (unsigned long long)size);
    *dim = (uint32_t)size;
    return QRN_OK;
}

// block_size: *bh and *bw; *known is false when its data is not there yet.
static qrn_status read_block(const qrn_op_call *c, uint64_t *bh, uint64_t *bw, bool *known) {
    size_t n;
    const uint32_t *block = qrn_op_u32s(c, "block_size", &n);
    QRN_TRY(qrn_move_types(c, 0, 0));
    QRN_TRY(qrn_move_param_dims(c, "block_size", 2, 0));
    *known = block != NULL;
    if (!block)
        return QRN_OK;
    if (block[0] == 0 || block[1] == 0)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'block_size': [%u,%u], expected at least 1",
                           block[0], block[1]);
    *bh = block[0];
    *bw = block[1];
    return QRN_OK;
}

static qrn_status check_divides(const qrn_op_call *c, uint32_t d, uint64_t size, uint64_t by) {
    if (size % by == 0)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_SHAPE,
                       "input 0: dimension %u, with any padding, is %llu, expected a "
                       "multiple of %llu",
                       d, (unsigned long long)size, (unsigned long long)by);
}

// [[top, bottom], [left, right]]; zeros when absent.
static qrn_status read_margins(const qrn_op_call *c, const char *name, uint64_t *rows,
                               uint64_t *cols) {
    size_t n;
    const uint32_t *m = qrn_op_u32s(c, name, &n);
    QRN_TRY(qrn_move_param_dims(c, name, 2, 2));
    *rows = m ? (uint64_t)m[0] + m[1] : 0;
    *cols = m ? (uint64_t)m[2] + m[3] : 0;
    return QRN_OK;
}

static bool margins_known(const qrn_op_call *c, const char *name) {
    size_t n;
    return !qrn_op_param(c, name)->present || qrn_op_u32s(c, name, &n);
}

qrn_status qrn_rule_batch_to_space(const qrn_op_call *c) {
    uint64_t bh = 1, bw = 1, rows, cols;
    bool known;
    const uint32_t *x = c->in_shape[0].dims;
    QRN_TRY(read_block(c, &bh, &bw, &known));
    QRN_TRY(read_margins(c, "crops", &rows, &cols));
    if (!known || !margins_known(c, "crops"))
        return QRN_OK;
    uint64_t height = x[1] * bh, width = x[2] * bw;
    QRN_TRY(check_divides(c, 0, x[0], bh * bw));
    if (rows >= height || cols >= width)
        return qrn_op_fail(c, QRN_E_PARAM,
                           "parameter 'crops': %llu rows and %llu columns of %llu x %llu leave "
                           "nothing",
                           (unsigned long long)rows, (unsigned long long)cols,
                           (unsigned long long)height, (unsigned long long)width);
    qrn_shape y = {.rank = 4, .dims = {(uint32_t)(x[0] / (bh * bw)), 0, 0, x[3]}};
    QRN_TRY(qrn_move_dim(c, 1, height - rows, &y.dims[1]));
    QRN_TRY(qrn_move_dim(c, 2, width - cols, &y.dims[2]));
    c->out_shape[0] = y;
    return QRN_OK;
}

qrn_status qrn_rule_space_to_batch(const qrn_op_call *c) {
    uint64_t bh = 1, bw = 1, rows, cols;
    bool known;
    const uint32_t *x = c->in_shape[0].dims;
    QRN_TRY(read_block(c, &bh, &bw, &known));
    QRN_TRY(read_margins(c, "pad_amount", &rows, &cols));
    if (!known || !margins_known(c, "pad_amount"))
        return QRN_OK;
    QRN_TRY(check_divides(c, 1, x[1] + rows, bh));
    QRN_TRY(check_divides(c, 2, x[2] + cols, bw));
    qrn_shape y = {.rank = 4, .dims = {0, 0, 0, x[3]}};
    if (bh * bw > UINT32_MAX)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'block_size': [%llu,%llu] is too large",
                           (unsigned long long)bh, (unsigned long long)bw);
    QRN_TRY(qrn_move_dim(c, 0, x[0] * (bh * bw), &y.dims[0]));
    QRN_TRY(qrn_move_dim(c, 1, (x[1] + rows) / bh, &y.dims[1]));
    QRN_TRY(qrn_move_dim(c, 2, (x[2] + cols) / bw, &y.dims[2]));
    c->out_shape[0] = y;
    return QRN_OK;
}

qrn_status qrn_rule_depth_to_space(const qrn_op_call *c) {
    uint64_t bh = 1, bw = 1;
    bool known;
    const uint32_t *x = c->in_shape[0].dims;
    QRN_TRY(read_block(c, &bh, &bw, &known));
    if (!known)
        return QRN_OK;
    QRN_TRY(check_divides(c, 3, x[3], bh * bw));
    qrn_shape y = {.rank = 4, .dims = {x[0], 0, 0, (uint32_t)(x[3] / (bh * bw))}};
    QRN_TRY(qrn_move_dim(c, 1, x[1] * bh, &y.dims[1]));
    QRN_TRY(qrn_move_dim(c, 2, x[2] * bw, &y.dims[2]));
    c->out_shape[0] = y;
    return QRN_OK;
}

qrn_status qrn_rule_space_to_depth(const qrn_op_call *c) {
    uint64_t bh = 1, bw = 1;
    bool known;
    const uint32_t *x = c->in_shape[0].dims;
    QRN_TRY(read_block(c, &bh, &bw, &known));
    if (!known)
        return QRN_OK;
    QRN_TRY(check_divides(c, 1, x[1], bh));
    QRN_TRY(check_divides(c, 2, x[2], bw));
    qrn_shape y = {.rank = 4, .dims = {x[0], (uint32_t)(x[1] / bh), (uint32_t)(x[2] / bw), 0}};
    // bh and bw divide 32-bit dimensions, so the product of two of them fits 64 bits.
    QRN_TRY(qrn_move_dim(c, 3, bh * bw > UINT32_MAX ? UINT64_MAX : bh * bw * x[3], &y.dims[3]));
    c->out_shape[0] = y;
    return QRN_OK;
}

qrn_status qrn_rule_channel_shuffle(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0];
    uint32_t axis = qrn_op_u32(c, "axis", x->rank - 1), groups = qrn_op_u32(c, "num_groups", 1);
    QRN_TRY(qrn_move_types(c, 0, 0));
    QRN_TRY(qrn_move_axis(c, "axis", axis, x->rank));
    if (groups == 0 || x->dims[axis] % groups)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'num_groups': %u, expected a divisor of %u",
                           groups, x->dims[axis]);
    return qrn_rule_same_shape(c);
}

// All inputs agree with the first one, but for dimension `except`.
static qrn_status check_alike(const qrn_op_call *c, uint32_t except) {
    for (uint32_t i = 0; i < c->n_in; i++) {
        qrn_shape x = c->in_shape[i];
        QRN_TRY(qrn_move_types(c, i, 0));
        if (except < x.rank)
            x.dims[except] = c->in_shape[0].dims[except];
        if (qrn_shape_equal(&x, &c->in_shape[0]))
            continue;
        char have[128], want[128];
        return qrn_op_fail(c, QRN_E_SHAPE, "input %u: shape %s does not fit %s of input 0", i,
                           qrn_shape_text(&c->in_shape[i], have, sizeof have),
                           qrn_shape_text(&c->in_shape[0], want, sizeof want));
    }
    return QRN_OK;
}

qrn_status qrn_rule_concat(const qrn_op_call *c) {
    qrn_shape y = c->in_shape[0];
    uint32_t axis = qrn_op_u32(c, "axis", y.rank - 1);
    uint64_t sum = 0;
    QRN_TRY(qrn_move_axis(c, "axis", axis, y.rank));
    QRN_TRY(check_alike(c, axis));
    for (uint32_t i = 0; i < c->n_in; i++)
        sum += c->in_shape[i].dims[axis];
    QRN_TRY(qrn_move_dim(c, axis, sum, &y.dims[axis]));
    c->out_shape[0] = y;
    return QRN_OK;
}

qrn_status qrn_rule_pack(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0];
    uint32_t axis = qrn_op_u32(c, "axis", 0);
    QRN_TRY(qrn_move_axis(c, "axis", axis, x->rank + 1));
    QRN_TRY(check_alike(c, UINT32_MAX));
    if (x->rank == QRN_MAX_RANK)
        return qrn_op_fail(c, QRN_E_SHAPE, "input 0: rank %u, expected at most %u", x->rank,
                           QRN_MAX_RANK - 1);
    qrn_shape y = {.rank = x->rank + 1};
    for (uint32_t d = 0; d < y.rank; d++)
        y.dims[d] = d == axis ? c->n_in : x->dims[d - (d > axis)];
    c->out_shape[0] = y;
    return QRN_OK;
}

qrn_status qrn_rule_unpack(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0];
    uint32_t axis = qrn_op_u32(c, "axis", 0);
    QRN_TRY(qrn_move_axis(c, "axis", axis, x->rank));
    if (c->n_out != x->dims[axis])
        return qrn_op_fail(c, QRN_E_OP_CONFIG, "%u outputs given, expected %u: dimension %u",
                           c->n_out, x->dims[axis], axis);
    qrn_shape y = {.rank = x->rank - 1};
    for (uint32_t d = 0; d < y.rank; d++)
        y.dims[d] = x->dims[d + (d >= axis)];
    for (uint32_t o = 0; o < c->n_out; o++) {
        QRN_TRY(qrn_move_types(c, 0, o));
        c->out_shape[o] = y;
    }
    return QRN_OK;
}

qrn_status qrn_rule_split(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0];
    uint32_t axis = qrn_op_u32(c, "axis", 0);
    size_t n;
    const uint32_t *index = qrn_op_u32s(c, "split_index", &n);
    QRN_TRY(qrn_move_axis(c, "axis", axis, x->rank));
    QRN_TRY(qrn_move_param_dims(c, "split_index", c->n_out - 1, 0));
    uint64_t begin = 0;
    for (uint32_t o = 0; o < c->n_out; o++) {
        QRN_TRY(qrn_move_types(c, 0, o));
        uint64_t end = x->dims[axis];
        if (o + 1 < c->n_out)
            end = index ? index[o]
                        : begin + (axis < c->out_shape[o].rank ? c->out_shape[o].dims[axis]
                                                               : UINT32_MAX);
        if (end <= begin || end > x->dims[axis])
            return qrn_op_fail(c, QRN_E_PARAM,
                               "parameter 'split_index': output %u would be [%llu, %llu) of %u", o,
                               (unsigned long long)begin, (unsigned long long)end, x->dims[axis]);
        c->out_shape[o] = *x;
        c->out_shape[o].dims[axis] = (uint32_t)(end - begin);
        begin = end;
    }
    return QRN_OK;
}

qrn_status qrn_rule_tile(const qrn_op_call *c) {
    qrn_shape y = c->in_shape[0];
    size_t n;
    const uint32_t *multiples = qrn_op_u32s(c, "multiples", &n);
    QRN_TRY(qrn_move_types(c, 0, 0));
    QRN_TRY(qrn_move_param_dims(c, "multiples", y.rank, 0));
    if (!multiples)
        return QRN_OK;
    for (uint32_t d = 0; d < y.rank; d++) {
        if (multiples[d] == 0)
            return qrn_op_fail(c, QRN_E_PARAM, "parameter 'multiples': entry %u is 0", d);
        QRN_TRY(qrn_move_dim(c, d, (uint64_t)y.dims[d] * multiples[d], &y.dims[d]));
    }
    c->out_shape[0] = y;
    return QRN_OK;
}

qrn_status qrn_rule_transpose(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0];
    size_t n;
    const uint32_t *perm = qrn_op_u32s(c, "perm", &n);
    QRN_TRY(qrn_move_types(c, 0, 0));
    QRN_TRY(qrn_move_param_dims(c, "perm", x->rank, 0));
    if (!perm)
        return QRN_OK;
    qrn_shape y = {.rank = x->rank};
    uint32_t seen = 0;
    for (uint32_t d = 0; d < x->rank; d++) {
        QRN_TRY(qrn_move_axis(c, "perm", perm[d], x->rank));
        if (seen & (1u << perm[d]))
            return qrn_op_fail(c, QRN_E_PARAM, "parameter 'perm': %u occurs twice", perm[d]);
        seen |= 1u << perm[d];
        y.dims[d] = x->dims[perm[d]];
    }
    c->out_shape[0] = y;
    return QRN_OK;
}

qrn_status qrn_move_quantized(const qrn_op_call *c, const char *name, bool moved) {
    const qrn_param *p = qrn_op_param(c, name);
    bool whole = p->present && !qrn_dtype_is_float(p->dtype);
    bool grouped = c->out[0]->quant.kind > QRN_QUANT_TENSOR ||
                   (moved && c->in[0]->quant.kind > QRN_QUANT_TENSOR);
    if (!whole || !grouped || !qrn_dtype_is_fixed(c->out[0]->dtype))
        return QRN_OK;
    return qrn_op_fail(
        c, QRN_E_PARAM,
        "parameter '%s': is a quantized value, but the tensors have more than one scale", name);
}

// pad_constant_value: a whole number must fit the type of the output; for fixed point it is a
// quantized value.
static qrn_status check_pad_value(const qrn_op_call *c) {
    const qrn_param *p = qrn_op_param(c, "pad_constant_value");
    qrn_dtype t = c->out[0]->dtype;
    if (!p->present || qrn_dtype_is_float(p->dtype) || qrn_dtype_is_float(t))
        return QRN_OK;
    QRN_TRY(qrn_move_quantized(c, "pad_constant_value", true));
    int64_t value = qrn_dtypes[p->dtype].cls == QRN_CLASS_UINT ? (int64_t)p->value.u : p->value.i;
    int64_t lo, hi;
    qrn_quant_range(t, c->out[0]->quant.bits, &lo, &hi);
    if (value >= lo && value <= hi)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_PARAM,
                       "parameter 'pad_constant_value': %lld, expected %lld to %lld for %s",
                       (long long)value, (long long)lo, (long long)hi, qrn_dtypes[t].token);
}

qrn_status qrn_rule_pad(const qrn_op_call *c) {
    qrn_shape y = c->in_shape[0];
    size_t n;
    const uint32_t *amount = qrn_op_u32s(c, "pad_amount", &n);
    uint32_t scheme = qrn_op_u32(c, "scheme", 0); // CONSTANT, SYMMETRIC, REFLECT, EDGE
    QRN_TRY(qrn_move_types(c, 0, 0));
    QRN_TRY(check_pad_value(c));
    QRN_TRY(qrn_move_param_dims(c, "pad_amount", y.rank, 2));
    if (!amount)
        return QRN_OK;
    for (uint32_t d = 0; d < y.rank; d++) {
        uint32_t limit = scheme == 1 ? y.dims[d] : scheme == 2 ? y.dims[d] - 1 : UINT32_MAX;
        if (amount[2 * d] > limit || amount[2 * d + 1] > limit)
            return qrn_op_fail(c, QRN_E_PARAM,
                               "parameter 'pad_amount': [%u,%u] for dimension %u, expected at most "
                               "%u when mirroring",
                               amount[2 * d], amount[2 * d + 1], d, limit);
        QRN_TRY(qrn_move_dim(c, d, (uint64_t)y.dims[d] + amount[2 * d] + amount[2 * d + 1],
                             &y.dims[d]));
    }
    c->out_shape[0] = y;
    return QRN_OK;
}
