// SPDX-License-Identifier: MIT
//
// From sums of four columns to bytes, for the tiles of 64-bit ARM.
#ifndef QRN_KERNELS_GEMM_Q8_STORE_NEON_H
#define QRN_KERNELS_GEMM_Q8_STORE_NEON_H

#include "kernels/gemm/tiles/gemm_q8.h"

#include <arm_neon.h>
#include <string.h>

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

#endif
