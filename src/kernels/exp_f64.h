// SPDX-License-Identifier: MIT
//
// Functions in double that compilers make vectors of in a loop, without a call. Every step is
// rounded as written, so that results are the same on every ISA, to the bit.
#ifndef QRN_KERNELS_EXP_F64_H
#define QRN_KERNELS_EXP_F64_H

#include <math.h>
#include <stdint.h>
#include <string.h>

// e^z for z <= 0, off by less than 1e-14 of it, and e^-700 below -700: 2^n e^r, a sum of Taylor's,
// with n in the last bits of a number that has no room for its fraction.
static inline double qrn_exp_f64(double z) {
    const double magic = 0x1.8p52;
    double c = z > -700 ? z : -700, shifted = fma(c, 1.44269504088896340736, magic);
    double n = shifted - magic, r = fma(n, -0x1.62e42fefap-1, c);
    r = fma(n, -0x1.cf79abc9e3b3ap-40, r);
    double p = 1.0 / 479001600;
    p = fma(p, r, 1.0 / 39916800);
    p = fma(p, r, 1.0 / 3628800);
    p = fma(p, r, 1.0 / 362880);
    p = fma(p, r, 1.0 / 40320);
    p = fma(p, r, 1.0 / 5040);
    p = fma(p, r, 1.0 / 720);
    p = fma(p, r, 1.0 / 120);
    p = fma(p, r, 1.0 / 24);
    p = fma(p, r, 1.0 / 6);
    p = fma(p, r, 0.5);
    p = fma(fma(p, r, 1.0), r, 1.0);
    uint64_t bits, whole;
    memcpy(&bits, &p, sizeof bits);
    memcpy(&whole, &shifted, sizeof whole);
    bits += whole << 52;
    memcpy(&p, &bits, sizeof p);
    return p;
}

// 1 / (1 + e^-v); NaN stays.
static inline double qrn_sigmoid_f64(double v) {
    double e = qrn_exp_f64(-fabs(v)), y = (v < 0 ? e : 1) / (1 + e);
    return v == v ? y : v;
}

#endif
