// SPDX-License-Identifier: MIT
//
// The public structs of the core API, member by member (types.h). Those of single backends are in
// custom.c.
#include "backend/saver/fields.h"

#include "Saver/QnnSaver.h"

// --- Quantisation

static uint32_t rank_of(const qrn_saver_writer *w) { return w->tensor ? w->tensor->rank : 0; }

static uint64_t count_rank(const qrn_saver_writer *w, const void *base) {
    (void)base;
    return rank_of(w);
}

// Number of blocks of a tensor with these block sizes.
static uint64_t count_blocks_of(const qrn_saver_writer *w, const uint32_t *block) {
    uint64_t n = w->tensor && block && w->tensor->dimensions ? 1 : 0;
    for (uint32_t i = 0; n && i < rank_of(w); i++)
        n *= block[i] ? (w->tensor->dimensions[i] + block[i] - 1) / block[i] : 0;
    return n;
}
static uint64_t count_blocks(const qrn_saver_writer *w, const void *base) {
    return count_blocks_of(w, ((const Qnn_BlockEncoding_t *)base)->blockSize);
}
static uint64_t count_mapped_blocks(const qrn_saver_writer *w, const void *base) {
    return count_blocks_of(w, ((const Qnn_BwBlockMapped_t *)base)->blockSize);
}
static uint64_t count_bw_float_blocks(const qrn_saver_writer *w, const void *base) {
    return count_blocks_of(w, ((const Qnn_BwFloatBlockEncoding_t *)base)->blockSize);
}
// Size of an axis of the tensor.
static uint64_t size_of(const qrn_saver_writer *w, int32_t axis) {
    bool has = w->tensor && w->tensor->dimensions && axis >= 0 && (uint32_t)axis < rank_of(w);
    return has ? w->tensor->dimensions[axis] : 0;
}
static uint64_t count_axis(const qrn_saver_writer *w, const void *base) {
    return size_of(w, ((const Qnn_BlockwiseExpansion_t *)base)->axis);
}
static uint64_t count_factors(const qrn_saver_writer *w, const void *base) {
    const Qnn_BlockwiseExpansion_t *x = base;
    return size_of(w, x->axis) * x->numBlocksPerAxis;
}
static uint64_t count_mapped_axis(const qrn_saver_writer *w, const void *base) {
    return size_of(w, ((const Qnn_BwBlockwiseExpansionMapped_t *)base)->axis);
}
static uint64_t count_mapped_factors(const qrn_saver_writer *w, const void *base) {
    const Qnn_BwBlockwiseExpansionMapped_t *x = base;
    return size_of(w, x->axis) * x->numBlocksPerAxis;
}

// clang-format off
PLAIN(scale_offset, Qnn_ScaleOffset_t,
    {F32(Qnn_ScaleOffset_t, scale)}, {I32(Qnn_ScaleOffset_t, offset)})
PLAIN(float_scale_offset, Qnn_FloatScaleOffset_t,
    {F32(Qnn_FloatScaleOffset_t, scale)}, {F32(Qnn_FloatScaleOffset_t, offset)})
PLAIN(bw_scale_offset, Qnn_BwScaleOffset_t,
    {U32(Qnn_BwScaleOffset_t, bitwidth)}, {F32(Qnn_BwScaleOffset_t, scale)},
    {I32(Qnn_BwScaleOffset_t, offset)})
STRUCT(axis_scale_offset, Qnn_AxisScaleOffset_t,
    {I32(Qnn_AxisScaleOffset_t, axis)}, {U32(Qnn_AxisScaleOffset_t, numScaleOffsets)},
    {MANY(Qnn_AxisScaleOffset_t, scaleOffset, scale_offset),
     COUNT(Qnn_AxisScaleOffset_t, numScaleOffsets)})
STRUCT(bw_axis_scale_offset, Qnn_BwAxisScaleOffset_t,
    {U32(Qnn_BwAxisScaleOffset_t, bitwidth)}, {I32(Qnn_BwAxisScaleOffset_t, axis)},
    {U32(Qnn_BwAxisScaleOffset_t, numElements)},
    {NUMBERS(Qnn_BwAxisScaleOffset_t, scales, F32, "float"),
     COUNT(Qnn_BwAxisScaleOffset_t, numElements)},
    {NUMBERS(Qnn_BwAxisScaleOffset_t, offsets, I32, "int32_t"),
     COUNT(Qnn_BwAxisScaleOffset_t, numElements)})
