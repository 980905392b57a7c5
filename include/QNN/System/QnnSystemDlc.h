// SPDX-License-Identifier: MIT
//
// System library: open, read, change and write DLC containers, and build the graphs in one on a
// backend.

#ifndef QNN_SYSTEM_DLC_H
#define QNN_SYSTEM_DLC_H

#include <stddef.h>
#include <stdint.h>

#include "QnnInterface.h"
#include "QnnTypes.h"
#include "System/QnnSystemCommon.h"
#include "System/QnnSystemContext.h"
#include "System/QnnSystemLog.h"

#ifdef __cplusplus
extern "C" {
#endif

// Errors of the DLC component.
typedef enum {
    QNN_SYSTEM_DLC_MINERROR = 30000,                 // first code
    QNN_SYSTEM_DLC_NO_ERROR = 0,                     // done
    QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE = 1000, // the library does not do this
    QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE = 30000,     // not a handle of this component
    QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT = 30001,   // an argument is wrong
    QNN_SYSTEM_DLC_ERROR_OPERATION_FAILED = 30002,   // failed for another reason
    QNN_SYSTEM_DLC_ERROR_MALFORMED_BINARY = 30010,   // cannot be parsed
    QNN_SYSTEM_DLC_MAXERROR = 49999,                 // last code
} QnnSystemDlc_Error_t;

// A record of a container.
typedef void *QnnSystemDlc_RecordHandle_t;

// A graph that can be composed. Dies with the container, as all handles below.
typedef void *QnnSystemDlc_GraphInfoHandle_t;

// A context binary in a container.
typedef void *QnnSystemDlc_ContextBinaryInfoHandle_t;

// A graph of a context binary.
typedef void *QnnSystemDlc_ContextGraphInfoHandle_t;

// A tensor.
typedef void *QnnSystemDlc_TensorInfoHandle_t;

// The encoding of a tensor.
typedef void *QnnSystemDlc_QuantParamsHandle_t;

// Options for a graph that is composed.
typedef struct {
    const char *graphName;                  // name of the graph
    const QnnGraph_Config_t **graphConfigs; // the options
    uint32_t numConfigs;                    // length of graphConfigs
} QnnSystemDlc_GraphConfigInfoV1_t;

// Version of QnnSystemDlc_GraphConfigInfo_t.
typedef enum {
    QNN_SYSTEM_DLC_GRAPH_CONFIG_INFO_VERSION_1 = 1,
    QNN_SYSTEM_DLC_GRAPH_CONFIG_INFO_UNDEFINED = 0x7FFFFFFF,
} QnnSystemContext_GraphConfigInfoVersion_t;

// Options for a graph that is composed, versioned.
typedef struct {
    QnnSystemContext_GraphConfigInfoVersion_t version; // selects the union member
    union UNNAMED {
        QnnSystemDlc_GraphConfigInfoV1_t v1; // version 1
    };
} QnnSystemDlc_GraphConfigInfo_t;

// A graph that can be composed.
typedef struct {
    const char *graphName;      // name of the graph
    uint32_t numGraphInputs;    // length of graphInputs
    Qnn_Tensor_t *graphInputs;  // inputs, without data
    uint32_t numGraphOutputs;   // length of graphOutputs
    Qnn_Tensor_t *graphOutputs; // outputs, without data
} QnnSystemDlc_ComposableGraphInfoV1_t;

// Version of QnnSystemDlc_ComposableGraphInfo_t.
typedef enum {
    QNN_SYSTEM_DLC_COMPOSABLE_GRAPH_INFO_VERSION_1 = 1,
    QNN_SYSTEM_DLC_COMPOSABLE_GRAPH_INFO_UNDEFINED = 0x7FFFFFFF,
} QnnSystemDlc_ComposableGraphInfoVersion_t;

// A graph that can be composed, versioned.
typedef struct {
    QnnSystemDlc_ComposableGraphInfoVersion_t version; // selects the union member
    union UNNAMED {
        QnnSystemDlc_ComposableGraphInfoV1_t graphInfoV1; // version 1
    };
} QnnSystemDlc_ComposableGraphInfo_t;

// Kind of a record.
typedef enum {
    QNN_SYSTEM_DLC_RECORD_TYPE_DLC_METADATA = 1,
    QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_TOPOLOGY = 2, // nodes and tensors
    QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_PARAMS = 3,
    QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_RAW_WIEGHTS = 4, // spelling of earlier versions
    QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_RAW_WEIGHTS = 4,
    QNN_SYSTEM_DLC_RECORD_TYPE_MODEL_ENCODINGS = 5,
    QNN_SYSTEM_DLC_RECORD_TYPE_LORA_CONVERTER_METADATA = 6,
    QNN_SYSTEM_DLC_RECORD_PREFIX_HTP_CACHE_RECORD = 7, // context binary for the HTP
    QNN_SYSTEM_DLC_RECORD_PREFIX_AIP_CACHE_RECORD = 8,
    QNN_SYSTEM_DLC_RECORD_PREFIX_HTA_CACHE_RECORD = 9,
    QNN_SYSTEM_DLC_RECORD_PREFIX_AIX_CACHE_RECORD = 10,
    QNN_SYSTEM_DLC_RECORD_PREFIX_GPU_CACHE_RECORD = 11, // context binary for the GPU
    QNN_SYSTEM_DLC_RECORD_PREFIX_HEXNNV2_CACHE_RECORD = 12,
    QNN_SYSTEM_DLC_RECORD_TYPE_SOURCE_MAPPING = 13,
    QNN_SYSTEM_DLC_RECORD_TYPE_SOURCE_TOPOLOGY = 14,
    QNN_SYSTEM_DLC_RECORD_TYPE_HTP_SCHEMATIC_BIN = 15,
    QNN_SYSTEM_DLC_RECORD_TYPE_HTP_GRAPH_MAPPING = 16,
    QNN_SYSTEM_DLC_RECORD_TYPE_GENAI_METADATA = 17,
    QNN_SYSTEM_DLC_RECORD_TYPE_GENAI_ARTIFACT = 18,
    QNN_SYSTEM_DLC_RECORD_TYPE_HTP_SHARED_WEIGHTS_RECORD = 19,
    QNN_SYSTEM_DLC_RECORD_TYPE_HTP_SHARED_WEIGHTS_METADATA_RECORD = 20,
    QNN_SYSTEM_DLC_RECORD_TYPE_DLC_METADATA_HISTORY = 21,
    QNN_SYSTEM_DLC_RECORD_NAME_UNKNOWN = 0x7FFFFFFF,
} QnnSystemDlc_RecordType_t;

// Initial values: everything unset.
// clang-format off
#define QNN_SYSTEM_DLC_COMPOSABLE_GRAPH_INFO_V1_INIT {NULL, 0, NULL, 0, NULL}
#define QNN_SYSTEM_DLC_COMPOSABLE_GRAPH_INFO_INIT \
    {QNN_SYSTEM_DLC_COMPOSABLE_GRAPH_INFO_UNDEFINED, \
    {QNN_SYSTEM_DLC_COMPOSABLE_GRAPH_INFO_V1_INIT}}
// clang-format on

// Opens a container.
// Errors: QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT, QNN_COMMON_ERROR_MEM_ALLOC,
// QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_createFromFile(Qnn_LogHandle_t logger,
                                                             const char *dlcPath,
                                                             QnnSystemDlc_Handle_t *dlcHandle);

