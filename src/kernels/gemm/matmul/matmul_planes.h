// SPDX-License-Identifier: MIT
//
// The fast RAW rows of the matmul family: matmuls of 8-bit and 16-bit values that are both only
// known at execution. b is packed panel by panel into the scratch (gemm_planes.h), once for each
// block of rows of a.
#ifndef QRN_KERNELS_GEMM_MATMUL_PLANES_H
#define QRN_KERNELS_GEMM_MATMUL_PLANES_H

#include "kernels/kernel.h"

bool qrn_matmul_planes_works(const qrn_kcall *k);
size_t qrn_matmul_planes_scratch(const qrn_kcall *k);
qrn_status qrn_matmul_planes_avx512vnni(const qrn_kcall *k);
qrn_status qrn_matmul_planes_avx2(const qrn_kcall *k);
qrn_status qrn_matmul_planes_neoni8mm(const qrn_kcall *k);
qrn_status qrn_matmul_planes_neondot(const qrn_kcall *k);
qrn_status qrn_matmul_planes_any(const qrn_kcall *k);

#endif
