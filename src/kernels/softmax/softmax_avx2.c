// SPDX-License-Identifier: MIT
//
// Softmax along the last axis of floats, compiled for AVX2.
#include "kernels/fast_math.h"
#include "kernels/softmax/softmax_rows.h"

#define FN qrn_softmax_f32_avx2
#include "kernels/softmax/softmax_fast.inc"
