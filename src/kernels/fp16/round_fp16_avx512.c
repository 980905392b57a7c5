// SPDX-License-Identifier: MIT
//
// Rounding to fp16, compiled for AVX-512.
#include "kernels/element_io.h"
#include "kernels/fp16/round_fp16_rows.h"
#include "kernels/vec.h"

#define FN qrn_round_fp16_avx512
#include "kernels/fp16/round_fp16_fast.inc"
