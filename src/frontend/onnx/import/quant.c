// SPDX-License-Identifier: MIT
//
// Importers: ops on quantized tensors that carry their scales as inputs (QLinearConv and the like).
// Each is imported as DequantizeLinear, the float op and QuantizeLinear, which the rest of the
// import knows how to turn into one fixed-point op.
#include "frontend/onnx/import/table.h"
#include "frontend/onnx/driver/internal.h"
#include "frontend/onnx/driver/nested.h"

#include <string.h>

#define MAX_NODES 80

// Nodes under construction; they live in the arena.
typedef struct expansion {
    ox_import *im;
    const ox_node *n; // the node that they stand for
    ox_node *nodes;
    uint32_t count;
    qrn_status s;
} expansion;

static expansion expand(ox_import *im, const ox_node *n) {
    expansion x = {.im = im, .n = n, .nodes = ox_alloc(im, MAX_NODES * sizeof *x.nodes)};
    x.s = x.nodes ? QRN_OK : ox_no_memory(im);
    return x;
}

// Adds a node; returns the name of its result. out NULL: a new name.
static const char *add(expansion *x, const char *op, const char *const *in, uint32_t n_in,
                       const char *out, const ox_attr *attrs, uint32_t n_attrs) {
    const char **names = ox_alloc(x->im, (n_in + 1) * sizeof *names);
    if (x->s != QRN_OK)
        return "";
    out = out ? out : ox_new_name(x->im);
    const ox_attr *copy = qrn_arena_copy(x->im->arena, attrs, n_attrs * sizeof *attrs);
    if (!names || !out || (n_attrs && !copy) || x->count == MAX_NODES) {
        x->s = ox_no_memory(x->im);
        return "";
    }
    memcpy(names, in, n_in * sizeof *names);
    names[n_in] = out;
    x->nodes[x->count++] = (ox_node){.name = x->n->name,
                                     .op = op,
                                     .domain = "",
                                     .in = names,
                                     .out = names + n_in,
                                     .n_in = n_in,
                                     .n_out = 1,
                                     .attrs = copy,
                                     .n_attrs = n_attrs};
    return out;
}

static const char *name_of(const ox_node *n, uint32_t i) { return i < n->n_in ? n->in[i] : ""; }

// Input i with its scale and zero point at i + 1 and i + 2, as float.
static const char *real(expansion *x, uint32_t i, uint32_t scale, int64_t axis) {
    const char *in[] = {name_of(x->n, i), name_of(x->n, scale), name_of(x->n, scale + 1)};
    const ox_attr attr = OX_INT_ATTR("axis", axis);
    return add(x, "DequantizeLinear", in, 3, NULL, &attr, 1);
}

// Output 0 is `v` quantized with the scale and zero point at inputs `scale` and scale + 1.
static void quantize(expansion *x, const char *v, uint32_t scale) {
    const char *in[] = {v, name_of(x->n, scale), name_of(x->n, scale + 1)};
    add(x, "QuantizeLinear", in, 3, x->n->out[0], NULL, 0);
}

// Imports the nodes; output 0 of the last one is output 0 of the node.
static qrn_status finish(expansion *x) {
    ox_import *im = x->im;
    ox_nest saved;
    ox_leave_unit(im);
    QRN_TRY(x->s);
    qrn_status s = ox_nest_begin(im, x->n, im->scope, &saved);
    if (s == QRN_OK)
        s = ox_import_list(im, x->nodes, x->count, x->n->out, 1);
    const ox_val *y = ox_scope_find(im->scope, x->n->out[0]);
    ox_nest_end(im, &saved);
    if (s == QRN_OK && (!y || !y->known))
        s = ox_fail(im, x->n, QRN_E_UNSUPPORTED, "its parts could not be imported");
    return s == QRN_OK ? ox_give(im, x->n, 0, y) : s;
}

// --- convolutions and matmuls

