// SPDX-License-Identifier: MIT
//
// Lowering rows of the eltwise group: arithmetic, comparison, activations, selection, conversion.
// The combined ops (ElementWiseBinary, ...Unary, ...Neuron) share the families of the single ones.
// 8-bit operands of one-operand functions become look-up tables.
#include "compiler/lower/byte_table.h"
#include "compiler/lower/groups.h"
#include "compiler/lowering.h"
#include "ir/element_wise.h"
#include "kernels/element_io.h"
#include "kernels/convert.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/choose.h"
#include "kernels/eltwise/unary.h"
#include "kernels/move/join.h"
#include "kernels/quantize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// An op's name, or an enumerator of a combined op, and the family's code for it.
typedef struct code_of {
    const char *op;
    uint32_t code;
} code_of;

// Indexed by the `operation` of ElementWiseBinary; the ops without one follow.
static const code_of binary_codes[] = {
    [QRN_EW_BINARY_ADD] = {"ElementWiseAdd", QRN_BINARY_ADD},
    [QRN_EW_BINARY_AND] = {"ElementWiseAnd", QRN_LOGICAL_AND},
    [QRN_EW_BINARY_DIVIDE] = {"ElementWiseDivide", QRN_BINARY_DIV},
    [QRN_EW_BINARY_EQUAL] = {"ElementWiseEqual", QRN_COMPARE_EQ},
    [QRN_EW_BINARY_FLOOR_DIV] = {"ElementWiseFloorDiv", QRN_BINARY_FLOOR_DIV},
    [QRN_EW_BINARY_FMOD] = {"ElementWiseFmod", QRN_BINARY_FMOD},
    [QRN_EW_BINARY_GREATER] = {"ElementWiseGreater", QRN_COMPARE_GT},
    [QRN_EW_BINARY_GREATER_EQUAL] = {"ElementWiseGreaterEqual", QRN_COMPARE_GE},
    [QRN_EW_BINARY_LESS] = {"ElementWiseLess", QRN_COMPARE_LT},
    [QRN_EW_BINARY_LESS_EQUAL] = {"ElementWiseLessEqual", QRN_COMPARE_LE},
    [QRN_EW_BINARY_MAXIMUM] = {"ElementWiseMaximum", QRN_BINARY_MAX},
    [QRN_EW_BINARY_MINIMUM] = {"ElementWiseMinimum", QRN_BINARY_MIN},
    [QRN_EW_BINARY_MOD] = {"ElementWiseMod", QRN_BINARY_MOD},
    [QRN_EW_BINARY_MULTIPLY] = {"ElementWiseMultiply", QRN_BINARY_MUL},
    [QRN_EW_BINARY_NOT_EQUAL] = {"ElementWiseNotEqual", QRN_COMPARE_NE},
    [QRN_EW_BINARY_OR] = {"ElementWiseOr", QRN_LOGICAL_OR},
    [QRN_EW_BINARY_POWER] = {"ElementWisePower", QRN_BINARY_POW},
    [QRN_EW_BINARY_SQUARED_DIFFERENCE] = {"ElementWiseSquaredDifference",
                                          QRN_BINARY_SQUARED_DIFFERENCE},
    [QRN_EW_BINARY_SUBTRACT] = {"ElementWiseSubtract", QRN_BINARY_SUB},
    [QRN_EW_BINARY_XOR] = {"ElementWiseXor", QRN_LOGICAL_XOR},
    {"Prelu", QRN_BINARY_PRELU},
};

