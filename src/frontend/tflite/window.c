// SPDX-License-Identifier: MIT
//
// Placing windows.
#include "frontend/tflite/window.h"

qrn_status tl_read_strides(tl *t, tl_window *w) {
    int64_t v[4] = {tl_int(t, "stride_h"), tl_int(t, "stride_w"),
                    ox_attr_int(t->e.n, "dilation_h_factor", 1),
                    ox_attr_int(t->e.n, "dilation_w_factor", 1)};
    for (int i = 0; i < 4; i++)
        if (v[i] < 1 || v[i] > INT32_MAX)
            return tl_fail(t, QRN_E_PARAM, "%s %lld", i < 2 ? "stride" : "dilation",
                           (long long)v[i]);
    w->stride[0] = (uint32_t)v[0];
    w->stride[1] = (uint32_t)v[1];
    w->dilation[0] = (uint32_t)v[2];
    w->dilation[1] = (uint32_t)v[3];
    return QRN_OK;
}

// Output size and padding of both dimensions, TensorFlow's way: what is odd goes behind.
qrn_status tl_place_window(tl *t, const uint32_t *in, tl_window *w) {
    bool same = tl_int(t, "padding") == TL_SAME;
    for (int i = 0; i < 2; i++) {
        uint64_t reach = ((uint64_t)w->kernel[i] - 1) * w->dilation[i] + 1;
        if (w->kernel[i] == 0 || (!same && reach > in[i]))
            return tl_fail(t, QRN_E_SHAPE, "a window of %llu in %u values",
                           (unsigned long long)reach, in[i]);
        uint64_t n = same ? ((uint64_t)in[i] + w->stride[i] - 1) / w->stride[i]
                          : (in[i] - reach) / w->stride[i] + 1;
        uint64_t need = (n - 1) * w->stride[i] + reach;
        uint32_t pad = same && need > in[i] ? (uint32_t)(need - in[i]) : 0;
        w->out[i] = (uint32_t)n;
        w->pad[2 * i] = pad / 2;
        w->pad[2 * i + 1] = pad - pad / 2;
    }
    return QRN_OK;
}
