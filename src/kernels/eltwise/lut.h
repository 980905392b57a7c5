// SPDX-License-Identifier: MIT
//
// Table look-up: out[0][i] = table[code of in[0][i]]. in[0] has 1-byte elements, in[1] is the table
// of 256 elements of out[0]'s type, indexed by the code's unsigned byte. It stands for any function
// of one 8-bit operand; who builds the table decides the numerics.
#ifndef QRN_KERNELS_ELTWISE_LUT_H
#define QRN_KERNELS_ELTWISE_LUT_H

#include "kernels/kernel.h"

extern const qrn_family qrn_family_lut; // RAW

#endif
