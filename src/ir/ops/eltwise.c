// SPDX-License-Identifier: MIT
//
// Op table: element-wise ops, activations and type conversions.
// Rows in alphabetical order, their shape rules above them.
#include "ir/element_wise.h"
#include "ir/ops/row.h"

#include <math.h>

#define BYTES (UQ8 | SQ8 | U8 | B8) // types of truth values

static bool has_type(const qrn_tensor *t, qrn_dtype_mask types) {
    return types & ((qrn_dtype_mask)1 << t->dtype);
}

// Reals (float, fixed point) and plain integers do not mix in arithmetic: an integer operand of a
// real op is most likely a mistake. Float and fixed point may mix.
static qrn_status same_kind(const qrn_op_call *c, const qrn_tensor *a, const qrn_tensor *b) {
    if (qrn_dtype_is_int(a->dtype) == qrn_dtype_is_int(b->dtype))
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_DTYPE,
                       "tensor '%s' has data type %s, which does not go with %s of tensor '%s'",
                       b->name ? b->name : "", qrn_dtypes[b->dtype].token,
                       qrn_dtypes[a->dtype].token, a->name ? a->name : "");
}

// All tensors dense, or all sparse.
static qrn_status same_format(const qrn_op_call *c) {
    for (uint32_t i = 0; i < c->n_in; i++)
        if (c->in[i] && qrn_tensor_is_sparse(c->in[i]) != qrn_tensor_is_sparse(c->out[0]))
            return qrn_op_fail(c, QRN_E_TENSOR_UNSUPPORTED,
                               "input %u and output 0: one is sparse, the other dense", i);
    return QRN_OK;
}

static qrn_status only_types(const qrn_op_call *c, const qrn_tensor *t, qrn_dtype_mask types) {
    char list[192];
    if (has_type(t, types))
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_DTYPE, "tensor '%s': data type %s, allowed for this operation: %s",
                       t->name ? t->name : "", qrn_dtypes[t->dtype].token,
                       qrn_dtype_mask_text(types, list, sizeof list));
}

static qrn_status rule_unary(const qrn_op_call *c) {
    QRN_TRY(same_kind(c, c->in[0], c->out[0]));
    QRN_TRY(same_format(c));
    return qrn_rule_same_shape(c);
}

static qrn_status rule_arithmetic(const qrn_op_call *c) {
    QRN_TRY(same_kind(c, c->in[0], c->in[1]));
    QRN_TRY(same_kind(c, c->in[0], c->out[0]));
    QRN_TRY(same_format(c));
    return qrn_rule_broadcast(c);
}

// The exponent may be of any type.
static qrn_status rule_power(const qrn_op_call *c) {
    QRN_TRY(same_kind(c, c->in[0], c->out[0]));
    return qrn_rule_broadcast(c);
}

static qrn_status rule_compare(const qrn_op_call *c) {
    QRN_TRY(same_kind(c, c->in[0], c->in[1]));
    return qrn_rule_broadcast(c);
}

static qrn_status rule_logical(const qrn_op_call *c) {
    QRN_TRY(only_types(c, c->in[0], BYTES));
    QRN_TRY(only_types(c, c->in[1], BYTES));
    QRN_TRY(only_types(c, c->out[0], BYTES));
    return qrn_rule_broadcast(c);
}

static qrn_status rule_element_wise_binary(const qrn_op_call *c) {
    switch (qrn_op_u32(c, "operation", 0)) {
    case QRN_EW_BINARY_AND:
    case QRN_EW_BINARY_OR:
    case QRN_EW_BINARY_XOR:
        return rule_logical(c);
    case QRN_EW_BINARY_EQUAL:
    case QRN_EW_BINARY_GREATER:
    case QRN_EW_BINARY_GREATER_EQUAL:
    case QRN_EW_BINARY_LESS:
    case QRN_EW_BINARY_LESS_EQUAL:
    case QRN_EW_BINARY_NOT_EQUAL:
        QRN_TRY(only_types(c, c->out[0], BYTES | I32));
        return rule_compare(c);
    case QRN_EW_BINARY_MOD:
        QRN_TRY(only_types(c, c->in[0], INTS));
        return rule_arithmetic(c);
    case QRN_EW_BINARY_POWER:
        return rule_power(c);
    default:
        return rule_arithmetic(c);
    }
}

