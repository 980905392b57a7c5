// SPDX-License-Identifier: MIT
//
// Resampling of codes, compiled for AVX512.
#include "kernels/image/resample_q.h"

#define RUN qrn_resample_q_avx512
#include "kernels/image/resample_q_all.inc"
