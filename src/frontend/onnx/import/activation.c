// SPDX-License-Identifier: MIT
//
// Fused activations.
#include "frontend/onnx/import/activation.h"

#include <float.h>
#include <string.h>

static float param(const ox_expr *e, uint32_t i, const char *name, float fallback) {
    const ox_attr *list = ox_attr_find(e->n, "activation_params");
    if (list && list->type == OX_ATTR_FLOATS && i < list->n)
        return list->floats[i];
    return ox_attr_float(e->n, name, fallback);
}

static qc_tensor *hard_sigmoid(ox_expr *e, qc_tensor *x, float alpha, float beta) {
    qc_tensor *y = ox_result_like(e, x, x->rank, x->dims);
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_ELEMENT_WISE_NEURON);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_u32(&o, QNN_OP_ELEMENT_WISE_NEURON_PARAM_OPERATION,
           QNN_OP_ELEMENT_WISE_NEURON_OPERATION_HARD_SIGMOID);
    qc_f32(&o, QNN_OP_ELEMENT_WISE_NEURON_PARAM_ALPHA, alpha);
    qc_f32(&o, QNN_OP_ELEMENT_WISE_NEURON_PARAM_BETA, beta);
    return ox_ended(e, &o, y);
}

static qc_tensor *clip(ox_expr *e, qc_tensor *x, float low, float high) {
    qc_tensor *y = ox_result_like(e, x, x->rank, x->dims);
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_RELU_MIN_MAX);
    qc_in(&o, x);
    qc_out(&o, y);
    qc_f32(&o, QNN_OP_RELU_MIN_MAX_PARAM_MIN_VALUE, low);
    qc_f32(&o, QNN_OP_RELU_MIN_MAX_PARAM_MAX_VALUE, high);
    return ox_ended(e, &o, y);
}

qc_tensor *ox_activate(ox_expr *e, qc_tensor *x) {
    const char *name = ox_attr_string(e->n, "activation", "");
    if (!x)
        return NULL;
    if (!name[0])
        return e->to ? ox_reshape(e, x, x->rank, x->dims) : x;
    if (strcmp(name, "Relu") == 0)
        return ox_unary(e, QNN_OP_RELU, x);
    if (strcmp(name, "Sigmoid") == 0)
        return ox_unary(e, QNN_OP_SIGMOID, x);
    if (strcmp(name, "Tanh") == 0)
        return ox_unary(e, QNN_OP_TANH, x);
    if (strcmp(name, "LeakyRelu") == 0)
        return ox_with(e, QNN_OP_PRELU, x, (double)param(e, 0, "activation_alpha", 0.01f));
    if (strcmp(name, "Clip") == 0)
        return clip(e, x, param(e, 0, "activation_alpha", -FLT_MAX),
                    param(e, 1, "activation_beta", FLT_MAX));
    if (strcmp(name, "HardSigmoid") == 0)
        return hard_sigmoid(e, x, param(e, 0, "activation_alpha", 0.2f),
                            param(e, 1, "activation_beta", 0.5f));
    if (e->s == QRN_OK)
        e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED, "the activation %s", name);
    return NULL;
}
