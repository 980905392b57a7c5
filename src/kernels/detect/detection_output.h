// SPDX-License-Identifier: MIT
//
// The last step of single-shot detectors: decodes boxes, suppresses, collects the best.
//   in  scores [N, A, C], deltas [N, A, 4] or [N, A * C, 4], anchors [A or N * A, 4]; deltas and
//       anchors are centre y, centre x, height, width
//   out scores [N, K], boxes [N, K, 4] (y1, x1, y2, x2), labels [N, K], count [N]; by descending
//       score, 0 where nothing was found
// Decoded: centre = anchor centre + delta * factor * anchor size, size = anchor size * exp(delta *
// factor). Scores below `confidence` (and NaN) do not count. REGULAR suppresses within each class,
// FAST among anchors by their best class and then lists the best classes of each anchor that is
// left.
#ifndef QRN_KERNELS_DETECT_DETECTION_OUTPUT_H
#define QRN_KERNELS_DETECT_DETECTION_OUTPUT_H

#include "kernels/kernel.h"

typedef struct qrn_detection_output_args {
    float factors[4];
    double confidence, iou_threshold, eta;
    int64_t limit;       // picks of each class (REGULAR), classes of each pick (FAST); below 0: all
    uint32_t background; // class number; none when it is not below C
    bool regular;
    bool use_background;    // the background class may be found
    bool number_background; // else it is never reported and labels above it count one less
    bool shared;            // one box for all classes of an anchor
} qrn_detection_output_args;

extern const qrn_family qrn_family_detection_output; // F32, F64

#endif
