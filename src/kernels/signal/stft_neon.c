// SPDX-License-Identifier: MIT
//
// STFT by fast Fourier transforms, compiled for NEON.
#include "kernels/signal/fft.h"

#define QRN_VD 2
#define NAME(x) x##_neon
#include "kernels/signal/fft.inc"
