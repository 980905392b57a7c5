// SPDX-License-Identifier: MIT
//
// HTP backend: the blobs it puts beside the description of a context binary.

#ifndef QNN_HTP_SYSTEM_CONTEXT_H
#define QNN_HTP_SYSTEM_CONTEXT_H

#include <stdint.h>

#include "QnnCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// Hardware blob: one entry for a graph.
typedef struct QnnHtpSystemContext_HwBlobInfoV1 {
    uint32_t graphListIndex;      // which graph
    uint64_t spillFillBufferSize; // bytes
} QnnHtpSystemContext_HwBlobInfoV1_t;

// Version of QnnHtpSystemContext_HwBlobInfo_t.
typedef enum {
    QNN_SYSTEM_CONTEXT_HTP_HW_INFO_BLOB_VERSION_V1 = 1,
    QNN_SYSTEM_CONTEXT_HTP_HW_INFO_BLOB_UNDEFINED = 0x7FFFFFFF,
} QnnHtpSystemContext_HwInfoBlobVersion_t;

// Hardware blob, versioned.
typedef struct {
    QnnHtpSystemContext_HwInfoBlobVersion_t version; // selects the union member
    union UNNAMED {
        QnnHtpSystemContext_HwBlobInfoV1_t contextBinaryHwInfoBlobV1_t; // V1
    };
} QnnHtpSystemContext_HwBlobInfo_t;

// What a graph was compiled for and needs.
typedef struct {
    uint64_t spillFillBufferSize; // bytes
    uint32_t vtcmSize;            // MB
    uint32_t optimizationLevel;   // 1 to 3
    uint8_t htpDlbc;              // not 0: data is compressed on the way to memory
    uint64_t numHvxThreads;       // vector threads
} QnnHtpSystemContext_GraphBlobInfoV1_t;

// Version of the graph blob.
typedef enum {
    QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1 = 1,
    QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V2 = 2,
    QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_UNDEFINED = 0x7FFFFFFF,
} QnnHtpSystemContext_GraphInfoBlobVersion_t;

// More of what a graph needs; carries its own version and is not a member of
// QnnHtpSystemContext_GraphBlobInfo_t.
typedef struct {
    QnnHtpSystemContext_GraphInfoBlobVersion_t version; // of this struct
    uint64_t nativeKChannelSize;                        // of a native KV cache
    uint64_t nativeVChannelSize;                        // of a native KV cache
    uint32_t isSafeShareIO;     // not 0: inputs and outputs may share memory
    uint64_t ioTensorSize;      // bytes of inputs and outputs
    uint64_t opDataSize;        // bytes of op data
    uint64_t constSize;         // bytes of constants
    uint64_t ddrTensorSize;     // bytes of tensors kept in memory
    uint64_t sharedWeightsSize; // bytes of weights shared with other graphs
} QnnHtpSystemContext_GraphBlobInfoV2_t;

// Graph blob, versioned.
typedef struct {
    QnnHtpSystemContext_GraphInfoBlobVersion_t version; // selects the union member
    union UNNAMED {
        QnnHtpSystemContext_GraphBlobInfoV1_t contextBinaryGraphBlobInfoV1; // V1
    };
} QnnHtpSystemContext_GraphBlobInfo_t;

// What a context was compiled for.
typedef struct {
    uint32_t dspArch; // architecture
} QnnHtpSystemContext_ContextBlobInfoV1_t;

// Version of QnnHtpSystemContext_ContextBlobInfo_t.
typedef enum {
    QNN_SYSTEM_CONTEXT_HTP_CONTEXT_INFO_BLOB_VERSION_V1 = 1,
    QNN_SYSTEM_CONTEXT_HTP_CONTEXT_INFO_BLOB_UNDEFINED = 0x7FFFFFFF,
} QnnHtpSystemContext_ContextInfoBlobVersion_t;

// Context blob, versioned.
typedef struct {
    QnnHtpSystemContext_ContextInfoBlobVersion_t version; // selects the union member
    union UNNAMED {
        QnnHtpSystemContext_ContextBlobInfoV1_t contextBinaryContextBlobInfoV1; // V1
    };
} QnnHtpSystemContext_ContextBlobInfo_t;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_HTP_SYSTEM_CONTEXT_H
