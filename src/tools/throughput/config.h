// SPDX-License-Identifier: MIT
//
// The JSON file of qnn-throughput-net-run: backends, models, contexts, and the threads that put
// them together. Names are resolved and combinations checked here.
#ifndef QRN_TOOLS_THROUGHPUT_CONFIG_H
#define QRN_TOOLS_THROUGHPUT_CONFIG_H

#include "tools/sdk/json_keys.h"

typedef struct tp_backend {
    const char *name, *path, *extensions, *perf_profile, *packages, *platform;
    qs_int profiling; // tp_profiling
} tp_backend;
enum { TP_PROFILING_OFF, TP_PROFILING_BASIC, TP_PROFILING_DETAILED };

typedef struct tp_model {
    const char *name, *path, *inputs, *post, *output, *truth;
    qs_int cached, in_type, out_type, save;
} tp_model;
enum { TP_NATIVE, TP_FLOAT };
enum { TP_NATIVE_ONLY, TP_FLOAT_ONLY, TP_FLOAT_AND_NATIVE };
enum { TP_SAVE_NONE, TP_SAVE_LAST, TP_SAVE_ALL };

typedef struct tp_context {
    const char *name;
    qs_int priority, depth, compatibility;
} tp_context;

typedef struct tp_thread {
    const char *name, *backend_name, *context_name, *model_name, *backend_config;
    qs_int init_in_loop, load_in_loop, random, interval_us, unit, loop, async;
    const tp_backend *backend;
    const tp_context *context;
    const tp_model *model;
} tp_thread;
enum { TP_COUNT, TP_SECOND };

typedef struct tp_backends {
    tp_backend *items;
    uint32_t n;
} tp_backends;

typedef struct tp_models {
    tp_model *items;
    uint32_t n;
} tp_models;

typedef struct tp_contexts {
    tp_context *items;
    uint32_t n;
} tp_contexts;

typedef struct tp_threads {
    tp_thread *items;
    uint32_t n;
} tp_threads;

typedef struct tp_case {
    qs_int iteration;
    qs_int log_level; // position in QS_LOG_LEVELS
    tp_threads threads;
} tp_case;

typedef struct tp_config {
    tp_backends backends;
    tp_models models;
    tp_contexts contexts;
    tp_case test;
} tp_config;

// Reads the text of a file into a cleared config; values live in the arena.
qrn_status tp_config_parse(const char *path, const char *text, size_t n, qrn_arena *arena,
                           tp_config *out);

#endif
