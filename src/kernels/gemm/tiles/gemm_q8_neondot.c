// SPDX-License-Identifier: MIT
//
// Register tile of 6 rows by 32 columns for 64-bit ARM with dot products, done as two halves of 16
// columns. The instruction wants both operands signed: activations are taken XOR 0x80, which is
// minus 128, and 128 times the sum of the weights of a column is added back by a dot product with
// ones.
#include "kernels/gemm/tiles/gemm_q8_store_neon.h"

#define ROWS 6
#define HALF 16

static inline int8x16_t four_bytes(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return vreinterpretq_s8_u32(veorq_u32(vdupq_n_u32(v), vdupq_n_u32(0x80808080u)));
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
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < 4; i++)
            acc[r][i] = vaddq_s32(acc[r][i], vshlq_n_s32(sums[i], 7));
        epilogue(t, (uint32_t)r, first, acc[r]);
    }
}

#include "kernels/gemm/tiles/gemm_q8_six.inc"

const qrn_gemm_q8_kernel qrn_gemm_q8_6x32_neondot = {.name = "gemm_q8_6x32_neondot",
                                                     .rows = ROWS,
                                                     .tile = tile_6x32,
                                                     .row_sums = qrn_gemm_q8_row_sums,
                                                     .copy = qrn_dense_copy};
