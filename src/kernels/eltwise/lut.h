// SPDX-License-Identifier: MIT
//
// Table look-up: out[0][i] = table[in[0][i]]. in[0] has elements of 1 or 2 bytes, in[1] is the
// table of 256 or 65,536 elements of out[0]'s type, indexed by the element as an unsigned number.
// It stands for any function of one such operand; who builds the table decides the numerics.
#ifndef QRN_KERNELS_ELTWISE_LUT_H
#define QRN_KERNELS_ELTWISE_LUT_H

#include "kernels/kernel.h"

// Entries of a table for a type of `count` values; 0: computing is cheaper than making the table.
static inline uint32_t qrn_lut_size(qrn_dtype t, size_t count) {
    if (t == QRN_DTYPE_UQ8 || t == QRN_DTYPE_SQ8)
        return 256;
    return (t == QRN_DTYPE_UQ16 || t == QRN_DTYPE_SQ16) && count >= 4096 ? 65536 : 0;
}

extern const qrn_family qrn_family_lut; // RAW

#endif
