// SPDX-License-Identifier: MIT
//
// Options of contexts. A list is read completely before anything is set; options of the backend are
// handed on after the others were found to be good.
#include "api/context.h"

#include "api/graph.h"
#include "base/mem.h"

#define MAX_QUEUE_DEPTH 65536

static bool has(qrn_feature f) { return (qrn_this_backend.features & f) != 0; }

// The options of one list, the last of each kind; what a list does not name stays as it was.
typedef struct options {
    int priority;
    uint32_t queue_depth;
    uint64_t memory_limit_mb;
    bool strict, persistent, defer;
    Qnn_ErrorReportingConfig_t errors;
    const char *const *enable_graphs; // the client's list
    bool creating, binary;
} options;

static qrn_status binary_option(const options *o, const char *name) {
    if (!qrn_this_backend.binary_load)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "context option %s: binaries are not supported", name);
    if (!o->creating)
        return QRN_FAIL(QRN_E_CONFIG, "context option %s: cannot change later", name);
    if (!o->binary)
        return QRN_FAIL(QRN_E_CONFIG, "context option %s: only for contexts made from a binary",
                        name);
    return QRN_OK;
}

static qrn_status read_queue(const QnnContext_AsyncExecutionQueueDepth_t *q, options *o) {
    if (q->type != QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC || q->depth == 0 ||
        q->depth > MAX_QUEUE_DEPTH)
        return QRN_FAIL(
            QRN_E_CONFIG,
            "context option ASYNC_EXECUTION_QUEUE_DEPTH: type %d depth %u, allowed type "
            "0 and depth 1 to %d",
            (int)q->type, q->depth, MAX_QUEUE_DEPTH);
    if (!has(QRN_FEATURE_ASYNC))
        return QRN_FAIL(QRN_E_UNSUPPORTED, "asynchronous execution is not supported");
    o->queue_depth = q->depth;
    return QRN_OK;
}

static qrn_status read_compatibility(QnnContext_BinaryCompatibilityType_t type, options *o) {
    if (type != QNN_CONTEXT_BINARY_COMPATIBILITY_PERMISSIVE &&
        type != QNN_CONTEXT_BINARY_COMPATIBILITY_STRICT)
        return QRN_FAIL(QRN_E_CONFIG, "context option BINARY_COMPATIBILITY: %d, allowed 0 and 1",
                        (int)type);
    QRN_TRY(binary_option(o, "BINARY_COMPATIBILITY"));
    o->strict = type == QNN_CONTEXT_BINARY_COMPATIBILITY_STRICT;
    return QRN_OK;
}

static qrn_status read_errors(const Qnn_ErrorReportingConfig_t *e, options *o) {
    if (e->reportingLevel != QNN_ERROR_REPORTING_LEVEL_BRIEF &&
        e->reportingLevel != QNN_ERROR_REPORTING_LEVEL_DETAILED)
        return QRN_FAIL(QRN_E_CONFIG, "context option ERROR_REPORTING: level %d, allowed 0 and 1",
                        (int)e->reportingLevel);
    o->errors = *e;
    return QRN_OK;
}

static qrn_status check_custom(const void *custom) {
    if (!custom)
        return QRN_FAIL(QRN_E_CONFIG, "the custom option of a context is NULL");
    if (!qrn_this_backend.context_config)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "the backend has no custom options of contexts");
    return QRN_OK;
}

static qrn_status read_option(const QnnContext_Config_t *c, options *o) {
    switch (c->option) {
    case QNN_CONTEXT_CONFIG_OPTION_CUSTOM:
        return check_custom(c->customConfig);
    case QNN_CONTEXT_CONFIG_OPTION_PRIORITY:
        QRN_TRY(qrn_priority_check((int)c->priority));
        o->priority = (int)c->priority;
        return QRN_OK;
    case QNN_CONTEXT_CONFIG_OPTION_ERROR_REPORTING:
        return read_errors(&c->errorConfig, o);
    case QNN_CONTEXT_CONFIG_OPTION_OEM_STRING:
        return QRN_OK; // obsolete: read by nobody
    case QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH:
        return read_queue(&c->asyncExeQueueDepth, o);
    case QNN_CONTEXT_CONFIG_ENABLE_GRAPHS:
        o->enable_graphs = c->enableGraphs;
        return binary_option(o, "ENABLE_GRAPHS");
    case QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT:
        o->memory_limit_mb = c->memoryLimitHint;
        return QRN_OK;
    case QNN_CONTEXT_CONFIG_PERSISTENT_BINARY:
        o->persistent = c->isPersistentBinary != 0;
        return binary_option(o, "PERSISTENT_BINARY");
    case QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY:
        return read_compatibility(c->binaryCompatibilityType, o);
    case QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT:
        o->defer = c->isGraphInitDeferred != 0;
        return binary_option(o, "DEFER_GRAPH_INIT");
    case QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER:
        return binary_option(o, "GRAPH_RETENTION_ORDER"); // graphs are never evicted
    default:
        return QRN_FAIL(QRN_E_CONFIG, "unknown context option %d", (int)c->option);
    }
}

static qrn_status copy_names(qrn_api_context *c, const char *const *names) {
    size_t n = 0;
    while (names[n])
        n++;
    const char **copy = qrn_arena_alloc(c->arena, (n + 1) * sizeof(*copy));
    for (size_t i = 0; copy && i < n; i++)
        if (!(copy[i] = qrn_arena_strdup(c->arena, names[i])))
            copy = NULL;
    if (!copy)
        return QRN_FAIL(QRN_E_MEM, "out of memory for the names of graphs");
    c->enable_graphs = copy;
    return QRN_OK;
}

static options of_context(const qrn_api_context *c) {
    return (options){.priority = c->priority,
                     .queue_depth = c->queue_depth,
                     .memory_limit_mb = c->memory_limit_mb,
                     .strict = c->strict_binary,
                     .persistent = c->persistent_binary,
                     .defer = c->defer_graphs,
                     .errors = c->error_reporting};
}

qrn_status qrn_api_context_configure(qrn_api_context *c, const QnnContext_Config_t **config,
                                     bool creating, bool binary) {
    options o = of_context(c);
    o.creating = creating;
    o.binary = binary;
    for (size_t i = 0; config && config[i]; i++)
        QRN_TRY(read_option(config[i], &o));
    for (size_t i = 0; config && config[i]; i++)
        if (config[i]->option == QNN_CONTEXT_CONFIG_OPTION_CUSTOM)
            QRN_TRY(qrn_this_backend.context_config(c, config[i]->customConfig));
    if (o.enable_graphs)
        QRN_TRY(copy_names(c, o.enable_graphs));
    c->priority = o.priority;
    c->queue_depth = o.queue_depth;
    c->memory_limit_mb = o.memory_limit_mb;
    c->strict_binary = o.strict;
    c->persistent_binary = o.persistent;
    c->defer_graphs = o.defer;
    c->error_reporting = o.errors;
    return QRN_OK;
}

qrn_status qrn_api_context_check_config(const QnnContext_Config_t **config, bool binary) {
    options o = {.creating = true, .binary = binary};
    for (size_t i = 0; config && config[i]; i++)
        QRN_TRY(read_option(config[i], &o));
    return QRN_OK;
}
