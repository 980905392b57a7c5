// SPDX-License-Identifier: MIT
//
// Register tile of 12 rows by 32 columns for AVX-512: 24 accumulators, two vectors of b and one
// broadcast element of a.
#include "kernels/gemm/gemm_f32.h"

#include <immintrin.h>

#define ROWS 12

// Rows are reached from every third one, which needs no more than four base registers.
static inline __attribute__((always_inline)) void tile(const qrn_gemm_f32_tile *t, const int rows) {
    __mmask16 m0 = (__mmask16)(t->cols >= 16 ? 0xffff : (1u << t->cols) - 1);
    __mmask16 m1 = (__mmask16)(t->cols <= 16 ? 0 : (1u << (t->cols - 16)) - 1);
    __m512 acc[ROWS][2];
    for (int r = 0; r < rows; r++) {
        const float *from = t->resume ? t->c + (size_t)r * t->c_row : t->bias;
        acc[r][0] = from ? _mm512_maskz_loadu_ps(m0, from) : _mm512_setzero_ps();
        acc[r][1] = from ? _mm512_maskz_loadu_ps(m1, from + 16) : _mm512_setzero_ps();
    }
    const float *b = t->b, *a[(ROWS + 2) / 3];
    size_t step = t->a_row;
    for (int r = 0; r < rows; r += 3)
        a[r / 3] = t->a + (size_t)r * step;
    for (size_t k = 0; k < t->depth; k++, b += QRN_PANEL) {
        __m512 b0 = _mm512_loadu_ps(b), b1 = _mm512_loadu_ps(b + 16);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) {
            __m512 x = _mm512_set1_ps(a[r / 3][k + (size_t)(r % 3) * step]);
            acc[r][0] = _mm512_fmadd_ps(x, b0, acc[r][0]);
            acc[r][1] = _mm512_fmadd_ps(x, b1, acc[r][1]);
        }
    }
    for (int r = 0; r < rows; r++) {
        _mm512_mask_storeu_ps(t->c + (size_t)r * t->c_row, m0, acc[r][0]);
        _mm512_mask_storeu_ps(t->c + (size_t)r * t->c_row + 16, m1, acc[r][1]);
    }
}

static void tile_12x32(const qrn_gemm_f32_tile *t) {
    switch (t->rows) {
    case 12:
        tile(t, 12);
        break;
    case 11:
        tile(t, 11);
        break;
    case 10:
        tile(t, 10);
        break;
    case 9:
        tile(t, 9);
        break;
    case 8:
        tile(t, 8);
        break;
    case 7:
        tile(t, 7);
        break;
    case 6:
        tile(t, 6);
        break;
    case 5:
        tile(t, 5);
        break;
    case 4:
        tile(t, 4);
        break;
    case 3:
        tile(t, 3);
        break;
    case 2:
        tile(t, 2);
        break;
    default:
        tile(t, 1);
        break;
    }
}

const qrn_gemm_f32_kernel qrn_gemm_f32_12x32_avx512 = {"gemm_f32_12x32_avx512", ROWS, 1024,
                                                       tile_12x32};
