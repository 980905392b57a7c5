// SPDX-License-Identifier: MIT
//
// Reading and checking of sliding-window parameters.
#include "ir/ops/window.h"

#include <string.h>

static const qrn_param *find(const qrn_op_call *c, const char *name) {
    for (uint32_t i = 0; i < c->op->n_params; i++)
        if (strcmp(c->op->params[i].name, name) == 0)
            return &c->params[i];
    return NULL;
}

// Copies `count` values of a parameter; leaves dst alone when it is absent or the op has none.
static qrn_status read_values(const qrn_op_call *c, const char *name, uint32_t count, uint32_t *dst,
                              bool *known) {
    const qrn_param *p = find(c, name);
    if (!p || !p->present)
        return QRN_OK;
    if (!p->is_tensor) {
        dst[0] = qrn_op_u32(c, name, dst[0]);
        return QRN_OK;
    }
    size_t n = 0;
    if (!p->tensor || !qrn_shape_count(&p->tensor->shape, &n) || n != count)
        return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': %zu values, expected %u", name, n,
                           count);
    const uint32_t *data = qrn_op_u32s(c, name, &n);
    if (data)
        memcpy(dst, data, count * sizeof *dst);
    else
        *known = false;
    return QRN_OK;
}

static qrn_status no_zero(const qrn_op_call *c, const char *name, const uint32_t *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (v[i] == 0)
            return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': value %u is 0", name, i);
    return QRN_OK;
}

qrn_status qrn_window_read(const qrn_op_call *c, uint32_t n, qrn_window *w) {
    *w = (qrn_window){.n = n, .known = true};
    uint32_t pads[2 * QRN_WINDOW_MAX] = {0};
    for (uint32_t i = 0; i < QRN_WINDOW_MAX; i++)
        w->size[i] = w->stride[i] = w->dilation[i] = 1;
    QRN_TRY(read_values(c, "stride", n, w->stride, &w->known));
    QRN_TRY(read_values(c, "dilation", n, w->dilation, &w->known));
    QRN_TRY(read_values(c, "pad_amount", 2 * n, pads, &w->known));
    QRN_TRY(read_values(c, "output_padding", n, w->output_padding, &w->known));
    QRN_TRY(read_values(c, "filter_size", n, w->size, &w->known));
    QRN_TRY(read_values(c, "kernel_size", n, w->size, &w->known));
    QRN_TRY(no_zero(c, "stride", w->stride, n));
    QRN_TRY(no_zero(c, "dilation", w->dilation, n));
    QRN_TRY(no_zero(c, "filter size", w->size, n));
    for (uint32_t i = 0; i < n; i++) {
        w->before[i] = pads[2 * i];
        w->after[i] = pads[2 * i + 1];
    }
    return QRN_OK;
}

// Cells between the first and the last one a window touches, inclusive. No overflow: both factors
// are below 2^32.
static uint64_t extent(const qrn_window *w, uint32_t i) {
    return (uint64_t)(w->size[i] - 1) * w->dilation[i] + 1;
}

qrn_status qrn_window_forward(const qrn_op_call *c, const qrn_window *w, uint32_t i, uint32_t in,
                              bool ceil, uint32_t *out) {
    uint64_t padded = (uint64_t)w->before[i] + in + w->after[i];
    if (extent(w, i) > padded)
        return qrn_op_fail(c, QRN_E_SHAPE,
                           "spatial dimension %u: window of %llu cells on a padded input of %llu",
                           i, (unsigned long long)extent(w, i), (unsigned long long)padded);
    uint64_t room = padded - extent(w, i);
    uint64_t steps = room / w->stride[i] + (ceil && room % w->stride[i] ? 1 : 0) + 1;
    if (steps > UINT32_MAX)
        return qrn_op_fail(c, QRN_E_SHAPE, "spatial dimension %u: output too large", i);
    *out = (uint32_t)steps;
    return QRN_OK;
}

qrn_status qrn_window_transposed(const qrn_op_call *c, const qrn_window *w, uint32_t i, uint32_t in,
                                 uint32_t *out) {
    uint64_t spread = in ? (uint64_t)w->stride[i] * (in - 1) : 0;
    uint64_t pads = (uint64_t)w->before[i] + w->after[i];
    if (spread > UINT32_MAX || extent(w, i) > UINT32_MAX)
        return qrn_op_fail(c, QRN_E_SHAPE, "spatial dimension %u: output too large", i);
    uint64_t full = spread + extent(w, i) + w->output_padding[i];
    if (w->output_padding[i] >= w->stride[i])
        return qrn_op_fail(c, QRN_E_PARAM,
                           "parameter 'output_padding': value %u is %u, not below the stride %u", i,
                           w->output_padding[i], w->stride[i]);
    if (full <= pads || full - pads > UINT32_MAX)
        return qrn_op_fail(c, QRN_E_SHAPE,
                           "spatial dimension %u: %llu output cells less %llu of padding", i,
                           (unsigned long long)full, (unsigned long long)pads);
    *out = (uint32_t)(full - pads);
    return QRN_OK;
}
