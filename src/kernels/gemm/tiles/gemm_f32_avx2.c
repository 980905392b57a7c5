// SPDX-License-Identifier: MIT
//
// Register tile of 6 rows by 32 columns for AVX2 and FMA, done as two halves of 16 columns: 12
// accumulators, two vectors of b and one broadcast element of a.
#include "kernels/gemm/tiles/gemm_f32.h"

#include <immintrin.h>

#define ROWS 6
#define HALF 16
#define LINE 16 // floats

// Lanes below n; a load or store of the others does not touch memory.
static inline __m256i lanes(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline __attribute__((always_inline)) void half(const qrn_gemm_f32_strip *t, const float *a,
                                                       float *c, const float *soon, size_t step,
                                                       uint32_t first, const int rows) {
    int n = (int)t->cols - (int)first;
    __m256i m0 = lanes(n), m1 = lanes(n - 8);
    __m256 acc[ROWS][2];
    size_t c_row = t->c_row;
    for (int r = 0; r < rows; r++) {
        const float *from = t->resume ? c + (size_t)r * c_row : t->bias;
        acc[r][0] = from ? _mm256_maskload_ps(from + first, m0) : _mm256_setzero_ps();
        acc[r][1] = from ? _mm256_maskload_ps(from + first + 8, m1) : _mm256_setzero_ps();
    }
    const float *b = t->b + first;
    size_t a_row = t->a_row;
    for (size_t s = 0; s < t->segments; s++, a += t->a_segment) {
        const float *a0 = a, *a3 = a + 3 * a_row;
        for (size_t k = 0; k < t->length; k++, b += QRN_PANEL, soon += step) {
            __m256 b0 = _mm256_loadu_ps(b), b1 = _mm256_loadu_ps(b + 8);
            _mm_prefetch((const char *)soon, _MM_HINT_T1);
#pragma GCC unroll 6
            for (int r = 0; r < rows; r++) {
                __m256 x = _mm256_broadcast_ss((r < 3 ? a0 : a3) + k + (size_t)(r % 3) * a_row);
                acc[r][0] = _mm256_fmadd_ps(x, b0, acc[r][0]);
                acc[r][1] = _mm256_fmadd_ps(x, b1, acc[r][1]);
            }
        }
    }
    for (int r = 0; t->clamp && r < rows; r++)
        for (int v = 0; v < 2; v++) { // of equal operands and of NaN the second one is taken
            acc[r][v] = _mm256_max_ps(_mm256_set1_ps(t->clamp->low), acc[r][v]);
            acc[r][v] = _mm256_min_ps(_mm256_set1_ps(t->clamp->high), acc[r][v]);
        }
    c += first;
    if (n >= HALF) { // stores without a mask are far cheaper
        for (int r = 0; r < rows; r++) {
            _mm256_storeu_ps(c + (size_t)r * c_row, acc[r][0]);
            _mm256_storeu_ps(c + (size_t)r * c_row + 8, acc[r][1]);
        }
        return;
    }
    for (int r = 0; r < rows; r++) {
        _mm256_maskstore_ps(c + (size_t)r * c_row, m0, acc[r][0]);
        _mm256_maskstore_ps(c + (size_t)r * c_row + 8, m1, acc[r][1]);
    }
}

static inline __attribute__((always_inline)) void tile(const qrn_gemm_f32_strip *t, const float *a,
                                                       float *c, const float *soon, size_t step,
                                                       const int rows) {
    for (uint32_t first = 0; first < t->cols; first += HALF)
        half(t, a, c, soon, step, first, rows);
}

#define STRIP strip
#define TILE(n) tile(t, a, c, soon, step, n)
#include "kernels/gemm/tiles/gemm_f32_strip.inc"

const qrn_gemm_f32_kernel qrn_gemm_f32_6x32_avx2 = {"gemm_f32_6x32_avx2", ROWS, 512, strip, NULL};
