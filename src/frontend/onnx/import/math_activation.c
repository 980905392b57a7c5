// SPDX-License-Identifier: MIT
//
// Importers: activations with parameters, and those that QNN has only as a formula of others. What
// is one QNN op may be a quantized unit; formulas run in float.
#include "frontend/onnx/import/math.h"
#include "frontend/onnx/import/table.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ADD QNN_OP_ELEMENT_WISE_ADD
#define SUB QNN_OP_ELEMENT_WISE_SUBTRACT
#define MUL QNN_OP_ELEMENT_WISE_MULTIPLY
#define DIV QNN_OP_ELEMENT_WISE_DIVIDE

// A QNN op with parameters, on tensors of the types it supports; float32 where they are others.
typedef struct activation {
    const char *op;
    unsigned types;
    uint32_t n_params;
    const char *params[3];
    float values[3];
    uint32_t operation; // of ElementWiseNeuron
} activation;

static qrn_status emit(ox_import *im, const ox_node *n, const activation *a) {
    QRN_TRY(ox_need_float(im, n));
    const ox_val *x = ox_input(im, n, 0);
    qc_tensor *in, *out;
    qc_op o;
    QRN_TRY(ox_same_shape(im, n, x->type));
    ox_layout layout = ox_layout_of(im, n);
    if (!ox_fits_unit(im, n, a->types, 1))
        ox_leave_unit(im);
    QRN_TRY(ox_in(im, n, 0, layout, &in));
    if (!ox_takes(a->types, in->t.v1.dataType))
        QRN_TRY(ox_in_as(im, n, 0, layout, QNN_DATATYPE_FLOAT_32, &in));
    if (ox_is_quantized(im, n))
        QRN_TRY(ox_out(im, n, 0, layout, &out));
    else
        QRN_TRY(ox_out_as(im, n, 0, layout, in->t.v1.dataType, &out));
    ox_op(im, &o, n, a->op);
    qc_in(&o, in);
    qc_out(&o, out);
    if (strcmp(a->op, QNN_OP_ELEMENT_WISE_NEURON) == 0)
        qc_u32(&o, QNN_OP_ELEMENT_WISE_NEURON_PARAM_OPERATION, a->operation);
    for (uint32_t i = 0; i < a->n_params; i++)
        qc_f32(&o, a->params[i], a->values[i]);
    QRN_TRY(qc_op_end(&o));
    return ox_out_end(im, n, 0, layout, out);
}

static qrn_status import_hard_sigmoid(ox_import *im, const ox_node *n) {
    return emit(im, n,
                &(activation){
                    QNN_OP_ELEMENT_WISE_NEURON,
                    OX_T_ACT16,
                    2,
                    {QNN_OP_ELEMENT_WISE_NEURON_PARAM_ALPHA, QNN_OP_ELEMENT_WISE_NEURON_PARAM_BETA},
                    {ox_attr_float(n, "alpha", 0.2f), ox_attr_float(n, "beta", 0.5f)},
                    QNN_OP_ELEMENT_WISE_NEURON_OPERATION_HARD_SIGMOID});
}

static qrn_status import_softplus(ox_import *im, const ox_node *n) {
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    ox_to_output(&e);
    return ox_end_formula(&e, ox_softplus(&e, x));
}

// alpha (e^x - 1) below 0; QNN's Elu is that for alpha >= 0 only.
static qc_tensor *elu(ox_expr *e, qc_tensor *x, float alpha) {
    qc_tensor *y = x ? ox_result_like(e, x, x->rank, x->dims) : NULL;
    qc_op o;
    if (!y)
        return NULL;
    ox_op(e->im, &o, e->n, QNN_OP_ELU);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_f32(&o, QNN_OP_ELU_PARAM_ALPHA, fabsf(alpha));
    ox_end(e, &o);
    if (alpha >= 0)
        return y;
    qc_tensor *above = ox_compare(e, QNN_OP_ELEMENT_WISE_GREATER, x, ox_constant(e, 0));
    return ox_select(e, above, x, ox_with(e, MUL, y, -1));
}

