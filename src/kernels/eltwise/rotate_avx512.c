// SPDX-License-Identifier: MIT
//
// Rotary embedding, compiled for AVX512.
#include "kernels/eltwise/rotate.h"

#define FN qrn_rotate_avx512
#include "kernels/eltwise/rotate.inc"
