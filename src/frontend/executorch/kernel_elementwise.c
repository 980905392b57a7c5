// SPDX-License-Identifier: MIT
//
// Operators that take one element of each input to one of the output, with broadcasting.
#include "frontend/executorch/kernel.h"

#include <math.h>
#include <string.h>

typedef enum how {
    ADD,
    SUB,
    RSUB,
    MUL,
    DIV,
    POW,
    MAXIMUM,
    MINIMUM,
    FMOD,
    REMAINDER,
    ATAN2,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE,
    AND,
    OR,
    XOR,
    RELU,
    SIGMOID,
    TANH,
    EXP,
    EXPM1,
    LOG,
    LOG1P,
    SQRT,
    RSQRT,
    RECIPROCAL,
    NEG,
    ABS,
    SIN,
    COS,
    TAN,
    ASIN,
    ACOS,
    ATAN,
    SINH,
    COSH,
    ASINH,
    ACOSH,
    ATANH,
    FLOOR,
    CEIL,
    ROUND,
    TRUNC,
    SIGN,
    ERF,
    GELU,
    NOT,
    BIT_NOT,
    ISNAN,
    ISINF,
    HARDTANH,
    CLAMP,
    LEAKY_RELU,
    ELU
} how;

static double of_doubles(int h, double a, double b) {
    switch (h) {
    case ADD:
        return a + b;
    case SUB:
        return a - b;
    case RSUB:
        return b - a;
    case MUL:
        return a * b;
    case DIV:
        return a / b;
    case POW:
        return pow(a, b);
    case MAXIMUM:
        return isnan(a) || a > b ? a : b;
    case MINIMUM:
        return isnan(a) || a < b ? a : b;
    case FMOD:
        return fmod(a, b);
    case REMAINDER: {
        double r = fmod(a, b);
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case ATAN2:
        return atan2(a, b);
    case EQ:
        return a == b;
    case NE:
        return a != b;
    case LT:
        return a < b;
    case LE:
        return a <= b;
    case GT:
        return a > b;
    case GE:
        return a >= b;
    case AND:
        return a != 0 && b != 0;
    case OR:
        return a != 0 || b != 0;
    default:
        return (a != 0) != (b != 0);
    }
}

// Sums and products of integers, exactly; everything else goes by way of double.
static int64_t of_ints(int h, int64_t a, int64_t b) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (h) {
    case ADD:
        return (int64_t)(x + y);
    case SUB:
        return (int64_t)(x - y);
    case RSUB:
        return (int64_t)(y - x);
    case MUL:
        return (int64_t)(x * y);
    case MAXIMUM:
        return a > b ? a : b;
    case MINIMUM:
        return a < b ? a : b;
    case EQ:
        return a == b;
    case NE:
        return a != b;
    case LT:
        return a < b;
    case LE:
        return a <= b;
    case GT:
        return a > b;
    case GE:
        return a >= b;
    default: {
        double d = of_doubles(h, (double)a, (double)b);
        return d >= -9.2e18 && d <= 9.2e18 ? (int64_t)d : 0;
    }
    }
}

// Functions of one number that the C library has.
static double (*const of_libm[])(double) = {
    [TANH] = tanh,   [EXP] = exp,         [EXPM1] = expm1, [LOG] = log,     [LOG1P] = log1p,
    [SQRT] = sqrt,   [ABS] = fabs,        [SIN] = sin,     [COS] = cos,     [TAN] = tan,
    [ASIN] = asin,   [ACOS] = acos,       [ATAN] = atan,   [SINH] = sinh,   [COSH] = cosh,
    [ASINH] = asinh, [ACOSH] = acosh,     [ATANH] = atanh, [FLOOR] = floor, [CEIL] = ceil,
    [TRUNC] = trunc, [ROUND] = nearbyint, [ERF] = erf,
};

static double of_one(int h, double a) {
    if ((size_t)h < sizeof of_libm / sizeof of_libm[0] && of_libm[h])
        return of_libm[h](a);
    switch (h) {
    case RELU:
        return a > 0 || isnan(a) ? a : 0;
    case SIGMOID:
        return 1 / (1 + exp(-a));
    case RSQRT:
        return 1 / sqrt(a);
    case RECIPROCAL:
        return 1 / a;
    case NEG:
        return -a;
    case SIGN:
        return a > 0 ? 1 : a < 0 ? -1 : a;
    case NOT:
        return a == 0;
    case ISNAN:
        return isnan(a);
    default:
        return isinf(a);
    }
}