static qrn_status times(ox_expr *e, qc_tensor *x, double factor) {
    qc_tensor *f = ox_constant(e, factor);
    ox_to_output(e);
    return ox_end_formula(e, ox_binary(e, MUL, x, f));
}

static qrn_status import_elu(ox_import *im, const ox_node *n) {
    float alpha = ox_attr_float(n, "alpha", 1);
    ox_expr e;
    qc_tensor *x;
    if (alpha >= 0)
        return emit(im, n,
                    &(activation){QNN_OP_ELU, OX_T_ACT16, 1, {QNN_OP_ELU_PARAM_ALPHA}, {alpha}, 0});
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    return times(&e, elu(&e, x, alpha), 1);
}

static qrn_status import_selu(ox_import *im, const ox_node *n) {
    bool old = ox_version(im, n) < 6; // fewer digits
    float alpha = ox_attr_float(n, "alpha", old ? 1.6732f : 1.67326319217681884765625f);
    float gamma = ox_attr_float(n, "gamma", old ? 1.0507f : 1.05070102214813232421875f);
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    return times(&e, elu(&e, x, alpha), gamma);
}

static qrn_status import_celu(ox_import *im, const ox_node *n) {
    float alpha = ox_attr_float(n, "alpha", 1);
    ox_expr e;
    qc_tensor *x;
    if (!(alpha > 0))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "alpha %g, expected above 0", (double)alpha);
    if (alpha == 1)
        return emit(im, n, &(activation){.op = QNN_OP_ELU, .types = OX_T_ACT16});
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    x = ox_binary(&e, DIV, x, ox_constant(&e, alpha));
    return times(&e, elu(&e, x, 1), alpha);
}

static qrn_status import_mish(ox_import *im, const ox_node *n) {
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    qc_tensor *t = ox_unary(&e, QNN_OP_TANH, ox_softplus(&e, x));
    ox_to_output(&e);
    return ox_end_formula(&e, ox_binary(&e, MUL, x, t));
}

static qrn_status import_softsign(ox_import *im, const ox_node *n) {
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    qc_tensor *size = ox_unary(&e, QNN_OP_ELEMENT_WISE_ABS, x);
    qc_tensor *d = ox_binary(&e, ADD, size, ox_constant(&e, 1));
    ox_to_output(&e);
    return ox_end_formula(&e, ox_binary(&e, DIV, x, d));
}

// x * sigmoid(x * factor)
static qrn_status gated(ox_expr *e, qc_tensor *x, qc_tensor *factor) {
    qc_tensor *s = ox_unary(e, QNN_OP_SIGMOID, factor ? ox_binary(e, MUL, x, factor) : x);
    ox_to_output(e);
    return ox_end_formula(e, ox_binary(e, MUL, x, s));
}

static qrn_status import_swish(ox_import *im, const ox_node *n) {
    bool quick = strcmp(n->op, "QuickGelu") == 0;
    float alpha = ox_attr_float(n, "alpha", quick ? 1.702f : 1);
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    return gated(&e, x, alpha == 1 ? NULL : ox_constant(&e, alpha));
}

// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))); 1 + tanh(u) = 2 sigmoid(2 u).
static qrn_status tanh_gelu(ox_expr *e, qc_tensor *x) {
    const double c = 2 * 0.79788456080286535588;
    qc_tensor *cube = ox_binary(e, MUL, ox_binary(e, MUL, x, x), ox_constant(e, c * 0.044715));
    return gated(e, x, ox_binary(e, ADD, cube, ox_constant(e, c)));
}

static bool is_8_bit_unit(const ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    return ox_is_quantized(im, n) && x && x->quantized && ox_type_bits(x->quantized->type) <= 8;
}

