// SPDX-License-Identifier: MIT
//
// The formulas of element-wise ops in OpenCL C. What they call is in kernels/common.cl.
#include "bind/gpu/formulas.h"

static const char *unary_float(const qrn_unary_args *a) {
    static const char *const formats[] = {
        [QRN_UNARY_ABS] = "fabs(x)",
        [QRN_UNARY_ASIN] = "asin(x)",
        [QRN_UNARY_ATAN] = "atan(x)",
        [QRN_UNARY_CEIL] = "ceil(x)",
        [QRN_UNARY_COS] = "cos(x)",
        [QRN_UNARY_EXP] = "exp(x)",
        [QRN_UNARY_FLOOR] = "floor(x)",
        [QRN_UNARY_LOG] = "log(x)",
        [QRN_UNARY_NEG] = "-x",
        [QRN_UNARY_RECIPROCAL] = "1.0f / x",
        [QRN_UNARY_ROUND] = "rint(x)",
        [QRN_UNARY_RSQRT] = "1.0f / sqrt(x)",
        [QRN_UNARY_SIGN] = "isnan(x) ? x : (float)((x > 0.0f) - (x < 0.0f))",
        [QRN_UNARY_SIN] = "sin(x)",
        [QRN_UNARY_SQRT] = "sqrt(x)",
        [QRN_UNARY_SQUARE] = "x * x",
        [QRN_UNARY_LOGIT] = "q_logit(x, y)",
        [QRN_UNARY_ELU] = "x >= 0.0f || isnan(x) ? x : alpha * expm1(x)",
        [QRN_UNARY_GELU] = "q_gelu(x)",
        [QRN_UNARY_HARD_SIGMOID] = "q_clamp(alpha * x + beta, 0.0f, 1.0f)",
        [QRN_UNARY_HARD_SWISH] = "x * q_clamp(x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f)",
        [QRN_UNARY_RELU] = "x < 0.0f ? 0.0f : x",
        [QRN_UNARY_CLAMP] = "q_clamp(x, low, high)",
        [QRN_UNARY_SIGMOID] = "q_sigmoid(x)",
        [QRN_UNARY_SOFTPLUS] = "q_softplus(x, beta, threshold)",
        [QRN_UNARY_TANH] = "tanh(x)",
        [QRN_UNARY_SWISH] = "x * q_sigmoid(x)",
        [QRN_UNARY_ERF] = "erf(x)",
        [QRN_UNARY_ACOS] = "acos(x)"};
    return a->op < sizeof formats / sizeof formats[0] ? formats[a->op] : NULL;
}

static const char *unary_int(const qrn_unary_args *a) {
    switch (a->op) {
    case QRN_UNARY_ABS:
        return "(long)abs(x)"; // of the least number itself
    case QRN_UNARY_NEG:
        return "(long)(0ul - (ulong)x)";
    case QRN_UNARY_SIGN:
        return "(long)((x > 0) - (x < 0))";
    case QRN_UNARY_SQUARE:
        return "(long)((ulong)x * (ulong)x)";
    case QRN_UNARY_CEIL:
    case QRN_UNARY_FLOOR:
    case QRN_UNARY_ROUND:
        return "x";
    case QRN_UNARY_RELU:
        return "x < 0 ? 0 : x";
    case QRN_UNARY_TANH: // the double result, toward zero, is 1 where it has been rounded to 1
        return "x >= 20 ? 1 : x <= -20 ? -1 : 0";
    case QRN_UNARY_SIGMOID:
        return "x >= 37 ? 1 : 0";
    case QRN_UNARY_CLAMP:
        return "q_to_long(q_clamp((float)x, low, high), -0x7fffffffffffffffl - 1l, "
               "0x7fffffffffffffffl)";
    default:
        return NULL;
    }
}

const char *qrn_gpu_unary_formula(const qrn_unary_args *a, bool floats) {
    return floats ? unary_float(a) : unary_int(a);
}

const char *qrn_gpu_binary_formula(uint32_t op, bool floats) {
    static const char *const real[] = {[QRN_BINARY_ADD] = "x + y",
                                       [QRN_BINARY_SUB] = "x - y",
                                       [QRN_BINARY_MUL] = "x * y",
                                       [QRN_BINARY_DIV] = "x / y",
                                       [QRN_BINARY_FLOOR_DIV] = "floor(x / y)",
                                       [QRN_BINARY_FMOD] = "fmod(x, y)",
                                       [QRN_BINARY_MOD] = "q_mod(x, y)",
                                       [QRN_BINARY_MAX] = "q_max(x, y)",
                                       [QRN_BINARY_MIN] = "q_min(x, y)",
                                       [QRN_BINARY_POW] = "pow(x, y)",
                                       [QRN_BINARY_SQUARED_DIFFERENCE] = "(x - y) * (x - y)",
                                       [QRN_BINARY_PRELU] = "x >= 0.0f || isnan(x) ? x : x * y"};
    static const char *const whole[] = {
        [QRN_BINARY_ADD] = "(long)((ulong)x + (ulong)y)",
        [QRN_BINARY_SUB] = "(long)((ulong)x - (ulong)y)",
        [QRN_BINARY_MUL] = "(long)((ulong)x * (ulong)y)",
        [QRN_BINARY_DIV] = "q_idiv(x, y)",
        [QRN_BINARY_FLOOR_DIV] = "q_ifloordiv(x, y)",
        [QRN_BINARY_FMOD] = "q_ifmod(x, y)",
        [QRN_BINARY_MOD] = "q_imod(x, y)",
        [QRN_BINARY_MAX] = "max(x, y)",
        [QRN_BINARY_MIN] = "min(x, y)",
        [QRN_BINARY_POW] = "q_ipow(x, y)",
        [QRN_BINARY_SQUARED_DIFFERENCE] = "(long)(((ulong)x - (ulong)y) * ((ulong)x - (ulong)y))",
        [QRN_BINARY_PRELU] = "x >= 0 ? x : (long)((ulong)x * (ulong)y)"};
    static const char *const tests[] = {[QRN_COMPARE_EQ] = "x == y",
                                        [QRN_COMPARE_NE] = "x != y",
                                        [QRN_COMPARE_GT] = "x > y",
                                        [QRN_COMPARE_GE] = "x >= y",
                                        [QRN_COMPARE_LT] = "x < y",
                                        [QRN_COMPARE_LE] = "x <= y",
                                        [QRN_LOGICAL_AND] = "x != 0 && y != 0",
                                        [QRN_LOGICAL_OR] = "x != 0 || y != 0",
                                        [QRN_LOGICAL_XOR] = "(x != 0) != (y != 0)",
                                        [QRN_LOGICAL_NOT] = "x == 0"};
    if (op <= QRN_BINARY_PRELU)
        return floats ? real[op] : whole[op];
    return op <= QRN_LOGICAL_NOT ? tests[op] : NULL;
}
