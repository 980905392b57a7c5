// SPDX-License-Identifier: MIT
//
// Graph component: build a graph node by node, finalize it, execute it.

#ifndef QNN_GRAPH_H
#define QNN_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// Errors of the graph component.
typedef enum {
    QNN_GRAPH_MIN_ERROR = 6000,                       // first code
    QNN_GRAPH_NO_ERROR = 0,                           // done
    QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE = 1000,       // the library does not do this
    QNN_GRAPH_ERROR_MEM_ALLOC = 1002,                 // out of memory
    QNN_GRAPH_ERROR_GENERAL = 1100,                   // nothing more precise is known
    QNN_GRAPH_ERROR_INVALID_ARGUMENT = 6000,          // an argument is wrong
    QNN_GRAPH_ERROR_INVALID_HANDLE = 6001,            // not a handle of this component
    QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST = 6002,      // no graph of that name
    QNN_GRAPH_ERROR_INVALID_NAME = 6003,              // no name, or taken
    QNN_GRAPH_ERROR_INVALID_TENSOR = 6004,            // a tensor is wrong here
    QNN_GRAPH_ERROR_INVALID_OP_CONFIG = 6005,         // the node is wrong
    QNN_GRAPH_ERROR_SET_PROFILE = 6006,               // the profile could not be used
    QNN_GRAPH_ERROR_UNCONNECTED_NODE = 6007,          // an input has no producer yet
    QNN_GRAPH_ERROR_CREATE_FAILED = 6020,             // the graph could not be made
    QNN_GRAPH_ERROR_OPTIMIZATION_FAILED = 6021,       // the graph could not be compiled
    QNN_GRAPH_ERROR_FINALIZE_FAILED = 6022,           // the graph could not be finalized
    QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED = 6023,       // finalize first
    QNN_GRAPH_ERROR_GRAPH_FINALIZED = 6024,           // cannot be changed any more
    QNN_GRAPH_ERROR_EXECUTION_ASYNC_FIFO_FULL = 6025, // too many executions wait
    QNN_GRAPH_ERROR_SIGNAL_IN_USE = 6030,             // it serves another call
    QNN_GRAPH_ERROR_ABORTED = 6031,                   // by a signal
    QNN_GRAPH_ERROR_PROFILE_IN_USE = 6032,            // it is bound elsewhere
    QNN_GRAPH_ERROR_TIMED_OUT = 6033,                 // by a signal
    QNN_GRAPH_ERROR_SUBGRAPH = 6034,                  // not with a subgraph
    QNN_GRAPH_ERROR_DISABLED = 6035,             // the graph was left out when the context was made
    QNN_GRAPH_ERROR_DYNAMIC_TENSOR_SHAPE = 6036, // a shape does not fit
    QNN_GRAPH_ERROR_TENSOR_SPARSITY = 6037,      // sparsity does not fit
    QNN_GRAPH_ERROR_EARLY_TERMINATION = 6038,    // ended early; see isProduced
    QNN_GRAPH_ERROR_INVALID_CONTEXT = 6039,      // the context is gone
    QNN_GRAPH_ERROR_CYCLE_DETECTED = 6040,       // the nodes form a cycle
    QNN_GRAPH_MAX_ERROR = 6999,                  // last code
    QNN_GRAPH_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnGraph_Error_t;

// Pointer to the custom configuration struct of the backend.
typedef void *QnnGraph_CustomConfig_t;

// Pointer to the custom property struct of the backend.
typedef void *QnnGraph_CustomProperty_t;

// Pointer to the custom validation struct of the backend.
typedef void *QnnGraph_CustomValidateConfig_t;

// Options of a graph. 1 and 2 are unused.
typedef enum {
    QNN_GRAPH_CONFIG_OPTION_CUSTOM = 0,
    QNN_GRAPH_CONFIG_OPTION_PRIORITY = 3,
    // bind a profile handle; calls must then be given none
    QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE = 4,
    QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_STATE = 5,
    QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_NUM_EXECUTIONS = 6, // collect for so many executions
    QNN_GRAPH_CONFIG_OPTION_ENABLE_BINARY_SECTION_WEIGHTS_UPDATES = 7,
    QNN_GRAPH_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnGraph_ConfigOption_t;

// Whether a bound profile handle collects.
typedef enum {
    QNN_GRAPH_PROFILING_STATE_ENABLED = 1,
    QNN_GRAPH_PROFILING_STATE_DISABLED = 2,
    QNN_GRAPH_PROFILING_STATE_UNDEFINED = 0x7FFFFFFF,
} QnnGraph_ProfilingState_t;

// One option.
typedef struct {
    QnnGraph_ConfigOption_t option; // selects the union member
    union UNNAMED {
        QnnGraph_CustomConfig_t customConfig;      // CUSTOM: struct of the backend
        Qnn_Priority_t priority;                   // PRIORITY
        Qnn_ProfileHandle_t profileHandle;         // PROFILE_HANDLE: one graph for each handle
        QnnGraph_ProfilingState_t profilingState;  // SET_PROFILING_STATE: enabled by default
        uint32_t numProfilingExecutions;           // SET_PROFILING_NUM_EXECUTIONS
        uint8_t enableBinarySectionWeightsUpdates; // not 0 is yes; off by default
    };
} QnnGraph_Config_t;

// Properties of a graph.
typedef enum {
    QNN_GRAPH_PROPERTY_OPTION_CUSTOM = 0,
    QNN_GRAPH_PROPERTY_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnGraph_PropertyOption_t;

// One property: the client sets option, the library fills in the value.
typedef struct {
    QnnGraph_PropertyOption_t option; // selects the union member
    union UNNAMED {
        QnnGraph_CustomProperty_t customProperty; // CUSTOM: struct of the backend
    };
} QnnGraph_Property_t;

// What an execution environment prepares.
typedef enum {
    QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_BIND_MEM_HANDLES = 0, // bind memory handles to tensors
    // learn the buffers of the library
    QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_POPULATE_CLIENT_BUFS = 1,
    QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnGraph_ExecuteEnvironmentOption_t;

// Tensors prepared before an execution.
typedef struct {
    QnnGraph_ExecuteEnvironmentOption_t option; // what to prepare
    union UNNAMED {
        Qnn_TensorSet_t tensorSet; // the tensors
    };
} QnnGraph_ExecuteEnvironment_t;

// Options of a validation.
typedef enum {
    QNN_GRAPH_VALIDATE_OPTION_CUSTOM = 0,
    QNN_GRAPH_VALIDATE_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnGraph_ValidateOption_t;

// One option of a validation.
typedef struct {
    QnnGraph_ValidateOption_t option; // selects the union member
    union UNNAMED {
        QnnGraph_CustomValidateConfig_t customConfig; // CUSTOM: struct of the backend
    };
} QnnGraph_ValidateConfig_t;

// Whether a node can run.
typedef enum {
    QNN_GRAPH_NODE_VALIDATION_STATUS_SUPPORTED = 0,
    QNN_GRAPH_NODE_VALIDATION_STATUS_UNSUPPORTED = 1,
    QNN_GRAPH_NODE_VALIDATION_STATUS_UNDEFINED = 0x7FFFFFFF,
} QnnGraph_NodeValidationStatus_t;

// Result for one node.
typedef struct {
    const char *nodeName;                   // which node
    QnnGraph_NodeValidationStatus_t status; // whether it can run
    Qnn_ErrorHandle_t errorCode;            // why not
    const char *errorMessage;               // the same in words; may be NULL
} QnnGraph_NodeValidationResult_t;

// Result for a graph.
typedef struct {
    uint32_t numResults;                            // length of results
    const QnnGraph_NodeValidationResult_t *results; // one for each node
    Qnn_ErrorHandle_t overallStatus;                // QNN_SUCCESS if every node can run
} QnnGraph_ValidationResult_t;

// How an asynchronous execution ended.
typedef struct {
    Qnn_ErrorHandle_t error; // QNN_SUCCESS, or what failed
} Qnn_NotifyStatus_t;

// Called on a thread of the library when an asynchronous execution has ended.
typedef void (*Qnn_NotifyFn_t)(void *notifyParam, Qnn_NotifyStatus_t notifyStatus);

// Initial values: everything unset.
// clang-format off
#define QNN_GRAPH_CONFIG_INIT {QNN_GRAPH_CONFIG_OPTION_UNDEFINED, {NULL}}
#define QNN_GRAPH_PROPERTY_INIT {QNN_GRAPH_PROPERTY_OPTION_UNDEFINED, {NULL}}
#define QNN_GRAPH_VALIDATE_CONFIG_INIT {QNN_GRAPH_VALIDATE_OPTION_UNDEFINED, {NULL}}
#define QNN_NOTIFY_STATUS_INIT {0}
// clang-format on

// Makes an empty graph; the name must be unique in the context. Not in a context that came from a
// binary.
// Errors: QNN_GRAPH_ERROR_INVALID_ARGUMENT, QNN_GRAPH_ERROR_INVALID_NAME,
// QNN_GRAPH_ERROR_INVALID_HANDLE, QNN_GRAPH_ERROR_MEM_ALLOC, QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE,
// QNN_GRAPH_ERROR_CREATE_FAILED, QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED,
// QNN_GRAPH_ERROR_PROFILE_IN_USE.
QNN_API Qnn_ErrorHandle_t QnnGraph_create(Qnn_ContextHandle_t contextHandle, const char *graphName,
                                          const QnnGraph_Config_t **config,
                                          Qnn_GraphHandle_t *graphHandle);

// Makes a graph that a control-flow op of graphHandle runs. It cannot be finalized, retrieved or
// executed on its own.
// Errors: QNN_GRAPH_ERROR_INVALID_ARGUMENT, QNN_GRAPH_ERROR_INVALID_NAME,
// QNN_GRAPH_ERROR_INVALID_HANDLE, QNN_GRAPH_ERROR_MEM_ALLOC, QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE,
// QNN_GRAPH_ERROR_CREATE_FAILED, QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED.
QNN_API Qnn_ErrorHandle_t QnnGraph_createSubgraph(Qnn_GraphHandle_t graphHandle,
                                                  const char *graphName,
                                                  Qnn_GraphHandle_t *subgraphHandle);

// Changes options of a graph.
// Errors: QNN_GRAPH_ERROR_INVALID_HANDLE, QNN_GRAPH_ERROR_INVALID_ARGUMENT,
// QNN_GRAPH_ERROR_GRAPH_FINALIZED, QNN_GRAPH_ERROR_SUBGRAPH, QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE,
// QNN_GRAPH_ERROR_PROFILE_IN_USE, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnGraph_setConfig(Qnn_GraphHandle_t graphHandle,
                                             const QnnGraph_Config_t **config);

// Adds a node, after the nodes that make its inputs and before the graph is finalized. Tensors are
// matched by id; their other fields are not read again. Checks are shallow: deep ones belong to
// QnnBackend_validateOpConfig.
// Errors: QNN_GRAPH_ERROR_INVALID_OP_CONFIG, QNN_GRAPH_ERROR_INVALID_TENSOR,
// QNN_GRAPH_ERROR_INVALID_HANDLE, QNN_GRAPH_ERROR_GRAPH_FINALIZED,
// QNN_GRAPH_ERROR_UNCONNECTED_NODE, QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE.
QNN_API Qnn_ErrorHandle_t QnnGraph_addNode(Qnn_GraphHandle_t graphHandle, Qnn_OpConfig_t opConfig);

// Compiles the graph; it can then be executed and no longer changed. Profile and signal may be
// NULL; the profile must be when one is bound by option.
// Errors: QNN_GRAPH_ERROR_INVALID_HANDLE, QNN_GRAPH_ERROR_INVALID_ARGUMENT,
// QNN_GRAPH_ERROR_CREATE_FAILED, QNN_GRAPH_ERROR_OPTIMIZATION_FAILED,
// QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE, QNN_GRAPH_ERROR_SET_PROFILE, QNN_GRAPH_ERROR_SIGNAL_IN_USE,
// QNN_GRAPH_ERROR_ABORTED, QNN_GRAPH_ERROR_TIMED_OUT, QNN_GRAPH_ERROR_FINALIZE_FAILED,
// QNN_GRAPH_ERROR_SUBGRAPH, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnGraph_finalize(Qnn_GraphHandle_t graphHandle,
                                            Qnn_ProfileHandle_t profileHandle,
                                            Qnn_SignalHandle_t signalHandle);

// Handle of a graph by its name.
// Errors: QNN_GRAPH_ERROR_INVALID_NAME, QNN_GRAPH_ERROR_INVALID_HANDLE,
// QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST, QNN_GRAPH_ERROR_SUBGRAPH.
QNN_API Qnn_ErrorHandle_t QnnGraph_retrieve(Qnn_ContextHandle_t contextHandle,
                                            const char *graphName, Qnn_GraphHandle_t *graphHandle);

// Runs the graph and waits. Tensors are matched by id and may come in any order; all application
// tensors must be there except optional ones. Buffers may differ from call to call. Dimensions,
// where given, must be those of creation, except a common multiple of the batch, dynamic
// dimensions, and outputs whose shape depends on the data, which are written back.
// Errors: QNN_GRAPH_ERROR_INVALID_HANDLE, QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED,
// QNN_GRAPH_ERROR_SUBGRAPH, QNN_GRAPH_ERROR_INVALID_ARGUMENT, QNN_GRAPH_ERROR_INVALID_TENSOR,
// QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE, QNN_GRAPH_ERROR_SET_PROFILE, QNN_GRAPH_ERROR_SIGNAL_IN_USE,
// QNN_GRAPH_ERROR_ABORTED, QNN_GRAPH_ERROR_TIMED_OUT, QNN_GRAPH_ERROR_DISABLED,
// QNN_GRAPH_ERROR_DYNAMIC_TENSOR_SHAPE, QNN_GRAPH_ERROR_TENSOR_SPARSITY,
// QNN_GRAPH_ERROR_EARLY_TERMINATION, QNN_GRAPH_ERROR_INVALID_CONTEXT,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnGraph_execute(Qnn_GraphHandle_t graphHandle,
                                           const Qnn_Tensor_t *inputs, uint32_t numInputs,
                                           Qnn_Tensor_t *outputs, uint32_t numOutputs,
                                           Qnn_ProfileHandle_t profileHandle,
                                           Qnn_SignalHandle_t signalHandle);

// Queues an execution and returns; waits only while the queue is full. notifyFn may be NULL; it is
// not called when this call fails.
// Errors: QNN_GRAPH_ERROR_INVALID_HANDLE, QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED,
// QNN_GRAPH_ERROR_SUBGRAPH, QNN_GRAPH_ERROR_INVALID_ARGUMENT, QNN_GRAPH_ERROR_INVALID_TENSOR,
// QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE, QNN_GRAPH_ERROR_SIGNAL_IN_USE, QNN_GRAPH_ERROR_ABORTED,
// QNN_GRAPH_ERROR_TIMED_OUT, QNN_GRAPH_ERROR_DISABLED, QNN_GRAPH_ERROR_DYNAMIC_TENSOR_SHAPE,
// QNN_GRAPH_ERROR_TENSOR_SPARSITY, QNN_GRAPH_ERROR_EARLY_TERMINATION,
// QNN_GRAPH_ERROR_INVALID_CONTEXT, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnGraph_executeAsync(Qnn_GraphHandle_t graphHandle,
                                                const Qnn_Tensor_t *inputs, uint32_t numInputs,
                                                Qnn_Tensor_t *outputs, uint32_t numOutputs,
                                                Qnn_ProfileHandle_t profileHandle,
                                                Qnn_SignalHandle_t signalHandle,
                                                Qnn_NotifyFn_t notifyFn, void *notifyParam);

// Binds memory handles, or learns buffers of the library, before executions.
// Errors: QNN_GRAPH_ERROR_INVALID_HANDLE, QNN_GRAPH_ERROR_INVALID_ARGUMENT,
// QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE.
QNN_API Qnn_ErrorHandle_t QnnGraph_prepareExecutionEnvironment(Qnn_GraphHandle_t graphHandle,
                                                               QnnGraph_ExecuteEnvironment_t **envs,
                                                               uint32_t envSize);

// Undoes it.
// Errors: QNN_GRAPH_ERROR_INVALID_HANDLE, QNN_GRAPH_ERROR_INVALID_ARGUMENT,
// QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE.
QNN_API Qnn_ErrorHandle_t QnnGraph_releaseExecutionEnvironment(
    Qnn_GraphHandle_t graphHandle, const QnnGraph_ExecuteEnvironment_t **envs, uint32_t envSize);

// Fills in a NULL-terminated list of properties.
// Errors: QNN_GRAPH_ERROR_INVALID_HANDLE, QNN_GRAPH_ERROR_INVALID_ARGUMENT,
// QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE.
QNN_API Qnn_ErrorHandle_t QnnGraph_getProperty(Qnn_GraphHandle_t graphHandle,
                                               QnnGraph_Property_t **properties);

// Checks every node of a graph that is not finalized. The result is freed with
// QnnGraph_freeValidationResult.
// Errors: QNN_GRAPH_ERROR_INVALID_HANDLE, QNN_GRAPH_ERROR_INVALID_ARGUMENT,
// QNN_GRAPH_ERROR_GRAPH_FINALIZED, QNN_GRAPH_ERROR_CYCLE_DETECTED,
// QNN_GRAPH_ERROR_UNCONNECTED_NODE, QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE.
QNN_API Qnn_ErrorHandle_t QnnGraph_validate(Qnn_GraphHandle_t graphHandle,
                                            const QnnGraph_ValidateConfig_t **config,
                                            QnnGraph_ValidationResult_t **validationResult);

// Frees a validation result.
// Errors: QNN_GRAPH_ERROR_INVALID_ARGUMENT.
QNN_API Qnn_ErrorHandle_t
QnnGraph_freeValidationResult(QnnGraph_ValidationResult_t *validationResult);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_GRAPH_H
