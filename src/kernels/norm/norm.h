// SPDX-License-Identifier: MIT
//
// Normalization.
//   norm       statistics over a set of elements, then y = (x - shift) * factor * gamma + beta;
//   covers
//              layer, group, instance and RMS normalization and the L2 norm. in[0] x, in[1] gamma
//              and in[2] beta (both optional), out[0] of the shape of x
//   affine     y[.., c, ..] = x[.., c, ..] * in[1][c] + in[2][c] (in[2] optional); both are [C], or
//              [C, 1, ..] with a dimension for each one that x has behind its channels
//   lrn        y = x / (bias + alpha * S)^beta, S the sum of squares in a window clipped to the
//   tensor
// Statistics are in double, variances divide by the count; vector rows for floats add runs of some
// hundred of them in single precision. In the RAW domain x and out[0] are quantized values that
// element_io.h knows and qrn_norm_supports_q agrees to, gamma and beta double; statistics come from
// exact sums.
#ifndef QRN_KERNELS_NORM_NORM_H
#define QRN_KERNELS_NORM_NORM_H

#include "kernels/kernel.h"

typedef enum qrn_norm_kind {
    QRN_NORM_MEAN_VARIANCE, // shift = mean, factor = 1 / sqrt(variance + epsilon)
    QRN_NORM_CENTER,        // shift = mean, factor = 1, gamma and beta are not used
    QRN_NORM_RMS,           // factor = 1 / sqrt(mean of squares + epsilon)
    QRN_NORM_ROOT_SUM,      // factor = 1 / sqrt(sum of squares + epsilon)
    QRN_NORM_L2             // factor = 1 / max(sqrt(sum of squares), epsilon)
} qrn_norm_kind;

typedef struct qrn_norm_args {
    uint32_t kind; // qrn_norm_kind
    float epsilon;
    uint32_t group;   // 0, or parts of the last axis that are normalized each on its own
    bool per_channel; // gamma and beta belong to the last axis, else to `axes` in order
    uint32_t n_axes;  // the axes statistics are taken over
    uint32_t axes[QRN_MAX_RANK];
} qrn_norm_args;

typedef struct qrn_lrn_args {
    float alpha, beta, bias;
    int32_t radius;      // the window is 2 * radius + 1 wide
    bool within_channel; // window over dims 1 and 2 of [N,H,W,C] instead of over the last axis
} qrn_lrn_args;

extern const qrn_family qrn_family_norm;   // F32, F64, RAW
extern const qrn_family qrn_family_affine; // F32, F64; no args
extern const qrn_family qrn_family_lrn;    // F32, F64

// Elements of x behind each channel of an affine call.
static inline size_t qrn_affine_inner(const qrn_kcall *k) {
    const qrn_view *x = k->in[0];
    return qrn_view_span(x, x->rank - k->in[1]->rank + 1, x->rank);
}

// Does the RAW domain of norm support x and y? The sets must lie in one piece each.
bool qrn_norm_supports_q(const qrn_norm_args *a, const qrn_view *x, const qrn_view *y);

#endif
