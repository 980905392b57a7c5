// SPDX-License-Identifier: MIT
//
// --config_file of qnn-net-run and qnn-context-binary-generator: options of contexts, graphs and
// profiles, and the backend's extension library with its own file.
#ifndef QRN_TOOLS_SDK_RUN_CONFIG_H
#define QRN_TOOLS_SDK_RUN_CONFIG_H

#include "tools/sdk/json_keys.h"

#include "QnnContext.h"
#include "QnnGraph.h"

// Words of a priority, in the order of qs_priorities.
#define QS_PRIORITIES "low|normal_low|normal|normal_high|high|high_plus|critical|critical_plus"
extern const Qnn_Priority_t qs_priorities[];

typedef struct qs_graph_config {
    const char *name;
    qs_int priority;
    qs_real profiling_delay_s;
    qs_int profiling_runs;
} qs_graph_config;

typedef struct qs_context_config {
    qs_int priority, queue_depth, memory_limit_mb, persistent, compatibility, spill_fill, weights;
    qs_texts enable_graphs, retention;
} qs_context_config;

typedef struct qs_extensions_config {
    const char *library, *file;
} qs_extensions_config;

typedef struct qs_async_config {
    qs_int input_tasks, enqueue_tasks;
} qs_async_config;

typedef struct qs_profile_config {
    qs_int max_events;
} qs_profile_config;

typedef struct qs_graph_list {
    qs_graph_config *items;
    uint32_t n;
} qs_graph_list;

typedef struct qs_run_config {
    qrn_arena *arena;
    const char *path;
    qs_extensions_config extensions;
    qs_context_config context;
    qs_graph_list graphs;
    qs_profile_config profile;
    qs_async_config async;
} qs_run_config;

// Reads the file (NULL: nothing is configured); QT_EXIT_OK or another code after a message.
int qs_run_config_open(const char *path, qs_run_config *out);
void qs_run_config_close(qs_run_config *c);
// The same for text in memory, into a cleared config with an arena.
qrn_status qs_run_config_parse(const char *path, const char *text, size_t n, qs_run_config *out);

// Options of a context of the API that the file asks for, into the arena: NULL-terminated and with
// `more` behind them. `load`: for a context from a binary. NULL when out of memory.
const QnnContext_Config_t **qs_context_options(const qs_run_config *c, bool load,
                                               const QnnContext_Config_t *const *more);
// What the file says about a graph; NULL: nothing.
const qs_graph_config *qs_graph_options(const qs_run_config *c, const char *name);

#endif
