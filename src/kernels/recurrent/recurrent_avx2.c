// SPDX-License-Identifier: MIT
//
// LSTM and GRU in single precision, compiled for AVX2.
#include "kernels/fast_math.h"
#include "kernels/recurrent/recurrent_rows.h"

#define NAME(x) x##_avx2
#include "kernels/recurrent/recurrent_fast.inc"