// Wide integers lose bits on their way through double.
static bool exact(const et_tensor *a, const et_tensor *b) {
    return !et_is_float(a->def->type) && !et_is_float(b->def->type);
}

static double rounded(int mode, double v) {
    return mode == 0 ? v : mode == 1 ? trunc(v) : floor(v);
}

static qrn_status run_binary(et_call *c, int h, uint32_t out_at, double alpha, int mode) {
    const et_tensor *a = et_in(c, 0), *b = et_in(c, 1);
    et_tensor *out = et_out(c, out_at);
    uint32_t rank;
    int64_t sizes[ET_MAX_RANK];
    if (!a || !b || !out)
        return c->status;
    if (!et_broadcast(a, b, &rank, sizes))
        return et_refuse(c, "the shapes of its inputs do not fit together");
    if (!et_shape(c, out, rank, sizes))
        return c->status;
    et_walk w;
    et_walk_shape(&w, rank, sizes);
    et_walk_add(&w, out);
    et_walk_add(&w, a);
    et_walk_add(&w, b);
    bool ints =
        exact(a, b) && exact(a, out) && h != DIV && alpha == trunc(alpha) && fabs(alpha) < 9e18;
    bool once = alpha == 1;
    for (; w.left; et_walk_next(&w)) {
        if (ints) {
            int64_t y = et_get_int(b, w.at[2]);
            y = once ? y : (int64_t)((uint64_t)y * (uint64_t)(int64_t)alpha);
            et_set_int(out, w.at[0], of_ints(h, et_get_int(a, w.at[1]), y));
            continue;
        }
        double y = et_get(b, w.at[2]);
        double v = of_doubles(h, et_get(a, w.at[1]), once ? y : alpha * y);
        et_set(out, w.at[0], rounded(mode, v));
    }
    return QRN_OK;
}

static qrn_status run_scalar(et_call *c, int h, uint32_t out_at, double scalar, int mode) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out = et_out(c, out_at);
    if (!a || !out || !et_shape(c, out, a->rank, a->sizes))
        return c->status;
    if (a->def->type == ET_FLOAT)
        scalar = (float)scalar; // a number meets a tensor in the tensor's type
    et_walk w;
    et_walk_shape(&w, a->rank, a->sizes);
    et_walk_add(&w, out);
    et_walk_add(&w, a);
    bool ints = exact(a, out) && h != DIV && scalar == trunc(scalar) && fabs(scalar) < 9e18;
    for (; w.left; et_walk_next(&w)) {
        if (ints)
            et_set_int(out, w.at[0], of_ints(h, et_get_int(a, w.at[1]), (int64_t)scalar));
        else
            et_set(out, w.at[0], rounded(mode, of_doubles(h, et_get(a, w.at[1]), scalar)));
    }
    return QRN_OK;
}

static qrn_status binary(et_call *c, int h) { return run_binary(c, h, 2, 1, 0); }
static qrn_status binary_alpha(et_call *c, int h) {
    return run_binary(c, h, 3, et_number(c, 2), 0);
}
static qrn_status scalar(et_call *c, int h) { return run_scalar(c, h, 2, et_number(c, 1), 0); }
static qrn_status scalar_alpha(et_call *c, int h) {
    return run_scalar(c, h, 3, et_number(c, 1) * et_number(c, 2), 0);
}

static int rounding(et_call *c, uint32_t i) {
    const char *mode = et_text(c, i);
    if (!*mode)
        return 0;
    if (strcmp(mode, "trunc") != 0 && strcmp(mode, "floor") != 0)
        et_refuse(c, "rounding mode '%s', expected trunc or floor", mode);
    return strcmp(mode, "trunc") == 0 ? 1 : 2;
}

static qrn_status divide_mode(et_call *c, int h) { return run_binary(c, h, 3, 1, rounding(c, 2)); }
static qrn_status divide_scalar_mode(et_call *c, int h) {
    return run_scalar(c, h, 3, et_number(c, 1), rounding(c, 2));
}
static qrn_status floor_divide(et_call *c, int h) { return run_binary(c, h, 2, 1, 2); }

