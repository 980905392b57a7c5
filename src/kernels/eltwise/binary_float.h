// SPDX-License-Identifier: MIT
//
// The operations of binary.inc on floats. Quotients and powers go through double, where a float
// result is rounded once; IEEE makes + - * / the same either way.
#ifndef QRN_KERNELS_ELTWISE_BINARY_FLOAT_H
#define QRN_KERNELS_ELTWISE_BINARY_FLOAT_H

#include "kernels/exp_f64.h"
#include "kernels/kernel.h"

#include <float.h>
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

// y = x to the power of e, an exponent that models have for all numbers; false: none of those.
static inline bool qrn_pow_same(const float *x, float e, float *y, size_t n) {
    if (e == 2) {
        QRN_INDEPENDENT
        for (size_t i = 0; i < n; i++)
            y[i] = x[i] * x[i];
    } else if (e == 3) {
        QRN_INDEPENDENT
        for (size_t i = 0; i < n; i++)
            y[i] = (float)((double)x[i] * (double)x[i] * (double)x[i]);
    } else if (e == 0.5f) {
        QRN_INDEPENDENT
        for (size_t i = 0; i < n; i++) // unlike a root, never -0, and infinite for -infinity
            y[i] = x[i] < -FLT_MAX ? INFINITY : sqrtf(x[i]) + 0.0f;
    }
    return e == 2 || e == 3 || e == 0.5f;
}

// By a logarithm in double, which is for positive numbers; blocks with others are left to libm.
static inline void qrn_pow_floats(const float *x, const float *e, float *y, size_t n) {
    uint32_t others = 0;
    for (size_t i = 0; i < n; i++)
        others |= e[i] != e[0];
    if (n && !others && qrn_pow_same(x, e[0], y, n))
        return;
    for (size_t at = 0, end; at < n; at = end) {
        end = n - at < 64 ? n : at + 64;
        bool plain = true;
        for (size_t i = at; i < end; i++)
            plain &= x[i] > 0 && x[i] <= FLT_MAX && fabsf(e[i]) <= FLT_MAX;
        QRN_INDEPENDENT
        for (size_t i = at; i < end && plain; i++) {
            double z = (double)e[i] * qrn_log_f64((double)x[i]);
            y[i] = (float)qrn_exp_f64(z < 700 ? z : 700);
        }
        for (size_t i = at; i < end && !plain; i++)
            y[i] = (float)qrn_pow_float((double)x[i], (double)e[i]);
    }
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
#define IS_NEGATIVE(a) ((a) < 0)
#define BITS

// Powers of floats may go another way than those of doubles.
#define POWERS(p, q, y, n)                                                                         \
    do {                                                                                           \
        if (!QRN_IO_BY_DEFINITION && sizeof(T) == sizeof(float))                                   \
            qrn_pow_floats((const void *)(p), (const void *)(q), (void *)(y), n);                  \
        else                                                                                       \
            EACH(POW(a, b));                                                                       \
    } while (0)

#endif
