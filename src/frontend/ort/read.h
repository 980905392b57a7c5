// SPDX-License-Identifier: MIT
//
// Reading a graph of onnxruntime into the importer's model: the second reader beside the one for
// files. Names are copied; constants stay where the host keeps them and live as long as its graph.
#ifndef QRN_FRONTEND_ORT_READ_H
#define QRN_FRONTEND_ORT_READ_H

#include "frontend/onnx/reader/model.h"
#include "frontend/ort/host.h"

typedef struct qe_graph {
    ox_model *model;
    const OrtNode **nodes; // one for each node of the model's graph, in its order
    const OrtNode *parent; // the node whose body it is, or NULL
    // Values of inputs that each run may replace: initializers that are inputs as well.
    const ox_tensor *defaults;
    uint32_t n_defaults;
} qe_graph;

qrn_status qe_read(const OrtGraph *g, qe_graph *out);
// A single node, for its name and those of its values; lives in the arena.
qrn_status qe_read_node(const OrtNode *node, qrn_arena *arena, ox_node *out);
// Describes a tensor with a name; its data stays with the host.
qrn_status qe_read_tensor(const OrtValue *v, ox_tensor *t);
void qe_read_free(qe_graph *g); // a cleared one is fine

#endif
