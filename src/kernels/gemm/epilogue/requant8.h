// SPDX-License-Identifier: MIT
//
// Requantization to 8 bits: clamp(floor(fma((double)acc, m, zero + 0.5))), as requant.h has it, at
// the price of single precision. Vectors compute in float; where the float is so close to a whole
// number that the double could lie on its other side, which is one result in ten thousand, the
// double decides.
//
// The form for vectors: a result, as an unsigned byte u, becomes the float 256 + u. Floats from 256
// to 512 are multiples of 2^-15, and their bits 15 to 22 are u. The 15 bits below are the fraction,
// so the bits alone show how close to a whole number a result is:
//   t = fma((float)acc, m, base)
//   u = bits(t) / 2^15 - QRN_REQUANT8_ONES, clamped      bits(t) as a signed number, rounded down:
//                                                        it grows with t where t is positive, and
//                                                        where it is not, both are negative
//   y = u ^ flip                                         surely, where bits(t) & sure is not 0
// No t is a NaN, for m is a finite number.
#ifndef QRN_KERNELS_GEMM_REQUANT8_H
#define QRN_KERNELS_GEMM_REQUANT8_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct qrn_requant8 {
    const float *m;      // multipliers as floats
    const double *exact; // the same in double
    double zero_half;    // zero + 0.5
    float start[2];      // less and more than that: by what float and double can differ
    float lo, hi;        // range of results
    // The form for vectors.
    float base;
    uint32_t sure; // 0: the double decides everything
    uint8_t low, high, flip;
} qrn_requant8;

#define QRN_REQUANT8_FRACTION 15
#define QRN_REQUANT8_ONES 0x8700 // bits(256.0f) / 2^15

static inline qrn_requant8 qrn_requant8_of(const float *m, const double *exact, double zero_half,
                                           int32_t lo, int32_t hi) {
    // Rounding acc, m, start and the result: at most 2^-24 of each, and |acc * m| is no more than
    // 257 + |zero| for a result in range.
    double slack = (3 * fabs(zero_half) + 1100) * 0x1p-24;
    return (qrn_requant8){.m = m,
                          .exact = exact,
                          .zero_half = zero_half,
                          .start = {(float)(zero_half - slack), (float)(zero_half + slack)},
                          .lo = (float)lo,
                          .hi = (float)hi};
}

// Sets base, sure, low, high and flip for multipliers [first, end) and sums up to `most`.
//
// With e = 2^-15: t is rounded by at most e/2, and m by 2^-24 of it, which makes less than e/2 as
// |acc * m| < 256 for a result in range where the zero is one; so does acc unless it is exact, as
// numbers up to 2^24 are. So t lies within e of the sum, or 1.5 e. With one e added, fractions of
// unsure ones are 0 and e, or up to 2 e. With a zero up to 256 outside, |acc * m| may be twice as
// large and base lies on a coarser grid: t lies within 2.5 e, and with 2 e added the fractions are
// up to 4 e. Beyond the range it is enough that t is on the right side of it.
static inline void qrn_requant8_widen(qrn_requant8 *r, size_t first, size_t end, int64_t most) {
    int32_t shift = r->lo < 0 ? 128 : 0;
    double zero = r->zero_half - 0.5 + shift;
    bool inside = zero >= 0 && zero <= 255, near = zero >= -256 && zero <= 511;
    float least = INFINITY;
    for (size_t i = first; i < end; i++) {
        near = near && isfinite(r->m[i]);
        least = r->m[i] < least && r->m[i] != 0 ? r->m[i] : least; // 0: exact as well
    }
    bool exact = most <= 1 << 24 || least >= 0x1p-16f; // 256 / least <= 2^24
    r->base = (float)(256 + zero + 0.5 + (inside ? 0x1p-15 : 0x1p-14));
    r->sure = !near ? 0 : !inside ? 0x7ff8 : !exact ? 0x7ffc : 0x7ffe;
    r->low = (uint8_t)((int32_t)r->lo + shift);
    r->high = (uint8_t)((int32_t)r->hi + shift);
    r->flip = (uint8_t)shift;
}

// The definition, for channel c.
static inline uint8_t qrn_requant8_exact(const qrn_requant8 *r, size_t c, int32_t acc) {
    double t = floor(fma((double)acc, r->exact[c], r->zero_half));
    t = t > (double)r->lo ? t : (double)r->lo; // NaN as well
    t = t < (double)r->hi ? t : (double)r->hi;
    return (uint8_t)(int32_t)t;
}

#endif
