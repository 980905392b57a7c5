// SPDX-License-Identifier: MIT
//
// Small things of depthwise convolutions in vectors of AVX-512.
#ifndef QRN_KERNELS_CONV_DEPTHWISE_AVX512_H
#define QRN_KERNELS_CONV_DEPTHWISE_AVX512_H

#include "kernels/conv/depthwise_strips.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

// A vector in a register: gcc 12 would rather read one again for each use.
INLINE __m512i vector_at(const uint8_t *p) {
    __m512i v = _mm512_load_si512(p);
    __asm__("" : "+v"(v));
    return v;
}

// X(0); ... X(15): gcc 12 does not unroll loops that become so long.
// clang-format off
#define SIXTEEN(X) \
    X(0); X(1); X(2); X(3); X(4); X(5); X(6); X(7); \
    X(8); X(9); X(10); X(11); X(12); X(13); X(14); X(15)
// clang-format on

#endif
