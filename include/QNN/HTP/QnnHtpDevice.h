// SPDX-License-Identifier: MIT
//
// HTP backend: device facts and infrastructure. Not to be included together with the GPU device
// header.

#ifndef QNN_HTP_DEVICE_H
#define QNN_HTP_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnDevice.h"
#include "QnnHtpDeviceConfigShared.h"
#include "QnnHtpPerfInfrastructure.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// Kind of core.
typedef enum {
    QNN_HTP_CORE_TYPE_NSP = 0,
    QNN_HTP_CORE_TYPE_HPASS = 1,
    QNN_HTP_CORE_TYPE_MAX = 2,
    QNN_HTP_CORE_TYPE_UNKNOWN = 0x7FFFFFFF,
} QnnHtpDevice_CoreType_t;

// Facts about an NPU on the SoC.
typedef struct {
    size_t vtcmSize;          // MB
    uint32_t socModel;        // Qnn_SocModel_t
    bool signedPdSupport;     // a signed process domain is possible
    bool dlbcSupport;         // compression of data on the way to memory
    QnnHtpDevice_Arch_t arch; // architecture
} QnnHtpDevice_OnChipDeviceInfoExtension_t;

// Kind of device.
typedef enum {
    QNN_HTP_DEVICE_TYPE_ON_CHIP = 0,
    QNN_HTP_DEVICE_TYPE_OFF_CHIP = 1,
    QNN_HTP_DEVICE_TYPE_UNKNOWN = 0x7FFFFFFF,
} QnnHtpDevice_DeviceType_t;

// Facts about a device; QnnDevice_HardwareDeviceInfoV1_t points to it.
typedef struct _QnnDevice_DeviceInfoExtension_t {
    QnnHtpDevice_DeviceType_t devType; // selects the union member
    union UNNAMED {
        QnnHtpDevice_OnChipDeviceInfoExtension_t onChipDevice; // ON_CHIP
    };
} QnnHtpDevice_DeviceInfoExtension_t;

// Functions for power votes.
typedef struct {
    QnnHtpPerfInfrastructure_CreatePowerConfigIdFn_t createPowerConfigId;   // first of all
    QnnHtpPerfInfrastructure_DestroyPowerConfigIdFn_t destroyPowerConfigId; // last of all
    QnnHtpPerfInfrastructure_SetPowerConfigFn_t setPowerConfig;             // vote
    QnnHtpPerfInfrastructure_SetMemoryConfigFn_t setMemoryConfig;           // memory options
} QnnHtpDevice_PerfInfrastructure_t;

// Kind of infrastructure.
typedef enum {
    QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_PERF = 0,
    QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_UNKNOWN = 0x7FFFFFFF,
} QnnHtpDevice_InfrastructureType_t;

// What QnnDevice_getInfrastructure hands out.
typedef struct _QnnDevice_Infrastructure_t {
    QnnHtpDevice_InfrastructureType_t infraType; // selects the union member
    union UNNAMED {
        QnnHtpDevice_PerfInfrastructure_t perfInfra; // PERF
    };
} QnnHtpDevice_Infrastructure_t;

// Initial values: everything unset.
// clang-format off
#define QNN_HTP_DEVICE_PERF_INFRASTRUCTURE_INIT {NULL, NULL, NULL, NULL}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_HTP_DEVICE_H
