// SPDX-License-Identifier: MIT
//
// The vector rows of the convert family, one file per ISA.
#ifndef QRN_KERNELS_CONVERT_ROWS_H
#define QRN_KERNELS_CONVERT_ROWS_H

#include "kernels/kernel.h"

qrn_status qrn_convert_avx2(const qrn_kcall *k);
qrn_status qrn_convert_avx512(const qrn_kcall *k);
qrn_status qrn_convert_neon(const qrn_kcall *k);

#endif
