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

typedef enum {
    QNN_GPU_BACKEND_CONFIG_OPTION_ENABLE_TUNING_MODE = 0,
    QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR = 1,
    QNN_GPU_BACKEND_CONFIG_OPTION_INVALIDATE_PERFORMANCE_CACHE = 2,
    QNN_GPU_BACKEND_CONFIG_OPTION_WEIGHT_SHARING_ENABLED = 3,
    QNN_GPU_BACKEND_CONFIG_OPTION_DISABLE_KERNEL_PROFILING = 4,
    QNN_GPU_BACKEND_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnGpuBackend_ConfigOption_t;

typedef struct {
    QnnGpuBackend_ConfigOption_t option;
    union UNNAMED {
        uint8_t enableTuningMode;
        const char *performanceCacheDir;
        uint8_t invalidatePerformanceCache;
        uint8_t weightSharingEnabled;
        uint8_t disableKernelProfiling;
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
