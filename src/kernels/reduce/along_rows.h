// SPDX-License-Identifier: MIT
//
// The vector rows of the arg and cumsum families, one file per ISA.
#ifndef QRN_KERNELS_REDUCE_ALONG_ROWS_H
#define QRN_KERNELS_REDUCE_ALONG_ROWS_H

#include "kernels/reduce/along.h"

#include <math.h>

#define QRN_ALONG_ROWS(isa)                                                                        \
    qrn_status qrn_arg_f32_##isa(const qrn_kcall *k);   /* indices of 4 bytes */                   \
    qrn_status qrn_cumsum_f32_##isa(const qrn_kcall *k) /* not along the innermost axis */

QRN_ALONG_ROWS(avx2);
QRN_ALONG_ROWS(avx512);
QRN_ALONG_ROWS(neon);

#endif
