// SPDX-License-Identifier: MIT
//
// Element-wise ops on two operands that broadcast to the shape of the output (any rank).
//   binary   y = a op b, everything in the step's domain; in the RAW domain each operand in its own
//            format, one of those that element_io.h knows, computed in double, or all three I32 or
//            all U32, computed modulo 2^32
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
    QRN_LOGICAL_NOT,
    QRN_BINARY_BIT_AND, // these: integers only
    QRN_BINARY_BIT_OR,
    QRN_BINARY_BIT_XOR,
    QRN_BINARY_SHIFT_LEFT, // a count that is negative or too large shifts every bit out
    QRN_BINARY_SHIFT_RIGHT // of signed integers: copies of the sign come in
} qrn_binary_op;

typedef struct qrn_binary_args {
    uint32_t op; // qrn_binary_op of the family's part of the list
} qrn_binary_args;

extern const qrn_family qrn_family_binary;  // F32, F64, I64, RAW
extern const qrn_family qrn_family_compare; // F32, F64, I64; RAW: both operands I32 or both U32
extern const qrn_family qrn_family_logical; // RAW

// Is the view one of plain 32-bit integers?
static inline bool qrn_is_word(const qrn_view *v) {
    return v->dtype == QRN_DTYPE_I32 || v->dtype == QRN_DTYPE_U32;
}

#endif
