// SPDX-License-Identifier: MIT
//
// Element-wise functions of arrays with broadcasting. Runs of elements become numbers, pass through
// a function and are stored, so a new op is one line of the table, or one loop of the caller's.
#ifndef QRN_REFERENCE_ELEMENTWISE_H
#define QRN_REFERENCE_ELEMENTWISE_H

#include "reference/array.h"

// Functions of the C library and the like, on floats.
// clang-format off
#define QRN_MATH_LIST(X)                                                                           \
    X(ACOS, acos) X(ACOSH, acosh) X(ASIN, asin) X(ASINH, asinh) X(ATAN, atan) X(ATANH, atanh)      \
    X(CEIL, ceil) X(COS, cos) X(COSH, cosh) X(ERF, erf) X(EXP, exp) X(EXPM1, expm1)                \
    X(FLOOR, floor) X(LOG, log) X(LOG1P, log1p) X(RECIPROCAL, reciprocal) X(ROUND, qrn_round_even) \
    X(RSQRT, rsqrt) X(SIGMOID, sigmoid) X(SIN, sin) X(SINH, sinh) X(SQRT, sqrt) X(TAN, tan)        \
    X(TANH, tanh) X(TRUNC, trunc)

// a is the first operand, b the second one. Integers wrap; see reference/integer.h.
//   X1(name, float, signed, unsigned)  X2: the same of two operands
//   T1, T2: the result is a truth, 1 or 0
#define QRN_OP_LIST(X1, X2, T1, T2)                                                                \
    X1(NEG, -a, WRAP(0, -, a), 0 - a)                                                              \
    X1(ABS, fabs(a), a < 0 ? WRAP(0, -, a) : a, a)                                                 \
    X1(SIGN, isnan(a) ? a : (a > 0) - (a < 0), (a > 0) - (a < 0), a != 0)                          \
    X1(RELU, a < 0 ? 0 : a, a < 0 ? 0 : a, a)                                                      \
    X1(BIT_NOT, a, ~a, ~a)                                                                         \
    T1(NOT, a == 0, a == 0, a == 0)                                                                \
    T1(IS_NAN, isnan(a), 0, 0)                                                                     \
    T1(IS_INF, isinf(a), 0, 0)                                                                     \
    X2(ADD, a + b, WRAP(a, +, b), a + b)                                                           \
    X2(SUB, a - b, WRAP(a, -, b), a - b)                                                           \
    X2(MUL, a * b, WRAP(a, *, b), a * b)                                                           \
    X2(DIV, a / b, qrn_int_div(a, b), b ? a / b : 0)                                               \
    X2(FMOD, fmod(a, b), qrn_int_fmod(a, b), b ? a % b : 0)                                        \
    X2(MOD, mod_numpy(a, b), qrn_int_mod(a, b), b ? a % b : 0)                                     \
    X2(REMAINDER, mod_torch(a, b), qrn_int_mod(a, b), b ? a % b : 0)                               \
    X2(POW, pow(a, b), qrn_int_pow(a, b), qrn_uint_pow(a, b))                                      \
    X2(MAX, isnan(a) || a > b ? a : b, a > b ? a : b, a > b ? a : b)                               \
    X2(MIN, isnan(a) || !(isnan(b) || b < a) ? a : b, b < a ? b : a, b < a ? b : a)                \
    X2(BIT_AND, a, a & b, a & b)                                                                   \
    X2(BIT_OR, a, a | b, a | b)                                                                    \
    X2(BIT_XOR, a, a ^ b, a ^ b)                                                                   \
    X2(SHIFT_LEFT, a, b < 0 || b > 63 ? 0 : WRAP(a, <<, b), b > 63 ? 0 : a << b)                   \
    X2(SHIFT_RIGHT, a, a >> (b < 0 || b > 63 ? 63 : b), b > 63 ? 0 : a >> b)                       \
    T2(EQ, a == b, a == b, a == b)                                                                 \
    T2(NE, a != b, a != b, a != b)                                                                 \
    T2(LT, a < b, a < b, a < b)                                                                    \
    T2(LE, a <= b, a <= b, a <= b)                                                                 \
    T2(GT, a > b, a > b, a > b)                                                                    \
    T2(GE, a >= b, a >= b, a >= b)                                                                 \
    T2(AND, a != 0 && b != 0, a && b, a && b)                                                      \
    T2(OR, a != 0 || b != 0, a || b, a || b)                                                       \
    T2(XOR, (a != 0) != (b != 0), !a != !b, !a != !b)
// clang-format on

typedef enum qrn_op {
#define X(name, ...) QRN_OP_##name,
    QRN_MATH_LIST(X) QRN_OP_LIST(X, X, X, X)
#undef X
        QRN_OP_CAST, // one operand
    QRN_OP_SELECT,   // first ? second : third
    QRN_OP_ATAN2,
    QRN_OP_MEAN // of any number of floats
} qrn_op;

// y = op(x...) for x broadcast to y's shape, which they fit. More operands than an op has are
// joined from the left, without rounding in between. Numbers are floats when y or any x is, else
// integers, signed when any x is. Changes the views in x.
void qrn_nd_apply(qrn_op op, const qrn_nd *y, qrn_nd *x, uint32_t n, qrn_cast rule);

// --- Functions of the caller's own

typedef struct qrn_map qrn_map;
struct qrn_map {
    // n results from as many numbers of each operand, which may be overwritten; y may be x[0].
    void (*fn)(const qrn_map *m, qrn_num *y, qrn_num *const *x, size_t n);
    uint32_t arity;          // operands of fn, at most 3
    uint32_t n, joined;      // operands of the call; those that are done already
    qrn_kind domain, result; // of fn's operands and results
    qrn_cast rule;
    double (*math)(double); // of the table's own functions
    const void *context;    // of the caller's
};
// FLOAT when y or any x is, else SIGNED when any x is, else UNSIGNED.
qrn_kind qrn_nd_domain(const qrn_nd *y, const qrn_nd *x, uint32_t n);
void qrn_nd_map(qrn_map *m, const qrn_nd *y, qrn_nd *x, uint32_t n);
// (first - third) * second, in floats: quantized values, scales and zero points.
void qrn_map_dequantize(const qrn_map *m, qrn_num *y, qrn_num *const *x, size_t n);

#endif