// The bias of a convolution has the scale of its accumulators.
static const char *bias_of(expansion *x, uint32_t i, uint32_t x_scale, uint32_t w_scale) {
    const ox_val *w = ox_input(x->im, x->n, w_scale), *given = ox_input(x->im, x->n, x_scale);
    const float *a = ox_const_reals(x->im, x->n, x_scale);
    const float *b = ox_const_reals(x->im, x->n, w_scale);
    if (!ox_input(x->im, x->n, i) || x->s != QRN_OK)
        return "";
    uint32_t count = w && w->rank ? w->dims[0] : 1;
    bool fits = a && b && w->rank < 2 && count && ox_count(given);
    float *scales = fits ? ox_alloc(x->im, count * sizeof *scales) : NULL;
    if (!scales) {
        x->s = ox_fail(x->im, x->n, QRN_E_UNSUPPORTED,
                       "a bias needs constant scales of input and weights, at least one each");
        return "";
    }
    for (uint32_t k = 0; k < count; k++)
        scales[k] = a[0] * b[k];
    const char *in[] = {name_of(x->n, i), NULL};
    x->s = ox_bind_const(x->im, OX_F32, count > 1 ? 1 : 0, &count, scales, &in[1]);
    const ox_attr attr = OX_INT_ATTR("axis", 0);
    return add(x, "DequantizeLinear", in, 2, NULL, &attr, 1);
}

static qrn_status channels_first(const ox_import *im, const ox_node *n) {
    return ox_attr_int(n, "channels_last", 0)
               ? ox_fail(im, n, QRN_E_UNSUPPORTED, "channels_last is not supported")
               : QRN_OK;
}

static qrn_status import_conv(ox_import *im, const ox_node *n) {
    QRN_TRY(channels_first(im, n));
    expansion x = expand(im, n);
    const char *in[] = {real(&x, 0, 1, 1), real(&x, 3, 4, 0), bias_of(&x, 8, 1, 4)};
    quantize(&x, add(&x, "Conv", in, in[2][0] ? 3 : 2, NULL, n->attrs, n->n_attrs), 6);
    return finish(&x);
}

// Scales of rank 1 belong to rows of the first matrix and columns of the second.
static qrn_status import_matmul(ox_import *im, const ox_node *n) {
    expansion x = expand(im, n);
    const char *in[] = {real(&x, 0, 1, -2), real(&x, 3, 4, -1)};
    quantize(&x, add(&x, "MatMul", in, 2, NULL, NULL, 0), 6);
    return finish(&x);
}

static qrn_status import_gemm(ox_import *im, const ox_node *n) {
    expansion x = expand(im, n);
    bool by_column = ox_attr_int(n, "transB", 0) == 0, quantized = ox_input(im, n, 7) != NULL;
    if (ox_attr_float(n, "alpha", 1) != 1)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "alpha is not 1");
    const char *in[] = {real(&x, 0, 1, 1), real(&x, 3, 4, by_column), bias_of(&x, 6, 1, 4)};
    const char *y =
        add(&x, "Gemm", in, in[2][0] ? 3 : 2, quantized ? NULL : n->out[0], n->attrs, n->n_attrs);
    if (quantized)
        quantize(&x, y, 7);
    return finish(&x);
}

// Products of integers that end as floats: MatMulIntegerToFloat has A, B, their scales, their zero
// points and a bias; DynamicQuantizeMatMul A as float, B, its scale and zero point, and a bias.
static qrn_status import_float_matmul(ox_import *im, const ox_node *n) {
    expansion x = expand(im, n);
    bool dynamic = strcmp(n->op, "DynamicQuantizeMatMul") == 0;
    const ox_attr last = OX_INT_ATTR("axis", -1);
    const char *a[] = {name_of(n, 0), name_of(n, 2), name_of(n, 4)};
    const char *b[] = {name_of(n, 1), name_of(n, dynamic ? 2 : 3), name_of(n, dynamic ? 3 : 5)};
    const char *bias = name_of(n, dynamic ? 4 : 6);
    const char *in[] = {dynamic ? a[0] : add(&x, "DequantizeLinear", a, 3, NULL, NULL, 0),
                        add(&x, "DequantizeLinear", b, 3, NULL, &last, 1)};
    const char *y = add(&x, "MatMul", in, 2, bias[0] ? NULL : n->out[0], NULL, 0);
    if (bias[0]) {
        const char *sum[] = {y, bias};
        add(&x, "Add", sum, 2, n->out[0], NULL, 0);
    }
    return finish(&x);
}

// --- element-wise and others

static const struct {
    const char *quantized, *plain;
} names[] = {
    {"QLinearAdd", "Add"},
    {"QLinearMul", "Mul"},
    {"QLinearSigmoid", "Sigmoid"},
    {"QLinearLeakyRelu", "LeakyRelu"},
    {"QLinearSoftmax", "Softmax"},
    {"QLinearAveragePool", "AveragePool"},
    {"QLinearGlobalAveragePool", "GlobalAveragePool"},
    {"QLinearReduceMean", "ReduceMean"},
};

