// SPDX-License-Identifier: MIT
//
// Graphs: making, filling and ending them, finding them, and finalizing. The same functions serve
// the calls of a client and a backend that makes the graphs of a binary.
#ifndef QRN_CORE_GRAPH_H
#define QRN_CORE_GRAPH_H

#include "core/objects.h"

// A new, empty graph of a context, with its handle; parent is NULL unless it is a subgraph. Fails
// with QRN_E_NAME when the context has one of that name.
qrn_status qrn_api_graph_new(qrn_api_context *c, qrn_api_graph *parent, const char *name,
                             qrn_api_graph **graph);
// Takes the graph out of its context and frees it; only for one that nobody has seen.
void qrn_api_graph_discard(qrn_api_graph *g);
// Frees a graph; its context forgets it otherwise. Called for all graphs of a context by its end.
void qrn_api_graph_free(qrn_api_graph *g);
// By name; NULL when there is none.
qrn_api_graph *qrn_api_graph_find(qrn_api_context *c, const char *name);

// Checks a node that is built: op table, shape rule, what the backend supports. c: of the node's
// graph, NULL for an op that is validated by itself. `op_config` (a Qnn_OpConfig_t) is for the
// check of a user package; NULL skips that one.
qrn_status qrn_node_check(qrn_api_backend *b, const qrn_api_context *c, const qrn_node *n,
                          const void *op_config);
// Adds a node that was checked, unless its place among branches is wrong.
qrn_status qrn_api_graph_add_node(qrn_api_graph *g, qrn_node *n);

// Is it a priority of the API, and one that the backend has?
qrn_status qrn_priority_check(int priority);

// The first output that no node writes; NULL when there is none.
const qrn_tensor *qrn_api_graph_unwritten(const qrn_api_graph *g);
// Can the graph be finalized?
qrn_status qrn_api_graph_ready(const qrn_api_graph *g);
// Compiles a graph that is ready and makes it executable; *backend_ns is the time that took inside
// the backend. A failure leaves the graph as it was.
qrn_status qrn_api_graph_build(qrn_api_graph *g, const qrn_finalize_options *opt,
                               uint64_t *backend_ns);
// Both in one.
qrn_status qrn_api_graph_complete(qrn_api_graph *g, const qrn_finalize_options *opt);

// The list of application tensors after finalize (g->io): the plan's when there is a runner, else
// inputs, then outputs, in order of creation.
qrn_status qrn_api_graph_list_io(qrn_api_graph *g);

#endif
