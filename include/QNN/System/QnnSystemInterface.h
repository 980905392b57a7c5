// SPDX-License-Identifier: MIT
//
// The function table of the System library and the one symbol that hands it out.

#ifndef QNN_SYSTEM_INTERFACE_H
#define QNN_SYSTEM_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

#include "System/QnnSystemCommon.h"
#include "System/QnnSystemContext.h"
#include "System/QnnSystemDlc.h"
#include "System/QnnSystemLog.h"
#include "System/QnnSystemTensor.h"
#include "System/QnnSystemProfile.h"

#ifdef __cplusplus
extern "C" {
#endif

// Export attribute of QnnSystemInterface_getProviders; empty unless the build of the library
// defines it.
#ifndef QNN_SYSTEM_INTERFACE
#define QNN_SYSTEM_INTERFACE
#endif

// Type and member name of the table, made from the System API version.
#define QNN_SYSTEM_INTERFACE_VER_EVAL(major, minor) QNN_PASTE_THREE(major, _, minor)
#define QNN_SYSTEM_INTERFACE_NAME_EVAL(prefix, body, suffix) QNN_PASTE_THREE(prefix, body, suffix)
#define QNN_SYSTEM_INTERFACE_VER_TYPE_EVAL(major, minor)                                           \
    QNN_SYSTEM_INTERFACE_NAME_EVAL(QnnSystemInterface_ImplementationV,                             \
                                   QNN_SYSTEM_INTERFACE_VER_EVAL(major, minor), _t)
#define QNN_SYSTEM_INTERFACE_VER_NAME_EVAL(major, minor)                                           \
    QNN_SYSTEM_INTERFACE_NAME_EVAL(v, QNN_SYSTEM_INTERFACE_VER_EVAL(major, minor), )
#define QNN_SYSTEM_INTERFACE_VER_TYPE                                                              \
    QNN_SYSTEM_INTERFACE_VER_TYPE_EVAL(QNN_SYSTEM_API_VERSION_MAJOR, QNN_SYSTEM_API_VERSION_MINOR)
#define QNN_SYSTEM_INTERFACE_VER_NAME                                                              \
    QNN_SYSTEM_INTERFACE_VER_NAME_EVAL(QNN_SYSTEM_API_VERSION_MAJOR, QNN_SYSTEM_API_VERSION_MINOR)

// Errors of QnnSystemInterface_getProviders.
typedef enum {
    QNN_SYSTEM_INTERFACE_MIN_ERROR = 30000,              // first code
    QNN_SYSTEM_INTERFACE_NO_ERROR = 0,                   // done
    QNN_SYSTEM_INTERFACE_ERROR_NOT_SUPPORTED = 1000,     // the library does not do this
    QNN_SYSTEM_INTERFACE_ERROR_INVALID_PARAMETER = 1004, // an argument is NULL
    QNN_SYSTEM_INTERFACE_MAX_ERROR = 49999,              // last code
} QnnSystemInterface_Error_t;

// Pointer types of the functions; the functions say what they do.
typedef Qnn_ErrorHandle_t (*QnnSystemContext_CreateFn_t)(QnnSystemContext_Handle_t *sysCtxHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemContext_FreeFn_t)(QnnSystemContext_Handle_t sysCtxHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemContext_GetBinaryInfoFn_t)(
    QnnSystemContext_Handle_t sysCtxHandle, void *binaryBuffer, uint64_t binaryBufferSize,
    const QnnSystemContext_BinaryInfo_t **binaryInfo, Qnn_ContextBinarySize_t *binaryInfoSize);
typedef Qnn_ErrorHandle_t (*QnnSystemContext_GetMetaDataFn_t)(
    QnnSystemContext_Handle_t sysCtxHandle, const void *binaryBuffer, uint64_t binaryBufferSize,
    const QnnSystemContext_BinaryInfo_t **binaryInfo);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_composeGraphsFn_t)(
    QnnSystemDlc_Handle_t dlcHandle, const QnnSystemDlc_GraphConfigInfo_t **graphConfigs,
    const uint32_t numGraphConfigs, Qnn_BackendHandle_t backend, Qnn_ContextHandle_t context,
    QnnInterface_t backendInterface, QnnSystemContext_GraphInfoVersion_t graphVersion,
    QnnSystemContext_GraphInfo_t **graphs, uint32_t *numGraphs);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_createFromBinaryFn_t)(
    Qnn_LogHandle_t logger, const uint8_t *buffer, const Qnn_ContextBinarySize_t bufferSize,
    QnnSystemDlc_Handle_t *dlcHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_createFromBinaryWithDestinationDirFn_t)(
    Qnn_LogHandle_t logger, const uint8_t *buffer, const Qnn_ContextBinarySize_t bufferSize,
    const char *destinationDirectoryHint, QnnSystemDlc_Handle_t *dlcHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_createFromFileFn_t)(Qnn_LogHandle_t logger,
                                                             const char *dlcPath,
                                                             QnnSystemDlc_Handle_t *dlcHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_createFromFileWithDestinationDirFn_t)(
    Qnn_LogHandle_t logger, const char *dlcPath, const char *destinationDirectoryHint,
    QnnSystemDlc_Handle_t *dlcHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_createWithDestinationDirFn_t)(
    Qnn_LogHandle_t logger, const char *destinationDirectoryHint, QnnSystemDlc_Handle_t *dlcHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_freeFn_t)(QnnSystemDlc_Handle_t dlcHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_freeRecordFn_t)(QnnSystemDlc_RecordHandle_t recordHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_freeRecordRangeFn_t)(
    QnnSystemDlc_RecordHandle_t recordHandle, uint64_t offset, uint64_t size);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getBinaryFn_t)(
    QnnSystemDlc_Handle_t dlcHandle, uint8_t *binaryBuffer,
    Qnn_SystemDlcBinarySize_t binaryBufferSize, Qnn_SystemDlcBinarySize_t *writtenBufferSize);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getBinarySizeFn_t)(
    QnnSystemDlc_Handle_t dlcHandle, Qnn_SystemDlcBinarySize_t *binaryBufferSize);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getComposableGraphInfoFn_t)(
    QnnSystemDlc_GraphInfoHandle_t graphInfoHandle,
    const QnnSystemDlc_ComposableGraphInfo_t **graphInfo);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getComposableGraphInfoGraphNameFn_t)(
    QnnSystemDlc_GraphInfoHandle_t graphInfoHandle, const char **graphName);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getComposableGraphInfoHandlesFn_t)(
    QnnSystemDlc_Handle_t dlcHandle, QnnSystemDlc_GraphInfoHandle_t **graphInfoHandles,
    uint32_t *numGraphInfoHandles);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getComposableGraphInfoNumInputTensorsFn_t)(
    QnnSystemDlc_GraphInfoHandle_t graphInfoHandle, uint32_t *numInputTensors);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getComposableGraphInfoNumOutputTensorsFn_t)(
    QnnSystemDlc_GraphInfoHandle_t graphInfoHandle, uint32_t *numOutputTensors);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoBackendApiVersionFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *major, uint32_t *minor,
    uint32_t *patch);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoBackendIdFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *backendId);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoBuildIdFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, const char **buildId);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoContextBlobSizeFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint64_t *contextBlobSize);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoContextBlobVersionFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *major, uint32_t *minor,
    uint32_t *patch);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoContextMetadataFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, void **contextMetadata);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoContextMetadataSizeFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *contextMetadataSize);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoContextTensorInfoFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t index,
    QnnSystemDlc_TensorInfoHandle_t *tensorInfoHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoCoreApiVersionFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *major, uint32_t *minor,
    uint32_t *patch);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t contextBinaryInfoHandle,
    const QnnSystemContext_BinaryInfo_t **binaryInfo);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoHandlesFn_t)(
    QnnSystemDlc_Handle_t dlcHandle,
    QnnSystemDlc_ContextBinaryInfoHandle_t **contextBinaryInfoHandles,
    uint32_t *numContextBinaryInfoHandles);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoHwInfoBlobFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, void **hwInfoBlob);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoHwInfoBlobSizeFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *hwInfoBlobSize);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoHwInfoBlobVersionFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *major, uint32_t *minor,
    uint32_t *patch);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoNumContextTensorsFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *numContextTensors);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoNumGraphsFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *numGraphs);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoSocModelFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *socModel);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextBinaryInfoSocVersionFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, const char **socVersion);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextGraphInfoEndOpIndexFn_t)(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t *endOpIndex);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextGraphInfoGraphBlobInfoFn_t)(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, void **graphBlobInfo);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextGraphInfoGraphBlobInfoSizeFn_t)(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t *graphBlobInfoSize);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextGraphInfoGraphNameFn_t)(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, const char **graphName);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextGraphInfoHandleFn_t)(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t index,
    QnnSystemDlc_ContextGraphInfoHandle_t *contextGraphInfoHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextGraphInfoInputTensorInfoFn_t)(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t index,
    QnnSystemDlc_TensorInfoHandle_t *tensorInfoHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextGraphInfoNumInputTensorsFn_t)(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t *numInputTensors);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextGraphInfoNumOutputTensorsFn_t)(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t *numOutputTensors);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextGraphInfoNumUpdateableTensorsFn_t)(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t *numUpdateableTensors);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextGraphInfoOutputTensorInfoFn_t)(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t index,
    QnnSystemDlc_TensorInfoHandle_t *tensorInfoHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextGraphInfoStartOpIndexFn_t)(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t *startOpIndex);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getContextGraphInfoUpdateableTensorInfoFn_t)(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t index,
    QnnSystemDlc_TensorInfoHandle_t *tensorInfoHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getGraphInfoInputTensorInfoFn_t)(
    QnnSystemDlc_GraphInfoHandle_t graphInfoHandle, uint32_t index,
    QnnSystemDlc_TensorInfoHandle_t *tensorHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getGraphInfoOutputTensorInfoFn_t)(
    QnnSystemDlc_GraphInfoHandle_t graphInfoHandle, uint32_t index,
    QnnSystemDlc_TensorInfoHandle_t *tensorHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getOpMappingsFn_t)(QnnSystemDlc_Handle_t dlcHandle,
                                                            const Qnn_OpMapping_t **opMappings,
                                                            uint32_t *numOpMappings);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsAxisScaleOffsetAxisFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, int32_t *axis);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsAxisScaleOffsetNumScaleOffsetsFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t *numScaleOffsets);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsAxisScaleOffsetOffsetAtIndexFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t index, int32_t *offset);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsAxisScaleOffsetScaleAtIndexFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t index, float *scale);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsBwAxisScaleOffsetAxisFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, int32_t *axis);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsBwAxisScaleOffsetBitwidthFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t *bitwidth);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsBwAxisScaleOffsetNumElementsFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t *numElements);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsBwAxisScaleOffsetOffsetAtIndexFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t index, int32_t *offset);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsBwAxisScaleOffsetScaleAtIndexFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t index, float *scale);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsBwScaleOffsetBitwidthFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t *bitwidth);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsBwScaleOffsetOffsetFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, int32_t *offset);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsBwScaleOffsetScaleFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, float *scale);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsEncodingDefinitionFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, Qnn_Definition_t *encodingDefinition);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsEncodingFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, Qnn_QuantizationEncoding_t *encoding);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsScaleOffsetOffsetFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, int32_t *offset);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getQuantParamsScaleOffsetScaleFn_t)(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, float *scale);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getRecordByNameFn_t)(
    QnnSystemDlc_Handle_t dlcHandle, const char *recordName,
    QnnSystemDlc_RecordHandle_t *recordHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getRecordDataSizeFn_t)(
    QnnSystemDlc_RecordHandle_t recordHandle, uint64_t *dataSize);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getRecordsByTypeFn_t)(
    QnnSystemDlc_Handle_t dlcHandle, QnnSystemDlc_RecordType_t recordType,
    uint8_t getMostOptimalContextBinary, QnnSystemDlc_RecordHandle_t **recordHandles,
    uint32_t *numRecordHandles);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getTensorInfoDataFormatFn_t)(
    QnnSystemDlc_TensorInfoHandle_t tensorHandle, Qnn_TensorDataFormat_t *dataFormat);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getTensorInfoDataTypeFn_t)(
    QnnSystemDlc_TensorInfoHandle_t tensorHandle, Qnn_DataType_t *dataType);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getTensorInfoDimensionsFn_t)(
    QnnSystemDlc_TensorInfoHandle_t tensorHandle, uint32_t *dimensions);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getTensorInfoIdFn_t)(
    QnnSystemDlc_TensorInfoHandle_t tensorHandle, uint32_t *id);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getTensorInfoNameFn_t)(
    QnnSystemDlc_TensorInfoHandle_t tensorHandle, const char **name);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getTensorInfoQuantParamsFn_t)(
    QnnSystemDlc_TensorInfoHandle_t tensorHandle,
    QnnSystemDlc_QuantParamsHandle_t *quantParamsHandle);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getTensorInfoRankFn_t)(
    QnnSystemDlc_TensorInfoHandle_t tensorHandle, uint32_t *rank);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_getTensorInfoTypeFn_t)(
    QnnSystemDlc_TensorInfoHandle_t tensorHandle, Qnn_TensorType_t *type);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_readRecordDataMemoryMappedFn_t)(
    QnnSystemDlc_RecordHandle_t recordHandle, const uint8_t **data, uint64_t *dataSize);
