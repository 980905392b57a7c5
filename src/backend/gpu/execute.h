// SPDX-License-Identifier: MIT
//
// One execution, as the files of this folder that take part in it see it.
#ifndef QRN_BACKEND_GPU_EXECUTE_H
#define QRN_BACKEND_GPU_EXECUTE_H

#include "backend/gpu/gpu.h"

typedef struct qrn_gpu_run {
    qrn_api_graph *g;
    qrn_gpu_graph *own;
    qrn_gpu_context *c;
    const qrn_gpu_plan *p;
    qrn_binding *io;
    const qrn_run_options *opt;
    cl_command_queue queue;
    // Called after the last launch of each node, or NULL.
    void (*trace)(void *ctx, uint32_t node, const qrn_values *values);
    void *trace_ctx;
    void **fetched;   // [n_values] host copies for the trace, or NULL
    cl_event *events; // [n_launches] of a detailed profile, or NULL
    bool found;       // QUERN_GPU_CHECK: a tensor was reported
} qrn_gpu_run;

// The device buffer of an application tensor in this call.
cl_mem qrn_gpu_io_memory(const qrn_gpu_run *r, uint32_t i);

// values.c: calls the trace for the nodes that end with a launch.
void qrn_gpu_report(qrn_gpu_run *r, uint32_t launch);
void qrn_gpu_drop_values(qrn_gpu_run *r);
// A trace (ctx: the run) that reports the first tensor with an infinity or a NaN.
void qrn_gpu_check_values(void *ctx, uint32_t node, const qrn_values *values);

// transfer.c: application tensor i, whose memory is the host's, to its buffer on the device and
// back; after the queue is finished, the rest of the way back.
// Where kernels find a tensor of the host.
cl_mem qrn_gpu_staged(const qrn_gpu_run *r, uint32_t i);
cl_int qrn_gpu_send(qrn_gpu_run *r, uint32_t i, size_t bytes);
cl_int qrn_gpu_fetch(qrn_gpu_run *r, uint32_t i, size_t bytes);
void qrn_gpu_fetched(qrn_gpu_run *r, uint32_t i, size_t bytes);
// external.c: before the inputs come and after the outputs are on their way.
qrn_status qrn_gpu_enter(qrn_gpu_run *r);
qrn_status qrn_gpu_leave(qrn_gpu_run *r);
// record.c: runs all launches as recorded commands. False: they are to be enqueued one by one.
bool qrn_gpu_replay(qrn_gpu_run *r);
// host.c: a host step.
qrn_status qrn_gpu_run_host(qrn_gpu_run *r, const qrn_gpu_launch *l);
// profile.c: around an execution; chooses the queue.
void qrn_gpu_profile_begin(qrn_gpu_run *r);
void qrn_gpu_profile_end(qrn_gpu_run *r);

#endif
