// SPDX-License-Identifier: MIT
//
// Op table: convolutions and matmuls.
// Rows in alphabetical order, their shape rules above them.
#include "ir/ops/row.h"
#include "ir/ops/window.h"

#include <string.h>

// The bias (in[2]) has one value per output channel.
static bool lacks_scale(const qrn_tensor *t) {
    const qrn_quant *q = &t->quant;
    if (t->dtype != QRN_DTYPE_SQ32)
        return t->dtype == QRN_DTYPE_I32;
    bool zero = q->kind == QRN_QUANT_NONE || (q->kind == QRN_QUANT_TENSOR && q->scale == 0.0f);
    if (q->kind <= QRN_QUANT_TENSOR)
        return zero;
    for (uint32_t g = 0; g < q->n_groups; g++)
        if (qrn_quant_scale(q, g) != 0.0f)
            return false;
    return true;
}

static qrn_status check_bias(const qrn_op_call *c, uint32_t channels) {
    if (c->n_in > 2 && c->in[2] && c->in_shape[2].dims[0] != channels)
        return qrn_op_fail(c, QRN_E_SHAPE, "bias: %u values, expected %u", c->in_shape[2].dims[0],
                           channels);
    // A bias without a scale is in units of scale_x * scale_w: blocks have no such unit.
    if (c->n_in > 2 && c->in[2] && lacks_scale(c->in[2]) &&
        c->in[0]->quant.kind == QRN_QUANT_TENSOR && c->in[1]->quant.kind == QRN_QUANT_BLOCK)
        return qrn_op_fail(c, QRN_E_DTYPE, "bias: needs a scale, the weights have blocks");
    return QRN_OK;
}

static qrn_status check_group(const qrn_op_call *c, uint32_t group, uint32_t cin, uint32_t cout) {
    if (group == 0 || cin % group || cout % group)
        return qrn_op_fail(c, QRN_E_PARAM,
                           "parameter 'group': %u does not divide %u input and %u output channels",
                           group, cin, cout);
    return QRN_OK;
}

static bool has_param(const qrn_op_call *c, const char *name) {
    for (uint32_t i = 0; i < c->op->n_params; i++)
        if (strcmp(c->op->params[i].name, name) == 0)
            return true;
    return false;
}

// Window parameters with the filter's own size; filter dims [K..., in, out].
static qrn_status conv_window(const qrn_op_call *c, qrn_window *w) {
    const qrn_shape *f = &c->in_shape[1];
    QRN_TRY(qrn_window_read(c, f->rank - 2, w));
    for (uint32_t i = 0; i < w->n; i++)
        w->size[i] = f->dims[i];
    for (uint32_t i = 0; i < f->rank; i++)
        if (f->dims[i] == 0)
            return qrn_op_fail(c, QRN_E_SHAPE, "filter: dimension %u is 0", i);
    return QRN_OK;
}

// Indices of a sparse output come from a sparse input only.
static qrn_status check_sparse_reuse(const qrn_op_call *c) {
    const char *name = has_param(c, "reuse_sparse_indices")    ? "reuse_sparse_indices"
                       : has_param(c, "reuse_sparse_indicies") ? "reuse_sparse_indicies"
                                                               : NULL;
    if (name && qrn_op_bool(c, name, false) && c->in[0]->format != QRN_FORMAT_SPARSE)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s' needs a sparse input", name);
    return QRN_OK;
}

// x [N, S..., Cin], filter [K..., Cin/group, Cout] -> [N, So..., Cout]
static qrn_status forward(const qrn_op_call *c, uint32_t group) {
    const qrn_shape *x = &c->in_shape[0], *f = &c->in_shape[1];
    uint32_t last = x->rank - 1, cin = x->dims[last], cout = f->dims[last];
    qrn_window w;
    QRN_TRY(conv_window(c, &w));
    QRN_TRY(check_group(c, group, cin, cout));
    if (f->dims[last - 1] != cin / group)
        return qrn_op_fail(c, QRN_E_SHAPE, "filter: %u input channels, expected %u",
                           f->dims[last - 1], cin / group);
    QRN_TRY(check_bias(c, cout));
    QRN_TRY(check_sparse_reuse(c));
    c->out_shape[0].rank = x->rank;
    c->out_shape[0].dims[0] = x->dims[0];
    c->out_shape[0].dims[last] = cout;
    for (uint32_t i = 0; w.known && i < w.n; i++)
        QRN_TRY(qrn_window_forward(c, &w, i, x->dims[1 + i], false, &c->out_shape[0].dims[1 + i]));
    return QRN_OK;
}

