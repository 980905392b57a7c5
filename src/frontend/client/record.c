// SPDX-License-Identifier: MIT
//
// Graphs that nobody runs. Those of a recording are not built: tensors get numbers, nodes are
// validated and forgotten, data is never copied. The rest of the library is the real one, so its
// answers are, too. Those of a trial are built in a context of their own, where the chip and the
// nodes before have their say.
#include "frontend/client/internal.h"

#include "base/mem.h"

#include "Quern/QuernBackend.h"

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

// Tells Quern's libraries what the next contexts are for; other libraries do not know.
static bool set_trials(const qc_client *c, bool on) {
    QuernBackend_CustomConfig_t trials = {QUERN_BACKEND_CONFIG_MAGIC, QUERN_BACKEND_OPTION_TRIALS,
                                          on};
    QnnBackend_Config_t custom = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM,
                                  .customConfig = &trials};
    const QnnBackend_Config_t *configs[] = {&custom, NULL};
    return c->is_quern && c->qnn.backendSetConfig &&
           c->qnn.backendSetConfig(c->backend, configs) == QNN_SUCCESS;
}

qrn_status qc_trial_begin(qc_client *c, Qnn_ContextHandle_t *kept) {
    Qnn_ContextHandle_t scratch = NULL;
    bool trial = set_trials(c, true);
    Qnn_ErrorHandle_t code = c->qnn.contextCreate(c->backend, c->device, NULL, &scratch);
    if (trial)
        set_trials(c, false);
    QRN_TRY(qc_check(c, code, "contextCreate"));
    *kept = c->context;
    c->context = scratch;
    c->trial = trial;
    return QRN_OK;
}

void qc_trial_end(qc_client *c, Qnn_ContextHandle_t kept) {
    c->qnn.contextFree(c->context, NULL);
    c->context = kept;
    c->trial = false;
}
