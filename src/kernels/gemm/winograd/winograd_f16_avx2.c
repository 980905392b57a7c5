// SPDX-License-Identifier: MIT
//
// Winograd's convolution with fp16 weights: 8 channels at a time.
#include "kernels/gemm/winograd/winograd_f16.h"

#define LANES 8
#define TILE QRN_WINOGRAD_F16_TILE
#define NAME qrn_winograd_f16_avx2
#define GEMM qrn_gemm_f32_6x32_avx2
#define LINKAGE
#include "kernels/gemm/winograd/winograd.inc"
