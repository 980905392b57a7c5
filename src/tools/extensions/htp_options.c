// SPDX-License-Identifier: MIT
//
// Values of the HTP's file as options of the API: one row a key, with the option and the member of
// its union.
#include "tools/extensions/htp_config.h"

#include "HTP/QnnHtpContext.h"
#include "HTP/QnnHtpDevice.h"
#include "HTP/QnnHtpGraph.h"

typedef enum member { AS_BOOL, AS_U32, AS_U64, AS_LEVEL, AS_PRECISION, AS_POINT } member;

typedef struct graph_row {
    size_t value; // offset of the qs_int
    QnnHtpGraph_ConfigOption_t option;
    member as;
    QnnHtpGraph_OptimizationType_t type; // of AS_LEVEL
} graph_row;

#define AT(field) offsetof(qx_graph, field)
#define OPTION(name) QNN_HTP_GRAPH_CONFIG_OPTION_##name
#define LEVEL(name) OPTION(OPTIMIZATION), AS_LEVEL, QNN_HTP_GRAPH_OPTIMIZATION_TYPE_##name
#define PLAIN(name, as) OPTION(name), as, QNN_HTP_GRAPH_OPTIMIZATION_TYPE_UNKNOWN

static const graph_row graph_rows[] = {
    {AT(vtcm_mb), PLAIN(VTCM_SIZE_IN_MB, AS_U32)},
    {AT(vtcm_size), PLAIN(VTCM_SIZE_IN_BYTES, AS_U32)},
    {AT(hvx_threads), PLAIN(NUM_HVX_THREADS, AS_U64)},
    {AT(level), LEVEL(FINALIZE_OPTIMIZATION_FLAG)},
    {AT(tuning_point), PLAIN(FINALIZE_CONFIG, AS_POINT)},
    {AT(dlbc), LEVEL(ENABLE_DLBC)},
    {AT(dlbc_weights), LEVEL(ENABLE_DLBC_WEIGHTS)},
    {AT(sparse_weights), LEVEL(ENABLE_SPARSE_WEIGHTS_COMPRESSION)},
    {AT(weights_packing), PLAIN(WEIGHTS_PACKING, AS_BOOL)},
    {AT(num_cores), PLAIN(NUM_CORES, AS_U32)},
    {AT(short_depth_off), PLAIN(SHORT_DEPTH_CONV_ON_HMX_OFF, AS_BOOL)},
    {AT(fold_relu_off), PLAIN(FOLD_RELU_ACTIVATION_INTO_CONV_OFF, AS_BOOL)},
    {AT(slc), LEVEL(ENABLE_SLC_ALLOCATOR)},
    {AT(fusion), PLAIN(ADVANCED_ACTIVATION_FUSION, AS_BOOL)},
    {AT(sigmoid), PLAIN(HIGH_PRECISION_SIGMOID, AS_BOOL)},
    {AT(lstm), PLAIN(MONOLITHIC_LSTM, AS_BOOL)},
    {AT(fp16), PLAIN(PRECISION, AS_PRECISION)},
};
#undef AT
enum { N_GRAPH_ROWS = sizeof graph_rows / sizeof graph_rows[0] };

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "no memory for options"); }

static void set_graph(const graph_row *row, int64_t v, QnnHtpGraph_CustomConfig_t *c) {
    c->option = row->option;
    switch (row->as) {
    case AS_BOOL:
        c->weightsPacking = v != 0; // all bools of the union lie at its begin
        break;
    case AS_U32:
        c->vtcmSizeInMB = (uint32_t)v;
        break;
    case AS_U64:
        c->numHvxThreads = (uint64_t)v;
        break;
    case AS_LEVEL:
        c->optimizationOption = (QnnHtpGraph_OptimizationOption_t){row->type, (float)v};
        break;
    case AS_PRECISION:
        c->precision = v ? QNN_PRECISION_FLOAT16 : QNN_PRECISION_FLOAT32;
        break;
    default:
        c->finalizeConfig = (QnnHtpGraph_FinalizeConfig_t){
            "P", {.dataType = QNN_DATATYPE_UINT_32, .uint32Value = (uint32_t)v}};
    }
}

qrn_status qx_graph_options(const qx_graph *g, qrn_arena *arena, const QnnGraph_Config_t ***out) {
    QnnHtpGraph_CustomConfig_t *custom = qrn_arena_alloc(arena, N_GRAPH_ROWS * sizeof *custom);
    QnnGraph_Config_t *configs = qrn_arena_alloc(arena, N_GRAPH_ROWS * sizeof *configs);
    const QnnGraph_Config_t **list = qrn_arena_alloc(arena, (N_GRAPH_ROWS + 1) * sizeof *list);
    size_t n = 0;
    if (!custom || !configs || !list)
        return no_memory();
    for (size_t i = 0; i < N_GRAPH_ROWS; i++) {
        const qs_int *v = (const void *)((const char *)g + graph_rows[i].value);
        if (!v->given)
            continue;
        set_graph(&graph_rows[i], v->v, &custom[n]);
        configs[n] = (QnnGraph_Config_t){.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM,
                                         .customConfig = &custom[n]};
        list[n] = &configs[n];
        n++;
    }
    *out = list;
    return QRN_OK;
}

