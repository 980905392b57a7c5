// SPDX-License-Identifier: MIT
//
// Context component: owns graphs and tensors, and turns them into a binary and back.

#ifndef QNN_CONTEXT_H
#define QNN_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnMem.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// Errors of the context component.
typedef enum {
    QNN_CONTEXT_MIN_ERROR = 5000,                    // first code
    QNN_CONTEXT_NO_ERROR = 0,                        // done
    QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE = 1000,    // the library does not do this
    QNN_CONTEXT_ERROR_MEM_ALLOC = 1002,              // out of memory
    QNN_CONTEXT_ERROR_INVALID_ARGUMENT = 5000,       // an argument is wrong
    QNN_CONTEXT_ERROR_CTX_DOES_NOT_EXIST = 5001,     // no such context
    QNN_CONTEXT_ERROR_INVALID_HANDLE = 5002,         // not a handle of this component
    QNN_CONTEXT_ERROR_NOT_FINALIZED = 5003,          // a graph is not finalized
    QNN_CONTEXT_ERROR_BINARY_VERSION = 5004,         // binary of another version
    QNN_CONTEXT_ERROR_CREATE_FROM_BINARY = 5005,     // binary cannot be used
    QNN_CONTEXT_ERROR_GET_BINARY_SIZE_FAILED = 5006, // the size could not be determined
    QNN_CONTEXT_ERROR_GET_BINARY_FAILED = 5007,      // the binary could not be made
    QNN_CONTEXT_ERROR_BINARY_CONFIGURATION = 5008,   // binary made for another configuration
    QNN_CONTEXT_ERROR_SET_PROFILE = 5009,            // the profile could not be used
    QNN_CONTEXT_ERROR_INVALID_CONFIG = 5010,         // an option or its value is wrong
    QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL = 5011, // binary would run, but slower than one made anew
    QNN_CONTEXT_ERROR_ABORTED = 5012,           // by a signal
    QNN_CONTEXT_ERROR_TIMED_OUT = 5013,         // by a signal
    QNN_CONTEXT_ERROR_INCREMENT_INVALID_BUFFER = 5014, // not a piece that was handed out
    QNN_CONTEXT_MAX_ERROR = 5999,                      // last code
    QNN_CONTEXT_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnContext_Error_t;

// Pointer to the custom configuration struct of the backend.
typedef void *QnnContext_CustomConfig_t;

// Pointer to the custom property struct of the backend.
typedef void *QnnContext_CustomProperty_t;

// Kind of a queue depth.
typedef enum {
    QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC = 0,
    QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_UNDEFINED = 0x7FFFFFF,
} QnnContext_AsyncExecutionQueueDepthType_t;

// How many asynchronous executions may wait.
typedef struct {
    QnnContext_AsyncExecutionQueueDepthType_t type; // selects the union member
    union UNNAMED {
        uint32_t depth; // NUMERIC
    };
} QnnContext_AsyncExecutionQueueDepth_t;

// Options of a context.
typedef enum {
    QNN_CONTEXT_CONFIG_OPTION_CUSTOM = 0,
    QNN_CONTEXT_CONFIG_OPTION_PRIORITY = 1, // default for its graphs
    QNN_CONTEXT_CONFIG_OPTION_ERROR_REPORTING = 2,
    QNN_CONTEXT_CONFIG_OPTION_OEM_STRING = 3, // obsolete
    QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH = 4,
    QNN_CONTEXT_CONFIG_ENABLE_GRAPHS = 5,     // names of the graphs to load
    QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT = 6, // MB
    QNN_CONTEXT_CONFIG_PERSISTENT_BINARY = 7, // the binary stays until the context is freed
    QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY = 8,
    QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT = 9, // load graphs when they are retrieved
    QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER = 10,  // which graphs to keep when not all fit
    QNN_CONTEXT_CONFIG_UNDEFINED = 0x7FFFFFFF,
} QnnContext_ConfigOption_t;

// Whether a binary that would run slower than a new one is accepted.
typedef enum {
    QNN_CONTEXT_BINARY_COMPATIBILITY_PERMISSIVE = 0, // accept it; the default
    QNN_CONTEXT_BINARY_COMPATIBILITY_STRICT = 1,     // QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL
    QNN_CONTEXT_BINARY_COMPATIBILITY_TYPE_UNDEFINED = 0x7FFFFFF,
} QnnContext_BinaryCompatibilityType_t;

// One option.
typedef struct {
    QnnContext_ConfigOption_t option; // selects the union member
    union UNNAMED {
        QnnContext_CustomConfig_t customConfig;                   // CUSTOM: struct of the backend
        Qnn_Priority_t priority;                                  // PRIORITY
        Qnn_ErrorReportingConfig_t errorConfig;                   // ERROR_REPORTING
        const char *oemString;                                    // OEM_STRING: obsolete
        QnnContext_AsyncExecutionQueueDepth_t asyncExeQueueDepth; // ASYNC_EXECUTION_QUEUE_DEPTH
        // ENABLE_GRAPHS: NULL-terminated names; executing another graph fails
        const char *const *enableGraphs;
        uint64_t memoryLimitHint;   // MEMORY_LIMIT_HINT: MB
        uint8_t isPersistentBinary; // PERSISTENT_BINARY: not 0 is yes
        QnnContext_BinaryCompatibilityType_t binaryCompatibilityType; // BINARY_COMPATIBILITY
        uint8_t isGraphInitDeferred;            // DEFER_GRAPH_INIT: not 0 is yes
        const char *const *graphRetentionOrder; // GRAPH_RETENTION_ORDER: NULL-terminated names
    };
} QnnContext_Config_t;

// What a notification is about.
typedef enum {
    QNN_CONTEXT_NOTIFY_TYPE_GRAPH_INIT = 0,   // a graph is ready
    QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT = 1, // the context is ready
    QNN_CONTEXT_NOTIFY_TYPE_UNDEFINED = 0x7FFFFFF,
} QnnContext_createFromBinaryAsyncNotifyType_t;

// Called on a thread of the library, once for each graph and once for the context, with the result.
typedef void (*QnnContext_createFromBinaryNotifyFn_t)(
    Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *graphName,
    QnnContext_createFromBinaryAsyncNotifyType_t notifyType, void *notifyParam,
    Qnn_ErrorHandle_t status);

// One context to make from a binary.
typedef struct {
    const QnnContext_Config_t **config;               // NULL-terminated list; NULL for defaults
    const void *binaryBuffer;                         // the binary
    const Qnn_ContextBinarySize_t binaryBufferSize;   // bytes
    Qnn_ProfileHandle_t profile;                      // collects timing; NULL for none
    QnnContext_createFromBinaryNotifyFn_t notifyFunc; // told about each graph and about the context
    void *notifyParam;                                // passed on unchanged
} QnnContext_ParamsV1_t;

// A part of the binary that the library needs.
typedef struct {
    Qnn_ContextBinarySize_t offset; // in the binary
    Qnn_ContextBinarySize_t size;   // bytes
    uint8_t isBackendMappingNeeded; // not 0: the library will map the buffer for the device
} Qnn_ContextBinaryDataRequest_t;

// Where the requested part is, in ordinary memory.
typedef struct {
    void *memPtr;                            // the buffer
    Qnn_ContextBinarySize_t dataStartOffset; // where the requested data begins in it
    Qnn_ContextBinarySize_t alignedSize;     // bytes of it
} Qnn_ContextBinaryRawDataResponse_t;

// Where the requested part is, in a DMA buffer.
typedef struct {
    Qnn_MemDmaBufInfo_t dmaBuffer;           // the buffer
    Qnn_ContextBinarySize_t dataStartOffset; // where the requested data begins in it
    Qnn_ContextBinarySize_t alignedSize;     // bytes of it
} Qnn_ContextBinaryDmaDataResponse_t;

// Memory that is given back.
typedef struct {
    void *memPtr;                    // the buffer
    Qnn_ContextBinarySize_t memSize; // bytes
} Qnn_ContextBinaryRawDataMem_t;

// DMA buffer that is given back.
typedef struct {
    Qnn_MemDmaBufInfo_t dmaBuffer;   // the buffer
    Qnn_ContextBinarySize_t memSize; // bytes
} Qnn_ContextBinaryDmaDataMem_t;

// Delivers a part of the binary in ordinary memory.
typedef Qnn_ErrorHandle_t (*Qnn_ContextBinaryRawDataProviderFn_t)(
    Qnn_ContextBinaryDataRequest_t req, Qnn_ContextBinaryRawDataResponse_t *rawDataResponse,
    void *notifyParam);

// Takes back what the provider delivered.
typedef Qnn_ErrorHandle_t (*Qnn_ContextBinaryRawDataReleaseFn_t)(
    Qnn_ContextBinaryRawDataMem_t rawDataMem, void *notifyParam);

// Callbacks for ordinary memory.
typedef struct {
    Qnn_ContextBinaryRawDataProviderFn_t dataProvide; // delivers a part
    Qnn_ContextBinaryRawDataReleaseFn_t dataRelease;  // takes it back
    void *notifyParam;                                // passed on unchanged
} Qnn_ContextBinaryRawBufferCallbackV1_t;

// Delivers a part of the binary in a DMA buffer.
typedef Qnn_ErrorHandle_t (*Qnn_ContextBinaryDmaDataProviderFn_t)(
    Qnn_ContextBinaryDataRequest_t req, Qnn_ContextBinaryDmaDataResponse_t *dmaDataResponse,
    void *notifyParam);

// Takes back what the provider delivered.
typedef Qnn_ErrorHandle_t (*Qnn_ContextBinaryDmaDataReleaseFn_t)(
    Qnn_ContextBinaryDmaDataMem_t dmaDataMem, void *notifyParam);

// Callbacks for DMA buffers.
typedef struct {
    Qnn_ContextBinaryDmaDataProviderFn_t dataProvide; // delivers a part
    Qnn_ContextBinaryDmaDataReleaseFn_t dataRelease;  // takes it back
    void *notifyParam;                                // passed on unchanged
} Qnn_ContextBinaryDmaBufferCallbackV1_t;

// Version of Qnn_ContextBinaryRawBufferCallback_t.
typedef enum {
    QNN_CONTEXT_CALLBACK_RAW_BUFFER_VERSION_1 = 1,
    QNN_CONTEXT_CALLBACK_RAW_BUFFER_VERSION_UNDEFINED = 0x7FFFFFFF,
} Qnn_ContextBinaryRawBufferCallbackVersion_t;

// Callbacks for ordinary memory, versioned.
typedef struct {
    Qnn_ContextBinaryRawBufferCallbackVersion_t version; // selects the union member
    union UNNAMED {
        Qnn_ContextBinaryRawBufferCallbackV1_t v1; // version 1
    };
} Qnn_ContextBinaryRawBufferCallback_t;

// Version of Qnn_ContextBinaryDmaBufferCallback_t.
typedef enum {
    QNN_CONTEXT_CALLBACK_DMA_BUFFER_VERSION_1 = 1,
    QNN_CONTEXT_CALLBACK_DMA_BUFFER_VERSION_UNDEFINED = 0x7FFFFFFF,
} Qnn_ContextBinaryDmaBufferCallbackVersion_t;

// Callbacks for DMA buffers, versioned.
typedef struct {
    Qnn_ContextBinaryDmaBufferCallbackVersion_t version; // selects the union member
    union UNNAMED {
        Qnn_ContextBinaryDmaBufferCallbackV1_t v1; // version 1
    };
} Qnn_ContextBinaryDmaBufferCallback_t;

// Kind of memory the client delivers the binary in.
typedef enum {
    QNN_CONTEXT_CALLBACK_RAW_BUFFER = 1,
    QNN_CONTEXT_CALLBACK_DMA_BUFFER = 2,
    QNN_CONTEXT_CALLBACK_UNDEFINED = 0x7FFFFFFF,
} Qnn_ContextBinaryCallbackType_t;

// Callbacks through which the library pulls the data of a binary.
typedef struct {
    Qnn_ContextBinaryCallbackType_t type; // selects the union member
    union UNNAMED {
        Qnn_ContextBinaryRawBufferCallback_t rawBufferCallback; // RAW_BUFFER
        Qnn_ContextBinaryDmaBufferCallback_t dmaBufferCallback; // DMA_BUFFER
    };
} Qnn_ContextBinaryCallback_t;

// The same, with callbacks that deliver the data.
typedef struct {
    const QnnContext_Config_t **config;               // NULL-terminated list; NULL for defaults
    const void *binaryBuffer;                         // the binary
    const Qnn_ContextBinarySize_t binaryBufferSize;   // bytes
    Qnn_ProfileHandle_t profile;                      // collects timing; NULL for none
    QnnContext_createFromBinaryNotifyFn_t notifyFunc; // told about each graph and about the context
    void *notifyParam;                                // passed on unchanged
    const Qnn_ContextBinaryCallback_t *callback;      // delivers the data
} QnnContext_ParamsV2_t;

// Version of QnnContext_Params_t.
typedef enum {
    QNN_CONTEXT_PARAMS_VERSION_1 = 1,
    QNN_CONTEXT_PARAMS_VERSION_2 = 2,
    QNN_CONTEXT_PARAMS_VERSION_UNDEFINED = 0x7FFFFFFF,
} QnnContext_ParamsVersion_t;

// One context to make from a binary, versioned. V2 is a pointer.
typedef struct {
    QnnContext_ParamsVersion_t version; // selects the union member
    union UNNAMED {
        QnnContext_ParamsV1_t v1;  // version 1
        QnnContext_ParamsV2_t *v2; // version 2, by pointer
    };
} QnnContext_Params_t;

// Bytes in ordinary memory.
typedef struct {
    void *data;                       // the bytes
    Qnn_ContextBinarySize_t dataSize; // how many
} Qnn_BinaryBuffer_t;

// Where a buffer is.
typedef enum {
    QNN_CONTEXTMEMTYPE_RAW = 0,
    QNN_CONTEXTMEMTYPE_MEMHANDLE = 1,
    QNN_CONTEXTMEMTYPE_UNDEFINED = 0x7FFFFFFF,
} QnnContext_MemType_t;

// A buffer for a section of a binary.
typedef struct {
    QnnContext_MemType_t memType; // selects the union member
    union UNNAMED {
        Qnn_BinaryBuffer_t binaryBuf; // RAW
        Qnn_MemHandle_t memHandle;    // MEMHANDLE
    };
} QnnContext_BufferV1_t;

// Version of QnnContext_Buffer_t.
typedef enum {
    QNN_CONTEXT_BUFFER_VERSION_1 = 1,
    QNN_CONTEXT_BUFFER_VERSION_UNDEFINED = 0x7FFFFFFF,
} QnnContext_BufferVersion_t;

// A buffer for a section of a binary, versioned.
typedef struct {
    QnnContext_BufferVersion_t version; // selects the union member
    union UNNAMED {
        QnnContext_BufferV1_t v1; // version 1
    };
} QnnContext_Buffer_t;

// Properties of a context.
typedef enum {
    QNN_CONTEXT_PROPERTY_OPTION_CUSTOM = 0,
    QNN_CONTEXT_PROPERTY_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnContext_PropertyOption_t;

// One property: the client sets option, the library fills in the value.
typedef struct {
    QnnContext_PropertyOption_t option; // selects the union member
    union UNNAMED {
        QnnContext_CustomProperty_t customProperty; // CUSTOM: struct of the backend
    };
} QnnContext_Property_t;

// Which updatable part of a binary.
typedef enum {
    QNN_CONTEXT_SECTION_UPDATABLE = 1,              // weights and encodings
    QNN_CONTEXT_SECTION_UPDATABLE_WEIGHTS = 2,      // weights alone
    QNN_CONTEXT_SECTION_UPDATABLE_QUANT_PARAMS = 3, // encodings alone
    QNN_CONTEXT_SECTION_UNDEFINED = 0x7FFFFFFF,
} QnnContext_SectionType_t;

// Initial values: everything unset.
// clang-format off
#define QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_INIT \
    {QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_UNDEFINED, {0}}
#define QNN_CONTEXT_CONFIG_INIT {QNN_CONTEXT_CONFIG_UNDEFINED, {NULL}}
#define QNN_CONTEXT_PROPERTY_INIT {QNN_CONTEXT_PROPERTY_OPTION_UNDEFINED, {NULL}}
// clang-format on

// Makes an empty context. A NULL device stands for the default device.
// Errors: QNN_CONTEXT_ERROR_INVALID_ARGUMENT, QNN_CONTEXT_ERROR_MEM_ALLOC,
// QNN_CONTEXT_ERROR_INVALID_HANDLE, QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE,
// QNN_CONTEXT_ERROR_INVALID_CONFIG, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnContext_create(Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
                                            const QnnContext_Config_t **config,
                                            Qnn_ContextHandle_t *context);

// Changes options of a context.
// Errors: QNN_CONTEXT_ERROR_INVALID_HANDLE, QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
// QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnContext_setConfig(Qnn_ContextHandle_t context,
                                               const QnnContext_Config_t **config);

