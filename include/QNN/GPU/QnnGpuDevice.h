// SPDX-License-Identifier: MIT
//
// GPU backend: device facts. Not to be included together with the HTP device header.

#ifndef QNN_GPU_DEVICE_H
#define QNN_GPU_DEVICE_H

#include <stddef.h>

#include "QnnCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// Kind of device.
typedef enum {
    QNN_GPU_DEVICE_PRIMARY_GPU = 0,
    QNN_GPU_DEVICE_SECONDARY_GPU = 1,
    QNN_GPU_DEVICE_GPU_TYPE_UNDEFINED = 0x7FFFFFFF,
} QnnGpuDevice_DeviceType_t;

// Facts about a GPU.
typedef struct {
    const char *adrenoTier; // name of the tier
} QnnGpuDevice_DeviceInfoExtensionV1_t;

// Version of QnnGpuDevice_DeviceInfoExtension_t.
typedef enum {
    QNN_GPU_DEVICE_INFO_EXTENSION_V1 = 0,
    QNN_GPU_DEVICE_INFO_EXTENSION_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnGpuDevice_DeviceInfoExtensionConfigOption_t;

// Facts about a GPU, versioned.
typedef struct _QnnDevice_DeviceInfoExtension_t {
    QnnGpuDevice_DeviceInfoExtensionConfigOption_t option; // selects the union member
    union UNNAMED {
        QnnGpuDevice_DeviceInfoExtensionV1_t deviceInfoV1; // V1
    };
} QnnGpuDevice_DeviceInfoExtension_t;

// Initial values: everything unset.
// clang-format off
#define QNN_GPU_DEVICE_INFO_EXTENSION_INIT \
    {QNN_GPU_DEVICE_INFO_EXTENSION_CONFIG_OPTION_UNDEFINED, {{NULL}}}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_GPU_DEVICE_H
