// SPDX-License-Identifier: MIT
//
// Taps: which input positions along one axis an output position reads when a tensor is resized, and
// how much each of them counts. Every resize op is a choice of these three things:
//   coordinate     where output o lies on the input axis (in, out: lengths)
//     HALF_PIXEL           (o + 0.5) * in / out - 0.5
//     PYTORCH_HALF_PIXEL   the same, 0 when out is 1
//     ALIGN_CORNERS        o * (in - 1) / (out - 1), 0 when out is 1
//     ASYMMETRIC           o * in / out
//     PIXEL_CENTER         (o + 0.5) * in / out
//   interpolation  NEAREST (one tap, rounded), LINEAR (two), CUBIC (four, Keys kernel), TRIANGLE
//                  (linear, widened when shrinking so that every input counts)
//   border         taps outside the axis read its end, or with exclude_outside count nothing
#ifndef QRN_KERNELS_IMAGE_TAPS_H
#define QRN_KERNELS_IMAGE_TAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum qrn_tap_coordinate {
    QRN_TAP_HALF_PIXEL,
    QRN_TAP_PYTORCH_HALF_PIXEL,
    QRN_TAP_ALIGN_CORNERS,
    QRN_TAP_ASYMMETRIC,
    QRN_TAP_PIXEL_CENTER
} qrn_tap_coordinate;

typedef enum qrn_tap_interpolation {
    QRN_TAP_NEAREST,
    QRN_TAP_LINEAR,
    QRN_TAP_CUBIC,
    QRN_TAP_TRIANGLE
} qrn_tap_interpolation;

typedef enum qrn_tap_rounding {
    QRN_TAP_ROUND_PREFER_FLOOR,
    QRN_TAP_ROUND_PREFER_CEIL,
    QRN_TAP_FLOOR,
    QRN_TAP_CEIL
} qrn_tap_rounding;

typedef struct qrn_tap_rule {
    uint32_t coordinate;    // qrn_tap_coordinate
    uint32_t interpolation; // qrn_tap_interpolation
    uint32_t rounding;      // qrn_tap_rounding, for NEAREST
    double cubic;           // coefficient of the Keys kernel
    bool exclude_outside;
} qrn_tap_rule;

// Taps of each output position; at least 1.
size_t qrn_taps_count(const qrn_tap_rule *r, uint32_t in, uint32_t out);
// Fills index[out * count] with positions in [0, in) and weight[out * count] with weights that sum
// to 1 for each output position.
void qrn_taps_fill(const qrn_tap_rule *r, uint32_t in, uint32_t out, int32_t *index,
                   double *weight);

#endif
