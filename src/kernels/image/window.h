// SPDX-License-Identifier: MIT
//
// Windows of images [N, H, W, C].
//   glimpse        one window of an image, out [N, h, w, C], at in[1] [N, 2] (y, x). Positions:
//                  normalized and centered  -1..1 over the image, the window's middle
//                  normalized               0..1 over the image, the window's corner
//                  centered                 pixels from the middle of the image, the corner
//                  neither                  pixels from the corner of the image, the corner
//                  truncated to whole pixels. Pixels outside the image are noise with the range
//                  (uniform) or mean and deviation (gaussian) of that image, or 0. The noise
//                  depends on the position in the output alone: the same call gives the same result
//   patches        out [N, Ho, Wo, kh * kw * C]: the pixels of each window, row by row, 0 outside
//   correlation1d  out[n, h, w, d] = mean over c of a[n, h, w, c] * b[n, h, w + d - displacement +
//                  shift, c], 0 outside
#ifndef QRN_KERNELS_IMAGE_WINDOW_H
#define QRN_KERNELS_IMAGE_WINDOW_H

#include "kernels/kernel.h"

typedef enum qrn_glimpse_noise {
    QRN_GLIMPSE_UNIFORM,
    QRN_GLIMPSE_GAUSSIAN,
    QRN_GLIMPSE_ZEROS
} qrn_glimpse_noise;

typedef struct qrn_glimpse_args {
    uint32_t noise; // qrn_glimpse_noise
    bool centered, normalized;
} qrn_glimpse_args;

typedef struct qrn_patches_args {
    uint32_t size[2], stride[2], rate[2]; // height, width
    uint32_t before[2];                   // padding above and on the left
} qrn_patches_args;

typedef struct qrn_correlation1d_args {
    uint32_t displacement;
    int32_t shift;
} qrn_correlation1d_args;

extern const qrn_family qrn_family_glimpse;       // F32, F64; in[1] as it is
extern const qrn_family qrn_family_patches;       // F32, F64
extern const qrn_family qrn_family_correlation1d; // F32, F64

#endif
