// SPDX-License-Identifier: MIT
//
// Putting sums of byte planes together, compiled for AVX2.
#include "kernels/gemm/tiles/gemm_planes.h"

#define FAST_FMA
#define TABLE qrn_planes_ops_avx2
#include "kernels/gemm/tiles/gemm_planes.inc"
