// SPDX-License-Identifier: MIT
//
// From sums of 16 columns to bytes, for the tiles of 64-bit ARM.
#ifndef QRN_KERNELS_GEMM_Q8_STORE_NEON_H
#define QRN_KERNELS_GEMM_Q8_STORE_NEON_H

#include "kernels/gemm/tiles/gemm_q8.h"

#include <arm_neon.h>
#include <string.h>

#define QRN_STORE_COLUMNS 16 // of a call

// Results of 16 columns from `first` on, clamped, as bytes; *sure: single precision decides all.
static inline uint8x16_t requantized(const qrn_requant8 *r, uint32_t first, const int32x4_t *acc,
                                     bool *sure) {
    const float32x4_t start[2] = {vdupq_n_f32(r->start[0]), vdupq_n_f32(r->start[1])};
    const float32x4_t lo = vdupq_n_f32(r->lo), hi = vdupq_n_f32(r->hi);
    uint32x4_t same = vdupq_n_u32(UINT32_MAX);
    int16x8_t part[4];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; i++) {
        float32x4_t real = vcvtq_f32_s32(acc[i]), m = vld1q_f32(r->m + first + 4 * i);
        float32x4_t y = vrndmq_f32(vfmaq_f32(start[0], real, m));
        same = vandq_u32(same, vceqq_f32(y, vrndmq_f32(vfmaq_f32(start[1], real, m))));
        y = vminnmq_f32(vmaxnmq_f32(y, lo), hi); // a number where y is NaN
        part[i] = vreinterpretq_s16_s32(vcvtq_s32_f32(y));
    }
    *sure = vminvq_u32(same) != 0;
    return vuzp1q_u8(vreinterpretq_u8_s16(vuzp1q_s16(part[0], part[1])),
                     vreinterpretq_u8_s16(vuzp1q_s16(part[2], part[3])));
}

// Sums of a row and 16 columns from `first` on, as far as there are columns.
static inline __attribute__((always_inline)) void epilogue(const qrn_gemm_q8_tile *t, uint32_t row,
                                                           uint32_t first, const int32x4_t *acc) {
    const uint32_t left = t->cols - first, n = left < QRN_STORE_COLUMNS ? left : QRN_STORE_COLUMNS;
    int32_t lane[QRN_STORE_COLUMNS];
    uint8_t bytes[QRN_STORE_COLUMNS];
    bool sure;
    int32_t *sums = t->acc && n == QRN_STORE_COLUMNS ? t->acc + row * QRN_PANEL + first : lane;
    if (t->acc) {
        for (uint32_t i = 0; i < 4; i++)
            vst1q_s32(sums + 4 * i, acc[i]);
        if (n < QRN_STORE_COLUMNS)
            memcpy(t->acc + row * QRN_PANEL + first, lane, n * sizeof *lane);
        return;
    }
    const qrn_requant8 *r = t->requant;
    uint8_t *to = t->y + row * t->y_row + first;
    vst1q_u8(n == QRN_STORE_COLUMNS ? to : bytes, requantized(r, first, acc, &sure));
    if (n < QRN_STORE_COLUMNS)
        memcpy(to, bytes, n);
    if (sure)
        return;
    for (uint32_t i = 0; i < 4; i++)
        vst1q_s32(lane + 4 * i, acc[i]);
    for (uint32_t j = 0; j < n; j++)
        to[j] = qrn_requant8_exact(r, first + j, lane[j]);
}

#endif
