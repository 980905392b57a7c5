// SPDX-License-Identifier: MIT
//
// STFT by fast Fourier transforms, compiled for AVX2.
#include "kernels/signal/fft.h"

#define QRN_VD 4
#define NAME(x) x##_avx2
#include "kernels/signal/fft.inc"
