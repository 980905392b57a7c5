// SPDX-License-Identifier: MIT
//
// What the quantizer knows about ONNX ops, as tables: which only move numbers, what their constant
// inputs are, and which axis of a weight has the channels.
#include "quantizer/plan.h"

#include <string.h>

// Inputs whose numbers an op hands on unchanged, as a bit mask.
static const struct {
    const char *op;
    uint32_t inputs;
} movers[] = {
    {"Concat", ~0u},        {"DepthToSpace", 1}, {"Dropout", 1},  {"Expand", 1},
    {"Flatten", 1},         {"Gather", 1},       {"GatherND", 1}, {"GatherElements", 1},
    {"GlobalMaxPool", 1},   {"Identity", 1},     {"MaxPool", 1},  {"Pad", 1},
    {"ReduceMax", 1},       {"ReduceMin", 1},    {"Reshape", 1},  {"Resize", 1},
    {"ScatterElements", 5}, {"ScatterND", 5},    {"Slice", 1},    {"SpaceToDepth", 1},
    {"Split", 1},           {"Squeeze", 1},      {"Tile", 1},     {"Transpose", 1},
    {"Unsqueeze", 1},
};

bool qz_moves(const ox_node *n, uint32_t input) {
    for (size_t i = 0; i < sizeof movers / sizeof movers[0]; i++)
        if (qz_is(n, movers[i].op))
            return input < 32 && (movers[i].inputs >> input & 1);
    return false;
}

// Ops that have float constants as parameters: all inputs but the first stay as they are.
static bool has_float_parameters(const ox_node *n) {
    static const char *const ops[] = {"BatchNormalization",
                                      "Clip",
                                      "Dropout",
                                      "GroupNormalization",
                                      "InstanceNormalization",
                                      "LayerNormalization",
                                      "OneHot",
                                      "PRelu",
                                      "Pad",
                                      "Pow",
                                      "RMSNormalization",
                                      "Resize",
                                      "Upsample"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (qz_is(n, ops[i]))
            return true;
    return false;
}

// Is a node part of a pattern that the importer makes one op of?
static bool is_inside(const qz_graph *g, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
        const qz_value *v = qz_find(g, i < n->n_in ? n->in[i] : n->out[i - n->n_in]);
        if (v && !v->data && !v->seen)
            return true;
    }
    return false;
}

static bool is_bias(const ox_node *n, uint32_t input) {
    if (qz_is(n, "Gemm"))
        return input == 2 && ox_attr_float(n, "alpha", 1) == 1 && ox_attr_float(n, "beta", 1) == 1;
    return input == 2 && (qz_is(n, "Conv") || qz_is(n, "ConvTranspose"));
}

qz_role qz_role_of(const qz_graph *g, const ox_node *n, uint32_t input) {
    const qz_value *w = qz_find(g, n->in[input]);
    if (input == 1 && (qz_is(n, "Conv") || qz_is(n, "ConvTranspose") || qz_is(n, "Gemm") ||
                       (qz_is(n, "MatMul") && w && w->rank >= 2)))
        return QZ_ROLE_WEIGHT;
    if (is_bias(n, input))
        return QZ_ROLE_BIAS;
    if (input > 0 && (has_float_parameters(n) || qz_is(n, "Gemm")))
        return QZ_ROLE_FLOAT;
    return is_inside(g, n) ? QZ_ROLE_FLOAT : QZ_ROLE_OPERAND;
}

bool qz_weight_axes(const ox_node *n, const qz_value *w, int32_t *channel, int32_t *summed) {
    int32_t last = (int32_t)w->rank - 1;
    *channel = 0;
    *summed = 1;
    if (qz_is(n, "MatMul")) {
        *channel = last;
        *summed = last - 1;
        return w->rank == 2;
    }
    if (qz_is(n, "Gemm")) {
        bool transposed = ox_attr_int(n, "transB", 0) != 0;
        *channel = transposed ? 0 : 1;
        *summed = transposed ? 1 : 0;
        return w->rank == 2;
    }
    if (qz_is(n, "ConvTranspose")) {
        *channel = 1;
        *summed = 0;
        return w->rank > 2 && ox_attr_int(n, "group", 1) == 1;
    }
    return w->rank > 2;
}
