// SPDX-License-Identifier: MIT
#include "tools/extensions/htp_config.h"

#include "base/file.h"

#include <string.h>

#define U32 UINT32_MAX

const uint32_t qx_arch_numbers[] = {68, 69, 73, 75, 79, 81, 85, 89};

#define AT(field) offsetof(qx_graph, field)
static qrn_status read_finalize(const qs_file *f, const qrn_json *v, void *slot);

static const qs_key graph_keys[] = {
    {"graph_names", QS_TEXTS, AT(names), 0, 0, NULL, NULL, false,
     "graphs that the object applies to"},
    {"vtcm_mb", QS_INT, AT(vtcm_mb), 0, 1024, NULL, NULL, false, "VTCM_SIZE_IN_MB"},
    {"vtcm_size", QS_INT, AT(vtcm_size), 65536, U32, NULL, NULL, false,
     "VTCM_SIZE_IN_BYTES, multiples of 65536"},
    {"hvx_threads", QS_INT, AT(hvx_threads), 1, 64, NULL, NULL, false, "NUM_HVX_THREADS"},
    {"O", QS_INT, AT(level), 1, 3, NULL, NULL, false, "OPTIMIZATION, level"},
    {"finalize_config", QS_INNER, AT(tuning_point), 0, 0, NULL, read_finalize, false,
     "FINALIZE_CONFIG {\"P\": n}; needs O 3"},
    {"dlbc", QS_INT, AT(dlbc), 0, 1, NULL, NULL, false, "OPTIMIZATION, DLBC (modelled)"},
    {"dlbc_weights", QS_INT, AT(dlbc_weights), 0, 1024, NULL, NULL, false,
     "OPTIMIZATION, DLBC weights (modelled)"},
    {"sparse_weights_compression", QS_INT, AT(sparse_weights), 0, 100, NULL, NULL, false,
     "OPTIMIZATION, sparse weights: the backend rejects values above 0"},
    {"weights_packing", QS_BOOL, AT(weights_packing), 0, 0, NULL, NULL, false, "WEIGHTS_PACKING"},
    {"num_cores", QS_INT, AT(num_cores), 1, 64, NULL, NULL, false, "NUM_CORES"},
    {"short_depth_conv_on_hmx_off", QS_BOOL, AT(short_depth_off), 0, 0, NULL, NULL, false,
     "SHORT_DEPTH_CONV_ON_HMX_OFF"},
    {"fold_relu_activation_into_conv_off", QS_BOOL, AT(fold_relu_off), 0, 0, NULL, NULL, false,
     "FOLD_RELU_ACTIVATION_INTO_CONV_OFF"},
    {"slc_alloc_enable", QS_INT, AT(slc), 0, 1, NULL, NULL, false,
     "OPTIMIZATION, SLC allocator (modelled)"},
    {"advanced_activation_fusion", QS_BOOL, AT(fusion), 0, 0, NULL, NULL, false,
     "ADVANCED_ACTIVATION_FUSION"},
    {"use_high_precision_fp16_sigmoid", QS_BOOL, AT(sigmoid), 0, 0, NULL, NULL, false,
     "HIGH_PRECISION_SIGMOID"},
    {"monolithic_lstm", QS_BOOL, AT(lstm), 0, 0, NULL, NULL, false, "MONOLITHIC_LSTM"},
    {"fp16_relaxed_precision", QS_INT, AT(fp16), 0, 1, NULL, NULL, false,
     "PRECISION; without effect, as since 2.35"},
    {0},
};
#undef AT

static const qs_key finalize_keys[] = {
    {"P", QS_INT, 0, 0, 23, NULL, NULL, true, "FINALIZE_CONFIG"},
    {0},
};

#define AT(field) offsetof(qx_core, field)
static const qs_key core_keys[] = {
    {"core_id", QS_INTS, AT(id), 0, 63, NULL, NULL, false, "core that votes are for"},
    {"perf_profile", QS_WORD, AT(profile), 0, 0, QX_PROFILES, NULL, false,
     "votes around every phase"},
    {"rpc_control_latency", QS_INT, AT(latency_us), 0, U32, NULL, NULL, false,
     "RPC_CONTROL_LATENCY, 100"},
    {"rpc_polling_time", QS_INT, AT(polling_us), 0, 9999, NULL, NULL, false, "RPC_POLLING_TIME"},
    {"adaptive_polling_time", QS_INT, AT(adaptive_us), 0, U32, NULL, NULL, false,
     "ADAPTIVE_POLLING_TIME"},
    {"hmx_timeout_us", QS_INT, AT(hmx_timeout_us), 0, U32, NULL, NULL, false,
     "HMX_TIMEOUT_INTERVAL_US, 300000"},
    {0},
};
#undef AT

