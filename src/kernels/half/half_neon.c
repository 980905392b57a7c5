// SPDX-License-Identifier: MIT
//
// Rounding to half precision, compiled for NEON.
#include "kernels/codes.h"
#include "kernels/half/half_rows.h"
#include "kernels/vec.h"

#define FN qrn_half_neon
#include "kernels/half/half_fast.inc"
