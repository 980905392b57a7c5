// SPDX-License-Identifier: MIT
//
// Joining and cutting along an axis, padding, and plain copies; RAW.
#ifndef QRN_KERNELS_JOIN_H
#define QRN_KERNELS_JOIN_H

#include "kernels/kernel.h"

// Concat and Pack: out[0] holds in[0..] one after the other along the axis. Split and UnPack:
// out[0..] are the parts of in[0]. Pack and UnPack differ in the rank of the parts alone.
typedef struct qrn_join_args {
    uint32_t axis;
} qrn_join_args;

typedef enum qrn_pad_scheme { // numbers as in the parameter `scheme` of Pad
    QRN_PAD_CONSTANT,
    QRN_PAD_SYMMETRIC, // mirrored with the border element
    QRN_PAD_REFLECT,   // mirrored without it
    QRN_PAD_EDGE       // the border element repeated
} qrn_pad_scheme;

typedef struct qrn_pad_args {
    uint32_t scheme;               // qrn_pad_scheme
    uint32_t before[QRN_MAX_RANK]; // what follows results from the dims of out[0]
    uint8_t fill[8];               // one element, for CONSTANT
} qrn_pad_args;

typedef struct qrn_reshape_args {
    // in[1] holds the dims of out[0]: 0 copies the dim of in[0], one -1 is inferred. They must fit
    // the largest ones, else QRN_E_ARGUMENT.
    bool read_shape;
} qrn_reshape_args;

extern const qrn_family qrn_family_concat;
extern const qrn_family qrn_family_split;
extern const qrn_family qrn_family_pad;
extern const qrn_family qrn_family_copy;    // out[0] gets the bytes of in[0]; no args
extern const qrn_family qrn_family_reshape; // the same, and may write the dims of out[0]

#endif