static qrn_status import_gelu(ox_import *im, const ox_node *n) {
    const char *form = ox_attr_string(n, "approximate", "none");
    ox_expr e;
    qc_tensor *x;
    bool tanh = strcmp(form, "tanh") == 0;
    // The two forms are at most 5e-4 apart: less than a step of 8 bits, but not of 16.
    if (strcmp(form, "none") == 0 || (tanh && is_8_bit_unit(im, n)))
        return emit(im, n, &(activation){.op = QNN_OP_GELU, .types = OX_T_ACT});
    if (!tanh)
        return ox_fail(im, n, QRN_E_PARAM, "approximate '%s', expected none or tanh", form);
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    return tanh_gelu(&e, x);
}

// FastGelu and BiasGelu of com.microsoft: a bias first; the former is the tanh form.
static qrn_status import_bias_gelu(ox_import *im, const ox_node *n) {
    bool fast = strcmp(n->op, "FastGelu") == 0;
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    if (ox_input(im, n, 1))
        x = ox_binary(&e, ADD, x, ox_operand(&e, 1));
    else if (!fast)
        return ox_fail(im, n, QRN_E_UNCONNECTED, "input 1 is missing");
    if (fast)
        return tanh_gelu(&e, x);
    ox_to_output(&e);
    return ox_end_formula(&e, ox_unary(&e, QNN_OP_GELU, x));
}

// ThresholdedRelu and Shrink keep or move x outside a range around 0, which becomes 0.
static qrn_status import_thresholded(ox_import *im, const ox_node *n) {
    float alpha = ox_attr_float(n, "alpha", 1);
    ox_expr e;
    qc_tensor *x;
    QRN_TRY(ox_begin_float(&e, im, n, &x));
    qc_tensor *above = ox_compare(&e, QNN_OP_ELEMENT_WISE_GREATER, x, ox_constant(&e, alpha));
    qc_tensor *zero = ox_constant(&e, 0);
    ox_to_output(&e);
    return ox_end_formula(&e, ox_select(&e, above, x, zero));
}

static qrn_status import_shrink(ox_import *im, const ox_node *n) {
    float bias = ox_attr_float(n, "bias", 0), lambda = ox_attr_float(n, "lambd", 0.5f);
    ox_expr e;
    QRN_TRY(ox_need(im, n, 1));
    const ox_val *v = ox_input(im, n, 0);
    Qnn_DataType_t type;
    QRN_TRY(ox_arithmetic_type(im, n, v, &type));
    QRN_TRY(ox_same_shape(im, n, v->type));
    QRN_TRY(ox_begin_formula(&e, im, n, QNN_DATATYPE_FLOAT_32));
    qc_tensor *x = ox_operand(&e, 0), *b = ox_constant(&e, bias);
    qc_tensor *above = ox_compare(&e, QNN_OP_ELEMENT_WISE_GREATER, x, ox_constant(&e, lambda));
    qc_tensor *below = ox_compare(&e, QNN_OP_ELEMENT_WISE_LESS, x, ox_constant(&e, -lambda));
    qc_tensor *plus = ox_binary(&e, ADD, x, b), *minus = ox_binary(&e, SUB, x, b);
    qc_tensor *rest = ox_select(&e, above, minus, ox_constant(&e, 0));
    ox_to_output(&e);
    return ox_end_formula(&e, ox_select(&e, below, plus, rest));
}

// Clip.

// Bound `i` (1: min, 2: max) as a number: constant input, or attribute before opset 11.
static bool bound_of(const ox_import *im, const ox_node *n, uint32_t i, float *out) {
    if (ox_input(im, n, i))
        return ox_const_float(im, n, i, out);
    *out = ox_attr_float(n, i == 1 ? "min" : "max", i == 1 ? -FLT_MAX : FLT_MAX);
    if (!ox_attr_find(n, i == 1 ? "min" : "max"))
        *out = i == 1 ? -INFINITY : INFINITY;
    return true;
}