// Opens a container that lies in memory.
// Errors: QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT, QNN_COMMON_ERROR_MEM_ALLOC,
// QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_createFromBinary(
    Qnn_LogHandle_t logger, const uint8_t *buffer, const Qnn_ContextBinarySize_t bufferSize,
    QnnSystemDlc_Handle_t *dlcHandle);

// Builds the graphs of the container in a context, through the function table of a backend passed
// by value, and describes them. The client frees the array with free().
// Errors: QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT, QNN_COMMON_ERROR_MEM_ALLOC,
// QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE, QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_composeGraphs(
    QnnSystemDlc_Handle_t dlcHandle, const QnnSystemDlc_GraphConfigInfo_t **graphConfigs,
    const uint32_t numGraphConfigs, Qnn_BackendHandle_t backend, Qnn_ContextHandle_t context,
    QnnInterface_t backendInterface, QnnSystemContext_GraphInfoVersion_t graphVersion,
    QnnSystemContext_GraphInfo_t **graphs, uint32_t *numGraphs);

// Mappings of the graphs back to the source model. They live as long as the container.
// Errors: QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE, QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getOpMappings(QnnSystemDlc_Handle_t dlcHandle,
                                                            const Qnn_OpMapping_t **opMappings,
                                                            uint32_t *numOpMappings);

