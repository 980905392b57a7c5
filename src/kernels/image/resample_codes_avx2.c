// SPDX-License-Identifier: MIT
//
// Resampling of codes, compiled for AVX2.
#include "kernels/image/resample_codes.h"

#define RUN qrn_resample_codes_avx2
#include "kernels/image/resample_codes_all.inc"
