// SPDX-License-Identifier: MIT
//
// Quantization of floats, compiled for AVX512.
#include "kernels/quantize_rows.h"

#define FN qrn_quantize_avx512
#include "kernels/quantize_fast.inc"
