// SPDX-License-Identifier: MIT
//
// Regions of feature maps, brought to one size, and key points in heat maps.
//   roi_align x [N, H, W, C], rois [R, 4] (x1, y1, x2, y2), in[2] image of each roi [R] ->
//             [R, oh, ow, C]: the mean of samples in each bin, linearly interpolated; a sample more
//             than a pixel outside is 0, one less than a pixel outside reads the border. Rois that
//             are not finite give 0
//   roi_pool  the same operands: the maximum over the whole pixels of each bin, 0 for an empty one
//   keypoint  heat maps [B, H, W, P], boxes [B, 4] (x1, y1, x2, y2) -> scores [B, P], places
//             [B, P, 2] (x, y): the highest cell, moved to the top of the parabola through its
//             eight neighbours (mirrored at the border) by at most 1.5 cells
// Rois are divided by `ratio`. An image number out of range is QRN_E_ARGUMENT.
#ifndef QRN_KERNELS_DETECT_ROI_H
#define QRN_KERNELS_DETECT_ROI_H

#include "kernels/kernel.h"

typedef struct qrn_roi_args {
    double ratio[2];    // height, width of the image by those of the map
    int32_t samples[2]; // of a bin, height and width; not positive: as many as pixels it covers
    bool aligned;       // pixel centres at half numbers, no least size of a roi
    bool skip_empty;    // rois without area give 0
} qrn_roi_args;

extern const qrn_family qrn_family_roi_align; // F32, F64; in[2] as it is
extern const qrn_family qrn_family_roi_pool;  // F32, F64; in[2] as it is
extern const qrn_family qrn_family_keypoint;  // F32, F64

#endif
