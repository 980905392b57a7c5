// SPDX-License-Identifier: MIT
//
// Pooling for AVX2.
#include "kernels/pooling/pooling.h"
#include "kernels/vec.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#define INTEGERS(name, type, set, max)                                                             \
    typedef __m256i vector_##name;                                                                 \
    static inline __m256i all_##name(type v) { return set(v); }                                    \
    static inline __m256i load_##name(const type *p) {                                             \
        return _mm256_loadu_si256((const __m256i *)p);                                             \
    }                                                                                              \
    static inline void store_##name(type *p, __m256i v) { _mm256_storeu_si256((__m256i *)p, v); }  \
    static inline __m256i max_##name(__m256i a, __m256i b) { return max(a, b); }
INTEGERS(u8, uint8_t, _mm256_set1_epi8, _mm256_max_epu8)
INTEGERS(s8, int8_t, _mm256_set1_epi8, _mm256_max_epi8)
INTEGERS(u16, uint16_t, _mm256_set1_epi16, _mm256_max_epu16)
INTEGERS(s16, int16_t, _mm256_set1_epi16, _mm256_max_epi16)

typedef __m256 vector_f32;
static inline __m256 all_f32(float v) { return _mm256_set1_ps(v); }
static inline __m256 load_f32(const float *p) { return _mm256_loadu_ps(p); }
static inline void store_f32(float *p, __m256 v) { _mm256_storeu_ps(p, v); }
static inline __m256 max_f32(__m256 best, __m256 v) { // NaN wins; that of v is taken anyway
    return _mm256_blendv_ps(_mm256_max_ps(best, v), best, _mm256_cmp_ps(best, best, _CMP_UNORD_Q));
}

typedef __m256i sums;
static inline sums all_sums(int32_t v) { return _mm256_set1_epi32(v); }
static inline sums add_sums(sums a, sums b) { return _mm256_add_epi32(a, b); }
static inline sums widen_u8(const uint8_t *p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
}
static inline sums widen_s8(const int8_t *p) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p));
}
static inline sums widen_u16(const uint16_t *p) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
}
static inline sums widen_s16(const int16_t *p) {
    return _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p));
}

#define ISA avx2
#include "kernels/pooling/pool_fast.inc"
#include "kernels/pooling/pool_lines.inc"
