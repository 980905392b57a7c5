// SPDX-License-Identifier: MIT
//
// Graphs: ending, filling and finalizing them; what backends ask too is in services.h.
#ifndef QRN_CORE_GRAPH_H
#define QRN_CORE_GRAPH_H

#include "core/own.h"

// Takes the graph out of its context and frees it; only for one that nobody has seen.
void qrn_api_graph_discard(qrn_api_graph *g);
// Frees a graph; its context forgets it otherwise. Called for all graphs of a context by its end.
void qrn_api_graph_free(qrn_api_graph *g);
// Adds a node that was checked, unless its place among branches is wrong.
qrn_status qrn_api_graph_add_node(qrn_api_graph *g, qrn_node *n);

// The first output that no node writes; NULL when there is none.
const qrn_tensor *qrn_api_graph_unwritten(const qrn_api_graph *g);
// Can the graph be finalized?
qrn_status qrn_api_graph_ready(const qrn_api_graph *g);
// Compiles a graph that is ready and makes it executable; *backend_ns is the time that took inside
// the backend. A failure leaves the graph as it was.
qrn_status qrn_api_graph_build(qrn_api_graph *g, const qrn_finalize_options *opt,
                               uint64_t *backend_ns);
// The list of application tensors after finalize (g->io): the plan's when there is a runner, else
// inputs, then outputs, in order of creation.
qrn_status qrn_api_graph_list_io(qrn_api_graph *g);

#endif
