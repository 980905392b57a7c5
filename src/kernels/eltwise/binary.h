// SPDX-License-Identifier: MIT
//
// Element-wise ops on two operands that broadcast to the shape of the output (any rank).
//   binary   y = a op b, everything in the step's domain; in the RAW domain each operand in its own
//            format, one of those that element_io.h knows, computed in double
//   compare  a op b -> 0 or 1 stored as such in out[0], whose elements have 1 or 4 bytes
//   logical  truth of the stored values of in[0], in[1] (absent for NOT) -> stored 0 or 1; 1-byte
//   types
// Integers: +, -, * and power wrap, / truncates toward zero, x / 0 and x mod 0 are 0, a negative
// power truncates toward zero. Floats follow IEEE; max and min give NaN when an operand is NaN.
#ifndef QRN_KERNELS_ELTWISE_BINARY_H
#define QRN_KERNELS_ELTWISE_BINARY_H

#include "kernels/kernel.h"

typedef enum qrn_binary_op {
    QRN_BINARY_ADD,
    QRN_BINARY_SUB,
    QRN_BINARY_MUL,
    QRN_BINARY_DIV,
    QRN_BINARY_FLOOR_DIV,
    QRN_BINARY_FMOD, // sign of a
    QRN_BINARY_MOD,  // sign of b
    QRN_BINARY_MAX,
    QRN_BINARY_MIN,
    QRN_BINARY_POW,
    QRN_BINARY_SQUARED_DIFFERENCE,
    QRN_BINARY_PRELU, // a >= 0 ? a : a * b
    QRN_COMPARE_EQ,
    QRN_COMPARE_NE,
    QRN_COMPARE_GT,
    QRN_COMPARE_GE,
    QRN_COMPARE_LT,
    QRN_COMPARE_LE,
    QRN_LOGICAL_AND,
    QRN_LOGICAL_OR,
    QRN_LOGICAL_XOR,
    QRN_LOGICAL_NOT
} qrn_binary_op;

typedef struct qrn_binary_args {
    uint32_t op; // qrn_binary_op of the family's part of the list
} qrn_binary_args;

extern const qrn_family qrn_family_binary;  // F32, F64, I64, RAW
extern const qrn_family qrn_family_compare; // F32, F64, I64
extern const qrn_family qrn_family_logical; // RAW

#endif
