// SPDX-License-Identifier: MIT
//
// The JSON file of the HTP: graphs, devices, context, groupContext, memory. Read by tables of keys,
// then turned into options of the API by tables of options (htp_options.c).
#ifndef QRN_TOOLS_EXTENSIONS_HTP_CONFIG_H
#define QRN_TOOLS_EXTENSIONS_HTP_CONFIG_H

#include "tools/extensions/perf_profile.h"
#include "tools/sdk/json_keys.h"

#include "Quern/NetRunExtensions.h"

typedef struct qx_graph {
    qs_texts names;
    qs_int vtcm_mb, vtcm_size, hvx_threads, level, tuning_point, dlbc, dlbc_weights, sparse_weights,
        weights_packing, num_cores, short_depth_off, fold_relu_off, slc, fusion, sigmoid, lstm,
        fp16;
} qx_graph;

typedef struct qx_core {
    qs_ints id;
    qs_int profile; // position in qx_profiles
    qs_int latency_us, polling_us, adaptive_us, hmx_timeout_us;
} qx_core;

typedef struct qx_cores {
    qx_core *items;
    uint32_t n;
} qx_cores;

typedef struct qx_device {
    qs_int device_id, core_type, soc_id, soc_model, arch, pd_session, profiling;
    qs_ints core_id;
    qx_cores cores;
} qx_device;

typedef struct qx_context {
    qs_int weight_sharing, lora_sharing, lora_preload, spill_fill, group_id, read_budget_mb,
        io_estimation, init_acceleration, reused_io_mb, extended_udma;
    const char *patch; // path
} qx_context;

typedef struct qx_group {
    qs_int share, reused_io_mb;
} qx_group;

typedef struct qx_memory {
    qs_int type;
} qx_memory;

typedef struct qx_graphs {
    qx_graph *items;
    uint32_t n;
} qx_graphs;

typedef struct qx_devices {
    qx_device *items;
    uint32_t n;
} qx_devices;

typedef struct qx_config {
    qx_graphs graphs;
    qx_devices devices;
    qx_context context;
    qx_group group;
    qx_memory memory;
} qx_config;

// Reads the file into a cleared config; values live in the arena.
qrn_status qx_config_read(const char *path, qrn_arena *arena, qx_config *out);
// The same for text in memory; `path` is for messages.
qrn_status qx_config_parse(const char *path, const char *text, size_t n, qrn_arena *arena,
                           qx_config *out);

extern const uint32_t qx_arch_numbers[]; // in the order of the words of dsp_arch

// Options of the API (htp_options.c), into the arena; NULL-terminated lists.
qrn_status qx_graph_options(const qx_graph *g, qrn_arena *arena, const QnnGraph_Config_t ***out);
qrn_status qx_context_options(const qx_config *c, QuernExtension_ContextKind_t kind, int patch_fd,
                              qrn_arena *arena, const QnnContext_Config_t ***out);
qrn_status qx_device_options(const qx_device *d, qrn_arena *arena, const QnnDevice_Config_t ***out);

#endif
