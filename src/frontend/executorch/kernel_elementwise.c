// SPDX-License-Identifier: MIT
//
// Operators that take one element of each input to one of the output, with broadcasting.
#include "frontend/executorch/kernel.h"

#include "reference/elementwise.h"

#include <math.h>
#include <string.h>

static qrn_status finish(et_call *c, qrn_map *m, qrn_op op, qrn_nd *x, uint32_t n,
                         uint32_t out_at) {
    size_t dims[QRN_ND_RANK];
    uint32_t rank = 0;
    for (uint32_t k = 0; k < n; k++)
        if (c->status == QRN_OK && !qrn_nd_join(&rank, dims, &x[k]))
            et_refuse(c, "the shapes of its inputs do not fit together");
    qrn_nd y = et_result(c, out_at, rank, dims);
    if (c->status == QRN_OK && m)
        qrn_nd_map(m, &y, x, n);
    else if (c->status == QRN_OK)
        qrn_nd_apply(op, &y, x, n, QRN_CAST_WRAP);
    return c->status;
}

// A function of this file; numbers are floats unless it says otherwise.
static qrn_status run(et_call *c, qrn_map m, qrn_nd *x, uint32_t n, uint32_t out_at) {
    m.arity = n;
    m.rule = QRN_CAST_WRAP;
    return finish(c, &m, 0, x, n, out_at);
}

// --- Two operands

static qrn_status binary(et_call *c, int op) {
    qrn_nd x[] = {et_in(c, 0), et_in(c, 1)};
    return finish(c, NULL, (qrn_op)op, x, 2, 2);
}

static qrn_status scalar(et_call *c, int op) {
    qrn_num room;
    qrn_nd x[2] = {et_in(c, 0)};
    x[1] = et_number_like(c, et_number(c, 1), &x[0], &room);
    return finish(c, NULL, (qrn_op)op, x, 2, 2);
}

// a + alpha b
static void add_scaled(const qrn_map *m, qrn_num *y, qrn_num *const *x, size_t n) {
    double alpha = *(const double *)m->context;
    for (size_t i = 0; i < n; i++)
        if (m->domain == QRN_KIND_FLOAT)
            y[i].f = x[0][i].f + alpha * x[1][i].f;
        else
            y[i].u = x[0][i].u + (uint64_t)(int64_t)alpha * x[1][i].u;
}

static qrn_status add_by(et_call *c, qrn_nd *x, double alpha) {
    qrn_map m = {.fn = add_scaled, .context = &alpha};
    const et_item *out = &c->method->values[c->args[3]];
    bool floats = out->kind == ET_KIND_TENSOR &&
                  qrn_kind_of(et_type_dtype(out->tensor->def->type)) == QRN_KIND_FLOAT;
    if (!floats && alpha == trunc(alpha) && fabs(alpha) < 9e18)
        m.domain = m.result = qrn_nd_domain(&x[0], x, 2);
    return run(c, m, x, 2, 3);
}

static qrn_status add(et_call *c, int sign) {
    qrn_nd x[] = {et_in(c, 0), et_in(c, 1)};
    return add_by(c, x, sign * et_number(c, 2));
}

static qrn_status add_scalar(et_call *c, int sign) {
    qrn_num room;
    qrn_nd x[2] = {et_in(c, 0)};
    x[1] = et_number_like(c, et_number(c, 1) * et_number(c, 2), &x[0], &room);
    return add_by(c, x, sign);
}

enum { BY_TENSOR, BY_NUMBER, WITH_MODE, FLOORED = 4 };

static void divide_rounded(const qrn_map *m, qrn_num *y, qrn_num *const *x, size_t n) {
    char mode = *(const char *)m->context;
    for (size_t i = 0; i < n; i++) {
        double v = x[0][i].f / x[1][i].f;
        y[i].f = mode == 'f' ? floor(v) : mode == 't' ? trunc(v) : v;
    }
}

