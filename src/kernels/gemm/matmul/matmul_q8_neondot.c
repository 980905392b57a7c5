// SPDX-License-Identifier: MIT
//
// Packing for matmuls of 8-bit values, compiled for NEON.
#include "kernels/gemm/matmul/matmul_q8.h"

#include <string.h>

#define TABLE qrn_q8_packing_neondot
#include "kernels/gemm/matmul/matmul_q8.inc"
