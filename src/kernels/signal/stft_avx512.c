// SPDX-License-Identifier: MIT
//
// STFT by fast Fourier transforms, compiled for AVX512.
#include "kernels/signal/fft.h"

#define QRN_VD 8
#define NAME(x) x##_avx512
#include "kernels/signal/fft.inc"
