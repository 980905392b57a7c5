// SPDX-License-Identifier: MIT
//
// Graph component: calls on graphs up to finalize.
#include "api/graph.h"

#include "api/context.h"
#include "api/opconfig.h"
#include "core/errors.h"

static bool has(qrn_feature f) { return (qrn_this_backend.features & f) != 0; }

static qrn_api_log *log_of(const qrn_api_graph *g) { return g->context->backend->log; }

static Qnn_ErrorHandle_t not_a_graph(const char *function) {
    return qrn_api_end(
        QRN_COMP_GRAPH,
        QRN_FAIL(QRN_E_HANDLE, "%s: not a graph handle%s", function, qrn_pin_reason()), NULL);
}

static qrn_status create(qrn_api_context *c, const char *name, const QnnGraph_Config_t **config,
                         Qnn_GraphHandle_t *out) {
    QRN_TRY(qrn_context_check(c));
    if (!name || !*name)
        return QRN_FAIL(QRN_E_NAME, "graph_create: a graph needs a name");
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': graphHandle is NULL", name);
    if (c->from_binary)
        return QRN_FAIL(QRN_E_NOT_PERMITTED,
                        "graph '%s': the context came from a binary and accepts no graphs", name);
    qrn_api_graph *g = NULL;
    QRN_TRY(qrn_api_graph_new(c, NULL, name, &g));
    qrn_status s = qrn_api_graph_configure(g, config, QRN_CONFIG_CREATE);
    if (s != QRN_OK) {
        qrn_api_graph_discard(g);
        return s;
    }
    *out = g->handle;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnGraph_create(Qnn_ContextHandle_t contextHandle, const char *graphName,
                                  const QnnGraph_Config_t **config,
                                  Qnn_GraphHandle_t *graphHandle) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin_alone(QRN_KIND_CONTEXT, contextHandle);
    if (!c)
        return qrn_api_end(QRN_COMP_GRAPH,
                           QRN_FAIL(QRN_E_HANDLE, "graph_create: not a context handle"), NULL);
    return qrn_api_end(QRN_COMP_GRAPH, create(c, graphName, config, graphHandle), c->backend->log);
}

static qrn_status create_subgraph(qrn_api_graph *parent, const char *name, Qnn_GraphHandle_t *out) {
    QRN_TRY(qrn_context_check(parent->context));
    if (!name || !*name)
        return QRN_FAIL(QRN_E_NAME, "graph '%s': a subgraph needs a name", parent->ir->name);
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "subgraph '%s': subgraphHandle is NULL", name);
    if (!has(QRN_FEATURE_SUBGRAPH))
        return QRN_FAIL(QRN_E_UNSUPPORTED, "subgraph '%s': subgraphs are not supported", name);
    if (parent->ir->finalized)
        return QRN_FAIL(QRN_E_NOT_PERMITTED, "subgraph '%s': graph '%s' is finalized", name,
                        parent->ir->name);
    qrn_api_graph *g = NULL;
    QRN_TRY(qrn_api_graph_new(parent->context, parent, name, &g));
    *out = g->handle;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnGraph_createSubgraph(Qnn_GraphHandle_t graphHandle, const char *graphName,
                                          Qnn_GraphHandle_t *subgraphHandle) {
    QRN_API_CALL;
    qrn_api_graph *g = qrn_pin_graph_alone(graphHandle);
    if (!g)
        return not_a_graph("graph_createSubgraph");
    return qrn_api_end(QRN_COMP_GRAPH, create_subgraph(g, graphName, subgraphHandle), log_of(g));
}

// Options of the backend, and what finalizing needs, change while nobody executes; priority and
// profiling at any time.
static bool changes_at_any_time(const QnnGraph_Config_t **config) {
    for (size_t i = 0; config && config[i]; i++)
        if (config[i]->option != QNN_GRAPH_CONFIG_OPTION_PRIORITY &&
            config[i]->option != QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_STATE &&
            config[i]->option != QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_NUM_EXECUTIONS)
            return false;
    return true;
}

Qnn_ErrorHandle_t QnnGraph_setConfig(Qnn_GraphHandle_t graphHandle,
                                     const QnnGraph_Config_t **config) {
    QRN_API_CALL;
    qrn_api_graph *g = changes_at_any_time(config) ? qrn_pin(QRN_KIND_GRAPH, graphHandle)
                                                   : qrn_pin_graph_alone(graphHandle);
    if (!g)
        return not_a_graph("graph_setConfig");
    qrn_status s = qrn_context_check(g->context);
    if (s != QRN_OK)
        return qrn_api_end(QRN_COMP_GRAPH, s, log_of(g));
    if (!config)
        s = QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': config is NULL", g->ir->name);
    else if (g->ir->parent)
        s = QRN_FAIL(QRN_E_SUBGRAPH, "graph '%s' is a subgraph and has no options", g->ir->name);
    else if (!has(QRN_FEATURE_GRAPH_CONFIG))
        s = QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': options cannot be changed", g->ir->name);
    else
        s = qrn_api_graph_configure(g, config,
                                    g->ir->finalized ? QRN_CONFIG_SET_FINAL : QRN_CONFIG_SET);
    return qrn_api_end(QRN_COMP_GRAPH, s, log_of(g));
}