// Bytes that QnnContext_getBinary needs at most. Every graph must be finalized.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_HANDLE,
// QNN_CONTEXT_ERROR_INVALID_ARGUMENT, QNN_CONTEXT_ERROR_NOT_FINALIZED,
// QNN_CONTEXT_ERROR_GET_BINARY_SIZE_FAILED, QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED,
// QNN_CONTEXT_ERROR_MEM_ALLOC.
QNN_API Qnn_ErrorHandle_t QnnContext_getBinarySize(Qnn_ContextHandle_t context,
                                                   Qnn_ContextBinarySize_t *binaryBufferSize);

// Writes the context as a binary into memory of the client and says how many bytes it took, which
// may be fewer than announced. Not for a context that came from a binary.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_HANDLE,
// QNN_CONTEXT_ERROR_INVALID_ARGUMENT, QNN_CONTEXT_ERROR_NOT_FINALIZED,
// QNN_CONTEXT_ERROR_GET_BINARY_FAILED, QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED,
// QNN_CONTEXT_ERROR_MEM_ALLOC.
QNN_API Qnn_ErrorHandle_t QnnContext_getBinary(Qnn_ContextHandle_t context, void *binaryBuffer,
                                               Qnn_ContextBinarySize_t binaryBufferSize,
                                               Qnn_ContextBinarySize_t *writtenBufferSize);