typedef struct context_row {
    size_t value; // offset of the qs_int in qx_config
    QnnHtpContext_ConfigOption_t option;
    member as;
    QuernExtension_ContextKind_t kind;
} context_row;

#define IN_CONTEXT(field) offsetof(qx_config, context) + offsetof(qx_context, field)
#define IN_GROUP(field) offsetof(qx_config, group) + offsetof(qx_group, field)
#define CONTEXT(name) QNN_HTP_CONTEXT_CONFIG_OPTION_##name
#define PREPARE QUERN_EXTENSION_CONTEXT_PREPARE
#define LOAD QUERN_EXTENSION_CONTEXT_LOAD

static const context_row context_rows[] = {
    {IN_CONTEXT(weight_sharing), CONTEXT(WEIGHT_SHARING_ENABLED), AS_BOOL, PREPARE},
    {IN_CONTEXT(lora_sharing), CONTEXT(LORA_WEIGHT_SHARING_ENABLED), AS_BOOL, PREPARE},
    {IN_CONTEXT(lora_preload), CONTEXT(LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED), AS_BOOL, PREPARE},
    {IN_CONTEXT(extended_udma), CONTEXT(USE_EXTENDED_UDMA), AS_BOOL, PREPARE},
    {IN_CONTEXT(extended_udma), CONTEXT(USE_EXTENDED_UDMA), AS_BOOL, LOAD},
    {IN_CONTEXT(read_budget_mb), CONTEXT(FILE_READ_MEMORY_BUDGET), AS_U64, LOAD},
    {IN_CONTEXT(io_estimation), CONTEXT(IO_MEM_ESTIMATION), AS_BOOL, LOAD},
    {IN_CONTEXT(init_acceleration), CONTEXT(INIT_ACCELERATION), AS_BOOL, LOAD},
    {IN_CONTEXT(reused_io_mb), CONTEXT(REUSED_IO_LIMIT), AS_U64, LOAD},
    {IN_GROUP(share), CONTEXT(SHARE_RESOURCES), AS_BOOL, QUERN_EXTENSION_CONTEXT_LIST},
    {IN_GROUP(reused_io_mb), CONTEXT(REUSED_IO_LIMIT), AS_U64, QUERN_EXTENSION_CONTEXT_LIST},
};
enum { N_CONTEXT_ROWS = sizeof context_rows / sizeof context_rows[0] };

qrn_status qx_context_options(const qx_config *c, QuernExtension_ContextKind_t kind, int patch_fd,
                              qrn_arena *arena, const QnnContext_Config_t ***out) {
    const size_t room = N_CONTEXT_ROWS + 2;
    QnnHtpContext_CustomConfig_t *custom = qrn_arena_alloc(arena, room * sizeof *custom);
    QnnContext_Config_t *configs = qrn_arena_alloc(arena, room * sizeof *configs);
    const QnnContext_Config_t **list = qrn_arena_alloc(arena, room * sizeof *list);
    size_t n = 0;
    if (!custom || !configs || !list)
        return no_memory();
    for (size_t i = 0; i < N_CONTEXT_ROWS; i++) {
        const context_row *row = &context_rows[i];
        const qs_int *v = (const void *)((const char *)c + row->value);
        if (!v->given || row->kind != kind)
            continue;
        custom[n].option = row->option;
        if (row->as == AS_BOOL)
            custom[n++].weightSharingEnabled = v->v != 0;
        else
            custom[n++].fileReadMemoryBudgetInMb = (uint64_t)v->v;
    }
    if (kind == LOAD && patch_fd >= 0) {
        custom[n].option = CONTEXT(CONCURRENT_DESERIALIZATION_PATCH);
        custom[n++].concurrentDeserializationPatchFd = patch_fd;
    }
    for (size_t i = 0; i < n; i++) {
        configs[i] = (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                           .customConfig = &custom[i]};
        list[i] = &configs[i];
    }
    *out = list;
    return QRN_OK;
}

// The chip and the architecture are facts that the program itself gives to the device.
qrn_status qx_device_options(const qx_device *d, qrn_arena *arena,
                             const QnnDevice_Config_t ***out) {
    QnnHtpDevice_CustomConfig_t *custom = qrn_arena_alloc(arena, sizeof *custom);
    QnnDevice_Config_t *config = qrn_arena_alloc(arena, sizeof *config);
    const QnnDevice_Config_t **list = qrn_arena_alloc(arena, 2 * sizeof *list);
    if (!custom || !config || !list)
        return no_memory();
    if (d->pd_session.given) {
        custom->option = QNN_HTP_DEVICE_CONFIG_OPTION_SIGNEDPD;
        custom->useSignedProcessDomain.deviceId = (uint32_t)d->device_id.v;
        custom->useSignedProcessDomain.useSignedProcessDomain = d->pd_session.v == 1;
        *config =
            (QnnDevice_Config_t){.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = custom};
        list[0] = config;
    }
    *out = list;
    return QRN_OK;
}
