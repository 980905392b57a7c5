// SPDX-License-Identifier: MIT
//
// Cells of 16-bit depthwise convolutions, compiled for NEON.
#include "kernels/conv/depthwise_q16.h"

#include <math.h>

#define FN qrn_depthwise_q16_cell_neon
#include "kernels/conv/depthwise_q16.inc"
