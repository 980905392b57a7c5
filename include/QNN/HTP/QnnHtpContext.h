// SPDX-License-Identifier: MIT
//
// HTP backend: custom configuration and properties of a context.

#ifndef QNN_HTP_CONTEXT_H
#define QNN_HTP_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "QnnContext.h"

#ifdef __cplusplus
extern "C" {
#endif

// Contexts that share a spill-fill buffer.
typedef struct {
    Qnn_ContextHandle_t firstGroupHandle; // first context of the group; NULL for itself
    uint64_t maxSpillFillBuffer;          // bytes that serve all of them
} QnnHtpContext_GroupRegistration_t;

// Splitting of graphs.
typedef struct {
    bool graphSplittingEnabled; // whether graphs may be split
} QnnHtpContext_GraphSplit_t;

// Whether weights are loaded by several threads.
typedef enum {
    QNN_HTP_PARALLEL_WEIGHT_LOADING_MODE_ADAPTIVE = 0,
    QNN_HTP_PARALLEL_WEIGHT_LOADING_MODE_ON = 1,
    QNN_HTP_PARALLEL_WEIGHT_LOADING_MODE_OFF = 2,
} QnnHtpContext_ParallelWeightLoadingMode_t;

// Loading of weights by several threads.
typedef struct {
    QnnHtpContext_ParallelWeightLoadingMode_t mode; // adaptive, on or off
    uint64_t thresholdInMbOverride; // MB from which on it is worth it; 0 keeps the default
} QnnHtpContext_ParallelWeightLoading_t;

// Graphs that share a preload buffer.
typedef struct {
    const char **graphNames; // names of the graphs
    uint32_t numGraphs;      // length of graphNames
} QnnHtpContext_LoraPreloadGroup_t;

// Groups of graphs that share preload buffers.
typedef struct {
    const QnnHtpContext_LoraPreloadGroup_t *groups; // the groups
    uint32_t numGroups;                             // length of groups
} QnnHtpContext_LoraPreloadBufferGroups_t;

// Custom options of a context.
typedef enum {
    QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED = 1,
    QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_MULTI_CONTEXTS = 2,
    QNN_HTP_CONTEXT_CONFIG_OPTION_FILE_READ_MEMORY_BUDGET = 3,
    QNN_HTP_CONTEXT_CONFIG_OPTION_DSP_MEMORY_PROFILING_ENABLED = 4,
    QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES = 5,
    QNN_HTP_CONTEXT_CONFIG_OPTION_IO_MEM_ESTIMATION = 6,
    QNN_HTP_CONTEXT_CONFIG_OPTION_PREPARE_ONLY = 7,
    QNN_HTP_CONTEXT_CONFIG_OPTION_INIT_ACCELERATION = 8,
    QNN_HTP_CONTEXT_CONFIG_OPTION_SKIP_VALIDATION_ON_BINARY_SECTION = 9,
    QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES_OPTIMIZATION_TYPE = 10,
    QNN_HTP_CONTEXT_CONFIG_OPTION_USE_EXTENDED_UDMA = 11,
    QNN_HTP_CONTEXT_CONFIG_OPTION_REGISTER_CONCURRENT_RESOURCE_SHARING = 12,
    QNN_HTP_CONTEXT_CONFIG_OPTION_LORA_WEIGHT_SHARING_ENABLED = 13,
    QNN_HTP_CONTEXT_CONFIG_OPTION_RESERVED_14 = 14,
    QNN_HTP_CONTEXT_CONFIG_OPTION_RESERVED_15 = 15,
    QNN_HTP_CONTEXT_CONFIG_OPTION_LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED = 16,
    QNN_HTP_CONTEXT_CONFIG_OPTION_REUSED_IO_LIMIT = 17,
    QNN_HTP_CONTEXT_CONFIG_OPTION_REFERENCE_WEIGHT_SHARING_ENABLED = 18,
    QNN_HTP_CONTEXT_CONFIG_OPTION_CONCURRENT_DESERIALIZATION_EXTRA_SIZE = 19,
    QNN_HTP_CONTEXT_CONFIG_OPTION_GRAPH_SPLITTING_ENABLED = 20,
    QNN_HTP_CONTEXT_CONFIG_OPTION_CONCURRENT_DESERIALIZATION_PATCH = 21,
    QNN_HTP_CONTEXT_CONFIG_OPTION_GRAPH_SPLITTING_CONFIGS = 22,
    QNN_HTP_CONTEXT_CONFIG_OPTION_LORA_PRELOAD_BUFFER_GROUPS = 23,
    QNN_HTP_CONTEXT_CONFIG_OPTION_RESERVED_24 = 24,
    QNN_HTP_CONTEXT_CONFIG_OPTION_PARALLEL_WEIGHT_LOADING = 25,
    QNN_HTP_CONTEXT_CONFIG_OPTION_UNKNOWN = 0x7FFFFFFF,
} QnnHtpContext_ConfigOption_t;

// How contexts of a list share resources.
typedef enum {
    SEQUENTIAL_WITH_VA_OPTIMIZATION = 0,    // one after the other, sharing addresses as well
    SEQUENTIAL_WITHOUT_VA_OPTIMIZATION = 1, // one after the other
    CONCURRENT_OPTIMIZATION = 2,            // at the same time
} QnnHtpContext_ShareResourcesOptimizationType_t;

// One custom option.
typedef struct QnnHtpContext_CustomConfig {
    QnnHtpContext_ConfigOption_t option; // selects the union member
    union UNNAMED {
        bool weightSharingEnabled; // WEIGHT_SHARING_ENABLED: among the graphs of the context
        QnnHtpContext_GroupRegistration_t groupRegistration; // REGISTER_MULTI_CONTEXTS
        uint64_t fileReadMemoryBudgetInMb;                   // FILE_READ_MEMORY_BUDGET
        bool dspMemoryProfilingEnabled;                      // DSP_MEMORY_PROFILING_ENABLED
        bool shareResources;                // SHARE_RESOURCES: with a list of contexts only
        bool ioMemEstimation;               // IO_MEM_ESTIMATION
        bool isPrepareOnly;                 // PREPARE_ONLY: compile, do not load
        bool initAcceleration;              // INIT_ACCELERATION
        bool skipValidationOnBinarySection; // SKIP_VALIDATION_ON_BINARY_SECTION
        // SHARE_RESOURCES_OPTIMIZATION_TYPE: with a list of contexts only
        QnnHtpContext_ShareResourcesOptimizationType_t shareResOptType;
        bool useExtendedUdma; // USE_EXTENDED_UDMA: address more memory by DMA
        // REGISTER_CONCURRENT_RESOURCE_SHARING
        QnnHtpContext_GroupRegistration_t concurrentGroupRegistration;
        bool loraWeightSharingEnabled;           // LORA_WEIGHT_SHARING_ENABLED
        bool loraWeightSharingRamPreloadEnabled; // LORA_WEIGHT_SHARING_RAM_PRELOAD_ENABLED
        // LORA_PRELOAD_BUFFER_GROUPS
        const QnnHtpContext_LoraPreloadBufferGroups_t *loraPreloadBufferGroups;
        uint64_t reusedIoLimitMb;                         // REUSED_IO_LIMIT
        bool referenceWeightSharingEnabled;               // REFERENCE_WEIGHT_SHARING_ENABLED
        uint32_t concurrentDeserializationExtraSizeKB;    // CONCURRENT_DESERIALIZATION_EXTRA_SIZE
        bool graphSplittingEnabled;                       // GRAPH_SPLITTING_ENABLED
        int concurrentDeserializationPatchFd;             // CONCURRENT_DESERIALIZATION_PATCH
        QnnHtpContext_GraphSplit_t graphSplittingConfigs; // GRAPH_SPLITTING_CONFIGS
        QnnHtpContext_ParallelWeightLoading_t parallelWeightLoading; // PARALLEL_WEIGHT_LOADING
    };
} QnnHtpContext_CustomConfig_t;

// Custom properties of a context.
typedef enum {
    QNN_HTP_CONTEXT_GET_PROP_BUFFER_START_ALIGNMENT = 1,
    QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE = 2,
    QNN_HTP_CONTEXT_GET_PROP_WEIGHTS_BUFFER_SIZE = 3,
    QNN_HTP_CONTEXT_GET_PROP_RESERVED_4 = 4,
    QNN_HTP_CONTEXT_GET_PROP_RESERVED_5 = 5,
    QNN_HTP_CONTEXT_GET_PROP_MAX_VTCMBACKUP_BUFFER_SIZE = 6,
    QNN_HTP_CONTEXT_GET_PROP_RESERVED_7 = 7,
    QNN_HTP_CONTEXT_GET_PROP_UNDEFINED = 0x7FFFFFFF,
} QnnHtpContext_GetPropertyOption_t;

// One custom property.
typedef struct {
    QnnHtpContext_GetPropertyOption_t option; // selects the union member
    union UNNAMED {
        uint64_t bufferStartAlignment; // BUFFER_START_ALIGNMENT: bytes
        uint64_t spillfillBufferSize;  // MAX_SPILLFILL_BUFFER_SIZE: bytes
        uint64_t weightsBufferSize;    // WEIGHTS_BUFFER_SIZE: bytes
        uint64_t vtcmBackupBufferSize; // MAX_VTCMBACKUP_BUFFER_SIZE: bytes
    };
} QnnHtpContext_CustomProperty_t;

// Initial values: everything unset.
// clang-format off
#define QNN_HTP_CONTEXT_CUSTOM_CONFIG_INIT {QNN_HTP_CONTEXT_CONFIG_OPTION_UNKNOWN, {false}}
#define QNN_HTP_CONTEXT_CUSTOM_PROPERTY_INIT {QNN_HTP_CONTEXT_GET_PROP_UNDEFINED, {0}}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_HTP_CONTEXT_H
