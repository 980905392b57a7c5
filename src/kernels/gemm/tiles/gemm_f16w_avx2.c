// SPDX-License-Identifier: MIT
//
// Register tile of up to 4 rows by 32 columns for AVX2 that converts fp16 weights itself, 16
// columns at a time.
#include "kernels/gemm/dense/dense_f16.h"

#include <immintrin.h>

#define TILE_ROWS 4

static inline __m256 to_f32(const uint16_t *b, const bool wide_range) {
    __m128i h = _mm_loadu_si128((const __m128i *)b);
    if (!wide_range)
        return _mm256_cvtph_ps(h);
    __m256i u = _mm256_cvtepu16_epi32(h);
    __m256i sign = _mm256_slli_epi32(_mm256_srli_epi32(u, 15), 31);
    __m256i rest = _mm256_slli_epi32(_mm256_and_si256(u, _mm256_set1_epi32(0x7fff)), 13);
    __m256 a = _mm256_mul_ps(_mm256_castsi256_ps(rest), _mm256_set1_ps(0x1p112f));
    return _mm256_castsi256_ps(_mm256_or_si256(_mm256_castps_si256(a), sign));
}

// Lanes below n; a load or store of the others does not touch memory.
static inline __m256i lanes(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// Sums that are infinite or NaN.
static inline int odd(__m256 x) {
    const __m256i most = _mm256_set1_epi32(0x7f7fffff);
    __m256i size = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffffff));
    return _mm256_movemask_epi8(_mm256_cmpgt_epi32(size, most));
}

static inline __attribute__((always_inline)) bool columns(const qrn_gemm_f32_strip *t,
                                                          const uint16_t *b, uint32_t first,
                                                          const int rows, const bool wide_range) {
    int n = (int)t->cols - (int)first;
    __m256i m0 = lanes(n), m1 = lanes(n - 8);
    __m256 acc[TILE_ROWS][2];
    int any = 0;
    for (int r = 0; r < rows; r++) {
        acc[r][0] = t->bias ? _mm256_maskload_ps(t->bias + first, m0) : _mm256_setzero_ps();
        acc[r][1] = t->bias ? _mm256_maskload_ps(t->bias + first + 8, m1) : _mm256_setzero_ps();
    }
    b += first;
    for (size_t k = 0; k < t->length; k++, b += QRN_PANEL) {
        __m256 b0 = to_f32(b, wide_range), b1 = to_f32(b + 8, wide_range);
        for (int r = 0; r < rows; r++) {
            __m256 x = _mm256_broadcast_ss(t->a + k + (size_t)r * t->a_row);
            acc[r][0] = _mm256_fmadd_ps(x, b0, acc[r][0]);
            acc[r][1] = _mm256_fmadd_ps(x, b1, acc[r][1]);
        }
    }
    for (int r = 0; r < rows; r++) {
        float *c = t->c + (size_t)r * t->c_row + first;
        _mm256_maskstore_ps(c, m0, acc[r][0]);
        _mm256_maskstore_ps(c + 8, m1, acc[r][1]);
        any |= odd(acc[r][0]) | odd(acc[r][1]);
    }
    return !any;
}

// false: a sum is infinite or NaN; all are stored all the same.
static inline __attribute__((always_inline)) bool tile(const qrn_gemm_f32_strip *t,
                                                       const uint16_t *b, const int rows,
                                                       const bool wide_range) {
    bool finite = true;
    for (uint32_t first = 0; first < t->cols; first += 16)
        finite &= columns(t, b, first, rows, wide_range);
    return finite;
}

#define FN qrn_gemm_f16w_avx2
#include "kernels/gemm/tiles/gemm_f16w.inc"
