// SPDX-License-Identifier: MIT
//
// Importers: convolution, pooling, matrix products. Images are taken and made channel last.
#include "frontend/onnx/import/table.h"

#include <string.h>

// Attributes that convolutions and pools share, for n spatial dimensions.
typedef struct window {
    uint32_t n;
    uint32_t kernel[3], stride[3], dilation[3], pad[6]; // pad: before, after per dimension
} window;

static uint32_t attr_or(const int64_t *list, uint32_t count, uint32_t i, uint32_t fallback) {
    return i < count && list[i] > 0 ? (uint32_t)list[i] : fallback;
}

// SAME_*: the output is ceil(in / stride); an odd cell of padding goes after (UPPER) or before.
static void same_pads(window *w, uint32_t i, uint32_t in, bool upper) {
    uint32_t span = (w->kernel[i] - 1) * w->dilation[i] + 1;
    uint32_t out = (in + w->stride[i] - 1) / w->stride[i], need = (out - 1) * w->stride[i] + span;
    uint32_t total = need > in ? need - in : 0;
    w->pad[2 * i] = upper ? total / 2 : total - total / 2;
    w->pad[2 * i + 1] = total - w->pad[2 * i];
}

static qrn_status read_window(ox_import *im, const ox_node *n, const ox_val *x,
                              const uint32_t *kernel, window *w) {
    int64_t stride[3], dilation[3], pads[6];
    uint32_t n_stride = ox_attr_ints(n, "strides", stride, 3);
    uint32_t n_dilation = ox_attr_ints(n, "dilations", dilation, 3);
    uint32_t n_pads = ox_attr_ints(n, "pads", pads, 6);
    const char *mode = ox_attr_string(n, "auto_pad", "NOTSET");
    w->n = x->rank - 2;
    for (uint32_t i = 0; i < w->n; i++) {
        w->kernel[i] = kernel[i];
        w->stride[i] = attr_or(stride, n_stride, i, 1);
        w->dilation[i] = attr_or(dilation, n_dilation, i, 1);
        bool given = n_pads == 2 * w->n && strcmp(mode, "NOTSET") == 0;
        if (given && (pads[i] < 0 || pads[i + w->n] < 0))
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "negative pads");
        w->pad[2 * i] = given ? (uint32_t)pads[i] : 0;
        w->pad[2 * i + 1] = given ? (uint32_t)pads[i + w->n] : 0;
        if (strncmp(mode, "SAME", 4) == 0)
            same_pads(w, i, x->dims[2 + i], strcmp(mode, "SAME_UPPER") == 0);
    }
    return QRN_OK;
}

static qrn_status conv_dims(ox_import *im, const ox_node *n, const ox_val *x, const window *w,
                            uint32_t channels, uint32_t *dims) {
    dims[0] = x->dims[0];
    dims[1] = channels;
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t span = (w->kernel[i] - 1) * w->dilation[i] + 1;
        uint32_t in = x->dims[2 + i] + w->pad[2 * i] + w->pad[2 * i + 1];
        if (in < span)
            return ox_fail(im, n, QRN_E_SHAPE, "the kernel is larger than the padded input");
        dims[2 + i] = (in - span) / w->stride[i] + 1;
    }
    return QRN_OK;
}

// Filter [O, I, k...] of ONNX as [k..., I, O] of QNN.
static qrn_status filter_of(ox_import *im, const ox_node *n, const ox_val *w, qc_tensor **out) {
    uint32_t perm[OX_MAX_RANK], dims[OX_MAX_RANK];
    qc_tensor *x;
    for (uint32_t i = 0; i < w->rank; i++) {
        perm[i] = i + 2 < w->rank ? i + 2 : w->rank - 1 - i;
        dims[i] = w->dims[perm[i]];
    }
    // The transposition of a constant is folded by the backend at finalize.
    QRN_TRY(ox_in(im, n, 1, OX_ONNX, &x));
    QRN_TRY(ox_temp(im, x, w->rank, dims, out));
    return ox_emit_transpose(im, n, x, perm, *out);
}

static qrn_status import_conv(ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0), *f = ox_input(im, n, 1);
    window w;
    uint32_t dims[OX_MAX_RANK], group = (uint32_t)ox_attr_int(n, "group", 1);
    qc_tensor *in, *filter, *bias = NULL, *out;
    if (x->rank != 4 || f->rank != 4)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "rank %u, only 4 for now", x->rank);
    QRN_TRY(read_window(im, n, x, f->dims + 2, &w));
    QRN_TRY(conv_dims(im, n, x, &w, f->dims[0], dims));
    QRN_TRY(ox_set_output(im, n, 0, x->type, x->rank, dims));
    QRN_TRY(ox_in(im, n, 0, OX_LAST, &in));
    QRN_TRY(filter_of(im, n, f, &filter));
    if (ox_input(im, n, 2))
        QRN_TRY(ox_in(im, n, 2, OX_ONNX, &bias));
    QRN_TRY(ox_out(im, n, 0, OX_LAST, &out));
    bool depthwise = group == x->dims[1] && group > 1;
    qc_op o;
    ox_op(im, &o, n, depthwise ? QNN_OP_DEPTH_WISE_CONV_2D : QNN_OP_CONV_2D);
    qc_in(&o, in);
    qc_in(&o, filter);
    if (bias)
        qc_in(&o, bias);
    qc_out(&o, out);
    qc_u32s(&o, QNN_OP_CONV_2D_PARAM_STRIDE, w.stride, 2);
    qc_u32s_2d(&o, QNN_OP_CONV_2D_PARAM_PAD_AMOUNT, w.pad, 2, 2);
    qc_u32s(&o, QNN_OP_CONV_2D_PARAM_DILATION, w.dilation, 2);
    if (!depthwise)
        qc_u32(&o, QNN_OP_CONV_2D_PARAM_GROUP, group);
    return qc_op_end(&o);
}

const ox_importer ox_import_conv[] = {
    {"Conv", "", import_conv},
    {0},
};
