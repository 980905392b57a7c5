// SPDX-License-Identifier: MIT
//
// Backend component: create a backend, load op packages, ask which ops it has and whether it takes
// one.

#ifndef QNN_BACKEND_H
#define QNN_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// Errors of the backend component.
typedef enum {
    QNN_BACKEND_MIN_ERROR = 4000,                  // first code
    QNN_BACKEND_NO_ERROR = 0,                      // done
    QNN_BACKEND_ERROR_MEM_ALLOC = 1002,            // out of memory
    QNN_BACKEND_ERROR_UNSUPPORTED_PLATFORM = 1006, // not on this machine
    QNN_BACKEND_ERROR_CANNOT_INITIALIZE = 4000,    // setting up failed
    QNN_BACKEND_ERROR_TERMINATE_FAILED = 4002,     // freeing failed
    QNN_BACKEND_ERROR_NOT_SUPPORTED = 4003,        // the library does not do this
    QNN_BACKEND_ERROR_INVALID_ARGUMENT = 4004,     // an argument is wrong
    QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND = 4005, // no such package, or no such op in it
    // the library lacks the named function
    QNN_BACKEND_ERROR_OP_PACKAGE_IF_PROVIDER_NOT_FOUND = 4006,
    QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED = 4007, // the package refused
    // interface version of the package is not known
    QNN_BACKEND_ERROR_OP_PACKAGE_UNSUPPORTED_VERSION = 4008,
    QNN_BACKEND_ERROR_OP_PACKAGE_DUPLICATE = 4009, // name of the package or of an op is taken
    QNN_BACKEND_ERROR_INCONSISTENT_CONFIG = 4010,  // contradicts an earlier handle
    QNN_BACKEND_ERROR_INVALID_HANDLE = 4011,       // not a handle of this component
    QNN_BACKEND_ERROR_INVALID_CONFIG = 4012,       // an option or its value is wrong
    QNN_BACKEND_ERROR_OP_PACKAGE_LOAD_FROM_BUFFER_FAILED = 4013, // the image could not be loaded
    QNN_BACKEND_MAX_ERROR = 4999,                                // last code
    QNN_BACKEND_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnBackend_Error_t;

// Pointer to the custom configuration struct of the backend.
typedef void *QnnBackend_CustomConfig_t;

// Pointer to the custom property struct of the backend.
typedef void *QnnBackend_CustomProperty_t;

// Options of a backend.
typedef enum {
    QNN_BACKEND_CONFIG_OPTION_CUSTOM = 0,
    QNN_BACKEND_CONFIG_OPTION_ERROR_REPORTING = 1,
    QNN_BACKEND_CONFIG_OPTION_PLATFORM = 2, // key and value as text, one pair for each option
    QNN_BACKEND_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnBackend_ConfigOption_t;

// One option. Lists of options are NULL-terminated arrays of pointers; the last of equal options
// counts.
typedef struct {
    QnnBackend_ConfigOption_t option; // selects the union member
    union UNNAMED {
        QnnBackend_CustomConfig_t customConfig; // CUSTOM: struct of the backend
        Qnn_ErrorReportingConfig_t errorConfig; // ERROR_REPORTING
        const char *platformOption;             // PLATFORM: at most 1024 characters
    };
} QnnBackend_Config_t;

// An op the backend has.
typedef struct {
    const char *packageName; // op package
    const char *name;        // op type
    const char *target;      // where it runs; may be NULL
} QnnBackend_OperationName_t;

// Properties of a backend.
typedef enum {
    QNN_BACKEND_PROPERTY_OPTION_CUSTOM = 0,
    QNN_BACKEND_PROPERTY_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnBackend_PropertyOption_t;

// One property: the client sets option, the library fills in the value.
typedef struct {
    QnnBackend_PropertyOption_t option; // selects the union member
    union UNNAMED {
        QnnBackend_CustomProperty_t customProperty; // CUSTOM: struct of the backend
    };
} QnnBackend_Property_t;

// Initial values: everything unset.
// clang-format off
#define QNN_BACKEND_CONFIG_INIT {QNN_BACKEND_CONFIG_OPTION_UNDEFINED, {NULL}}
#define QNN_BACKEND_OPERATION_NAME_INIT {NULL, NULL, NULL}
#define QNN_BACKEND_PROPERTY_INIT {QNN_BACKEND_PROPERTY_OPTION_UNDEFINED, {NULL}}
// clang-format on

// Makes a backend handle. May be called more than once, also at the same time; conflicting options
// of two handles are an error. The logger, which may be NULL, stays the client's and must outlive
// the backend.
// Errors: QNN_BACKEND_ERROR_UNSUPPORTED_PLATFORM, QNN_BACKEND_ERROR_INCONSISTENT_CONFIG,
// QNN_BACKEND_ERROR_CANNOT_INITIALIZE, QNN_BACKEND_ERROR_MEM_ALLOC,
// QNN_BACKEND_ERROR_INVALID_HANDLE, QNN_BACKEND_ERROR_INVALID_CONFIG,
// QNN_BACKEND_ERROR_NOT_SUPPORTED.
QNN_API Qnn_ErrorHandle_t QnnBackend_create(Qnn_LogHandle_t logger,
                                            const QnnBackend_Config_t **config,
                                            Qnn_BackendHandle_t *backend);

// Changes options of a backend.
// Errors: QNN_BACKEND_ERROR_INVALID_HANDLE, QNN_BACKEND_ERROR_INVALID_CONFIG,
// QNN_BACKEND_ERROR_NOT_SUPPORTED.
QNN_API Qnn_ErrorHandle_t QnnBackend_setConfig(Qnn_BackendHandle_t backend,
                                               const QnnBackend_Config_t **config);

// Version of the core API and of the backend. Needs no backend handle.
// Errors: QNN_BACKEND_ERROR_INVALID_ARGUMENT.
QNN_API Qnn_ErrorHandle_t QnnBackend_getApiVersion(Qnn_ApiVersion_t *pVersion);

// Text that identifies the build, of the form v<major>.<minor>.<patch>.<build>. Static; needs no
// backend handle.
// Errors: QNN_BACKEND_ERROR_NOT_SUPPORTED, QNN_BACKEND_ERROR_INVALID_ARGUMENT.
QNN_API Qnn_ErrorHandle_t QnnBackend_getBuildId(const char **id);

// Loads an op package library, calls the named provider function in it and registers its ops.
// target may be NULL.
// Errors: QNN_BACKEND_ERROR_INVALID_ARGUMENT, QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND,
// QNN_BACKEND_ERROR_OP_PACKAGE_IF_PROVIDER_NOT_FOUND,
// QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED,
// QNN_BACKEND_ERROR_OP_PACKAGE_UNSUPPORTED_VERSION, QNN_BACKEND_ERROR_NOT_SUPPORTED,
// QNN_BACKEND_ERROR_INVALID_HANDLE, QNN_BACKEND_ERROR_OP_PACKAGE_DUPLICATE,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnBackend_registerOpPackage(Qnn_BackendHandle_t backend,
                                                       const char *packagePath,
                                                       const char *interfaceProvider,
                                                       const char *target);

// Lists every op: built in and registered. A NULL backend asks for the built-in ones. The list
// lives as long as the backend handle.
// Errors: QNN_BACKEND_ERROR_INVALID_ARGUMENT, QNN_BACKEND_ERROR_INVALID_HANDLE,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t
QnnBackend_getSupportedOperations(Qnn_BackendHandle_t backend, uint32_t *numOperations,
                                  const QnnBackend_OperationName_t **operations);

// Can this op run with these tensors and parameters? Tensor ids and names are not looked at, and no
// tensor needs to be created.
// Errors: QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, QNN_BACKEND_ERROR_NOT_SUPPORTED,
// QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND, QNN_BACKEND_ERROR_INVALID_HANDLE.
QNN_API Qnn_ErrorHandle_t QnnBackend_validateOpConfig(Qnn_BackendHandle_t backend,
                                                      Qnn_OpConfig_t opConfig);

// Frees the backend and what hangs on it.
// Errors: QNN_BACKEND_ERROR_MEM_ALLOC, QNN_BACKEND_ERROR_TERMINATE_FAILED,
// QNN_BACKEND_ERROR_INVALID_HANDLE, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnBackend_free(Qnn_BackendHandle_t backend);

// Fills in a NULL-terminated list of properties.
// Errors: QNN_BACKEND_ERROR_INVALID_HANDLE, QNN_BACKEND_ERROR_INVALID_ARGUMENT,
// QNN_BACKEND_ERROR_NOT_SUPPORTED.
QNN_API Qnn_ErrorHandle_t QnnBackend_getProperty(Qnn_BackendHandle_t backendHandle,
                                                 QnnBackend_Property_t **properties);

// The same from an image in memory, which may go away after the call.
// Errors: QNN_BACKEND_ERROR_INVALID_ARGUMENT, QNN_BACKEND_ERROR_OP_PACKAGE_LOAD_FROM_BUFFER_FAILED,
// QNN_BACKEND_ERROR_OP_PACKAGE_IF_PROVIDER_NOT_FOUND,
// QNN_BACKEND_ERROR_OP_PACKAGE_REGISTRATION_FAILED,
// QNN_BACKEND_ERROR_OP_PACKAGE_UNSUPPORTED_VERSION, QNN_BACKEND_ERROR_OP_PACKAGE_DUPLICATE,
// QNN_BACKEND_ERROR_NOT_SUPPORTED, QNN_BACKEND_ERROR_INVALID_HANDLE.
QNN_API Qnn_ErrorHandle_t QnnBackend_registerOpPackageFromBinary(Qnn_BackendHandle_t backend,
                                                                 const void *opPackageBuffer,
                                                                 uint64_t opPackageBufferSize,
                                                                 const char *interfaceProvider,
                                                                 const char *target);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_BACKEND_H
