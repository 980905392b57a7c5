// SPDX-License-Identifier: MIT
//
// Events in onnxruntime's own profile (SessionOptions.enable_profiling, or a profile of one run):
// one for each graph that is compiled, one for each run of a partition, and with profiling_level
// detailed one for each QNN op. The host makes a profiler per profile (from API 25 on), tells it
// which of its own events begin and end on which thread, and collects its events at the end.
#ifndef QRN_FRONTEND_ORT_TIMELINE_H
#define QRN_FRONTEND_ORT_TIMELINE_H

#include "frontend/ort/ep.h"

// What the profilers of one provider instance share; they may outlive it.
typedef struct qe_timeline qe_timeline;

qrn_status qe_timeline_open(qe_timeline **out);
void qe_timeline_close(qe_timeline *t); // NULL is fine

OrtStatus *qe_create_profiler(OrtEp *ep, OrtEpProfilerImpl **out); // callback

// Does a profile want to know what happens on this thread? Cheap while there is none.
bool qe_timeline_listens(const qe_ep *ep);

// Times are qe_now_ns; events without an end end now. An event that there is no memory for is left
// out, and counted. Before runs: what is done ("qnn_graph_compile"), and to what.
void qe_timeline_made(qe_ep *ep, const char *what, const char *graph, uint64_t start_ns);
void qe_timeline_run(qe_ep *ep, const char *graph, uint64_t start_ns);
// A QNN op within a run; `op` and `source` (of the ONNX node) may be NULL; cycles 0: not counted.
void qe_timeline_op(qe_ep *ep, const char *graph, const char *name, const char *op,
                    const char *source, uint64_t cycles, uint64_t start_ns, uint64_t end_ns);

#endif
