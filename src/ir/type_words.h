// SPDX-License-Identifier: MIT
//
// Short words for type masks, for the tables alone: op rows and backend support rows.
#ifndef QRN_IR_TYPE_WORDS_H
#define QRN_IR_TYPE_WORDS_H

#include "base/dtype.h"

// Joined with |.
#define F32 QRN_T(F32)
#define F16 QRN_T(F16)
#define BF16 QRN_T(BF16)
#define I8 QRN_T(I8)
#define I16 QRN_T(I16)
#define I32 QRN_T(I32)
#define I64 QRN_T(I64)
#define U8 QRN_T(U8)
#define U16 QRN_T(U16)
#define U32 QRN_T(U32)
#define SQ4 QRN_T(SQ4)
#define SQ8 QRN_T(SQ8)
#define SQ16 QRN_T(SQ16)
#define SQ32 QRN_T(SQ32)
#define UQ4 QRN_T(UQ4)
#define UQ8 QRN_T(UQ8)
#define UQ16 QRN_T(UQ16)
#define UQ32 QRN_T(UQ32)
#define B8 QRN_T(B8)
#define STR QRN_T(STR)
#define FLOATS (F32 | F16)
#define INTS (I8 | I16 | I32 | I64 | U8 | U16 | U32)              // exact in 64 bits with a sign
#define ACT (FLOATS | UQ8 | SQ8 | UQ16)                           // usual activations
#define ACT16 (ACT | SQ16)                                        // with signed 16 bits
#define ANY ((((qrn_dtype_mask)1 << QRN_DTYPE_COUNT) - 1) & ~STR) // every number

#endif
