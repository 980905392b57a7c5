// SPDX-License-Identifier: MIT
//
// Pooling for AVX2.
#include "kernels/pooling/pooling.h"

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

typedef int32_t sums_16 __attribute__((vector_size(64)));
#define ADD(name, type, convert, load)                                                             \
    static inline void add_##name(sums_16 *s, const type *p) {                                     \
        __m256i *half = (__m256i *)s;                                                              \
        half[0] = _mm256_add_epi32(half[0], convert(load((const __m128i *)p)));                    \
        half[1] = _mm256_add_epi32(half[1], convert(load((const __m128i *)(p + 8))));              \
    }
ADD(u8, uint8_t, _mm256_cvtepu8_epi32, _mm_loadl_epi64)
ADD(s8, int8_t, _mm256_cvtepi8_epi32, _mm_loadl_epi64)
ADD(u16, uint16_t, _mm256_cvtepu16_epi32, _mm_loadu_si128)
ADD(s16, int16_t, _mm256_cvtepi16_epi32, _mm_loadu_si128)

typedef __m256 vector_f32;
static inline __m256 all_f32(float v) { return _mm256_set1_ps(v); }
static inline __m256 load_f32(const float *p) { return _mm256_loadu_ps(p); }
static inline void store_f32(float *p, __m256 v) { _mm256_storeu_ps(p, v); }
static inline __m256 max_f32(__m256 best, __m256 v) { // NaN wins
    __m256 wins = _mm256_cmp_ps(v, best, _CMP_GT_OQ), nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
    return _mm256_blendv_ps(best, v, _mm256_or_ps(wins, nan));
}

#define ISA avx2
#include "kernels/pooling/pool_fast.inc"
