// SPDX-License-Identifier: MIT
//
// Register tile of 6 rows by 32 columns for 64-bit ARM, done as two halves of 16 columns: 24
// accumulators and four vectors of b.
#include "kernels/gemm/tiles/gemm_f32.h"

#include <arm_neon.h>
#include <string.h>

#define ROWS 6
#define HALF 16
#define LINE 16 // floats

// Columns first.. of a row, at most 16, zero where t has none.
static inline void load_row(const float *from, uint32_t n, float32x4_t *v) {
    float part[HALF] = {0};
    if (n < HALF) {
        memcpy(part, from, n * sizeof *part);
        from = part;
    }
    for (int i = 0; i < 4; i++)
        v[i] = vld1q_f32(from + 4 * i);
}

// QRN_CLAMPED of every lane: a NaN stays.
static inline float32x4_t limited(float32x4_t x, const qrn_clamp *clamp) {
    float32x4_t low = vdupq_n_f32(clamp->low), high = vdupq_n_f32(clamp->high);
    x = vbslq_f32(vcltq_f32(x, low), low, x);
    return vbslq_f32(vcgtq_f32(x, high), high, x);
}

static inline __attribute__((always_inline)) void half(const qrn_gemm_f32_strip *t, const float *a,
                                                       float *c, const float *soon, size_t step,
                                                       uint32_t first, const int rows) {
    uint32_t n = t->cols - first < HALF ? t->cols - first : HALF;
    float32x4_t acc[ROWS][4];
    for (int r = 0; r < rows; r++) {
        const float *from = t->resume ? c + (size_t)r * t->c_row : t->bias;
        if (from)
            load_row(from + first, n, acc[r]);
        for (int i = 0; !from && i < 4; i++)
            acc[r][i] = vdupq_n_f32(0.0f);
    }
    const float *b = t->b + first;
    for (size_t s = 0; s < t->segments; s++, a += t->a_segment)
        for (size_t k = 0; k < t->length; k++, b += QRN_PANEL, soon += step) {
            float32x4_t b0 = vld1q_f32(b), b1 = vld1q_f32(b + 4);
            float32x4_t b2 = vld1q_f32(b + 8), b3 = vld1q_f32(b + 12);
            __builtin_prefetch(soon, 0, 2);
#pragma GCC unroll 6
            for (int r = 0; r < rows; r++) {
                float x = a[(size_t)r * t->a_row + k];
                acc[r][0] = vfmaq_n_f32(acc[r][0], b0, x);
                acc[r][1] = vfmaq_n_f32(acc[r][1], b1, x);
                acc[r][2] = vfmaq_n_f32(acc[r][2], b2, x);
                acc[r][3] = vfmaq_n_f32(acc[r][3], b3, x);
            }
        }
    for (int r = 0; r < rows; r++) {
        float part[HALF], *row = c + (size_t)r * t->c_row + first, *to = n < HALF ? part : row;
        for (int i = 0; i < 4; i++)
            vst1q_f32(to + 4 * i, t->clamp ? limited(acc[r][i], t->clamp) : acc[r][i]);
        if (n < HALF)
            memcpy(row, part, n * sizeof *part);
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

const qrn_gemm_f32_kernel qrn_gemm_f32_6x32_neon = {"gemm_f32_6x32_neon", ROWS, 512, strip, NULL};