// Makes a context from a binary: its graphs can be retrieved and executed, but not changed. The
// binary may go away after the call, unless the PERSISTENT_BINARY option says that it stays.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
// QNN_CONTEXT_ERROR_MEM_ALLOC, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY,
// QNN_CONTEXT_ERROR_BINARY_VERSION, QNN_CONTEXT_ERROR_BINARY_CONFIGURATION,
// QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL, QNN_CONTEXT_ERROR_SET_PROFILE,
// QNN_CONTEXT_ERROR_INVALID_HANDLE, QNN_CONTEXT_ERROR_INVALID_CONFIG,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnContext_createFromBinary(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
    const void *binaryBuffer, Qnn_ContextBinarySize_t binaryBufferSize,
    Qnn_ContextHandle_t *context, Qnn_ProfileHandle_t profile);

// Frees the context with its graphs, tensors and registered memory.
// Errors: QNN_CONTEXT_ERROR_INVALID_ARGUMENT, QNN_CONTEXT_ERROR_INVALID_HANDLE,
// QNN_CONTEXT_ERROR_MEM_ALLOC, QNN_CONTEXT_ERROR_SET_PROFILE,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnContext_free(Qnn_ContextHandle_t context, Qnn_ProfileHandle_t profile);

// Would QnnContext_createFromBinary take this binary? Makes nothing.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
// QNN_CONTEXT_ERROR_MEM_ALLOC, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY,
// QNN_CONTEXT_ERROR_BINARY_VERSION, QNN_CONTEXT_ERROR_BINARY_CONFIGURATION,
// QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL, QNN_CONTEXT_ERROR_INVALID_HANDLE,
// QNN_CONTEXT_ERROR_INVALID_CONFIG.
QNN_API Qnn_ErrorHandle_t QnnContext_validateBinary(Qnn_BackendHandle_t backend,
                                                    Qnn_DeviceHandle_t device,
                                                    const QnnContext_Config_t **config,
                                                    const void *binaryBuffer,
                                                    Qnn_ContextBinarySize_t binaryBufferSize);

