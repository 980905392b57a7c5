// SPDX-License-Identifier: MIT
//
// The GPU backend's own parts of the objects.
#ifndef QRN_BACKEND_GPU_H
#define QRN_BACKEND_GPU_H

#include "bind/gpu/plan.h"
#include "core/services.h"

#include <pthread.h>

extern const qrn_support_table qrn_gpu_support;

// Behind qrn_api_backend.impl: one device and one OpenCL context, shared by all QNN contexts.
typedef struct qrn_gpu_backend {
    qrn_cl_device *devices; // all of this machine
    uint32_t n_devices;
    uint32_t chosen;
    qrn_gpu_device device;
} qrn_gpu_backend;

// Behind qrn_api_context.impl: its queue, on which the graphs run one after the other.
typedef struct qrn_gpu_context {
    cl_command_queue queue;
    pthread_mutex_t lock; // of the queue and of the kernels' arguments
    bool lost;            // the device has failed: nothing works any more
} qrn_gpu_context;

// Behind qrn_api_graph.impl.
typedef struct qrn_gpu_graph {
    uint8_t precision; // qrn_gpu_precision
    bool keep_memory, keep_nodes, no_recording;
    qrn_gpu_plan *plan;
    cl_mem *io; // [n_io] device buffers for tensors that come in host memory
} qrn_gpu_graph;

static inline qrn_gpu_backend *qrn_gpu_backend_of(const qrn_api_backend *b) { return b->impl; }
static inline qrn_gpu_context *qrn_gpu_context_of(const qrn_api_context *c) { return c->impl; }
static inline qrn_gpu_graph *qrn_gpu_graph_of(const qrn_api_graph *g) { return g->impl; }

// finalize.c
qrn_status qrn_gpu_finalize(qrn_api_graph *g, const qrn_finalize_options *opt);
void qrn_gpu_graph_clear(qrn_gpu_graph *g); // frees its plan and buffers
// execute.c
qrn_status qrn_gpu_execute(qrn_api_graph *g, qrn_binding *io, const qrn_run_options *opt);

#endif
