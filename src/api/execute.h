// SPDX-License-Identifier: MIT
//
// Executing: from the tensors of a client to bindings, and the queue behind executeAsync.
#ifndef QRN_API_EXECUTE_H
#define QRN_API_EXECUTE_H

#include "api/call.h"
#include "core/frame.h"

// Checks what a client brings and fills the frame's bindings (bind.c).
qrn_status qrn_bind_all(const qrn_api_graph *g, qrn_frame *f, const Qnn_Tensor_t *inputs,
                        uint32_t n_inputs, const Qnn_Tensor_t *outputs, uint32_t n_outputs);
// Does the shape of this output come out of the execution?
bool qrn_shape_is_result(const qrn_api_graph *g, const qrn_api_io *io);

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
#endif
