// SPDX-License-Identifier: MIT
#include "tools/sdk/run_config.h"

#include "base/file.h"
#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include <string.h>

#define U32 UINT32_MAX
#define MAX_OPTIONS 8

const Qnn_Priority_t qs_priorities[] = {
    QNN_PRIORITY_LOW,  QNN_PRIORITY_NORMAL_LOW, QNN_PRIORITY_NORMAL,   QNN_PRIORITY_NORMAL_HIGH,
    QNN_PRIORITY_HIGH, QNN_PRIORITY_HIGH_PLUS,  QNN_PRIORITY_CRITICAL, QNN_PRIORITY_CRITICAL_PLUS,
};

#define AT(field) offsetof(qs_extensions_config, field)
static const qs_key extension_keys[] = {
    {"shared_library_path", QS_TEXT, AT(library), 0, 0, NULL, NULL, true,
     "library that is loaded (include/Quern/NetRunExtensions.h)"},
    {"config_file_path", QS_TEXT, AT(file), 0, 0, NULL, NULL, false, "its file"},
    {0},
};
#undef AT

#define AT(field) offsetof(qs_context_config, field)
static const qs_key context_keys[] = {
    {"context_priority", QS_WORD, AT(priority), 0, 0, QS_PRIORITIES, NULL, false, "PRIORITY"},
    {"async_execute_queue_depth", QS_INT, AT(queue_depth), 1, 300, NULL, NULL, false,
     "ASYNC_EXECUTION_QUEUE_DEPTH, and sets in flight; 10"},
    {"enable_graphs", QS_TEXTS, AT(enable_graphs), 0, 0, NULL, NULL, false,
     "ENABLE_GRAPHS of a binary; the others do not run"},
    {"memory_limit_hint", QS_INT, AT(memory_limit_mb), 0, INT64_MAX, NULL, NULL, false,
     "MEMORY_LIMIT_HINT of a binary"},
    {"is_persistent_binary", QS_BOOL, AT(persistent), 0, 0, NULL, NULL, false,
     "PERSISTENT_BINARY of a binary"},
    {"cache_compatibility_mode", QS_WORD, AT(compatibility), 0, 0, "permissive|strict", NULL, false,
     "BINARY_COMPATIBILITY of a binary"},
    {"spill_fill_buffer", QS_INT, AT(spill_fill), -1, INT64_MAX, NULL, NULL, false,
     "0 and -1 (the backend decides); sizes are rejected: buffers of the client have no use on a "
     "host"},
    {"weights_buffer", QS_INT, AT(weights), -1, INT64_MAX, NULL, NULL, false,
     "0 and -1 (the backend decides); sizes are rejected: buffers of the client have no use on a "
     "host"},
    {"graph_retention_order", QS_TEXTS, AT(retention), 0, 0, NULL, NULL, false,
     "GRAPH_RETENTION_ORDER of a binary"},
    {0},
};
#undef AT

#define AT(field) offsetof(qs_graph_config, field)
static const qs_key graph_keys[] = {
    {"graph_name", QS_TEXT, AT(name), 0, 0, NULL, NULL, true, "the graph"},
    {"graph_priority", QS_WORD, AT(priority), 0, 0, QS_PRIORITIES, NULL, false,
     "PRIORITY of the graph"},
    {"graph_profiling_start_delay", QS_REAL, AT(profiling_delay_s), 0, 1000000, NULL, NULL, false,
     "SET_PROFILING_STATE after this many seconds"},
    {"graph_profiling_num_executions", QS_INT, AT(profiling_runs), 1, U32, NULL, NULL, false,
     "SET_PROFILING_NUM_EXECUTIONS"},
    {0},
};
#undef AT

static const qs_key profile_keys[] = {
    {"num_max_events", QS_INT, offsetof(qs_profile_config, max_events), 1, INT64_MAX, NULL, NULL,
     false, "MAX_EVENTS of profile handles"},
    {0},
};

#define AT(field) offsetof(qs_async_config, field)
static const qs_key async_keys[] = {
    {"input_tensors_creation_tasks_limit", QS_INT, AT(input_tasks), 1, U32, NULL, NULL, false,
     "fill at most this many sets of tensors ahead"},
    {"execute_enqueue_tasks_limit", QS_INT, AT(enqueue_tasks), 1, U32, NULL, NULL, false,
     "queue at most this many executions"},
    {0},
};
#undef AT

static qrn_status read_extensions(const qs_file *f, const qrn_json *v, void *slot) {
    return qs_keys_read(f, v, "'backend_extensions'", extension_keys, slot);
}

static qrn_status no_client_buffer(const qs_file *f, const qs_int *v, const char *key) {
    if (!v->given || v->v <= 0)
        return QRN_OK;
    return qs_json_wrong(f, v->line,
                         "'%s' is %lld: buffers of the client are not supported, expected 0 or -1",
                         key, (long long)v->v);
}

