// SPDX-License-Identifier: MIT
//
// Graph component: finalize, and the check of a whole graph. A finalize that fails leaves the graph
// as it was; one that succeeds ends its changes, unless updateable tensors are updated.
#include "api/context.h"
#include "api/errors.h"
#include "api/execute.h"
#include "api/given.h"
#include "api/opconfig.h"
#include "base/mem.h"

#include "QnnProperty.h"

#include <string.h>

static const qrn_tensor *unwritten_output(const qrn_graph *g) {
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->role == QRN_ROLE_OUTPUT && !g->tensors[i]->producer)
            return g->tensors[i];
    return NULL;
}

static qrn_status check_ready(const qrn_api_graph *g) {
    if (g->ir->finalized && !g->stale)
        return QRN_FAIL(QRN_E_FINALIZE, "graph '%s' is finalized already", g->ir->name);
    if (g->context->is_trial)
        return QRN_FAIL(QRN_E_FINALIZE, "graph '%s': its context is for trials, without weights",
                        g->ir->name);
    if (g->ir->n_nodes == 0)
        return QRN_FAIL(QRN_E_FINALIZE, "graph '%s' has no nodes", g->ir->name);
    const qrn_tensor *t = unwritten_output(g->ir);
    if (t)
        return QRN_FAIL(QRN_E_FINALIZE, "graph '%s': no node writes output tensor '%s'",
                        g->ir->name, t->name);
    return QRN_OK;
}

static void mark_finalized(qrn_graph *g) {
    g->finalized = true;
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        mark_finalized(g->subgraphs[i]);
}

static qrn_status list_plan_io(qrn_api_graph *g, const qrn_plan *p, qrn_api_io *io) {
    qrn_status s = QRN_OK;
    pthread_mutex_lock(&g->context->lock);
    for (uint32_t i = 0; i < p->n_io && s == QRN_OK; i++) {
        uint32_t id = p->io[i].tensor_id;
        io[i].tensor = id && id <= g->context->n_tensors ? g->context->tensors[id - 1] : NULL;
        io[i].is_output = p->io[i].is_output;
        if (!io[i].tensor)
            s = QRN_FAIL(QRN_E_FINALIZE, "graph '%s': the plan uses tensor id %u, which is unknown",
                         g->ir->name, id);
    }
    pthread_mutex_unlock(&g->context->lock);
    return s;
}

// Does some node need the tensor: as an operand that its op requires?
static bool is_needed(const qrn_graph *g, const qrn_tensor *t) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const qrn_node *n = g->nodes[i];
        for (uint32_t k = 0; k < n->n_in; k++)
            if (n->in[k] == t &&
                (!n->op || k >= n->op->n_ins || n->op->ins[k].presence != QRN_OPTIONAL))
                return true;
    }
    for (uint32_t i = 0; i < g->n_subgraphs; i++)
        if (is_needed(g->subgraphs[i], t))
            return true;
    return false;
}

// Steps with one operand (conversions) cannot do without it, whatever the op says.
static bool is_needed_by_step(const qrn_plan *p, uint32_t value) {
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].n_in == 1 && p->steps[i].in[0] == value)
            return true;
    return false;
}

// An output that is left out goes to a spare buffer; an input must be one that no op needs.
static void find_lacking(const qrn_api_graph *g, const qrn_plan *p, qrn_api_io *io, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        io[i].may_lack = io[i].tensor->optional_io &&
                         (io[i].is_output || (!is_needed(g->ir, io[i].tensor) &&
                                              !(p && is_needed_by_step(p, p->io[i].value))));
}

qrn_status qrn_api_graph_list_io(qrn_api_graph *g) {
    const qrn_plan *p = g->runner ? qrn_runner_plan(g->runner) : NULL;
    size_t room = p ? p->n_io : g->ir->n_tensors;
    qrn_api_io *io = qrn_calloc((room + 1) * sizeof(*io));
    if (!io)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", g->ir->name);
    uint32_t n = 0;
    qrn_status s = p ? list_plan_io(g, p, io) : QRN_OK;
    if (s != QRN_OK) {
        qrn_free(io);
        return s;
    }
    for (int pass = 0; !p && pass < 2; pass++)
        for (uint32_t i = 0; i < g->ir->n_tensors; i++)
            if (g->ir->tensors[i]->role == (pass ? QRN_ROLE_OUTPUT : QRN_ROLE_INPUT))
                io[n++] = (qrn_api_io){.tensor = g->ir->tensors[i], .is_output = pass == 1};
    n = p ? p->n_io : n;
    find_lacking(g, p, io, n);
    qrn_free(g->io);
    g->io = io;
    g->n_io = n;
    g->n_plan_nodes = p ? p->n_nodes : g->ir->n_nodes;
    g->plan_dynamic = p && p->dynamic;
    return QRN_OK;
}