STRUCT(bw_axis_mapped, Qnn_BwAxisScaleOffsetMapped_t,
    {U32(Qnn_BwAxisScaleOffsetMapped_t, bitwidth)}, {I32(Qnn_BwAxisScaleOffsetMapped_t, axis)},
    {ENUM_OF(Qnn_BwAxisScaleOffsetMapped_t, mapping, Qnn_QuantizationEncodingMapping_t)},
    {U32(Qnn_BwAxisScaleOffsetMapped_t, numElements)},
    {NUMBERS(Qnn_BwAxisScaleOffsetMapped_t, scales, F32, "float"),
     COUNT(Qnn_BwAxisScaleOffsetMapped_t, numElements)},
    {NUMBERS(Qnn_BwAxisScaleOffsetMapped_t, offsets, I32, "int32_t"),
     COUNT(Qnn_BwAxisScaleOffsetMapped_t, numElements)})
STRUCT(block, Qnn_BlockEncoding_t,
    {NUMBERS(Qnn_BlockEncoding_t, blockSize, U32, "uint32_t"), .count = count_rank},
    {MANY(Qnn_BlockEncoding_t, scaleOffset, scale_offset), .count = count_blocks})
STRUCT(block_mapped, Qnn_BwBlockMapped_t,
    {U32(Qnn_BwBlockMapped_t, bitwidth)},
    {ENUM_OF(Qnn_BwBlockMapped_t, mapping, Qnn_QuantizationEncodingMapping_t)},
    {NUMBERS(Qnn_BwBlockMapped_t, blockSize, U32, "uint32_t"), .count = count_rank},
    {MANY(Qnn_BwBlockMapped_t, scaleOffset, scale_offset), .count = count_mapped_blocks})
STRUCT(float_block, Qnn_FloatBlockEncoding_t,
    {NUMBERS(Qnn_FloatBlockEncoding_t, blockSize, U32, "uint32_t"), .count = count_rank},
    {MANY(Qnn_FloatBlockEncoding_t, floatScaleOffset, float_scale_offset), .count = count_blocks})
STRUCT(bw_float_block, Qnn_BwFloatBlockEncoding_t,
    {U32(Qnn_BwFloatBlockEncoding_t, bitwidth)},
    {NUMBERS(Qnn_BwFloatBlockEncoding_t, blockSize, U32, "uint32_t"), .count = count_rank},
    {MANY(Qnn_BwFloatBlockEncoding_t, floatScaleOffset, float_scale_offset),
     .count = count_bw_float_blocks})
STRUCT(expansion, Qnn_BlockwiseExpansion_t,
    {I32(Qnn_BlockwiseExpansion_t, axis)},
    {MANY(Qnn_BlockwiseExpansion_t, scaleOffsets, scale_offset), .count = count_axis},
    {U32(Qnn_BlockwiseExpansion_t, numBlocksPerAxis)},
    {U32(Qnn_BlockwiseExpansion_t, blockScaleBitwidth)},
    {ENUM_OF(Qnn_BlockwiseExpansion_t, blockScaleStorageType,
             Qnn_BlockwiseExpansionBlockScaleStorageType_t)},
    {NUMBERS(Qnn_BlockwiseExpansion_t, blocksScale8, U8, "uint8_t"), .count = count_factors,
     WHEN(Qnn_BlockwiseExpansion_t, blockScaleStorageType,
          QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8)},
    {NUMBERS(Qnn_BlockwiseExpansion_t, blocksScale16, U16, "uint16_t"), .count = count_factors,
     WHEN(Qnn_BlockwiseExpansion_t, blockScaleStorageType,
          QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16)})
