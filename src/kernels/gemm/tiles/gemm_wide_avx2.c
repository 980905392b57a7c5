// SPDX-License-Identifier: MIT
//
// Putting sums of byte planes together, compiled for AVX2.
#include "kernels/gemm/tiles/gemm_wide.h"

#define FAST_FMA
#define TABLE qrn_wide_ops_avx2
#include "kernels/gemm/tiles/gemm_wide.inc"
