// SPDX-License-Identifier: MIT
//
// Resampling of codes, compiled for AVX512.
#include "kernels/image/resample_codes.h"

#define RUN qrn_resample_codes_avx512
#include "kernels/image/resample_codes_all.inc"