static const char *plain_name(const ox_node *n) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].quantized, n->op) == 0)
            return names[i].plain;
    return n->op;
}

static qrn_status import_binary(ox_import *im, const ox_node *n) {
    expansion x = expand(im, n);
    const char *in[] = {real(&x, 0, 1, 1), real(&x, 3, 4, 1)};
    quantize(&x, add(&x, plain_name(n), in, 2, NULL, NULL, 0), 6);
    return finish(&x);
}

// Softmax before opset 13 takes all dimensions from the axis on as one, by default from 1 on. The
// attribute says which it is, the op written in its place follows the model's version: both must
// mean the same.
static qrn_status check_softmax(const ox_import *im, const ox_node *n) {
    const ox_val *x = ox_input(im, n, 0);
    int64_t opset = ox_attr_int(n, "opset", 13), model = ox_model_opset(im->model, "");
    uint32_t axis, behind = 0; // dimensions behind the axis that count
    QRN_TRY(ox_axis(im, n, ox_attr_int(n, "axis", -1), x->rank, &axis));
    for (uint32_t i = axis + 1; i < x->rank; i++)
        behind += x->dims[i] != 1;
    if ((opset >= 13 && model >= 13) || (!behind && ox_attr_find(n, "axis")))
        return QRN_OK;
    return ox_fail(im, n, QRN_E_UNSUPPORTED,
                   "axis %u of %u dimensions as in opset %lld, in a model of opset %lld; only the "
                   "last axis is the same before 13",
                   axis, x->rank, (long long)opset, (long long)model);
}

static qrn_status import_unary(ox_import *im, const ox_node *n) {
    QRN_TRY(channels_first(im, n));
    if (strcmp(n->op, "QLinearSoftmax") == 0)
        QRN_TRY(check_softmax(im, n));
    expansion x = expand(im, n);
    const char *in[] = {real(&x, 0, 1, 1)};
    quantize(&x, add(&x, plain_name(n), in, 1, NULL, n->attrs, n->n_attrs), 3);
    return finish(&x);
}

static qrn_status import_concat(ox_import *im, const ox_node *n) {
    expansion x = expand(im, n);
    const char *in[MAX_NODES];
    uint32_t count = n->n_in >= 2 ? (n->n_in - 2) / 3 : 0;
    if (count == 0 || count + 2 > MAX_NODES || 3 * count + 2 != n->n_in)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "%u inputs", n->n_in);
    for (uint32_t i = 0; i < count; i++)
        in[i] = real(&x, 2 + 3 * i, 3 + 3 * i, 1);
    quantize(&x, add(&x, "Concat", in, count, NULL, n->attrs, n->n_attrs), 0);
    return finish(&x);
}

static qrn_status import_where(ox_import *im, const ox_node *n) {
    expansion x = expand(im, n);
    const char *in[] = {name_of(n, 0), real(&x, 1, 2, 1), real(&x, 4, 5, 1)};
    quantize(&x, add(&x, "Where", in, 3, NULL, NULL, 0), 7);
    return finish(&x);
}

const ox_importer ox_import_quant[] = {
    {"QLinearConv", "", import_conv},
    {"QLinearConv", "com.microsoft", import_conv},
    {"QLinearMatMul", "", import_matmul},
    {"QGemm", "com.microsoft", import_gemm},
    {"MatMulIntegerToFloat", "com.microsoft", import_float_matmul},
    {"DynamicQuantizeMatMul", "com.microsoft", import_float_matmul},
    {"QLinearAdd", "com.microsoft", import_binary},
    {"QLinearMul", "com.microsoft", import_binary},
    {"QLinearSigmoid", "com.microsoft", import_unary},
    {"QLinearLeakyRelu", "com.microsoft", import_unary},
    {"QLinearSoftmax", "com.microsoft", import_unary},
    {"QLinearAveragePool", "com.microsoft", import_unary},
    {"QLinearGlobalAveragePool", "com.microsoft", import_unary},
    {"QLinearReduceMean", "com.microsoft", import_unary},
    {"QLinearConcat", "com.microsoft", import_concat},
    {"QLinearWhere", "com.microsoft", import_where},
    {0},
};
