// SPDX-License-Identifier: MIT
//
// Graphs that are not built: tensors get numbers, nodes are validated and forgotten, data is never
// copied. The rest of the library is the real one, so its answers are, too.
#include "frontend/client/internal.h"

#include "base/mem.h"

typedef struct recorded {
    const qc_client *client;
    uint32_t n_tensors;
} recorded;

// The API gives a graph's handle back to every call: it is the recording.
static Qnn_ErrorHandle_t create(Qnn_ContextHandle_t context, const char *name,
                                const QnnGraph_Config_t **configs, Qnn_GraphHandle_t *out) {
    (void)name, (void)configs;
    recorded *r = qrn_calloc(sizeof *r);
    if (!r)
        return QNN_GRAPH_ERROR_MEM_ALLOC;
    r->client = (const qc_client *)context;
    *out = (Qnn_GraphHandle_t)r;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t add_tensor(Qnn_GraphHandle_t graph, Qnn_Tensor_t *t) {
    t->v1.id = ++((recorded *)graph)->n_tensors;
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t add_node(Qnn_GraphHandle_t graph, Qnn_OpConfig_t config) {
    const qc_client *c = ((const recorded *)graph)->client;
    return c->qnn.backendValidateOpConfig(c->backend, config);
}

qrn_status qc_record(qc_client *c) {
    if (!c->qnn.backendValidateOpConfig)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s cannot validate ops", c->path);
    if (c->context)
        c->qnn.contextFree(c->context, NULL);
    c->recording = true;
    c->context = (Qnn_ContextHandle_t)c;
    c->qnn.graphCreate = create;
    c->qnn.tensorCreateGraphTensor = add_tensor;
    c->qnn.graphAddNode = add_node;
    return QRN_OK;
}

void qc_record_free(qc_graph *g) { qrn_free(g->handle); }