// Indexed by the `operation` of ElementWiseUnary, where NOT is a logical op; others follow.
#define NOT_UNARY UINT32_MAX
static const code_of unary_codes[] = {
    [QRN_EW_UNARY_ABS] = {"ElementWiseAbs", QRN_UNARY_ABS},
    [QRN_EW_UNARY_ASIN] = {"ElementWiseAsin", QRN_UNARY_ASIN},
    [QRN_EW_UNARY_ATAN] = {"ElementWiseAtan", QRN_UNARY_ATAN},
    [QRN_EW_UNARY_CEIL] = {"ElementWiseCeil", QRN_UNARY_CEIL},
    [QRN_EW_UNARY_COS] = {"ElementWiseCos", QRN_UNARY_COS},
    [QRN_EW_UNARY_EXP] = {"ElementWiseExp", QRN_UNARY_EXP},
    [QRN_EW_UNARY_FLOOR] = {"ElementWiseFloor", QRN_UNARY_FLOOR},
    [QRN_EW_UNARY_LOG] = {"ElementWiseLog", QRN_UNARY_LOG},
    [QRN_EW_UNARY_NEG] = {"ElementWiseNeg", QRN_UNARY_NEG},
    [QRN_EW_UNARY_NOT] = {"ElementWiseNot", NOT_UNARY},
    [QRN_EW_UNARY_RECIPROCAL] = {"", QRN_UNARY_RECIPROCAL},
    [QRN_EW_UNARY_ROUND] = {"ElementWiseRound", QRN_UNARY_ROUND},
    [QRN_EW_UNARY_RSQRT] = {"ElementWiseRsqrt", QRN_UNARY_RSQRT},
    [QRN_EW_UNARY_SIGN] = {"ElementWiseSign", QRN_UNARY_SIGN},
    [QRN_EW_UNARY_SIN] = {"ElementWiseSin", QRN_UNARY_SIN},
    [QRN_EW_UNARY_SQRT] = {"ElementWiseSquareRoot", QRN_UNARY_SQRT},
    {"Logit", QRN_UNARY_LOGIT},
    {"ReluMinMax", QRN_UNARY_CLAMP},
    {"Relu1", QRN_UNARY_CLAMP},
    {"Relu6", QRN_UNARY_CLAMP},
};

// Indexed by the `operation` of ElementWiseNeuron.
static const code_of neuron_codes[] = {
    [QRN_EW_NEURON_ELU] = {"Elu", QRN_UNARY_ELU},
    [QRN_EW_NEURON_GELU] = {"Gelu", QRN_UNARY_GELU},
    [QRN_EW_NEURON_HARD_SIGMOID] = {"", QRN_UNARY_HARD_SIGMOID},
    [QRN_EW_NEURON_HARD_SWISH] = {"HardSwish", QRN_UNARY_HARD_SWISH},
    [QRN_EW_NEURON_RELU] = {"Relu", QRN_UNARY_RELU},
    [QRN_EW_NEURON_RELU_MIN_MAX] = {"", QRN_UNARY_CLAMP},
    [QRN_EW_NEURON_SIGMOID] = {"Sigmoid", QRN_UNARY_SIGMOID},
    [QRN_EW_NEURON_SOFTPLUS] = {"ElementWiseSoftplus", QRN_UNARY_SOFTPLUS},
    [QRN_EW_NEURON_TANH] = {"Tanh", QRN_UNARY_TANH},
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static bool find_code(const code_of *list, size_t n, const char *op, uint32_t *code) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].op, op) == 0) {
            *code = list[i].code;
            return true;
        }
    return false;
}

static const qrn_lower_row arithmetic = {.emits = &qrn_cop_binary, .in = "r", .out = "r"};
static const qrn_lower_row comparison = {.emits = &qrn_cop_compare, .in = "r", .out = "x"};
static const qrn_lower_row logic = {.emits = &qrn_cop_logical, .in = "x", .out = "x"};
static const qrn_lower_row unary = {.emits = &qrn_cop_unary, .in = "r", .out = "r"};

static qrn_view static_view(const qrn_tensor *t) {
    qrn_view v = {.data = (void *)(uintptr_t)t->data,
                  .quant = &t->quant,
                  .dtype = t->dtype,
                  .rank = t->shape.rank};
    memcpy(v.dims, t->shape.dims, sizeof v.dims);
    return v;
}

// x to a constant power of 2 is a multiplication; the operand that stays is the node's first.
static bool is_square(const qrn_node *n, uint32_t code) {
    const qrn_tensor *b = n->in[1];
    size_t count;
    if (code != QRN_BINARY_POW || !qrn_tensor_is_static(b) || b->updateable || !b->data ||
        !qrn_shape_count(&b->shape, &count) || count != 1 || b->shape.rank > n->in[0]->shape.rank)
        return false;
    qrn_view v = static_view(b);
    return (float)qrn_view_real(&v, 0) == 2.0f; // as the kernel reads an exponent
}

