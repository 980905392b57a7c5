// SPDX-License-Identifier: MIT
//
// Softmax along the last axis of floats, compiled for NEON.
#include "kernels/fast_math.h"
#include "kernels/softmax/softmax_rows.h"

#define FN qrn_softmax_f32_neon
#include "kernels/softmax/softmax_fast.inc"
