// SPDX-License-Identifier: MIT
//
// The fast F32 rows of the matmul family: b is packed in every call, a few panels at a time, into
// the scratch of the task that needs them.
#ifndef QRN_KERNELS_GEMM_MATMUL_F32_H
#define QRN_KERNELS_GEMM_MATMUL_F32_H

#include "kernels/kernel.h"

qrn_status qrn_matmul_f32_avx512(const qrn_kcall *k);
qrn_status qrn_matmul_f32_avx2(const qrn_kcall *k);
qrn_status qrn_matmul_f32_neon(const qrn_kcall *k);

bool qrn_matmul_f32_works(const qrn_kcall *k);
size_t qrn_matmul_f32_scratch(const qrn_kcall *k);

#endif
