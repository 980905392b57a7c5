// SPDX-License-Identifier: MIT
//
// Register tile of 6 rows by 32 columns for AVX2 and FMA, done as two halves of 16 columns: 12
// accumulators, two vectors of b and one broadcast element of a.
#include "kernels/gemm/gemm_f32.h"

#include <immintrin.h>

#define ROWS 6
#define HALF 16

// Lanes below n; a load or store of the others does not touch memory.
static inline __m256i lanes(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline __attribute__((always_inline)) void half(const qrn_gemm_f32_tile *t, uint32_t first,
                                                       const int rows) {
    int n = (int)t->cols - (int)first;
    __m256i m0 = lanes(n), m1 = lanes(n - 8);
    __m256 acc[ROWS][2];
    for (int r = 0; r < rows; r++) {
        const float *from = t->resume ? t->c + (size_t)r * t->c_row : t->bias;
        acc[r][0] = from ? _mm256_maskload_ps(from + first, m0) : _mm256_setzero_ps();
        acc[r][1] = from ? _mm256_maskload_ps(from + first + 8, m1) : _mm256_setzero_ps();
    }
    const float *b = t->b + first, *a0 = t->a, *a3 = t->a + 3 * t->a_row;
    size_t step = t->a_row;
    for (size_t k = 0; k < t->depth; k++, b += QRN_PANEL) {
        __m256 b0 = _mm256_loadu_ps(b), b1 = _mm256_loadu_ps(b + 8);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            __m256 x = _mm256_broadcast_ss((r < 3 ? a0 : a3) + k + (size_t)(r % 3) * step);
            acc[r][0] = _mm256_fmadd_ps(x, b0, acc[r][0]);
            acc[r][1] = _mm256_fmadd_ps(x, b1, acc[r][1]);
        }
    }
    for (int r = 0; r < rows; r++) {
        _mm256_maskstore_ps(t->c + (size_t)r * t->c_row + first, m0, acc[r][0]);
        _mm256_maskstore_ps(t->c + (size_t)r * t->c_row + first + 8, m1, acc[r][1]);
    }
}

static void tile_6x32(const qrn_gemm_f32_tile *t) {
    for (uint32_t first = 0; first < t->cols; first += HALF)
        switch (t->rows) {
        case 6:
            half(t, first, 6);
            break;
        case 5:
            half(t, first, 5);
            break;
        case 4:
            half(t, first, 4);
            break;
        case 3:
            half(t, first, 3);
            break;
        case 2:
            half(t, first, 2);
            break;
        default:
            half(t, first, 1);
            break;
        }
}

const qrn_gemm_f32_kernel qrn_gemm_f32_6x32_avx2 = {"gemm_f32_6x32_avx2", ROWS, 512, tile_6x32};
