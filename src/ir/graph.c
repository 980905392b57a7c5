// SPDX-License-Identifier: MIT
//
// Graphs: growing lists of nodes, tensors and subgraphs in the graph's arena. Adding a node checks
// how it is connected, so that the order of nodes is always a topological one.
#include "ir/graph.h"

#include "ir/element_wise.h"

#include <string.h>

qrn_op_call qrn_node_call(const qrn_node *n, qrn_shape *in_shape, qrn_shape *out_shape) {
    for (uint32_t i = 0; i < n->n_in; i++)
        in_shape[i] = n->in[i] ? n->in[i]->shape : (qrn_shape){0};
    for (uint32_t i = 0; i < n->n_out; i++)
        out_shape[i] = n->out[i] ? n->out[i]->shape : (qrn_shape){0};
    return (qrn_op_call){
        .graph = n->graph ? n->graph->name : NULL,
        .node = n->name,
        .op = n->op,
        .n_in = n->n_in,
        .n_out = n->n_out,
        .in = (const qrn_tensor *const *)n->in,
        .out = (const qrn_tensor *const *)n->out,
        .params = n->params,
        .in_shape = in_shape,
        .out_shape = out_shape,
    };
}

qrn_graph *qrn_graph_find_subgraph(const qrn_graph *g, const char *name) {
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        if (strcmp(g->subgraphs[i]->name, name) == 0)
            return g->subgraphs[i];
    return NULL;
}

// Makes room for one more pointer. The old array stays in the arena: doubling bounds the waste.
static void *with_room(qrn_graph *g, void *list, uint32_t n, uint32_t *cap) {
    if (n < *cap)
        return list;
    uint32_t more = *cap ? *cap * 2 : 16;
    void *bigger = qrn_arena_alloc(g->arena, (size_t)more * sizeof(void *));
    if (!bigger)
        return NULL;
    if (n)
        memcpy(bigger, list, (size_t)n * sizeof(void *));
    *cap = more;
    return bigger;
}

static qrn_status no_memory(const qrn_graph *g, const char *what) {
    return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory while adding a %s", g->name, what);
}

qrn_status qrn_graph_add_tensor(qrn_graph *g, qrn_tensor *t) {
    qrn_tensor **list = with_room(g, g->tensors, g->n_tensors, &g->cap_tensors);
    if (!list)
        return no_memory(g, "tensor");
    g->tensors = list;
    list[g->n_tensors++] = t;
    t->graph = g;
    return QRN_OK;
}

qrn_status qrn_graph_add_subgraph(qrn_graph *g, qrn_graph *child) {
    if (qrn_graph_find_subgraph(g, child->name))
        return QRN_FAIL(QRN_E_NAME, "graph '%s': has a subgraph '%s' already", g->name,
                        child->name);
    qrn_graph **list = with_room(g, g->subgraphs, g->n_subgraphs, &g->cap_subgraphs);
    if (!list)
        return no_memory(g, "subgraph");
    g->subgraphs = list;
    list[g->n_subgraphs++] = child;
    child->parent = g;
    return QRN_OK;
}

static qrn_status check_inputs(const qrn_graph *g, const qrn_node *n) {
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qrn_tensor *t = n->in[i];
        bool made_by_a_node = t && (t->role == QRN_ROLE_NATIVE || t->role == QRN_ROLE_OUTPUT);
        if (made_by_a_node && !t->producer)
            return QRN_FAIL(QRN_E_UNCONNECTED,
                            "graph '%s' node '%s' (%s): input %u (tensor '%s') is written by no "
                            "node added so far",
                            g->name, n->name, n->type, i, t->name);
    }
    return QRN_OK;
}

static qrn_status check_outputs(const qrn_graph *g, const qrn_node *n) {
    for (uint32_t i = 0; i < n->n_out; i++) {
        const qrn_tensor *t = n->out[i];
        if (!t)
            continue;
        if (t->role != QRN_ROLE_NATIVE && t->role != QRN_ROLE_OUTPUT && t->role != QRN_ROLE_INOUT)
            return QRN_FAIL(QRN_E_OP_CONFIG,
                            "graph '%s' node '%s' (%s): output %u (tensor '%s') is a tensor that "
                            "no op may write",
                            g->name, n->name, n->type, i, t->name);
        if (t->producer && t->producer->graph == n->graph)
            return QRN_FAIL(QRN_E_OP_CONFIG,
                            "graph '%s' node '%s' (%s): output %u (tensor '%s') is written by "
                            "node '%s' already",
                            g->name, n->name, n->type, i, t->name, t->producer->name);
        for (uint32_t k = 0; k < i; k++)
            if (n->out[k] == t)
                return QRN_FAIL(QRN_E_OP_CONFIG,
                                "graph '%s' node '%s' (%s): tensor '%s' is both output %u and %u",
                                g->name, n->name, n->type, t->name, k, i);
    }
    return QRN_OK;
}

// Sigmoid and Tanh have an encoding of their own; onnxruntime leaves it out between the two ops of
// a Swish.
static void give_encoding(const qrn_node *n) {
    if (!n->op || n->n_out != 1 || !n->out[0] || !qrn_dtype_is_fixed(n->out[0]->dtype) ||
        n->out[0]->quant.kind != QRN_QUANT_NONE)
        return;
    bool neuron = strcmp(n->op->name, "ElementWiseNeuron") == 0;
    uint32_t which = neuron ? qrn_node_u32(n, "operation", 0) : 0;
    bool sigmoid = neuron ? which == QRN_EW_NEURON_SIGMOID : strcmp(n->op->name, "Sigmoid") == 0;
    bool tanh = neuron ? which == QRN_EW_NEURON_TANH : strcmp(n->op->name, "Tanh") == 0;
    if (!sigmoid && !tanh)
        return;
    qrn_quant *q = &n->out[0]->quant;
    int64_t low, high;
    qrn_quant_range(n->out[0]->dtype, q->bits, &low, &high);
    bool is_signed = low < 0;
    float half = (float)(is_signed ? high + 1 : (high + 1) / 2); // values on each side
    q->kind = QRN_QUANT_TENSOR;
    q->scale = sigmoid && !is_signed ? 0.5f / half : 1.0f / half;
    q->offset = tanh && !is_signed ? -(int32_t)half : 0;
}

qrn_status qrn_graph_add_node(qrn_graph *g, qrn_node *n) {
    n->graph = g;
    QRN_TRY(check_inputs(g, n));
    QRN_TRY(check_outputs(g, n));
    qrn_node **list = with_room(g, g->nodes, g->n_nodes, &g->cap_nodes);
    if (!list)
        return no_memory(g, "node");
    g->nodes = list;
    n->index = g->n_nodes;
    list[g->n_nodes++] = n;
    give_encoding(n);
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i])
            n->out[i]->producer = n;
    return QRN_OK;
}
