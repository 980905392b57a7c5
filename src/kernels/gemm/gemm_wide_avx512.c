// SPDX-License-Identifier: MIT
//
// Putting sums of byte planes together, compiled for AVX-512.
#include "kernels/gemm/gemm_wide.h"

#define TABLE qrn_wide_ops_avx512
#include "kernels/gemm/gemm_wide.inc"