STRUCT(expansion_mapped, Qnn_BwBlockwiseExpansionMapped_t,
    {U32(Qnn_BwBlockwiseExpansionMapped_t, bitwidth)},
    {ENUM_OF(Qnn_BwBlockwiseExpansionMapped_t, mapping, Qnn_QuantizationEncodingMapping_t)},
    {I32(Qnn_BwBlockwiseExpansionMapped_t, axis)},
    {MANY(Qnn_BwBlockwiseExpansionMapped_t, scaleOffsets, scale_offset),
     .count = count_mapped_axis},
    {U32(Qnn_BwBlockwiseExpansionMapped_t, numBlocksPerAxis)},
    {U32(Qnn_BwBlockwiseExpansionMapped_t, blockScaleBitwidth)},
    {ENUM_OF(Qnn_BwBlockwiseExpansionMapped_t, blockScaleStorageType,
             Qnn_BlockwiseExpansionBlockScaleStorageType_t)},
    {NUMBERS(Qnn_BwBlockwiseExpansionMapped_t, blocksScale8, U8, "uint8_t"),
     .count = count_mapped_factors,
     WHEN(Qnn_BwBlockwiseExpansionMapped_t, blockScaleStorageType,
          QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8)},
    {NUMBERS(Qnn_BwBlockwiseExpansionMapped_t, blocksScale16, U16, "uint16_t"),
     .count = count_mapped_factors,
     WHEN(Qnn_BwBlockwiseExpansionMapped_t, blockScaleStorageType,
          QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16)})

// Codebooks, MX formats and arrays of encodings are refused by the core and never get here.
#define ENCODED(value) WHEN(Qnn_QuantizeParams_t, quantizationEncoding, value)
STRUCT(quantize_params, Qnn_QuantizeParams_t,
    {ENUM_OF(Qnn_QuantizeParams_t, encodingDefinition, Qnn_Definition_t)},
    {ENUM_OF(Qnn_QuantizeParams_t, quantizationEncoding, Qnn_QuantizationEncoding_t)},
    {EMBED(Qnn_QuantizeParams_t, scaleOffsetEncoding, scale_offset),
     ENCODED(QNN_QUANTIZATION_ENCODING_SCALE_OFFSET)},
    {EMBED(Qnn_QuantizeParams_t, axisScaleOffsetEncoding, axis_scale_offset),
     ENCODED(QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET)},
    {EMBED(Qnn_QuantizeParams_t, bwScaleOffsetEncoding, bw_scale_offset),
     ENCODED(QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET)},
    {EMBED(Qnn_QuantizeParams_t, bwAxisScaleOffsetEncoding, bw_axis_scale_offset),
     ENCODED(QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET)},
    {EMBED(Qnn_QuantizeParams_t, blockEncoding, block),
     ENCODED(QNN_QUANTIZATION_ENCODING_BLOCK)},
    {ONE(Qnn_QuantizeParams_t, blockwiseExpansion, expansion),
     ENCODED(QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION)},
    {EMBED(Qnn_QuantizeParams_t, floatBlockEncoding, float_block),
     ENCODED(QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK)},
    {ONE(Qnn_QuantizeParams_t, bwAxisScaleOffsetMappedEncoding, bw_axis_mapped),
     ENCODED(QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED)},
    {ONE(Qnn_QuantizeParams_t, bwBlockMappedEncoding, block_mapped),
     ENCODED(QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED)},
    {ONE(Qnn_QuantizeParams_t, bwBlockwiseExpansionMappedEncoding, expansion_mapped),
     ENCODED(QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED)},
    {EMBED(Qnn_QuantizeParams_t, bwFloatBlockEncoding, bw_float_block),
     ENCODED(QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK)})

// --- Tensors and ops

STRUCT(client_buf, Qnn_ClientBuffer_t,
    {BYTES(Qnn_ClientBuffer_t, data), COUNT(Qnn_ClientBuffer_t, dataSize)},
    {U32(Qnn_ClientBuffer_t, dataSize)})
PLAIN(hybrid_coo, Qnn_SparseLayoutHybridCoo_t,
    {U32(Qnn_SparseLayoutHybridCoo_t, numSpecifiedElements)},
    {U32(Qnn_SparseLayoutHybridCoo_t, numSparseDimensions)})
PLAIN(sparse_params, Qnn_SparseParams_t,
    {ENUM_OF(Qnn_SparseParams_t, type, Qnn_SparseLayoutType_t)},
    {EMBED(Qnn_SparseParams_t, hybridCoo, hybrid_coo),
     WHEN(Qnn_SparseParams_t, type, QNN_SPARSE_LAYOUT_HYBRID_COO)})

