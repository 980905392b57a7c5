// SPDX-License-Identifier: MIT
//
// Resampling of quantized values, compiled for AVX2.
#include "kernels/image/resample_q.h"

#define RUN qrn_resample_q_avx2
#include "kernels/image/resample_q_all.inc"