static qrn_status divide(et_call *c, int how) {
    const char *mode = how & WITH_MODE ? et_text(c, 2) : how & FLOORED ? "floor" : "";
    qrn_num room;
    qrn_nd x[2] = {et_in(c, 0)};
    x[1] = how & BY_NUMBER ? et_number_like(c, et_number(c, 1), &x[0], &room) : et_in(c, 1);
    if (*mode && strcmp(mode, "trunc") != 0 && strcmp(mode, "floor") != 0)
        et_refuse(c, "rounding mode '%s', expected trunc or floor", mode);
    return run(c, (qrn_map){.fn = divide_rounded, .context = mode}, x, 2, how & WITH_MODE ? 3 : 2);
}

// --- One operand

static qrn_status unary(et_call *c, int op) {
    qrn_nd x = et_in(c, 0);
    return finish(c, NULL, (qrn_op)op, &x, 1, 1);
}

static qrn_status relu(et_call *c, int how) {
    qrn_num room;
    qrn_nd x[2] = {et_in(c, 0)};
    (void)how;
    x[1] = et_number_like(c, 0, &x[0], &room);
    return finish(c, NULL, QRN_OP_MAX, x, 2, 1);
}

static qrn_status bit_not(et_call *c, int how) {
    qrn_nd x = et_in(c, 0), y = et_result(c, 1, x.rank, x.dims);
    (void)how;
    if (!et_same_type(c, &x, &y) || x.kind == QRN_KIND_FLOAT)
        return et_refuse(c, "bits of type %s", et_type_name((unsigned)x.type));
    qrn_op op = x.dtype == QRN_DTYPE_B8 ? QRN_OP_NOT : QRN_OP_BIT_NOT;
    qrn_nd_apply(op, &y, &x, 1, QRN_CAST_WRAP);
    return QRN_OK;
}

// Activations with parameters.
typedef enum bend_how { CLAMP, LEAKY_RELU, ELU, GELU, GELU_TANH } bend_how;
typedef struct bend {
    bend_how how;
    double lo, hi, slope;
} bend;

static double bent(const bend *b, double a) {
    switch (b->how) {
    case CLAMP:
        a = a < b->lo ? b->lo : a;
        return a > b->hi ? b->hi : a;
    case LEAKY_RELU:
        return a > 0 ? a : a * b->slope;
    case ELU:
        return a > 0 ? a * b->hi : b->hi * b->slope * expm1(a * b->lo);
    case GELU_TANH:
        return 0.5 * a * (1 + tanh(0.7978845608028654 * (a + 0.044715 * a * a * a)));
    default:
        return 0.5 * a * (1 + erf(a * 0.7071067811865476));
    }
}

static void bend_all(const qrn_map *m, qrn_num *y, qrn_num *const *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i].f = bent(m->context, x[0][i].f);
}

static qrn_status run_bend(et_call *c, const bend *b, uint32_t out_at) {
    qrn_nd x = et_in(c, 0);
    return run(c, (qrn_map){.fn = bend_all, .context = b}, &x, 1, out_at);
}

static qrn_status gelu(et_call *c, int how) {
    (void)how;
    return run_bend(c, &(bend){.how = strcmp(et_text(c, 1), "tanh") == 0 ? GELU_TANH : GELU}, 2);
}

static qrn_status clamp(et_call *c, int how) {
    bend b = {.how = (bend_how)how,
              .lo = et_absent(c, 1) ? -HUGE_VAL : et_number(c, 1),
              .hi = et_absent(c, 2) ? HUGE_VAL : et_number(c, 2)};
    return run_bend(c, &b, 3);
}

static qrn_status leaky_relu(et_call *c, int how) {
    return run_bend(c, &(bend){.how = (bend_how)how, .slope = et_number(c, 1)}, 2);
}

static qrn_status elu(et_call *c, int how) {
    bend b = {.how = (bend_how)how,
              .slope = et_number(c, 1),
              .hi = et_number(c, 2),
              .lo = et_number(c, 3)};
    return run_bend(c, &b, 4);
}

