// SPDX-License-Identifier: MIT
//
// Register tile of up to 4 rows by 32 columns for 64-bit ARM that converts fp16 weights itself, 16
// columns at a time. Four elements of each row are read at once: multiply-adds take one lane of
// them. FMLAL, which multiplies fp16 by fp16, would not do: activations are floats.
#include "kernels/gemm/dense/dense_f16.h"

#include <arm_neon.h>
#include <string.h>

#define TILE_ROWS 4
#define HALF 16
#define VECTORS 4 // of them
#define INLINE static inline __attribute__((always_inline))

INLINE float32x4_t wide_to_f32(uint16x4_t h) {
    uint32x4_t u = vmovl_u16(h), sign = vshlq_n_u32(vshrq_n_u32(u, 15), 31);
    uint32x4_t rest = vshlq_n_u32(vandq_u32(u, vdupq_n_u32(0x7fff)), 13);
    float32x4_t a = vmulq_n_f32(vreinterpretq_f32_u32(rest), 0x1p112f);
    return vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(a), sign));
}

INLINE void to_f32(const uint16_t *b, const bool wide_range, float32x4_t *v) {
#pragma GCC unroll 2
    for (int i = 0; i < VECTORS; i += 2) {
        uint16x8_t h = vld1q_u16(b + 4 * i);
        if (wide_range) {
            v[i] = wide_to_f32(vget_low_u16(h));
            v[i + 1] = wide_to_f32(vget_high_u16(h));
        } else {
            v[i] = vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(h)));
            v[i + 1] = vcvt_high_f32_f16(vreinterpretq_f16_u16(h));
        }
    }
}

// Depth k times lane k % 4 of x.
#define DEPTH(lane)                                                                                \
    do {                                                                                           \
        float32x4_t v[VECTORS];                                                                    \
        to_f32(b + (lane)*QRN_PANEL, wide_range, v);                                               \
        for (int r = 0; r < rows; r++)                                                             \
            for (int i = 0; i < VECTORS; i++)                                                      \
                acc[r][i] = vfmaq_laneq_f32(acc[r][i], v[i], x[r], lane);                          \
    } while (0)

INLINE void sums(const qrn_gemm_f32_strip *t, const uint16_t *b, const int rows,
                 const bool wide_range, float32x4_t (*acc)[VECTORS]) {
    const float *a = t->a;
    const size_t a_row = t->a_row, whole = t->length / 4 * 4;
    float32x4_t x[TILE_ROWS];
    for (size_t k = 0; k < whole; k += 4, b += (size_t)4 * QRN_PANEL) {
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
            x[r] = vld1q_f32(a + k + (size_t)r * a_row);
        DEPTH(0);
        DEPTH(1);
        DEPTH(2);
        DEPTH(3);
    }
    for (size_t k = whole; k < t->length; k++, b += QRN_PANEL) {
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
            x[r] = vdupq_n_f32(a[k + (size_t)r * a_row]);
        DEPTH(0);
    }
}

INLINE bool columns(const qrn_gemm_f32_strip *t, const uint16_t *b, uint32_t first, const int rows,
                    const bool wide_range) {
    const uint32_t n = t->cols - first < HALF ? t->cols - first : HALF;
    const uint32x4_t infinite = vdupq_n_u32(0x7f800000);
    float32x4_t acc[TILE_ROWS][VECTORS];
    float part[HALF] = {0};
    uint32x4_t odd = vdupq_n_u32(0); // sums that are infinite or NaN
    if (t->bias)
        memcpy(part, t->bias + first, n * sizeof *part);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < VECTORS; i++)
            acc[r][i] = vld1q_f32(part + 4 * i);
    sums(t, b + first, rows, wide_range, acc);
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        float *row = t->c + (size_t)r * t->c_row + first, *to = n < HALF ? part : row;
        for (int i = 0; i < VECTORS; i++) {
            uint32x4_t size = vreinterpretq_u32_f32(vabsq_f32(acc[r][i]));
            odd = vorrq_u32(odd, vcgeq_u32(size, infinite));
            vst1q_f32(to + 4 * i, acc[r][i]);
        }
        if (n < HALF)
            memcpy(row, part, n * sizeof *part);
    }
    return vmaxvq_u32(odd) == 0;
}

// false: a sum is infinite or NaN; all are stored all the same.
INLINE bool tile(const qrn_gemm_f32_strip *t, const uint16_t *b, const int rows,
                 const bool wide_range) {
    bool finite = true;
    for (uint32_t first = 0; first < t->cols; first += HALF)
        finite &= columns(t, b, first, rows, wide_range);
    return finite;
}

#define FN qrn_gemm_f16w_neon
#include "kernels/gemm/tiles/gemm_f16w.inc"
