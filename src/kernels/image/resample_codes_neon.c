// SPDX-License-Identifier: MIT
//
// Resampling of codes, compiled for NEON.
#include "kernels/image/resample_codes.h"

#define RUN qrn_resample_codes_neon
#include "kernels/image/resample_codes_all.inc"
