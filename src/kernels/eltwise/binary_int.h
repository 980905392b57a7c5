// SPDX-License-Identifier: MIT
//
// The operations of binary.inc on int64_t, defined for every pair of values: overflow wraps and a
// zero divisor gives 0.
#ifndef QRN_KERNELS_ELTWISE_BINARY_INT_H
#define QRN_KERNELS_ELTWISE_BINARY_INT_H

#include <stdint.h>

static inline int64_t qrn_int_div(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}
static inline int64_t qrn_int_fmod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static inline int64_t qrn_int_floor_div(int64_t a, int64_t b) {
    int64_t r = qrn_int_fmod(a, b);
    return qrn_int_div(a, b) - (r != 0 && (r < 0) != (b < 0));
}
static inline int64_t qrn_int_mod(int64_t a, int64_t b) {
    int64_t r = qrn_int_fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline int64_t qrn_int_pow(int64_t a, int64_t b) {
    if (b < 0) // 1 / a^|b|, truncated
        return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    uint64_t base = (uint64_t)a, result = 1;
    for (; b; b >>= 1, base *= base)
        result *= b & 1 ? base : 1;
    return (int64_t)result;
}

#define ADD(a, b) (int64_t)((uint64_t)(a) + (uint64_t)(b))
#define SUB(a, b) (int64_t)((uint64_t)(a) - (uint64_t)(b))
#define MUL(a, b) (int64_t)((uint64_t)(a) * (uint64_t)(b))
#define DIV(a, b) qrn_int_div(a, b)
#define FLOOR_DIV(a, b) qrn_int_floor_div(a, b)
#define FMOD(a, b) qrn_int_fmod(a, b)
#define MOD(a, b) qrn_int_mod(a, b)
#define POW(a, b) qrn_int_pow(a, b)
#define IS_NAN(a) 0

#endif
