// SPDX-License-Identifier: MIT
//
// Matmul of up to four rows of 16-bit values by such of 8 or 16 bits, which are read where they
// lie: a RAW row of the matmul family, for attention on a cache. Results are those of requant.h to
// the bit.
#ifndef QRN_KERNELS_GEMM_MATMUL_Q16_FEW_H
#define QRN_KERNELS_GEMM_MATMUL_Q16_FEW_H

#include "kernels/kernel.h"

bool qrn_matmul_q16_few_works(const qrn_kcall *k);
size_t qrn_matmul_q16_few_scratch(const qrn_kcall *k);
qrn_status qrn_matmul_q16_few_avx512vnni(const qrn_kcall *k);

#endif
