// SPDX-License-Identifier: MIT
//
// Sampling of images at positions that come from data. Images are channel-last.
//   grid_sample  x [N, (D,) H, W, C], grid [N, out.., 2 or 3] (x, y(, z)) in [-1, 1] over the
//   image:
//                align_corners p = (g + 1) / 2 * (size - 1), else p = ((g + 1) * size - 1) / 2
//   crop_resize  image [N, H, W, C], boxes [B, 4] y1, x1, y2, x2 in units of size - 1, in[2] image
//   of
//                each box; out [B, h, w, C]. Row i lies at y1 + i * (y2 - y1) / (h - 1), in the
//                middle of the box when h is 1. Outside the image: `outside`
//   project      x [N, H, W, C], transform 8 values, or 8 for each image: out (x, y) reads
//                ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), k = c0 x + c1 y + 1; pixels
//                outside the image are 0
// Linear interpolation, or the nearest pixel: rounded to even by grid_sample, away from zero by the
// others. A position that is not a number counts as outside (BORDER, REFLECT: as 0). An image
// number out of range is QRN_E_ARGUMENT.
#ifndef QRN_KERNELS_IMAGE_SAMPLE_H
#define QRN_KERNELS_IMAGE_SAMPLE_H

#include "kernels/kernel.h"

typedef enum qrn_sample_border {
    QRN_SAMPLE_ZEROS,  // pixels outside are 0
    QRN_SAMPLE_BORDER, // positions are clamped to the image
    QRN_SAMPLE_REFLECT // positions are mirrored at the border until they lie inside
} qrn_sample_border;

typedef struct qrn_grid_sample_args {
    uint32_t border; // qrn_sample_border
    bool align_corners, nearest;
} qrn_grid_sample_args;

typedef struct qrn_crop_resize_args {
    float outside;
    bool nearest;
} qrn_crop_resize_args;

typedef struct qrn_project_args {
    bool nearest;
} qrn_project_args;

extern const qrn_family qrn_family_grid_sample; // F32, F64
extern const qrn_family qrn_family_crop_resize; // F32, F64; in[2] as it is
extern const qrn_family qrn_family_project;     // F32, F64

#endif
