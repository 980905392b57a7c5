// SPDX-License-Identifier: MIT
//
// Op table: reductions, sorting, scans, softmax and normalization.
// Rows in alphabetical order, their shape rules above them.
#include "ir/ops/row.h"

// Enumerators that rules look at.
enum { LRN_WITHIN_CHANNEL = 1, MASKED_SOFTMAX_COMPRESSED = 1 };

// Reads a list of axes into a bit mask; *known is false while the data is not there yet. Negative
// entries (signed lists only) count from the end.
static qrn_status axes_mask(const qrn_op_call *c, const char *name, uint32_t rank, uint32_t *mask,
                            bool *known) {
    size_t n;
    const qrn_tensor *t = qrn_op_param(c, name)->tensor;
    const int32_t *axes = qrn_op_i32s(c, name, &n);
    bool is_signed = t && t->dtype == QRN_DTYPE_I32;
    *mask = 0;
    *known = axes != NULL;
    for (size_t i = 0; axes && i < n; i++) {
        int64_t axis = is_signed ? axes[i] : (int64_t)(uint32_t)axes[i];
        axis += is_signed && axis < 0 ? (int64_t)rank : 0;
        if (axis < 0 || axis >= (int64_t)rank)
            return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': entry %zu is %lld, rank is %u",
                               name, i, (long long)axis, rank);
        if (*mask >> axis & 1)
            return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': axis %lld is listed twice", name,
                               (long long)axis);
        *mask |= 1u << axis;
    }
    return QRN_OK;
}

// The shape that remains when the axes of the mask are reduced; at least rank_min dimensions.
static qrn_shape reduced_shape(const qrn_shape *x, uint32_t mask, bool keep, uint32_t rank_min) {
    qrn_shape y = {0};
    for (uint32_t d = 0; d < x->rank; d++) {
        if (!(mask >> d & 1))
            y.dims[y.rank++] = x->dims[d];
        else if (keep)
            y.dims[y.rank++] = 1;
    }
    while (y.rank < rank_min)
        y.dims[y.rank++] = 1;
    return y;
}

static qrn_status check_axis(const qrn_op_call *c, uint32_t axis) {
    if (axis < c->in_shape[0].rank)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_PARAM, "parameter 'axis': %u, expected below the rank %u", axis,
                       c->in_shape[0].rank);
}

// A vector with one element per channel, the last dimension of input 0.
static qrn_status check_channels(const qrn_op_call *c, uint32_t i) {
    const qrn_shape *x = &c->in_shape[0];
    if (i >= c->n_in || !c->in[i] || c->in_shape[i].dims[0] == x->dims[x->rank - 1])
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_SHAPE, "input %u: %u elements, expected %u as channels of input 0",
                       i, c->in_shape[i].dims[0], x->dims[x->rank - 1]);
}

// Integers in, integers out.
static qrn_status check_kind(const qrn_op_call *c) {
    if (qrn_dtype_is_int(c->in[0]->dtype) == qrn_dtype_is_int(c->out[0]->dtype))
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_DTYPE, "output 0: data type %s does not go with %s of input 0",
                       qrn_dtypes[c->out[0]->dtype].token, qrn_dtypes[c->in[0]->dtype].token);
}

static qrn_status rule_arg(const qrn_op_call *c) {
    uint32_t axis = qrn_op_u32(c, "axis", 0);
    QRN_TRY(check_axis(c, axis));
    bool keep = qrn_op_bool(c, "keep_dims", false);
    c->out_shape[0] = reduced_shape(&c->in_shape[0], 1u << axis, keep, 0);
    return QRN_OK;
}

static qrn_status rule_along_axis(const qrn_op_call *c) {
    QRN_TRY(check_axis(c, qrn_op_u32(c, "axis", c->in_shape[0].rank - 1)));
    QRN_TRY(check_kind(c));
    return qrn_rule_same_shape(c);
}

