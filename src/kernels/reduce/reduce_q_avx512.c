// SPDX-License-Identifier: MIT
//
// Reductions of codes, compiled for AVX512.
#define FN qrn_reduce_q_avx512
#include "kernels/reduce/reduce_q_both.inc"
