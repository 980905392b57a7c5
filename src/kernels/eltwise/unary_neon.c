// SPDX-License-Identifier: MIT
//
// Unary ops on floats with the vector forms of fast_math.h, for NEON.
#include "kernels/fast_math.h"
#include "kernels/eltwise/unary_rows.h"

#define EXP qrn_fast_exp
#define SIGMOID qrn_fast_sigmoid
#define TANH qrn_fast_tanh
#define ELU qrn_fast_elu
#define GELU qrn_fast_gelu
#define T float
#define FN qrn_unary_f32_neon
#include "kernels/eltwise/unary.inc"