static qrn_status conv_rule(const qrn_op_call *c) { return forward(c, qrn_op_u32(c, "group", 1)); }

static qrn_status depthwise_rule(const qrn_op_call *c) {
    return forward(c, c->in_shape[0].dims[c->in_shape[0].rank - 1]);
}

// x [N, S..., Cin], filter [K..., Cin, Cout/group] -> [N, So..., Cout]
static qrn_status transposed_rule(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0], *f = &c->in_shape[1];
    uint32_t last = x->rank - 1, group = qrn_op_u32(c, "group", 1);
    qrn_window w;
    QRN_TRY(conv_window(c, &w));
    uint64_t cout = (uint64_t)f->dims[last] * group;
    if (f->dims[last - 1] != x->dims[last])
        return qrn_op_fail(c, QRN_E_SHAPE, "filter: %u input channels, expected %u",
                           f->dims[last - 1], x->dims[last]);
    if (cout > UINT32_MAX)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'group': %u is too large", group);
    QRN_TRY(check_group(c, group, x->dims[last], (uint32_t)cout));
    QRN_TRY(check_bias(c, (uint32_t)cout));
    c->out_shape[0].rank = x->rank;
    c->out_shape[0].dims[0] = x->dims[0];
    c->out_shape[0].dims[last] = (uint32_t)cout;
    for (uint32_t i = 0; w.known && i < w.n; i++) {
        uint32_t *size = &c->out_shape[0].dims[1 + i], declared = *size;
        QRN_TRY(qrn_window_transposed(c, &w, i, x->dims[1 + i], size));
        // onnxruntime states a wanted size in the output alone and leaves output_padding at 0.
        if (declared > *size && declared - *size < w.stride[i] - w.output_padding[i])
            *size = declared;
    }
    return QRN_OK;
}

// x of any shape read as [batch, n], weight [m, n] -> [batch, m], [m] or [..., m]
static qrn_status fully_connected_rule(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0], *w = &c->in_shape[1];
    uint32_t m = w->dims[0], n = w->dims[1], last = x->dims[x->rank - 1];
    bool keep = qrn_op_bool(c, "keep_dims", false);
    size_t count;
    if (!qrn_shape_count(x, &count) || n == 0 || count % n)
        return qrn_op_fail(c, QRN_E_SHAPE, "input: not a whole number of rows of %u", n);
    if ((keep || x->rank == 1) && last != n)
        return qrn_op_fail(c, QRN_E_SHAPE, "input: last dimension %u, expected %u", last, n);
    QRN_TRY(check_bias(c, m));
    qrn_shape *y = &c->out_shape[0];
    if (keep || x->rank == 1) {
        *y = *x;
        y->dims[x->rank - 1] = m;
    } else {
        if (count / n > UINT32_MAX)
            return qrn_op_fail(c, QRN_E_SHAPE, "input: too many rows");
        *y = (qrn_shape){.rank = 2, .dims = {(uint32_t)(count / n), m}};
    }
    return QRN_OK;
}

