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

#endif
