// SPDX-License-Identifier: MIT
//
// The fast RAW rows of the matmul family: products of 8-bit and 16-bit codes that are both only
// known at execution. b is packed panel by panel into the scratch (gemm_wide.h), once for each
// block of rows of a.
#ifndef QRN_KERNELS_GEMM_MATMUL_WIDE_H
#define QRN_KERNELS_GEMM_MATMUL_WIDE_H

#include "kernels/kernel.h"

bool qrn_matmul_wide_works(const qrn_kcall *k);
size_t qrn_matmul_wide_scratch(const qrn_kcall *k);
qrn_status qrn_matmul_wide_avx512vnni(const qrn_kcall *k);
qrn_status qrn_matmul_wide_avx2(const qrn_kcall *k);
qrn_status qrn_matmul_wide_neondot(const qrn_kcall *k);
qrn_status qrn_matmul_wide_any(const qrn_kcall *k);

#endif
