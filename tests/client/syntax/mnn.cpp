// SPDX-License-Identifier: MIT
//
// What MNN's QNN backend writes in C++ with these headers; compiled, never run. The calls
// themselves are in test_mnn_calls.c.
#include "HTP/QnnHtpDevice.h"
#include "HTP/QnnHtpGraph.h"
#include "QnnCommon.h"
#include "QnnInterface.h"
#include "QnnLog.h"
#include "QnnOpDef.h"
#include "QnnTypes.h"
#include "System/QnnSystemInterface.h"

#include <map>

// Tables of function pointers by value, empty at first.
struct Context {
    QNN_INTERFACE_VER_TYPE qnn{};
    QNN_SYSTEM_INTERFACE_VER_TYPE system{};
    Qnn_LogHandle_t log = nullptr;
    QnnHtpGraph_CustomConfig_t custom{};
    QnnGraph_Config_t config{};
    const QnnContext_Config_t **contextConfig = nullptr;
    QnnHtpDevice_Arch_t arch = QNN_HTP_DEVICE_ARCH_NONE;
};

// Designated initialisers, a union without a name among them.
QnnHtpPerfInfrastructure_PowerConfig_t burst(uint32_t id) {
    return {
        .option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3,
        .dcvsV3Config =
            {
                .contextId = id,
                .setDcvsEnable = 1,
                .dcvsEnable = 0,
                .powerMode = QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_PERFORMANCE_MODE,
                .setSleepLatency = 1,
                .sleepLatency = 40,
                .setSleepDisable = 1,
                .sleepDisable = 1,
                .setBusParams = 1,
                .busVoltageCornerMin = DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER,
                .busVoltageCornerTarget = DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER,
                .busVoltageCornerMax = DCVS_VOLTAGE_VCORNER_TURBO,
                .setCoreParams = 1,
                .coreVoltageCornerMin = DCVS_VOLTAGE_VCORNER_TURBO,
                .coreVoltageCornerTarget = DCVS_VOLTAGE_VCORNER_TURBO,
                .coreVoltageCornerMax = DCVS_VOLTAGE_VCORNER_TURBO,
            },
    };
}

Qnn_QuantizeParams_t undefined_encoding() {
    return Qnn_QuantizeParams_t{QNN_DEFINITION_UNDEFINED,
                                QNN_QUANTIZATION_ENCODING_UNDEFINED,
                                {.scaleOffsetEncoding = {.scale = 0.0f, .offset = 0}}};
}

// Positions, without names.
Qnn_MemDescriptor_t shared_memory(Qnn_Tensor_t *t, int fd) {
    Qnn_MemDescriptor_t d = {
        {t->v1.rank, t->v1.dimensions, nullptr}, t->v1.dataType, QNN_MEM_TYPE_ION, {{-1}}};
    d.ionInfo.fd = fd;
    return d;
}

Qnn_ClientBuffer_t buffer(void *data, size_t size) { return {data, (uint32_t)size}; }

// The extension of the device and of its infrastructure, without a cast and with one.
uint32_t chip(const QnnDevice_PlatformInfo_t *info, QnnDevice_Infrastructure_t infra) {
    QnnDevice_HardwareDeviceInfo_t *device = info->v1.hwDevices;
    QnnHtpDevice_Infrastructure_t *htp = static_cast<QnnHtpDevice_Infrastructure_t *>(infra);
    QnnHtpDevice_PerfInfrastructure_t perf = htp->perfInfra;
    uint32_t id = 0;
    if (perf.createPowerConfigId(0, 0, &id) != QNN_SUCCESS)
        return 0;
    return device->v1.deviceInfoExtension->onChipDevice.socModel +
           (uint32_t)device->v1.deviceInfoExtension->onChipDevice.arch;
}

const std::map<Qnn_DataType_t, uint32_t> type_sizes = {
    {QNN_DATATYPE_FLOAT_16, 2},        {QNN_DATATYPE_FLOAT_64, 8},
    {QNN_DATATYPE_BOOL_8, 1},          {QNN_DATATYPE_SFIXED_POINT_32, 4},
    {QNN_DATATYPE_UFIXED_POINT_16, 2}, {QNN_DATATYPE_UFIXED_POINT_32, 4},
};

Qnn_BlockwiseExpansion_t blocks(Qnn_ScaleOffset_t *scales, uint8_t *block_scales) {
    Qnn_BlockwiseExpansion_t b{};
    b.axis = 3;
    b.scaleOffsets = scales;
    b.numBlocksPerAxis = 2;
    b.blockScaleBitwidth = 4;
    b.blockScaleStorageType = QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8;
    b.blocksScale8 = block_scales;
    return b;
}

Qnn_BwAxisScaleOffset_t four_bits(float *scales, uint32_t n) {
    Qnn_BwAxisScaleOffset_t b{};
    b.bitwidth = 4;
    b.axis = 3;
    b.numElements = n;
    b.scales = scales;
    return b;
}

template <typename T> uint32_t count(const T &info) { return info.graphs ? info.numGraphs : 0; }

uint32_t graphs(const QnnSystemContext_BinaryInfo_t *info) {
    switch (info->version) {
    case QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_1:
        return count(info->contextBinaryInfoV1);
    case QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_2:
        return count(info->contextBinaryInfoV2);
    case QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3:
        return count(info->contextBinaryInfoV3);
    default:
        return 0;
    }
}

extern const char *const resize[];
const char *const resize[] = {
    QNN_OP_RESIZE_BILINEAR,
    QNN_OP_RESIZE_BILINEAR_PARAM_ALIGN_CORNERS,
    QNN_OP_RESIZE_BILINEAR_PARAM_HALF_PIXEL_CENTERS,
    QNN_OP_RESIZE_BILINEAR_PARAM_ANTIALIAS,
    QNN_OP_RESIZE_NEAREST_NEIGHBOR,
    QNN_OP_RESIZE_NEAREST_NEIGHBOR_PARAM_ALIGN_CORNERS,
    QNN_OP_RESIZE_NEAREST_NEIGHBOR_PARAM_HALF_PIXEL_CENTERS,
};
extern const uint32_t resize_modes[];
const uint32_t resize_modes[] = {
    QNN_OP_RESIZE_INTERPOLATION_MODE_CUBIC,
    QNN_OP_RESIZE_TRANSFORMATION_MODE_ALIGN_CORNERS,
    QNN_OP_RESIZE_TRANSFORMATION_MODE_ASYMMETRIC,
    QNN_OP_RESIZE_TRANSFORMATION_MODE_HALF_PIXEL,
};
