// SPDX-License-Identifier: MIT
//
// Cells of wide depthwise convolutions, compiled for AVX-512.
#include "kernels/conv/depthwise_wide.h"

#include <math.h>

#define FN qrn_depthwise_wide_cell_avx512
#include "kernels/conv/depthwise_wide.inc"
