// SPDX-License-Identifier: MIT
//
// Executing inside the API layer: call frames, which are kept for reuse so that a call allocates
// nothing after the first of its concurrency level, and the queue behind executeAsync.
#ifndef QRN_API_EXECUTE_H
#define QRN_API_EXECUTE_H

#include "api/graph.h"

// What one execution in flight needs.
typedef struct qrn_frame {
    struct qrn_frame *next; // idle frames of the graph
    qrn_binding *io;        // [g->n_io]
    void **spare;         // [g->n_io] buffers of ours, made when needed: for outputs that were left
                          // out and for client buffers that are not aligned to their elements
    qrn_api_mem **memory; // [g->n_io] memory handles, pinned until the frame goes back; or NULL
    uint32_t n_memory;
    size_t *spare_bytes; // [g->n_io]
    uint32_t *place;     // [g->n_io] position among the client's tensors, UINT32_MAX: left out
    uint32_t n_batch;    // sets of values in each buffer
    qrn_node_time *node_times; // [n_nodes]
    void *report;              // qrn_this_backend.report_bytes for its notes
    uint32_t n_nodes, n_io;
} qrn_frame;

// Checks what a client brings and fills the frame's bindings (bind.c).
qrn_status qrn_bind_all(const qrn_api_graph *g, qrn_frame *f, const Qnn_Tensor_t *inputs,
                        uint32_t n_inputs, const Qnn_Tensor_t *outputs, uint32_t n_outputs);
// Does the shape of this output come out of the execution?
bool qrn_shape_is_result(const qrn_api_graph *g, const qrn_api_io *io);

void qrn_api_graph_free_frames(qrn_api_graph *g);
// Frees the buffers that prepareExecutionEnvironment gave out and nobody released.
void qrn_api_graph_free_buffers(qrn_api_graph *g);

// One execution: everything that was checked and bound.
typedef struct qrn_execution {
    qrn_api_graph *graph;
    qrn_frame *frame;
    Qnn_Tensor_t *outputs; // of the client; shapes are written back
    qrn_call call;
    uint64_t queued_ns;    // executeAsync: when it was queued, else 0
    Qnn_NotifyFn_t notify; // executeAsync
    void *notify_param;
} qrn_execution;

// Runs, fills the profile and writes back shapes; gives the frame back. The call is not ended.
qrn_status qrn_execution_run(qrn_execution *e);
// Gives the frame back without running.
void qrn_execution_drop(qrn_execution *e);

// Appends to the context's queue; a full one makes it wait or fail, as the backend has it. The
// queue takes the execution over.
qrn_status qrn_async_submit(qrn_api_context *c, const qrn_execution *e);
// Waits for all work and ends the thread; QRN_E_ARGUMENT when called from that thread itself.
qrn_status qrn_async_finish(qrn_api_context *c);
// In the child of a fork, which does not have the thread: what was queued is lost.
void qrn_async_after_fork(qrn_api_context *c);

#endif
