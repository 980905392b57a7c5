// SPDX-License-Identifier: MIT
//
// Register tile of up to 8 rows by 32 columns for AVX-512 that converts fp16 weights itself.
#include "kernels/gemm/dense/dense_f16.h"

#include <immintrin.h>

#define TILE_ROWS 8
#define AHEAD 8192 // bytes of weights asked for before they are needed

static inline __m512 to_f32(const uint16_t *b, const bool wide_range) {
    __m256i h = _mm256_loadu_si256((const __m256i *)b);
    if (!wide_range)
        return _mm512_cvtph_ps(h);
    __m512i u = _mm512_cvtepu16_epi32(h);
    __m512i sign = _mm512_slli_epi32(_mm512_srli_epi32(u, 15), 31);
    __m512i rest = _mm512_slli_epi32(_mm512_and_si512(u, _mm512_set1_epi32(0x7fff)), 13);
    __m512 a = _mm512_mul_ps(_mm512_castsi512_ps(rest), _mm512_set1_ps(0x1p112f));
    return _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(a), sign));
}

// false: a sum is infinite or NaN; all are stored all the same.
static inline __attribute__((always_inline)) bool tile(const qrn_gemm_f32_strip *t,
                                                       const uint16_t *b, const int rows,
                                                       const bool wide_range) {
    __mmask16 m0 = (__mmask16)(t->cols >= 16 ? 0xffff : (1u << t->cols) - 1);
    __mmask16 m1 = (__mmask16)(t->cols <= 16 ? 0 : (1u << (t->cols - 16)) - 1), odd = 0;
    const float *a = t->a;
    const size_t a_row = t->a_row;
    __m512 acc[TILE_ROWS][2];
    for (int r = 0; r < rows; r++) {
        acc[r][0] = t->bias ? _mm512_maskz_loadu_ps(m0, t->bias) : _mm512_setzero_ps();
        acc[r][1] = t->bias ? _mm512_maskz_loadu_ps(m1, t->bias + 16) : _mm512_setzero_ps();
    }
    for (size_t k = 0; k < t->length; k++, b += QRN_PANEL) {
        _mm_prefetch((const char *)b + AHEAD, _MM_HINT_T1);
        __m512 b0 = to_f32(b, wide_range), b1 = to_f32(b + 16, wide_range);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            __m512 x = _mm512_set1_ps(a[k + (size_t)r * a_row]);
            acc[r][0] = _mm512_fmadd_ps(x, b0, acc[r][0]);
            acc[r][1] = _mm512_fmadd_ps(x, b1, acc[r][1]);
        }
    }
    for (int r = 0; r < rows; r++) {
        odd |= _mm512_fpclass_ps_mask(acc[r][0], 0x99) | _mm512_fpclass_ps_mask(acc[r][1], 0x99);
        _mm512_mask_storeu_ps(t->c + (size_t)r * t->c_row, m0, acc[r][0]);
        _mm512_mask_storeu_ps(t->c + (size_t)r * t->c_row + 16, m1, acc[r][1]);
    }
    return !odd;
}

#define FN qrn_gemm_f16w_avx512
#include "kernels/gemm/tiles/gemm_f16w.inc"
