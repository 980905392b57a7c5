// SPDX-License-Identifier: MIT
//
// Tiles of up to 4 rows by 16 columns for AVX2.
#include "kernels/gemm/gemv/weight_only.h"

#include <immintrin.h>

#define VECTORS 2
typedef __m256i packed;

static inline packed load4(const int8_t *w) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)w));
}
static inline packed load8(const int8_t *w) { return _mm256_loadu_si256((const __m256i *)w); }
static inline __m256 value4(packed u, int i) {
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(u, 28 - 4 * i), 28));
}
static inline __m256 value8(packed u, int i) {
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(u, 24 - 8 * i), 24));
}
static inline __m256 from_fp16(const uint16_t *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
static inline __m256 from_i8(const int8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

#define FN qrn_gemv_avx2
#define UNPACK qrn_gemv_unpack_avx2
#include "kernels/gemm/gemv/gemv.inc"
