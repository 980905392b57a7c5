// SPDX-License-Identifier: MIT
//
// exp, sigmoid, tanh, elu and gelu on floats in plain C without branches or calls, so that a loop
// over them becomes vector code. No operation depends on the ISA: a result is the same on every
// CPU. Relative error against the exact value: exp, sigmoid, tanh below 2e-7, elu below 4e-7, gelu
// below 3e-6 where the result is at least 1e-6 in size (tests/kernel/test_eltwise.c measures them).
// Infinities and NaN behave as in libm.
#ifndef QRN_KERNELS_FAST_MATH_H
#define QRN_KERNELS_FAST_MATH_H

#include <stdint.h>
#include <string.h>

static inline uint32_t qrn_float_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline float qrn_float_from(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

// 2^n * e^r with n = round(x / ln 2). Adding 1.5 * 2^23 leaves n in the low bits of the sum,
// without a conversion that NaN would make undefined. 2^n is applied in two halves so that results
// near both ends of the float range, denormals too, come out right.
static inline float qrn_fast_exp(float x) {
    const float magic = 12582912.0f;
    float c = x > 89.0f ? 89.0f : x;
    c = c < -105.0f ? -105.0f : c;
    float shifted = c * 1.44269504088896341f + magic;
    float n = shifted - magic;
    float r = c - n * 0.693359375f;
    r = r - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    uint32_t k = qrn_float_bits(shifted) - qrn_float_bits(magic) + 256; // n + 256, not negative
    uint32_t half = k >> 1;
    return p * qrn_float_from((half - 1) << 23) * qrn_float_from((k - half - 1) << 23);
}

static inline float qrn_fast_sigmoid(float x) { return 1.0f / (1.0f + qrn_fast_exp(-x)); }

// Odd polynomial near 0, 1 - 2 / (e^2|x| + 1) elsewhere.
static inline float qrn_fast_tanh(float x) {
    float z = qrn_float_from(qrn_float_bits(x) & 0x7fffffffu), s = x * x;
    float p = -5.70498872745e-3f;
    p = p * s + 2.06390887954e-2f;
    p = p * s - 5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s - 3.33332819422e-1f;
    float near = p * s * x + x;
    float far = 1.0f - 2.0f / (qrn_fast_exp(2.0f * z) + 1.0f);
    far = qrn_float_from(qrn_float_bits(far) | (qrn_float_bits(x) & 0x80000000u));
    return z < 0.625f ? near : far;
}

// x for x >= 0, else alpha (e^x - 1) = alpha 2t / (1 - t) with t = tanh(x / 2), which keeps its
// digits near 0.
static inline float qrn_fast_elu(float x, float alpha) {
    float t = qrn_fast_tanh(0.5f * (x < 0 ? x : 0));
    float below = alpha * (2.0f * t / (1.0f - t));
    return x < 0 ? below : x;
}

// x * Phi(x) with Phi(x) = erfc(-x / sqrt 2) / 2; erfc(z) = t e^(-z^2 + P(t)), t = 1 / (1 + z / 2),
// a Chebyshev fit for z >= 0 (erfc(-z) = 2 - erfc(z)).
static inline float qrn_fast_gelu(float x) {
    float z = qrn_float_from(qrn_float_bits(x) & 0x7fffffffu) * 0.70710678118654752f;
    float t = 1.0f / (1.0f + 0.5f * z);
    float p = 0.17087277f;
    p = p * t - 0.82215223f;
    p = p * t + 1.48851587f;
    p = p * t - 1.13520398f;
    p = p * t + 0.27886807f;
    p = p * t - 0.18628806f;
    p = p * t + 0.09678418f;
    p = p * t + 0.37409196f;
    p = p * t + 1.00002368f;
    p = p * t - 1.26551223f;
    float tail = 0.5f * t * qrn_fast_exp(p - z * z);
    float below = x * tail, above = x - x * tail;
    below = x < -1e30f ? -0.0f : below; // -inf * 0
    return x > 1e30f ? x : x < 0 ? below : above;
}

#endif
