// SPDX-License-Identifier: MIT
//
// Cells of wide depthwise convolutions, compiled for NEON.
#include "kernels/conv/depthwise_wide.h"

#include <math.h>

#define FN qrn_depthwise_wide_cell_neon
#include "kernels/conv/depthwise_wide.inc"
