// SPDX-License-Identifier: MIT
//
// Random tensors, the same on every machine and for every number of threads: element e is a
// function of the seed, the execution and e alone (Philox4x32-10 of Salmon et al. 2011, counter
// based). in: the shape, which must be that of the output; a seed or NULL.
//   uniform  low + u * (high - low) with u in [0, 1)
//   normal   mean + scale * n with n from Box and Muller's transform
// docs/op-choices.md states the algorithm to the bit. Without a seed the state counts executions,
// so that each gives other numbers; with one every execution gives the same.
#ifndef QRN_KERNELS_RANDOM_RANDOM_H
#define QRN_KERNELS_RANDOM_RANDOM_H

#include "kernels/kernel.h"

typedef struct qrn_random_args {
    bool normal;
    double a, b;     // low and high, or mean and scale
    uint32_t stream; // keeps seedless ops of a graph apart
} qrn_random_args;

#define QRN_RANDOM_STATE_BYTES 8u // executions so far

extern const qrn_family qrn_family_random; // F32, F64

#endif
