// SPDX-License-Identifier: MIT
//
// Rotary embedding, compiled for AVX512.
#define FN qrn_rotate_avx512
#include "kernels/eltwise/rotate_fast.inc"
