// SPDX-License-Identifier: MIT
//
// Quantization of floats, compiled for NEON.
#include "kernels/quantize_rows.h"

#define FN qrn_quantize_neon
#include "kernels/quantize_fast.inc"
