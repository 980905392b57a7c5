// SPDX-License-Identifier: MIT
//
// GPU backend: custom configuration of a backend.

#ifndef QNN_GPU_BACKEND_H
#define QNN_GPU_BACKEND_H

#include <stdint.h>

#include "QnnBackend.h"

#ifdef __cplusplus
extern "C" {
#endif

// Custom options of a backend.
typedef enum {
    QNN_GPU_BACKEND_CONFIG_OPTION_ENABLE_TUNING_MODE = 0,
    QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR = 1,
    QNN_GPU_BACKEND_CONFIG_OPTION_INVALIDATE_PERFORMANCE_CACHE = 2,
    QNN_GPU_BACKEND_CONFIG_OPTION_WEIGHT_SHARING_ENABLED = 3,
    QNN_GPU_BACKEND_CONFIG_OPTION_DISABLE_KERNEL_PROFILING = 4,
    QNN_GPU_BACKEND_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnGpuBackend_ConfigOption_t;

// One custom option; flags are on when not 0.
typedef struct {
    QnnGpuBackend_ConfigOption_t option; // selects the union member
    union UNNAMED {
        uint8_t enableTuningMode;           // ENABLE_TUNING_MODE: measure and keep the best kernels
        const char *performanceCacheDir;    // PERFORMANCE_CACHE_DIR: where they are kept
        uint8_t invalidatePerformanceCache; // INVALIDATE_PERFORMANCE_CACHE: forget them
        uint8_t weightSharingEnabled;       // WEIGHT_SHARING_ENABLED: among contexts
        uint8_t disableKernelProfiling;     // DISABLE_KERNEL_PROFILING
    };
} QnnGpuBackend_CustomConfig_t;

// Initial values: everything unset.
// clang-format off
#define QNN_GPU_BACKEND_CUSTOM_CONFIG_INIT {QNN_GPU_BACKEND_CONFIG_OPTION_UNDEFINED, {0}}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_GPU_BACKEND_H
