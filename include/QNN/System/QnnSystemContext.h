// SPDX-License-Identifier: MIT
//
// System library: describe a context binary without a backend.

#ifndef QNN_SYSTEM_CONTEXT_H
#define QNN_SYSTEM_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "QnnDevice.h"
#include "QnnTypes.h"
#include "System/QnnSystemCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// Errors of the context component.
typedef enum {
    QNN_SYSTEM_CONTEXT_MINERROR = 30000,                 // first code
    QNN_SYSTEM_CONTEXT_NO_ERROR = 0,                     // done
    QNN_SYSTEM_CONTEXT_ERROR_UNSUPPORTED_FEATURE = 1000, // the library does not do this
    QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE = 30000,     // not a handle of this component
    QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT = 30001,   // an argument is wrong
    QNN_SYSTEM_CONTEXT_ERROR_OPERATION_FAILED = 30002,   // failed for another reason
    QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY = 30010,   // cannot be parsed
    QNN_SYSTEM_CONTEXT_MAXERROR = 49999,                 // last code
} QnnSystemContext_Error_t;

// A reader of context binaries; owns what it hands out.
typedef void *QnnSystemContext_Handle_t;

// A graph.
typedef struct {
    const char *graphName;      // name of the graph
    uint32_t numGraphInputs;    // length of graphInputs
    Qnn_Tensor_t *graphInputs;  // inputs, without data
    uint32_t numGraphOutputs;   // length of graphOutputs
    Qnn_Tensor_t *graphOutputs; // outputs, without data
} QnnSystemContext_GraphInfoV1_t;

// A graph with updateable tensors.
typedef struct {
    const char *graphName;           // name of the graph
    uint32_t numGraphInputs;         // length of graphInputs
    Qnn_Tensor_t *graphInputs;       // inputs, without data
    uint32_t numGraphOutputs;        // length of graphOutputs
    Qnn_Tensor_t *graphOutputs;      // outputs, without data
    uint32_t numUpdateableTensors;   // length of updateableTensors
    Qnn_Tensor_t *updateableTensors; // tensors whose data or encodings may change
} QnnSystemContext_GraphInfoV2_t;

// A graph with facts of the backend.
typedef struct {
    const char *graphName;           // name of the graph
    uint32_t numGraphInputs;         // length of graphInputs
    Qnn_Tensor_t *graphInputs;       // inputs, without data
    uint32_t numGraphOutputs;        // length of graphOutputs
    Qnn_Tensor_t *graphOutputs;      // outputs, without data
    uint32_t numUpdateableTensors;   // length of updateableTensors
    Qnn_Tensor_t *updateableTensors; // tensors whose data or encodings may change
    uint32_t graphBlobInfoSize;      // bytes of graphBlobInfo
    void *graphBlobInfo;             // facts of the backend, or NULL
    uint32_t startOpIndex;           // first op of the graph
    uint32_t endOpIndex;             // last op of the graph
} QnnSystemContext_GraphInfoV3_t;

// Version of QnnSystemContext_GraphInfo_t.
typedef enum {
    QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1 = 1,
    QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_2 = 2,
    QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3 = 3,
    QNN_SYSTEM_CONTEXT_GRAPH_INFO_UNDEFINED = 0x7FFFFFFF,
} QnnSystemContext_GraphInfoVersion_t;

// A graph, versioned.
typedef struct {
    QnnSystemContext_GraphInfoVersion_t version; // selects the union member
    union UNNAMED {
        QnnSystemContext_GraphInfoV1_t graphInfoV1; // version 1
        QnnSystemContext_GraphInfoV2_t graphInfoV2; // version 2
        QnnSystemContext_GraphInfoV3_t graphInfoV3; // version 3
    };
} QnnSystemContext_GraphInfo_t;

