// SPDX-License-Identifier: MIT
//
// Widening of halves, compiled for AVX2.
#include "kernels/gemm/dense/dense_half.h"

#include <immintrin.h>
#include <string.h>

#define FN qrn_half_widen_avx2
#include "kernels/gemm/pack/widen.inc"
