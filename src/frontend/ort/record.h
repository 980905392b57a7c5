// SPDX-License-Identifier: MIT
//
// What a session writes about its graphs: the composed QNN graphs (dump_json_qnn_graph), the graphs
// that the host offers (dump_qnn_ep_input_graph), and which ONNX node became which QNN ops
// (enable_framework_op_trace). Files are in the forms of the public provider.
#ifndef QRN_FRONTEND_ORT_RECORD_H
#define QRN_FRONTEND_ORT_RECORD_H

#include "base/outfile.h"
#include "frontend/ort/ep.h"

#include <stdio.h>

// --- one graph while it is composed; shallow: it lives as long as the qc_graph

typedef struct qe_op {
    struct qe_op *next;
    const char *name, *type, *package;
    const char *source; // ONNX node that it was made for; NULL: none, at a border
    Qnn_Tensor_t *in, *out;
    Qnn_Param_t *params;
    uint32_t n_in, n_out, n_params;
} qe_op;

typedef struct qe_record {
    qrn_arena *arena;
    const ox_node *node; // that is being imported
    qe_op *first, **end;
    bool no_memory;
} qe_record;

qrn_status qe_record_open(qe_record *r, qc_client *c, ox_options *options); // begins to listen
qrn_status qe_record_done(qe_record *r, qc_client *c);                      // stops
void qe_record_free(qe_record *r);

// --- files

// Makes a folder (NULL or "": the current one) that can be written to; fails with words.
qrn_status qe_folder_ready(const char *option, const char *folder);
// Begins "<folder>/<name><suffix>"; slashes in the name become '_'. The caller commits the file.
qrn_status qe_file_open(const char *folder, const char *name, const char *suffix, qrn_outfile *file,
                        FILE **out);

// dump_graph.c: "<graph>.json" and "<graph>_tensor_log.json"
qrn_status qe_dump_graph(const qe_ep *ep, const char *name, const qc_graph *g, const qe_record *r);
// dump_input.c: "<graph>.<n>_qnn_ep_input_graph.json"
qrn_status qe_dump_input(qe_ep *ep, const ox_graph *g);

// trace.c: "qnn_op_trace.json"
// Notes what was taken and refused; forgets graphs of an earlier call.
qrn_status qe_trace_nodes(qe_ep *ep, const ox_model *m, const ox_plan *plan);
qrn_status qe_trace_graph(qe_ep *ep, const char *name, const qe_record *r);
qrn_status qe_trace_write(const qe_ep *ep);
// ONNX node and type of a QNN op by what a profile calls it ("conv1:OpId_3 (cycles)" on the HTP,
// "conv1" on the CPU); NULL: not known.
const char *qe_trace_source(const qe_ep *ep, const char *event, const char **type);
void qe_trace_free(qe_ep *ep);

#endif