static qrn_status reduce_to(const qrn_op_call *c, uint32_t rank_min) {
    uint32_t mask;
    bool known, keep = qrn_op_bool(c, "keep_dims", false);
    QRN_TRY(check_kind(c));
    QRN_TRY(axes_mask(c, "axes", c->in_shape[0].rank, &mask, &known));
    if (known && !mask)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'axes': empty, expected at least one axis");
    for (uint32_t o = 0; known && o < c->n_out; o++)
        c->out_shape[o] = reduced_shape(&c->in_shape[0], mask, keep, rank_min);
    return QRN_OK;
}

static qrn_status rule_reduce(const qrn_op_call *c) { return reduce_to(c, 1); }

static qrn_status rule_moments(const qrn_op_call *c) { return reduce_to(c, 0); }

// Axes mean nothing for a single value.
static qrn_status rule_reduce_sum_square(const qrn_op_call *c) {
    if (c->in_shape[0].rank)
        return reduce_to(c, 0);
    QRN_TRY(check_kind(c));
    return qrn_rule_same_shape(c);
}

static qrn_status rule_top_k(const qrn_op_call *c) {
    uint32_t k = qrn_op_u32(c, "k", 0), last = c->in_shape[0].rank - 1;
    if (k == 0 || k > c->in_shape[0].dims[last])
        return qrn_op_fail(c, QRN_E_PARAM,
                           "parameter 'k': %u, expected 1 to %u, the last dimension", k,
                           c->in_shape[0].dims[last]);
    QRN_TRY(check_kind(c));
    for (uint32_t o = 0; o < c->n_out; o++) {
        c->out_shape[o] = c->in_shape[0];
        c->out_shape[o].dims[last] = k;
    }
    return QRN_OK;
}

static qrn_status rule_per_channel(const qrn_op_call *c) {
    if (qrn_tensor_is_sparse(c->in[0]) != qrn_tensor_is_sparse(c->out[0]))
        return qrn_op_fail(c, QRN_E_TENSOR_UNSUPPORTED,
                           "input 0 and output 0: one is sparse, the other dense");
    QRN_TRY(check_channels(c, 1));
    QRN_TRY(check_channels(c, 2));
    return qrn_rule_same_shape(c);
}

static qrn_status rule_group_norm(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0];
    uint32_t group = qrn_op_u32(c, "group", 1), channels = x->dims[x->rank - 1];
    if (group == 0 || channels % group)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'group': %u does not divide %u channels",
                           group, channels);
    return rule_per_channel(c);
}

// gamma and beta have the dims of x at `axes`, in the order of the list.
static qrn_status rule_norm_over_axes(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0];
    uint32_t mask;
    bool known;
    QRN_TRY(axes_mask(c, "axes", x->rank, &mask, &known));
    size_t n;
    const uint32_t *axes = qrn_op_u32s(c, "axes", &n);
    qrn_shape want = {.rank = (uint32_t)n};
    for (uint32_t i = 0; axes && i < want.rank; i++)
        want.dims[i] = x->dims[axes[i]];
    for (uint32_t i = 1; known && i < c->n_in; i++) {
        char have[128], text[128];
        if (c->in[i] && !qrn_shape_equal(&c->in_shape[i], &want))
            return qrn_op_fail(c, QRN_E_SHAPE, "input %u: shape %s, expected %s as axes of input 0",
                               i, qrn_shape_text(&c->in_shape[i], have, sizeof have),
                               qrn_shape_text(&want, text, sizeof text));
    }
    return qrn_rule_same_shape(c);
}

static qrn_status rule_l2_norm(const qrn_op_call *c) {
    uint32_t mask;
    bool known;
    if (!qrn_op_param(c, "axis")->present && !qrn_op_param(c, "axes")->present)
        return qrn_op_fail(c, QRN_E_PARAM, "parameters 'axis' and 'axes': missing, one is needed");
    QRN_TRY(check_axis(c, qrn_op_u32(c, "axis", 0)));
    QRN_TRY(axes_mask(c, "axes", c->in_shape[0].rank, &mask, &known));
    return qrn_rule_same_shape(c);
}

