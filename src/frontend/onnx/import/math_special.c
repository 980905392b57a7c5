// SPDX-License-Identifier: MIT
//
// Importers: functions that QNN does not have, from those it has, in float32. The forms are chosen
// so that the error stays a few units of the last place relative to the result, also near 0 and
// where a plain formula overflows or cancels; tests/frontend measures them.
#include "base/erf_fit.h"
#include "frontend/onnx/import/math.h"
#include "frontend/onnx/import/table.h"

#define ABS QNN_OP_ELEMENT_WISE_ABS
#define ADD QNN_OP_ELEMENT_WISE_ADD
#define SUB QNN_OP_ELEMENT_WISE_SUBTRACT
#define MUL QNN_OP_ELEMENT_WISE_MULTIPLY
#define DIV QNN_OP_ELEMENT_WISE_DIVIDE
#define EXP QNN_OP_ELEMENT_WISE_EXP
#define LOG QNN_OP_ELEMENT_WISE_LOG
#define SQRT QNN_OP_ELEMENT_WISE_SQUARE_ROOT
#define GREATER QNN_OP_ELEMENT_WISE_GREATER

#define LN2 0.69314718055994530942
#define LARGE 4096 // above it log(1 + x) is log(x) in float; twice as much is a half

static qc_tensor *num(ox_expr *e, double v) { return ox_constant(e, v); }
static qc_tensor *op1(ox_expr *e, const char *op, qc_tensor *x) { return ox_unary(e, op, x); }
static qc_tensor *op2(ox_expr *e, const char *op, qc_tensor *a, qc_tensor *b) {
    return ox_binary(e, op, a, b);
}

// The last op of a formula.
static qrn_status end2(ox_expr *e, const char *op, qc_tensor *a, qc_tensor *b) {
    ox_to_output(e);
    return ox_end_formula(e, ox_binary(e, op, a, b));
}

static qrn_status end_select(ox_expr *e, qc_tensor *c, qc_tensor *yes, qc_tensor *no) {
    ox_to_output(e);
    return ox_end_formula(e, ox_select(e, c, yes, no));
}

// log(1 + u). What 1 + u loses of u is made up for by the factor u / ((1 + u) - 1); it is 1 for
// large u, where it would be inf / inf in the end.
static qc_tensor *log1p_of(ox_expr *e, qc_tensor *u) {
    qc_tensor *one = num(e, 1);
    qc_tensor *log = op1(e, LOG, op2(e, ADD, u, one));
    qc_tensor *small = op2(e, QNN_OP_ELEMENT_WISE_MINIMUM, u, num(e, LARGE));
    qc_tensor *kept = op2(e, SUB, op2(e, ADD, small, one), one);
    qc_tensor *nothing = ox_compare(e, QNN_OP_ELEMENT_WISE_EQUAL, kept, num(e, 0));
    return ox_select(e, nothing, u, op2(e, MUL, log, op2(e, DIV, small, kept)));
}

// 2 atan(sqrt((1 - x) / (1 + x))): nothing cancels, and -1, where the quotient is infinite, gives
// pi.
static qrn_status import_acos(ox_import *im, const ox_node *n) {
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    qc_tensor *one = num(&e, 1);
    qc_tensor *ratio = op2(&e, DIV, op2(&e, SUB, one, x), op2(&e, ADD, x, one));
    qc_tensor *half = op1(&e, QNN_OP_ELEMENT_WISE_ATAN, op1(&e, SQRT, ratio));
    return end2(&e, MUL, half, num(&e, 2));
}

// With t = x - 1: log1p(t + sqrt(t) sqrt(t + 2)); log(x) + log(2) for large x.
static qrn_status import_acosh(ox_import *im, const ox_node *n) {
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    qc_tensor *t = op2(&e, SUB, x, num(&e, 1));
    qc_tensor *root = op2(&e, MUL, op1(&e, SQRT, t), op1(&e, SQRT, op2(&e, ADD, t, num(&e, 2))));
    qc_tensor *y = log1p_of(&e, op2(&e, ADD, t, root));
    qc_tensor *large = op2(&e, ADD, op1(&e, LOG, x), num(&e, LN2));
    return end_select(&e, ox_compare(&e, GREATER, x, num(&e, LARGE)), large, y);
}

