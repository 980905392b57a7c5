// SPDX-License-Identifier: MIT
//
// LSTM and GRU in single precision, compiled for NEON.
#include "kernels/fast_math.h"
#include "kernels/gemm/tiles/gemm_f32.h"
#include "kernels/recurrent/recurrent_rows.h"

#define NAME(x) x##_neon
#define TILES qrn_gemm_f32_6x32_neon
#include "kernels/recurrent/recurrent_fast.inc"
