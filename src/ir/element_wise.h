// SPDX-License-Identifier: MIT
//
// Values of the `operation` parameter of the combined element-wise ops; the numbers are the public
// API's. The op table lists the same names, which validation checks; rules and lowering use these.
#ifndef QRN_IR_ELEMENT_WISE_H
#define QRN_IR_ELEMENT_WISE_H

typedef enum qrn_element_wise_binary {
    QRN_EW_BINARY_ADD = 0,
    QRN_EW_BINARY_AND,
    QRN_EW_BINARY_DIVIDE,
    QRN_EW_BINARY_EQUAL,
    QRN_EW_BINARY_FLOOR_DIV,
    QRN_EW_BINARY_FMOD,
    QRN_EW_BINARY_GREATER,
    QRN_EW_BINARY_GREATER_EQUAL,
    QRN_EW_BINARY_LESS,
    QRN_EW_BINARY_LESS_EQUAL,
    QRN_EW_BINARY_MAXIMUM,
    QRN_EW_BINARY_MINIMUM,
    QRN_EW_BINARY_MOD,
    QRN_EW_BINARY_MULTIPLY,
    QRN_EW_BINARY_NOT_EQUAL,
    QRN_EW_BINARY_OR,
    QRN_EW_BINARY_POWER,
    QRN_EW_BINARY_SQUARED_DIFFERENCE,
    QRN_EW_BINARY_SUBTRACT,
    QRN_EW_BINARY_XOR
} qrn_element_wise_binary;

typedef enum qrn_element_wise_neuron {
    QRN_EW_NEURON_ELU = 0,
    QRN_EW_NEURON_GELU,
    QRN_EW_NEURON_HARD_SIGMOID,
    QRN_EW_NEURON_HARD_SWISH,
    QRN_EW_NEURON_RELU,
    QRN_EW_NEURON_RELU_MIN_MAX,
    QRN_EW_NEURON_SIGMOID,
    QRN_EW_NEURON_SOFTPLUS,
    QRN_EW_NEURON_TANH
} qrn_element_wise_neuron;

typedef enum qrn_element_wise_unary {
    QRN_EW_UNARY_ABS = 0,
    QRN_EW_UNARY_ASIN,
    QRN_EW_UNARY_ATAN,
    QRN_EW_UNARY_CEIL,
    QRN_EW_UNARY_COS,
    QRN_EW_UNARY_EXP,
    QRN_EW_UNARY_FLOOR,
    QRN_EW_UNARY_LOG,
    QRN_EW_UNARY_NEG,
    QRN_EW_UNARY_NOT,
    QRN_EW_UNARY_RECIPROCAL,
    QRN_EW_UNARY_ROUND,
    QRN_EW_UNARY_RSQRT,
    QRN_EW_UNARY_SIGN,
    QRN_EW_UNARY_SIN,
    QRN_EW_UNARY_SQRT
} qrn_element_wise_unary;

#endif