// A context binary.
typedef struct {
    uint32_t backendId;                   // QNN_BACKEND_ID_*
    const char *buildId;                  // build id of the library that wrote it
    Qnn_Version_t coreApiVersion;         // core API
    Qnn_Version_t backendApiVersion;      // API of the backend
    const char *socVersion;               // name of the SoC, or NULL
    Qnn_Version_t hwInfoBlobVersion;      // version of hwInfoBlob
    Qnn_Version_t contextBlobVersion;     // version of the binary itself
    uint32_t hwInfoBlobSize;              // bytes
    void *hwInfoBlob;                     // facts about the hardware, in a struct of the backend
    uint64_t contextBlobSize;             // bytes of the binary itself
    uint32_t numContextTensors;           // length of contextTensors
    Qnn_Tensor_t *contextTensors;         // tensors of the context
    uint32_t numGraphs;                   // length of graphs
    QnnSystemContext_GraphInfo_t *graphs; // the graphs
} QnnSystemContext_BinaryInfoV1_t;

// A context binary with the device it was made for.
typedef struct {
    uint32_t backendId;                     // QNN_BACKEND_ID_*
    const char *buildId;                    // build id of the library that wrote it
    Qnn_Version_t coreApiVersion;           // core API
    Qnn_Version_t backendApiVersion;        // API of the backend
    const char *socVersion;                 // name of the SoC, or NULL
    Qnn_Version_t hwInfoBlobVersion;        // version of hwInfoBlob
    Qnn_Version_t contextBlobVersion;       // version of the binary itself
    uint32_t hwInfoBlobSize;                // bytes
    void *hwInfoBlob;                       // facts about the hardware, in a struct of the backend
    uint64_t contextBlobSize;               // bytes of the binary itself
    uint32_t numContextTensors;             // length of contextTensors
    Qnn_Tensor_t *contextTensors;           // tensors of the context
    uint32_t numGraphs;                     // length of graphs
    QnnSystemContext_GraphInfo_t *graphs;   // the graphs
    QnnDevice_PlatformInfo_t *platformInfo; // device the binary was made for, or NULL
} QnnSystemContext_BinaryInfoV2_t;

// A context binary with metadata in place of the hardware blob.
typedef struct {
    uint32_t backendId;                     // QNN_BACKEND_ID_*
    const char *buildId;                    // build id of the library that wrote it
    Qnn_Version_t coreApiVersion;           // core API
    Qnn_Version_t backendApiVersion;        // API of the backend
    const char *socVersion;                 // name of the SoC, or NULL
    Qnn_Version_t contextBlobVersion;       // version of the binary itself
    uint64_t contextBlobSize;               // bytes of the binary itself
    uint32_t numContextTensors;             // length of contextTensors
    Qnn_Tensor_t *contextTensors;           // tensors of the context
    uint32_t numGraphs;                     // length of graphs
    QnnSystemContext_GraphInfo_t *graphs;   // the graphs
    QnnDevice_PlatformInfo_t *platformInfo; // device the binary was made for, or NULL
    uint32_t contextMetadataSize;           // bytes of contextMetadata
    void *contextMetadata;                  // facts of the backend, or NULL
    uint32_t socModel;                      // Qnn_SocModel_t
} QnnSystemContext_BinaryInfoV3_t;

// Version of QnnSystemContext_BinaryInfo_t.
typedef enum {
    QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_1 = 1,
    QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_2 = 2,
    QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3 = 3,
    QNN_SYSTEM_CONTEXT_BINARY_INFO_UNDEFINED = 0x7FFFFFFF,
} QnnSystemContext_BinaryInfoVersion_t;

// A context binary, versioned.
typedef struct {
    QnnSystemContext_BinaryInfoVersion_t version; // selects the union member
    union UNNAMED {
        QnnSystemContext_BinaryInfoV1_t contextBinaryInfoV1; // version 1
        QnnSystemContext_BinaryInfoV2_t contextBinaryInfoV2; // version 2
        QnnSystemContext_BinaryInfoV3_t contextBinaryInfoV3; // version 3
    };
} QnnSystemContext_BinaryInfo_t;

