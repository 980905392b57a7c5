// SPDX-License-Identifier: MIT
//
// Binary ops on codes, for AVX512.
#include "kernels/eltwise/binary_codes.h"
#include "kernels/eltwise/binary_rows.h"
#include "kernels/eltwise/blocks.h"

#include <immintrin.h>
#include <string.h>

#define V __m512i
#define VF __m512
#define VD __m512d
#define OP(x) _mm512_##x
#define LOAD(p) _mm512_loadu_si512(p)
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define XOR(a, b) _mm512_xor_si512(a, b)
#define LOW(v) _mm512_castsi512_si256(v)
#define HIGH(v) _mm512_extracti64x4_epi64(v, 1)
#define JOIN(low, high) _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1)
#define CHANGED(all, t, u) _mm512_ternarylogic_epi32(all, t, u, 0xf6)
#define ANY(v, w) (_mm512_test_epi32_mask(v, w) != 0)
#define NAME(x) x##_avx512
#include "kernels/eltwise/binary_codes_x86.inc"
