// SPDX-License-Identifier: MIT
//
// Quantization with ties to even, compiled for NEON.
#include "kernels/eltwise/round_to.h"

#include <math.h>

#define FN qrn_round_to_neon
#include "kernels/eltwise/round_to.inc"
