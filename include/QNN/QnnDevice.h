// SPDX-License-Identifier: MIT
//
// Device component: which hardware there is, and a logical device made of a part of it. Each
// backend completes the extension structs in its own header.

#ifndef QNN_DEVICE_H
#define QNN_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// Stand for a choice of the backend.
#define QNN_DEVICE_DEFAULT_DEVICE_ID 0xFFFFFFFFu // whichever the backend takes by default
#define QNN_DEVICE_DEFAULT_CORE_ID 0xFFFFFFFFu   // whichever the backend takes by default

// Errors of the device component.
typedef enum {
    QNN_DEVICE_MIN_ERROR = 14000,                   // first code
    QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE = 1000,    // the library does not do this
    QNN_DEVICE_ERROR_MEM_ALLOC = 1002,              // out of memory
    QNN_DEVICE_ERROR_INVALID_ARGUMENT = 1004,       // an argument is wrong
    QNN_DEVICE_ERROR_INVALID_HANDLE = 14000,        // not a handle of this component
    QNN_DEVICE_ERROR_INVALID_CONFIG = 14001,        // an option or its value is wrong
    QNN_DEVICE_ERROR_HARDWARE_UNAVAILABLE = 14002,  // the device cannot be used now
    QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT = 14003, // a context still uses it
    QNN_DEVICE_ERROR_ACCESS_DENIED = 14004,         // no right to use the device
    QNN_DEVICE_NO_ERROR = 0,                        // done
    QNN_DEVICE_MAX_ERROR = 14999,                   // last code
    QNN_DEVICE_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnDevice_Error_t;

// Pointer to the infrastructure struct of the backend.
typedef struct _QnnDevice_Infrastructure_t *QnnDevice_Infrastructure_t;

// Pointer to what only the backend can say about a core.
typedef struct _QnnDevice_CoreInfoExtension_t *QnnDevice_CoreInfoExtension_t;

// Pointer to what only the backend can say about a device.
typedef struct _QnnDevice_DeviceInfoExtension_t *QnnDevice_DeviceInfoExtension_t;

// Pointer to the custom configuration struct of the backend.
typedef void *QnnDevice_CustomConfig_t;

// A core of a device.
typedef struct {
    uint32_t coreId;                                 // which core
    uint32_t coreType;                               // number of the backend
    QnnDevice_CoreInfoExtension_t coreInfoExtension; // struct of the backend, or NULL
} QnnDevice_CoreInfoV1_t;

// Version of QnnDevice_CoreInfo_t.
typedef enum {
    QNN_DEVICE_CORE_INFO_VERSION_1 = 1,
    QNN_DEVICE_CORE_INFO_VERSION_UNDEFINED = 0x7FFFFFFF,
} QnnDevice_CoreInfoVersion_t;

// A core of a device, versioned.
typedef struct {
    QnnDevice_CoreInfoVersion_t version; // selects the union member
    union UNNAMED {
        QnnDevice_CoreInfoV1_t v1; // version 1
    };
} QnnDevice_CoreInfo_t;

// A device.
typedef struct {
    uint32_t deviceId;                                   // which device
    uint32_t deviceType;                                 // number of the backend
    uint32_t numCores;                                   // length of cores
    QnnDevice_CoreInfo_t *cores;                         // its cores
    QnnDevice_DeviceInfoExtension_t deviceInfoExtension; // struct of the backend, or NULL
} QnnDevice_HardwareDeviceInfoV1_t;

// Version of QnnDevice_HardwareDeviceInfo_t.
typedef enum {
    QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1 = 1,
    QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_UNDEFINED = 0x7FFFFFFF,
} QnnDevice_HardwareDeviceInfoVersion_t;

// A device, versioned.
typedef struct {
    QnnDevice_HardwareDeviceInfoVersion_t version; // selects the union member
    union UNNAMED {
        QnnDevice_HardwareDeviceInfoV1_t v1; // version 1
    };
} QnnDevice_HardwareDeviceInfo_t;

// All devices, or those a logical device is made of.
typedef struct {
    uint32_t numHwDevices;                     // length of hwDevices
    QnnDevice_HardwareDeviceInfo_t *hwDevices; // the devices
} QnnDevice_PlatformInfoV1_t;

// Version of QnnDevice_PlatformInfo_t.
typedef enum {
    QNN_DEVICE_PLATFORM_INFO_VERSION_1 = 1,
    QNN_DEVICE_PLATFORM_INFO_VERSION_UNDEFINED = 0x7FFFFFFF,
} QnnDevice_PlatformInfoVersion_t;

// Devices, versioned.
typedef struct {
    QnnDevice_PlatformInfoVersion_t version; // selects the union member
    union UNNAMED {
        QnnDevice_PlatformInfoV1_t v1; // version 1
    };
} QnnDevice_PlatformInfo_t;

// Options of a device.
typedef enum {
    QNN_DEVICE_CONFIG_OPTION_CUSTOM = 0,
    QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO = 1,
    QNN_DEVICE_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnDevice_ConfigOption_t;

// One option.
typedef struct {
    QnnDevice_ConfigOption_t option; // selects the union member
    union UNNAMED {
        QnnDevice_CustomConfig_t customConfig;  // CUSTOM: struct of the backend
        QnnDevice_PlatformInfo_t *hardwareInfo; // PLATFORM_INFO: devices and cores to use
    };
} QnnDevice_Config_t;

// Initial values: everything unset.
// clang-format off
#define QNN_DEVICE_CORE_INFO_V1_INIT {0xFFFFFFFFu, 0, NULL}
#define QNN_DEVICE_CORE_INFO_INIT {QNN_DEVICE_CORE_INFO_VERSION_1, {QNN_DEVICE_CORE_INFO_V1_INIT}}
#define QNN_DEVICE_HARDWARE_DEVICE_INFO_V1_INIT {0xFFFFFFFFu, 0, 0, NULL, NULL}
#define QNN_DEVICE_HARDWARE_DEVICE_INFO_INIT \
    {QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1, {QNN_DEVICE_HARDWARE_DEVICE_INFO_V1_INIT}}
#define QNN_DEVICE_PLATFORM_INFO_V1_INIT {0, NULL}
#define QNN_DEVICE_PLATFORM_INFO_INIT \
    {QNN_DEVICE_PLATFORM_INFO_VERSION_1, {QNN_DEVICE_PLATFORM_INFO_V1_INIT}}
#define QNN_DEVICE_CONFIG_INIT {QNN_DEVICE_CONFIG_OPTION_UNDEFINED, {NULL}}
// clang-format on

// Describes the devices the backend can see. Freed with QnnDevice_freePlatformInfo.
// Errors: QNN_DEVICE_ERROR_INVALID_ARGUMENT, QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE,
// QNN_DEVICE_ERROR_MEM_ALLOC, QNN_DEVICE_ERROR_INVALID_HANDLE.
QNN_API Qnn_ErrorHandle_t QnnDevice_getPlatformInfo(Qnn_LogHandle_t logger,
                                                    const QnnDevice_PlatformInfo_t **platformInfo);

// Frees a description.
// Errors: QNN_DEVICE_ERROR_INVALID_ARGUMENT, QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE,
// QNN_DEVICE_ERROR_MEM_ALLOC, QNN_DEVICE_ERROR_INVALID_HANDLE.
QNN_API Qnn_ErrorHandle_t QnnDevice_freePlatformInfo(Qnn_LogHandle_t logger,
                                                     const QnnDevice_PlatformInfo_t *platformInfo);

// Writes a pointer to the backend's infrastructure struct through deviceInfra, although it is
// declared pointer to const.
// Errors: QNN_DEVICE_ERROR_INVALID_HANDLE, QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE,
// QNN_DEVICE_ERROR_INVALID_ARGUMENT, QNN_DEVICE_ERROR_MEM_ALLOC.
QNN_API Qnn_ErrorHandle_t
QnnDevice_getInfrastructure(const QnnDevice_Infrastructure_t *deviceInfra);

// Makes a logical device; no options mean all devices and cores.
// Errors: QNN_DEVICE_ERROR_INVALID_ARGUMENT, QNN_DEVICE_ERROR_INVALID_HANDLE,
// QNN_DEVICE_ERROR_INVALID_CONFIG, QNN_DEVICE_ERROR_MEM_ALLOC,
// QNN_DEVICE_ERROR_HARDWARE_UNAVAILABLE, QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnDevice_create(Qnn_LogHandle_t logger,
                                           const QnnDevice_Config_t **config,
                                           Qnn_DeviceHandle_t *device);

// Changes options; not while a context uses the device.
// Errors: QNN_DEVICE_ERROR_INVALID_HANDLE, QNN_DEVICE_ERROR_INVALID_ARGUMENT,
// QNN_DEVICE_ERROR_INVALID_CONFIG, QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE,
// QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT.
QNN_API Qnn_ErrorHandle_t QnnDevice_setConfig(Qnn_DeviceHandle_t device,
                                              const QnnDevice_Config_t **config);

// Describes the device. The description lives as long as the device.
// Errors: QNN_DEVICE_ERROR_INVALID_HANDLE, QNN_DEVICE_ERROR_INVALID_ARGUMENT,
// QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE.
QNN_API Qnn_ErrorHandle_t QnnDevice_getInfo(Qnn_DeviceHandle_t device,
                                            const QnnDevice_PlatformInfo_t **platformInfo);

// Frees the device; not while a context uses it.
// Errors: QNN_DEVICE_ERROR_INVALID_HANDLE, QNN_DEVICE_ERROR_MEM_ALLOC,
// QNN_DEVICE_ERROR_ASSOCIATED_TO_CONTEXT, QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE.
QNN_API Qnn_ErrorHandle_t QnnDevice_free(Qnn_DeviceHandle_t device);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_DEVICE_H
