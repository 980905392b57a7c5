// SPDX-License-Identifier: MIT
//
// Putting sums of byte planes together, compiled for NEON.
#include "kernels/gemm/tiles/gemm_planes.h"

#include <arm_neon.h>

// Two results, still as whole numbers of 64 bits: sums are exact, and so are their doubles.
static inline int64x2_t two(int32x2_t low, int32x2_t high, int64x2_t add, const double *m,
                            const double *start) {
    int64x2_t sum = vaddq_s64(vaddw_s32(vshll_n_s32(high, 8), low), add);
    float64x2_t t = vfmaq_f64(vld1q_f64(start), vcvtq_f64_s64(sum), vld1q_f64(m));
    return vcvtmq_s64_f64(t);
}

// Eight columns of all rows at a time.
static void finish(const qrn_planes_panel *p, const qrn_planes_out *o, size_t first,
                   const int32_t *acc, uint32_t rows) {
    const int32x4_t lo = vdupq_n_s32((int32_t)o->lo), hi = vdupq_n_s32((int32_t)o->hi);
    for (uint32_t c = 0; c < o->cols; c += 8) {
        const uint32_t n = o->cols - c < 8 ? o->cols - c : 8;
        const int32_t *low = acc + c, *high = low + QRN_PANEL;
        int64x2_t add[4];
        for (uint32_t i = 0; i < 4; i++)
            add[i] = vcvtq_s64_f64(vld1q_f64(p->add + c + 2 * i));
        for (uint32_t r = 0; r < rows; r++, low += 2 * QRN_PANEL, high += 2 * QRN_PANEL) {
            uint16_t *to = (uint16_t *)o->y + (first + r) * o->y_row + c;
            int32x4_t q[2];
            for (uint32_t i = 0; i < 2; i++) {
                const double *m = p->m + c + 4 * i, *start = p->start + c + 4 * i;
                int32x4_t l = vld1q_s32(low + 4 * i), h = vld1q_s32(high + 4 * i);
                int64x2_t a = two(vget_low_s32(l), vget_low_s32(h), add[2 * i], m, start);
                int64x2_t b =
                    two(vget_high_s32(l), vget_high_s32(h), add[2 * i + 1], m + 2, start + 2);
                q[i] = vqmovn_high_s64(vqmovn_s64(a), b);
                q[i] = vminq_s32(vmaxq_s32(q[i], lo), hi);
            }
            uint16x8_t words = vuzp1q_u16(vreinterpretq_u16_s32(q[0]), vreinterpretq_u16_s32(q[1]));
            uint16_t part[8];
            if (n == 8) {
                vst1q_u16(to, words);
                continue;
            }
            vst1q_u16(part, words);
            for (uint32_t i = 0; i < n; i++)
                to[i] = part[i];
        }
    }
}
#define FINISH finish

#define FAST_FMA
#define TABLE qrn_planes_ops_neon
#include "kernels/gemm/tiles/gemm_planes.inc"
