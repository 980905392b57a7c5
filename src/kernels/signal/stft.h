// SPDX-License-Identifier: MIT
//
// Short-time Fourier transform. in: signal [B,L,1] (real) or [B,L,2] (re, im), window [N] or NULL
// (all ones); out: [B,frames,bins,2] (re, im):
//   y[b,t,k] = sum over n < N of x[b, t*step + n] * window[n] * exp(-2 pi i k n / N)
#ifndef QRN_KERNELS_SIGNAL_STFT_H
#define QRN_KERNELS_SIGNAL_STFT_H

#include "kernels/kernel.h"

typedef struct qrn_stft_args {
    uint32_t length, step; // N and the distance of frames
} qrn_stft_args;

extern const qrn_family qrn_family_stft; // F32, F64

#endif