// Closes the container and frees what it handed out.
// Errors: QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE, QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_free(QnnSystemDlc_Handle_t dlcHandle);

// A record by its name.
// Errors: QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE, QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT.
QNN_SYSTEM_API Qnn_ErrorHandle_t
QnnSystemDlc_getRecordByName(QnnSystemDlc_Handle_t dlcHandle, const char *recordName,
                             QnnSystemDlc_RecordHandle_t *recordHandle);

// All records of a kind; getMostOptimalContextBinary, when not 0, asks for the best context binary
// alone.
// Errors: QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE, QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getRecordsByType(
    QnnSystemDlc_Handle_t dlcHandle, QnnSystemDlc_RecordType_t recordType,
    uint8_t getMostOptimalContextBinary, QnnSystemDlc_RecordHandle_t **recordHandles,
    uint32_t *numRecordHandles);

// Bytes of a record.
// Errors: QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE, QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT.
QNN_SYSTEM_API Qnn_ErrorHandle_t
QnnSystemDlc_getRecordDataSize(QnnSystemDlc_RecordHandle_t recordHandle, uint64_t *dataSize);

// Maps the data of a record; it stays until the record is freed.
// Errors: QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE, QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_readRecordDataMemoryMapped(
    QnnSystemDlc_RecordHandle_t recordHandle, const uint8_t **data, uint64_t *dataSize);

// Frees a record.
// Errors: QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_freeRecord(QnnSystemDlc_RecordHandle_t recordHandle);

// Writes the container to a file.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_save(QnnSystemDlc_Handle_t dlcHandle,
                                                   const char *path);

// Opens a container; destinationDirectoryHint says where changed data may be kept.
// Errors: QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT, QNN_COMMON_ERROR_MEM_ALLOC,
// QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_createFromFileWithDestinationDir(
    Qnn_LogHandle_t logger, const char *dlcPath, const char *destinationDirectoryHint,
    QnnSystemDlc_Handle_t *dlcHandle);

// The same for a container in memory.
// Errors: QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT, QNN_COMMON_ERROR_MEM_ALLOC,
// QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_createFromBinaryWithDestinationDir(
    Qnn_LogHandle_t logger, const uint8_t *buffer, const Qnn_ContextBinarySize_t bufferSize,
    const char *destinationDirectoryHint, QnnSystemDlc_Handle_t *dlcHandle);

// Bytes QnnSystemDlc_getBinary needs.
// Errors: QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE, QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
// QNN_SYSTEM_DLC_ERROR_OPERATION_FAILED, QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getBinarySize(
    QnnSystemDlc_Handle_t dlcHandle, Qnn_SystemDlcBinarySize_t *binaryBufferSize);

// Writes the container into memory of the client.
// Errors: QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE, QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
// QNN_SYSTEM_DLC_ERROR_OPERATION_FAILED, QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getBinary(
    QnnSystemDlc_Handle_t dlcHandle, uint8_t *binaryBuffer,
    Qnn_SystemDlcBinarySize_t binaryBufferSize, Qnn_SystemDlcBinarySize_t *writtenBufferSize);

// Makes an empty container.
// Errors: QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT, QNN_COMMON_ERROR_MEM_ALLOC,
// QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_createWithDestinationDir(
    Qnn_LogHandle_t logger, const char *destinationDirectoryHint, QnnSystemDlc_Handle_t *dlcHandle);

// Handles of the graphs that can be composed.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getComposableGraphInfoHandles(
    QnnSystemDlc_Handle_t dlcHandle, QnnSystemDlc_GraphInfoHandle_t **graphInfoHandles,
    uint32_t *numGraphInfoHandles);

// Handles of the context binaries in the container.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoHandles(
    QnnSystemDlc_Handle_t dlcHandle,
    QnnSystemDlc_ContextBinaryInfoHandle_t **contextBinaryInfoHandles,
    uint32_t *numContextBinaryInfoHandles);

// Description of a graph that can be composed.
QNN_SYSTEM_API Qnn_ErrorHandle_t
QnnSystemDlc_getComposableGraphInfo(QnnSystemDlc_GraphInfoHandle_t graphInfoHandle,
                                    const QnnSystemDlc_ComposableGraphInfo_t **graphInfo);

