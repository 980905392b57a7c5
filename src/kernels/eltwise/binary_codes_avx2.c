// SPDX-License-Identifier: MIT
//
// Binary ops on codes, for AVX2.
#include "kernels/eltwise/binary_codes.h"
#include "kernels/eltwise/binary_rows.h"
#include "kernels/eltwise/blocks.h"

#include <immintrin.h>
#include <string.h>

#define V __m256i
#define VF __m256
#define VD __m256d
#define OP(x) _mm256_##x
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define XOR(a, b) _mm256_xor_si256(a, b)
#define LOW(v) _mm256_castsi256_si128(v)
#define HIGH(v) _mm256_extracti128_si256(v, 1)
#define JOIN(low, high) _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1)
#define CHANGED(all, t, u) _mm256_or_si256(all, _mm256_xor_si256(t, u))
#define ANY(v, w) (!_mm256_testz_si256(v, w))
#define NAME(x) x##_avx2
#include "kernels/eltwise/binary_codes_x86.inc"
