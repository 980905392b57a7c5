// SPDX-License-Identifier: MIT
//
// Windows of convolutions and pools.
#include "frontend/onnx/import/window.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MAX_TAPS 1024 // of one dimension, when a window is done by slices

static uint32_t span_of(const ox_window *w, uint32_t i) {
    return (w->kernel[i] - 1) * w->dilation[i] + 1;
}

// SAME_*: the output is ceil(in / stride); an odd cell of padding goes after (UPPER) or before.
static void same_pads(ox_window *w, uint32_t i, uint32_t in, bool upper) {
    uint32_t out = (in + w->stride[i] - 1) / w->stride[i];
    uint64_t need = (uint64_t)(out - 1) * w->stride[i] + span_of(w, i);
    uint32_t total = need > in ? (uint32_t)(need - in) : 0;
    w->pad[2 * i] = upper ? total / 2 : total - total / 2;
    w->pad[2 * i + 1] = total - w->pad[2 * i];
}

// A list attribute of w->n positive values, or all 1.
static qrn_status read_list(ox_import *im, const ox_node *n, const char *name, uint32_t count,
                            uint32_t *dst) {
    int64_t list[OX_MAX_SPATIAL];
    const ox_attr *a = ox_attr_find(n, name);
    for (uint32_t i = 0; i < count; i++)
        dst[i] = 1;
    if (!a || (a->type == OX_ATTR_INTS && a->n == 0))
        return QRN_OK;
    if (ox_attr_ints(n, name, list, OX_MAX_SPATIAL) != count)
        return ox_fail(im, n, QRN_E_SHAPE, "attribute %s: expected %u values", name, count);
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] <= 0 || list[i] > INT32_MAX / 64)
            return ox_fail(im, n, QRN_E_PARAM, "attribute %s: value %u is %lld", name, i,
                           (long long)list[i]);
        dst[i] = (uint32_t)list[i];
    }
    return QRN_OK;
}

static qrn_status read_pads(ox_import *im, const ox_node *n, ox_window *w, const uint32_t *in) {
    int64_t pads[2 * OX_MAX_SPATIAL];
    const char *mode = ox_attr_string(n, "auto_pad", "NOTSET");
    const ox_attr *a = ox_attr_find(n, "pads");
    memset(w->pad, 0, sizeof w->pad);
    if (strncmp(mode, "SAME", 4) == 0) {
        for (uint32_t i = 0; i < w->n; i++)
            same_pads(w, i, in[i], strcmp(mode, "SAME_UPPER") == 0);
        return QRN_OK;
    }
    if (strcmp(mode, "VALID") == 0 || !a || a->n == 0)
        return QRN_OK;
    if (ox_attr_ints(n, "pads", pads, 2 * OX_MAX_SPATIAL) != 2 * w->n)
        return ox_fail(im, n, QRN_E_SHAPE, "attribute pads: expected %u values", 2 * w->n);
    for (uint32_t i = 0; i < 2 * w->n; i++) {
        if (pads[i] < 0 || pads[i] > INT32_MAX / 64)
            return ox_fail(im, n, QRN_E_UNSUPPORTED,
                           "attribute pads: value %u is %lld; cut the input with Slice instead", i,
                           (long long)pads[i]);
        w->pad[i < w->n ? 2 * i : 2 * (i - w->n) + 1] = (uint32_t)pads[i];
    }
    return QRN_OK;
}

qrn_status ox_window_read(ox_import *im, const ox_node *n, const ox_val *x, const uint32_t *kernel,
                          ox_window *w) {
    if (x->rank < 3 || x->rank > 2 + OX_MAX_SPATIAL)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "its input has rank %u; QNN has windows over 1 to %d spatial dimensions",
                       x->rank, OX_MAX_SPATIAL);
    *w = (ox_window){.n = x->rank - 2};
    QRN_TRY(read_list(im, n, "kernel_shape", w->n, w->kernel));
    if (!kernel && !ox_attr_find(n, "kernel_shape"))
        return ox_fail(im, n, QRN_E_PARAM, "attribute kernel_shape is missing");
    QRN_TRY(read_list(im, n, "strides", w->n, w->stride));
    QRN_TRY(read_list(im, n, "dilations", w->n, w->dilation));
    for (uint32_t i = 0; i < w->n; i++) {
        if (kernel && ox_attr_find(n, "kernel_shape") && w->kernel[i] != kernel[i])
            return ox_fail(im, n, QRN_E_SHAPE, "kernel_shape %u is %u, the filter has %u", i,
                           w->kernel[i], kernel[i]);
        if (kernel)
            w->kernel[i] = kernel[i];
        if ((uint64_t)w->kernel[i] * w->dilation[i] > INT32_MAX)
            return ox_fail(im, n, QRN_E_SHAPE, "the window is too large");
        w->dilated |= w->dilation[i] != 1;
    }
    w->ceil = ox_attr_int(n, "ceil_mode", 0) != 0;
    return read_pads(im, n, w, x->dims + 2);
}

