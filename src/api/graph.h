// SPDX-License-Identifier: MIT
//
// Graphs inside the API layer: making and ending them, their options, finding them, and the checks
// that several entry points share.
#ifndef QRN_API_GRAPH_H
#define QRN_API_GRAPH_H

#include "api/objects.h"
#include "api/profile.h"
#include "api/signal.h"

// A new, empty graph of a context, with its handle; parent is NULL unless it is a subgraph. Fails
// with QRN_E_NAME when the context has one of that name. Used by creation and by backends that load
// graphs.
qrn_status qrn_api_graph_new(qrn_api_context *c, qrn_api_graph *parent, const char *name,
                             qrn_api_graph **graph);
// Takes the graph out of its context and frees it; only for one that nobody has seen.
void qrn_api_graph_discard(qrn_api_graph *g);
// Frees a graph; its context forgets it otherwise. Called for all graphs of a context by its end.
void qrn_api_graph_free(qrn_api_graph *g);
// By name; NULL when there is none.
qrn_api_graph *qrn_api_graph_find(qrn_api_context *c, const char *name);

// Applies a list of options, all or none (backend options may have been taken when a later one
// fails).
qrn_status qrn_api_graph_configure(qrn_api_graph *g, const QnnGraph_Config_t **config,
                                   qrn_config_phase phase);

// Is it a priority of the API, and one that the backend has?
qrn_status qrn_priority_check(int priority);

// Finalizes a graph that is built: compiles it and makes it executable. One that fails leaves it as
// it was. Used by finalize and by backends that load graphs.
qrn_status qrn_api_graph_complete(qrn_api_graph *g, const qrn_compile_options *opt);

// The list of application tensors after finalize (g->io): the plan's when there is a runner, else
// inputs, then outputs, in order of creation.
qrn_status qrn_api_graph_list_io(qrn_api_graph *g);

// Profile and signal of one call.
typedef struct qrn_call {
    qrn_api_profile *profile; // NULL: none
    qrn_api_signal *signal;   // NULL: none
    qrn_api_graph *graph;     // that is executed; a profile may be bound to it
    uint64_t start_ns;
} qrn_call;

// Looks the handles up. `g` is the graph that is executed, NULL for all other calls.
qrn_status qrn_call_find(qrn_call *call, qrn_api_backend *b, qrn_api_graph *g, const void *profile,
                         const void *signal);
// Takes both and starts the clock; nothing is held on failure.
qrn_status qrn_call_begin(qrn_call *call);
// The second half of it: takes the profile and starts the clock, for a call that has its signal.
qrn_status qrn_call_open(qrn_call *call);
// Adds the events of the call to its profile; fills in the total time.
void qrn_call_report(const qrn_call *call, qrn_call_record *r);
// Lets both go.
void qrn_call_end(qrn_call *call);
uint64_t qrn_call_now_ns(void); // monotonic clock

#endif
