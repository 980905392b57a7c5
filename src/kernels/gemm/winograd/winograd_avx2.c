// SPDX-License-Identifier: MIT
//
// Winograd's convolution: 8 channels at a time.
#include "kernels/gemm/winograd/winograd.h"

#define LANES 8
#define TILE QRN_WINOGRAD_TILE
#define NAME qrn_winograd_f32_avx2
#define GEMM qrn_gemm_f32_6x32_avx2
#define LINKAGE
#include "kernels/gemm/winograd/winograd.inc"
