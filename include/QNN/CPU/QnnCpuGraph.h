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

// Called after each op with its config; the tensor data is valid during the call only.
typedef Qnn_ErrorHandle_t (*QnnCpuGraph_OpDebugCallback_t)(Qnn_OpConfig_t *opConfig,
                                                           void *callBackParam);

// Debug callback.
typedef struct {
    void *callBackParam;                                   // passed on unchanged
    QnnCpuGraph_OpDebugCallback_t cpuGraphOpDebugCallback; // called after each op
} QnnCpuGraph_OpDebug_t;

// Use of the matrix extension.
typedef struct {
    bool useQmx; // whether to use it
} QnnCpuGraph_UseQmx_t;

// Custom options of a graph.
typedef enum {
    QNN_CPU_GRAPH_CONFIG_OPTION_OP_DEBUG_CALLBACK = 1,
    QNN_CPU_GRAPH_CONFIG_OPTION_USE_QMX = 2,
    QNN_CPU_GRAPH_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnCpuGraph_ConfigOption_t;

// One custom option.
typedef struct {
    QnnCpuGraph_ConfigOption_t option; // selects the union member
    union UNNAMED {
        QnnCpuGraph_OpDebug_t cpuGraphOpDebug; // OP_DEBUG_CALLBACK
        QnnCpuGraph_UseQmx_t cpuGraphUseQmx;   // USE_QMX
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
