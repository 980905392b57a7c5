// SPDX-License-Identifier: MIT
//
// Graphs and nodes. A graph belongs to a context; nodes are kept in the order they were added,
// which is a topological order because a node may only be added after its producers.
#ifndef QRN_IR_GRAPH_H
#define QRN_IR_GRAPH_H

#include "base/arena.h"
#include "ir/op.h"
#include "ir/tensor.h"

typedef struct qrn_node {
    const char *name;
    const char *package;  // "qti.aisw" or a user package
    const char *type;     // op type name
    const qrn_op_def *op; // NULL for an op of a user package
    void *user_op;        // op of a user package: the backend's object, else NULL
    uint32_t n_in, n_out, n_params;
    qrn_tensor **in;          // NULL entries: absent
    qrn_tensor **out;         // NULL entries: absent
    qrn_param *params;        // table ops: one per op->params row; user ops: as given
    const char **param_names; // user ops only: names beside params
    struct qrn_graph *graph;
    uint32_t index; // position in graph->nodes
} qrn_node;

typedef struct qrn_graph {
    const char *name;
    struct qrn_graph *parent; // subgraphs: the graph that owns this one
    qrn_arena *arena;         // nodes, names, tensors; dies with the context
    qrn_node **nodes;
    uint32_t n_nodes, cap_nodes;
    qrn_tensor **tensors; // created in this graph, in order of creation
    uint32_t n_tensors, cap_tensors;
    struct qrn_graph **subgraphs; // children, in order of creation
    uint32_t n_subgraphs, cap_subgraphs;
    bool finalized;
} qrn_graph;

// The call view of a node for qrn_op_validate and shape rules; shapes are the caller's arrays of
// n_in and n_out entries and are filled with the declared shapes.
qrn_op_call qrn_node_call(const qrn_node *n, qrn_shape *in_shape, qrn_shape *out_shape);

qrn_graph *qrn_graph_find_subgraph(const qrn_graph *g, const char *name);
qrn_status qrn_graph_add_tensor(qrn_graph *g, qrn_tensor *t);
qrn_status qrn_graph_add_node(qrn_graph *g, qrn_node *n);
qrn_status qrn_graph_add_subgraph(qrn_graph *g, qrn_graph *child);

// --- for lowering: the same accessors as for rules, on a node
const qrn_param *qrn_node_param(const qrn_node *n, const char *name); // NULL when absent
uint32_t qrn_node_u32(const qrn_node *n, const char *name, uint32_t fallback);
int32_t qrn_node_i32(const qrn_node *n, const char *name, int32_t fallback);
float qrn_node_f32(const qrn_node *n, const char *name, float fallback);
bool qrn_node_bool(const qrn_node *n, const char *name, bool fallback);
// Copies a tensor parameter of u32/i32 elements into dst[max]; returns the count, 0 when absent.
uint32_t qrn_node_u32s(const qrn_node *n, const char *name, uint32_t *dst, uint32_t max);
uint32_t qrn_node_i32s(const qrn_node *n, const char *name, int32_t *dst, uint32_t max);
uint32_t qrn_node_f32s(const qrn_node *n, const char *name, float *dst, uint32_t max);

#endif