// Parameters of the activations that have some.
typedef struct bend {
    int how;
    double lo, hi, slope;
    bool tanh_form;
} bend;

static double bent(const bend *b, double a) {
    switch (b->how) {
    case HARDTANH:
    case CLAMP:
        a = a < b->lo ? b->lo : a;
        return a > b->hi ? b->hi : a;
    case LEAKY_RELU:
        return a > 0 ? a : a * b->slope;
    case ELU:
        return a > 0 ? a * b->hi : b->hi * b->slope * expm1(a * b->lo);
    case GELU:
        if (b->tanh_form)
            return 0.5 * a * (1 + tanh(0.7978845608028654 * (a + 0.044715 * a * a * a)));
        return 0.5 * a * (1 + erf(a * 0.7071067811865476));
    default:
        return of_one(b->how, a);
    }
}

static qrn_status run_unary(et_call *c, const bend *b, uint32_t out_at) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out = et_out(c, out_at);
    if (!a || !out || !et_shape(c, out, a->rank, a->sizes))
        return c->status;
    et_walk w;
    et_walk_shape(&w, a->rank, a->sizes);
    et_walk_add(&w, out);
    et_walk_add(&w, a);
    for (; w.left; et_walk_next(&w))
        et_set(out, w.at[0], bent(b, et_get(a, w.at[1])));
    return QRN_OK;
}

static qrn_status unary(et_call *c, int h) { return run_unary(c, &(bend){.how = h}, 1); }

static qrn_status gelu(et_call *c, int h) {
    bend b = {.how = h, .tanh_form = strcmp(et_text(c, 1), "tanh") == 0};
    return run_unary(c, &b, 2);
}

static qrn_status hardtanh(et_call *c, int h) {
    bend b = {.how = h, .lo = et_number(c, 1), .hi = et_number(c, 2)};
    return run_unary(c, &b, 3);
}

static qrn_status clamp(et_call *c, int h) {
    bend b = {.how = h,
              .lo = et_absent(c, 1) ? -HUGE_VAL : et_number(c, 1),
              .hi = et_absent(c, 2) ? HUGE_VAL : et_number(c, 2)};
    return run_unary(c, &b, 3);
}

static qrn_status leaky_relu(et_call *c, int h) {
    bend b = {.how = h, .slope = et_number(c, 1)};
    return run_unary(c, &b, 2);
}

static qrn_status elu(et_call *c, int h) {
    bend b = {.how = h, .slope = et_number(c, 1), .hi = et_number(c, 2), .lo = et_number(c, 3)};
    return run_unary(c, &b, 4);
}

static qrn_status bit_not(et_call *c, int h) {
    const et_tensor *a = et_in(c, 0);
    et_tensor *out = et_out(c, 1);
    (void)h;
    if (!a || !out || !et_same_type(c, a, out) || !et_shape(c, out, a->rank, a->sizes))
        return c->status;
    et_walk w;
    et_walk_shape(&w, a->rank, a->sizes);
    et_walk_add(&w, out);
    et_walk_add(&w, a);
    for (; w.left; et_walk_next(&w)) {
        int64_t v = et_get_int(a, w.at[1]);
        et_set_int(out, w.at[0], a->def->type == ET_BOOL ? !v : ~v);
    }
    return QRN_OK;
}

static qrn_status where(et_call *c, int h) {
    const et_tensor *cond = et_in(c, 0), *a = et_in(c, 1), *b = et_in(c, 2);
    et_tensor *out = et_out(c, 3);
    (void)h;
    if (!cond || !a || !b || !out)
        return c->status;
    et_tensor ab = {0};
    uint32_t rank;
    int64_t sizes[ET_MAX_RANK];
    bool fits = et_broadcast(a, b, &ab.rank, ab.sizes) && et_broadcast(cond, &ab, &rank, sizes);
    if (!fits)
        return et_refuse(c, "the shapes of its inputs do not fit together");
    if (!et_shape(c, out, rank, sizes))
        return c->status;
    et_walk w;
    et_walk_shape(&w, rank, sizes);
    et_walk_add(&w, out);
    et_walk_add(&w, cond);
    et_walk_add(&w, a);
    et_walk_add(&w, b);
    bool ints = exact(a, b) && exact(a, out);
    for (; w.left; et_walk_next(&w)) {
        bool first = et_get(cond, w.at[1]) != 0;
        const et_tensor *from = first ? a : b;
        int64_t at = first ? w.at[2] : w.at[3];
        if (ints)
            et_set_int(out, w.at[0], et_get_int(from, at));
        else
            et_set(out, w.at[0], et_get(from, at));
    }
    return QRN_OK;
}

