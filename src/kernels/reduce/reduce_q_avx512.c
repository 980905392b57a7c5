// SPDX-License-Identifier: MIT
//
// Reductions of quantized values, compiled for AVX512.
#define FN qrn_reduce_q_avx512
#include "kernels/reduce/reduce_q_both.inc"
