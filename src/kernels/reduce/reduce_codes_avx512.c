// SPDX-License-Identifier: MIT
//
// Reductions of codes, compiled for AVX512.
#define FN qrn_reduce_codes_avx512
#include "kernels/reduce/reduce_codes_both.inc"
