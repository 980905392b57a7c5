// SPDX-License-Identifier: MIT
//
// Register tiles of up to 14 rows by 32 or 16 columns for AVX-512: 28 accumulators, two vectors of
// b and one broadcast element of a.
#include "kernels/gemm/gemm_f32.h"

#include <immintrin.h>

#define ROWS 14
#define LINE 16 // floats

// The lines that the tile will write: they come while it sums.
static inline __attribute__((always_inline)) void expect(float *c, size_t c_row, const int rows,
                                                         const int vectors) {
    for (int r = 0; r < rows; r++, c += c_row) {
        __asm__ volatile("prefetchw %0" : : "m"(*c));
        if (vectors > 1)
            __asm__ volatile("prefetchw %0" : : "m"(c[LINE]));
    }
}

// Rows are reached from every third one, which needs no more than five base registers.
static inline __attribute__((always_inline)) void tile(const qrn_gemm_f32_strip *t, const float *a,
                                                       float *c, const float *soon, size_t step,
                                                       const int rows, const int vectors) {
    __mmask16 m[2] = {(__mmask16)(t->cols >= 16 ? 0xffff : (1u << t->cols) - 1),
                      (__mmask16)(t->cols <= 16 ? 0 : (1u << (t->cols - 16)) - 1)};
    __m512 acc[ROWS][2];
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            const float *from = t->resume ? c + (size_t)r * t->c_row : t->bias;
            acc[r][v] = from ? _mm512_maskz_loadu_ps(m[v], from + v * LINE) : _mm512_setzero_ps();
        }
    if (!t->resume)
        expect(c, t->c_row, rows, vectors);
    const float *b = t->b;
    size_t a_row = t->a_row;
    for (size_t s = 0; s < t->segments; s++, a += t->a_segment) {
        const float *p[(ROWS + 2) / 3];
        for (int r = 0; r < rows; r += 3)
            p[r / 3] = a + (size_t)r * a_row;
        for (size_t k = 0; k < t->length; k++, b += QRN_PANEL, soon += step) {
            __m512 b0 = _mm512_loadu_ps(b), b1;
            if (vectors > 1)
                b1 = _mm512_loadu_ps(b + LINE);
            _mm_prefetch((const char *)soon, _MM_HINT_T1);
#pragma GCC unroll 14
            for (int r = 0; r < rows; r++) {
                __m512 x = _mm512_set1_ps(p[r / 3][k + (size_t)(r % 3) * a_row]);
                acc[r][0] = _mm512_fmadd_ps(x, b0, acc[r][0]);
                if (vectors > 1)
                    acc[r][1] = _mm512_fmadd_ps(x, b1, acc[r][1]);
            }
        }
    }
    if (t->clamp) { // of equal operands, and of a NaN and another one, the second one is taken
        __m512 low = _mm512_set1_ps(t->clamp->low), high = _mm512_set1_ps(t->clamp->high);
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                acc[r][v] = _mm512_min_ps(high, _mm512_max_ps(low, acc[r][v]));
    }
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            _mm512_mask_storeu_ps(c + (size_t)r * t->c_row + v * LINE, m[v], acc[r][v]);
}

#define STRIP strip_32
#define TILE(n) tile(t, a, c, soon, step, n, 2)
#include "kernels/gemm/gemm_f32_strip.inc"
#undef STRIP
#undef TILE
#define STRIP strip_16
#define TILE(n) tile(t, a, c, soon, step, n, 1)
#include "kernels/gemm/gemm_f32_strip.inc"

static void strip(qrn_gemm_f32_strip *t) {
    if (t->cols > 16)
        strip_32(t);
    else
        strip_16(t);
}

const qrn_gemm_f32_kernel qrn_gemm_f32_14x32_avx512 = {"gemm_f32_14x32_avx512", ROWS, 1024, strip};