qrn_status ox_window_dims(ox_import *im, const ox_node *n, const ox_window *w, const uint32_t *in,
                          uint32_t *out) {
    for (uint32_t i = 0; i < w->n; i++) {
        uint64_t padded = (uint64_t)in[i] + w->pad[2 * i] + w->pad[2 * i + 1];
        if (padded < span_of(w, i))
            return ox_fail(im, n, QRN_E_SHAPE,
                           "spatial dimension %u: a window of %u cells on a padded input of %llu",
                           i, span_of(w, i), (unsigned long long)padded);
        uint64_t room = padded - span_of(w, i);
        uint64_t steps = room / w->stride[i] + (w->ceil && room % w->stride[i] ? 1 : 0) + 1;
        // A window that would start behind the input is left out.
        if (w->ceil && (steps - 1) * w->stride[i] >= (uint64_t)in[i] + w->pad[2 * i])
            steps--;
        out[i] = (uint32_t)steps;
    }
    return QRN_OK;
}

void ox_window_widen(ox_window *w) {
    if (w->n != 1)
        return;
    w->n = 2;
    w->kernel[1] = w->kernel[0];
    w->stride[1] = w->stride[0];
    w->dilation[1] = w->dilation[0];
    w->pad[2] = w->pad[0];
    w->pad[3] = w->pad[1];
    w->kernel[0] = w->stride[0] = w->dilation[0] = 1;
    w->pad[0] = w->pad[1] = 0;
}

// --- images

qc_tensor *ox_image_in(ox_expr *e, qc_tensor *x) {
    if (!x || x->rank != 3)
        return x;
    return ox_reshape(e, x, 4, (const uint32_t[]){x->dims[0], 1, x->dims[1], x->dims[2]});
}

qc_tensor *ox_image_out(ox_expr *e, qc_tensor *y) {
    if (!y || y->rank != 3)
        return y;
    return ox_result_like(e, y, 4, (const uint32_t[]){y->dims[0], 1, y->dims[1], y->dims[2]});
}

void ox_image_end(ox_expr *e, qc_tensor *image, qc_tensor *y) {
    if (!image || !y || image == y)
        return;
    ox_into(e, y);
    ox_reshape(e, image, y->rank, y->dims);
}

void ox_convolve(ox_expr *e, const ox_window *w, uint32_t group, const qc_tensor *x,
                 const qc_tensor *filter, const qc_tensor *bias, const qc_tensor *y) {
    if (!x || !filter || !y || e->s != QRN_OK)
        return;
    bool depthwise = w->n == 2 && group > 1 && group == x->dims[3];
    qc_op o;
    ox_op(e->im, &o, e->n,
          w->n == 3   ? QNN_OP_CONV_3D
          : depthwise ? QNN_OP_DEPTH_WISE_CONV_2D
                      : QNN_OP_CONV_2D);
    qc_in(&o, x);
    qc_in(&o, filter);
    if (bias)
        qc_in(&o, bias);
    qc_out(&o, y);
    qc_u32s(&o, QNN_OP_CONV_2D_PARAM_STRIDE, w->stride, w->n);
    qc_u32s_2d(&o, QNN_OP_CONV_2D_PARAM_PAD_AMOUNT, w->pad, w->n, 2);
    qc_u32s(&o, QNN_OP_CONV_2D_PARAM_DILATION, w->dilation, w->n);
    if (!depthwise)
        qc_u32(&o, QNN_OP_CONV_2D_PARAM_GROUP, group);
    ox_end(e, &o);
}

// --- windows by slices

qc_tensor *ox_taps(ox_expr *e, const char *op, const ox_window *w, qc_tensor *x,
                   const uint32_t *out) {
    uint32_t pad[2 * OX_MAX_RANK] = {0};
    if (!x)
        return NULL;
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->kernel[i] > MAX_TAPS) {
            e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED,
                           "a window of %u cells that QNN has no op for; up to %d are written out",
                           w->kernel[i], MAX_TAPS);
            return NULL;
        }
        uint64_t need = (uint64_t)(out[i] - 1) * w->stride[i] + span_of(w, i);
        uint64_t have = (uint64_t)x->dims[1 + i] + w->pad[2 * i];
        pad[2 * (1 + i)] = w->pad[2 * i];
        pad[2 * (1 + i) + 1] = need > have ? (uint32_t)(need - have) : 0;
    }
    bool max = strcmp(op, QNN_OP_ELEMENT_WISE_MAXIMUM) == 0;
    x = ox_pad(e, x, pad, !max ? 0 : ox_is_fixed(x) ? -FLT_MAX : -INFINITY);
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->kernel[i] == 1 && w->stride[i] == 1)
            continue;
        qc_tensor *sum = ox_slice(e, x, 1 + i, 0, out[i], (int32_t)w->stride[i]);
        for (uint32_t k = 1; k < w->kernel[i]; k++)
            sum =
                ox_binary(e, op, sum,
                          ox_slice(e, x, 1 + i, k * w->dilation[i], out[i], (int32_t)w->stride[i]));
        x = sum;
    }
    return x;
}
