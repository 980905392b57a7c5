// SPDX-License-Identifier: MIT
//
// GPU backend: custom configuration of a graph.

#ifndef QNN_GPU_GRAPH_H
#define QNN_GPU_GRAPH_H

#include <stdint.h>

#include "QnnGraph.h"

#ifdef __cplusplus
extern "C" {
#endif

// First word of QnnGpuGraph_CustomConfigV2_t: tells it from version 1, where a precision stands.
#define QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG 0x7FFFFFFF

// File descriptor of a fence, by pointer.
typedef int32_t *FenceHandle;

// Arithmetic of a graph.
typedef enum {
    QNN_GPU_PRECISION_FP32 = 0,
    QNN_GPU_PRECISION_FP16 = 1,
    QNN_GPU_PRECISION_HYBRID = 2,        // half storage, single arithmetic
    QNN_GPU_PRECISION_USER_PROVIDED = 3, // as the tensors say
    QNN_GPU_PRECISION_UNDEFINED = 0x7FFFFFFF,
} QnnGpu_Precision_t;

// Custom options of a graph, version 1; flags are on when not 0.
typedef struct {
    QnnGpu_Precision_t precision;       // arithmetic
    uint8_t disableMemoryOptimizations; // keep every tensor in memory of its own
    uint8_t disableNodeOptimizations;   // fuse nothing
    uint8_t disableQueueRecording;      // submit kernels one by one
} QnnGpuGraph_CustomConfig_t;

// Fences an execution waits for, and the one it signals.
typedef struct {
    uint32_t *numInputFences;       // length of inputFenceHandles, by pointer
    FenceHandle *inputFenceHandles; // wait for these
    uint8_t enableOutputFence;      // not 0: signal outputFence
    FenceHandle outputFence;        // set by the execution
} QnnGpuGraph_FenceConfigV1_t;

// Version of QnnGpuGraph_FenceConfig_t.
typedef enum {
    QNN_GPU_GRAPH_FENCE_CONFIG_VERSION_V1 = 0,
    QNN_GPU_GRAPH_FENCE_CONFIG_VERSION_UNDEFINED = 0x7FFFFFFF,
} QnnGpuGraph_FenceConfigVersion_t;

// Fences, versioned.
typedef struct {
    QnnGpuGraph_FenceConfigVersion_t version; // selects the union member
    union UNNAMED {
        QnnGpuGraph_FenceConfigV1_t fenceConfigV1; // V1
    };
} QnnGpuGraph_FenceConfig_t;

// Custom options of a graph, version 2.
typedef enum {
    QNN_GPU_GRAPH_CONFIG_OPTION_PRECISION = 0,
    QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_MEMORY_OPTIMIZATIONS = 1,
    QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_NODE_OPTIMIZATIONS = 2,
    QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_QUEUE_RECORDING = 3,
    QNN_GPU_GRAPH_CONFIG_OPTION_FENCE_CONFIG = 4,
    QNN_GPU_GRAPH_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnGpuGraph_ConfigOption_t;

// One custom option, version 2.
typedef struct {
    uint32_t handshake;                // QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG
    QnnGpuGraph_ConfigOption_t option; // selects the union member
    union UNNAMED {
        QnnGpu_Precision_t precision;          // PRECISION
        uint8_t disableMemoryOptimizations;    // DISABLE_MEMORY_OPTIMIZATIONS
        uint8_t disableNodeOptimizations;      // DISABLE_NODE_OPTIMIZATIONS
        uint8_t disableQueueRecording;         // DISABLE_QUEUE_RECORDING
        QnnGpuGraph_FenceConfig_t fenceConfig; // FENCE_CONFIG
    };
} QnnGpuGraph_CustomConfigV2_t;

// Initial values: everything unset.
// clang-format off
#define QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT {QNN_GPU_PRECISION_USER_PROVIDED, 0, 0, 0}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_GPU_GRAPH_H
