// SPDX-License-Identifier: MIT
//
// Options of contexts. A list is read completely before anything is set; the backend sees its own
// options last, with the others in place, and may still refuse the list as a whole.
#include "api/context.h"

#include "base/mem.h"
#include "core/graph.h"

#include <string.h>

#define MAX_QUEUE_DEPTH 65536u

static bool has(qrn_feature f) { return (qrn_this_backend.features & f) != 0; }

// The options of one list, the last of each kind; what a list does not name stays as it was.
typedef struct options {
    int priority;
    uint32_t queue_depth;
    uint64_t memory_limit_mb;
    bool strict, persistent, defer;
    Qnn_ErrorReportingConfig_t errors;
    char **enable_graphs, **retention; // the client's, then our copies
    bool has_priority, has_enable, has_retention;
    bool creating, binary;
} options;

static qrn_status need_binary(const options *o, const char *name) {
    if (!qrn_this_backend.binary_load)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "context option %s: binaries are not supported", name);
    if (!o->binary)
        return QRN_FAIL(QRN_E_CONFIG, "context option %s: only for contexts made from a binary",
                        name);
    return QRN_OK;
}

static qrn_status binary_option(const options *o, const char *name) {
    QRN_TRY(need_binary(o, name));
    if (!o->creating)
        return QRN_FAIL(QRN_E_CONFIG, "context option %s: cannot change later", name);
    return QRN_OK;
}

static qrn_status read_queue(const QnnContext_AsyncExecutionQueueDepth_t *q, options *o) {
    uint32_t limit = qrn_this_backend.max_queue_depth;
    uint32_t most = limit ? limit : MAX_QUEUE_DEPTH;
    if (q->type != QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC || q->depth == 0 ||
        q->depth > most)
        return QRN_FAIL(
            QRN_E_CONFIG,
            "context option ASYNC_EXECUTION_QUEUE_DEPTH: type %d depth %u, allowed type "
            "0 and depth 1 to %u",
            (int)q->type, q->depth, most);
    if (!has(QRN_FEATURE_ASYNC))
        return QRN_FAIL(QRN_E_UNSUPPORTED, "asynchronous execution is not supported");
    if (limit && !o->creating)
        return QRN_FAIL(QRN_E_CONFIG,
                        "context option ASYNC_EXECUTION_QUEUE_DEPTH: cannot change later");
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
        o->has_priority = true;
        return QRN_OK;
    case QNN_CONTEXT_CONFIG_OPTION_ERROR_REPORTING:
        return read_errors(&c->errorConfig, o);
    case QNN_CONTEXT_CONFIG_OPTION_OEM_STRING:
        return QRN_OK; // obsolete: read by nobody
    case QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH:
        return read_queue(&c->asyncExeQueueDepth, o);
    case QNN_CONTEXT_CONFIG_ENABLE_GRAPHS:
        o->enable_graphs = (char **)c->enableGraphs;
        o->has_enable = true;
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
        o->retention = (char **)c->graphRetentionOrder;
        o->has_retention = true;
        return need_binary(o, "GRAPH_RETENTION_ORDER");
    default:
        return QRN_FAIL(QRN_E_CONFIG, "unknown context option %d", (int)c->option);
    }
}

// A list of names with its texts in one block; NULL gives NULL.
static qrn_status copy_names(char *const *names, char ***copy) {
    size_t n = 0, bytes = 0;
    *copy = NULL;
    if (!names)
        return QRN_OK;
    for (; names[n]; n++)
        bytes += strlen(names[n]) + 1;
    char **list = qrn_alloc((n + 1) * sizeof(*list) + bytes);
    if (!list)
        return QRN_FAIL(QRN_E_MEM, "out of memory for the names of graphs");
    char *text = (char *)(list + n + 1);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(names[i]) + 1;
        list[i] = memcpy(text, names[i], len);
        text += len;
    }
    list[n] = NULL;
    *copy = list;
    return QRN_OK;
}