// Weights that were packed are not kept a second time. A graph that may be finalized again, or
// whose ops are watched, needs them; constants of a binary are not ours to free.
static bool may_release(const qrn_api_graph *g) {
    if (g->context->from_binary)
        return false;
    for (uint32_t i = 0; i < g->ir->n_tensors; i++)
        if (g->ir->tensors[i]->updateable)
            return false;
    return !g->debug_callback;
}

static void release_data(void *graph, const void *tensor) {
    qrn_api_graph *g = graph;
    qrn_tensor *t = (qrn_tensor *)(uintptr_t)tensor; // ours; the plan only hands it back
    pthread_mutex_lock(&g->context->lock);
    qrn_blobs_drop(&g->context->blobs, t->data);
    t->data = NULL;
    pthread_mutex_unlock(&g->context->lock);
}

// Builds the new executable form beside the old one and swaps them at the end.
static qrn_status build(qrn_api_graph *g, const qrn_compile_options *opt, uint64_t *backend_ns) {
    qrn_runner *old = g->runner;
    g->runner = NULL;
    uint64_t start = qrn_call_now_ns();
    qrn_status s = qrn_this_backend.graph_finalize(g, opt);
    *backend_ns = qrn_call_now_ns() - start;
    if (s == QRN_OK)
        s = qrn_api_graph_list_io(g);
    if (s != QRN_OK) {
        qrn_runner_destroy(g->runner);
        g->runner = old;
        return s;
    }
    qrn_runner_destroy(old);
    if (g->runner)
        qrn_runner_finish(g->runner, may_release(g) ? release_data : NULL, g);
    qrn_api_graph_free_frames(g);
    pthread_mutex_lock(&g->context->lock);
    for (uint32_t i = 0; i < g->n_retired; i++)
        qrn_blobs_drop(&g->context->blobs, g->retired[i]);
    pthread_mutex_unlock(&g->context->lock);
    g->n_retired = 0;
    g->stale = false;
    mark_finalized(g->ir);
    return QRN_OK;
}

qrn_status qrn_api_graph_complete(qrn_api_graph *g, const qrn_compile_options *opt) {
    uint64_t unused;
    QRN_TRY(check_ready(g));
    return build(g, opt, &unused);
}

static qrn_status finalize(qrn_api_graph *g, const void *profile, const void *signal) {
    if (g->ir->parent)
        return QRN_FAIL(QRN_E_SUBGRAPH, "graph '%s' is a subgraph, finalize '%s' instead",
                        g->ir->name, g->ir->parent->name);
    if (g->bound_profile && profile)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': a profile is bound, the call may not have one",
                        g->ir->name);
    QRN_TRY(qrn_context_check(g->context));
    qrn_call call;
    QRN_TRY(qrn_call_find(&call, g->context->backend, NULL, profile, signal));
    if (!qrn_this_backend.graph_finalize)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': the backend does not finalize graphs",
                        g->ir->name);
    if (call.signal && !qrn_has_capability(QNN_PROPERTY_GRAPH_SUPPORT_FINALIZE_SIGNAL))
        return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': finalize takes no signal", g->ir->name);
    QRN_TRY(check_ready(g));
    QRN_TRY(qrn_call_begin(&call));
    qrn_compile_options opt = {.poll = call.signal ? qrn_signal_poll : NULL,
                               .poll_ctx = call.signal};
    qrn_call_record r = {
        .kind = QRN_RECORD_FINALIZE, .context = g->context, .graph = g, .again = g->ir->finalized};
    qrn_status s = build(g, &opt, &r.backend_ns);
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
    const qrn_tensor *t = unwritten_output(g->ir);
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
