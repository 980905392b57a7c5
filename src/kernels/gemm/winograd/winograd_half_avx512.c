// SPDX-License-Identifier: MIT
//
// Winograd's convolution of halves: 16 channels at a time.
#include "kernels/gemm/winograd/winograd_half.h"

#define LANES 16
#define TILE QRN_WINOGRAD_HALF_TILE
#define NAME qrn_winograd_half_avx512
#define GEMM qrn_gemm_f32_14x32_avx512
#define LINKAGE
#include "kernels/gemm/winograd/winograd.inc"