typedef Qnn_ErrorHandle_t (*QnnSystemDlc_saveFn_t)(QnnSystemDlc_Handle_t dlcHandle,
                                                   const char *path);
typedef Qnn_ErrorHandle_t (*QnnSystemLog_createFn_t)(QnnLog_Callback_t callback,
                                                     QnnLog_Level_t maxLogLevel,
                                                     Qnn_LogHandle_t *logger);
typedef Qnn_ErrorHandle_t (*QnnSystemLog_freeFn_t)(Qnn_LogHandle_t logger);
typedef Qnn_ErrorHandle_t (*QnnSystemLog_setLogLevelFn_t)(Qnn_LogHandle_t logger,
                                                          QnnLog_Level_t maxLogLevel);
typedef Qnn_ErrorHandle_t (*QnnSystemProfile_createSerializationTargetFn_t)(
    QnnSystemProfile_SerializationTarget_t serializationTargetInfo,
    QnnSystemProfile_SerializationTargetConfig_t *configs, uint32_t numConfigs,
    QnnSystemProfile_SerializationTargetHandle_t *serializationTarget);
typedef Qnn_ErrorHandle_t (*QnnSystemProfile_freeSerializationTargetFn_t)(
    QnnSystemProfile_SerializationTargetHandle_t serializationTarget);
