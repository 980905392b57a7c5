// SPDX-License-Identifier: MIT
//
// Pooling for AVX-512.
#include "kernels/pooling/pooling.h"
#include "kernels/vec.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#define INTEGERS(name, type, set, max)                                                             \
    typedef __m512i vector_##name;                                                                 \
    static inline __m512i all_##name(type v) { return set(v); }                                    \
    static inline __m512i load_##name(const type *p) { return _mm512_loadu_si512(p); }             \
    static inline void store_##name(type *p, __m512i v) { _mm512_storeu_si512(p, v); }             \
    static inline __m512i max_##name(__m512i a, __m512i b) { return max(a, b); }
INTEGERS(u8, uint8_t, _mm512_set1_epi8, _mm512_max_epu8)
INTEGERS(s8, int8_t, _mm512_set1_epi8, _mm512_max_epi8)
INTEGERS(u16, uint16_t, _mm512_set1_epi16, _mm512_max_epu16)
INTEGERS(s16, int16_t, _mm512_set1_epi16, _mm512_max_epi16)

typedef __m512 vector_f32;
static inline __m512 all_f32(float v) { return _mm512_set1_ps(v); }
static inline __m512 load_f32(const float *p) { return _mm512_loadu_ps(p); }
static inline void store_f32(float *p, __m512 v) { _mm512_storeu_ps(p, v); }
static inline __m512 max_f32(__m512 best, __m512 v) { // NaN wins; that of v is taken anyway
    return _mm512_mask_max_ps(best, _mm512_cmp_ps_mask(best, best, _CMP_ORD_Q), best, v);
}

typedef __m512i sums;
static inline sums all_sums(int32_t v) { return _mm512_set1_epi32(v); }
static inline sums add_sums(sums a, sums b) { return _mm512_add_epi32(a, b); }
static inline sums widen_u8(const uint8_t *p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
}
static inline sums widen_s8(const int8_t *p) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p));
}
static inline sums widen_u16(const uint16_t *p) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
}
static inline sums widen_s16(const int16_t *p) {
    return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p));
}

#define ISA avx512
#include "kernels/pooling/pool_fast.inc"
#include "kernels/pooling/pool_lines.inc"
