// SPDX-License-Identifier: MIT
//
// Resampling of quantized values, compiled for NEON.
#include "kernels/image/resample_q.h"

#define RUN qrn_resample_q_neon
#include "kernels/image/resample_q_all.inc"
