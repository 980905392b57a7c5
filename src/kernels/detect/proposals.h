// SPDX-License-Identifier: MIT
//
// Region proposals. Boxes are x1, y1, x2, y2 unless said otherwise.
//   box_deltas     rois [R, 4], deltas [R, 4 C] (dx, dy, dw, dh), image of each roi [R], image
//   sizes
//                  [B, 2] (h, w) -> boxes [R, 4 C], optional rois of each image [B]. The centre
//                  moves by d * size, the size grows by exp(d), corners are clipped to the image; d
//                  = delta / weight
//   rotated_deltas rois [R, 5] (centre x, y, width, height, angle in degrees), deltas [R, 5 C] (the
//                  fifth in radians), images [B, 3] (h, w, scale), optional image of each roi ->
//                  boxes [R, 5 C], rois of each image [B]
//   generate_proposals   scores [N, H, W, A], deltas [N, H, W, 4 A], anchors [A, 4], image sizes
//                  [N, 2] -> scores [K], boxes [K, 4], images [K], by image and descending score
//   collect_proposals    up to five pairs of rois [R, 5] (in[0..4]) and scores [R] (in[5..9]) ->
//   the
//                  rows with the best scores
//   distribute_proposals rois [P, 4 or 5] -> out[0] [P] the row of each roi in the concatenated
//                  levels (-1: empty roi), out[1..] the rois of each level; more of them than fit
//                  are QRN_E_ARGUMENT
// An image number out of range is QRN_E_ARGUMENT.
#ifndef QRN_KERNELS_DETECT_PROPOSALS_H
#define QRN_KERNELS_DETECT_PROPOSALS_H

#include "kernels/kernel.h"

typedef struct qrn_box_deltas_args {
    float weights[4];
} qrn_box_deltas_args;

typedef struct qrn_rotated_deltas_args {
    float weights[4];
    bool apply_scale;     // results are in the scaled image, else in the original one
    bool bounded;         // angles are wrapped into [low, high]
    int32_t low, high;    // degrees
    float upright_degree; // boxes up to this angle are made upright; negative: only angle 0 is
} qrn_rotated_deltas_args;

typedef struct qrn_generate_args {
    double step[2]; // of the grid: height, width
    double min_size, iou_threshold;
    uint32_t pre_limit, post_limit; // UINT32_MAX: none
    bool clip_deltas;               // dw, dh to log(1000 / 16)
    uint32_t report;                // bit o: the first dimension of out[o] becomes K
} qrn_generate_args;

typedef struct qrn_distribute_args {
    uint32_t min_level, max_level, canonical_level;
    double canonical_scale;
    uint32_t report; // as above
} qrn_distribute_args;

extern const qrn_family qrn_family_box_deltas;           // F32, F64; in[2], in[3] as they are
extern const qrn_family qrn_family_rotated_deltas;       // F32, F64; in[3] as it is
extern const qrn_family qrn_family_generate_proposals;   // F32, F64
extern const qrn_family qrn_family_collect_proposals;    // F32, F64
extern const qrn_family qrn_family_distribute_proposals; // F32, F64

#endif