// Initial values: everything unset.
// clang-format off
#define QNN_SYSTEM_CONTEXT_GRAPH_INFO_V1_INIT {NULL, 0, NULL, 0, NULL}
#define QNN_SYSTEM_CONTEXT_GRAPH_INFO_V2_INIT {NULL, 0, NULL, 0, NULL, 0, NULL}
#define QNN_SYSTEM_CONTEXT_GRAPH_INFO_V3_INIT {NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0}
#define QNN_SYSTEM_CONTEXT_GRAPH_INFO_INIT \
    {QNN_SYSTEM_CONTEXT_GRAPH_INFO_UNDEFINED, {QNN_SYSTEM_CONTEXT_GRAPH_INFO_V1_INIT}}
#define QNN_SYSTEM_CONTEXT_BINARY_INFO_V1_INIT \
    {0, NULL, QNN_VERSION_INIT, QNN_VERSION_INIT, NULL, QNN_VERSION_INIT, QNN_VERSION_INIT, 0, \
    NULL, 0, 0, NULL, 0, NULL}
#define QNN_SYSTEM_CONTEXT_BINARY_INFO_V2_INIT \
    {0, NULL, QNN_VERSION_INIT, QNN_VERSION_INIT, NULL, QNN_VERSION_INIT, QNN_VERSION_INIT, 0, \
    NULL, 0, 0, NULL, 0, NULL, NULL}
#define QNN_SYSTEM_CONTEXT_BINARY_INFO_V3_INIT \
    {0, NULL, QNN_VERSION_INIT, QNN_VERSION_INIT, NULL, QNN_VERSION_INIT, 0, 0, NULL, 0, NULL, \
    NULL, 0, NULL, 0}
#define QNN_SYSTEM_CONTEXT_BINARYINFO_INIT \
    {QNN_SYSTEM_CONTEXT_BINARY_INFO_UNDEFINED, {QNN_SYSTEM_CONTEXT_BINARY_INFO_V1_INIT}}
// clang-format on

// Makes a reader.
// Errors: QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT, QNN_COMMON_ERROR_MEM_ALLOC,
// QNN_SYSTEM_CONTEXT_ERROR_UNSUPPORTED_FEATURE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemContext_create(QnnSystemContext_Handle_t *sysCtxHandle);

// Describes a binary and says how many bytes the description takes. Older form of
// QnnSystemContext_getMetadata.
// Errors: QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE, QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT,
// QNN_SYSTEM_CONTEXT_ERROR_OPERATION_FAILED, QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY,
// QNN_SYSTEM_CONTEXT_ERROR_UNSUPPORTED_FEATURE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemContext_getBinaryInfo(
    QnnSystemContext_Handle_t sysCtxHandle, void *binaryBuffer, uint64_t binaryBufferSize,
    const QnnSystemContext_BinaryInfo_t **binaryInfo, Qnn_ContextBinarySize_t *binaryInfoSize);

// Describes a binary. The description lives as long as the reader.
// Errors: QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE, QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT,
// QNN_SYSTEM_CONTEXT_ERROR_OPERATION_FAILED, QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY,
// QNN_SYSTEM_CONTEXT_ERROR_UNSUPPORTED_FEATURE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemContext_getMetadata(
    QnnSystemContext_Handle_t sysCtxHandle, const void *binaryBuffer,
    Qnn_ContextBinarySize_t binaryBufferSize, const QnnSystemContext_BinaryInfo_t **binaryInfo);

// Frees the reader and what it handed out.
// Errors: QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE, QNN_SYSTEM_CONTEXT_ERROR_UNSUPPORTED_FEATURE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemContext_free(QnnSystemContext_Handle_t sysCtxHandle);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_SYSTEM_CONTEXT_H
