// SPDX-License-Identifier: MIT
//
// Hadamard transform along the last dimension, whose size n is a power of two. in[0], out[0]: same
// shape.
//   y[i] = scale / sqrt(n) * sum_j (-1)^popcount(i & j) * x[j]
#ifndef QRN_KERNELS_HADAMARD_H
#define QRN_KERNELS_HADAMARD_H

#include "kernels/kernel.h"

typedef struct qrn_hadamard_args {
    float scale;
} qrn_hadamard_args;

extern const qrn_family qrn_family_hadamard; // F32, F64

#endif