// Description of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t
QnnSystemDlc_getContextBinaryInfo(QnnSystemDlc_ContextBinaryInfoHandle_t contextBinaryInfoHandle,
                                  const QnnSystemContext_BinaryInfo_t **binaryInfo);

// Graph name of a graph.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getComposableGraphInfoGraphName(
    QnnSystemDlc_GraphInfoHandle_t graphInfoHandle, const char **graphName);

// How many input tensors a graph has.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getComposableGraphInfoNumInputTensors(
    QnnSystemDlc_GraphInfoHandle_t graphInfoHandle, uint32_t *numInputTensors);

// How many output tensors a graph has.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getComposableGraphInfoNumOutputTensors(
    QnnSystemDlc_GraphInfoHandle_t graphInfoHandle, uint32_t *numOutputTensors);

// Input tensor of a graph, by its position.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getGraphInfoInputTensorInfo(
    QnnSystemDlc_GraphInfoHandle_t graphInfoHandle, uint32_t index,
    QnnSystemDlc_TensorInfoHandle_t *tensorHandle);

// Output tensor of a graph, by its position.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getGraphInfoOutputTensorInfo(
    QnnSystemDlc_GraphInfoHandle_t graphInfoHandle, uint32_t index,
    QnnSystemDlc_TensorInfoHandle_t *tensorHandle);

// Name of a tensor.
QNN_SYSTEM_API Qnn_ErrorHandle_t
QnnSystemDlc_getTensorInfoName(QnnSystemDlc_TensorInfoHandle_t tensorHandle, const char **name);

// Id of a tensor.
QNN_SYSTEM_API Qnn_ErrorHandle_t
QnnSystemDlc_getTensorInfoId(QnnSystemDlc_TensorInfoHandle_t tensorHandle, uint32_t *id);

// Type of a tensor.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getTensorInfoType(
    QnnSystemDlc_TensorInfoHandle_t tensorHandle, Qnn_TensorType_t *type);

// Data format of a tensor.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getTensorInfoDataFormat(
    QnnSystemDlc_TensorInfoHandle_t tensorHandle, Qnn_TensorDataFormat_t *dataFormat);

// Data type of a tensor.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getTensorInfoDataType(
    QnnSystemDlc_TensorInfoHandle_t tensorHandle, Qnn_DataType_t *dataType);

// Rank of a tensor.
QNN_SYSTEM_API Qnn_ErrorHandle_t
QnnSystemDlc_getTensorInfoRank(QnnSystemDlc_TensorInfoHandle_t tensorHandle, uint32_t *rank);

// Dimensions of a tensor, written to rank entries of the client.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getTensorInfoDimensions(
    QnnSystemDlc_TensorInfoHandle_t tensorHandle, uint32_t *dimensions);

// Quant params of a tensor.
QNN_SYSTEM_API Qnn_ErrorHandle_t
QnnSystemDlc_getTensorInfoQuantParams(QnnSystemDlc_TensorInfoHandle_t tensorHandle,
                                      QnnSystemDlc_QuantParamsHandle_t *quantParamsHandle);

// Where the numbers of an encoding come from.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsEncodingDefinition(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, Qnn_Definition_t *encodingDefinition);

// Kind of an encoding.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsEncoding(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, Qnn_QuantizationEncoding_t *encoding);

// Scale of a scale-offset encoding.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsScaleOffsetScale(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, float *scale);

// Offset of a scale-offset encoding.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsScaleOffsetOffset(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, int32_t *offset);

// Bitwidth of an encoding with a bit width.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsBwScaleOffsetBitwidth(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t *bitwidth);

// Scale of an encoding with a bit width.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsBwScaleOffsetScale(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, float *scale);

// Offset of an encoding with a bit width.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsBwScaleOffsetOffset(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, int32_t *offset);

// Axis of a per-axis encoding.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsAxisScaleOffsetAxis(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, int32_t *axis);

// How many scale offsets a per-axis encoding has.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsAxisScaleOffsetNumScaleOffsets(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t *numScaleOffsets);

// Scale of a per-axis encoding, by its position.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsAxisScaleOffsetScaleAtIndex(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t index, float *scale);

// Offset of a per-axis encoding, by its position.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsAxisScaleOffsetOffsetAtIndex(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t index, int32_t *offset);

