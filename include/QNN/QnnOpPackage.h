// SPDX-License-Identifier: MIT
//
// What an op package library has to provide: information about its ops, validation, and op
// implementations, as interface 1.4 (plain functions) or 2.0 (with a handle). A backend completes
// the opaque structs in its own header.

#ifndef QNN_OP_PACKAGE_H
#define QNN_OP_PACKAGE_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnLog.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// Length of the reserved array in QnnOpPackage_Info_t.
#define QNN_OP_PACKAGE_RESERVED_INFO_SIZE 12

// Errors of an op package.
typedef enum {
    QNN_OP_PACKAGE_MIN_ERROR = 3000,                         // first code
    QNN_OP_PACKAGE_NO_ERROR = 0,                             // done
    QNN_OP_PACKAGE_ERROR_UNSUPPORTED_FEATURE = 1000,         // the library does not do this
    QNN_OP_PACKAGE_ERROR_LIBRARY_ALREADY_INITIALIZED = 3000, // init was called before
    QNN_OP_PACKAGE_ERROR_LIBRARY_NOT_INITIALIZED = 3001,     // init was not called
    QNN_OP_PACKAGE_ERROR_INVALID_HANDLE = 3002,              // not a handle of this component
    QNN_OP_PACKAGE_ERROR_INVALID_INFRASTRUCTURE = 3100,      // the infrastructure is wrong
    QNN_OP_PACKAGE_ERROR_INVALID_INFO = 3101,                // the information is wrong
    QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE = 3110,          // the op cannot run like this
    QNN_OP_PACKAGE_ERROR_INVALID_ARGUMENT = 3200,            // an argument is wrong
    QNN_OP_PACKAGE_ERROR_GENERAL = 1100,                     // nothing more precise is known
    QNN_OP_PACKAGE_MAX_ERROR = 3999,                         // last code
    QNN_OP_PACKAGE_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnOpPackage_Error_t;

// An initialised op package of interface 2.0.
typedef Qnn_Handle_t Qnn_OpPackageHandle_t;

// What the backend offers to the whole package; completed by each backend.
typedef struct _QnnOpPackage_GlobalInfrastructure_t *QnnOpPackage_GlobalInfrastructure_t;

// What the backend offers for one graph; completed by each backend.
typedef struct _QnnOpPackage_GraphInfrastructure_t *QnnOpPackage_GraphInfrastructure_t;

// An op implementation; completed by each backend.
typedef struct _QnnOpPackage_OpImpl_t *QnnOpPackage_OpImpl_t;

// The node to implement; completed by each backend.
typedef struct _QnnOpPackage_Node_t *QnnOpPackage_Node_t;

// A graph optimisation of the package; completed by each backend.
typedef struct _QnnOpPackage_Optimization_t *QnnOpPackage_Optimization_t;

// More about an op; completed by each backend.
typedef struct _QnnOpPackage_OperationInfo_t *QnnOpPackage_OperationInfo_t;

// More about the package; completed by each backend.
typedef struct _QnnOpPackage_PackageInfo_t QnnOpPackage_PackageInfo_t;

// Description of an op package.
typedef struct {
    const char *packageName;                           // unique among the packages of a backend
    const char **operationNames;                       // op types
    const QnnOpPackage_OperationInfo_t *operationInfo; // numOperations entries, or NULL
    uint32_t numOperations;                            // length of operationNames
    const QnnOpPackage_Optimization_t *optimizations;  // graph optimisations, or NULL
    uint32_t numOptimizations;                         // length of optimizations
    const char *sdkBuildId;                            // build of the headers it was compiled with
    const Qnn_ApiVersion_t *sdkApiVersion;             // version of those headers
    const QnnOpPackage_PackageInfo_t *packageInfo;     // struct of the backend, or NULL
    const Qnn_Version_t *opsetVersion;                 // op set it follows, or NULL
    size_t reserved[12];                               // zero
} QnnOpPackage_Info_t;

// Initialises the package; called once, before anything but the log functions.
typedef Qnn_ErrorHandle_t (*QnnOpPackage_InitFn_t)(
    QnnOpPackage_GlobalInfrastructure_t infrastructure);

// Undoes the initialisation.
typedef Qnn_ErrorHandle_t (*QnnOpPackage_TerminateFn_t)(void);

// Describes the package; the description lives until the package is terminated.
typedef Qnn_ErrorHandle_t (*QnnOpPackage_GetInfoFn_t)(const QnnOpPackage_Info_t **info);

// Can this op run with these tensors and parameters?
typedef Qnn_ErrorHandle_t (*QnnOpPackage_ValidateOpConfigFn_t)(Qnn_OpConfig_t opConfig);

// Makes the implementation of a node.
typedef Qnn_ErrorHandle_t (*QnnOpPackage_CreateOpImplFn_t)(
    QnnOpPackage_GraphInfrastructure_t graphInfrastructure, QnnOpPackage_Node_t node,
    QnnOpPackage_OpImpl_t *opImpl);

// Frees an implementation.
typedef Qnn_ErrorHandle_t (*QnnOpPackage_FreeOpImplFn_t)(QnnOpPackage_OpImpl_t opImpl);

// Gives the package a logger; before init.
typedef Qnn_ErrorHandle_t (*QnnOpPackage_LogInitializeFn_t)(QnnLog_Callback_t callback,
                                                            QnnLog_Level_t maxLogLevel);

// Changes the level.
typedef Qnn_ErrorHandle_t (*QnnOpPackage_LogSetLevelFn_t)(QnnLog_Level_t maxLogLevel);

// Takes the logger away; after terminate.
typedef Qnn_ErrorHandle_t (*QnnOpPackage_LogTerminateFn_t)(void);

// Interface 1.4: functions of the library.
typedef struct {
    QnnOpPackage_InitFn_t init;
    QnnOpPackage_TerminateFn_t terminate;
    QnnOpPackage_GetInfoFn_t getInfo;
    QnnOpPackage_ValidateOpConfigFn_t validateOpConfig;
    QnnOpPackage_CreateOpImplFn_t createOpImpl;
    QnnOpPackage_FreeOpImplFn_t freeOpImpl;
    QnnOpPackage_LogInitializeFn_t logInitialize;
    QnnOpPackage_LogSetLevelFn_t logSetLevel;
    QnnOpPackage_LogTerminateFn_t logTerminate;
} QnnOpPackage_ImplementationV1_4_t;

// Initialises the package and gives it a logger.
typedef Qnn_ErrorHandle_t (*QnnOpPackage_CreateFn_t)(
    QnnOpPackage_GlobalInfrastructure_t infrastructure, QnnLog_Callback_t callback,
    QnnLog_Level_t maxLogLevel, Qnn_OpPackageHandle_t *opPackage);

// Can this op run with these tensors and parameters?
typedef Qnn_ErrorHandle_t (*QnnOpPackage_ValidateOpConfigHandleFn_t)(
    Qnn_OpPackageHandle_t opPackage, Qnn_OpConfig_t opConfig);

// Makes the implementation of a node.
typedef Qnn_ErrorHandle_t (*QnnOpPackage_CreateOpImplHandleFn_t)(
    Qnn_OpPackageHandle_t opPackage, QnnOpPackage_GraphInfrastructure_t graphInfrastructure,
    QnnOpPackage_Node_t node, QnnOpPackage_OpImpl_t *opImpl);

// Frees an implementation.
typedef Qnn_ErrorHandle_t (*QnnOpPackage_FreeOpImplHandleFn_t)(Qnn_OpPackageHandle_t opPackage,
                                                               QnnOpPackage_OpImpl_t opImpl);

// Changes the level.
typedef Qnn_ErrorHandle_t (*QnnOpPackage_LogSetLevelHandleFn_t)(Qnn_OpPackageHandle_t opPackage,
                                                                QnnLog_Level_t maxLogLevel);

// Undoes the initialisation.
typedef Qnn_ErrorHandle_t (*QnnOpPackage_FreeFn_t)(Qnn_OpPackageHandle_t opPackage);

// Interface 2.0: the same with a handle.
typedef struct {
    QnnOpPackage_CreateFn_t create;
    QnnOpPackage_GetInfoFn_t getInfo;
    QnnOpPackage_ValidateOpConfigHandleFn_t validateOpConfig;
    QnnOpPackage_CreateOpImplHandleFn_t createOpImpl;
    QnnOpPackage_FreeOpImplHandleFn_t freeOpImpl;
    QnnOpPackage_LogSetLevelHandleFn_t logSetLevel;
    QnnOpPackage_FreeFn_t free;
} QnnOpPackage_ImplementationV2_0_t;

// Interface of an op package.
typedef struct {
    Qnn_Version_t interfaceVersion; // selects the union member
    union UNNAMED {
        QnnOpPackage_ImplementationV1_4_t v1_4; // version 1.4
        QnnOpPackage_ImplementationV2_0_t v2_0; // version 2.0
    };
} QnnOpPackage_Interface_t;

// The function a package library exports, under a name that the client gives to
// QnnBackend_registerOpPackage: fills in the interface.
typedef Qnn_ErrorHandle_t (*QnnOpPackage_InterfaceProvider_t)(QnnOpPackage_Interface_t *intface_);

// Initial values: everything unset.
// clang-format off
#define QNN_OP_PACKAGE_INFO_INIT {NULL, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL, {0}}
#define QNN_OP_PACKAGE_IMPLEMENTATION_V1_4_INIT \
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}
#define QNN_OP_PACKAGE_IMPLEMENTATION_V2_0_INIT {NULL, NULL, NULL, NULL, NULL, NULL, NULL}
#define QNN_OP_PACKAGE_INTERFACE_INIT \
    {QNN_OP_PACKAGE_API_VERSION_1_4_0, {QNN_OP_PACKAGE_IMPLEMENTATION_V1_4_INIT}}
#define QNN_OP_PACKAGE_API_VERSION_1_4_0 {1, 4, 0}
#define QNN_OP_PACKAGE_API_VERSION_2_0_0 {2, 0, 0}
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_OP_PACKAGE_H
