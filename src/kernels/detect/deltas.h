// SPDX-License-Identifier: MIT
//
// The one formula by which deltas move and resize a box.
#ifndef QRN_KERNELS_DETECT_DELTAS_H
#define QRN_KERNELS_DETECT_DELTAS_H

#include "kernels/detect/candidates.h"

#include <math.h>

// Box with corners (a1, b1, a2, b2) after deltas (da, db, dlog_a, dlog_b).
static inline qrn_box qrn_box_moved(const qrn_box *roi, const double *d) {
    qrn_box out;
    for (size_t i = 0; i < 2; i++) {
        double size = roi->at[2 + i] - roi->at[i];
        double centre = (roi->at[i] + roi->at[2 + i]) / 2.0 + d[i] * size;
        double half = exp(d[2 + i]) * size / 2.0;
        out.at[i] = centre - half;
        out.at[2 + i] = centre + half;
    }
    return out;
}

// x1, y1, x2, y2 clipped to an image.
static inline void qrn_box_clip(qrn_box *b, double height, double width) {
    for (size_t i = 0; i < 4; i++)
        b->at[i] = fmin(fmax(b->at[i], 0.0), i % 2 ? height : width);
}

#endif
