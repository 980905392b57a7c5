// SPDX-License-Identifier: MIT
//
// Conversion of fp16 to floats, compiled for NEON.
#include "kernels/gemm/dense/dense_f16.h"

#include <arm_neon.h>
#include <string.h>

#define FN qrn_f16_to_f32_neon
#include "kernels/gemm/pack/f16_to_f32.inc"
