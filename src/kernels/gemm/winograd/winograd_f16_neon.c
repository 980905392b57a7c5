// SPDX-License-Identifier: MIT
//
// Winograd's convolution with fp16 weights: 4 channels at a time.
#include "kernels/gemm/winograd/winograd_f16.h"

#define LANES 4
#define TILE QRN_WINOGRAD_F16_TILE
#define NAME qrn_winograd_f16_neon
#define GEMM qrn_gemm_f32_6x32_neon
#define LINKAGE
#include "kernels/gemm/winograd/winograd.inc"
