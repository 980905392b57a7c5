// SPDX-License-Identifier: MIT
//
// Tensors made from indices, shapes and conditions; RAW.
#ifndef QRN_KERNELS_GENERATE_H
#define QRN_KERNELS_GENERATE_H

#include "kernels/kernel.h"

// in[0]: x; out[0]: [M, rank of x] of i32 or u32: coordinates of the elements whose real value is
// not 0 (a NaN counts), in row-major order; rows left over are -1. More than M: QRN_E_ARGUMENT.
typedef struct qrn_nonzero_args {
    bool write_dims; // set the first dim of out[0] to the number of coordinates
} qrn_nonzero_args;

// y[..., d at the axis, ...] = indices[...] == d ? on : off
typedef struct qrn_one_hot_args {
    uint32_t axis;
    uint8_t on[8], off[8]; // one element of the output each
} qrn_one_hot_args;

// in[0]: dims that out[0] must have, else QRN_E_ARGUMENT; out[0] is filled.
typedef struct qrn_fill_args {
    uint8_t value[8]; // one element
} qrn_fill_args;

extern const qrn_family qrn_family_nonzero;
extern const qrn_family qrn_family_one_hot;
extern const qrn_family qrn_family_fill;

#endif
