// SPDX-License-Identifier: MIT
//
// Tiles of up to 4 rows by 32 columns for AVX-512. A permutation looks 4-bit weights up in a table
// of 16 floats: it reads the lowest 4 bits of each lane, so that shifting is all they need.
#include "kernels/gemm/gemv/weight_only.h"

#include <immintrin.h>

#define VECTORS 2
typedef __m512i packed;

static inline packed load4(const int8_t *w) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)w));
}
static inline packed load8(const int8_t *w) { return _mm512_loadu_si512(w); }
static inline __m512 value4(packed u, int i) {
    const __m512 table = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
    return _mm512_permutexvar_ps(_mm512_srli_epi32(u, (unsigned)(4 * i)), table);
}
static inline __m512 value8(packed u, int i) {
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(u, (unsigned)(24 - 8 * i)), 24));
}
static inline __m512 from_fp16(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
static inline __m512 from_i8(const int8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}

#define FN qrn_gemv_avx512
#define UNPACK qrn_gemv_unpack_avx512
#include "kernels/gemm/gemv/gemv.inc"
