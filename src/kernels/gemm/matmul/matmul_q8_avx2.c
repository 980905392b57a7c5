// SPDX-License-Identifier: MIT
//
// Packing of codes for products of 8-bit matrices, compiled for AVX2.
#include "kernels/gemm/matmul/matmul_q8.h"

#include <string.h>

#define TABLE qrn_q8_packing_avx2
#include "kernels/gemm/matmul/matmul_q8.inc"
