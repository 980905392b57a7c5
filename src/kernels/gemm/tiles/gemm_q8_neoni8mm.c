// SPDX-License-Identifier: MIT
//
// Register tile of 6 rows by 32 columns for 64-bit ARM with products of 8-bit matrices, done as two
// halves of 16 columns. One instruction multiplies two rows by two columns, eight deep, unsigned by
// signed: twice the multiply-adds of a dot product, and no sums of weights. Two steps of a panel
// hold the depth; zipping their words brings columns together.
#include "kernels/gemm/tiles/gemm_q8_store_neon.h"

#define ROWS 6
#define HALF 16

#define INLINE static inline __attribute__((always_inline))

// Eight bytes of a row, or the four of its last step and zeros.
INLINE uint8x8_t some_bytes(const uint8_t *a, const bool two) {
    uint32_t word;
    if (two)
        return vld1_u8(a);
    memcpy(&word, a, sizeof word);
    return vreinterpret_u8_u64(vcreate_u64(word));
}

static inline int32x4_t low_halves(int32x4_t a, int32x4_t b) {
    return vcombine_s32(vget_low_s32(a), vget_low_s32(b));
}
static inline int32x4_t high_halves(int32x4_t a, int32x4_t b) {
    return vcombine_s32(vget_high_s32(a), vget_high_s32(b));
}

typedef int32x4_t sums[ROWS / 2][8]; // of two rows and two columns each

// Takes the sums of a row out of those of two, adds what the row and its columns add, and stores.
INLINE void finish(const qrn_gemm_q8_tile *t, uint32_t row, uint32_t first, const int32x4_t *acc,
                   const bool second) {
    const int32x4_t of_row = vdupq_n_s32(t->row ? t->row[row] : 0);
    int32x4_t sum[4];
    for (int i = 0; i < 4; i++) {
        int32x4_t left = acc[2 * i], right = acc[2 * i + 1];
        sum[i] = second ? high_halves(left, right) : low_halves(left, right);
        sum[i] = vaddq_s32(vaddq_s32(sum[i], vld1q_s32(t->column + first + 4 * i)), of_row);
    }
    epilogue(t, row, first, sum);
}

// Two steps in depth from step s on, or one; a row without a neighbour is its own.
INLINE void multiply(const qrn_gemm_q8_tile *t, uint32_t first, size_t s, const int rows,
                     const bool two, sums acc) {
    const int8_t *b = t->b + first * 4 + s * QRN_PANEL * 4;
    const uint8_t *a = t->a + s * 4;
    uint8x16_t x[ROWS / 2];
    for (int r = 0; r < rows; r += 2)
        x[r / 2] = vcombine_u8(some_bytes(a + (size_t)r * t->a_row, two),
                               some_bytes(a + (size_t)(r + (r + 1 < rows)) * t->a_row, two));
    for (int i = 0; i < 4; i++, b += 16) {
        int32x4_t near = vreinterpretq_s32_s8(vld1q_s8(b));
        int32x4_t far = two ? vreinterpretq_s32_s8(vld1q_s8(b + QRN_PANEL * 4)) : vdupq_n_s32(0);
        int8x16_t w0 = vreinterpretq_s8_s32(vzip1q_s32(near, far));
        int8x16_t w1 = vreinterpretq_s8_s32(vzip2q_s32(near, far));
        for (int r = 0; r < rows; r += 2) {
            acc[r / 2][2 * i] = vusmmlaq_s32(acc[r / 2][2 * i], x[r / 2], w0);
            acc[r / 2][2 * i + 1] = vusmmlaq_s32(acc[r / 2][2 * i + 1], x[r / 2], w1);
        }
    }
}

INLINE void half(const qrn_gemm_q8_tile *t, uint32_t first, const int rows) {
    sums acc;
    for (int r = 0; r < rows; r += 2)
        for (int i = 0; i < 8; i++)
            acc[r / 2][i] = vdupq_n_s32(0);
    size_t s = 0;
    for (; s + 2 <= t->steps; s += 2)
        multiply(t, first, s, rows, true, acc);
    if (s < t->steps)
        multiply(t, first, s, rows, false, acc);
    for (int r = 0; r < rows; r += 2) {
        finish(t, (uint32_t)r, first, acc[r / 2], false);
        if (r + 1 < rows)
            finish(t, (uint32_t)r + 1, first, acc[r / 2], true);
    }
}

#include "kernels/gemm/tiles/gemm_q8_six.inc"

const qrn_gemm_q8_kernel qrn_gemm_q8_6x32_neoni8mm = {.name = "gemm_q8_6x32_neoni8mm",
                                                      .rows = ROWS,
                                                      .tile = tile_6x32,
                                                      .row_sums = qrn_gemm_q8_row_sums,
                                                      .copy = qrn_dense_copy};
