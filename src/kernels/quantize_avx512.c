// SPDX-License-Identifier: MIT
//
// Quantization of floats, compiled for AVX512.
#include "kernels/quantize_rows.h"
#include "kernels/words_avx512.h"

#define FN qrn_quantize_avx512
#define WORDS_OF_FLOATS qrn_words_of_floats
#include "kernels/quantize_fast.inc"
