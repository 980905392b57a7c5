// SPDX-License-Identifier: MIT
//
// Unary ops on floats with the vector forms of fast_math.h, compiled for AVX512.
#include "kernels/fast_math.h"
#include "kernels/eltwise/unary_rows.h"

#define T double
#define FN qrn_unary_f64_avx512
#include "kernels/eltwise/unary.inc"
#undef T
#undef FN

#define EXP qrn_fast_exp
#define SIGMOID qrn_fast_sigmoid
#define TANH qrn_fast_tanh
#define ELU qrn_fast_elu
#define GELU qrn_fast_gelu
#define T float
#define FN qrn_unary_f32_avx512
#include "kernels/eltwise/unary.inc"
