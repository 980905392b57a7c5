// SPDX-License-Identifier: MIT
//
// Ops along one axis of in[0].
//   arg     index of the largest or smallest element, the first of equals -> out[0]: i32, u32, f32
//   or f16 cumsum  running sum -> out[0], same shape topk    the k first elements of the last axis
//   in order -> out[0], their indices -> out[1] (4-byte
//           integers); k is the last dimension of the outputs. Of equal values the one with the
//           larger index comes first
// NaN counts as larger than every number.
#ifndef QRN_KERNELS_REDUCE_ALONG_H
#define QRN_KERNELS_REDUCE_ALONG_H

#include "kernels/kernel.h"

typedef struct qrn_arg_args {
    uint32_t axis;
    bool min; // smallest instead of largest
} qrn_arg_args;

typedef struct qrn_cumsum_args {
    uint32_t axis;
    bool exclusive; // element i does not count in sum i
    bool reverse;   // from the end
} qrn_cumsum_args;

typedef struct qrn_topk_args {
    bool smallest; // ascending from the smallest instead of descending from the largest
    bool low_ties; // of equal values the lower index comes first, not the higher one
} qrn_topk_args;

extern const qrn_family qrn_family_arg;    // F32, F64, I64; out[0] is not converted
extern const qrn_family qrn_family_cumsum; // F32, F64, I64
extern const qrn_family qrn_family_topk;   // F32, F64, I64; out[1] is not converted

#endif
