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

#define QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG 0x7FFFFFFF

typedef int32_t *FenceHandle;

typedef enum {
    QNN_GPU_PRECISION_FP32 = 0,
    QNN_GPU_PRECISION_FP16 = 1,
    QNN_GPU_PRECISION_HYBRID = 2,
    QNN_GPU_PRECISION_USER_PROVIDED = 3,
    QNN_GPU_PRECISION_UNDEFINED = 0x7FFFFFFF,
} QnnGpu_Precision_t;

typedef struct {
    QnnGpu_Precision_t precision;
    uint8_t disableMemoryOptimizations;
    uint8_t disableNodeOptimizations;
    uint8_t disableQueueRecording;
} QnnGpuGraph_CustomConfig_t;

typedef struct {
    uint32_t *numInputFences;
    FenceHandle *inputFenceHandles;
    uint8_t enableOutputFence;
    FenceHandle outputFence;
} QnnGpuGraph_FenceConfigV1_t;

typedef enum {
    QNN_GPU_GRAPH_FENCE_CONFIG_VERSION_V1 = 0,
    QNN_GPU_GRAPH_FENCE_CONFIG_VERSION_UNDEFINED = 0x7FFFFFFF,
} QnnGpuGraph_FenceConfigVersion_t;

typedef struct {
    QnnGpuGraph_FenceConfigVersion_t version;
    union UNNAMED {
        QnnGpuGraph_FenceConfigV1_t fenceConfigV1;
    };
} QnnGpuGraph_FenceConfig_t;

typedef enum {
    QNN_GPU_GRAPH_CONFIG_OPTION_PRECISION = 0,
    QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_MEMORY_OPTIMIZATIONS = 1,
    QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_NODE_OPTIMIZATIONS = 2,
    QNN_GPU_GRAPH_CONFIG_OPTION_DISABLE_QUEUE_RECORDING = 3,
    QNN_GPU_GRAPH_CONFIG_OPTION_FENCE_CONFIG = 4,
    QNN_GPU_GRAPH_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnGpuGraph_ConfigOption_t;

typedef struct {
    uint32_t handshake;
    QnnGpuGraph_ConfigOption_t option;
    union UNNAMED {
        QnnGpu_Precision_t precision;
        uint8_t disableMemoryOptimizations;
        uint8_t disableNodeOptimizations;
        uint8_t disableQueueRecording;
        QnnGpuGraph_FenceConfig_t fenceConfig;
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