typedef Qnn_ErrorHandle_t (*QnnSystemProfile_serializeEventDataFn_t)(
    QnnSystemProfile_SerializationTargetHandle_t serializationTarget,
    const QnnSystemProfile_ProfileData_t **eventData, uint32_t numEvents);
typedef Qnn_ErrorHandle_t (*QnnSystemTensor_getMemoryFootprintFn_t)(Qnn_Tensor_t tensor,
                                                                    uint64_t *footprint);

// The function table. Entries are only ever added at the end.
typedef struct {
    QnnSystemContext_CreateFn_t systemContextCreate;                       // 0, since 1.0
    QnnSystemContext_GetBinaryInfoFn_t systemContextGetBinaryInfo;         // 1, since 1.0
    QnnSystemContext_GetMetaDataFn_t systemContextGetMetaData;             // 2, since 1.1
    QnnSystemContext_FreeFn_t systemContextFree;                           // 3, since 1.0
    QnnSystemTensor_getMemoryFootprintFn_t systemTensorGetMemoryFootprint; // 4, since 1.3 to 1.4
    QnnSystemLog_createFn_t systemLogCreate;                               // 5, since 1.3 to 1.4
    QnnSystemLog_setLogLevelFn_t systemLogSetLogLevel;                     // 6, since 1.3 to 1.4
    QnnSystemLog_freeFn_t systemLogFree;                                   // 7, since 1.3 to 1.4
    QnnSystemDlc_createFromFileFn_t systemDlcCreateFromFile;               // 8, since 1.3 to 1.4
    QnnSystemDlc_createFromBinaryFn_t systemDlcCreateFromBinary;           // 9, since 1.3 to 1.4
    QnnSystemDlc_composeGraphsFn_t systemDlcComposeGraphs;                 // 10, since 1.3 to 1.4
    QnnSystemDlc_getOpMappingsFn_t systemDlcGetOpMappings;                 // 11, since 1.3 to 1.4
    QnnSystemDlc_freeFn_t systemDlcFree;                                   // 12, since 1.3 to 1.4
    // 13, since 1.5 to 1.7
    QnnSystemProfile_createSerializationTargetFn_t systemProfileCreateSerializationTarget;
    QnnSystemProfile_serializeEventDataFn_t systemProfileSerializeEventData; // 14, since 1.5 to 1.7
    // 15, since 1.5 to 1.7
    QnnSystemProfile_freeSerializationTargetFn_t systemProfileFreeSerializationTarget;
    QnnSystemDlc_getRecordByNameFn_t systemDlcGetRecordByName;     // 16, since 1.8 to 1.9
    QnnSystemDlc_getRecordsByTypeFn_t systemDlcGetRecordsByType;   // 17, since 1.8 to 1.9
    QnnSystemDlc_getRecordDataSizeFn_t systemDlcGetRecordDataSize; // 18, since 1.8 to 1.9
    // 19, since 1.8 to 1.9
    QnnSystemDlc_readRecordDataMemoryMappedFn_t systemDlcReadRecordDataMemoryMapped;
    QnnSystemDlc_freeRecordFn_t systemDlcFreeRecord; // 20, since 1.8 to 1.9
    QnnSystemDlc_saveFn_t systemDlcSave;             // 21, since 1.8 to 1.9
    // 22, since 1.10
    QnnSystemDlc_createFromFileWithDestinationDirFn_t systemDlcCreateFromFileWithDestinationDir;
    // 23, since 1.10
    QnnSystemDlc_createFromBinaryWithDestinationDirFn_t systemDlcCreateFromBinaryWithDestinationDir;
    QnnSystemDlc_getBinarySizeFn_t systemDlcGetBinarySize;                       // 24, since 1.11
    QnnSystemDlc_getBinaryFn_t systemDlcGetBinary;                               // 25, since 1.11
    QnnSystemDlc_createWithDestinationDirFn_t systemDlcCreateWithDestinationDir; // 26, since 1.12
    // 27, since 1.13 to 1.14
    QnnSystemDlc_getComposableGraphInfoHandlesFn_t systemDlcGetComposableGraphInfoHandles;
    // 28, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoHandlesFn_t systemDlcGetContextBinaryInfoHandles;
    // 29, since 1.13 to 1.14
    QnnSystemDlc_getComposableGraphInfoFn_t systemDlcGetComposableGraphInfo;
    QnnSystemDlc_getContextBinaryInfoFn_t systemDlcGetContextBinaryInfo; // 30, since 1.13 to 1.14
    // 31, since 1.13 to 1.14
    QnnSystemDlc_getComposableGraphInfoGraphNameFn_t systemDlcGetComposableGraphInfoGraphName;
    // 32, since 1.13 to 1.14
    QnnSystemDlc_getComposableGraphInfoNumInputTensorsFn_t
        systemDlcGetComposableGraphInfoNumInputTensors;
    // 33, since 1.13 to 1.14
    QnnSystemDlc_getComposableGraphInfoNumOutputTensorsFn_t
        systemDlcGetComposableGraphInfoNumOutputTensors;
    // 34, since 1.13 to 1.14
    QnnSystemDlc_getGraphInfoInputTensorInfoFn_t systemDlcGetGraphInfoInputTensorInfo;
    // 35, since 1.13 to 1.14
    QnnSystemDlc_getGraphInfoOutputTensorInfoFn_t systemDlcGetGraphInfoOutputTensorInfo;
    QnnSystemDlc_getTensorInfoNameFn_t systemDlcGetTensorInfoName; // 36, since 1.13 to 1.14
    QnnSystemDlc_getTensorInfoIdFn_t systemDlcGetTensorInfoId;     // 37, since 1.13 to 1.14
    QnnSystemDlc_getTensorInfoTypeFn_t systemDlcGetTensorInfoType; // 38, since 1.13 to 1.14
    // 39, since 1.13 to 1.14
    QnnSystemDlc_getTensorInfoDataFormatFn_t systemDlcGetTensorInfoDataFormat;
    QnnSystemDlc_getTensorInfoDataTypeFn_t systemDlcGetTensorInfoDataType; // 40, since 1.13 to 1.14
    QnnSystemDlc_getTensorInfoRankFn_t systemDlcGetTensorInfoRank;         // 41, since 1.13 to 1.14
    // 42, since 1.13 to 1.14
    QnnSystemDlc_getTensorInfoDimensionsFn_t systemDlcGetTensorInfoDimensions;
    // 43, since 1.13 to 1.14
    QnnSystemDlc_getTensorInfoQuantParamsFn_t systemDlcGetTensorInfoQuantParams;
    // 44, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsEncodingDefinitionFn_t systemDlcGetQuantParamsEncodingDefinition;
    // 45, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsEncodingFn_t systemDlcGetQuantParamsEncoding;
    // 46, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsScaleOffsetScaleFn_t systemDlcGetQuantParamsScaleOffsetScale;
    // 47, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsScaleOffsetOffsetFn_t systemDlcGetQuantParamsScaleOffsetOffset;
    // 48, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsBwScaleOffsetBitwidthFn_t
        systemDlcGetQuantParamsBwScaleOffsetBitwidth;
    // 49, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsBwScaleOffsetScaleFn_t systemDlcGetQuantParamsBwScaleOffsetScale;
    // 50, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsBwScaleOffsetOffsetFn_t systemDlcGetQuantParamsBwScaleOffsetOffset;
    // 51, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsAxisScaleOffsetAxisFn_t systemDlcGetQuantParamsAxisScaleOffsetAxis;
    // 52, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsAxisScaleOffsetNumScaleOffsetsFn_t
        systemDlcGetQuantParamsAxisScaleOffsetNumScaleOffsets;
    // 53, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsAxisScaleOffsetScaleAtIndexFn_t
        systemDlcGetQuantParamsAxisScaleOffsetScaleAtIndex;
    // 54, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsAxisScaleOffsetOffsetAtIndexFn_t
        systemDlcGetQuantParamsAxisScaleOffsetOffsetAtIndex;
    // 55, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsBwAxisScaleOffsetBitwidthFn_t
        systemDlcGetQuantParamsBwAxisScaleOffsetBitwidth;
    // 56, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsBwAxisScaleOffsetAxisFn_t
        systemDlcGetQuantParamsBwAxisScaleOffsetAxis;
    // 57, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsBwAxisScaleOffsetNumElementsFn_t
        systemDlcGetQuantParamsBwAxisScaleOffsetNumElements;
    // 58, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsBwAxisScaleOffsetScaleAtIndexFn_t
        systemDlcGetQuantParamsBwAxisScaleOffsetScaleAtIndex;
    // 59, since 1.13 to 1.14
    QnnSystemDlc_getQuantParamsBwAxisScaleOffsetOffsetAtIndexFn_t
        systemDlcGetQuantParamsBwAxisScaleOffsetOffsetAtIndex;
    // 60, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoBackendIdFn_t systemDlcGetContextBinaryInfoBackendId;
    // 61, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoBuildIdFn_t systemDlcGetContextBinaryInfoBuildId;
    // 62, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoCoreApiVersionFn_t systemDlcGetContextBinaryInfoCoreApiVersion;
    // 63, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoBackendApiVersionFn_t
        systemDlcGetContextBinaryInfoBackendApiVersion;
    // 64, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoSocVersionFn_t systemDlcGetContextBinaryInfoSocVersion;
    // 65, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoHwInfoBlobVersionFn_t
        systemDlcGetContextBinaryInfoHwInfoBlobVersion;
    // 66, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoContextBlobVersionFn_t
        systemDlcGetContextBinaryInfoContextBlobVersion;
    // 67, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoHwInfoBlobSizeFn_t systemDlcGetContextBinaryInfoHwInfoBlobSize;
    // 68, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoHwInfoBlobFn_t systemDlcGetContextBinaryInfoHwInfoBlob;
    // 69, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoContextBlobSizeFn_t
        systemDlcGetContextBinaryInfoContextBlobSize;
    // 70, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoNumContextTensorsFn_t
        systemDlcGetContextBinaryInfoNumContextTensors;
    // 71, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoContextTensorInfoFn_t
        systemDlcGetContextBinaryInfoContextTensorInfo;
    // 72, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoNumGraphsFn_t systemDlcGetContextBinaryInfoNumGraphs;
    // 73, since 1.13 to 1.14
    QnnSystemDlc_getContextGraphInfoHandleFn_t systemDlcGetContextGraphInfoHandle;
    // 74, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoSocModelFn_t systemDlcGetContextBinaryInfoSocModel;
    // 75, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoContextMetadataSizeFn_t
        systemDlcGetContextBinaryInfoContextMetadataSize;
    // 76, since 1.13 to 1.14
    QnnSystemDlc_getContextBinaryInfoContextMetadataFn_t
        systemDlcGetContextBinaryInfoContextMetadata;
    // 77, since 1.13 to 1.14
    QnnSystemDlc_getContextGraphInfoGraphNameFn_t systemDlcGetContextGraphInfoGraphName;
    // 78, since 1.13 to 1.14
    QnnSystemDlc_getContextGraphInfoNumInputTensorsFn_t systemDlcGetContextGraphInfoNumInputTensors;
    // 79, since 1.13 to 1.14
    QnnSystemDlc_getContextGraphInfoNumOutputTensorsFn_t
        systemDlcGetContextGraphInfoNumOutputTensors;
    // 80, since 1.13 to 1.14
    QnnSystemDlc_getContextGraphInfoNumUpdateableTensorsFn_t
        systemDlcGetContextGraphInfoNumUpdateableTensors;
    // 81, since 1.13 to 1.14
    QnnSystemDlc_getContextGraphInfoGraphBlobInfoSizeFn_t
        systemDlcGetContextGraphInfoGraphBlobInfoSize;
    // 82, since 1.13 to 1.14
    QnnSystemDlc_getContextGraphInfoGraphBlobInfoFn_t systemDlcGetContextGraphInfoGraphBlobInfo;
    // 83, since 1.13 to 1.14
    QnnSystemDlc_getContextGraphInfoStartOpIndexFn_t systemDlcGetContextGraphInfoStartOpIndex;
    // 84, since 1.13 to 1.14
    QnnSystemDlc_getContextGraphInfoEndOpIndexFn_t systemDlcGetContextGraphInfoEndOpIndex;
    // 85, since 1.13 to 1.14
    QnnSystemDlc_getContextGraphInfoInputTensorInfoFn_t systemDlcGetContextGraphInfoInputTensorInfo;
    // 86, since 1.13 to 1.14
    QnnSystemDlc_getContextGraphInfoOutputTensorInfoFn_t
        systemDlcGetContextGraphInfoOutputTensorInfo;
    // 87, since 1.13 to 1.14
    QnnSystemDlc_getContextGraphInfoUpdateableTensorInfoFn_t
        systemDlcGetContextGraphInfoUpdateableTensorInfo;
    QnnSystemDlc_freeRecordRangeFn_t systemDlcFreeRecordRange; // 88, since 1.13 to 1.14
} QnnSystemInterface_ImplementationV1_14_t;