static qrn_status lower_square(qrn_lowering *lo, const qrn_node *n) {
    qrn_node first = *n;
    first.n_in = 1;
    qrn_unary_args args = {.op = QRN_UNARY_SQUARE};
    return qrn_lo_generic(lo, &unary, &first, &args);
}

static bool raw_format(const qrn_tensor *t) {
    qrn_view v = {.dtype = t->dtype, .quant = &t->quant};
    return qrn_io_supports(&v);
}

static bool is_steady(const qrn_tensor *t) {
    return (t->dtype == QRN_DTYPE_UQ16 || t->dtype == QRN_DTYPE_SQ16) && !t->updateable &&
           t->format == QRN_FORMAT_DENSE && !t->has_dynamic && raw_format(t) &&
           t->quant.shift == 0.0f && t->quant.scale > 0x1p-100f && t->quant.scale < 0x1p100f &&
           abs(t->quant.offset) <= 65536;
}

// Is the node a product or quotient of 16-bit values and a number that leaves all of them as they
// are, since the scale of the result follows the number? Attention divides its scores so.
static bool only_scales(const qrn_node *n, uint32_t code) {
    const qrn_tensor *x = n->in[0], *c = n->in[1], *y = n->out[0];
    size_t count;
    if ((code != QRN_BINARY_MUL && code != QRN_BINARY_DIV) || !is_steady(x) || !is_steady(y) ||
        x->dtype != y->dtype || x->quant.offset != y->quant.offset || !qrn_tensor_is_static(c) ||
        c->updateable || !c->data || !qrn_shape_count(&c->shape, &count) || count != 1 ||
        c->shape.rank > x->shape.rank)
        return false;
    qrn_view v = static_view(c);
    double real = qrn_view_real(&v, 0), ratio = (double)x->quant.scale / (double)y->quant.scale;
    ratio = code == QRN_BINARY_MUL ? ratio * real : ratio / real;
    // No value is more than 2^17 steps from 0: results are within a quarter of a step.
    return fabs(ratio - 1.0) * 0x1p17 < 0.25;
}

static qrn_status lower_scaling(qrn_lowering *lo, const qrn_node *n) {
    qrn_val in, out;
    QRN_TRY(qrn_lo_tensor(lo, n->in[0], &in));
    QRN_TRY(qrn_lo_tensor(lo, n->out[0], &out));
    return qrn_lo_step(lo, &qrn_cop_cast, QRN_DOMAIN_RAW, NULL, &in, 1, &out, 1, 0);
}

// One step on the tensors as they are.
static qrn_status binary_step(qrn_lowering *lo, const qrn_node *n, const qrn_cop *family,
                              const qrn_binary_args *args) {
    qrn_val ins[2], out;
    QRN_TRY(qrn_lo_tensor(lo, n->in[0], &ins[0]));
    QRN_TRY(qrn_lo_tensor(lo, n->in[1], &ins[1]));
    QRN_TRY(qrn_lo_tensor(lo, n->out[0], &out));
    return qrn_lo_step(lo, family, QRN_DOMAIN_RAW, args, ins, 2, &out, 1, 0);
}

// Operands in common formats, not all of them f32.
static bool all_raw(const qrn_node *n) {
    bool all_f32 = n->in[0]->dtype == QRN_DTYPE_F32 && n->in[1]->dtype == QRN_DTYPE_F32 &&
                   n->out[0]->dtype == QRN_DTYPE_F32;
    return !all_f32 && raw_format(n->in[0]) && raw_format(n->in[1]) && raw_format(n->out[0]);
}

// Two tensors of one plain 32-bit type. A binder that fuses has integers of one width in all steps.
static bool same_words(const qrn_lowering *lo, const qrn_tensor *a, const qrn_tensor *b) {
    bool word = a->dtype == QRN_DTYPE_I32 || a->dtype == QRN_DTYPE_U32;
    return word && a->dtype == b->dtype && !lo->opt->binder_fuses;
}

