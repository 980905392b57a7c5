// SPDX-License-Identifier: MIT
//
// System library: version, error ranges and common errors.

#ifndef QNN_SYSTEM_COMMON_H
#define QNN_SYSTEM_COMMON_H

#include <stdint.h>

#include "QnnCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// Export attribute of the functions; empty unless the build of the library defines it.
#ifndef QNN_SYSTEM_API
#define QNN_SYSTEM_API
#endif

// Error ranges of the System components.
#define QNN_SYSTEM_COMMON_MIN_ERROR 30000
#define QNN_SYSTEM_COMMON_MAX_ERROR 30999
#define QNN_SYSTEM_PROFILE_MIN_ERROR 31000
#define QNN_SYSTEM_PROFILE_MAX_ERROR 31999

// Name and version of the library.
#define QNN_SYSTEM_INTERFACE_PROVIDER_NAME "SYSTEM_QTI_AISW"
#define QNN_SYSTEM_API_VERSION_MAJOR 1
#define QNN_SYSTEM_API_VERSION_MINOR 14
#define QNN_SYSTEM_API_VERSION_PATCH 0

// The context component uses the common range.
#define QNN_SYSTEM_CONTEXT_MIN_ERROR 30000
#define QNN_SYSTEM_CONTEXT_MAX_ERROR 30999

// Errors of every System component.
typedef enum {
    QNN_SYSTEM_COMMON_NO_ERROR = 0,                     // done
    QNN_SYSTEM_COMMON_ERROR_UNSUPPORTED_FEATURE = 1000, // the library does not do this
    QNN_SYSTEM_COMMON_ERROR_INVALID_HANDLE = 30000,     // not a handle of this component
    QNN_SYSTEM_COMMON_ERROR_INVALID_ARGUMENT = 30001,   // an argument is wrong
} QnnSystemCommon_Error_t;

// Bytes of a DLC container.
typedef uint64_t Qnn_SystemDlcBinarySize_t;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_SYSTEM_COMMON_H
