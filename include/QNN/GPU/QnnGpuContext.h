// SPDX-License-Identifier: MIT
//
// GPU backend: custom configuration of a context.

#ifndef QNN_GPU_CONTEXT_H
#define QNN_GPU_CONTEXT_H

#include <stdint.h>

#include "QnnCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// Custom options of a context.
typedef enum {
    QNN_GPU_CONTEXT_CONFIG_OPTION_PERF_HINT = 0,
    QNN_GPU_CONTEXT_CONFIG_OPTION_USE_GL_BUFFERS = 1,
    QNN_GPU_CONTEXT_CONFIG_OPTION_KERNEL_REPO_DIR = 2,
    QNN_GPU_CONTEXT_CONFIG_OPTION_INVALIDATE_KERNEL_REPO = 3,
    QNN_GPU_CONTEXT_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnGpuContext_ConfigOption_t;

// How much performance is wanted.
typedef enum {
    QNN_GPU_CONTEXT_PERF_HINT_HIGH = 0, // the default
    QNN_GPU_CONTEXT_PERF_HINT_NORMAL = 1,
    QNN_GPU_CONTEXT_PERF_HINT_LOW = 2,
} QnnGpuContext_PerfHint_t;

// One custom option; flags are on when not 0.
typedef struct {
    QnnGpuContext_ConfigOption_t option; // selects the union member
    union UNNAMED {
        QnnGpuContext_PerfHint_t perfHint; // PERF_HINT: high by default
        uint8_t useGLBuffers;              // USE_GL_BUFFERS
        const char *kernelRepoDir;         // KERNEL_REPO_DIR: where compiled kernels are kept
        uint8_t invalidateKernelRepo;      // INVALIDATE_KERNEL_REPO: forget them
    };
} QnnGpuContext_CustomConfig_t;

// Initial values: everything unset.
// clang-format off
#define QNN_GPU_CONTEXT_CUSTOM_CONFIG_INIT \
    {QNN_GPU_CONTEXT_CONFIG_OPTION_UNDEFINED, {QNN_GPU_CONTEXT_PERF_HINT_HIGH}}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_GPU_CONTEXT_H