static qrn_status rule_element_wise_unary(const qrn_op_call *c) {
    if (qrn_op_u32(c, "operation", 0) == QRN_EW_UNARY_NOT) {
        QRN_TRY(only_types(c, c->in[0], BYTES));
        QRN_TRY(only_types(c, c->out[0], BYTES));
        return qrn_rule_same_shape(c);
    }
    return rule_unary(c);
}

static qrn_status positive_beta(const qrn_op_call *c) {
    float beta = qrn_op_f32(c, "beta", 1.0f);
    if (beta > 0)
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_PARAM, "parameter 'beta': %g, expected above 0", (double)beta);
}

// Limits may be crossed: min(max_value, max(min_value, x)) is max_value then.
static qrn_status numeric_limits(const qrn_op_call *c) {
    float low = qrn_op_f32(c, "min_value", 0), high = qrn_op_f32(c, "max_value", 0);
    if (!isnan(low) && !isnan(high))
        return QRN_OK;
    return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': NaN, expected a number",
                       isnan(low) ? "min_value" : "max_value");
}

static qrn_status rule_softplus(const qrn_op_call *c) {
    QRN_TRY(positive_beta(c));
    return rule_unary(c);
}

static qrn_status rule_relu_min_max(const qrn_op_call *c) {
    QRN_TRY(numeric_limits(c));
    return rule_unary(c);
}

// Which of its parameters an operation of ElementWiseNeuron has.
typedef struct neuron_param {
    const char *name;
    uint32_t operations; // bit mask
} neuron_param;

#define NEURON(name) (1u << QRN_EW_NEURON_##name)

static const neuron_param neuron_params[] = {
    {"alpha", NEURON(ELU) | NEURON(HARD_SIGMOID)},
    {"beta", NEURON(HARD_SIGMOID) | NEURON(SOFTPLUS)},
    {"min_value", NEURON(RELU_MIN_MAX)},
    {"max_value", NEURON(RELU_MIN_MAX)},
    {"threshold", NEURON(SOFTPLUS)},
};

static qrn_status rule_neuron(const qrn_op_call *c) {
    uint32_t operation = qrn_op_u32(c, "operation", 0);
    for (size_t i = 0; i < sizeof(neuron_params) / sizeof(neuron_params[0]); i++) {
        const neuron_param *p = &neuron_params[i];
        if (qrn_op_param(c, p->name)->present && !(p->operations >> operation & 1))
            return qrn_op_fail(c, QRN_E_PARAM, "parameter '%s': not allowed with operation %u",
                               p->name, operation);
    }
    if (operation == QRN_EW_NEURON_SOFTPLUS)
        QRN_TRY(positive_beta(c));
    if (operation == QRN_EW_NEURON_RELU_MIN_MAX) {
        if (!qrn_op_param(c, "min_value")->present || !qrn_op_param(c, "max_value")->present)
            return qrn_op_fail(c, QRN_E_PARAM,
                               "parameters 'min_value' and 'max_value': missing, RELU_MIN_MAX "
                               "needs both");
        QRN_TRY(numeric_limits(c));
    }
    return rule_unary(c);
}

static qrn_status rule_select(const qrn_op_call *c) {
    QRN_TRY(same_kind(c, c->in[1], c->in[2]));
    QRN_TRY(same_kind(c, c->in[1], c->out[0]));
    return qrn_rule_broadcast(c);
}

static qrn_status rule_mux(const qrn_op_call *c) {
    for (uint32_t i = 1; i < c->n_in; i++)
        QRN_TRY(same_kind(c, c->out[0], c->in[i]));
    if (c->out[0]->quant.kind > QRN_QUANT_TENSOR)
        return qrn_op_fail(c, QRN_E_TENSOR_UNSUPPORTED,
                           "output 0: encoded per axis or block, expected per tensor");
    return qrn_rule_broadcast(c);
}

