// SPDX-License-Identifier: MIT
//
// Element-wise ops on one operand: arithmetic, activations, tests of floats.
// unary: in[0], out[0] of one shape, in the step's domain; LOGIT takes an optional in[1], epsilon.
// Plain integers: ABS and NEG wrap; an op whose result is not an integer is computed in double and
// truncated toward zero. NaN passes through every op of the float domains.
#ifndef QRN_KERNELS_ELTWISE_UNARY_H
#define QRN_KERNELS_ELTWISE_UNARY_H

#include "kernels/kernel.h"

typedef enum qrn_unary_op {
    QRN_UNARY_ABS,
    QRN_UNARY_ASIN,
    QRN_UNARY_ATAN,
    QRN_UNARY_CEIL,
    QRN_UNARY_COS,
    QRN_UNARY_EXP,
    QRN_UNARY_FLOOR,
    QRN_UNARY_LOG,
    QRN_UNARY_NEG,
    QRN_UNARY_RECIPROCAL,
    QRN_UNARY_ROUND, // halves to even
    QRN_UNARY_RSQRT,
    QRN_UNARY_SIGN,
    QRN_UNARY_SIN,
    QRN_UNARY_SQRT,
    QRN_UNARY_SQUARE,
    QRN_UNARY_LOGIT,
    QRN_UNARY_ELU, // alpha
    QRN_UNARY_GELU,
    QRN_UNARY_HARD_SIGMOID, // alpha, beta
    QRN_UNARY_HARD_SWISH,
    QRN_UNARY_RELU,
    QRN_UNARY_CLAMP, // low, high
    QRN_UNARY_SIGMOID,
    QRN_UNARY_SOFTPLUS, // beta, threshold
    QRN_UNARY_TANH,
    QRN_UNARY_SWISH, // x * SIGMOID(x); fast rows round once less
    QRN_UNARY_ERF,
    QRN_UNARY_ACOS
} qrn_unary_op;

typedef struct qrn_unary_args {
    uint32_t op; // qrn_unary_op
    float alpha, beta;
    float low, high;
    float threshold; // SOFTPLUS: beta * x above it gives x; negative: never
} qrn_unary_args;

// 1 where the element of in[0] is one of the wanted kinds, else 0; out[0] has 1-byte elements.
typedef struct qrn_float_test_args {
    bool nan, plus_inf, minus_inf;
} qrn_float_test_args;

extern const qrn_family qrn_family_unary;      // F32, F64, I64
extern const qrn_family qrn_family_float_test; // F32, F64

// The definition on one number, in double; what integers and the reference rows use.
double qrn_unary_real(const qrn_unary_args *a, double v, double epsilon);

#endif
