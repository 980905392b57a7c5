// SPDX-License-Identifier: MIT
//
// A context binary as an ONNX model: an EPContext node for each graph, which QNN's execution
// providers read.
#ifndef QRN_FRONTEND_ONNX_CONTEXT_MODEL_H
#define QRN_FRONTEND_ONNX_CONTEXT_MODEL_H

#include "base/status.h"
#include "frontend/onnx/writer/wire_write.h"

#include "System/QnnSystemContext.h"

typedef struct ox_context_source {
    const QnnSystemContext_BinaryInfoV3_t *info;
    const char *file; // name of the binary beside the model; NULL: it is embedded
    const void *bytes;
    size_t n_bytes;
    const char *provider; // for which the nodes are ("source")
    const char *graph;    // the only one to be in the model; NULL: all
} ox_context_source;

// Inputs and outputs are the graphs' own, stored values where they are quantized. Fails where
// graphs have values of one name in common, or types that ONNX does not have. The caller frees the
// writer.
qrn_status ox_context_model(const ox_context_source *from, ox_writer *out);

#endif
