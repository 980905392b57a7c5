// SPDX-License-Identifier: MIT
//
// The operations of binary.inc on floats. Quotients and powers go through double, where a float
// result is rounded once; IEEE makes + - * / the same either way.
#ifndef QRN_KERNELS_ELTWISE_BINARY_FLOAT_H
#define QRN_KERNELS_ELTWISE_BINARY_FLOAT_H

#include <math.h>

// Remainder with the sign of b.
static inline double qrn_mod_float(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// An exponent is what a float says: a stored 255 of scale 2/255 means 2, not the 2.0000001 of exact
// arithmetic, which negative numbers have no power of.
static inline double qrn_pow_float(double a, double b) {
    return pow(a, fabs(b) < 0x1p24 ? (double)(float)b : b);
}

#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define DIV(a, b) ((a) / (b))
#define FLOOR_DIV(a, b) floor((double)(a) / (double)(b))
#define FMOD(a, b) fmod((double)(a), (double)(b))
#define MOD(a, b) qrn_mod_float((double)(a), (double)(b))
#define POW(a, b) qrn_pow_float((double)(a), (double)(b))
#define IS_NAN(a) ((a) != (a))

#endif
