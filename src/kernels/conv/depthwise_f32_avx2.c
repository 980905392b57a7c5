// SPDX-License-Identifier: MIT
//
// Lines of depthwise convolutions for AVX2 and FMA: eight channels a vector, as depthwise_f32.inc
// has it.
#include "kernels/conv/depthwise_f32.h"

#include <immintrin.h>

#define VECTOR 8
typedef __m256 vector;
typedef __m256i mask;

static inline mask mask_of(size_t n) {
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n < VECTOR ? (int)n : VECTOR), lane);
}
static inline vector load(bool whole, mask m, const float *p) {
    return whole ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, m);
}
static inline void store(bool whole, mask m, float *p, vector v) {
    if (whole)
        _mm256_storeu_ps(p, v);
    else
        _mm256_maskstore_ps(p, m, v);
}
static inline vector clamped(vector v, float low, float high) {
    v = _mm256_max_ps(_mm256_set1_ps(low), v); // the second one where they are equal or one is NaN
    return _mm256_min_ps(_mm256_set1_ps(high), v);
}
static inline vector zeros(void) { return _mm256_setzero_ps(); }
static inline vector fused(vector x, vector w, vector acc) { return _mm256_fmadd_ps(x, w, acc); }

#define FN qrn_depthwise_line_avx2
#include "kernels/conv/depthwise_f32.inc"
