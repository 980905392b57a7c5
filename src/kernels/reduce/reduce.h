// SPDX-License-Identifier: MIT
//
// Reductions over any set of axes. in[0] of any rank; the outputs hold one element per index of the
// axes that stay, in row-major order, whether or not the reduced ones are kept as size 1.
//   reduce   one of qrn_reduce_op -> out[0]
//   extremes smallest -> out[0], largest -> out[1]: of all elements
//   moments  mean -> out[0], population variance -> out[1]
// Floats are summed in double; integers in 64 bits with wrapping. Max and min give NaN when there
// is one.
#ifndef QRN_KERNELS_REDUCE_REDUCE_H
#define QRN_KERNELS_REDUCE_REDUCE_H

#include "kernels/kernel.h"

typedef enum qrn_reduce_op {
    QRN_REDUCE_SUM,
    QRN_REDUCE_MEAN,
    QRN_REDUCE_MAX,
    QRN_REDUCE_MIN,
    QRN_REDUCE_PROD,
    QRN_REDUCE_SUM_SQUARE
} qrn_reduce_op;

typedef struct qrn_reduce_args {
    uint32_t op;   // qrn_reduce_op
    uint32_t axes; // bit i: axis i is reduced
} qrn_reduce_args;

// The RAW rows support operands for which qrn_reduce_q_work() of reduce_q.h is true.
extern const qrn_family qrn_family_reduce;   // F32, F64, I64, RAW
extern const qrn_family qrn_family_extremes; // F32, F64
extern const qrn_family qrn_family_moments;  // F32, F64

#endif
