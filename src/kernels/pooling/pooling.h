// SPDX-License-Identifier: MIT
//
// Pooling over two or three spatial dimensions, channels last.
//   in[0] x [N, S..., C], out[0] y [N, So..., C]; window o covers [o*stride - before, + size)
// pool_max:  largest cell of the window. Cells outside the input never win; a window without any
// cell of
//            the input gives the lowest value (-inf, or the lowest code). NaN wins.
//            F32 and F64 on numbers, RAW on codes of 8 and 16 bits (x and y of one encoding).
// pool_avg:  sum / count in double. count: cells inside the input, or with count_pad cells inside
// the
//            padded input, never those behind the padding (which rounding up can reach). Count 0
//            gives 0.
// pool_l2:   sqrt(sum of squares), no division.
#ifndef QRN_KERNELS_POOLING_H
#define QRN_KERNELS_POOLING_H

#include "kernels/kernel.h"

typedef struct qrn_pooling_args {
    uint32_t n_spatial;                               // 1 to 3
    uint32_t size[3], stride[3], before[3], after[3]; // n_spatial entries each
    bool count_pad;
} qrn_pooling_args;

extern const qrn_family qrn_family_pool_max; // F32, F64, RAW
extern const qrn_family qrn_family_pool_avg; // F32, F64
extern const qrn_family qrn_family_pool_l2;  // F32, F64

#endif
