// SPDX-License-Identifier: MIT
//
// Cells of 16-bit depthwise convolutions, compiled for AVX2.
#include "kernels/conv/depthwise_q16.h"

#include <math.h>

#define FN qrn_depthwise_q16_cell_avx2
#include "kernels/conv/depthwise_q16.inc"
