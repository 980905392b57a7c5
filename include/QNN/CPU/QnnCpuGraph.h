// SPDX-License-Identifier: MIT
//
// CPU backend: custom configuration of a graph.

#ifndef QNN_CPU_GRAPH_H
#define QNN_CPU_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "QnnGraph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef Qnn_ErrorHandle_t (*QnnCpuGraph_OpDebugCallback_t)(Qnn_OpConfig_t *opConfig,
                                                           void *callBackParam);

typedef struct {
    void *callBackParam;
    QnnCpuGraph_OpDebugCallback_t cpuGraphOpDebugCallback;
} QnnCpuGraph_OpDebug_t;

typedef struct {
    bool useQmx;
} QnnCpuGraph_UseQmx_t;

typedef enum {
    QNN_CPU_GRAPH_CONFIG_OPTION_OP_DEBUG_CALLBACK = 1,
    QNN_CPU_GRAPH_CONFIG_OPTION_USE_QMX = 2,
    QNN_CPU_GRAPH_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnCpuGraph_ConfigOption_t;

typedef struct {
    QnnCpuGraph_ConfigOption_t option;
    union UNNAMED {
        QnnCpuGraph_OpDebug_t cpuGraphOpDebug;
        QnnCpuGraph_UseQmx_t cpuGraphUseQmx;
    };
} QnnCpuGraph_CustomConfig_t;

// Initial values: everything unset.
// clang-format off
#define QNN_CPU_GRAPH_OP_DEBUG_INIT {NULL, NULL}
#define QNN_CPU_GRAPH_USE_QMX_INIT {false}
#define QNN_CPU_GRAPH_CUSTOM_CONFIG_INIT \
    {QNN_CPU_GRAPH_CONFIG_OPTION_UNDEFINED, {QNN_CPU_GRAPH_OP_DEBUG_INIT}}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_CPU_GRAPH_H
