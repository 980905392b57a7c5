// SPDX-License-Identifier: MIT
//
// Rounding of 8-bit results: clamp(floor(fma((double)acc, m, zero + 0.5))), as requant.h has it, at
// the price of single precision. Vectors compute in float; where the float is so close to a whole
// number that the double could lie on its other side, which is one result in ten thousand, the
// double decides.
#ifndef QRN_KERNELS_GEMM_ROUND8_H
#define QRN_KERNELS_GEMM_ROUND8_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct qrn_round8 {
    const float *m;      // multipliers as floats
    const double *exact; // the same in double
    double zero_half;    // zero + 0.5
    float start[2];      // less and more than that: by what float and double can differ
    float lo, hi;        // code range
} qrn_round8;

static inline qrn_round8 qrn_round8_of(const float *m, const double *exact, double zero_half,
                                       int32_t lo, int32_t hi) {
    // Rounding acc, m, start and the result: at most 2^-24 of each, and |acc * m| is no more than
    // 257 + |zero| for a result in range.
    double slack = (3 * fabs(zero_half) + 1100) * 0x1p-24;
    return (qrn_round8){.m = m,
                        .exact = exact,
                        .zero_half = zero_half,
                        .start = {(float)(zero_half - slack), (float)(zero_half + slack)},
                        .lo = (float)lo,
                        .hi = (float)hi};
}

// The definition, for channel c.
static inline uint8_t qrn_round8_exact(const qrn_round8 *r, size_t c, int32_t acc) {
    double t = floor(fma((double)acc, r->exact[c], r->zero_half));
    t = t > (double)r->lo ? t : (double)r->lo; // NaN as well
    t = t < (double)r->hi ? t : (double)r->hi;
    return (uint8_t)(int32_t)t;
}

#endif
