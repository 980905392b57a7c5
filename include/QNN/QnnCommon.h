// SPDX-License-Identifier: MIT
//
// Names shared by every QNN header: API version, handles, error ranges and the errors that all
// components have in common. Every function returns a Qnn_ErrorHandle_t: 0 is success, the code
// sits in the low 16 bits.

#ifndef QNN_COMMON_H
#define QNN_COMMON_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Export attribute of the functions; empty unless the build of a library defines it.
#ifndef QNN_API
#define QNN_API
#endif

// Marks the anonymous unions below for readers; expands to nothing.
#define UNNAMED

#define QNN_PASTE_THREE(a, b, c) a##b##c

// The code in an error handle. The upper bits are reserved.
#define QNN_GET_ERROR_CODE(errorHandle) ((errorHandle)&0xFFFF)

// Version of the API these headers describe.
#define QNN_API_VERSION_MAJOR 2
#define QNN_API_VERSION_MINOR 39
#define QNN_API_VERSION_PATCH 0

// Backends are numbered; each backend has its number in its own header.
#define QNN_BACKEND_ID_NULL 0 // no backend

// Codes are unique among components; the numbers tell who failed.
#define QNN_SUCCESS 0 // every function: done
#define QNN_MIN_ERROR_COMMON 1000
#define QNN_MAX_ERROR_COMMON 1999
#define QNN_MIN_ERROR_PROPERTY 2000
#define QNN_MAX_ERROR_PROPERTY 2999
#define QNN_MIN_ERROR_OP_PACKAGE 3000
#define QNN_MAX_ERROR_OP_PACKAGE 3999
#define QNN_MIN_ERROR_BACKEND 4000
#define QNN_MIN_ERROR_BACKEND_SAVER 4950
#define QNN_MAX_ERROR_BACKEND_SAVER 4998
#define QNN_MAX_ERROR_BACKEND 4999
#define QNN_MIN_ERROR_CONTEXT 5000
#define QNN_MAX_ERROR_CONTEXT 5999
#define QNN_MIN_ERROR_GRAPH 6000
#define QNN_MAX_ERROR_GRAPH 6999
#define QNN_MIN_ERROR_TENSOR 7000
#define QNN_MAX_ERROR_TENSOR 7999
#define QNN_MIN_ERROR_MEM 8000
#define QNN_MAX_ERROR_MEM 8999
#define QNN_MIN_ERROR_SIGNAL 9000
#define QNN_MAX_ERROR_SIGNAL 9999
#define QNN_MIN_ERROR_ERROR 10000
#define QNN_MAX_ERROR_ERROR 10999
#define QNN_MIN_ERROR_LOG 11000
#define QNN_MAX_ERROR_LOG 11999
#define QNN_MIN_ERROR_PROFILE 12000
#define QNN_MAX_ERROR_PROFILE 12999
#define QNN_MIN_ERROR_PERF_INFRASTRUCTURE 13000
#define QNN_MAX_ERROR_PERF_INFRASTRUCTURE 13999
#define QNN_MIN_ERROR_DEVICE 14000
#define QNN_MAX_ERROR_DEVICE 14999
#define QNN_MIN_ERROR_GLOBAL_CONFIG 15000
#define QNN_MAX_ERROR_GLOBAL_CONFIG 15999
#define QNN_MIN_ERROR_SYSTEM 30000
#define QNN_MAX_ERROR_SYSTEM 49999
#define QNN_MIN_ERROR_INTERFACE 60000
#define QNN_MAX_ERROR_INTERFACE 60999

// Errors any component may return. Components give some of them names of their own.
typedef enum {
    QNN_COMMON_MIN_ERROR = 1000,                        // first code
    QNN_COMMON_ERROR_NOT_SUPPORTED = 1000,              // the library does not do this
    QNN_COMMON_ERROR_MEM_ALLOC = 1002,                  // out of memory
    QNN_COMMON_ERROR_SYSTEM = 1003,                     // the operating system refused
    QNN_COMMON_ERROR_INVALID_ARGUMENT = 1004,           // an argument is wrong
    QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED = 1005,    // not in this state
    QNN_COMMON_ERROR_PLATFORM_NOT_SUPPORTED = 1006,     // not on this machine
    QNN_COMMON_ERROR_SYSTEM_COMMUNICATION = 1007,       // the device could not be reached
    QNN_COMMON_ERROR_INCOMPATIBLE_BINARIES = 1008,      // parts of the library do not fit together
    QNN_COMMON_ERROR_LOADING_BINARIES = 1009,           // a part of the library could not be loaded
    QNN_COMMON_ERROR_RESOURCE_UNAVAILABLE = 1010,       // not available now
    QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL = 1011, // the device is lost: start over
    QNN_COMMON_ERROR_GENERAL = 1100,                    // nothing more precise is known
    QNN_COMMON_MAX_ERROR = 1999,                        // last code
    QNN_COMMON_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnCommon_Error_t;

// What every function returns: QNN_SUCCESS, or a code of one of the components.
typedef uint64_t Qnn_ErrorHandle_t;

// Opaque handle; NULL is no handle. Made and freed by the functions of its component.
typedef void *Qnn_Handle_t;
typedef Qnn_Handle_t Qnn_BackendHandle_t;
typedef Qnn_Handle_t Qnn_ContextHandle_t;
typedef Qnn_Handle_t Qnn_DeviceHandle_t;
typedef Qnn_Handle_t Qnn_GraphHandle_t;
typedef Qnn_Handle_t Qnn_LogHandle_t;
typedef Qnn_Handle_t Qnn_MemHandle_t;
typedef Qnn_Handle_t Qnn_ProfileHandle_t;
typedef Qnn_Handle_t Qnn_SignalHandle_t;

// An open DLC container of the System library; here because a context can be added to one.
typedef Qnn_Handle_t QnnSystemDlc_Handle_t;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_COMMON_H