#define TENSOR(T)                                                                                  \
    {.name = "id", .offset = offsetof(T, id), .kind = QRN_SAVED_ID},                               \
    {STRING(T, name)}, {ENUM_OF(T, type, Qnn_TensorType_t)}, {U32(T, dataFormat)},                 \
    {ENUM_OF(T, dataType, Qnn_DataType_t)}, {EMBED(T, quantizeParams, quantize_params)},           \
    {U32(T, rank)},                                                                                \
    {NUMBERS(T, dimensions, U32, "uint32_t"), COUNT(T, rank)},                                     \
    {ENUM_OF(T, memType, Qnn_TensorMemType_t)},                                                    \
    {EMBED(T, clientBuf, client_buf), WHEN(T, memType, QNN_TENSORMEMTYPE_RAW)},                    \
    {HANDLE(T, memHandle, MEM), WHEN(T, memType, QNN_TENSORMEMTYPE_MEMHANDLE)}
STRUCT_TENSOR(tensor_v1, Qnn_TensorV1_t, TENSOR(Qnn_TensorV1_t))
STRUCT_TENSOR(tensor_v2, Qnn_TensorV2_t, TENSOR(Qnn_TensorV2_t),
    {AT(Qnn_TensorV2_t, retrieveRaw), .kind = QRN_SAVED_RAW,
     WHEN(Qnn_TensorV2_t, memType, QNN_TENSORMEMTYPE_RETRIEVE_RAW)},
    {NUMBERS(Qnn_TensorV2_t, isDynamicDimensions, U8, "uint8_t"), COUNT(Qnn_TensorV2_t, rank)},
    {EMBED(Qnn_TensorV2_t, sparseParams, sparse_params)}, {U8(Qnn_TensorV2_t, isProduced)})
STRUCT_OUT(tensor, Qnn_Tensor_t,
    {ENUM_OF(Qnn_Tensor_t, version, Qnn_TensorVersion_t)},
    {EMBED(Qnn_Tensor_t, v1, tensor_v1), WHEN(Qnn_Tensor_t, version, QNN_TENSOR_VERSION_1)},
    {EMBED(Qnn_Tensor_t, v2, tensor_v2), WHEN(Qnn_Tensor_t, version, QNN_TENSOR_VERSION_2)})

#define SCALAR(member, KIND, value)                                                                \
    {KIND(Qnn_Scalar_t, member), WHEN(Qnn_Scalar_t, dataType, value)}
STRUCT_OUT(scalar, Qnn_Scalar_t,
    {ENUM_OF(Qnn_Scalar_t, dataType, Qnn_DataType_t)},
    SCALAR(floatValue, F32, QNN_DATATYPE_FLOAT_32), SCALAR(doubleValue, F64, QNN_DATATYPE_FLOAT_64),
    SCALAR(bfloat16Value, I16, QNN_DATATYPE_BFLOAT_16),
    SCALAR(int8Value, I8, QNN_DATATYPE_INT_8), SCALAR(int16Value, I16, QNN_DATATYPE_INT_16),
    SCALAR(int32Value, I32, QNN_DATATYPE_INT_32), SCALAR(int64Value, I64, QNN_DATATYPE_INT_64),
    SCALAR(uint8Value, U8, QNN_DATATYPE_UINT_8), SCALAR(uint16Value, U16, QNN_DATATYPE_UINT_16),
    SCALAR(uint32Value, U32, QNN_DATATYPE_UINT_32), SCALAR(uint64Value, U64, QNN_DATATYPE_UINT_64),
    SCALAR(bool8Value, U8, QNN_DATATYPE_BOOL_8), SCALAR(stringValue, STRING, QNN_DATATYPE_STRING),
    SCALAR(int8Value, I8, QNN_DATATYPE_SFIXED_POINT_8),
    SCALAR(int16Value, I16, QNN_DATATYPE_SFIXED_POINT_16),
    SCALAR(int32Value, I32, QNN_DATATYPE_SFIXED_POINT_32),
    SCALAR(uint8Value, U8, QNN_DATATYPE_UFIXED_POINT_8),
    SCALAR(uint16Value, U16, QNN_DATATYPE_UFIXED_POINT_16),
    SCALAR(uint32Value, U32, QNN_DATATYPE_UFIXED_POINT_32))
