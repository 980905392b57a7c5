// SPDX-License-Identifier: MIT
//
// Windows of convolutions and pools: strides, dilation, and where SAME and VALID put them.
#ifndef QRN_FRONTEND_TFLITE_WINDOW_H
#define QRN_FRONTEND_TFLITE_WINDOW_H

#include "frontend/tflite/import.h"

typedef struct tl_window {
    uint32_t kernel[2], stride[2], dilation[2], out[2];
    uint32_t pad[4]; // top, bottom, left, right
} tl_window;

qrn_status tl_read_strides(tl *t, tl_window *w);
// Output size and padding for an input of height and width `in`; the kernel is set.
qrn_status tl_place_window(tl *t, const uint32_t *in, tl_window *w);

#endif
