// SPDX-License-Identifier: MIT
//
// Relu folding (HTP-GRF-21): a quantized convolution or matmul whose only reader is a Relu is
// computed with the encoding of the Relu's output, so that it is rounded once. Nodes of the graph
// are not touched; copies of them, with other tensors, are lowered instead.
#include "compiler/lowering.h"

#include "base/mem.h"
#include "ir/element_wise.h"

#include <math.h>
#include <string.h>

static bool is_conv_or_matmul(const qrn_node *n) {
    static const char *const ops[] = {"Conv1d",          "Conv2d",          "Conv3d",
                                      "DepthWiseConv1d", "DepthWiseConv2d", "TransposeConv1d",
                                      "TransposeConv2d", "TransposeConv3d", "FullyConnected",
                                      "MatMul"};
    for (size_t i = 0; n->op && i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(n->op->name, ops[i]) == 0)
            return true;
    return false;
}

// The interval to which a Relu-like node clamps; false for other nodes.
static bool clamps(const qrn_node *n, double *low, double *high) {
    if (!n->op)
        return false;
    const char *op = n->op->name;
    bool neuron = strcmp(op, "ElementWiseNeuron") == 0;
    uint32_t what = neuron ? qrn_node_u32(n, "operation", 0) : UINT32_MAX;
    *low = 0;
    *high = INFINITY;
    if (strcmp(op, "Relu") == 0 || what == QRN_EW_NEURON_RELU)
        return true;
    if (strcmp(op, "Relu1") == 0) {
        *low = -1;
        *high = 1;
        return true;
    }
    *high = 6;
    if (strcmp(op, "Relu6") == 0)
        return true;
    *low = (double)qrn_node_f32(n, "min_value", 0.0f);
    *high = (double)qrn_node_f32(n, "max_value", 6.0f);
    return strcmp(op, "ReluMinMax") == 0 || what == QRN_EW_NEURON_RELU_MIN_MAX;
}

static void find_uses(qrn_uses *by_id, const qrn_graph *g, bool outermost) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const qrn_node *n = g->nodes[i];
        for (uint32_t k = 0; k < n->n_in; k++)
            if (n->in[k]) {
                qrn_uses *u = &by_id[n->in[k]->id];
                u->n_readers++;
                u->reader = outermost ? n : u->reader;
            }
        for (uint32_t k = 0; outermost && k < n->n_out; k++)
            if (n->out[k])
                by_id[n->out[k]->id].writer = n;
    }
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        find_uses(by_id, g->subgraphs[i], false);
}

qrn_status qrn_lo_find_uses(qrn_lowering *lo) {
    lo->uses = qrn_calloc(lo->n_by_id * sizeof *lo->uses);
    if (!lo->uses)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    find_uses(lo->uses, lo->graph, true);
    return QRN_OK;
}

static bool plainly_quantized(const qrn_tensor *t) {
    unsigned bits = qrn_dtypes[t->dtype].bits;
    return qrn_dtype_is_fixed(t->dtype) && (bits == 8 || bits == 16) &&
           t->format == QRN_FORMAT_DENSE && !t->has_dynamic && !t->updateable &&
           t->quant.kind == QRN_QUANT_TENSOR && t->quant.scale > 0.0f;
}

// The Relu into which convolution or matmul `n` is folded, or NULL.
static const qrn_node *relu_behind(const qrn_lowering *lo, const qrn_node *n) {
    double low, high;
    if (lo->depth || !is_conv_or_matmul(n))
        return NULL;
    const qrn_tensor *t = n->out[0];
    const qrn_node *relu = lo->uses[t->id].reader;
    if (t->role != QRN_ROLE_NATIVE || !plainly_quantized(t) || lo->uses[t->id].n_readers != 1 ||
        !relu || relu->in[0] != t || !clamps(relu, &low, &high) ||
        !plainly_quantized(relu->out[0]) || !qrn_shape_equal(&t->shape, &relu->out[0]->shape))
        return NULL;
    return relu;
}

// Does clamping to [low, high] change no quantized value of the tensor?
static bool covers(const qrn_tensor *t, double low, double high) {
    int64_t first, last;
    qrn_quant_range(t->dtype, t->quant.bits, &first, &last);
    double scale = (double)t->quant.scale, zero = 0.5 - (double)t->quant.offset;
    return floor(low / scale + zero) <= (double)first && floor(high / scale + zero) >= (double)last;
}

// What stands for the tensor between the two: the Relu's output itself when nothing is left to
// clamp, else the tensor with that output's encoding.
static qrn_tensor *between(qrn_lowering *lo, const qrn_node *before, const qrn_node *relu) {
    double low, high;
    clamps(relu, &low, &high);
    if (covers(relu->out[0], low, high))
        return relu->out[0];
    qrn_tensor *t = qrn_arena_copy(lo->cg->arena, before->out[0], sizeof *t);
    if (t) {
        t->dtype = relu->out[0]->dtype;
        t->quant = relu->out[0]->quant;
        t->size_bytes = relu->out[0]->size_bytes;
    }
    return t;
}

// A copy of the node with `t` as its first input or output.
static const qrn_node *with(qrn_lowering *lo, const qrn_node *n, qrn_tensor *t, bool output) {
    qrn_node *copy = t ? qrn_arena_copy(lo->cg->arena, n, sizeof *n) : NULL;
    qrn_tensor **list = output ? n->out : n->in;
    uint32_t count = output ? n->n_out : n->n_in;
    qrn_tensor **own = copy ? qrn_arena_copy(lo->cg->arena, list, count * sizeof *list) : NULL;
    if (!own)
        return NULL;
    own[0] = t;
    if (output)
        copy->out = own;
    else
        copy->in = own;
    return copy;
}

qrn_status qrn_lo_fold_relu(qrn_lowering *lo, const qrn_node **n, bool *done) {
    *done = false;
    if (!lo->opt->fold_relu)
        return QRN_OK;
    const qrn_node *relu = relu_behind(lo, *n), *before = *n;
    bool second = !relu;
    if (second) { // is this the Relu of one before it?
        const qrn_tensor *x = (*n)->n_in > 0 ? (*n)->in[0] : NULL;
        before = x ? lo->uses[x->id].writer : NULL;
        relu = before ? relu_behind(lo, before) : NULL;
    }
    if (!relu || (second && relu != *n))
        return QRN_OK;
    qrn_tensor *t = between(lo, before, relu);
    const qrn_node *copy = with(lo, *n, t, !second);
    if (!copy)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    *n = copy;
    *done = second && t == relu->out[0];
    return QRN_OK;
}
