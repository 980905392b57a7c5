// SPDX-License-Identifier: MIT
//
// Normalization of codes in contiguous sets, compiled for NEON.
#include "kernels/norm/norm_codes.h"
#include "kernels/steps.h"

#define FN qrn_norm_codes_neon
#include "kernels/norm/codes_fast.inc"
