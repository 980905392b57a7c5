// SPDX-License-Identifier: MIT
//
// The fast F32 rows of the conv family for depthwise convolutions with one output per input
// channel: vectors run over the channels. Results are one chain of fused multiply-adds each, in the
// order of the taps and starting from the bias, the same for every row here.
#ifndef QRN_KERNELS_CONV_DEPTHWISE_F32_H
#define QRN_KERNELS_CONV_DEPTHWISE_F32_H

#include "kernels/kernel.h"

// y[c] = from[c] + sum over taps t of x[offset[t] + c] * w[weight[t] + c]; from NULL: zeros.
typedef struct qrn_depthwise_cell {
    const float *x, *w, *from;
    float *y;
    const size_t *offset, *weight; // [taps]
    size_t taps, channels;
} qrn_depthwise_cell;

void qrn_depthwise_cell_avx512(const qrn_depthwise_cell *d);
void qrn_depthwise_cell_avx2(const qrn_depthwise_cell *d);
void qrn_depthwise_cell_neon(const qrn_depthwise_cell *d);

bool qrn_depthwise_f32_works(const qrn_kcall *k);
qrn_status qrn_depthwise_f32_avx512(const qrn_kcall *k);
qrn_status qrn_depthwise_f32_avx2(const qrn_kcall *k);
qrn_status qrn_depthwise_f32_neon(const qrn_kcall *k);

#endif
