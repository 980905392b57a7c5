// SPDX-License-Identifier: MIT
//
// Integer arithmetic that is defined for every pair of values: overflow wraps and a zero divisor
// gives 0.
#ifndef QRN_REFERENCE_INTEGER_H
#define QRN_REFERENCE_INTEGER_H

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
static inline uint64_t qrn_uint_pow(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        result *= exponent & 1 ? base : 1;
    return result;
}
static inline int64_t qrn_int_pow(int64_t a, int64_t b) {
    if (b < 0) // 1 / a^|b|, truncated
        return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    return (int64_t)qrn_uint_pow((uint64_t)a, (uint64_t)b);
}

#endif
