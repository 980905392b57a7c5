// SPDX-License-Identifier: MIT
//
// What a delegate adds to the trace of its method: the events of its library's profile, and the
// tensors that its graph gave.
#ifndef QRN_FRONTEND_EXECUTORCH_DELEGATE_TRACE_H
#define QRN_FRONTEND_EXECUTORCH_DELEGATE_TRACE_H

#include "frontend/client/client.h"
#include "frontend/executorch/trace.h"

// Makes the graph's profile. level: of the format, 0 and 1: none, 2 detailed, 3 with a trace of
// ops.
qrn_status et_profile_start(qc_graph *g, int level);
void et_profile_stop(qc_graph *g); // without a profile it does nothing
// Adds the events of the last execution.
qrn_status et_profile_read(const qc_graph *g, et_trace *t);

// Adds all outputs of the last execution; `outputs` are where they lie.
qrn_status et_trace_outputs(const qc_graph *g, void *const *outputs, et_trace *t);

#endif
