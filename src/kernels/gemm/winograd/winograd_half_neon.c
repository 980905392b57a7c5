// SPDX-License-Identifier: MIT
//
// Winograd's convolution of halves: 4 channels at a time.
#include "kernels/gemm/winograd/winograd_half.h"

#define LANES 4
#define TILE QRN_WINOGRAD_HALF_TILE
#define NAME qrn_winograd_half_neon
#define GEMM qrn_gemm_f32_6x32_neon
#define LINKAGE
#include "kernels/gemm/winograd/winograd.inc"