static qrn_status get_properties(qrn_api_graph *g, QnnGraph_Property_t **properties) {
    QRN_TRY(qrn_context_check(g->context));
    if (!properties)
        return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': properties is NULL", g->ir->name);
    for (size_t i = 0; properties[i]; i++)
        if (properties[i]->option != QNN_GRAPH_PROPERTY_OPTION_CUSTOM)
            return QRN_FAIL(QRN_E_ARGUMENT, "graph '%s': unknown property %d", g->ir->name,
                            (int)properties[i]->option);
    if (!qrn_this_backend.graph_property)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s': the backend has no properties of graphs",
                        g->ir->name);
    qrn_status s = QRN_OK;
    pthread_mutex_lock(&g->context->own->options_lock);
    for (size_t i = 0; properties[i] && s == QRN_OK; i++)
        s = qrn_this_backend.graph_property(g, properties[i]);
    pthread_mutex_unlock(&g->context->own->options_lock);
    return s;
}

Qnn_ErrorHandle_t QnnGraph_getProperty(Qnn_GraphHandle_t graphHandle,
                                       QnnGraph_Property_t **properties) {
    QRN_API_CALL;
    qrn_api_graph *g = qrn_pin(QRN_KIND_GRAPH, graphHandle);
    if (!g)
        return not_a_graph("graph_getProperty");
    return qrn_api_end(QRN_COMP_GRAPH, get_properties(g, properties), log_of(g));
}

static qrn_status retrieve(qrn_api_context *c, const char *name, Qnn_GraphHandle_t *out) {
    QRN_TRY(qrn_context_check(c));
    if (!name)
        return QRN_FAIL(QRN_E_NAME, "graph_retrieve: the name is NULL");
    if (!out)
        return QRN_FAIL(QRN_E_HANDLE, "graph '%s': graphHandle is NULL", name);
    qrn_status s = qrn_api_context_load(c);
    if (s != QRN_OK) // a deferred binary that cannot be loaded has no graphs; the message says why
        return s == QRN_E_MEM ? s : QRN_E_NOT_FOUND;
    const qrn_api_graph *g = qrn_api_graph_find(c, name);
    if (!g)
        return QRN_FAIL(QRN_E_NOT_FOUND, "the context has no graph '%s'", name);
    if (g->ir->parent)
        return QRN_FAIL(QRN_E_SUBGRAPH, "graph '%s' is a subgraph of '%s'", name,
                        g->ir->parent->name);
    *out = g->handle;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnGraph_retrieve(Qnn_ContextHandle_t contextHandle, const char *graphName,
                                    Qnn_GraphHandle_t *graphHandle) {
    QRN_API_CALL;
    qrn_api_context *c = qrn_pin_alone(QRN_KIND_CONTEXT, contextHandle);
    if (!c)
        return qrn_api_end(QRN_COMP_GRAPH,
                           QRN_FAIL(QRN_E_HANDLE, "graph_retrieve: not a context handle"), NULL);
    return qrn_api_end(QRN_COMP_GRAPH, retrieve(c, graphName, graphHandle), c->backend->log);
}

static qrn_status add_node(qrn_api_graph *g, const Qnn_OpConfig_t *config) {
    QRN_TRY(qrn_context_check(g->context));
    if (g->ir->finalized)
        return QRN_FAIL(QRN_E_FINALIZED, "graph '%s' is finalized and accepts no more nodes",
                        g->ir->name);
    qrn_op_source src = {.backend = g->context->backend, .graph = g, .arena = g->ir->arena};
    qrn_node *n = NULL;
    QRN_TRY(qrn_opconfig_node(&src, config, &n));
    return qrn_api_graph_add_node(g, n);
}

Qnn_ErrorHandle_t QnnGraph_addNode(Qnn_GraphHandle_t graphHandle, Qnn_OpConfig_t opConfig) {
    QRN_API_CALL;
    qrn_api_graph *g = qrn_pin_graph_alone(graphHandle);
    if (!g)
        return not_a_graph("graph_addNode");
    return qrn_api_end_trial(QRN_COMP_GRAPH, add_node(g, &opConfig), g->context->is_trial,
                             log_of(g));
}