static bool broadcasts_to(const qrn_shape *x, const qrn_shape *alpha) {
    qrn_shape all;
    return qrn_shape_broadcast(x, alpha, &all) && qrn_shape_equal(&all, x);
}

bool qrn_prelu_by_channel(const qrn_shape *x, const qrn_shape *alpha) {
    return x->rank > 2 && alpha->rank == 1 && alpha->dims[0] == x->dims[1] &&
           !broadcasts_to(x, alpha);
}

// One scale for all quantized values, none of which is narrower than its type says.
static bool has_one_scale(const qrn_tensor *t) {
    const qrn_quant *q = &t->quant;
    if (!qrn_dtype_is_fixed(t->dtype) || q->kind == QRN_QUANT_NONE)
        return true;
    return q->kind == QRN_QUANT_TENSOR && q->scale != 0.0f &&
           (q->bits == 0 || q->bits >= qrn_dtypes[t->dtype].bits);
}

static qrn_status rule_prelu(const qrn_op_call *c) {
    char a[128], b[128];
    bool by_channel = qrn_prelu_by_channel(&c->in_shape[0], &c->in_shape[1]);
    if (by_channel &&
        !(has_one_scale(c->in[0]) && has_one_scale(c->in[1]) && has_one_scale(c->out[0])))
        return qrn_op_fail(c, QRN_E_DTYPE,
                           "slopes for dimension 1 need one scale for each operand, of all bits");
    if (!broadcasts_to(&c->in_shape[0], &c->in_shape[1]) && !by_channel)
        return qrn_op_fail(c, QRN_E_SHAPE, "input 1: shape %s does not broadcast to %s of input 0",
                           qrn_shape_text(&c->in_shape[1], a, sizeof a),
                           qrn_shape_text(&c->in_shape[0], b, sizeof b));
    return qrn_rule_same_shape(c);
}

static qrn_status rule_logit(const qrn_op_call *c) {
    if (c->n_in > 1 && c->in[1] && c->in_shape[1].dims[0] != 1)
        return qrn_op_fail(c, QRN_E_SHAPE, "input 1: %u elements, expected 1",
                           c->in_shape[1].dims[0]);
    return qrn_rule_same_shape(c);
}

// Tensors that change their type between executions are refused: nothing here could compute on
// them.
static qrn_status rule_convert(const qrn_op_call *c) {
    static const char *const names[] = {"dynamic_input_data", "dynamic_output_data"};
    for (uint32_t i = 0; i < 2; i++)
        if (qrn_op_bool(c, names[i], false))
            return qrn_op_fail(c, QRN_E_PARAM,
                               "parameter '%s': tensors that change their type between executions "
                               "are not supported",
                               names[i]);
    return qrn_rule_same_shape(c);
}

static bool is_one(const qrn_shape *s) { return s->rank == 0 || (s->rank == 1 && s->dims[0] == 1); }

// One number may be a scalar on one side and [1] on the other.
static qrn_status rule_cast(const qrn_op_call *c) {
    if (is_one(&c->in_shape[0]) && is_one(&c->out_shape[0]))
        return QRN_OK;
    return qrn_rule_same_shape(c);
}

