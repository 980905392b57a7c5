// SPDX-License-Identifier: MIT
//
// LSTM and GRU in single precision, compiled for AVX2.
#include "kernels/fast_math.h"
#include "kernels/gemm/tiles/gemm_f32.h"
#include "kernels/recurrent/recurrent_rows.h"

#define NAME(x) x##_avx2
#define TILES qrn_gemm_f32_6x32_avx2
#include "kernels/recurrent/recurrent_fast.inc"
