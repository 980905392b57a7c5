// SPDX-License-Identifier: MIT
//
// Binary ops on quantized values, for AVX2.
#include "kernels/eltwise/binary_q.h"
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
#define OR(a, b) _mm256_or_si256(a, b)
#define AND_OR(a, b, c) _mm256_or_si256(_mm256_and_si256(a, b), c)
#define ODD_OF(v, w) _mm256_blend_epi32(v, w, 0xaa)
#define SHUFFLE(v, order) _mm256_shuffle_epi32(v, order)
#define ALL_64(x) _mm256_set1_epi64x(x)
#define PD(v) _mm256_castsi256_pd(v)
#define BITS(v) _mm256_castpd_si256(v)
#define CHANGED(all, t, u) _mm256_or_si256(all, _mm256_xor_si256(t, u))
#define ANY(v, w) (!_mm256_testz_si256(v, w))
#define NAME(x) x##_avx2
#include "kernels/eltwise/binary_q_x86.inc"