// Slopes for the indices of dimension 1 get the dimensions behind it.
static qrn_status lower_prelu_by_channel(qrn_lowering *lo, const qrn_node *n) {
    const qrn_tensor *x = n->in[0], *alpha = n->in[1];
    const qrn_binary_args args = {QRN_BINARY_PRELU};
    bool all_f32 = x->dtype == QRN_DTYPE_F32 && alpha->dtype == QRN_DTYPE_F32 &&
                   n->out[0]->dtype == QRN_DTYPE_F32;
    if (!all_f32 && (!raw_format(x) || !raw_format(alpha) || !raw_format(n->out[0])))
        return QRN_FAIL(QRN_E_FINALIZE,
                        "node '%s': slopes for dimension 1 need one scale for all of them",
                        n->name);
    qrn_val ins[2], out, given;
    qrn_shape shape = {.rank = x->shape.rank - 1, .dims = {alpha->shape.dims[0]}};
    for (uint32_t i = 1; i < shape.rank; i++)
        shape.dims[i] = 1;
    QRN_TRY(qrn_lo_tensor(lo, x, &ins[0]));
    QRN_TRY(qrn_lo_tensor(lo, alpha, &given));
    QRN_TRY(qrn_lo_tensor(lo, n->out[0], &out));
    QRN_TRY(qrn_lo_temp(lo, alpha->dtype, &shape, &alpha->quant, &ins[1]));
    QRN_TRY(qrn_lo_step(lo, &qrn_cop_copy, QRN_DOMAIN_RAW, NULL, &given, 1, &ins[1], 1, 0));
    return qrn_lo_step(lo, &qrn_cop_binary, all_f32 ? QRN_DOMAIN_F32 : QRN_DOMAIN_RAW, &args, ins,
                       2, &out, 1, 0);
}

static qrn_status lower_binary(qrn_lowering *lo, const qrn_node *n) {
    qrn_binary_args args;
    if (!find_code(binary_codes, COUNT(binary_codes), n->type, &args.op))
        args.op = binary_codes[qrn_node_u32(n, "operation", 0)].code;
    if (args.op >= QRN_LOGICAL_AND)
        return qrn_lo_generic(lo, &logic, n, &args);
    bool words = same_words(lo, n->in[0], n->in[1]);
    if (args.op >= QRN_COMPARE_EQ)
        return words ? binary_step(lo, n, &qrn_cop_compare, &args)
                     : qrn_lo_generic(lo, &comparison, n, &args);
    for (uint32_t x = 0; x < 2; x++) {
        qrn_status s = qrn_lower_byte_table(lo, n, x, &qrn_cop_binary, &args);
        if (s != QRN_E_UNSUPPORTED)
            return s;
    }
    if (is_square(n, args.op))
        return lower_square(lo, n);
    if (only_scales(n, args.op))
        return lower_scaling(lo, n);
    if (all_raw(n) || (words && same_words(lo, n->in[0], n->out[0])))
        return binary_step(lo, n, &qrn_cop_binary, &args);
    return qrn_lo_generic(lo, &arithmetic, n, &args);
}

static qrn_status lower_prelu(qrn_lowering *lo, const qrn_node *n) {
    return qrn_prelu_by_channel(&n->in[0]->shape, &n->in[1]->shape) ? lower_prelu_by_channel(lo, n)
                                                                    : lower_binary(lo, n);
}

static void unary_args(const qrn_node *n, qrn_unary_args *a) {
    bool is_relu1 = strcmp(n->type, "Relu1") == 0;
    a->alpha = qrn_node_f32(n, "alpha", a->op == QRN_UNARY_HARD_SIGMOID ? 0.2f : 1.0f);
    a->beta = qrn_node_f32(n, "beta", a->op == QRN_UNARY_HARD_SIGMOID ? 0.5f : 1.0f);
    a->low = qrn_node_f32(n, "min_value", is_relu1 ? -1.0f : 0.0f);
    a->high = qrn_node_f32(n, "max_value", is_relu1 ? 1.0f : 6.0f);
    if (a->low > a->high) // everything is the upper limit
        a->low = a->high;
    a->threshold = qrn_node_f32(n, "threshold", -1.0f);
}

