// SPDX-License-Identifier: MIT
//
// Winograd's convolution of halves: 8 channels at a time.
#include "kernels/gemm/winograd/winograd_half.h"

#define LANES 8
#define TILE QRN_WINOGRAD_HALF_TILE
#define NAME qrn_winograd_half_avx2
#define GEMM qrn_gemm_f32_6x32_avx2
#define LINKAGE
#include "kernels/gemm/winograd/winograd.inc"
