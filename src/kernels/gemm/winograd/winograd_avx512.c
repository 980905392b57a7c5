// SPDX-License-Identifier: MIT
//
// Winograd's convolution: 16 channels at a time.
#include "kernels/gemm/winograd/winograd.h"

#define LANES 16
#define TILE QRN_WINOGRAD_TILE
#define NAME qrn_winograd_f32_avx512
#define GEMM qrn_gemm_f32_14x32_avx512
#define LINKAGE
#include "kernels/gemm/winograd/winograd.inc"