// Bitwidth of a per-axis encoding with a bit width.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsBwAxisScaleOffsetBitwidth(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t *bitwidth);

// Axis of a per-axis encoding with a bit width.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsBwAxisScaleOffsetAxis(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, int32_t *axis);

// How many elements a per-axis encoding with a bit width has.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsBwAxisScaleOffsetNumElements(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t *numElements);

// Scale of a per-axis encoding with a bit width, by its position.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsBwAxisScaleOffsetScaleAtIndex(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t index, float *scale);

// Offset of a per-axis encoding with a bit width, by its position.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getQuantParamsBwAxisScaleOffsetOffsetAtIndex(
    QnnSystemDlc_QuantParamsHandle_t quantParamsHandle, uint32_t index, int32_t *offset);

// Backend id of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoBackendId(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *backendId);

// Build id of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoBuildId(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, const char **buildId);

// Core api version of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t
QnnSystemDlc_getContextBinaryInfoCoreApiVersion(QnnSystemDlc_ContextBinaryInfoHandle_t handle,
                                                uint32_t *major, uint32_t *minor, uint32_t *patch);

// Backend api version of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoBackendApiVersion(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *major, uint32_t *minor,
    uint32_t *patch);

// Soc version of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoSocVersion(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, const char **socVersion);

// Hw info blob version of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoHwInfoBlobVersion(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *major, uint32_t *minor,
    uint32_t *patch);

// Context blob version of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoContextBlobVersion(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *major, uint32_t *minor,
    uint32_t *patch);

// Bytes of the hw info blob of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoHwInfoBlobSize(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *hwInfoBlobSize);

// Hw info blob of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoHwInfoBlob(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, void **hwInfoBlob);

// Bytes of the context blob of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoContextBlobSize(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint64_t *contextBlobSize);

// How many context tensors a context binary has.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoNumContextTensors(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *numContextTensors);

// Context tensor of a context binary, by its position.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoContextTensorInfo(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t index,
    QnnSystemDlc_TensorInfoHandle_t *tensorInfoHandle);

// How many graphs a context binary has.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoNumGraphs(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *numGraphs);

// A graph of a context binary, by its position.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextGraphInfoHandle(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t index,
    QnnSystemDlc_ContextGraphInfoHandle_t *contextGraphInfoHandle);

// Soc model of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoSocModel(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *socModel);

// Bytes of the context metadata of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoContextMetadataSize(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, uint32_t *contextMetadataSize);

// Context metadata of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextBinaryInfoContextMetadata(
    QnnSystemDlc_ContextBinaryInfoHandle_t handle, void **contextMetadata);

// Graph name of a graph of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextGraphInfoGraphName(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, const char **graphName);

// How many input tensors a graph of a context binary has.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextGraphInfoNumInputTensors(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t *numInputTensors);

// How many output tensors a graph of a context binary has.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextGraphInfoNumOutputTensors(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t *numOutputTensors);

// How many updateable tensors a graph of a context binary has.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextGraphInfoNumUpdateableTensors(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t *numUpdateableTensors);

// Bytes of the graph blob info of a graph of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextGraphInfoGraphBlobInfoSize(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t *graphBlobInfoSize);

// Graph blob info of a graph of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextGraphInfoGraphBlobInfo(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, void **graphBlobInfo);

// Start op index of a graph of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextGraphInfoStartOpIndex(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t *startOpIndex);

// End op index of a graph of a context binary.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextGraphInfoEndOpIndex(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t *endOpIndex);

// Input tensor of a graph of a context binary, by its position.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextGraphInfoInputTensorInfo(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t index,
    QnnSystemDlc_TensorInfoHandle_t *tensorInfoHandle);

// Output tensor of a graph of a context binary, by its position.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextGraphInfoOutputTensorInfo(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t index,
    QnnSystemDlc_TensorInfoHandle_t *tensorInfoHandle);

// Updateable tensor of a graph of a context binary, by its position.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_getContextGraphInfoUpdateableTensorInfo(
    QnnSystemDlc_ContextGraphInfoHandle_t handle, uint32_t index,
    QnnSystemDlc_TensorInfoHandle_t *tensorInfoHandle);

// Frees a range of the mapped data of a record.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemDlc_freeRecordRange(
    QnnSystemDlc_RecordHandle_t recordHandle, uint64_t offset, uint64_t size);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_SYSTEM_DLC_H