static qrn_status rule_lrn(const qrn_op_call *c) {
    int32_t radius = qrn_op_i32(c, "radius", 0);
    if (radius < 0)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'radius': %d, expected at least 0", radius);
    if (qrn_op_u32(c, "region", 0) == LRN_WITHIN_CHANNEL && c->in_shape[0].rank != 4)
        return qrn_op_fail(c, QRN_E_SHAPE, "input 0: rank %u, expected 4 for WITHIN_CHANNEL",
                           c->in_shape[0].rank);
    return qrn_rule_same_shape(c);
}

static qrn_status rule_masked_softmax(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0], *mask = &c->in_shape[1];
    bool compressed = qrn_op_u32(c, "mode", 0) == MASKED_SOFTMAX_COMPRESSED;
    if (mask->dims[0] != x->dims[0])
        return qrn_op_fail(c, QRN_E_SHAPE, "input 1: batch %u, expected %u as input 0",
                           mask->dims[0], x->dims[0]);
    if (!compressed && mask->dims[1] != x->dims[3])
        return qrn_op_fail(c, QRN_E_SHAPE, "input 1: dimension 1 is %u, expected %u as input 0",
                           mask->dims[1], x->dims[3]);
    if (compressed && x->dims[2] != x->dims[3])
        return qrn_op_fail(c, QRN_E_SHAPE, "input 0: width %u, expected the depth %u (COMPRESSED)",
                           x->dims[2], x->dims[3]);
    return qrn_rule_same_shape(c);
}

