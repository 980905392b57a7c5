// SPDX-License-Identifier: MIT
//
// Memory of executions, which belongs to the graph: call frames, kept for reuse so that a call
// allocates nothing after the first of its concurrency level, and buffers that clients asked for.
#ifndef QRN_CORE_FRAME_H
#define QRN_CORE_FRAME_H

#include "core/own.h"

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

// An idle frame of the graph, or a new one; NULL when out of memory.
qrn_frame *qrn_frame_take(qrn_api_graph *g);
void qrn_frame_give(qrn_api_graph *g, qrn_frame *f);
// Frees the idle frames; nobody executes.
void qrn_frames_free(qrn_api_graph *g);

// A buffer that a client got (prepareExecutionEnvironment); freed by release or with the graph.
typedef struct qrn_exec_buffer {
    struct qrn_exec_buffer *next;
    void *data;
} qrn_exec_buffer;

void qrn_exec_buffers_free(qrn_exec_buffer *list);

#endif