STRUCT(param, Qnn_Param_t,
    {ENUM_OF(Qnn_Param_t, paramType, Qnn_ParamType_t)}, {STRING(Qnn_Param_t, name)},
    {EMBED(Qnn_Param_t, scalarParam, scalar), WHEN(Qnn_Param_t, paramType, QNN_PARAMTYPE_SCALAR)},
    {EMBED(Qnn_Param_t, tensorParam, tensor), WHEN(Qnn_Param_t, paramType, QNN_PARAMTYPE_TENSOR)})
STRUCT(op_config_v1, Qnn_OpConfigV1_t,
    {STRING(Qnn_OpConfigV1_t, name)}, {STRING(Qnn_OpConfigV1_t, packageName)},
    {STRING(Qnn_OpConfigV1_t, typeName)}, {U32(Qnn_OpConfigV1_t, numOfParams)},
    {MANY(Qnn_OpConfigV1_t, params, param), COUNT(Qnn_OpConfigV1_t, numOfParams)},
    {U32(Qnn_OpConfigV1_t, numOfInputs)},
    {MANY(Qnn_OpConfigV1_t, inputTensors, tensor), COUNT(Qnn_OpConfigV1_t, numOfInputs)},
    {U32(Qnn_OpConfigV1_t, numOfOutputs)},
    {MANY(Qnn_OpConfigV1_t, outputTensors, tensor), COUNT(Qnn_OpConfigV1_t, numOfOutputs)})
STRUCT_OUT(op_config, Qnn_OpConfig_t,
    {ENUM_OF(Qnn_OpConfig_t, version, Qnn_OpConfigVersion_t)},
    {EMBED(Qnn_OpConfig_t, v1, op_config_v1), WHEN(Qnn_OpConfig_t, version,
                                                   QNN_OPCONFIG_VERSION_1)})
STRUCT(tensor_set_v1, Qnn_TensorSetV1_t,
    {U32(Qnn_TensorSetV1_t, numInputs)},
    {MANY(Qnn_TensorSetV1_t, inputs, tensor), COUNT(Qnn_TensorSetV1_t, numInputs)},
    {U32(Qnn_TensorSetV1_t, numOutputs)},
    {MANY(Qnn_TensorSetV1_t, outputs, tensor), COUNT(Qnn_TensorSetV1_t, numOutputs)})
STRUCT(tensor_set, Qnn_TensorSet_t,
    {ENUM_OF(Qnn_TensorSet_t, version, Qnn_TensorSetVersion_t)},
    {EMBED(Qnn_TensorSet_t, v1, tensor_set_v1), WHEN(Qnn_TensorSet_t, version,
                                                     QNN_TENSOR_SET_VERSION_1)})
STRUCT_OUT(environment, QnnGraph_ExecuteEnvironment_t,
    {ENUM_OF(QnnGraph_ExecuteEnvironment_t, option, QnnGraph_ExecuteEnvironmentOption_t)},
    {EMBED(QnnGraph_ExecuteEnvironment_t, tensorSet, tensor_set)})

// --- Options

PLAIN(error_reporting, Qnn_ErrorReportingConfig_t,
    {ENUM_OF(Qnn_ErrorReportingConfig_t, reportingLevel, Qnn_ErrorReportingLevel_t)},
    {U32(Qnn_ErrorReportingConfig_t, storageLimit)})
STRUCT_OUT(backend_config, QnnBackend_Config_t,
    {ENUM_OF(QnnBackend_Config_t, option, QnnBackend_ConfigOption_t)},
    {CUSTOM(QnnBackend_Config_t, customConfig, BACKEND),
     WHEN(QnnBackend_Config_t, option, QNN_BACKEND_CONFIG_OPTION_CUSTOM)},
    {EMBED(QnnBackend_Config_t, errorConfig, error_reporting),
     WHEN(QnnBackend_Config_t, option, QNN_BACKEND_CONFIG_OPTION_ERROR_REPORTING)},
    {STRING(QnnBackend_Config_t, platformOption),
     WHEN(QnnBackend_Config_t, option, QNN_BACKEND_CONFIG_OPTION_PLATFORM)})
PLAIN(queue_depth, QnnContext_AsyncExecutionQueueDepth_t,
    {ENUM_OF(QnnContext_AsyncExecutionQueueDepth_t, type,
             QnnContext_AsyncExecutionQueueDepthType_t)},
    {U32(QnnContext_AsyncExecutionQueueDepth_t, depth)})