static qrn_status matmul_rule(const qrn_op_call *c) {
    const qrn_shape *a = &c->in_shape[0], *b = &c->in_shape[1];
    bool ta = qrn_op_bool(c, "transpose_in0", false), tb = qrn_op_bool(c, "transpose_in1", false);
    uint32_t rows = a->dims[a->rank - (ta ? 1 : 2)], ka = a->dims[a->rank - (ta ? 2 : 1)];
    uint32_t kb = b->dims[b->rank - (tb ? 1 : 2)], cols = b->dims[b->rank - (tb ? 2 : 1)];
    if (ka != kb)
        return qrn_op_fail(c, QRN_E_SHAPE, "contracted dimensions differ: %u and %u", ka, kb);
    qrn_shape lead_a = *a, lead_b = *b, *y = &c->out_shape[0];
    lead_a.rank -= 2;
    lead_b.rank -= 2;
    if (!qrn_shape_broadcast(&lead_a, &lead_b, y)) {
        char ta_text[128], tb_text[128];
        return qrn_op_fail(c, QRN_E_SHAPE, "leading dimensions of %s and %s do not broadcast",
                           qrn_shape_text(a, ta_text, sizeof ta_text),
                           qrn_shape_text(b, tb_text, sizeof tb_text));
    }
    y->dims[y->rank++] = rows;
    y->dims[y->rank++] = cols;
    return check_bias(c, cols);
}

static qrn_status hadamard_rule(const qrn_op_call *c) {
    uint32_t n = c->in_shape[0].dims[c->in_shape[0].rank - 1];
    if (n == 0 || (n & (n - 1)))
        return qrn_op_fail(c, QRN_E_SHAPE, "last dimension %u is not a power of two", n);
    return qrn_rule_same_shape(c);
}

// Positions of the window on an image: product over height and width.
static qrn_status n_columns(const qrn_op_call *c, const qrn_window *w, const uint32_t *image,
                            uint32_t *columns) {
    uint32_t h = 0, l = 0;
    QRN_TRY(qrn_window_forward(c, w, 0, image[0], false, &h));
    QRN_TRY(qrn_window_forward(c, w, 1, image[1], false, &l));
    if ((uint64_t)h * l > UINT32_MAX)
        return qrn_op_fail(c, QRN_E_SHAPE, "too many columns");
    *columns = h * l;
    return QRN_OK;
}

// Cells of a column: channels times window cells; 0 when that is too large.
static uint32_t column_cells(const qrn_window *w, uint32_t channels) {
    uint64_t n = (uint64_t)w->size[0] * w->size[1];
    return n > UINT32_MAX || n * channels > UINT32_MAX ? 0 : (uint32_t)(n * channels);
}

static qrn_status im2col_rule(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0];
    qrn_shape *y = &c->out_shape[0];
    qrn_window w;
    QRN_TRY(qrn_window_read(c, 2, &w));
    y->rank = 3;
    y->dims[0] = x->dims[0];
    if (!w.known)
        return QRN_OK;
    y->dims[1] = column_cells(&w, x->dims[3]);
    if (y->dims[1] == 0 && x->dims[3])
        return qrn_op_fail(c, QRN_E_PARAM, "parameter 'kernel_size': columns are too long");
    return n_columns(c, &w, &x->dims[1], &y->dims[2]);
}

// The image size is not a function of the columns: the declared one must fit them.
static qrn_status col2im_rule(const qrn_op_call *c) {
    const qrn_shape *x = &c->in_shape[0], *y = &c->out_shape[0];
    qrn_window w;
    uint32_t columns = 0;
    QRN_TRY(qrn_window_read(c, 2, &w));
    if (y->rank != 4 || y->dims[0] != x->dims[0])
        return qrn_op_fail(c, QRN_E_SHAPE, "image: expected rank 4 and batch %u", x->dims[0]);
    if (!w.known)
        return QRN_OK;
    if (column_cells(&w, y->dims[3]) != x->dims[1])
        return qrn_op_fail(c, QRN_E_SHAPE, "columns: %u cells, expected %u", x->dims[1],
                           column_cells(&w, y->dims[3]));
    QRN_TRY(n_columns(c, &w, &y->dims[1], &columns));
    if (columns != x->dims[2])
        return qrn_op_fail(c, QRN_E_SHAPE, "columns: %u, expected %u", x->dims[2], columns);
    return QRN_OK;
}

