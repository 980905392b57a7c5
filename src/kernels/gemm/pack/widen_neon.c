// SPDX-License-Identifier: MIT
//
// Widening of halves, compiled for NEON.
#include "kernels/gemm/dense/dense_half.h"

#include <arm_neon.h>
#include <string.h>

#define FN qrn_half_widen_neon
#include "kernels/gemm/pack/widen.inc"
