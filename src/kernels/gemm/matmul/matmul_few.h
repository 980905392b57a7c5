// SPDX-License-Identifier: MIT
//
// Quantized matmul of few rows, by which packing b would not pay: elements of b are read once,
// where they lie, and sums are in double, in which they are exact.
#ifndef QRN_KERNELS_GEMM_MATMUL_FEW_H
#define QRN_KERNELS_GEMM_MATMUL_FEW_H

#include "kernels/kernel.h"

#define QRN_FEW_ROWS 8  // at most: with more, packing pays
#define QRN_FEW_COLS 64 // of a unit of work

bool qrn_matmul_few_works(const qrn_kcall *k);
size_t qrn_matmul_few_scratch(const qrn_kcall *k);
qrn_status qrn_matmul_few_avx2(const qrn_kcall *k);
qrn_status qrn_matmul_few_avx512(const qrn_kcall *k);
qrn_status qrn_matmul_few_neon(const qrn_kcall *k);

#endif