// Bounds that come at execution, and integers: min(max(x, low), high).
static qrn_status clip_formula(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    Qnn_DataType_t type;
    ox_expr e;
    QRN_TRY(ox_arithmetic_type(im, n, v, &type));
    QRN_TRY(ox_same_shape(im, n, v->type));
    QRN_TRY(ox_begin_formula(&e, im, n, type));
    bool has[] = {ox_input(im, n, 1) || ox_attr_find(n, "min"),
                  ox_input(im, n, 2) || ox_attr_find(n, "max")};
    qc_tensor *y = ox_operand(&e, 0);
    for (uint32_t i = 1; i <= 2; i++) {
        float value = 0;
        if (!has[i - 1])
            continue;
        if (!ox_input(im, n, i))
            bound_of(im, n, i, &value);
        qc_tensor *bound = ox_input(im, n, i) ? ox_operand(&e, i) : ox_constant(&e, value);
        if (i == 2 || !has[1])
            ox_to_output(&e);
        y = ox_binary_op(&e,
                         i == 1 ? QNN_OP_ELEMENT_WISE_BINARY_OPERATION_MAXIMUM
                                : QNN_OP_ELEMENT_WISE_BINARY_OPERATION_MINIMUM,
                         y, bound);
    }
    return ox_end_formula(&e, y);
}

static qrn_status import_clip(ox_import *im, const ox_node *n) {
    float low, high;
    QRN_TRY(ox_need(im, n, 1));
    for (uint32_t i = 1; i <= 2; i++)
        if (ox_input(im, n, i) && ox_input(im, n, i)->rank > 0 &&
            (ox_input(im, n, i)->rank > 1 || ox_input(im, n, i)->dims[0] != 1))
            return ox_fail(im, n, QRN_E_SHAPE, "input %u must be a single number", i);
    bool fixed = bound_of(im, n, 1, &low) && bound_of(im, n, 2, &high);
    if (!ox_is_float(ox_input(im, n, 0)) || !fixed || !(low <= high)) {
        bool bounded = ox_input(im, n, 1) || ox_input(im, n, 2) || ox_attr_find(n, "min") ||
                       ox_attr_find(n, "max");
        return bounded ? clip_formula(im, n) : ox_alias(im, n, 0, 0);
    }
    return emit(
        im, n,
        &(activation){QNN_OP_RELU_MIN_MAX,
                      OX_T_ACT,
                      2,
                      {QNN_OP_RELU_MIN_MAX_PARAM_MIN_VALUE, QNN_OP_RELU_MIN_MAX_PARAM_MAX_VALUE},
                      {fmaxf(low, -FLT_MAX), fminf(high, FLT_MAX)},
                      0});
}

// PRelu and LeakyRelu.

static qrn_status emit_prelu(ox_import *im, const ox_node *n, ox_layout layout, qc_tensor *x,
                             qc_tensor *slope) {
    qc_tensor *out;
    if (ox_is_quantized(im, n))
        QRN_TRY(ox_out(im, n, 0, layout, &out));
    else
        QRN_TRY(ox_out_as(im, n, 0, layout, x->t.v1.dataType, &out));
    QRN_TRY(ox_emit_binary(im, n, QNN_OP_PRELU, x, slope, out));
    return ox_out_end(im, n, 0, layout, out);
}

static qrn_status import_leaky_relu(ox_import *im, const ox_node *n) {
    float alpha = ox_attr_float(n, "alpha", 0.01f);
    uint32_t one = 1;
    qc_tensor *x, *slope;
    QRN_TRY(ox_need_float(im, n));
    const ox_val *v = ox_input(im, n, 0);
    ox_layout layout = ox_layout_of(im, n);
    QRN_TRY(ox_same_shape(im, n, v->type));
    if (!ox_fits_unit(im, n, OX_T_ACT16, 1))
        ox_leave_unit(im);
    QRN_TRY(ox_in(im, n, 0, layout, &x));
    QRN_TRY(ox_static_like(im, x, &alpha, 1, &one, &slope));
    return emit_prelu(im, n, layout, x, slope);
}