// clang-format off
const qrn_op_def qrn_ops_reduce[] = {
    {
        .name = "Argmax",
        .category = "reduce",
        INS(REQUIRED("x", 1, MAX, ACT | I32 | U32)),
        OUTS(REQUIRED("index", 0, MAX, F32 | F16 | I32 | U32)),
        PARAMS(SCALAR("axis", U32),
               SCALAR_OPT("keep_dims", B8, "0")),
        .rule = rule_arg,
    },
    {
        .name = "Argmin",
        .category = "reduce",
        INS(REQUIRED("x", 1, MAX, ACT | I32 | U32)),
        OUTS(REQUIRED("index", 0, MAX, F32 | F16 | I32 | U32)),
        PARAMS(SCALAR("axis", U32),
               SCALAR_OPT("keep_dims", B8, "0")),
        .rule = rule_arg,
    },
    {
        .name = "Batchnorm",
        .category = "norm",
        INS(REQUIRED("x", 1, MAX, ACT),
            REQUIRED("weight", 1, 1, ACT16),
            OPTIONAL("bias", 1, 1, F32 | F16 | UQ8 | SQ8 | SQ32)),
        OUTS(REQUIRED("y", 1, MAX, ACT)),
        .flags = QRN_OP_SPARSE,
        .rule = rule_per_channel,
    },
    {
        .name = "CumulativeSum",
        .category = "scan",
        INS(REQUIRED("x", 1, MAX, F32 | F16 | UQ8 | UQ16 | I32)),
        OUTS(REQUIRED("y", 1, MAX, F32 | F16 | UQ8 | UQ16 | I32)),
        PARAMS(SCALAR("axis", U32),
               SCALAR_OPT("exclusive", B8, "0"),
               SCALAR_OPT("reverse", B8, "0")),
        .rule = rule_along_axis,
    },
    {
        .name = "GroupNorm",
        .category = "norm",
        INS(REQUIRED("x", 1, MAX, F32 | F16 | UQ8 | UQ16),
            OPTIONAL("gamma", 1, 1, ACT16),
            OPTIONAL("beta", 1, 1, ACT16 | SQ32)),
        OUTS(REQUIRED("y", 1, MAX, F32 | F16 | UQ8 | UQ16)),
        PARAMS(SCALAR("epsilon", F32),
               SCALAR("group", U32)),
        .rule = rule_group_norm,
    },
    {
        .name = "InstanceNorm",
        .category = "norm",
        INS(REQUIRED("x", 3, MAX, F32 | F16 | UQ8 | UQ16),
            REQUIRED("gamma", 1, 1, F32 | F16 | UQ8 | UQ16),
            OPTIONAL("beta", 1, 1, F32 | F16 | UQ8 | SQ32)),
        OUTS(REQUIRED("y", 3, MAX, F32 | F16 | UQ8 | UQ16)),
        PARAMS(SCALAR_OPT("epsilon", F32, "1e-12"),
               ENUM_OPT("mode", U32, "0", {"MU_SIGMA", 0}, {"RMS", 1}),
               SCALAR_OPT("normalize_variance", B8, "1"),
               ENUM_OPT("region", U32, "0", {"ACROSS_SPATIAL", 0}, {"ACROSS_CHANNEL", 1},
                   {"ACROSS_ALL", 2})),
        .rule = rule_per_channel,
    },
    {
        .name = "L2Norm",
        .category = "norm",
        INS(REQUIRED("x", 1, MAX, ACT)),
        OUTS(REQUIRED("y", 1, MAX, ACT)),
        PARAMS(SCALAR_OPT("axis", U32, "0"),
               TENSOR_OPT("axes", U32, 1, "zeros"),
               SCALAR_OPT("epsilon", F32, "1e-12")),
        .rule = rule_l2_norm,
    },
    {
        .name = "LayerNorm",
        .category = "norm",
        INS(REQUIRED("x", 1, MAX, F32 | F16 | UQ8 | UQ16),
            OPTIONAL("gamma", 1, MAX, F32 | F16 | UQ8 | UQ16 | SQ16),
            OPTIONAL("beta", 1, MAX, F32 | F16 | UQ8 | UQ16 | SQ16 | SQ32)),
        OUTS(REQUIRED("y", 1, MAX, F32 | F16 | UQ8 | UQ16)),
        PARAMS(SCALAR_OPT("epsilon", F32, "0.001"),
               TENSOR("axes", U32, 1)),
        .rule = rule_norm_over_axes,
    },
    {
        .name = "LogSoftmax",
        .category = "softmax",
        INS(REQUIRED("x", 1, MAX, ACT)),
        OUTS(REQUIRED("y", 1, MAX, ACT)),
        PARAMS(SCALAR("axis", U32),
               SCALAR_OPT("beta", F32, "1.0")),
        .rule = rule_along_axis,
    },
    {
        .name = "Lrn",
        .category = "norm",
        INS(REQUIRED("x", 1, MAX, F32 | F16 | UQ8)),
        OUTS(REQUIRED("y", 1, MAX, F32 | F16 | UQ8)),
        PARAMS(SCALAR_OPT("alpha", F32, "1"),
               SCALAR_OPT("beta", F32, "0.5"),
               SCALAR_OPT("bias", F32, "1"),
               SCALAR("radius", I32),
               ENUM_OPT("region", U32, "0", {"ACROSS_CHANNEL", 0}, {"WITHIN_CHANNEL", 1})),
        .rule = rule_lrn,
    },
    {
        .name = "MaskedSoftmax",
        .category = "softmax",
        INS(REQUIRED("x", 4, 4, F32 | UQ8 | UQ16),
            REQUIRED("mask", 2, 2, F32 | UQ8 | UQ16 | I32)),
        OUTS(REQUIRED("y", 4, 4, F32 | UQ8 | UQ16)),
        PARAMS(ENUM_OPT("mode", U32, "0", {"UNCOMPRESSED", 0}, {"COMPRESSED", 1})),
        .rule = rule_masked_softmax,
    },
    {
        .name = "Moments",
        .category = "reduce",
        INS(REQUIRED("x", 1, MAX, F32)),
        OUTS(REQUIRED("mean", 0, MAX, F32),
             REQUIRED("variance", 0, MAX, F32)),
        PARAMS(TENSOR("axes", I32, 1),
               SCALAR("keep_dims", B8)),
        .rule = rule_moments,
    },
    {
        .name = "ReduceMax",
        .category = "reduce",
        INS(REQUIRED("x", 1, MAX, ACT16 | INTS | B8)),
        OUTS(REQUIRED("y", 1, MAX, ACT16 | INTS | B8)),
        PARAMS(TENSOR("axes", U32, 1),
               SCALAR_OPT("keep_dims", B8, "0")),
        .rule = rule_reduce,
    },
    {
        .name = "ReduceMean",
        .category = "reduce",
        INS(REQUIRED("x", 1, MAX, ACT16)),
        OUTS(REQUIRED("y", 1, MAX, ACT16)),
        PARAMS(TENSOR("axes", U32, 1),
               SCALAR_OPT("keep_dims", B8, "0")),
        .flags = QRN_OP_DYNAMIC,
        .rule = rule_reduce,
    },
    {
        .name = "ReduceMin",
        .category = "reduce",
        INS(REQUIRED("x", 1, MAX, ACT | INTS | B8)),
        OUTS(REQUIRED("y", 1, MAX, ACT | INTS | B8)),
        PARAMS(TENSOR("axes", U32, 1),
               SCALAR_OPT("keep_dims", B8, "0")),
        .rule = rule_reduce,
    },
    {
        .name = "ReduceProd",
        .category = "reduce",
        INS(REQUIRED("x", 1, MAX, FLOATS)),
        OUTS(REQUIRED("y", 1, MAX, FLOATS)),
        PARAMS(TENSOR("axes", U32, 1),
               SCALAR_OPT("keep_dims", B8, "0")),
        .rule = rule_reduce,
    },
    {
        .name = "ReduceSum",
        .category = "reduce",
        INS(REQUIRED("x", 1, MAX, ACT16 | I32)),
        OUTS(REQUIRED("y", 1, MAX, ACT16 | I32)),
        PARAMS(TENSOR("axes", U32, 1),
               SCALAR_OPT("keep_dims", B8, "0")),
        .rule = rule_reduce,
    },
    {
        .name = "ReduceSumSquare",
        .category = "reduce",
        INS(REQUIRED("x", 0, MAX, F32 | I32)),
        OUTS(REQUIRED("y", 0, MAX, F32 | I32)),
        PARAMS(TENSOR("axes", U32, 1),
               SCALAR_OPT("keep_dims", B8, "0")),
        .rule = rule_reduce_sum_square,
    },
    {
        .name = "RmsNorm",
        .category = "norm",
        INS(REQUIRED("x", 1, MAX, F32 | F16 | BF16 | UQ8 | UQ16),
            OPTIONAL("gamma", 1, MAX, F32 | F16 | BF16 | UQ8 | UQ16),
            OPTIONAL("beta", 1, MAX, F32 | F16 | BF16 | UQ8 | UQ16 | SQ32)),
        OUTS(REQUIRED("y", 1, MAX, F32 | F16 | BF16 | UQ8 | UQ16)),
        PARAMS(SCALAR_OPT("epsilon", F32, "1e-06"),
               TENSOR("axes", U32, 1)),
        .flags = QRN_OP_DYNAMIC,
        .rule = rule_norm_over_axes,
    },
    {
        .name = "Softmax",
        .category = "softmax",
        INS(REQUIRED("x", 1, MAX, ACT16)),
        OUTS(REQUIRED("y", 1, MAX, ACT16)),
        PARAMS(SCALAR_OPT("axis", U32, "N-1"),
               SCALAR_OPT("beta", F32, "1.0")),
        .flags = QRN_OP_DYNAMIC,
        .rule = rule_along_axis,
    },
    {
        .name = "TopK",
        .category = "sort",
        INS(REQUIRED("x", 1, MAX, ACT | I32)),
        OUTS(REQUIRED("values", 1, MAX, ACT | I32),
             REQUIRED("indices", 1, MAX, I32 | U32)),
        PARAMS(SCALAR("k", U32),
               SCALAR_OPT("largest", B8, "1")),
        .rule = rule_top_k,
    },
};
// clang-format on

const size_t qrn_ops_reduce_count = sizeof(qrn_ops_reduce) / sizeof(qrn_ops_reduce[0]);
