// SPDX-License-Identifier: MIT
//
// Colour conversion.
//   yuv_rgb    in[0] [B, H*W*3/2]: H*W luma values, then H*W/2 interleaved chroma values at half
//   the
//              resolution; out[0] [B, H, W, 3]. BT.601 with video range, nearest chroma, as OpenCV:
//                y' = 1.164 * max(Y - 16, 0)          u = U - 128, v = V - 128
//                R = y' + 1.596 v   G = y' - 0.813 v - 0.391 u   B = y' + 2.018 u
//              clamped to 0..255
//   drop_alpha in[0] [.., 4] -> out[0] [.., 3], elements of any type are moved
#ifndef QRN_KERNELS_IMAGE_COLOR_H
#define QRN_KERNELS_IMAGE_COLOR_H

#include "kernels/kernel.h"

typedef struct qrn_yuv_rgb_args {
    bool v_first; // NV21: chroma pairs are V, U
    bool bgr;     // output order B, G, R
} qrn_yuv_rgb_args;

typedef struct qrn_drop_alpha_args {
    bool alpha_last; // RGBA instead of ARGB
    bool bgr;        // output order B, G, R
} qrn_drop_alpha_args;

extern const qrn_family qrn_family_yuv_rgb;    // F32, F64
extern const qrn_family qrn_family_drop_alpha; // RAW

#endif