// On integers: x below 0 times the slope.
static qrn_status prelu_formula(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    ox_expr e;
    if (ox_is_unsigned(v))
        return ox_alias(im, n, 0, 0);
    QRN_TRY(ox_begin_formula(&e, im, n, QNN_DATATYPE_INT_32));
    qc_tensor *x = ox_operand(&e, 0), *slope = ox_operand(&e, 1);
    qc_tensor *below = ox_compare(&e, QNN_OP_ELEMENT_WISE_LESS, x, ox_constant(&e, 0));
    qc_tensor *y = ox_binary(&e, MUL, x, slope);
    ox_to_output(&e);
    return ox_end_formula(&e, ox_select(&e, below, y, x));
}

static qrn_status import_prelu(ox_import *im, const ox_node *n) {
    uint32_t dims[OX_MAX_RANK];
    qc_tensor *x, *slope;
    QRN_TRY(ox_need(im, n, 2));
    const ox_val *v = ox_input(im, n, 0), *s = ox_input(im, n, 1);
    Qnn_DataType_t type;
    QRN_TRY(ox_arithmetic_type(im, n, v, &type));
    // Before opset 7 a slope of rank 1 was one number per channel (dimension 1). Models that were
    // only restamped still have such slopes.
    bool broadcasts = s->rank == 0 || s->dims[s->rank - 1] == 1 ||
                      (v->rank > 0 && s->dims[s->rank - 1] == v->dims[v->rank - 1]);
    bool channels =
        s->rank == 1 && s->dims[0] != 1 && v->rank > 1 && (ox_version(im, n) < 7 || !broadcasts);
    for (uint32_t d = 0; d < v->rank; d++) {
        dims[d] = d + s->rank < v->rank ? 1 : s->dims[d + s->rank - v->rank];
        if (channels)
            dims[d] = d == 1 ? s->dims[0] : 1;
        if (s->rank > v->rank || (dims[d] != 1 && dims[d] != v->dims[d]))
            return ox_fail(im, n, QRN_E_SHAPE, "the slope does not broadcast to the input");
    }
    QRN_TRY(ox_same_shape(im, n, v->type));
    if (!ox_is_float(v))
        return prelu_formula(im, n);
    // A slope that is one float number is quantized here.
    uint32_t one = 1;
    float number;
    bool plain = ox_is_quantized(im, n) && !s->quantized && ox_const_float(im, n, 1, &number);
    if (!ox_fits_unit(im, n, OX_T_ACT16, plain ? 1 : 2)) {
        ox_leave_unit(im);
        plain = false;
    }
    ox_layout layout = ox_layout_of(im, n);
    QRN_TRY(ox_in(im, n, 0, layout, &x));
    if (plain)
        QRN_TRY(ox_static_like(im, x, &number, 1, &one, &slope));
    else
        QRN_TRY(ox_in_view(im, n, 1, v->rank, dims, layout, &slope));
    return emit_prelu(im, n, layout, x, slope);
}

// clang-format off
const ox_importer ox_import_math_activation[] = {
    {"BiasGelu", "com.microsoft", import_bias_gelu},
    {"Celu", "", import_celu},
    {"Clip", "", import_clip},
    {"Elu", "", import_elu},
    {"FastGelu", "com.microsoft", import_bias_gelu},
    {"Gelu", "", import_gelu},
    {"Gelu", "com.microsoft", import_gelu},
    {"HardSigmoid", "", import_hard_sigmoid},
    {"LeakyRelu", "", import_leaky_relu},
    {"Mish", "", import_mish},
    {"PRelu", "", import_prelu},
    {"QuickGelu", "com.microsoft", import_swish},
    {"Selu", "", import_selu},
    {"Shrink", "", import_shrink},
    {"Softplus", "", import_softplus},
    {"Softsign", "", import_softsign},
    {"Swish", "", import_swish},
    {"ThresholdedRelu", "", import_thresholded},
    {0},
};
// clang-format on
