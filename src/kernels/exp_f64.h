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

// ln x, off by less than 1e-15 of it or of 1: 2 atanh(s) with s = (m - 1) / (m + 1) for x = 2^e m,
// m in [sqrt 1/2, sqrt 2), as a series. Not for subnormal doubles.
static inline double qrn_log_f64(double x) {
    const uint64_t mantissa = (uint64_t)1 << 52, half_root = 0x3fe6a09e667f3bcd;
    uint64_t bits, e, m_bits, e_bits;
    memcpy(&bits, &x, sizeof bits);
    e = (bits - half_root + 1023 * mantissa) >> 52; // of m's range, plus 1023
    m_bits = bits - (e << 52) + 1023 * mantissa;
    e_bits = e | 0x4330000000000000; // 2^52 + e
    double m, whole;
    memcpy(&m, &m_bits, sizeof m);
    memcpy(&whole, &e_bits, sizeof whole);
    whole -= 0x1p52 + 1023;
    double s = (m - 1) / (m + 1), z = s * s, p = 1.0 / 21;
    p = fma(p, z, 1.0 / 19);
    p = fma(p, z, 1.0 / 17);
    p = fma(p, z, 1.0 / 15);
    p = fma(p, z, 1.0 / 13);
    p = fma(p, z, 1.0 / 11);
    p = fma(p, z, 1.0 / 9);
    p = fma(p, z, 1.0 / 7);
    p = fma(p, z, 1.0 / 5);
    p = fma(p, z, 1.0 / 3);
    double y = fma(whole, 0x1.62e42fefa39efp-1, fma(p * z, 2 * s, 2 * s));
    y = x < (double)INFINITY ? y : x;
    return x > 0 ? y : x < 0 ? (double)NAN : x == 0 ? -(double)INFINITY : x;
}

// Quarter turns in x for |x| < 2^20, and what is left of it, in [-pi / 4, pi / 4].
static inline double qrn_quarters_f64(double x, double *rest) {
    const double magic = 0x1.8p52;
    double n = fma(x, 0x1.45f306dc9c883p-1, magic) - magic;
    *rest = fma(n, -0x1.1a62633145c07p-54, fma(n, -0x1.921fb54442d18p0, x));
    return n;
}

// sin (x + quarters pi / 2) for |x| < 2^20, off by less than 1e-12 of it.
static inline double qrn_sin_f64(double x, double quarters) {
    double r, n = qrn_quarters_f64(x, &r) + quarters, z = r * r;
    double s = 1.0 / 6227020800;
    s = fma(s, z, -1.0 / 39916800);
    s = fma(s, z, 1.0 / 362880);
    s = fma(s, z, -1.0 / 5040);
    s = fma(s, z, 1.0 / 120);
    s = fma(s, z, -1.0 / 6);
    s = fma(s * z, r, r);
    double c = -1.0 / 87178291200;
    c = fma(c, z, 1.0 / 479001600);
    c = fma(c, z, -1.0 / 3628800);
    c = fma(c, z, 1.0 / 40320);
    c = fma(c, z, -1.0 / 720);
    c = fma(c, z, 1.0 / 24);
    c = fma(fma(c, z, -0.5), z, 1.0);
    double turn = n - 4 * floor(n * 0.25); // 0, 1, 2 or 3
    double y = turn == 0 || turn == 2 ? s : c;
    return turn < 1.5 ? y : -y;
}

// 1 / (1 + e^-v); NaN stays.
static inline double qrn_sigmoid_f64(double v) {
    double e = qrn_exp_f64(-fabs(v)), y = (v < 0 ? e : 1) / (1 + e);
    return v == v ? y : v;
}

#endif