static qrn_status read_context(const qs_file *f, const qrn_json *v, void *slot) {
    const qs_context_config *c = slot;
    QRN_TRY(qs_keys_read(f, v, "'context_configs'", context_keys, slot));
    QRN_TRY(no_client_buffer(f, &c->spill_fill, "spill_fill_buffer"));
    return no_client_buffer(f, &c->weights, "weights_buffer");
}

static qrn_status read_graphs(const qs_file *f, const qrn_json *v, void *slot) {
    qs_graph_list *g = slot;
    return qs_keys_list(f, v, "'graph_configs'", graph_keys, sizeof *g->items, false,
                        (void **)&g->items, &g->n);
}

static qrn_status read_profile(const qs_file *f, const qrn_json *v, void *slot) {
    return qs_keys_read(f, v, "'profile_configs'", profile_keys, slot);
}

static qrn_status read_async(const qs_file *f, const qrn_json *v, void *slot) {
    return qs_keys_read(f, v, "'async_graph_execution_config'", async_keys, slot);
}

#define AT(field) offsetof(qs_run_config, field)
static const qs_key top_keys[] = {
    {"backend_extensions", QS_INNER, AT(extensions), 0, 0, NULL, read_extensions, false, NULL},
    {"context_configs", QS_INNER, AT(context), 0, 0, NULL, read_context, false, NULL},
    {"graph_configs", QS_INNER, AT(graphs), 0, 0, NULL, read_graphs, false, NULL},
    {"profile_configs", QS_INNER, AT(profile), 0, 0, NULL, read_profile, false, NULL},
    {"async_graph_execution_config", QS_INNER, AT(async), 0, 0, NULL, read_async, false, NULL},
    {0},
};
#undef AT

qrn_status qs_run_config_parse(const char *path, const char *text, size_t n, qs_run_config *out) {
    const qs_file f = {path, out->arena};
    qrn_json *top = NULL;
    QRN_TRY(qrn_json_read(path, text, n, out->arena, &top));
    return qs_keys_read(&f, top, "the file", top_keys, out);
}

int qs_run_config_open(const char *path, qs_run_config *out) {
    qs_run_config c = {.arena = qrn_arena_create(), .path = path};
    qrn_file f = {0};
    if (!c.arena) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    qrn_status s = path ? qrn_file_map(path, &f) : QRN_OK;
    if (s == QRN_OK && path)
        s = qs_run_config_parse(path, f.data, f.size, &c);
    qrn_file_unmap(&f);
    if (s == QRN_OK) {
        *out = c;
        return QT_EXIT_OK;
    }
    qt_error("%s", qrn_message());
    qs_run_config_close(&c);
    return QT_EXIT_INPUT;
}

void qs_run_config_close(qs_run_config *c) {
    qrn_arena_destroy(c->arena);
    *c = (qs_run_config){0};
}

// Only those that a binary has a use for go with `load`.
static size_t list_options(const qs_context_config *c, bool load, QnnContext_Config_t *o) {
    size_t n = 0;
    if (c->priority.given)
        o[n++] = (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY,
                                       .priority = qs_priorities[c->priority.v]};
    if (c->queue_depth.given)
        o[n++] = (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH,
                                       .asyncExeQueueDepth = {.depth = (uint32_t)c->queue_depth.v}};
    if (load && c->enable_graphs.n)
        o[n++] = (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS,
                                       .enableGraphs = c->enable_graphs.items};
    if (load && c->memory_limit_mb.given)
        o[n++] = (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT,
                                       .memoryLimitHint = (uint64_t)c->memory_limit_mb.v};
    if (load && c->persistent.given)
        o[n++] = (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY,
                                       .isPersistentBinary = (uint8_t)c->persistent.v};
    if (load && c->compatibility.given)
        o[n++] = (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY,
                                       .binaryCompatibilityType =
                                           c->compatibility.v
                                               ? QNN_CONTEXT_BINARY_COMPATIBILITY_STRICT
                                               : QNN_CONTEXT_BINARY_COMPATIBILITY_PERMISSIVE};
    if (load && c->retention.n)
        o[n++] = (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER,
                                       .graphRetentionOrder = c->retention.items};
    return n;
}

const QnnContext_Config_t **qs_context_options(const qs_run_config *c, bool load,
                                               const QnnContext_Config_t *const *more) {
    size_t n_more = 0;
    while (more && more[n_more])
        n_more++;
    QnnContext_Config_t *o = qrn_arena_alloc(c->arena, MAX_OPTIONS * sizeof *o);
    const QnnContext_Config_t **list =
        qrn_arena_alloc(c->arena, (MAX_OPTIONS + n_more + 1) * sizeof *list);
    if (!o || !list)
        return NULL;
    size_t n = list_options(&c->context, load, o);
    for (size_t i = 0; i < n; i++)
        list[i] = &o[i];
    for (size_t i = 0; i < n_more; i++)
        list[n + i] = more[i];
    return list;
}

const qs_graph_config *qs_graph_options(const qs_run_config *c, const char *name) {
    for (uint32_t i = 0; i < c->graphs.n; i++)
        if (qs_same_name(name, c->graphs.items[i].name))
            return &c->graphs.items[i];
    return NULL;
}