// With a = |x|: log1p(a + a (a / (1 + sqrt(a^2 + 1)))); log(a) + log(2) for large a. The square is
// that of a / 32, which fp16 can hold as far as the formula goes.
static qrn_status import_asinh(ox_import *im, const ox_node *n) {
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    qc_tensor *a = op1(&e, ABS, x), *part = op2(&e, MUL, a, num(&e, 1. / 32)), *one = num(&e, 1);
    qc_tensor *sum = op2(&e, ADD, op2(&e, MUL, part, part), num(&e, 1. / 1024));
    qc_tensor *root = op2(&e, MUL, op1(&e, SQRT, sum), num(&e, 32));
    qc_tensor *more = op2(&e, MUL, a, op2(&e, DIV, a, op2(&e, ADD, root, one)));
    qc_tensor *y = log1p_of(&e, op2(&e, ADD, a, more));
    qc_tensor *large = op2(&e, ADD, op1(&e, LOG, a), num(&e, LN2));
    y = ox_select(&e, ox_compare(&e, GREATER, a, num(&e, LARGE)), large, y);
    return end2(&e, MUL, y, op1(&e, QNN_OP_ELEMENT_WISE_SIGN, x));
}

// (log1p(x) - log1p(-x)) / 2
static qrn_status import_atanh(ox_import *im, const ox_node *n) {
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    qc_tensor *minus = op1(&e, QNN_OP_ELEMENT_WISE_NEG, x);
    qc_tensor *y = op2(&e, SUB, log1p_of(&e, x), log1p_of(&e, minus));
    return end2(&e, MUL, y, num(&e, 0.5));
}

// With h = e^(x/2): h/2 h + 1/(2h) 1/h, which overflows only where the result does.
static qc_tensor *half_square(ox_expr *e, qc_tensor *x, double half) {
    qc_tensor *h = op1(e, EXP, op2(e, MUL, x, num(e, half)));
    return op2(e, MUL, op2(e, MUL, h, num(e, 0.5)), h);
}

static qrn_status import_cosh(ox_import *im, const ox_node *n) {
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    qc_tensor *up = half_square(&e, x, 0.5), *down = half_square(&e, x, -0.5);
    return end2(&e, ADD, up, down);
}

// tanh(x) cosh(x): nothing cancels near 0.
static qrn_status import_sinh(ox_import *im, const ox_node *n) {
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    qc_tensor *up = half_square(&e, x, 0.5), *down = half_square(&e, x, -0.5);
    qc_tensor *cosh = op2(&e, ADD, up, down);
    return end2(&e, MUL, op1(&e, QNN_OP_TANH, x), cosh);
}

static qrn_status import_tan(ox_import *im, const ox_node *n) {
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    qc_tensor *sin = op1(&e, QNN_OP_ELEMENT_WISE_SIN, x);
    return end2(&e, DIV, sin, op1(&e, QNN_OP_ELEMENT_WISE_COS, x));
}

// tanh(x P(x^2)).
static qrn_status import_erf(ox_import *im, const ox_node *n) {
    const double *p = qrn_erf_fit;
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    qc_tensor *square = op2(&e, MUL, x, x), *sum = num(&e, p[0]);
    for (size_t i = 1; i < sizeof qrn_erf_fit / sizeof qrn_erf_fit[0]; i++)
        sum = op2(&e, ADD, op2(&e, MUL, sum, square), num(&e, p[i]));
    qc_tensor *arg = op2(&e, MUL, sum, x);
    ox_to_output(&e);
    return ox_end_formula(&e, ox_unary(&e, QNN_OP_TANH, arg));
}

const ox_importer ox_import_math_special[] = {
    {"Acos", "", import_acos},   {"Acosh", "", import_acosh}, {"Asinh", "", import_asinh},
    {"Atanh", "", import_atanh}, {"Cosh", "", import_cosh},   {"Erf", "", import_erf},
    {"Sinh", "", import_sinh},   {"Tan", "", import_tan},     {0},
};
