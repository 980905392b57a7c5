// SPDX-License-Identifier: MIT
//
// Quantization of floats, compiled for AVX2.
#include "kernels/quantize_rows.h"

#define FN qrn_quantize_avx2
#include "kernels/quantize_fast.inc"