// The same, with a signal that can abort it or limit its time.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
// QNN_CONTEXT_ERROR_MEM_ALLOC, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY,
// QNN_CONTEXT_ERROR_BINARY_VERSION, QNN_CONTEXT_ERROR_BINARY_CONFIGURATION,
// QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL, QNN_CONTEXT_ERROR_SET_PROFILE,
// QNN_CONTEXT_ERROR_INVALID_HANDLE, QNN_CONTEXT_ERROR_INVALID_CONFIG, QNN_CONTEXT_ERROR_ABORTED,
// QNN_CONTEXT_ERROR_TIMED_OUT.
QNN_API Qnn_ErrorHandle_t QnnContext_createFromBinaryWithSignal(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
    const void *binaryBuffer, Qnn_ContextBinarySize_t binaryBufferSize,
    Qnn_ContextHandle_t *context, Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal);

// Starts to make several contexts, the entries of a NULL-terminated list, and returns. Each entry's
// function is told about its graphs and its context. Options in listConfig override those of the
// entries.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
// QNN_CONTEXT_ERROR_MEM_ALLOC, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY,
// QNN_CONTEXT_ERROR_BINARY_VERSION, QNN_CONTEXT_ERROR_BINARY_CONFIGURATION,
// QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL, QNN_CONTEXT_ERROR_SET_PROFILE,
// QNN_CONTEXT_ERROR_INVALID_HANDLE, QNN_CONTEXT_ERROR_INVALID_CONFIG, QNN_CONTEXT_ERROR_ABORTED,
// QNN_CONTEXT_ERROR_TIMED_OUT.
QNN_API Qnn_ErrorHandle_t QnnContext_createFromBinaryListAsync(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
    const QnnContext_Params_t **contextParams, const QnnContext_Config_t **listConfig,
    Qnn_SignalHandle_t signal);

