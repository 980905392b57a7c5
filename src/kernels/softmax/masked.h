// SPDX-License-Identifier: MIT
//
// Softmax over the last axis of x [N,H,W,C] with a mask, in[1].
//   uncompressed  mask [N,C] is added to x, broadcast over H and W
//   compressed    mask [N,S] holds the lengths of S sequences packed back to back along C (and W, W
//   = C):
//                 an element counts only when its row and column are in the same sequence. Other
//                 elements are 0, rows behind the last sequence too. Lengths below 0 or with a sum
//                 above C are a data error
#ifndef QRN_KERNELS_SOFTMAX_MASKED_H
#define QRN_KERNELS_SOFTMAX_MASKED_H

#include "kernels/kernel.h"

typedef struct qrn_masked_softmax_args {
    bool compressed; // in[1] is then not converted and may be of any type
} qrn_masked_softmax_args;

extern const qrn_family qrn_family_masked_softmax; // F32, F64

#endif