// 16-bit values whose negation is 0 less them, a step on the values as they are: a table of 65,536
// results takes more memory and time.
static bool is_16_bit_negation(const qrn_node *n, uint32_t code) {
    const qrn_tensor *x = n->in[0], *y = n->out[0];
    return code == QRN_UNARY_NEG && is_steady(x) && is_steady(y) && x->dtype == QRN_DTYPE_UQ16 &&
           x->quant.offset >= -65535 && x->quant.offset <= 0;
}

static qrn_status lower_negation(qrn_lowering *lo, const qrn_node *n) {
    const qrn_tensor *x = n->in[0];
    const qrn_shape one = {.rank = 1, .dims = {1}};
    const qrn_binary_args args = {QRN_BINARY_SUB};
    qrn_val ins[2], out;
    void *zero;
    QRN_TRY(qrn_lo_const(lo, x->dtype, &one, &x->quant, &ins[0], &zero));
    *(uint16_t *)zero = (uint16_t)-x->quant.offset;
    QRN_TRY(qrn_lo_tensor(lo, x, &ins[1]));
    QRN_TRY(qrn_lo_tensor(lo, n->out[0], &out));
    return qrn_lo_step(lo, &qrn_cop_binary, QRN_DOMAIN_RAW, &args, ins, 2, &out, 1, 0);
}

static qrn_status lower_unary(qrn_lowering *lo, const qrn_node *n) {
    qrn_unary_args args;
    if (!find_code(unary_codes, COUNT(unary_codes), n->type, &args.op) &&
        !find_code(neuron_codes, COUNT(neuron_codes), n->type, &args.op)) {
        bool neuron = strcmp(n->type, "ElementWiseNeuron") == 0;
        args.op = (neuron ? neuron_codes : unary_codes)[qrn_node_u32(n, "operation", 0)].code;
    }
    if (args.op == NOT_UNARY) {
        qrn_binary_args not = {QRN_LOGICAL_NOT};
        return qrn_lo_generic(lo, &logic, n, &not );
    }
    if (is_16_bit_negation(n, args.op) && n->in[0]->shape.rank > 0)
        return lower_negation(lo, n);
    unary_args(n, &args);
    qrn_status s = qrn_lower_byte_table(lo, n, 0, &qrn_cop_unary, &args);
    return s == QRN_E_UNSUPPORTED ? qrn_lo_generic(lo, &unary, n, &args) : s;
}

static qrn_status is_inf_args(const qrn_node *n, void *args) {
    qrn_float_test_args *a = args;
    a->plus_inf = qrn_node_bool(n, "detect_positive", true);
    a->minus_inf = qrn_node_bool(n, "detect_negative", true);
    return QRN_OK;
}

static qrn_status is_nan_args(const qrn_node *n, void *args) {
    (void)n;
    ((qrn_float_test_args *)args)->nan = true;
    return QRN_OK;
}

// One conversion step on the tensors as they are, 4-bit ones included.
static qrn_status convert_step(qrn_lowering *lo, const qrn_node *n, const qrn_cop *family) {
    qrn_val in, out;
    QRN_TRY(qrn_lo_tensor(lo, n->in[0], &in));
    QRN_TRY(qrn_lo_tensor(lo, n->out[0], &out));
    return qrn_lo_step(lo, family, QRN_DOMAIN_RAW, NULL, &in, 1, &out, 1, 0);
}

static qrn_status lower_cast(qrn_lowering *lo, const qrn_node *n) {
    return convert_step(lo, n, &qrn_cop_cast);
}

static qrn_status lower_convert(qrn_lowering *lo, const qrn_node *n) {
    const qrn_tensor *x = n->in[0], *y = n->out[0];
    qrn_dtype t = x->dtype;
    bool is_float = t == QRN_DTYPE_F16 || t == QRN_DTYPE_F32 || t == QRN_DTYPE_F64;
    if (lo->opt->round_half_away && is_float && qrn_dtype_is_fixed(y->dtype) && raw_format(y) &&
        y->quant.shift == 0.0f)
        return convert_step(lo, n, &qrn_cop_quantize);
    qrn_status s = qrn_lower_byte_convert(lo, n);
    return s == QRN_E_UNSUPPORTED ? convert_step(lo, n, &qrn_cop_convert) : s;
}