// A provider: who it is and its table.
typedef struct {
    uint32_t backendId;             // QNN_BACKEND_ID_*
    const char *providerName;       // who made the library; never NULL
    Qnn_Version_t systemApiVersion; // choose an entry by it
    union UNNAMED {
        QNN_SYSTEM_INTERFACE_VER_TYPE QNN_SYSTEM_INTERFACE_VER_NAME; // the table
    };
} QnnSystemInterface_t;

// Initial values: everything unset.
// clang-format off
#define QNN_SYSTEM_INTERFACE_VER_TYPE_INIT \
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}
#define QNN_SYSTEM_INTERFACE_INIT {0, NULL, QNN_VERSION_INIT, {QNN_SYSTEM_INTERFACE_VER_TYPE_INIT}}
// clang-format on

// Sets a static list of providers. May be called before anything else; the list lives as long as
// the library is loaded.
// Errors: QNN_SYSTEM_INTERFACE_ERROR_INVALID_PARAMETER, QNN_SYSTEM_INTERFACE_ERROR_NOT_SUPPORTED.
QNN_SYSTEM_INTERFACE Qnn_ErrorHandle_t
QnnSystemInterface_getProviders(const QnnSystemInterface_t ***providerList, uint32_t *numProviders);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_SYSTEM_INTERFACE_H
