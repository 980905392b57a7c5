// SPDX-License-Identifier: MIT
//
// The function table of a backend library and the one symbol that hands it out. Clients load the
// library, call QnnInterface_getProviders, choose an entry by its version and call everything else
// through the table.

#ifndef QNN_INTERFACE_H
#define QNN_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"
#include "QnnBackend.h"
#include "QnnContext.h"
#include "QnnDevice.h"
#include "QnnError.h"
#include "QnnGlobalConfig.h"
#include "QnnGraph.h"
#include "QnnLog.h"
#include "QnnMem.h"
#include "QnnProfile.h"
#include "QnnProperty.h"
#include "QnnSignal.h"
#include "QnnTensor.h"
#include "QnnOpDef.h"
#include "QnnOpPackage.h"

#ifdef __cplusplus
extern "C" {
#endif

// Export attribute of QnnInterface_getProviders; empty unless the build of a library defines it.
#ifndef QNN_INTERFACE
#define QNN_INTERFACE
#endif

// Type and member name of the table, made from the API version: source that uses
// QNN_INTERFACE_VER_TYPE and QNN_INTERFACE_VER_NAME need not change with the headers.
#define QNN_INTERFACE_VER_EVAL(major, minor) QNN_PASTE_THREE(major, _, minor)
#define QNN_INTERFACE_NAME_EVAL(prefix, body, suffix) QNN_PASTE_THREE(prefix, body, suffix)
#define QNN_INTERFACE_VER_TYPE_EVAL(major, minor)                                                  \
    QNN_INTERFACE_NAME_EVAL(QnnInterface_ImplementationV, QNN_INTERFACE_VER_EVAL(major, minor), _t)
#define QNN_INTERFACE_VER_NAME_EVAL(major, minor)                                                  \
    QNN_INTERFACE_NAME_EVAL(v, QNN_INTERFACE_VER_EVAL(major, minor), )
#define QNN_INTERFACE_VER_TYPE                                                                     \
    QNN_INTERFACE_VER_TYPE_EVAL(QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR)
#define QNN_INTERFACE_VER_NAME                                                                     \
    QNN_INTERFACE_VER_NAME_EVAL(QNN_API_VERSION_MAJOR, QNN_API_VERSION_MINOR)

// Errors of QnnInterface_getProviders.
typedef enum {
    QNN_INTERFACE_MIN_ERROR = 60000,              // first code
    QNN_INTERFACE_NO_ERROR = 0,                   // done
    QNN_INTERFACE_ERROR_NOT_SUPPORTED = 1000,     // the library does not do this
    QNN_INTERFACE_ERROR_INVALID_PARAMETER = 1004, // an argument is NULL
    QNN_INTERFACE_MAX_ERROR = 60999,              // last code
} QnnInterface_Error_t;

// Pointer types of the functions; the functions say what they do.
typedef Qnn_ErrorHandle_t (*QnnBackend_CreateFn_t)(Qnn_LogHandle_t logger,
                                                   const QnnBackend_Config_t **config,
                                                   Qnn_BackendHandle_t *backend);
typedef Qnn_ErrorHandle_t (*QnnBackend_FreeFn_t)(Qnn_BackendHandle_t backend);
typedef Qnn_ErrorHandle_t (*QnnBackend_GetApiVersionFn_t)(Qnn_ApiVersion_t *pVersion);
typedef Qnn_ErrorHandle_t (*QnnBackend_GetBuildIdFn_t)(const char **id);
typedef Qnn_ErrorHandle_t (*QnnBackend_GetPropertyFn_t)(Qnn_BackendHandle_t backendHandle,
                                                        QnnBackend_Property_t **properties);
typedef Qnn_ErrorHandle_t (*QnnBackend_GetSupportedOperationsFn_t)(
    Qnn_BackendHandle_t backend, uint32_t *numOperations,
    const QnnBackend_OperationName_t **operations);
typedef Qnn_ErrorHandle_t (*QnnBackend_RegisterOpPackageFn_t)(Qnn_BackendHandle_t backend,
                                                              const char *packagePath,
                                                              const char *interfaceProvider,
                                                              const char *target);
typedef Qnn_ErrorHandle_t (*QnnBackend_RegisterOpPackageFromBinaryFn_t)(
    Qnn_BackendHandle_t backend, const void *opPackageBuffer, uint64_t opPackageBufferSize,
    const char *interfaceProvider, const char *target);
typedef Qnn_ErrorHandle_t (*QnnBackend_SetConfigFn_t)(Qnn_BackendHandle_t backend,
                                                      const QnnBackend_Config_t **config);
typedef Qnn_ErrorHandle_t (*QnnBackend_ValidateOpConfigFn_t)(Qnn_BackendHandle_t backend,
                                                             Qnn_OpConfig_t opConfig);
typedef Qnn_ErrorHandle_t (*QnnContext_AddToDlcFn_t)(Qnn_ContextHandle_t context,
                                                     QnnSystemDlc_Handle_t dlcHandle);
typedef Qnn_ErrorHandle_t (*QnnContext_ApplyBinarySectionFn_t)(
    Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, QnnContext_SectionType_t section,
    const QnnContext_Buffer_t *binaryBuffer, Qnn_ProfileHandle_t profile,
    Qnn_SignalHandle_t signal);
typedef Qnn_ErrorHandle_t (*QnnContext_CreateFn_t)(Qnn_BackendHandle_t backend,
                                                   Qnn_DeviceHandle_t device,
                                                   const QnnContext_Config_t **config,
                                                   Qnn_ContextHandle_t *context);
typedef Qnn_ErrorHandle_t (*QnnContext_CreateFromBinaryFn_t)(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
    const void *binaryBuffer, Qnn_ContextBinarySize_t binaryBufferSize,
    Qnn_ContextHandle_t *context, Qnn_ProfileHandle_t profile);
typedef Qnn_ErrorHandle_t (*QnnContext_CreateFromBinaryListAsyncFn_t)(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device,
    const QnnContext_Params_t **contextParams, const QnnContext_Config_t **listConfig,
    Qnn_SignalHandle_t signal);
typedef Qnn_ErrorHandle_t (*QnnContext_CreateFromBinaryWithCallbackFn_t)(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
    const Qnn_ContextBinaryCallback_t *callback, const void *binaryBuffer,
    Qnn_ContextBinarySize_t binaryBufferSize, Qnn_ContextHandle_t *context,
    Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal);
typedef Qnn_ErrorHandle_t (*QnnContext_CreateFromBinaryWithSignalFn_t)(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
    const void *binaryBuffer, Qnn_ContextBinarySize_t binaryBufferSize,
    Qnn_ContextHandle_t *context, Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal);
typedef Qnn_ErrorHandle_t (*QnnContext_FinalizeFn_t)(Qnn_ContextHandle_t context,
                                                     Qnn_ProfileHandle_t profile);
typedef Qnn_ErrorHandle_t (*QnnContext_FreeBinarySectionUpdateFn_t)(
    QnnContext_Buffer_t binarySectionUpdate, Qnn_LogHandle_t logger);
typedef Qnn_ErrorHandle_t (*QnnContext_FreeFn_t)(Qnn_ContextHandle_t context,
                                                 Qnn_ProfileHandle_t profile);
typedef Qnn_ErrorHandle_t (*QnnContext_GetBinaryFn_t)(Qnn_ContextHandle_t context,
                                                      void *binaryBuffer,
                                                      Qnn_ContextBinarySize_t binaryBufferSize,
                                                      Qnn_ContextBinarySize_t *writtenBufferSize);
typedef Qnn_ErrorHandle_t (*QnnContext_GetBinarySectionFn_t)(
    Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, QnnContext_SectionType_t section,
    const QnnContext_Buffer_t *binaryBuffer, Qnn_ContextBinarySize_t *writtenBufferSize,
    Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal);
typedef Qnn_ErrorHandle_t (*QnnContext_GetBinarySectionSizeFn_t)(
    Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, QnnContext_SectionType_t section,
    Qnn_ContextBinarySize_t *binaryBufferSize);
typedef Qnn_ErrorHandle_t (*QnnContext_GetBinarySectionUpdateFn_t)(
    const QnnContext_Buffer_t *binaryBuffer, const QnnContext_Buffer_t *auxiliaryBuffer,
    const Qnn_Tensor_t **tensors, uint64_t numTensors, uint8_t keepUpdatable,
    Qnn_LogHandle_t logger, Qnn_ProfileHandle_t profile, Qnn_SignalHandle_t signal,
    QnnContext_Buffer_t *binarySectionUpdate);
typedef Qnn_ErrorHandle_t (*QnnContext_GetBinarySizeFn_t)(
    Qnn_ContextHandle_t context, Qnn_ContextBinarySize_t *binaryBufferSize);
typedef Qnn_ErrorHandle_t (*QnnContext_GetIncrementalBinaryFn_t)(
    Qnn_ContextHandle_t context, const void **binaryBuffer, Qnn_ContextBinarySize_t *startOffset,
    Qnn_ContextBinarySize_t *writtenBufferSize);
typedef Qnn_ErrorHandle_t (*QnnContext_GetPropertyFn_t)(Qnn_ContextHandle_t contextHandle,
                                                        QnnContext_Property_t **properties);
typedef Qnn_ErrorHandle_t (*QnnContext_ReleaseIncrementalBinaryFn_t)(
    Qnn_ContextHandle_t context, const void *binaryBuffer, Qnn_ContextBinarySize_t startOffset);
typedef Qnn_ErrorHandle_t (*QnnContext_SetConfigFn_t)(Qnn_ContextHandle_t context,
                                                      const QnnContext_Config_t **config);
typedef Qnn_ErrorHandle_t (*QnnContext_ValidateBinaryFn_t)(
    Qnn_BackendHandle_t backend, Qnn_DeviceHandle_t device, const QnnContext_Config_t **config,
    const void *binaryBuffer, Qnn_ContextBinarySize_t binaryBufferSize);
typedef Qnn_ErrorHandle_t (*QnnDevice_CreateFn_t)(Qnn_LogHandle_t logger,
                                                  const QnnDevice_Config_t **config,
                                                  Qnn_DeviceHandle_t *device);
typedef Qnn_ErrorHandle_t (*QnnDevice_FreeFn_t)(Qnn_DeviceHandle_t device);
typedef Qnn_ErrorHandle_t (*QnnDevice_FreePlatformInfoFn_t)(
    Qnn_LogHandle_t logger, const QnnDevice_PlatformInfo_t *platformInfo);
typedef Qnn_ErrorHandle_t (*QnnDevice_GetInfoFn_t)(Qnn_DeviceHandle_t device,
                                                   const QnnDevice_PlatformInfo_t **platformInfo);
typedef Qnn_ErrorHandle_t (*QnnDevice_GetInfrastructureFn_t)(
    const QnnDevice_Infrastructure_t *deviceInfra);
typedef Qnn_ErrorHandle_t (*QnnDevice_GetPlatformInfoFn_t)(
    Qnn_LogHandle_t logger, const QnnDevice_PlatformInfo_t **platformInfo);
typedef Qnn_ErrorHandle_t (*QnnDevice_SetConfigFn_t)(Qnn_DeviceHandle_t device,
                                                     const QnnDevice_Config_t **config);
typedef Qnn_ErrorHandle_t (*QnnError_FreeVerboseMessageFn_t)(const char *errorMessage);
typedef Qnn_ErrorHandle_t (*QnnError_GetMessageFn_t)(Qnn_ErrorHandle_t errorHandle,
                                                     const char **errorMessage);
typedef Qnn_ErrorHandle_t (*QnnError_GetVerboseMessageFn_t)(Qnn_ErrorHandle_t errorHandle,
                                                            const char **errorMessage);
typedef Qnn_ErrorHandle_t (*QnnGlobalConfig_SetFn_t)(const QnnGlobalConfig_t **config);
typedef Qnn_ErrorHandle_t (*QnnGraph_AddNodeFn_t)(Qnn_GraphHandle_t graphHandle,
                                                  Qnn_OpConfig_t opConfig);
typedef Qnn_ErrorHandle_t (*QnnGraph_CreateFn_t)(Qnn_ContextHandle_t contextHandle,
                                                 const char *graphName,
                                                 const QnnGraph_Config_t **config,
                                                 Qnn_GraphHandle_t *graphHandle);
typedef Qnn_ErrorHandle_t (*QnnGraph_CreateSubgraphFn_t)(Qnn_GraphHandle_t graphHandle,
                                                         const char *graphName,
                                                         Qnn_GraphHandle_t *subgraphHandle);
typedef Qnn_ErrorHandle_t (*QnnGraph_ExecuteAsyncFn_t)(
    Qnn_GraphHandle_t graphHandle, const Qnn_Tensor_t *inputs, uint32_t numInputs,
    Qnn_Tensor_t *outputs, uint32_t numOutputs, Qnn_ProfileHandle_t profileHandle,
    Qnn_SignalHandle_t signalHandle, Qnn_NotifyFn_t notifyFn, void *notifyParam);
typedef Qnn_ErrorHandle_t (*QnnGraph_ExecuteFn_t)(Qnn_GraphHandle_t graphHandle,
                                                  const Qnn_Tensor_t *inputs, uint32_t numInputs,
                                                  Qnn_Tensor_t *outputs, uint32_t numOutputs,
                                                  Qnn_ProfileHandle_t profileHandle,
                                                  Qnn_SignalHandle_t signalHandle);
typedef Qnn_ErrorHandle_t (*QnnGraph_FinalizeFn_t)(Qnn_GraphHandle_t graphHandle,
                                                   Qnn_ProfileHandle_t profileHandle,
                                                   Qnn_SignalHandle_t signalHandle);
typedef Qnn_ErrorHandle_t (*QnnGraph_FreeValidationResultFn_t)(
    QnnGraph_ValidationResult_t *validationResult);
typedef Qnn_ErrorHandle_t (*QnnGraph_GetPropertyFn_t)(Qnn_GraphHandle_t graphHandle,
                                                      QnnGraph_Property_t **properties);
typedef Qnn_ErrorHandle_t (*QnnGraph_PrepareExecutionEnvironmentFn_t)(
    Qnn_GraphHandle_t graphHandle, QnnGraph_ExecuteEnvironment_t **envs, uint32_t envSize);
typedef Qnn_ErrorHandle_t (*QnnGraph_ReleaseExecutionEnvironmentFn_t)(
    Qnn_GraphHandle_t graphHandle, const QnnGraph_ExecuteEnvironment_t **envs, uint32_t envSize);
typedef Qnn_ErrorHandle_t (*QnnGraph_RetrieveFn_t)(Qnn_ContextHandle_t contextHandle,
                                                   const char *graphName,
                                                   Qnn_GraphHandle_t *graphHandle);
typedef Qnn_ErrorHandle_t (*QnnGraph_SetConfigFn_t)(Qnn_GraphHandle_t graphHandle,
                                                    const QnnGraph_Config_t **config);
typedef Qnn_ErrorHandle_t (*QnnGraph_ValidateFn_t)(Qnn_GraphHandle_t graphHandle,
                                                   const QnnGraph_ValidateConfig_t **config,
                                                   QnnGraph_ValidationResult_t **validationResult);
typedef Qnn_ErrorHandle_t (*QnnLog_CreateFn_t)(QnnLog_Callback_t callback,
                                               QnnLog_Level_t maxLogLevel, Qnn_LogHandle_t *logger);
typedef Qnn_ErrorHandle_t (*QnnLog_FreeFn_t)(Qnn_LogHandle_t logger);
typedef Qnn_ErrorHandle_t (*QnnLog_SetLogLevelFn_t)(Qnn_LogHandle_t logger,
                                                    QnnLog_Level_t maxLogLevel);
typedef Qnn_ErrorHandle_t (*QnnMem_DeRegisterFn_t)(const Qnn_MemHandle_t *memHandles,
                                                   uint32_t numHandles);
typedef Qnn_ErrorHandle_t (*QnnMem_RegisterFn_t)(Qnn_ContextHandle_t context,
                                                 const Qnn_MemDescriptor_t *memDescriptors,
                                                 uint32_t numDescriptors,
                                                 Qnn_MemHandle_t *memHandles);
typedef Qnn_ErrorHandle_t (*QnnProfile_CreateFn_t)(Qnn_BackendHandle_t backend,
                                                   QnnProfile_Level_t level,
                                                   Qnn_ProfileHandle_t *profile);
typedef Qnn_ErrorHandle_t (*QnnProfile_FreeFn_t)(Qnn_ProfileHandle_t profile);
typedef Qnn_ErrorHandle_t (*QnnProfile_GetEventDataFn_t)(QnnProfile_EventId_t eventId,
                                                         QnnProfile_EventData_t *eventData);
typedef Qnn_ErrorHandle_t (*QnnProfile_GetEventsFn_t)(Qnn_ProfileHandle_t profile,
                                                      const QnnProfile_EventId_t **profileEventIds,
                                                      uint32_t *numEvents);
typedef Qnn_ErrorHandle_t (*QnnProfile_GetExtendedEventDataFn_t)(
    QnnProfile_EventId_t eventId, QnnProfile_ExtendedEventData_t *eventData);
typedef Qnn_ErrorHandle_t (*QnnProfile_GetSubEventsFn_t)(QnnProfile_EventId_t eventId,
                                                         const QnnProfile_EventId_t **subEventIds,
                                                         uint32_t *numSubEvents);
typedef Qnn_ErrorHandle_t (*QnnProfile_SetConfigFn_t)(Qnn_ProfileHandle_t profileHandle,
                                                      const QnnProfile_Config_t **config);
typedef Qnn_ErrorHandle_t (*QnnProperty_HasCapabilityFn_t)(QnnProperty_Key_t key);
typedef Qnn_ErrorHandle_t (*QnnSignal_CreateFn_t)(Qnn_BackendHandle_t backend,
                                                  const QnnSignal_Config_t **config,
                                                  Qnn_SignalHandle_t *signal);
typedef Qnn_ErrorHandle_t (*QnnSignal_FreeFn_t)(Qnn_SignalHandle_t signal);
typedef Qnn_ErrorHandle_t (*QnnSignal_SetConfigFn_t)(Qnn_SignalHandle_t signal,
                                                     const QnnSignal_Config_t **config);
typedef Qnn_ErrorHandle_t (*QnnSignal_TriggerFn_t)(Qnn_SignalHandle_t signal);
typedef Qnn_ErrorHandle_t (*QnnTensor_CreateContextTensorFn_t)(Qnn_ContextHandle_t context,
                                                               Qnn_Tensor_t *tensor);
typedef Qnn_ErrorHandle_t (*QnnTensor_CreateGraphTensorFn_t)(Qnn_GraphHandle_t graph,
                                                             Qnn_Tensor_t *tensor);
typedef Qnn_ErrorHandle_t (*QnnTensor_UpdateContextTensorsFn_t)(Qnn_ContextHandle_t context,
                                                                const Qnn_Tensor_t **tensor,
                                                                uint64_t numTensors);
typedef Qnn_ErrorHandle_t (*QnnTensor_UpdateGraphTensorsFn_t)(Qnn_GraphHandle_t graph,
                                                              const Qnn_Tensor_t **tensor,
                                                              uint64_t numTensors);

// The function table. Entries are only ever added at the end. An entry that a library does not
// support may be NULL.
typedef struct {
    QnnProperty_HasCapabilityFn_t propertyHasCapability;                         // 0, since 2.0
    QnnBackend_CreateFn_t backendCreate;                                         // 1, since 2.0
    QnnBackend_SetConfigFn_t backendSetConfig;                                   // 2, since 2.9
    QnnBackend_GetApiVersionFn_t backendGetApiVersion;                           // 3, since 2.0
    QnnBackend_GetBuildIdFn_t backendGetBuildId;                                 // 4, since 2.0
    QnnBackend_RegisterOpPackageFn_t backendRegisterOpPackage;                   // 5, since 2.0
    QnnBackend_GetSupportedOperationsFn_t backendGetSupportedOperations;         // 6, since 2.0
    QnnBackend_ValidateOpConfigFn_t backendValidateOpConfig;                     // 7, since 2.0
    QnnBackend_FreeFn_t backendFree;                                             // 8, since 2.0
    QnnContext_CreateFn_t contextCreate;                                         // 9, since 2.0
    QnnContext_SetConfigFn_t contextSetConfig;                                   // 10, since 2.0
    QnnContext_GetBinarySizeFn_t contextGetBinarySize;                           // 11, since 2.0
    QnnContext_GetBinaryFn_t contextGetBinary;                                   // 12, since 2.0
    QnnContext_CreateFromBinaryFn_t contextCreateFromBinary;                     // 13, since 2.0
    QnnContext_FreeFn_t contextFree;                                             // 14, since 2.0
    QnnGraph_CreateFn_t graphCreate;                                             // 15, since 2.0
    QnnGraph_CreateSubgraphFn_t graphCreateSubgraph;                             // 16, since 2.9
    QnnGraph_SetConfigFn_t graphSetConfig;                                       // 17, since 2.0
    QnnGraph_AddNodeFn_t graphAddNode;                                           // 18, since 2.0
    QnnGraph_FinalizeFn_t graphFinalize;                                         // 19, since 2.0
    QnnGraph_RetrieveFn_t graphRetrieve;                                         // 20, since 2.0
    QnnGraph_ExecuteFn_t graphExecute;                                           // 21, since 2.0
    QnnGraph_ExecuteAsyncFn_t graphExecuteAsync;                                 // 22, since 2.0
    QnnTensor_CreateContextTensorFn_t tensorCreateContextTensor;                 // 23, since 2.0
    QnnTensor_CreateGraphTensorFn_t tensorCreateGraphTensor;                     // 24, since 2.0
    QnnLog_CreateFn_t logCreate;                                                 // 25, since 2.0
    QnnLog_SetLogLevelFn_t logSetLogLevel;                                       // 26, since 2.0
    QnnLog_FreeFn_t logFree;                                                     // 27, since 2.0
    QnnProfile_CreateFn_t profileCreate;                                         // 28, since 2.0
    QnnProfile_SetConfigFn_t profileSetConfig;                                   // 29, since 2.8
    QnnProfile_GetEventsFn_t profileGetEvents;                                   // 30, since 2.0
    QnnProfile_GetSubEventsFn_t profileGetSubEvents;                             // 31, since 2.0
    QnnProfile_GetEventDataFn_t profileGetEventData;                             // 32, since 2.0
    QnnProfile_GetExtendedEventDataFn_t profileGetExtendedEventData;             // 33, since 2.8
    QnnProfile_FreeFn_t profileFree;                                             // 34, since 2.0
    QnnMem_RegisterFn_t memRegister;                                             // 35, since 2.0
    QnnMem_DeRegisterFn_t memDeRegister;                                         // 36, since 2.0
    QnnDevice_GetPlatformInfoFn_t deviceGetPlatformInfo;                         // 37, since 2.0
    QnnDevice_FreePlatformInfoFn_t deviceFreePlatformInfo;                       // 38, since 2.0
    QnnDevice_GetInfrastructureFn_t deviceGetInfrastructure;                     // 39, since 2.0
    QnnDevice_CreateFn_t deviceCreate;                                           // 40, since 2.0
    QnnDevice_SetConfigFn_t deviceSetConfig;                                     // 41, since 2.0
    QnnDevice_GetInfoFn_t deviceGetInfo;                                         // 42, since 2.0
    QnnDevice_FreeFn_t deviceFree;                                               // 43, since 2.0
    QnnSignal_CreateFn_t signalCreate;                                           // 44, since 2.3
    QnnSignal_SetConfigFn_t signalSetConfig;                                     // 45, since 2.3
    QnnSignal_TriggerFn_t signalTrigger;                                         // 46, since 2.3
    QnnSignal_FreeFn_t signalFree;                                               // 47, since 2.3
    QnnError_GetMessageFn_t errorGetMessage;                                     // 48, since 2.11
    QnnError_GetVerboseMessageFn_t errorGetVerboseMessage;                       // 49, since 2.11
    QnnError_FreeVerboseMessageFn_t errorFreeVerboseMessage;                     // 50, since 2.11
    QnnGraph_PrepareExecutionEnvironmentFn_t graphPrepareExecutionEnvironment;   // 51, since 2.12
    QnnGraph_ReleaseExecutionEnvironmentFn_t graphReleaseExecutionEnvironment;   // 52, since 2.12
    QnnGraph_GetPropertyFn_t graphGetProperty;                                   // 53, since 2.12
    QnnContext_ValidateBinaryFn_t contextValidateBinary;                         // 54, since 2.13
    QnnContext_CreateFromBinaryWithSignalFn_t contextCreateFromBinaryWithSignal; // 55, since 2.15
    QnnContext_CreateFromBinaryListAsyncFn_t contextCreateFromBinaryListAsync;   // 56, since 2.17
    QnnTensor_UpdateGraphTensorsFn_t tensorUpdateGraphTensors;                   // 57, since 2.17
    QnnTensor_UpdateContextTensorsFn_t tensorUpdateContextTensors;               // 58, since 2.17
    QnnContext_GetBinarySectionSizeFn_t contextGetBinarySectionSize;             // 59, since 2.18
    QnnContext_GetBinarySectionFn_t contextGetBinarySection;                     // 60, since 2.18
    QnnContext_ApplyBinarySectionFn_t contextApplyBinarySection;                 // 61, since 2.18
    QnnBackend_GetPropertyFn_t backendGetProperty;                               // 62, since 2.22
    QnnContext_GetPropertyFn_t contextGetProperty;                               // 63, since 2.22
    QnnContext_GetIncrementalBinaryFn_t contextGetIncrementalBinary;             // 64, since 2.25
    QnnContext_ReleaseIncrementalBinaryFn_t contextReleaseIncrementalBinary;     // 65, since 2.25
    QnnContext_FinalizeFn_t contextFinalize;                                     // 66, since 2.26
    QnnGlobalConfig_SetFn_t globalConfigSet;                                     // 67, since 2.27
    // 68, since 2.28
    QnnContext_CreateFromBinaryWithCallbackFn_t contextCreateFromBinaryWithCallback;
    QnnContext_GetBinarySectionUpdateFn_t contextGetBinarySectionUpdate;   // 69, since 2.30 to 2.32
    QnnContext_FreeBinarySectionUpdateFn_t contextFreeBinarySectionUpdate; // 70, since 2.30 to 2.32
    QnnContext_AddToDlcFn_t contextAddToDlc;                               // 71, since 2.36
    QnnGraph_ValidateFn_t graphValidate;                                   // 72, since 2.38 to 2.39
    QnnGraph_FreeValidationResultFn_t graphFreeValidationResult;           // 73, since 2.38 to 2.39
    // 74, since 2.38 to 2.39
    QnnBackend_RegisterOpPackageFromBinaryFn_t backendRegisterOpPackageFromBinary;
} QnnInterface_ImplementationV2_39_t;

// A provider: who it is and its table.
typedef struct {
    uint32_t backendId;          // QNN_BACKEND_ID_*
    const char *providerName;    // who made the library; never NULL
    Qnn_ApiVersion_t apiVersion; // choose an entry by it
    union UNNAMED {
        QNN_INTERFACE_VER_TYPE QNN_INTERFACE_VER_NAME; // the table
    };
} QnnInterface_t;

// Initial values: everything unset.
// clang-format off
#define QNN_INTERFACE_VER_TYPE_INIT \
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}
#define QNN_INTERFACE_INIT {0, NULL, QNN_API_VERSION_INIT, {QNN_INTERFACE_VER_TYPE_INIT}}
// clang-format on

// Sets a static list of providers. May be called before anything else; the list lives as long as
// the library is loaded.
// Errors: QNN_INTERFACE_ERROR_INVALID_PARAMETER, QNN_INTERFACE_ERROR_NOT_SUPPORTED.
QNN_INTERFACE Qnn_ErrorHandle_t QnnInterface_getProviders(const QnnInterface_t ***providerList,
                                                          uint32_t *numProviders);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_INTERFACE_H
