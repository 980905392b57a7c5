// SPDX-License-Identifier: MIT
//
// What the options say to the library: lists of configs for contexts and graphs. Every list lives
// in a room of the caller's and ends with NULL, as the API wants it.
#include "frontend/ort/ep.h"

#include "GPU/QnnGpuGraph.h"
#include "HTP/QnnHtpContext.h"
#include "HTP/QnnHtpGraph.h"
#include "IR/QnnIrGraph.h"

#include <stdio.h>
#include <string.h>

// In the order of qe_priorities.
static const Qnn_Priority_t priorities[] = {QNN_PRIORITY_NORMAL,      QNN_PRIORITY_LOW,
                                            QNN_PRIORITY_NORMAL_HIGH, QNN_PRIORITY_HIGH,
                                            QNN_PRIORITY_NORMAL_LOW,  QNN_PRIORITY_HIGH_PLUS,
                                            QNN_PRIORITY_CRITICAL,    QNN_PRIORITY_CRITICAL_PLUS};

Qnn_Priority_t qe_priority(const qe_ep *ep) { return priorities[ep->opt.priority]; }

// --- contexts

void qe_context_add(qe_context_room *room, const QnnContext_Config_t *config) {
    room->configs[room->n] = *config;
    room->list[room->n] = &room->configs[room->n];
    room->n++;
}

static void add_custom(qe_context_room *room, const QnnHtpContext_CustomConfig_t *value) {
    _Static_assert(sizeof *value <= sizeof room->values[0], "room for a value");
    memcpy(room->values[room->n], value, sizeof *value);
    qe_context_add(room, &(QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                                .customConfig = room->values[room->n]});
}

// Options of the HTP that are a truth value share a place in the union.
static void add_flag(qe_context_room *room, QnnHtpContext_ConfigOption_t option, bool on) {
    if (on)
        add_custom(room,
                   &(QnnHtpContext_CustomConfig_t){.option = option, .weightSharingEnabled = true});
}

void qe_context_join(qe_context_room *room, Qnn_ContextHandle_t first, uint64_t spill_bytes) {
    add_custom(room, &(QnnHtpContext_CustomConfig_t){
                         .option = QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_MULTI_CONTEXTS,
                         .groupRegistration = {first, spill_bytes}});
}

void qe_context_configs(const qe_ep *ep, bool htp, qe_phase phase, qe_context_room *room) {
    const qe_options *o = &ep->opt;
    *room = (qe_context_room){0};
    if (o->priority)
        qe_context_add(room, &(QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY,
                                                    .priority = qe_priority(ep)});
    if (!htp)
        return;
    bool makes = phase == QE_CREATE;
    add_flag(room, QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED,
             phase == QE_LIST || (makes && o->share_contexts && o->context_enable));
    add_flag(room, QNN_HTP_CONTEXT_CONFIG_OPTION_USE_EXTENDED_UDMA,
             o->extended_udma && phase != QE_LIST);
    add_flag(room, QNN_HTP_CONTEXT_CONFIG_OPTION_PREPARE_ONLY, makes && o->prepare_only);
    add_flag(room, QNN_HTP_CONTEXT_CONFIG_OPTION_GRAPH_SPLITTING_ENABLED, makes && o->split_graphs);
    add_flag(room, QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES, phase == QE_LIST);
    if (phase == QE_LIST)
        add_custom(room,
                   &(QnnHtpContext_CustomConfig_t){
                       .option = QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES_OPTIMIZATION_TYPE,
                       .shareResOptType = SEQUENTIAL_WITHOUT_VA_OPTIMIZATION});
    if (!makes && o->reused_io_mb)
        add_custom(room, &(QnnHtpContext_CustomConfig_t){
                             .option = QNN_HTP_CONTEXT_CONFIG_OPTION_REUSED_IO_LIMIT,
                             .reusedIoLimitMb = (uint64_t)o->reused_io_mb});
}

// --- graphs

static void add_bytes(qe_graph_room *room, size_t *n, const void *value, size_t bytes) {
    memcpy(room->values[*n], value, bytes);
    room->configs[*n] = (QnnGraph_Config_t){.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM,
                                            .customConfig = room->values[*n]};
    room->list[*n] = &room->configs[*n];
    ++*n;
}

