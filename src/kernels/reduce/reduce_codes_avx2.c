// SPDX-License-Identifier: MIT
//
// Reductions of codes, compiled for AVX2.
#define FN qrn_reduce_codes_avx2
#include "kernels/reduce/reduce_codes_both.inc"
