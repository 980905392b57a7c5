// SPDX-License-Identifier: MIT
//
// Rounding to half precision, compiled for AVX2.
#include "kernels/codes.h"
#include "kernels/half/half_rows.h"
#include "kernels/vec.h"

#define FN qrn_half_avx2
#include "kernels/half/half_fast.inc"