static options of_context(const qrn_api_context *c) {
    return (options){.priority = c->priority,
                     .queue_depth = c->own->queue_depth,
                     .memory_limit_mb = c->memory_limit_mb,
                     .strict = c->strict_binary,
                     .persistent = c->persistent_binary,
                     .defer = c->defer_graphs,
                     .errors = c->own->error_reporting,
                     .enable_graphs = c->enable_graphs,
                     .retention = c->retention_order};
}

// The first asynchronous execution reads the depth of its queue.
static void put(qrn_api_context *c, const options *o) {
    pthread_mutex_lock(&c->own->lock);
    c->priority = o->priority;
    c->own->queue_depth = o->queue_depth;
    c->memory_limit_mb = o->memory_limit_mb;
    c->strict_binary = o->strict;
    c->persistent_binary = o->persistent;
    c->defer_graphs = o->defer;
    c->own->error_reporting = o->errors;
    c->enable_graphs = o->enable_graphs;
    c->retention_order = o->retention;
    pthread_mutex_unlock(&c->own->lock);
}

// Gives the backend its own options; none of them is NULL.
static qrn_status hand_on(qrn_api_context *c, const QnnContext_Config_t **config,
                          qrn_config_phase phase) {
    size_t n = 0, filled = 0;
    if (!qrn_this_backend.context_config)
        return QRN_OK;
    for (size_t i = 0; config && config[i]; i++)
        n += config[i]->option == QNN_CONTEXT_CONFIG_OPTION_CUSTOM;
    const void **custom = n ? qrn_alloc(n * sizeof(*custom)) : NULL;
    if (n && !custom)
        return QRN_FAIL(QRN_E_MEM, "out of memory for the options of a context");
    for (size_t i = 0; filled < n; i++)
        if (config[i]->option == QNN_CONTEXT_CONFIG_OPTION_CUSTOM)
            custom[filled++] = config[i]->customConfig;
    qrn_status s = qrn_this_backend.context_config(c, phase, custom, n);
    qrn_free(custom);
    return s;
}

// Priority is the default of graphs to come; set later it goes to those that are there, too.
static void spread_priority(qrn_api_context *c) {
    pthread_mutex_lock(&c->own->lock);
    for (uint32_t i = 0; i < c->own->n_graphs; i++)
        c->own->graphs[i]->priority = c->priority;
    pthread_mutex_unlock(&c->own->lock);
}

static qrn_status configure(qrn_api_context *c, const QnnContext_Config_t **config,
                            qrn_config_phase phase) {
    options old = of_context(c), o = old;
    o.creating = phase != QRN_CONFIG_SET;
    o.binary = c->from_binary;
    for (size_t i = 0; config && config[i]; i++)
        QRN_TRY(read_option(config[i], &o));
    char **enable = NULL, **retention = NULL;
    qrn_status s = o.has_enable ? copy_names(o.enable_graphs, &enable) : QRN_OK;
    if (s == QRN_OK && o.has_retention)
        s = copy_names(o.retention, &retention);
    if (o.has_enable)
        o.enable_graphs = enable;
    if (o.has_retention)
        o.retention = retention;
    if (s == QRN_OK) {
        put(c, &o);
        s = hand_on(c, config, phase);
    }
    if (s != QRN_OK) {
        put(c, &old);
        qrn_free(enable);
        qrn_free(retention);
        return s;
    }
    if (o.has_enable)
        qrn_free(old.enable_graphs);
    if (o.has_retention)
        qrn_free(old.retention);
    if (o.has_priority && !o.creating)
        spread_priority(c);
    return QRN_OK;
}

qrn_status qrn_api_context_configure(qrn_api_context *c, const QnnContext_Config_t **config,
                                     qrn_config_phase phase) {
    pthread_mutex_lock(&c->own->options_lock);
    qrn_status s = configure(c, config, phase);
    pthread_mutex_unlock(&c->own->options_lock);
    return s;
}

qrn_status qrn_api_context_check_config(const QnnContext_Config_t **config) {
    options o = {.creating = true, .binary = true};
    for (size_t i = 0; config && config[i]; i++)
        QRN_TRY(read_option(config[i], &o));
    return QRN_OK;
}
