// SPDX-License-Identifier: MIT
//
// Normalization of codes in contiguous sets, compiled for AVX512.
#include "kernels/norm/norm_codes.h"
#include "kernels/steps.h"

#define FN qrn_norm_codes_avx512
#include "kernels/norm/codes_fast.inc"