// Bytes that QnnContext_getBinarySection needs. graph may be NULL where sections of the whole
// context are supported.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_HANDLE,
// QNN_CONTEXT_ERROR_INVALID_ARGUMENT, QNN_CONTEXT_ERROR_NOT_FINALIZED,
// QNN_CONTEXT_ERROR_GET_BINARY_SIZE_FAILED, QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED,
// QNN_CONTEXT_ERROR_MEM_ALLOC.
QNN_API Qnn_ErrorHandle_t QnnContext_getBinarySectionSize(
    Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, QnnContext_SectionType_t section,
    Qnn_ContextBinarySize_t *binaryBufferSize);

// Writes an updatable section of the binary.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_HANDLE,
// QNN_CONTEXT_ERROR_INVALID_ARGUMENT, QNN_CONTEXT_ERROR_NOT_FINALIZED,
// QNN_CONTEXT_ERROR_GET_BINARY_FAILED, QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED,
// QNN_CONTEXT_ERROR_MEM_ALLOC.
QNN_API Qnn_ErrorHandle_t QnnContext_getBinarySection(
    Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, QnnContext_SectionType_t section,
    const QnnContext_Buffer_t *binaryBuffer, Qnn_ContextBinarySize_t *writtenBufferSize,
    Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal);

// Puts a section into force. A failure leaves the context as it was.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
// QNN_CONTEXT_ERROR_MEM_ALLOC, QNN_CONTEXT_ERROR_SET_PROFILE, QNN_CONTEXT_ERROR_INVALID_HANDLE.
QNN_API Qnn_ErrorHandle_t QnnContext_applyBinarySection(Qnn_ContextHandle_t context,
                                                        Qnn_GraphHandle_t graph,
                                                        QnnContext_SectionType_t section,
                                                        const QnnContext_Buffer_t *binaryBuffer,
                                                        Qnn_ProfileHandle_t profile,
                                                        Qnn_SignalHandle_t signal);