#define CONTEXT_WHEN(value) WHEN(QnnContext_Config_t, option, value)
STRUCT_OUT(context_config, QnnContext_Config_t,
    {ENUM_OF(QnnContext_Config_t, option, QnnContext_ConfigOption_t)},
    {CUSTOM(QnnContext_Config_t, customConfig, CONTEXT),
     CONTEXT_WHEN(QNN_CONTEXT_CONFIG_OPTION_CUSTOM)},
    {ENUM_OF(QnnContext_Config_t, priority, Qnn_Priority_t),
     CONTEXT_WHEN(QNN_CONTEXT_CONFIG_OPTION_PRIORITY)},
    {EMBED(QnnContext_Config_t, errorConfig, error_reporting),
     CONTEXT_WHEN(QNN_CONTEXT_CONFIG_OPTION_ERROR_REPORTING)},
    {STRING(QnnContext_Config_t, oemString), CONTEXT_WHEN(QNN_CONTEXT_CONFIG_OPTION_OEM_STRING)},
    {EMBED(QnnContext_Config_t, asyncExeQueueDepth, queue_depth),
     CONTEXT_WHEN(QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH)},
    {STRINGS(QnnContext_Config_t, enableGraphs), CONTEXT_WHEN(QNN_CONTEXT_CONFIG_ENABLE_GRAPHS)},
    {U64(QnnContext_Config_t, memoryLimitHint), CONTEXT_WHEN(QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT)},
    {U8(QnnContext_Config_t, isPersistentBinary),
     CONTEXT_WHEN(QNN_CONTEXT_CONFIG_PERSISTENT_BINARY)},
    {ENUM_OF(QnnContext_Config_t, binaryCompatibilityType, QnnContext_BinaryCompatibilityType_t),
     CONTEXT_WHEN(QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY)},
    {U8(QnnContext_Config_t, isGraphInitDeferred),
     CONTEXT_WHEN(QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT)},
    {STRINGS(QnnContext_Config_t, graphRetentionOrder),
     CONTEXT_WHEN(QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER)})
#define GRAPH_WHEN(value) WHEN(QnnGraph_Config_t, option, value)
STRUCT_OUT(graph_config, QnnGraph_Config_t,
    {ENUM_OF(QnnGraph_Config_t, option, QnnGraph_ConfigOption_t)},
    {CUSTOM(QnnGraph_Config_t, customConfig, GRAPH), GRAPH_WHEN(QNN_GRAPH_CONFIG_OPTION_CUSTOM)},
    {ENUM_OF(QnnGraph_Config_t, priority, Qnn_Priority_t),
     GRAPH_WHEN(QNN_GRAPH_CONFIG_OPTION_PRIORITY)},
    {HANDLE(QnnGraph_Config_t, profileHandle, PROFILE),
     GRAPH_WHEN(QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE)},
    {ENUM_OF(QnnGraph_Config_t, profilingState, QnnGraph_ProfilingState_t),
     GRAPH_WHEN(QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_STATE)},
    {U32(QnnGraph_Config_t, numProfilingExecutions),
     GRAPH_WHEN(QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_NUM_EXECUTIONS)},
    {U8(QnnGraph_Config_t, enableBinarySectionWeightsUpdates),
     GRAPH_WHEN(QNN_GRAPH_CONFIG_OPTION_ENABLE_BINARY_SECTION_WEIGHTS_UPDATES)})

STRUCT(core_info_v1, QnnDevice_CoreInfoV1_t,
    {U32(QnnDevice_CoreInfoV1_t, coreId)}, {U32(QnnDevice_CoreInfoV1_t, coreType)})
STRUCT(core_info, QnnDevice_CoreInfo_t,
    {ENUM_OF(QnnDevice_CoreInfo_t, version, QnnDevice_CoreInfoVersion_t)},
    {EMBED(QnnDevice_CoreInfo_t, v1, core_info_v1),
     WHEN(QnnDevice_CoreInfo_t, version, QNN_DEVICE_CORE_INFO_VERSION_1)})
STRUCT(hardware_v1, QnnDevice_HardwareDeviceInfoV1_t,
    {U32(QnnDevice_HardwareDeviceInfoV1_t, deviceId)},
    {U32(QnnDevice_HardwareDeviceInfoV1_t, deviceType)},
    {U32(QnnDevice_HardwareDeviceInfoV1_t, numCores)},
    {MANY(QnnDevice_HardwareDeviceInfoV1_t, cores, core_info),
     COUNT(QnnDevice_HardwareDeviceInfoV1_t, numCores)},
    {CUSTOM(QnnDevice_HardwareDeviceInfoV1_t, deviceInfoExtension, INFO)})
