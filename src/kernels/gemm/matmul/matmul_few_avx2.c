// SPDX-License-Identifier: MIT
//
// Quantized matmul of few rows, compiled for AVX2.
#include "kernels/gemm/epilogue/requant.h"
#include "kernels/gemm/matmul/matmul.h"
#include "kernels/gemm/matmul/matmul_few.h"

#define FN qrn_matmul_few_avx2
#define LANES 4
#include "kernels/gemm/matmul/matmul_few.inc"
