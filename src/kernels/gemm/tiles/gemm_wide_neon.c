// SPDX-License-Identifier: MIT
//
// Putting sums of byte planes together, compiled for NEON.
#include "kernels/gemm/tiles/gemm_wide.h"

#define FAST_FMA
#define TABLE qrn_wide_ops_neon
#include "kernels/gemm/tiles/gemm_wide.inc"
