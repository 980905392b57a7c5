// SPDX-License-Identifier: MIT
//
// DSP backend: custom configuration of a context. For clients that include it; Quern has no such
// library.

#ifndef QNN_DSP_CONTEXT_H
#define QNN_DSP_CONTEXT_H

#include <stdint.h>

#include "QnnCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// Custom options of a context.
typedef enum {
    QNN_DSP_CONTEXT_CONFIG_OPTION_FILE_READ_MEMORY_BUDGET = 10,
    QNN_DSP_CONTEXT_CONFIG_OPTION_UNKNOWN = 0x7FFFFFFF,
} QnnDspContext_ConfigOption_t;

// One custom option.
typedef struct QnnDspContext_CustomConfig {
    QnnDspContext_ConfigOption_t option; // selects the union member
    union UNNAMED {
        uint32_t fileReadMemoryBudgetInMb; // FILE_READ_MEMORY_BUDGET
    };
} QnnDspContext_CustomConfig_t;

// What a context was compiled for.
typedef struct {
    uint32_t dspArch; // architecture
} QnnDspSystemContext_ContextBlobInfoV1_t;

// Version of QnnDspSystemContext_ContextBlobInfo_t.
typedef enum {
    QNN_SYSTEM_CONTEXT_DSP_CONTEXT_INFO_BLOB_VERSION_V1 = 1,
    QNN_SYSTEM_CONTEXT_DSP_CONTEXT_INFO_BLOB_UNDEFINED = 0x7FFFFFFF,
} QnnDspSystemContext_ContextInfoBlobVersion_t;

// Context blob, versioned.
typedef struct {
    QnnDspSystemContext_ContextInfoBlobVersion_t version; // selects the union member
    union UNNAMED {
        QnnDspSystemContext_ContextBlobInfoV1_t contextBinaryContextBlobInfoV1; // V1
    };
} QnnDspSystemContext_ContextBlobInfo_t;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_DSP_CONTEXT_H
