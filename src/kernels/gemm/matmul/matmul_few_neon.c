// SPDX-License-Identifier: MIT
//
// Quantized matmul of few rows, compiled for NEON.
#include "kernels/gemm/epilogue/requant.h"
#include "kernels/gemm/matmul/matmul.h"
#include "kernels/gemm/matmul/matmul_few.h"

#define FN qrn_matmul_few_neon
#define LANES 2
#include "kernels/gemm/matmul/matmul_few.inc"
