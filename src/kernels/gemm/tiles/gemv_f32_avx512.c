// SPDX-License-Identifier: MIT
//
// One row times panels for AVX-512. Every weight is read once, from a far cache or from memory:
// four panels at a time keep more reads under way than one, and the processor finds out by itself
// what comes next: asking for it in advance was slower. Sums are those of the tiles, to the bit.
#include "kernels/gemm/tiles/gemm_f32.h"

#include <immintrin.h>

#define LINE 16 // floats

static inline __attribute__((always_inline)) __mmask16 columns_from(size_t cols, size_t first) {
    size_t n = cols > first ? cols - first : 0;
    return (__mmask16)(n >= LINE ? 0xffff : (1u << n) - 1);
}

// Columns [0, cols) of `panels` panels, the last of which may have fewer than 32.
static inline __attribute__((always_inline)) void few(const qrn_gemm_f32_line *t, const float *b,
                                                      size_t first, const int panels) {
    size_t cols = t->cols - first, stride = t->depth * QRN_PANEL;
    __m512 acc[8];
    for (int v = 0; v < 2 * panels; v++) {
        __mmask16 m = columns_from(cols, (size_t)v * LINE);
        acc[v] =
            t->bias ? _mm512_maskz_loadu_ps(m, t->bias + first + v * LINE) : _mm512_setzero_ps();
    }
    for (size_t k = 0; k < t->depth; k++, b += QRN_PANEL) {
        __m512 x = _mm512_set1_ps(t->a[k]);
#pragma GCC unroll 8
        for (int v = 0; v < 2 * panels; v++) {
            const float *from = b + (size_t)(v / 2) * stride + v % 2 * LINE;
            acc[v] = _mm512_fmadd_ps(x, _mm512_loadu_ps(from), acc[v]);
        }
    }
    for (int v = 0; v < 2 * panels; v++) {
        if (t->clamp) // of equal operands, and of a NaN and another one, the second one is taken
            acc[v] = _mm512_min_ps(_mm512_set1_ps(t->clamp->high),
                                   _mm512_max_ps(_mm512_set1_ps(t->clamp->low), acc[v]));
        _mm512_mask_storeu_ps(t->c + first + v * LINE, columns_from(cols, (size_t)v * LINE),
                              acc[v]);
    }
}

void qrn_gemv_f32_avx512(const qrn_gemm_f32_line *t) {
    size_t panels = qrn_panels(t->cols), p = 0;
    for (; p + 4 <= panels; p += 4)
        few(t, t->b + p * t->depth * QRN_PANEL, p * QRN_PANEL, 4);
    for (; p + 2 <= panels; p += 2)
        few(t, t->b + p * t->depth * QRN_PANEL, p * QRN_PANEL, 2);
    for (; p < panels; p++)
        few(t, t->b + p * t->depth * QRN_PANEL, p * QRN_PANEL, 1);
}