static qrn_status read_cores(const qs_file *f, const qrn_json *v, void *slot) {
    qx_cores *c = slot;
    return qs_keys_list(f, v, "'cores'", core_keys, sizeof *c->items, true, (void **)&c->items,
                        &c->n);
}

#define AT(field) offsetof(qx_device, field)
static const qs_key device_keys[] = {
    {"device_id", QS_INT, AT(device_id), 0, 0, NULL, NULL, false,
     "device of ARCH, SIGNEDPD and votes; a host has only device 0"},
    {"core_id", QS_INTS, AT(core_id), 0, 63, NULL, NULL, false, "cores that votes are for"},
    {"core_type", QS_INT, AT(core_type), 0, 0, NULL, NULL, false,
     "0 (NSP); HPASS cores are not modelled"},
    {"soc_id", QS_INT, AT(soc_id), 0, U32, NULL, NULL, false, "SOC, unless soc_model is given"},
    {"soc_model", QS_INT, AT(soc_model), 0, U32, NULL, NULL, false, "SOC"},
    {"dsp_arch", QS_WORD, AT(arch), 0, 0, "v68|v69|v73|v75|v79|v81|v85|v89", NULL, false,
     "ARCH; the SoC takes precedence"},
    {"pd_session", QS_WORD, AT(pd_session), 0, 0, "unsigned|signed", NULL, false, "SIGNEDPD"},
    {"profiling_level", QS_WORD, AT(profiling), 0, 0, "linting", NULL, false,
     "level of --profiling_level backend"},
    {"use_client_context", QS_BOOL, 0, 0, 0, NULL, NULL, false,
     "rejected: it is not available from v68 on; votes always have their own client"},
    {"cores", QS_INNER, AT(cores), 0, 0, NULL, read_cores, false, "votes"},
    {0},
};
#undef AT

#define AT(field) offsetof(qx_context, field)
static const qs_key context_keys[] = {
    {"weight_sharing_enabled", QS_BOOL, AT(weight_sharing), 0, 0, NULL, NULL, false,
     "WEIGHT_SHARING_ENABLED"},
    {"lora_weight_sharing", QS_BOOL, AT(lora_sharing), 0, 0, NULL, NULL, false,
     "LORA_WEIGHT_SHARING_ENABLED"},
    {"lora_weight_sharing_ram_preload", QS_BOOL, AT(lora_preload), 0, 0, NULL, NULL, false,
     "LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED"},
    {"max_spill_fill_buffer_for_group", QS_INT, AT(spill_fill), 0, INT64_MAX, NULL, NULL, false,
     "REGISTER_MULTI_CONTEXTS, size; with group_id 0"},
    {"group_id", QS_INT, AT(group_id), 0, U32, NULL, NULL, false, "REGISTER_MULTI_CONTEXTS"},
    {"file_read_memory_budget_in_mb", QS_INT, AT(read_budget_mb), 0, U32, NULL, NULL, false,
     "FILE_READ_MEMORY_BUDGET"},
    {"io_memory_estimation", QS_BOOL, AT(io_estimation), 0, 0, NULL, NULL, false,
     "IO_MEM_ESTIMATION"},
    {"init_acceleration", QS_BOOL, AT(init_acceleration), 0, 0, NULL, NULL, false,
     "INIT_ACCELERATION"},
    {"reused_io_limit_mb", QS_INT, AT(reused_io_mb), 0, U32, NULL, NULL, false, "REUSED_IO_LIMIT"},
    {"concurrent_deserialization_patch", QS_TEXT, AT(patch), 0, 0, NULL, NULL, false,
     "CONCURRENT_DESERIALIZATION_PATCH, its descriptor"},
    {"extended_udma", QS_BOOL, AT(extended_udma), 0, 0, NULL, NULL, false, "USE_EXTENDED_UDMA"},
    {0},
};
#undef AT

