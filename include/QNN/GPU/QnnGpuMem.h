// SPDX-License-Identifier: MIT
//
// GPU backend: custom memory.

#ifndef QNN_GPU_MEM_H
#define QNN_GPU_MEM_H

#include <stddef.h>

#include "QnnCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// An OpenCL buffer.
typedef void *QnnGpuMem_Buffer_t;

// Kind of custom memory.
typedef enum {
    QNN_GPU_MEM_OPENCL = 0,
    QNN_GPU_MEM_UNDEFINED = 0x7FFFFFF,
} QnnGpu_MemType_t;

// Custom memory, for Qnn_MemDescriptor_t.
typedef struct {
    QnnGpu_MemType_t memType; // selects the union member
    union UNNAMED {
        QnnGpuMem_Buffer_t buffer; // OPENCL
    };
} QnnGpu_MemInfoCustom_t;

// Initial values: everything unset.
// clang-format off
#define QNN_GPU_MEMINFO_CUSTOM_INIT {QNN_GPU_MEM_UNDEFINED, {NULL}}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_GPU_MEM_H
