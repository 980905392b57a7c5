// SPDX-License-Identifier: MIT
//
// Matmul of quantized values, the first of 16 bits, the second of 16 or 8: the RAW rows of the
// matmul family that use gemm_q16.h. b is packed in every call, some panels at a time, into the
// scratch of the task that needs them. Results are those of requant.h to the bit.
#ifndef QRN_KERNELS_GEMM_MATMUL_Q16_H
#define QRN_KERNELS_GEMM_MATMUL_Q16_H

#include "kernels/kernel.h"

qrn_status qrn_matmul_q16_avx512vnni(const qrn_kcall *k);

bool qrn_matmul_q16_works(const qrn_kcall *k);
size_t qrn_matmul_q16_scratch(const qrn_kcall *k);

#endif