STRUCT(hardware, QnnDevice_HardwareDeviceInfo_t,
    {ENUM_OF(QnnDevice_HardwareDeviceInfo_t, version, QnnDevice_HardwareDeviceInfoVersion_t)},
    {EMBED(QnnDevice_HardwareDeviceInfo_t, v1, hardware_v1),
     WHEN(QnnDevice_HardwareDeviceInfo_t, version, QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1)})
STRUCT(platform_v1, QnnDevice_PlatformInfoV1_t,
    {U32(QnnDevice_PlatformInfoV1_t, numHwDevices)},
    {MANY(QnnDevice_PlatformInfoV1_t, hwDevices, hardware),
     COUNT(QnnDevice_PlatformInfoV1_t, numHwDevices)})
STRUCT(platform, QnnDevice_PlatformInfo_t,
    {ENUM_OF(QnnDevice_PlatformInfo_t, version, QnnDevice_PlatformInfoVersion_t)},
    {EMBED(QnnDevice_PlatformInfo_t, v1, platform_v1),
     WHEN(QnnDevice_PlatformInfo_t, version, QNN_DEVICE_PLATFORM_INFO_VERSION_1)})
STRUCT_OUT(device_config, QnnDevice_Config_t,
    {ENUM_OF(QnnDevice_Config_t, option, QnnDevice_ConfigOption_t)},
    {CUSTOM(QnnDevice_Config_t, customConfig, DEVICE),
     WHEN(QnnDevice_Config_t, option, QNN_DEVICE_CONFIG_OPTION_CUSTOM)},
    {ONE(QnnDevice_Config_t, hardwareInfo, platform),
     WHEN(QnnDevice_Config_t, option, QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO)})
STRUCT_OUT(profile_config, QnnProfile_Config_t,
    {ENUM_OF(QnnProfile_Config_t, option, QnnProfile_ConfigOption_t)},
    {CUSTOM(QnnProfile_Config_t, customConfig, OTHER),
     WHEN(QnnProfile_Config_t, option, QNN_PROFILE_CONFIG_OPTION_CUSTOM)},
    {U64(QnnProfile_Config_t, numMaxEvents),
     WHEN(QnnProfile_Config_t, option, QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS)},
    {U8(QnnProfile_Config_t, enableOptrace),
     WHEN(QnnProfile_Config_t, option, QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE)})
STRUCT_OUT(signal_config, QnnSignal_Config_t,
    {ENUM_OF(QnnSignal_Config_t, option, QnnSignal_ConfigOption_t)},
    {CUSTOM(QnnSignal_Config_t, customConfig, OTHER),
     WHEN(QnnSignal_Config_t, option, QNN_SIGNAL_CONFIG_OPTION_CUSTOM)},
    {U64(QnnSignal_Config_t, timeoutDurationUs),
     WHEN(QnnSignal_Config_t, option, QNN_SIGNAL_CONFIG_OPTION_TIMEOUT)})
STRUCT_OUT(global_config, QnnGlobalConfig_t,
    {ENUM_OF(QnnGlobalConfig_t, option, QnnGlobalConfig_ConfigOption_t)},
    {U32(QnnGlobalConfig_t, socModel),
     WHEN(QnnGlobalConfig_t, option, QNN_GLOBAL_CONFIG_OPTION_SOC_MODEL)})
// Properties and options of validation have custom parts only, and nobody's are described.
STRUCT_OUT(backend_property, QnnBackend_Property_t,
    {ENUM_OF(QnnBackend_Property_t, option, QnnBackend_PropertyOption_t)},
    {CUSTOM(QnnBackend_Property_t, customProperty, OTHER),
     WHEN(QnnBackend_Property_t, option, QNN_BACKEND_PROPERTY_OPTION_CUSTOM)})
STRUCT_OUT(context_property, QnnContext_Property_t,
    {ENUM_OF(QnnContext_Property_t, option, QnnContext_PropertyOption_t)},
    {CUSTOM(QnnContext_Property_t, customProperty, OTHER),
     WHEN(QnnContext_Property_t, option, QNN_CONTEXT_PROPERTY_OPTION_CUSTOM)})
