// SPDX-License-Identifier: MIT
//
// Rotary embedding, compiled for AVX2.
#include "kernels/eltwise/rotate.h"

#define FN qrn_rotate_avx2
#include "kernels/eltwise/rotate.inc"
