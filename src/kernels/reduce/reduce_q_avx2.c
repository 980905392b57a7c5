// SPDX-License-Identifier: MIT
//
// Reductions of quantized values, compiled for AVX2.
#define FN qrn_reduce_q_avx2
#include "kernels/reduce/reduce_q_both.inc"
