// SPDX-License-Identifier: MIT
//
// Softmax of floats along any axis, compiled for AVX512.
#include "kernels/fast_math.h"
#include "kernels/lanes.h"
#include "kernels/softmax/softmax_rows.h"

#define FN qrn_softmax_f32_avx512
#include "kernels/softmax/softmax_fast.inc"
#undef FN
#define FN qrn_softmax_columns_f32_avx512
#include "kernels/softmax/softmax_columns.inc"
