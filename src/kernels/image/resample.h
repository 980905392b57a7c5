// SPDX-License-Identifier: MIT
//
// Resampling along one axis: every output position is a weighted sum of input positions.
//   in[0] x [outer, n, inner], in[1] i32 [m * taps] positions in [0, n), in[2] f64 [m * taps]
//   weights, out[0] y [outer, m, inner]
//   y[a, o, b] = sum over t of weight[o, t] * x[a, index[o, t], b]
// `axis` is the middle dimension. A tap of weight 0 counts nothing, whatever it holds.
// resample_move takes one tap a position, no weights, and moves elements of any type; with i32
// positions in in[2] it resamples the dimension behind the axis too. resample_q
// computes on quantized values of 8 or 16 bits, rounded half up; between two axes values that are
// not rounded yet are f32 (8 bits) or f64 (16 bits). The positions come from the compiler
// (kernels/image/taps.h).
#ifndef QRN_KERNELS_IMAGE_RESAMPLE_H
#define QRN_KERNELS_IMAGE_RESAMPLE_H

#include "kernels/kernel.h"

typedef struct qrn_resample_args {
    uint32_t axis;
    uint32_t taps; // per output position
} qrn_resample_args;

extern const qrn_family qrn_family_resample;      // F32, F64
extern const qrn_family qrn_family_resample_move; // RAW
extern const qrn_family qrn_family_resample_q;    // RAW

#endif