// clang-format off
const qrn_op_def qrn_ops_eltwise[] = {
    {
        .name = "Cast",
        .category = "dtype",
        INS(REQUIRED("x", 0, MAX, ACT16 | SQ32 | I8 | I16 | I32 | I64 | U8 | U16 | U32 | B8)),
        OUTS(REQUIRED("y", 0, MAX, ACT | I8 | I16 | I32 | I64 | U8 | U16 | U32 | B8)),
        .flags = QRN_OP_DYNAMIC,
        .rule = rule_cast,
    },
    {
        .name = "Convert",
        .category = "dtype",
        INS(REQUIRED("x", 1, MAX, ACT16 | I32 | U8 | B8)),
        OUTS(REQUIRED("y", 1, MAX, ACT16 | I32 | SQ32 | B8)),
        PARAMS(SCALAR_OPT("dynamic_input_data", B8, "0"),
               SCALAR_OPT("dynamic_output_data", B8, "0")),
        .flags = QRN_OP_DYNAMIC,
        .rule = rule_convert,
    },
    {
        .name = "Dequantize",
        .category = "dtype",
        INS(REQUIRED("q", 1, MAX, UQ8 | SQ8 | UQ16 | SQ16 | UQ4 | SQ4 | UQ32 | SQ32)),
        OUTS(REQUIRED("y", 1, MAX, FLOATS)),
        .rule = qrn_rule_same_shape,
    },
    {
        .name = "ElementWiseAbs",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, ACT | I32)),
        OUTS(REQUIRED("y", 1, MAX, ACT | I32)),
        .rule = rule_unary,
    },
    {
        .name = "ElementWiseAdd",
        .category = "binary-arith",
        INS(REQUIRED("a", 0, MAX, ACT16 | INTS),
            REQUIRED("b", 0, MAX, ACT16 | INTS)),
        OUTS(REQUIRED("y", 0, MAX, ACT16 | INTS)),
        .flags = QRN_OP_DYNAMIC | QRN_OP_SPARSE,
        .rule = rule_arithmetic,
    },
    {
        .name = "ElementWiseAnd",
        .category = "binary-logical",
        INS(REQUIRED("a", 0, MAX, UQ8 | SQ8 | U8 | B8),
            REQUIRED("b", 0, MAX, UQ8 | SQ8 | U8 | B8)),
        OUTS(REQUIRED("y", 0, MAX, UQ8 | SQ8 | U8 | B8)),
        .rule = rule_logical,
    },
    {
        .name = "ElementWiseAsin",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, F32 | UQ8 | SQ8 | UQ16)),
        OUTS(REQUIRED("y", 1, MAX, F32 | UQ8 | SQ8 | UQ16)),
        .rule = rule_unary,
    },
    {
        .name = "ElementWiseAtan",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, ACT)),
        OUTS(REQUIRED("y", 1, MAX, ACT)),
        .rule = rule_unary,
    },
    {
        .name = "ElementWiseBinary",
        .category = "binary",
        INS(REQUIRED("a", 0, MAX, ACT16 | INTS | B8),
            REQUIRED("b", 0, MAX, ACT16 | INTS | B8)),
        OUTS(REQUIRED("y", 0, MAX, ACT16 | INTS | B8)),
        PARAMS(ENUM("operation", U32, {"ADD", 0}, {"AND", 1}, {"DIVIDE", 2}, {"EQUAL", 3},
                   {"FLOOR_DIV", 4}, {"FMOD", 5}, {"GREATER", 6}, {"GREATER_EQUAL", 7},
                   {"LESS", 8}, {"LESS_EQUAL", 9}, {"MAXIMUM", 10}, {"MINIMUM", 11}, {"MOD", 12},
                   {"MULTIPLY", 13}, {"NOT_EQUAL", 14}, {"OR", 15}, {"POWER", 16},
                   {"SQUARED_DIFFERENCE", 17}, {"SUBTRACT", 18}, {"XOR", 19})),
        .flags = QRN_OP_DYNAMIC,
        .rule = rule_element_wise_binary,
    },
    {
        .name = "ElementWiseCeil",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, ACT)),
        OUTS(REQUIRED("y", 1, MAX, ACT)),
        .rule = rule_unary,
    },
    {
        .name = "ElementWiseCos",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, ACT)),
        OUTS(REQUIRED("y", 1, MAX, ACT)),
        .rule = rule_unary,
    },
    {
        .name = "ElementWiseDivide",
        .category = "binary-arith",
        INS(REQUIRED("a", 0, MAX, ACT16 | INTS),
            REQUIRED("b", 0, MAX, ACT16 | INTS)),
        OUTS(REQUIRED("y", 0, MAX, ACT16 | INTS)),
        .flags = QRN_OP_DYNAMIC,
        .rule = rule_arithmetic,
    },
    {
        .name = "ElementWiseEqual",
        .category = "binary-compare",
        INS(REQUIRED("a", 0, MAX, ACT16 | INTS | B8),
            REQUIRED("b", 0, MAX, ACT16 | INTS | B8)),
        OUTS(REQUIRED("y", 0, MAX, UQ8 | SQ8 | I32 | U8 | B8)),
        .rule = rule_compare,
    },
    {
        .name = "ElementWiseExp",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, ACT)),
        OUTS(REQUIRED("y", 1, MAX, ACT)),
        .rule = rule_unary,
    },
    {
        .name = "ElementWiseFloor",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, ACT)),
        OUTS(REQUIRED("y", 1, MAX, ACT)),
        .rule = rule_unary,
    },
    {
        .name = "ElementWiseFloorDiv",
        .category = "binary-arith",
        INS(REQUIRED("a", 0, MAX, ACT16 | INTS),
            REQUIRED("b", 0, MAX, ACT16 | INTS)),
        OUTS(REQUIRED("y", 0, MAX, ACT16 | INTS)),
        .rule = rule_arithmetic,
    },
    {
        .name = "ElementWiseFmod",
        .category = "binary-arith",
        INS(REQUIRED("a", 0, MAX, FLOATS),
            REQUIRED("b", 0, MAX, FLOATS)),
        OUTS(REQUIRED("y", 0, MAX, FLOATS)),
        .rule = rule_arithmetic,
    },
    {
        .name = "ElementWiseGreater",
        .category = "binary-compare",
        INS(REQUIRED("a", 0, MAX, ACT16 | INTS | B8),
            REQUIRED("b", 0, MAX, ACT16 | INTS | B8)),
        OUTS(REQUIRED("y", 0, MAX, UQ8 | SQ8 | U8 | B8)),
        .rule = rule_compare,
    },
    {
        .name = "ElementWiseGreaterEqual",
        .category = "binary-compare",
        INS(REQUIRED("a", 0, MAX, ACT16 | INTS | B8),
            REQUIRED("b", 0, MAX, ACT16 | INTS | B8)),
        OUTS(REQUIRED("y", 0, MAX, UQ8 | SQ8 | U8 | B8)),
        .rule = rule_compare,
    },
    {
        .name = "ElementWiseLess",
        .category = "binary-compare",
        INS(REQUIRED("a", 0, MAX, ACT16 | INTS | B8),
            REQUIRED("b", 0, MAX, ACT16 | INTS | B8)),
        OUTS(REQUIRED("y", 0, MAX, UQ8 | SQ8 | I32 | U8 | B8)),
        .rule = rule_compare,
    },
    {
        .name = "ElementWiseLessEqual",
        .category = "binary-compare",
        INS(REQUIRED("a", 0, MAX, ACT16 | INTS | B8),
            REQUIRED("b", 0, MAX, ACT16 | INTS | B8)),
        OUTS(REQUIRED("y", 0, MAX, UQ8 | SQ8 | U8 | B8)),
        .rule = rule_compare,
    },
    {
        .name = "ElementWiseLog",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, ACT)),
        OUTS(REQUIRED("y", 1, MAX, ACT)),
        .rule = rule_unary,
    },
    {
        .name = "ElementWiseMaximum",
        .category = "binary-arith",
        INS(REQUIRED("a", 0, MAX, ACT16 | INTS),
            REQUIRED("b", 0, MAX, ACT16 | INTS)),
        OUTS(REQUIRED("y", 0, MAX, ACT16 | INTS)),
        .rule = rule_arithmetic,
    },
    {
        .name = "ElementWiseMinimum",
        .category = "binary-arith",
        INS(REQUIRED("a", 0, MAX, ACT16 | INTS),
            REQUIRED("b", 0, MAX, ACT16 | INTS)),
        OUTS(REQUIRED("y", 0, MAX, ACT16 | INTS)),
        .rule = rule_arithmetic,
    },
    {
        .name = "ElementWiseMod",
        .category = "binary-arith",
        INS(REQUIRED("a", 0, MAX, INTS),
            REQUIRED("b", 0, MAX, INTS)),
        OUTS(REQUIRED("y", 0, MAX, INTS)),
        .rule = rule_arithmetic,
    },
    {
        .name = "ElementWiseMultiply",
        .category = "binary-arith",
        INS(REQUIRED("a", 0, MAX, ACT16 | INTS),
            REQUIRED("b", 0, MAX, ACT16 | INTS)),
        OUTS(REQUIRED("y", 0, MAX, ACT16 | INTS)),
        .flags = QRN_OP_DYNAMIC,
        .rule = rule_arithmetic,
    },
    {
        .name = "ElementWiseMux",
        .category = "select",
        INS(REQUIRED("cond", 0, MAX, I32 | I64 | U32),
            VARIADIC("option", 0, MAX, ACT16 | I32 | U8 | U32 | B8)),
        OUTS(REQUIRED("y", 0, MAX, ACT16 | I32 | U8 | U32 | B8)),
        .rule = rule_mux,
    },
    {
        .name = "ElementWiseNeg",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, F32 | F16 | UQ8 | UQ16 | I32)),
        OUTS(REQUIRED("y", 1, MAX, F32 | F16 | UQ8 | UQ16 | I32)),
        .rule = rule_unary,
    },
    {
        .name = "ElementWiseNeuron",
        .category = "activation",
        INS(REQUIRED("x", 1, MAX, ACT16 | I32)),
        OUTS(REQUIRED("y", 1, MAX, ACT16 | I32)),
        PARAMS(ENUM("operation", U32, {"ELU", 0}, {"GELU", 1}, {"HARD_SIGMOID", 2},
                   {"HARD_SWISH", 3}, {"RELU", 4}, {"RELU_MIN_MAX", 5}, {"SIGMOID", 6},
                   {"SOFTPLUS", 7}, {"TANH", 8}),
               SCALAR_OPT("alpha", F32, "1.0 when ELU, 0.2 when HARD_SIGMOID"),
               SCALAR_OPT("beta", F32, "0.5 when HARD_SIGMOID, 1.0 when SOFTPLUS"),
               SCALAR_OPT("min_value", F32, "none"),
               SCALAR_OPT("max_value", F32, "none"),
               SCALAR_OPT("threshold", F32, "-1.0")),
        .flags = QRN_OP_DYNAMIC,
        .rule = rule_neuron,
    },
    {
        .name = "ElementWiseNot",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, UQ8 | SQ8 | U8 | B8)),
        OUTS(REQUIRED("y", 1, MAX, UQ8 | SQ8 | U8 | B8)),
        .rule = qrn_rule_same_shape,
    },
    {
        .name = "ElementWiseNotEqual",
        .category = "binary-compare",
        INS(REQUIRED("a", 0, MAX, ACT16 | INTS | B8),
            REQUIRED("b", 0, MAX, ACT16 | INTS | B8)),
        OUTS(REQUIRED("y", 0, MAX, UQ8 | SQ8 | U8 | B8)),
        .rule = rule_compare,
    },
    {
        .name = "ElementWiseOr",
        .category = "binary-logical",
        INS(REQUIRED("a", 0, MAX, UQ8 | SQ8 | U8 | B8),
            REQUIRED("b", 0, MAX, UQ8 | SQ8 | U8 | B8)),
        OUTS(REQUIRED("y", 0, MAX, UQ8 | SQ8 | U8 | B8)),
        .rule = rule_logical,
    },
    {
        .name = "ElementWisePower",
        .category = "binary-arith",
        INS(REQUIRED("a", 0, MAX, ACT | INTS),
            REQUIRED("b", 0, MAX, ACT16 | INTS)),
        OUTS(REQUIRED("y", 0, MAX, ACT | INTS)),
        .flags = QRN_OP_DYNAMIC,
        .rule = rule_power,
    },
    {
        .name = "ElementWiseRound",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, ACT)),
        OUTS(REQUIRED("y", 1, MAX, ACT)),
        .rule = rule_unary,
    },
    {
        .name = "ElementWiseRsqrt",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, ACT16)),
        OUTS(REQUIRED("y", 1, MAX, ACT16)),
        .rule = rule_unary,
    },
    {
        .name = "ElementWiseSelect",
        .category = "select",
        INS(REQUIRED("cond", 1, MAX, UQ8 | SQ8 | I32 | U8 | B8),
            REQUIRED("a", 1, MAX, ACT16 | UQ4 | INTS),
            REQUIRED("b", 1, MAX, ACT16 | UQ4 | INTS)),
        OUTS(REQUIRED("y", 0, MAX, ACT16 | INTS)),
        .rule = rule_select,
    },
    {
        .name = "ElementWiseSign",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, ACT | I8 | I16 | I32 | I64 | U32)),
        OUTS(REQUIRED("y", 1, MAX, ACT | I8 | I16 | I32 | I64 | U32)),
        .rule = rule_unary,
    },
    {
        .name = "ElementWiseSin",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, ACT)),
        OUTS(REQUIRED("y", 1, MAX, ACT)),
        .rule = rule_unary,
    },
    {
        .name = "ElementWiseSoftplus",
        .category = "activation",
        INS(REQUIRED("x", 1, MAX, F32)),
        OUTS(REQUIRED("y", 1, MAX, F32)),
        PARAMS(SCALAR_OPT("beta", F32, "1.0"),
               SCALAR_OPT("threshold", F32, "-1.0")),
        .rule = rule_softplus,
    },
    {
        .name = "ElementWiseSquareRoot",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, ACT16)),
        OUTS(REQUIRED("y", 1, MAX, ACT16)),
        .flags = QRN_OP_DYNAMIC,
        .rule = rule_unary,
    },
    {
        .name = "ElementWiseSquaredDifference",
        .category = "binary-arith",
        INS(REQUIRED("a", 0, MAX, ACT16 | INTS),
            REQUIRED("b", 0, MAX, ACT16 | INTS)),
        OUTS(REQUIRED("y", 0, MAX, ACT16 | INTS)),
        .rule = rule_arithmetic,
    },
    {
        .name = "ElementWiseSubtract",
        .category = "binary-arith",
        INS(REQUIRED("a", 0, MAX, ACT16 | INTS),
            REQUIRED("b", 0, MAX, ACT16 | INTS)),
        OUTS(REQUIRED("y", 0, MAX, ACT16 | INTS)),
        .flags = QRN_OP_DYNAMIC,
        .rule = rule_arithmetic,
    },
    {
        .name = "ElementWiseUnary",
        .category = "unary",
        INS(REQUIRED("x", 1, MAX, ACT16 | BF16 | U8 | B8)),
        OUTS(REQUIRED("y", 1, MAX, ACT16 | BF16 | U8 | B8)),
        PARAMS(ENUM("operation", U32, {"ABS", 0}, {"ASIN", 1}, {"ATAN", 2}, {"CEIL", 3},
                   {"COS", 4}, {"EXP", 5}, {"FLOOR", 6}, {"LOG", 7}, {"NEG", 8}, {"NOT", 9},
                   {"RECIPROCAL", 10}, {"ROUND", 11}, {"RSQRT", 12}, {"SIGN", 13}, {"SIN", 14},
                   {"SQRT", 15})),
        .flags = QRN_OP_DYNAMIC,
        .rule = rule_element_wise_unary,
    },
    {
        .name = "ElementWiseXor",
        .category = "binary-logical",
        INS(REQUIRED("a", 0, MAX, UQ8 | SQ8 | B8),
            REQUIRED("b", 0, MAX, UQ8 | SQ8 | B8)),
        OUTS(REQUIRED("y", 0, MAX, UQ8 | SQ8 | B8)),
        .rule = rule_logical,
    },
    {
        .name = "Elu",
        .category = "activation",
        INS(REQUIRED("x", 1, MAX, ACT16)),
        OUTS(REQUIRED("y", 1, MAX, ACT16)),
        PARAMS(SCALAR_OPT("alpha", F32, "1.0")),
        .rule = rule_unary,
    },
    {
        .name = "Gelu",
        .category = "activation",
        INS(REQUIRED("x", 1, MAX, ACT16)),
        OUTS(REQUIRED("y", 1, MAX, ACT16)),
        .rule = rule_unary,
    },
    {
        .name = "HardSwish",
        .category = "activation",
        INS(REQUIRED("x", 1, MAX, ACT)),
        OUTS(REQUIRED("y", 1, MAX, ACT)),
        .rule = rule_unary,
    },
    {
        .name = "IsInf",
        .category = "unary",
        INS(REQUIRED("x", 0, MAX, FLOATS)),
        OUTS(REQUIRED("y", 0, MAX, B8)),
        PARAMS(SCALAR_OPT("detect_negative", B8, "1"),
               SCALAR_OPT("detect_positive", B8, "1")),
        .rule = qrn_rule_same_shape,
    },
    {
        .name = "IsNan",
        .category = "unary",
        INS(REQUIRED("x", 0, MAX, FLOATS)),
        OUTS(REQUIRED("y", 0, MAX, B8)),
        .rule = qrn_rule_same_shape,
    },
    {
        .name = "Logit",
        .category = "unary",
        INS(REQUIRED("x", 0, MAX, ACT16),
            OPTIONAL("epsilon", 1, 1, FLOATS)),
        OUTS(REQUIRED("y", 0, MAX, ACT16)),
        .rule = rule_logit,
    },
    {
        .name = "Prelu",
        .category = "activation",
        INS(REQUIRED("x", 1, MAX, ACT16),
            REQUIRED("alpha", 1, MAX, ACT16)),
        OUTS(REQUIRED("y", 1, MAX, ACT16)),
        .rule = rule_prelu,
    },
    {
        .name = "Quantize",
        .category = "dtype",
        INS(REQUIRED("x", 1, MAX, FLOATS)),
        OUTS(REQUIRED("q", 1, MAX, UQ8 | SQ8 | UQ16 | SQ16 | UQ4 | SQ4 | UQ32 | SQ32)),
        .rule = qrn_rule_same_shape,
    },
    {
        .name = "Relu",
        .category = "activation",
        INS(REQUIRED("x", 1, MAX, ACT16)),
        OUTS(REQUIRED("y", 1, MAX, ACT16)),
        .flags = QRN_OP_SPARSE,
        .rule = rule_unary,
    },
    {
        .name = "Relu1",
        .category = "activation",
        INS(REQUIRED("x", 1, MAX, ACT)),
        OUTS(REQUIRED("y", 1, MAX, ACT)),
        .flags = QRN_OP_DEPRECATED,
        .rule = rule_unary,
    },
    {
        .name = "Relu6",
        .category = "activation",
        INS(REQUIRED("x", 1, MAX, ACT)),
        OUTS(REQUIRED("y", 1, MAX, ACT)),
        .flags = QRN_OP_DEPRECATED,
        .rule = rule_unary,
    },
    {
        .name = "ReluMinMax",
        .category = "activation",
        INS(REQUIRED("x", 1, MAX, ACT | INTS)),
        OUTS(REQUIRED("y", 1, MAX, ACT | INTS)),
        PARAMS(SCALAR("min_value", F32),
               SCALAR("max_value", F32)),
        .rule = rule_relu_min_max,
    },
    {
        .name = "Sigmoid",
        .category = "activation",
        INS(REQUIRED("x", 1, MAX, ACT16)),
        OUTS(REQUIRED("y", 1, MAX, ACT16)),
        .flags = QRN_OP_DYNAMIC,
        .rule = rule_unary,
    },
    {
        .name = "Tanh",
        .category = "activation",
        INS(REQUIRED("x", 1, MAX, ACT16)),
        OUTS(REQUIRED("y", 1, MAX, ACT16)),
        .rule = rule_unary,
    },
};
// clang-format on

const size_t qrn_ops_eltwise_count = sizeof(qrn_ops_eltwise) / sizeof(qrn_ops_eltwise[0]);
