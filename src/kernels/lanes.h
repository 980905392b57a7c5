// SPDX-License-Identifier: MIT
//
// Sums, maxima and minima of contiguous floats, cut into a fixed number of lanes so that compilers
// use vectors. The lanes are joined in a fixed order: a result does not depend on the vector width,
// the ISA or the number of tasks. Sums are in double.
#ifndef QRN_KERNELS_LANES_H
#define QRN_KERNELS_LANES_H

#include <stddef.h>

#define QRN_LANES 16

// The lanes' total, pairwise.
static inline double qrn_lanes_sum(double *lane) {
    for (size_t half = QRN_LANES / 2; half; half /= 2)
        for (size_t i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

// Sum of f(x[i]) over i < n; `v` is x[i] as double.
#define QRN_LANES_SUM(result, x, n, f)                                                             \
    do {                                                                                           \
        double lane_[QRN_LANES] = {0};                                                             \
        size_t at_ = 0;                                                                            \
        for (; at_ + QRN_LANES <= (n); at_ += QRN_LANES)                                           \
            for (size_t l_ = 0; l_ < QRN_LANES; l_++) {                                            \
                double v = (double)(x)[at_ + l_];                                                  \
                lane_[l_] += (f);                                                                  \
            }                                                                                      \
        for (size_t l_ = 0; at_ + l_ < (n); l_++) {                                                \
            double v = (double)(x)[at_ + l_];                                                      \
            lane_[l_] += (f);                                                                      \
        }                                                                                          \
        (result) = qrn_lanes_sum(lane_);                                                           \
    } while (0)

#endif
