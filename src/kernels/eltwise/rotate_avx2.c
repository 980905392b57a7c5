// SPDX-License-Identifier: MIT
//
// Rotary embedding, compiled for AVX2.
#define FN qrn_rotate_avx2
#include "kernels/eltwise/rotate_fast.inc"
