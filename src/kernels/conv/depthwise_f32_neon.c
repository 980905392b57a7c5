// SPDX-License-Identifier: MIT
//
// Sums of one depthwise output cell for 64-bit ARM: 16 channels at a time, then 4, then single
// ones.
#include "kernels/conv/depthwise_f32.h"

#include <arm_neon.h>
#include <math.h>

static inline __attribute__((always_inline)) void sums(const qrn_depthwise_cell *d, size_t c,
                                                       const int n) {
    float32x4_t acc[4];
    for (int i = 0; i < n; i++)
        acc[i] = d->from ? vld1q_f32(d->from + c + (size_t)i * 4) : vdupq_n_f32(0.0f);
    for (size_t t = 0; t < d->taps; t++) {
        const float *x = d->x + d->offset[t] + c, *w = d->w + d->weight[t] + c;
        for (int i = 0; i < n; i++)
            acc[i] = vfmaq_f32(acc[i], vld1q_f32(x + (size_t)i * 4), vld1q_f32(w + (size_t)i * 4));
    }
    for (int i = 0; i < n; i++)
        vst1q_f32(d->y + c + (size_t)i * 4, acc[i]);
}

void qrn_depthwise_cell_neon(const qrn_depthwise_cell *d) {
    size_t c = 0;
    for (; c + 16 <= d->channels; c += 16)
        sums(d, c, 4);
    for (; c + 4 <= d->channels; c += 4)
        sums(d, c, 1);
    for (; c < d->channels; c++) {
        float acc = d->from ? d->from[c] : 0.0f;
        for (size_t t = 0; t < d->taps; t++)
            acc = fmaf(d->x[d->offset[t] + c], d->w[d->weight[t] + c], acc);
        d->y[c] = acc;
    }
}