// clang-format off
const qrn_op_def qrn_ops_conv[] = {
    {
        .name = "Col2Im",
        .category = "rearrange",
        INS(REQUIRED("columns", 3, 3, ACT16)),
        OUTS(REQUIRED("image", 4, 4, ACT16)),
        PARAMS(TENSOR("kernel_size", U32, 1),
               TENSOR("stride", U32, 1),
               TENSOR("pad_amount", U32, 2),
               TENSOR_OPT("dilation", U32, 1, "[1, 1]")),
        .rule = col2im_rule,
    },
    {
        .name = "Conv1d",
        .category = "conv",
        INS(REQUIRED("x", 3, 3, ACT),
            REQUIRED("filter", 3, 3, ACT16 | UQ4 | SQ4),
            OPTIONAL("bias", 1, 1, F32 | F16 | UQ8 | SQ8 | SQ32 | I32)),
        OUTS(REQUIRED("y", 3, 3, ACT)),
        PARAMS(SCALAR("stride", U32),
               TENSOR("pad_amount", U32, 1),
               SCALAR_OPT("group", U32, "1"),
               SCALAR_OPT("dilation", U32, "1")),
        .rule = conv_rule,
    },
    {
        .name = "Conv2d",
        .category = "conv",
        INS(REQUIRED("x", 4, 4, ACT16),
            REQUIRED("filter", 4, 4, ACT16 | UQ4 | SQ4),
            OPTIONAL("bias", 1, 1, F32 | F16 | UQ8 | SQ8 | SQ32 | I32)),
        OUTS(REQUIRED("y", 4, 4, ACT16)),
        PARAMS(TENSOR("stride", U32, 1),
               TENSOR("pad_amount", U32, 2),
               SCALAR_OPT("group", U32, "1"),
               TENSOR_OPT("dilation", U32, 1, "[1, 1]"),
               SCALAR_OPT("reuse_sparse_indices", B8, "0")),
        .flags = QRN_OP_DYNAMIC | QRN_OP_SPARSE,
        .rule = conv_rule,
    },
    {
        .name = "Conv3d",
        .category = "conv",
        INS(REQUIRED("x", 5, 5, ACT),
            REQUIRED("filter", 5, 5, F32 | F16 | UQ8 | SQ8 | UQ4 | SQ4),
            OPTIONAL("bias", 1, 1, F32 | F16 | UQ8 | SQ32)),
        OUTS(REQUIRED("y", 5, 5, ACT)),
        PARAMS(TENSOR("stride", U32, 1),
               TENSOR("pad_amount", U32, 2),
               SCALAR_OPT("group", U32, "1"),
               TENSOR_OPT("dilation", U32, 1, "[1, 1, 1]"),
               SCALAR_OPT("reuse_sparse_indicies", B8, "0")),
        .flags = QRN_OP_SPARSE,
        .rule = conv_rule,
    },
    {
        .name = "DepthWiseConv1d",
        .category = "conv",
        INS(REQUIRED("x", 3, 3, ACT),
            REQUIRED("filter", 3, 3, ACT16 | UQ4 | SQ4),
            OPTIONAL("bias", 1, 1, F32 | F16 | UQ8 | SQ8 | SQ32 | I32)),
        OUTS(REQUIRED("y", 3, 3, ACT)),
        PARAMS(SCALAR("stride", U32),
               TENSOR("pad_amount", U32, 1),
               SCALAR_OPT("dilation", U32, "1")),
        .rule = depthwise_rule,
    },
    {
        .name = "DepthWiseConv2d",
        .category = "conv",
        INS(REQUIRED("x", 4, 4, ACT),
            REQUIRED("filter", 4, 4, ACT16 | UQ4 | SQ4),
            OPTIONAL("bias", 1, 1, F32 | F16 | UQ8 | SQ8 | SQ32 | I32)),
        OUTS(REQUIRED("y", 4, 4, ACT)),
        PARAMS(TENSOR("stride", U32, 1),
               TENSOR("pad_amount", U32, 2),
               TENSOR_OPT("dilation", U32, 1, "[1, 1]")),
        .rule = depthwise_rule,
    },
    {
        .name = "FullyConnected",
        .category = "matmul",
        INS(REQUIRED("x", 1, MAX, ACT16),
            REQUIRED("weight", 2, 2, ACT16 | UQ4 | SQ4),
            OPTIONAL("bias", 1, 1, F32 | F16 | UQ8 | SQ8 | SQ32 | I32)),
        OUTS(REQUIRED("y", 1, MAX, ACT16)),
        PARAMS(SCALAR_OPT("keep_dims", B8, "0")),
        .flags = QRN_OP_DYNAMIC,
        .rule = fully_connected_rule,
    },
    {
        .name = "HadamardTransform",
        .category = "matmul",
        INS(REQUIRED("x", 1, MAX, ACT16)),
        OUTS(REQUIRED("y", 1, MAX, ACT16)),
        PARAMS(SCALAR_OPT("scale", F32, "1.0")),
        .rule = hadamard_rule,
    },
    {
        .name = "Im2Col",
        .category = "rearrange",
        INS(REQUIRED("x", 4, 4, ACT16)),
        OUTS(REQUIRED("columns", 3, 3, ACT16)),
        PARAMS(TENSOR("kernel_size", U32, 1),
               TENSOR("stride", U32, 1),
               TENSOR("pad_amount", U32, 2),
               TENSOR_OPT("dilation", U32, 1, "[1, 1]")),
        .rule = im2col_rule,
    },
    {
        .name = "MatMul",
        .category = "matmul",
        INS(REQUIRED("a", 2, MAX, ACT16),
            REQUIRED("b", 2, MAX, ACT16 | UQ4 | SQ4),
            OPTIONAL("bias", 1, 1, F32 | F16 | UQ8 | SQ8 | SQ32)),
        OUTS(REQUIRED("c", 2, MAX, ACT16 | SQ32)),
        PARAMS(SCALAR_OPT("transpose_in0", B8, "0"),
               SCALAR_OPT("transpose_in1", B8, "0")),
        .flags = QRN_OP_DYNAMIC,
        .rule = matmul_rule,
    },
    {
        .name = "TransposeConv1d",
        .category = "conv",
        INS(REQUIRED("x", 3, 3, ACT),
            REQUIRED("filter", 3, 3, ACT16 | UQ4 | SQ4),
            OPTIONAL("bias", 1, 1, F32 | F16 | UQ8 | SQ32 | I32)),
        OUTS(REQUIRED("y", 3, 3, ACT)),
        PARAMS(SCALAR("stride", U32),
               TENSOR("pad_amount", U32, 1),
               SCALAR_OPT("group", U32, "1"),
               SCALAR_OPT("output_padding", U32, "0")),
        .rule = transposed_rule,
    },
    {
        .name = "TransposeConv2d",
        .category = "conv",
        INS(REQUIRED("x", 4, 4, ACT16),
            REQUIRED("filter", 4, 4, ACT16 | UQ4 | SQ4),
            OPTIONAL("bias", 1, 1, F32 | F16 | UQ8 | SQ32 | I32)),
        OUTS(REQUIRED("y", 4, 4, ACT16)),
        PARAMS(TENSOR("stride", U32, 1),
               TENSOR("pad_amount", U32, 2),
               SCALAR_OPT("group", U32, "1"),
               TENSOR_OPT("output_padding", U32, 1, "[0, 0]")),
        .rule = transposed_rule,
    },
    {
        .name = "TransposeConv3d",
        .category = "conv",
        INS(REQUIRED("x", 5, 5, ACT),
            REQUIRED("filter", 5, 5, F32 | F16 | UQ8 | SQ8 | UQ4 | SQ4),
            OPTIONAL("bias", 1, 1, F32 | F16 | UQ8 | SQ32)),
        OUTS(REQUIRED("y", 5, 5, ACT)),
        PARAMS(TENSOR("stride", U32, 1),
               TENSOR("pad_amount", U32, 2),
               TENSOR_OPT("dilation", U32, 1, "[1, 1, 1]"),
               SCALAR_OPT("group", U32, "1"),
               TENSOR_OPT("output_padding", U32, 1, "[0, 0, 0]")),
        .rule = transposed_rule,
    },
};
// clang-format on

const size_t qrn_ops_conv_count = sizeof(qrn_ops_conv) / sizeof(qrn_ops_conv[0]);