static void add(qe_graph_room *room, size_t *n, const QnnHtpGraph_CustomConfig_t *value) {
    _Static_assert(sizeof *value <= sizeof room->values[0], "room for a value");
    add_bytes(room, n, value, sizeof *value);
}

// In the order of qe_gpu_precisions.
static const QnnGpu_Precision_t precisions[] = {QNN_GPU_PRECISION_USER_PROVIDED,
                                                QNN_GPU_PRECISION_FP32, QNN_GPU_PRECISION_FP16,
                                                QNN_GPU_PRECISION_HYBRID};

static const QnnGraph_Config_t **gpu_configs(const qe_options *o, qe_graph_room *room) {
    size_t n = 0;
    const QnnGpuGraph_CustomConfig_t value = {.precision = precisions[o->gpu_precision]};
    if (o->gpu_precision)
        add_bytes(room, &n, &value, sizeof value);
    return n ? room->list : NULL;
}

// Quantities.
static void add_sizes(const qe_options *o, qe_graph_room *room, size_t *n) {
    if (o->vtcm_mb)
        add(room, n,
            &(QnnHtpGraph_CustomConfig_t){.option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE,
                                          .vtcmSizeInMB = (uint32_t)o->vtcm_mb});
    if (o->finalize_mode)
        add(room, n,
            &(QnnHtpGraph_CustomConfig_t){
                .option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
                .optimizationOption = {QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG,
                                       (float)o->finalize_mode}});
    if (o->n_cores)
        add(room, n,
            &(QnnHtpGraph_CustomConfig_t){.option = QNN_HTP_GRAPH_CONFIG_OPTION_NUM_CORES,
                                          .numCores = (uint32_t)o->n_cores});
}

// The file of a graph, "<folder>/<graph>.dlc". One that is too long fails when it is written.
static const QnnGraph_Config_t **dlc_configs(const qe_options *o, const char *graph,
                                             qe_graph_room *room) {
    const char *folder = o->dlc_dir && o->dlc_dir[0] ? o->dlc_dir : ".";
    size_t n = 0, at = strlen(folder) + 1;
    snprintf(room->path, sizeof room->path, "%s/%s.dlc", folder, graph);
    for (char *p = room->path + at; at < sizeof room->path && *p; p++)
        if (*p == '/')
            *p = '_';
    QnnIrGraph_CustomConfig_t value = QNN_IR_GRAPH_CUSTOM_CONFIG_INIT;
    value.serializationOption.outputPath = room->path;
    add_bytes(room, &n, &value, sizeof value);
    return room->list;
}

const QnnGraph_Config_t **qe_graph_configs(const qe_ep *ep, const char *graph,
                                           qe_graph_room *room) {
    const qe_options *o = &ep->opt;
    size_t n = 0;
    *room = (qe_graph_room){0};
    if (o->dump_dlc)
        return dlc_configs(o, graph, room);
    if (ep->backend == QE_BACKEND_GPU)
        return gpu_configs(o, room);
    if (ep->backend != QE_BACKEND_HTP)
        return NULL;
    add_sizes(o, room, &n);
    if (o->fp16)
        add(room, &n,
            &(QnnHtpGraph_CustomConfig_t){.option = QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION,
                                          .precision = QNN_PRECISION_FLOAT16});
    if (o->monolithic_lstm)
        add(room, &n,
            &(QnnHtpGraph_CustomConfig_t){.option = QNN_HTP_GRAPH_CONFIG_OPTION_MONOLITHIC_LSTM,
                                          .monolithicLstm = true});
    if (o->clamp_fp16)
        add(room, &n,
            &(QnnHtpGraph_CustomConfig_t){.option = QNN_HTP_GRAPH_CONFIG_OPTION_FP16_CLAMP_OVERFLOW,
                                          .fp16ClampOverflow = true});
    if (!o->matmul_lut) // it is on where nothing is said
        add(room, &n,
            &(QnnHtpGraph_CustomConfig_t){
                .option = QNN_HTP_GRAPH_CONFIG_OPTION_FINALIZE_CONFIG,
                .finalizeConfig = {"enable_matmul_lut",
                                   {.dataType = QNN_DATATYPE_UINT_32, .uint32Value = 0}}});
    return n ? room->list : NULL;
}