// Fills in a NULL-terminated list of properties.
// Errors: QNN_CONTEXT_ERROR_INVALID_HANDLE, QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
// QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE.
QNN_API Qnn_ErrorHandle_t QnnContext_getProperty(Qnn_ContextHandle_t contextHandle,
                                                 QnnContext_Property_t **properties);

// Hands out the next piece of the binary and its place in it, in any order. The pieces belong to
// the library.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_HANDLE,
// QNN_CONTEXT_ERROR_INVALID_ARGUMENT, QNN_CONTEXT_ERROR_NOT_FINALIZED,
// QNN_CONTEXT_ERROR_GET_BINARY_FAILED, QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED,
// QNN_CONTEXT_ERROR_MEM_ALLOC.
QNN_API Qnn_ErrorHandle_t QnnContext_getIncrementalBinary(
    Qnn_ContextHandle_t context, const void **binaryBuffer, Qnn_ContextBinarySize_t *startOffset,
    Qnn_ContextBinarySize_t *writtenBufferSize);

// Gives a piece back.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_HANDLE,
// QNN_CONTEXT_ERROR_INVALID_ARGUMENT, QNN_CONTEXT_ERROR_NOT_FINALIZED,
// QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, QNN_CONTEXT_ERROR_INCREMENT_INVALID_BUFFER,
// QNN_CONTEXT_ERROR_MEM_ALLOC.
QNN_API Qnn_ErrorHandle_t QnnContext_releaseIncrementalBinary(Qnn_ContextHandle_t context,
                                                              const void *binaryBuffer,
                                                              Qnn_ContextBinarySize_t startOffset);