// clang-format off
const qrn_lower_row qrn_lower_eltwise[] = {
    {.op = "Cast", .custom = lower_cast},
    {.op = "Convert", .custom = lower_convert},
    {.op = "Dequantize", .custom = lower_convert},
    {.op = "ElementWiseAbs", .custom = lower_unary},
    {.op = "ElementWiseAdd", .custom = lower_binary},
    {.op = "ElementWiseAnd", .custom = lower_binary},
    {.op = "ElementWiseAsin", .custom = lower_unary},
    {.op = "ElementWiseAtan", .custom = lower_unary},
    {.op = "ElementWiseBinary", .custom = lower_binary},
    {.op = "ElementWiseCeil", .custom = lower_unary},
    {.op = "ElementWiseCos", .custom = lower_unary},
    {.op = "ElementWiseDivide", .custom = lower_binary},
    {.op = "ElementWiseEqual", .custom = lower_binary},
    {.op = "ElementWiseExp", .custom = lower_unary},
    {.op = "ElementWiseFloor", .custom = lower_unary},
    {.op = "ElementWiseFloorDiv", .custom = lower_binary},
    {.op = "ElementWiseFmod", .custom = lower_binary},
    {.op = "ElementWiseGreater", .custom = lower_binary},
    {.op = "ElementWiseGreaterEqual", .custom = lower_binary},
    {.op = "ElementWiseLess", .custom = lower_binary},
    {.op = "ElementWiseLessEqual", .custom = lower_binary},
    {.op = "ElementWiseLog", .custom = lower_unary},
    {.op = "ElementWiseMaximum", .custom = lower_binary},
    {.op = "ElementWiseMinimum", .custom = lower_binary},
    {.op = "ElementWiseMod", .custom = lower_binary},
    {.op = "ElementWiseMultiply", .custom = lower_binary},
    {.op = "ElementWiseMux", .emits = &qrn_cop_mux, .in = "xm", .out = "m"},
    {.op = "ElementWiseNeg", .custom = lower_unary},
    {.op = "ElementWiseNeuron", .custom = lower_unary},
    {.op = "ElementWiseNot", .custom = lower_unary},
    {.op = "ElementWiseNotEqual", .custom = lower_binary},
    {.op = "ElementWiseOr", .custom = lower_binary},
    {.op = "ElementWisePower", .custom = lower_binary},
    {.op = "ElementWiseRound", .custom = lower_unary},
    {.op = "ElementWiseRsqrt", .custom = lower_unary},
    {.op = "ElementWiseSelect", .emits = &qrn_cop_select, .in = "xm", .out = "m"},
    {.op = "ElementWiseSign", .custom = lower_unary},
    {.op = "ElementWiseSin", .custom = lower_unary},
    {.op = "ElementWiseSoftplus", .custom = lower_unary},
    {.op = "ElementWiseSquareRoot", .custom = lower_unary},
    {.op = "ElementWiseSquaredDifference", .custom = lower_binary},
    {.op = "ElementWiseSubtract", .custom = lower_binary},
    {.op = "ElementWiseUnary", .custom = lower_unary},
    {.op = "ElementWiseXor", .custom = lower_binary},
    {.op = "Elu", .custom = lower_unary},
    {.op = "Gelu", .custom = lower_unary},
    {.op = "HardSwish", .custom = lower_unary},
    {.op = "IsInf", .emits = &qrn_cop_float_test, .in = "r", .out = "x", .args = is_inf_args},
    {.op = "IsNan", .emits = &qrn_cop_float_test, .in = "r", .out = "x", .args = is_nan_args},
    {.op = "Logit", .custom = lower_unary},
    {.op = "Prelu", .custom = lower_prelu},
    {.op = "Quantize", .custom = lower_convert},
    {.op = "Relu", .custom = lower_unary},
    {.op = "Relu1", .custom = lower_unary},
    {.op = "Relu6", .custom = lower_unary},
    {.op = "ReluMinMax", .custom = lower_unary},
    {.op = "Sigmoid", .custom = lower_unary},
    {.op = "Tanh", .custom = lower_unary},
    {0},
};
// clang-format on
