// SPDX-License-Identifier: MIT
//
// Graph component: finalize, and the check of a whole graph.
#include "api/call.h"
#include "api/given.h"
#include "base/mem.h"
#include "core/clock.h"
#include "core/errors.h"
#include "core/graph.h"

#include "QnnProperty.h"

static qrn_status finalize(qrn_api_graph *g, const void *profile, const void *signal) {
    if (g->ir->parent)
        return QRN_FAIL(QRN_E_SUBGRAPH, "graph '%s' is a subgraph, finalize '%s' instead",
                        g->ir->name, g->ir->parent->name);
    if (g->own->bound_profile && profile)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': a profile is bound, the call may not have one",
                        g->ir->name);
    QRN_TRY(qrn_context_check(g->context));
    qrn_call call;
    QRN_TRY(qrn_call_find(&call, g->context->backend, NULL, profile, signal));
    if (!qrn_this_backend.graph_finalize)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': the backend does not finalize graphs",
                        g->ir->name);
    if (call.signal && !qrn_has_capability(QNN_PROPERTY_GRAPH_SUPPORT_FINALIZE_SIGNAL))
        return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': finalize supports no signal", g->ir->name);
    QRN_TRY(qrn_api_graph_ready(g));
    QRN_TRY(qrn_call_begin(&call));
    qrn_finalize_options opt = {.poll = call.signal ? qrn_signal_poll : NULL,
                                .poll_ctx = call.signal};
    qrn_call_record r = {
        .kind = QRN_RECORD_FINALIZE, .context = g->context, .graph = g, .again = g->ir->finalized};
    qrn_status s = qrn_api_graph_build(g, &opt, &r.backend_ns);
    if (s == QRN_OK)
        qrn_call_report(&call, &r);
    qrn_call_end(&call);
    return s;
}

// Statuses that have a documented code of their own in finalize; all others are "finalize failed".
static bool has_code(qrn_status s) {
    switch (s) {
    case QRN_E_OK:
    case QRN_E_MEM:
    case QRN_E_ARGUMENT:
    case QRN_E_CREATE:
    case QRN_E_OPTIMIZE:
    case QRN_E_UNSUPPORTED:
    case QRN_E_PROFILE:
    case QRN_E_IN_USE:
    case QRN_E_ABORTED:
    case QRN_E_TIMED_OUT:
    case QRN_E_SUBGRAPH:
    case QRN_E_COMM:
    case QRN_E_COMM_FATAL:
        return true;
    default:
        return false;
    }
}

Qnn_ErrorHandle_t QnnGraph_finalize(Qnn_GraphHandle_t graphHandle,
                                    Qnn_ProfileHandle_t profileHandle,
                                    Qnn_SignalHandle_t signalHandle) {
    QRN_API_CALL;
    qrn_api_graph *g = qrn_pin_graph_alone(graphHandle);
    if (!g)
        return qrn_api_end(QRN_COMP_GRAPH,
                           QRN_FAIL(QRN_E_HANDLE, "graph_finalize: not a graph handle"), NULL);
    qrn_status s = finalize(g, profileHandle, signalHandle);
    if (has_code(s))
        return qrn_api_end(QRN_COMP_GRAPH, s, g->context->backend->log);
    return qrn_api_end_as(QNN_GRAPH_ERROR_FINALIZE_FAILED, s, g->context->backend->log);
}

typedef struct result {
    QnnGraph_ValidationResult_t client; // what the client sees; first, so that it is the address
    qrn_arena *arena;                   // holds this and everything it points at
} result;

