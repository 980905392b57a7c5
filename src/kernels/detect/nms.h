// SPDX-License-Identifier: MIT
//
// Non-maximum suppression as ops have it. NaN scores are never candidates. Rows that are left over
// in an output are 0.
//   nms            boxes [N, B, 4], scores [N, C, B] -> rows (image, class, box), i32 or u32,
//   packed
//                  from the front in order of image, class, descending score; optional count: [1]
//                  in all, or [N] for each image. Scores must be above score_threshold
//   combined_nms   boxes [N, B, q, 4], scores [N, B, C] -> boxes [N, K, 4], scores [N, K], classes
//                  [N, K], count [N], by descending score. q = C: within each class, q = 1: among
//                  all candidates whatever their class
//   multi_nms      boxes [N, B, 4], scores [N, B, C] -> boxes [N, K, 4], scores [N, K], classes
//                  [N, K], count [N], chosen boxes [N, K] (-1: none), within each class and then by
//                  descending score
//   pick_rows      in[0] [N, B, ..], in[1] chosen rows [N, K] -> out[0] [N, K, ..], zero where -1;
//                  a row from B on is QRN_E_ARGUMENT
//   nms_limit      boxes [R, 4 C], scores [R, C], image of each row [R] -> boxes [K, 4], scores
//   [K],
//                  classes [K], images [K], optional counts of each image, rows taken [K], counts
//                  of each class; in order of image, class, pick
// Where K or the rows depend on the data, those that do not fit are left out.
#ifndef QRN_KERNELS_DETECT_NMS_H
#define QRN_KERNELS_DETECT_NMS_H

#include "kernels/kernel.h"

typedef struct qrn_nms_args {
    double iou_threshold, score_threshold;
    uint32_t most;   // picks in each class of an image
    uint32_t report; // bit o: the first dimension of out[o] becomes the number of rows
} qrn_nms_args;

typedef struct qrn_combined_nms_args {
    double iou_threshold, score_threshold;
    uint32_t per_class; // picks in each class of an image
    bool clip;          // boxes to [0, 1]
} qrn_combined_nms_args;

typedef struct qrn_multi_nms_args {
    double iou_threshold, score_threshold;
    double sigma; // 0: hard suppression
} qrn_multi_nms_args;

typedef struct qrn_nms_limit_args {
    uint32_t method; // qrn_nms_method
    double iou_threshold, score_threshold, nms_score_threshold, sigma;
    int64_t pre_limit; // best of a class that compete; negative: all
    uint32_t report;   // as above
} qrn_nms_limit_args;

extern const qrn_family qrn_family_nms;          // F32, F64
extern const qrn_family qrn_family_combined_nms; // F32, F64
extern const qrn_family qrn_family_multi_nms;    // F32, F64
extern const qrn_family qrn_family_pick_rows;    // RAW
extern const qrn_family qrn_family_nms_limit;    // F32, F64

#endif