// clang-format off
#define COMPARE(name, how) {"aten::" name ".Tensor_out", 3, binary, how}, \
                           {"aten::" name ".Scalar_out", 3, scalar, how}
#define UNARY(name, how) {"aten::" name ".out", 2, unary, how}

const et_kernel et_kernels_elementwise[] = {
    {"aten::add.out", 4, binary_alpha, ADD},
    {"aten::add.Scalar_out", 4, scalar_alpha, ADD},
    {"aten::sub.out", 4, binary_alpha, SUB},
    {"aten::sub.Scalar_out", 4, scalar_alpha, SUB},
    {"aten::mul.out", 3, binary, MUL},
    {"aten::mul.Scalar_out", 3, scalar, MUL},
    {"aten::div.out", 3, binary, DIV},
    {"aten::div.Scalar_out", 3, scalar, DIV},
    {"aten::div.out_mode", 4, divide_mode, DIV},
    {"aten::div.Scalar_mode_out", 4, divide_scalar_mode, DIV},
    {"aten::floor_divide.out", 3, floor_divide, DIV},
    {"aten::pow.Tensor_Tensor_out", 3, binary, POW},
    {"aten::pow.Tensor_Scalar_out", 3, scalar, POW},
    {"aten::maximum.out", 3, binary, MAXIMUM},
    {"aten::minimum.out", 3, binary, MINIMUM},
    {"aten::fmod.Tensor_out", 3, binary, FMOD},
    {"aten::fmod.Scalar_out", 3, scalar, FMOD},
    {"aten::remainder.Tensor_out", 3, binary, REMAINDER},
    {"aten::remainder.Scalar_out", 3, scalar, REMAINDER},
    {"aten::atan2.out", 3, binary, ATAN2},
    {"aten::logical_and.out", 3, binary, AND},
    {"aten::logical_or.out", 3, binary, OR},
    {"aten::logical_xor.out", 3, binary, XOR},
    COMPARE("eq", EQ), COMPARE("ne", NE), COMPARE("lt", LT),
    COMPARE("le", LE), COMPARE("gt", GT), COMPARE("ge", GE),
    UNARY("relu", RELU), UNARY("sigmoid", SIGMOID), UNARY("tanh", TANH), UNARY("exp", EXP),
    UNARY("expm1", EXPM1), UNARY("log", LOG), UNARY("log1p", LOG1P), UNARY("sqrt", SQRT),
    UNARY("rsqrt", RSQRT), UNARY("reciprocal", RECIPROCAL), UNARY("neg", NEG), UNARY("abs", ABS),
    UNARY("sin", SIN), UNARY("cos", COS), UNARY("tan", TAN), UNARY("asin", ASIN),
    UNARY("acos", ACOS), UNARY("atan", ATAN), UNARY("sinh", SINH), UNARY("cosh", COSH),
    UNARY("asinh", ASINH), UNARY("acosh", ACOSH), UNARY("atanh", ATANH), UNARY("floor", FLOOR),
    UNARY("ceil", CEIL), UNARY("round", ROUND), UNARY("trunc", TRUNC), UNARY("sign", SIGN),
    UNARY("erf", ERF), UNARY("logical_not", NOT), UNARY("isnan", ISNAN), UNARY("isinf", ISINF),
    {"aten::bitwise_not.out", 2, bit_not, BIT_NOT},
    {"aten::gelu.out", 3, gelu, GELU},
    {"aten::hardtanh.out", 4, hardtanh, HARDTANH},
    {"aten::clamp.out", 4, clamp, CLAMP},
    {"aten::leaky_relu.out", 3, leaky_relu, LEAKY_RELU},
    {"aten::elu.out", 5, elu, ELU},
    {"aten::where.self_out", 4, where, 0},
    {0},
};