// Completes a context whose graphs were to be loaded later.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
// QNN_CONTEXT_ERROR_MEM_ALLOC, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY,
// QNN_CONTEXT_ERROR_BINARY_VERSION, QNN_CONTEXT_ERROR_BINARY_CONFIGURATION,
// QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL, QNN_CONTEXT_ERROR_SET_PROFILE,
// QNN_CONTEXT_ERROR_INVALID_HANDLE, QNN_CONTEXT_ERROR_INVALID_CONFIG,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnContext_finalize(Qnn_ContextHandle_t context,
                                              Qnn_ProfileHandle_t profile);

// As QnnContext_createFromBinary, but pulls the data through callbacks.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
// QNN_CONTEXT_ERROR_MEM_ALLOC, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY,
// QNN_CONTEXT_ERROR_BINARY_VERSION, QNN_CONTEXT_ERROR_BINARY_CONFIGURATION,
// QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL, QNN_CONTEXT_ERROR_SET_PROFILE,
// QNN_CONTEXT_ERROR_INVALID_HANDLE, QNN_CONTEXT_ERROR_INVALID_CONFIG, QNN_CONTEXT_ERROR_ABORTED,
// QNN_CONTEXT_ERROR_TIMED_OUT.
QNN_API Qnn_ErrorHandle_t QnnContext_createFromBinaryWithCallback(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
    const Qnn_ContextBinaryCallback_t *callback, const void *binaryBuffer,
    Qnn_ContextBinarySize_t binaryBufferSize, Qnn_ContextHandle_t *context,
    Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal);

// Makes a new section out of one and new tensors, without a context. auxiliaryBuffer must be NULL.
// The result is freed with QnnContext_freeBinarySectionUpdate.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
// QNN_CONTEXT_ERROR_MEM_ALLOC, QNN_TENSOR_ERROR_DOES_NOT_EXIST,
// QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE.
QNN_API Qnn_ErrorHandle_t QnnContext_getBinarySectionUpdate(
    const QnnContext_Buffer_t *binaryBuffer, const QnnContext_Buffer_t *auxiliaryBuffer,
    const Qnn_Tensor_t **tensors, uint64_t numTensors, uint8_t keepUpdatable,
    Qnn_LogHandle_t logger, Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal,
    QnnContext_Buffer_t *binarySectionUpdate);

// Frees a result of QnnContext_getBinarySectionUpdate.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
// QNN_CONTEXT_ERROR_INVALID_HANDLE, QNN_CONTEXT_ERROR_MEM_ALLOC.
QNN_API Qnn_ErrorHandle_t
QnnContext_freeBinarySectionUpdate(QnnContext_Buffer_t binarySectionUpdate, Qnn_LogHandle_t logger);

// Adds the binary of the context to an open DLC container.
// Errors: QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, QNN_CONTEXT_ERROR_INVALID_HANDLE.
QNN_API Qnn_ErrorHandle_t QnnContext_addToDlc(Qnn_ContextHandle_t context,
                                              QnnSystemDlc_Handle_t dlcHandle);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_CONTEXT_H
