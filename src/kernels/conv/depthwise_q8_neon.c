// SPDX-License-Identifier: MIT
//
// Sums of one quantized depthwise cell for 64-bit ARM: 8 channels at a time.
#include "kernels/conv/depthwise_q8.h"

#include <arm_neon.h>

static inline uint16x4_t epilogue(const qrn_depthwise_q8_cell *d, size_t c, int32x4_t acc) {
    const qrn_requant8 *r = d->requant;
    float32x4_t real = vcvtq_f32_s32(acc), m = vld1q_f32(r->m + c);
    float32x4_t y = vrndmq_f32(vfmaq_f32(vdupq_n_f32(r->start[0]), real, m));
    float32x4_t high = vrndmq_f32(vfmaq_f32(vdupq_n_f32(r->start[1]), real, m));
    if (vminvq_u32(vceqq_f32(y, high)) == 0) {
        int32_t lane[4];
        vst1q_s32(lane, acc);
        for (size_t i = 0; i < 4; i++)
            lane[i] = qrn_requant8_exact(r, c + i, lane[i]);
        return vmovn_u32(vreinterpretq_u32_s32(vld1q_s32(lane)));
    }
    y = vmaxnmq_f32(y, vdupq_n_f32(r->lo));
    y = vminnmq_f32(y, vdupq_n_f32(r->hi));
    return vmovn_u32(vreinterpretq_u32_s32(vcvtq_s32_f32(y)));
}

void qrn_depthwise_q8_cell_neon(const qrn_depthwise_q8_cell *d) {
    size_t c = 0;
    for (; c + 8 <= d->channels; c += 8) {
        int32x4_t acc0 = vld1q_s32(d->bias + c), acc1 = vld1q_s32(d->bias + c + 4);
        for (size_t t = 0; t < d->taps; t++) {
            uint8x8_t bytes = veor_u8(vld1_u8(d->x + d->offset[t] + c), vdup_n_u8(d->flip));
            int16x8_t x =
                vaddq_s16(vreinterpretq_s16_u16(vmovl_u8(bytes)), vdupq_n_s16(d->x_offset));
            int16x8_t w = vld1q_s16(d->w + d->weight[t] + c);
            acc0 = vmlal_s16(acc0, vget_low_s16(x), vget_low_s16(w));
            acc1 = vmlal_high_s16(acc1, x, w);
        }
        if (d->acc) {
            vst1q_s32(d->acc + c, acc0);
            vst1q_s32(d->acc + c + 4, acc1);
            continue;
        }
        uint16x8_t q = vcombine_u16(epilogue(d, c, acc0), epilogue(d, c + 4, acc1));
        vst1_u8(d->y + c, vmovn_u16(q));
    }
    qrn_depthwise_q8_tail(d, c);
}