#define AT(field) offsetof(qx_group, field)
static const qs_key group_keys[] = {
    {"share_resources", QS_BOOL, AT(share), 0, 0, NULL, NULL, false,
     "SHARE_RESOURCES of several contexts"},
    {"reused_io_limit_mb", QS_INT, AT(reused_io_mb), 0, U32, NULL, NULL, false,
     "REUSED_IO_LIMIT of several contexts"},
    {0},
};
#undef AT

static const qs_key memory_keys[] = {
    {"mem_type", QS_WORD, offsetof(qx_memory, type), 0, 0, "shared_buffer", NULL, false,
     "one registered buffer for all inputs and outputs"},
    {0},
};

static qrn_status read_graphs(const qs_file *f, const qrn_json *v, void *slot) {
    qx_graphs *g = slot;
    return qs_keys_list(f, v, "'graphs'", graph_keys, sizeof *g->items, true, (void **)&g->items,
                        &g->n);
}

static qrn_status read_devices(const qs_file *f, const qrn_json *v, void *slot) {
    qx_devices *d = slot;
    return qs_keys_list(f, v, "'devices'", device_keys, sizeof *d->items, true, (void **)&d->items,
                        &d->n);
}

static qrn_status read_finalize(const qs_file *f, const qrn_json *v, void *slot) {
    return qs_keys_read(f, v, "'finalize_config'", finalize_keys, slot);
}

static qrn_status read_context(const qs_file *f, const qrn_json *v, void *slot) {
    return qs_keys_read(f, v, "'context'", context_keys, slot);
}

static qrn_status read_group(const qs_file *f, const qrn_json *v, void *slot) {
    return qs_keys_read(f, v, "'groupContext'", group_keys, slot);
}

static qrn_status read_memory(const qs_file *f, const qrn_json *v, void *slot) {
    return qs_keys_read(f, v, "'memory'", memory_keys, slot);
}

#define AT(field) offsetof(qx_config, field)
static const qs_key top_keys[] = {
    {"graphs", QS_INNER, AT(graphs), 0, 0, NULL, read_graphs, false, NULL},
    {"devices", QS_INNER, AT(devices), 0, 0, NULL, read_devices, false, NULL},
    {"context", QS_INNER, AT(context), 0, 0, NULL, read_context, false, NULL},
    {"groupContext", QS_INNER, AT(group), 0, 0, NULL, read_group, false, NULL},
    {"memory", QS_INNER, AT(memory), 0, 0, NULL, read_memory, false, NULL},
    {0},
};
#undef AT

// What one key cannot see.
static qrn_status check(const qs_file *f, const qx_config *c) {
    for (uint32_t i = 0; i < c->graphs.n; i++) {
        const qx_graph *g = &c->graphs.items[i];
        if (g->vtcm_size.given && g->vtcm_size.v % 65536)
            return qs_json_wrong(f, g->vtcm_size.line,
                                 "'vtcm_size' is %lld, expected a multiple of 65536",
                                 (long long)g->vtcm_size.v);
        if (g->vtcm_size.given && g->vtcm_mb.given)
            return qs_json_wrong(f, g->vtcm_size.line,
                                 "'vtcm_size' and 'vtcm_mb' exclude each other");
        if (g->tuning_point.given && (!g->level.given || g->level.v != 3))
            return qs_json_wrong(f, g->tuning_point.line,
                                 "'finalize_config' has an effect only with 'O' 3");
    }
    for (uint32_t i = 0; i < c->devices.n; i++) {
        const qx_device *d = &c->devices.items[i];
        if (i)
            return qs_json_wrong(f, d->device_id.line,
                                 "'devices' has %u objects; a host has only device 0",
                                 c->devices.n);
    }
    return QRN_OK;
}

qrn_status qx_config_parse(const char *path, const char *text, size_t n, qrn_arena *arena,
                           qx_config *out) {
    const qs_file f = {path, arena};
    qrn_json *top = NULL;
    QRN_TRY(qrn_json_read(path, text, n, arena, &top));
    QRN_TRY(qs_keys_read(&f, top, "the file", top_keys, out));
    return check(&f, out);
}

qrn_status qx_config_read(const char *path, qrn_arena *arena, qx_config *out) {
    qrn_file f = {0};
    QRN_TRY(qrn_file_map(path, &f));
    qrn_status s = qx_config_parse(path, f.data, f.size, arena, out);
    qrn_file_unmap(&f);
    return s;
}
