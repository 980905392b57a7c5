// SPDX-License-Identifier: MIT
//
// HTP backend: custom configuration of a device.

#ifndef QNN_HTP_DEVICE_CONFIG_SHARED_H
#define QNN_HTP_DEVICE_CONFIG_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "QnnCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// Architecture of the NPU; the number is the one in its name.
typedef enum {
    QNN_HTP_DEVICE_ARCH_NONE = 0,
    QNN_HTP_DEVICE_ARCH_V68 = 68,
    QNN_HTP_DEVICE_ARCH_V69 = 69,
    QNN_HTP_DEVICE_ARCH_V73 = 73,
    QNN_HTP_DEVICE_ARCH_V75 = 75,
    QNN_HTP_DEVICE_ARCH_V79 = 79,
    QNN_HTP_DEVICE_ARCH_V81 = 81,
    QNN_HTP_DEVICE_ARCH_V85 = 85,
    QNN_HTP_DEVICE_ARCH_V89 = 89,
    QNN_HTP_DEVICE_ARCH_UNKNOWN = 0x7FFFFFFF,
} QnnHtpDevice_Arch_t;

// Least architecture.
typedef struct {
    uint32_t deviceId;        // which device
    QnnHtpDevice_Arch_t arch; // architecture
} QnnHtpDevice_Minimum_Arch_t;

// Run in a signed process domain.
typedef struct {
    uint32_t deviceId;           // which device
    bool useSignedProcessDomain; // whether to
} QnnHtpDevice_UseSignedProcessDomain_t;

// Run in a secure process domain; retired.
typedef struct {
    uint32_t deviceId;           // which device
    bool useSecureProcessDomain; // whether to
} QnnHtpDevice_UseSecureProcessDomain_t;

// Asynchronous execution on the device.
typedef struct {
    uint32_t deviceId;       // which device
    bool enableAsyncExecute; // whether to
} QnnHtpDevice_AsyncExecute_t;

// Share of the device that changes at run time.
typedef struct {
    uint32_t deviceId;           // which device
    bool useDynamicPartitioning; // whether to
    void *rsmHandle;             // handle of the resource manager, or NULL
} QnnHtpDevice_UseDynamicPartitioning_t;

// Custom options of a device.
typedef enum {
    QNN_HTP_DEVICE_CONFIG_OPTION_SOC = 0,
    QNN_HTP_DEVICE_CONFIG_OPTION_ARCH = 1,
    QNN_HTP_DEVICE_CONFIG_OPTION_SIGNEDPD = 2,
    QNN_HTP_DEVICE_CONFIG_OPTION_SECUREPD = 3, // retired
    QNN_HTP_DEVICE_CONFIG_OPTION_ASYNC_EXECUTE = 4,
    QNN_HTP_DEVICE_CONFIG_OPTION_DYNAMIC_PARTITIONING = 5,
    QNN_HTP_DEVICE_CONFIG_OPTION_APP_UID = 6,
    QNN_HTP_DEVICE_CONFIG_OPTION_HTP_EXTENSION = 0x7FFF0000, // reserved
    QNN_HTP_DEVICE_CONFIG_OPTION_UNKNOWN = 0x7FFFFFFF,
} QnnHtpDevice_ConfigOption_t;

// One custom option.
typedef struct {
    QnnHtpDevice_ConfigOption_t option; // selects the union member
    union UNNAMED {
        uint32_t socModel;                                            // SOC: Qnn_SocModel_t
        QnnHtpDevice_Minimum_Arch_t arch;                             // ARCH
        QnnHtpDevice_UseSignedProcessDomain_t useSignedProcessDomain; // SIGNEDPD
        QnnHtpDevice_UseSecureProcessDomain_t useSecureProcessDomain; // SECUREPD
        QnnHtpDevice_AsyncExecute_t asyncExecute;                     // ASYNC_EXECUTE
        QnnHtpDevice_UseDynamicPartitioning_t useDynamicPartitioning; // DYNAMIC_PARTITIONING
        uint32_t appUid; // APP_UID: user id of the application
    };
} QnnHtpDevice_CustomConfig_t;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_HTP_DEVICE_CONFIG_SHARED_H
