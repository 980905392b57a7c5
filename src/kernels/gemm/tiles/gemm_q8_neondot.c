// SPDX-License-Identifier: MIT
//
// Register tile of 6 rows by 32 columns for 64-bit ARM with dot products, done as two halves of 16
// columns. The instruction wants both operands signed: activations are taken XOR 0x80, which is
// minus 128, and 128 times the sum of the weights of a column is added back by a dot product with
// ones.
#include "kernels/gemm/tiles/gemm_q8.h"

#include <arm_neon.h>
#include <string.h>

#define ROWS 6
#define HALF 16

static inline int8x16_t four_bytes(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return vreinterpretq_s8_u32(veorq_u32(vdupq_n_u32(v), vdupq_n_u32(0x80808080u)));
}

static inline void epilogue(const qrn_gemm_q8_tile *t, uint32_t row, uint32_t first,
                            int32x4_t acc) {
    uint32_t n = t->cols > first ? t->cols - first : 0;
    n = n > 4 ? 4 : n;
    int32_t lane[4];
    if (t->acc) {
        vst1q_s32(lane, acc);
        memcpy(t->acc + row * QRN_PANEL + first, lane, n * sizeof *lane);
        return;
    }
    const qrn_requant8 *r = t->requant;
    uint8_t *to = t->y + row * t->y_row + first;
    float32x4_t real = vcvtq_f32_s32(acc), m = vld1q_f32(r->m + first);
    float32x4_t y = vrndmq_f32(vfmaq_f32(vdupq_n_f32(r->start[0]), real, m));
    float32x4_t high = vrndmq_f32(vfmaq_f32(vdupq_n_f32(r->start[1]), real, m));
    bool sure = vminvq_u32(vceqq_f32(y, high)) != 0;
    y = vmaxnmq_f32(y, vdupq_n_f32(r->lo)); // a number where y is NaN
    y = vminnmq_f32(y, vdupq_n_f32(r->hi));
    vst1q_s32(lane, vcvtq_s32_f32(y));
    for (uint32_t j = 0; j < n; j++)
        to[j] = (uint8_t)lane[j];
    if (sure)
        return;
    vst1q_s32(lane, acc);
    for (uint32_t j = 0; j < n; j++)
        to[j] = qrn_requant8_exact(r, first + j, lane[j]);
}

static inline __attribute__((always_inline)) void half(const qrn_gemm_q8_tile *t, uint32_t first,
                                                       const int rows) {
    int32x4_t acc[ROWS][4], sums[4];
    for (int i = 0; i < 4; i++)
        sums[i] = vdupq_n_s32(0);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < 4; i++)
            acc[r][i] = vaddq_s32(vld1q_s32(t->column + first + 4 * i),
                                  vdupq_n_s32(t->row ? t->row[r] : 0));
    const int8_t *b = t->b + first * 4;
    for (size_t s = 0; s < t->steps; s++, b += QRN_PANEL * 4) {
        int8x16_t w[4];
        for (int i = 0; i < 4; i++) {
            w[i] = vld1q_s8(b + 16 * i);
            sums[i] = vdotq_s32(sums[i], w[i], vdupq_n_s8(1));
        }
        for (int r = 0; r < rows; r++) {
            int8x16_t x = four_bytes(t->a + (size_t)r * t->a_row + s * 4);
            for (int i = 0; i < 4; i++)
                acc[r][i] = vdotq_s32(acc[r][i], w[i], x);
        }
    }
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < 4; i++)
            epilogue(t, (uint32_t)r, first + 4 * (uint32_t)i,
                     vaddq_s32(acc[r][i], vshlq_n_s32(sums[i], 7)));
}

#include "kernels/gemm/tiles/gemm_q8_six.inc"

const qrn_gemm_q8_kernel qrn_gemm_q8_6x32_neondot = {
    "gemm_q8_6x32_neondot", ROWS, tile_6x32, qrn_gemm_q8_row_sums, qrn_dense_copy, 0};
