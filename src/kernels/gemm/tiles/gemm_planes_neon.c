// SPDX-License-Identifier: MIT
//
// Putting sums of byte planes together, compiled for NEON.
#include "kernels/gemm/tiles/gemm_planes.h"

#define FAST_FMA
#define TABLE qrn_planes_ops_neon
#include "kernels/gemm/tiles/gemm_planes.inc"
