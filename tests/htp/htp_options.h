// SPDX-License-Identifier: MIT
//
// Option lists for tests: up to eight custom options of a graph or a context, and calls with them.
#ifndef QRN_TESTS_HTP_OPTIONS_H
#define QRN_TESTS_HTP_OPTIONS_H

#include "htp_client.h"

#include <stdio.h>

#define HTP_OPTIONS_MAX 8u

#define GRAPH_OPTION(name, ...)                                                                    \
    ((QnnHtpGraph_CustomConfig_t){QNN_HTP_GRAPH_CONFIG_OPTION_##name, {__VA_ARGS__}})
#define CONTEXT_OPTION(name, ...)                                                                  \
    ((QnnHtpContext_CustomConfig_t){QNN_HTP_CONTEXT_CONFIG_OPTION_##name, {__VA_ARGS__}})
#define OPTIMIZATION(kind, value)                                                                  \
    GRAPH_OPTION(OPTIMIZATION,                                                                     \
                 .optimizationOption = {QNN_HTP_GRAPH_OPTIMIZATION_TYPE_##kind, value})

typedef struct graph_list {
    QnnGraph_Config_t entry[HTP_OPTIONS_MAX];
    const QnnGraph_Config_t *list[HTP_OPTIONS_MAX + 1];
} graph_list;

static inline const QnnGraph_Config_t **graph_options(graph_list *l,
                                                      const QnnHtpGraph_CustomConfig_t *custom,
                                                      size_t n) {
    assert_true(n <= HTP_OPTIONS_MAX);
    memset(l, 0, sizeof *l);
    for (size_t i = 0; i < n; i++) {
        l->entry[i].option = QNN_GRAPH_CONFIG_OPTION_CUSTOM;
        l->entry[i].customConfig = (void *)&custom[i];
        l->list[i] = &l->entry[i];
    }
    return l->list;
}

// A graph with options; *g stays as it is on failure. Names may be used once in a context.
static inline Qnn_ErrorHandle_t graph_with(const htp_world *w, const char *name,
                                           const QnnHtpGraph_CustomConfig_t *custom, size_t n,
                                           Qnn_GraphHandle_t *g) {
    graph_list l;
    return w->qnn.graphCreate(w->context, name, graph_options(&l, custom, n), g);
}

// One option, tried on a graph that is given up when it was accepted: freed with its context.
static inline Qnn_ErrorHandle_t graph_try(const htp_world *w, QnnHtpGraph_CustomConfig_t x) {
    static unsigned count;
    char name[32];
    Qnn_GraphHandle_t g = NULL;
    snprintf(name, sizeof name, "try%u", count++);
    return graph_with(w, name, &x, 1, &g);
}

static inline Qnn_ErrorHandle_t graph_set(const htp_world *w, Qnn_GraphHandle_t g,
                                          QnnHtpGraph_CustomConfig_t x) {
    graph_list l;
    return w->qnn.graphSetConfig(g, graph_options(&l, &x, 1));
}

// --- a world that counts warnings

typedef struct warnings {
    unsigned n;
    char last[256];
    Qnn_LogHandle_t log;
} warnings;

static warnings *warned; // where the callback writes: it has no parameter of its own

static inline void take_line(const char *fmt, QnnLog_Level_t level, uint64_t timestamp,
                             va_list args) {
    (void)timestamp;
    if (level != QNN_LOG_LEVEL_WARN)
        return;
    warned->n++;
    vsnprintf(warned->last, sizeof warned->last, fmt, args);
}

static inline htp_world htp_warned(uint32_t soc, warnings *seen) {
    htp_world w = {.qnn = htp_open()};
    warned = seen;
    HTP_OK(w.qnn.logCreate(take_line, QNN_LOG_LEVEL_WARN, &seen->log));
    HTP_OK(w.qnn.backendCreate(seen->log, NULL, &w.backend));
    w.device = htp_device(&w.qnn, soc);
    HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &w.context));
    return w;
}

static inline void htp_warned_end(htp_world *w) {
    htp_table qnn = w->qnn;
    htp_end(w);
    HTP_OK(qnn.logFree(warned->log));
}

static inline Qnn_ErrorHandle_t context_with(const htp_world *w,
                                             const QnnHtpContext_CustomConfig_t *custom, size_t n,
                                             Qnn_ContextHandle_t *c) {
    QnnContext_Config_t entry[HTP_OPTIONS_MAX];
    const QnnContext_Config_t *list[HTP_OPTIONS_MAX + 1] = {0};
    assert_true(n <= HTP_OPTIONS_MAX);
    for (size_t i = 0; i < n; i++) {
        entry[i] = (QnnContext_Config_t){.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                         .customConfig = (void *)&custom[i]};
        list[i] = &entry[i];
    }
    return w->qnn.contextCreate(w->backend, w->device, list, c);
}

// A device for SM8850 with n cores, as its platform info lists them.
static inline Qnn_DeviceHandle_t device_of_cores(const htp_table *qnn, uint32_t n) {
    QnnDevice_CoreInfo_t cores[2];
    QnnHtpDevice_DeviceInfoExtension_t extension = {.devType = QNN_HTP_DEVICE_TYPE_ON_CHIP};
    QnnDevice_HardwareDeviceInfo_t device = {.version = QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1};
    QnnDevice_PlatformInfo_t info = {.version = QNN_DEVICE_PLATFORM_INFO_VERSION_1};
    memset(cores, 0, sizeof cores);
    for (uint32_t i = 0; i < 2; i++) {
        cores[i].version = QNN_DEVICE_CORE_INFO_VERSION_1;
        cores[i].v1.coreId = i;
    }
    extension.onChipDevice.socModel = 87;
    extension.onChipDevice.arch = (QnnHtpDevice_Arch_t)81;
    extension.onChipDevice.vtcmSize = 8;
    device.v1.numCores = n;
    device.v1.cores = cores;
    device.v1.deviceInfoExtension = &extension;
    info.v1.numHwDevices = 1;
    info.v1.hwDevices = &device;
    QnnDevice_Config_t x = {.option = QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO,
                            .hardwareInfo = &info};
    const QnnDevice_Config_t *list[] = {&x, NULL};
    Qnn_DeviceHandle_t d = NULL;
    HTP_OK(qnn->deviceCreate(NULL, list, &d));
    return d;
}

#endif