static qrn_status check_validate(const qrn_api_graph *g, const QnnGraph_ValidateConfig_t **config,
                                 QnnGraph_ValidationResult_t **out) {
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': validationResult is NULL", g->ir->name);
    for (size_t i = 0; config && config[i]; i++)
        if (config[i]->option != QNN_GRAPH_VALIDATE_OPTION_CUSTOM || !config[i]->customConfig)
            return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': unknown option %d of validate",
                            g->ir->name, (int)config[i]->option);
    if (config && config[0])
        return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': validate has no custom options",
                        g->ir->name);
    if (!(qrn_this_backend.features & QRN_FEATURE_GRAPH_VALIDATE))
        return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': validate is not supported", g->ir->name);
    if (g->ir->finalized)
        return QRN_FAIL(QRN_E_FINALIZED, "graph '%s' is finalized", g->ir->name);
    if (g->ir->n_nodes == 0)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s' has no nodes", g->ir->name);
    const qrn_tensor *t = qrn_api_graph_unwritten(g);
    if (t)
        return QRN_FAIL(QRN_E_UNCONNECTED, "graph '%s': no node writes output tensor '%s'",
                        g->ir->name, t->name);
    return QRN_OK;
}

static bool fill_result(qrn_api_context *c, const qrn_node *n, result *r,
                        QnnGraph_NodeValidationResult_t *out) {
    out->nodeName = qrn_arena_strdup(r->arena, n->name);
    out->status = QNN_GRAPH_NODE_VALIDATION_STATUS_SUPPORTED;
    out->errorCode = QNN_SUCCESS;
    qrn_status s = qrn_node_check(c->backend, c, n, NULL);
    if (s != QRN_OK) {
        out->status = QNN_GRAPH_NODE_VALIDATION_STATUS_UNSUPPORTED;
        out->errorCode = qrn_error_code(QRN_COMP_GRAPH, s);
        out->errorMessage = qrn_arena_strdup(r->arena, qrn_message());
        if (r->client.overallStatus == QNN_SUCCESS)
            r->client.overallStatus = out->errorCode;
        qrn_message_clear();
    }
    return out->nodeName && (s == QRN_OK || out->errorMessage);
}

static qrn_status validate(qrn_api_graph *g, const QnnGraph_ValidateConfig_t **config,
                           QnnGraph_ValidationResult_t **out) {
    QRN_TRY(check_validate(g, config, out));
    qrn_arena *a = qrn_arena_create();
    result *r = a ? qrn_arena_alloc(a, sizeof(*r)) : NULL;
    QnnGraph_NodeValidationResult_t *list =
        r ? qrn_arena_alloc(a, g->ir->n_nodes * sizeof(*list)) : NULL;
    bool ok = list != NULL;
    if (r)
        *r = (result){.arena = a, .client = {.results = list, .numResults = g->ir->n_nodes}};
    for (uint32_t i = 0; ok && i < g->ir->n_nodes; i++)
        ok = fill_result(g->context, g->ir->nodes[i], r, &list[i]);
    if (ok)
        ok = qrn_given_add(QRN_GIVEN_RESULT, r);
    if (!ok) {
        qrn_arena_destroy(a);
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for the result", g->ir->name);
    }
    *out = &r->client;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnGraph_validate(Qnn_GraphHandle_t graphHandle,
                                    const QnnGraph_ValidateConfig_t **config,
                                    QnnGraph_ValidationResult_t **validationResult) {
    QRN_API_CALL;
    qrn_api_graph *g = qrn_pin_graph_alone(graphHandle);
    if (!g)
        return qrn_api_end(QRN_COMP_GRAPH,
                           QRN_FAIL(QRN_E_HANDLE, "graph_validate: not a graph handle"), NULL);
    return qrn_api_end(QRN_COMP_GRAPH, validate(g, config, validationResult),
                       g->context->backend->log);
}

Qnn_ErrorHandle_t QnnGraph_freeValidationResult(QnnGraph_ValidationResult_t *validationResult) {
    if (!qrn_given_take(QRN_GIVEN_RESULT, validationResult))
        return qrn_api_end(
            QRN_COMP_GRAPH,
            QRN_FAIL(QRN_E_ARGUMENT, "freeValidationResult: not a result of graph_validate"), NULL);
    qrn_arena_destroy(((const result *)(const void *)validationResult)->arena);
    return qrn_api_end(QRN_COMP_GRAPH, QRN_OK, NULL);
}