static qrn_status where(et_call *c, int op) {
    qrn_nd x[] = {et_in(c, 0), et_in(c, 1), et_in(c, 2)};
    return finish(c, NULL, (qrn_op)op, x, 3, 3);
}

// clang-format off
#define BINARY(name, op) {"aten::" name ".out", 3, binary, QRN_OP_##op}
#define BOTH(name, op) {"aten::" name ".Tensor_out", 3, binary, QRN_OP_##op}, \
                       {"aten::" name ".Scalar_out", 3, scalar, QRN_OP_##op}
#define UNARY(name, op) {"aten::" name ".out", 2, unary, QRN_OP_##op}

const et_kernel et_kernels_elementwise[] = {
    {"aten::add.out", 4, add, 1},
    {"aten::add.Scalar_out", 4, add_scalar, 1},
    {"aten::sub.out", 4, add, -1},
    {"aten::sub.Scalar_out", 4, add_scalar, -1},
    {"aten::mul.out", 3, binary, QRN_OP_MUL},
    {"aten::mul.Scalar_out", 3, scalar, QRN_OP_MUL},
    {"aten::div.out", 3, divide, BY_TENSOR},
    {"aten::div.Scalar_out", 3, divide, BY_NUMBER},
    {"aten::div.out_mode", 4, divide, WITH_MODE},
    {"aten::div.Scalar_mode_out", 4, divide, BY_NUMBER | WITH_MODE},
    {"aten::floor_divide.out", 3, divide, FLOORED},
    {"aten::pow.Tensor_Tensor_out", 3, binary, QRN_OP_POW},
    {"aten::pow.Tensor_Scalar_out", 3, scalar, QRN_OP_POW},
    BOTH("fmod", FMOD), BOTH("remainder", REMAINDER), BOTH("eq", EQ), BOTH("ne", NE),
    BOTH("lt", LT), BOTH("le", LE), BOTH("gt", GT), BOTH("ge", GE),
    BINARY("maximum", MAX), BINARY("minimum", MIN), BINARY("atan2", ATAN2),
    BINARY("logical_and", AND), BINARY("logical_or", OR), BINARY("logical_xor", XOR),
    UNARY("sigmoid", SIGMOID), UNARY("tanh", TANH), UNARY("exp", EXP), UNARY("expm1", EXPM1),
    UNARY("log", LOG), UNARY("log1p", LOG1P), UNARY("sqrt", SQRT), UNARY("rsqrt", RSQRT),
    UNARY("reciprocal", RECIPROCAL), UNARY("neg", NEG), UNARY("abs", ABS), UNARY("sin", SIN),
    UNARY("cos", COS), UNARY("tan", TAN), UNARY("asin", ASIN), UNARY("acos", ACOS),
    UNARY("atan", ATAN), UNARY("sinh", SINH), UNARY("cosh", COSH), UNARY("asinh", ASINH),
    UNARY("acosh", ACOSH), UNARY("atanh", ATANH), UNARY("floor", FLOOR), UNARY("ceil", CEIL),
    UNARY("round", ROUND), UNARY("trunc", TRUNC), UNARY("sign", SIGN), UNARY("erf", ERF),
    UNARY("logical_not", NOT), UNARY("isnan", IS_NAN), UNARY("isinf", IS_INF),
    {"aten::relu.out", 2, relu, 0},
    {"aten::bitwise_not.out", 2, bit_not, 0},
    {"aten::gelu.out", 3, gelu, 0},
    {"aten::hardtanh.out", 4, clamp, CLAMP},
    {"aten::clamp.out", 4, clamp, CLAMP},
    {"aten::leaky_relu.out", 3, leaky_relu, LEAKY_RELU},
    {"aten::elu.out", 5, elu, ELU},
    {"aten::where.self_out", 4, where, QRN_OP_SELECT},
    {0},
};
