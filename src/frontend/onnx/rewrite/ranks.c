// SPDX-License-Identifier: MIT
//
// Ranks of values that a model does not declare. Exporters often leave the value_info of inner
// values out, and an axis that counts from the front says little without the rank; onnxruntime
// gives the provider all shapes. So ranks are worked out from what is declared, by ops that keep
// the rank of their inputs. They serve to find patterns; assume.c compares them with the real ones.
#include "frontend/onnx/driver/internal.h"

#include <string.h>

// Ops whose result has the rank of the first input.
static const char *const keeping[] = {
    "Abs",
    "AveragePool",
    "BatchNormalization",
    "Cast",
    "Ceil",
    "Clip",
    "Conv",
    "ConvTranspose",
    "CumSum",
    "DequantizeLinear",
    "Dropout",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "GlobalAveragePool",
    "GroupNormalization",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "InstanceNormalization",
    "LayerNormalization",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "MaxPool",
    "Neg",
    "Pad",
    "QuantizeLinear",
    "RMSNormalization",
    "Reciprocal",
    "Relu",
    "Round",
    "Sigmoid",
    "Slice",
    "Softmax",
    "Softplus",
    "Sqrt",
    "Tanh",
    "Transpose",
};
// Ops whose result has the greater rank of their inputs: they broadcast.
static const char *const broadcasting[] = {"Add", "Div", "Max", "Min",
                                           "Mul", "Pow", "Sub", "Where"};
// Reductions, which keep the rank where keepdims says so.
static const char *const reducing[] = {"ReduceL2",  "ReduceMax", "ReduceMean",
                                       "ReduceMin", "ReduceSum", "ReduceSumSquare"};

static bool is_one_of(const char *op, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(op, list[i]) == 0)
            return true;
    return false;
}
#define IS(node, list) is_one_of((node)->op, list, sizeof(list) / sizeof((list)[0]))

// The map has ranks one higher, as it has no zeros.
int ox_rank_of(const ox_import *im, const char *name) {
    const ox_info *info = name[0] ? ox_declared(im, name) : NULL;
    const ox_val *v = name[0] && !info ? ox_scope_find(im->scope, name) : NULL;
    if (info)
        return (int)info->rank;
    if (v && v->data)
        return (int)v->rank;
    return (int)(uintptr_t)qrn_strmap_get(&im->ranks, name) - 1;
}

// -1: not known.
static int rank_behind(const ox_import *im, const ox_node *n) {
    bool reduces = IS(n, reducing);
    if (n->domain[0] || n->n_in == 0 || (reduces && ox_attr_int(n, "keepdims", 1) != 1))
        return -1;
    if (reduces || IS(n, keeping))
        return ox_rank_of(im, n->in[0]);
    if (!IS(n, broadcasting))
        return -1;
    int most = 0;
    for (uint32_t i = 0; i < n->n_in && most >= 0; i++) {
        int rank = ox_rank_of(im, n->in[i]);
        most = rank < 0 ? -1 : rank > most ? rank : most;
    }
    return most;
}

qrn_status ox_note_ranks(ox_import *im) {
    const ox_graph *g = im->model->graph;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const ox_node *n = &g->nodes[i];
        if (n->n_out == 0 || !n->out[0][0] || ox_declared(im, n->out[0]))
            continue;
        int rank = rank_behind(im, n);
        if (rank >= 0 && !qrn_strmap_put(&im->ranks, n->out[0], (void *)((uintptr_t)rank + 1)))
            return ox_no_memory(im);
    }
    return QRN_OK;
}