STRUCT_OUT(graph_property, QnnGraph_Property_t,
    {ENUM_OF(QnnGraph_Property_t, option, QnnGraph_PropertyOption_t)},
    {CUSTOM(QnnGraph_Property_t, customProperty, OTHER),
     WHEN(QnnGraph_Property_t, option, QNN_GRAPH_PROPERTY_OPTION_CUSTOM)})
STRUCT_OUT(validate_config, QnnGraph_ValidateConfig_t,
    {U32(QnnGraph_ValidateConfig_t, option)},
    {CUSTOM(QnnGraph_ValidateConfig_t, customConfig, OTHER),
     WHEN(QnnGraph_ValidateConfig_t, option, QNN_GRAPH_VALIDATE_OPTION_CUSTOM)})

// --- Binaries and memory

STRUCT(binary_buffer, Qnn_BinaryBuffer_t,
    {BYTES(Qnn_BinaryBuffer_t, data), COUNT64(Qnn_BinaryBuffer_t, dataSize)},
    {U64(Qnn_BinaryBuffer_t, dataSize)})
STRUCT(buffer_v1, QnnContext_BufferV1_t,
    {ENUM_OF(QnnContext_BufferV1_t, memType, QnnContext_MemType_t)},
    {EMBED(QnnContext_BufferV1_t, binaryBuf, binary_buffer),
     WHEN(QnnContext_BufferV1_t, memType, QNN_CONTEXTMEMTYPE_RAW)},
    {HANDLE(QnnContext_BufferV1_t, memHandle, MEM),
     WHEN(QnnContext_BufferV1_t, memType, QNN_CONTEXTMEMTYPE_MEMHANDLE)})
STRUCT_OUT(buffer, QnnContext_Buffer_t,
    {ENUM_OF(QnnContext_Buffer_t, version, QnnContext_BufferVersion_t)},
    {EMBED(QnnContext_Buffer_t, v1, buffer_v1),
     WHEN(QnnContext_Buffer_t, version, QNN_CONTEXT_BUFFER_VERSION_1)})
STRUCT(mem_shape, Qnn_MemShape_t,
    {U32(Qnn_MemShape_t, numDim)},
    {NUMBERS(Qnn_MemShape_t, dimSize, U32, "uint32_t"), COUNT(Qnn_MemShape_t, numDim)},
    {STRING(Qnn_MemShape_t, shapeConfig)})
STRUCT(ion_info, Qnn_MemIonInfo_t, {AT(Qnn_MemIonInfo_t, fd), .kind = QRN_SAVED_FD})
STRUCT(dma_info, Qnn_MemDmaBufInfo_t, {AT(Qnn_MemDmaBufInfo_t, fd), .kind = QRN_SAVED_FD})
STRUCT_OUT(mem, Qnn_MemDescriptor_t,
    {EMBED(Qnn_MemDescriptor_t, memShape, mem_shape)},
    {ENUM_OF(Qnn_MemDescriptor_t, dataType, Qnn_DataType_t)},
    {ENUM_OF(Qnn_MemDescriptor_t, memType, Qnn_MemType_t)},
    {EMBED(Qnn_MemDescriptor_t, ionInfo, ion_info),
     WHEN(Qnn_MemDescriptor_t, memType, QNN_MEM_TYPE_ION)},
    {AT(Qnn_MemDescriptor_t, customInfo), .kind = QRN_SAVED_MEM_INFO, .object = QRN_OPTION_MEM,
     WHEN(Qnn_MemDescriptor_t, memType, QNN_MEM_TYPE_CUSTOM)},
    {EMBED(Qnn_MemDescriptor_t, dmaBufInfo, dma_info),
     WHEN(Qnn_MemDescriptor_t, memType, QNN_MEM_TYPE_DMA_BUF)})
// clang-format on

const qrn_saved_enum qrn_enum_log_level = {"QnnLog_Level_t", values_QnnLog_Level_t,
                                           sizeof values_QnnLog_Level_t /
                                               sizeof values_QnnLog_Level_t[0]};
const qrn_saved_enum qrn_enum_section = {
    "QnnContext_SectionType_t", values_QnnContext_SectionType_t,
    sizeof values_QnnContext_SectionType_t / sizeof values_QnnContext_SectionType_t[0]};
