// SPDX-License-Identifier: MIT
//
// Quantization with ties to even, compiled for AVX2.
#include "kernels/eltwise/round_to.h"

#include <math.h>

#define FN qrn_round_to_avx2
#include "kernels/eltwise/round_to.inc"
