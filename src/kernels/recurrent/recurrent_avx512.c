// SPDX-License-Identifier: MIT
//
// LSTM and GRU in single precision, compiled for AVX512.
#include "kernels/fast_math.h"
#include "kernels/gemm/tiles/gemm_f32.h"
#include "kernels/recurrent/recurrent_rows.h"

#define NAME(x) x##_avx512
#define TILES qrn_gemm_f32_14x32_avx512
#include "kernels/recurrent/recurrent_fast.inc"
