// SPDX-License-Identifier: MIT
//
// Resampling of codes, compiled for NEON.
#include "kernels/image/resample_q.h"

#define RUN qrn_resample_q_neon
#include "kernels/image/resample_q_all.inc"
