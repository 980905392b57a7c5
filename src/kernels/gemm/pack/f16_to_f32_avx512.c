// SPDX-License-Identifier: MIT
//
// Conversion of fp16 to floats, compiled for AVX-512.
#include "kernels/gemm/dense/dense_f16.h"

#include <immintrin.h>
#include <string.h>

#define FN qrn_f16_to_f32_avx512
#include "kernels/gemm/pack/f16_to_f32.inc"
