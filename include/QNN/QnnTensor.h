// SPDX-License-Identifier: MIT
//
// Tensor component: create the tensors of a graph or of a context, and change those that are
// updateable.

#ifndef QNN_TENSOR_H
#define QNN_TENSOR_H

#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// Errors of the tensor component.
typedef enum {
    QNN_TENSOR_MIN_ERROR = 7000,                        // first code
    QNN_TENSOR_NO_ERROR = 0,                            // done
    QNN_TENSOR_ERROR_INVALID_HANDLE = 7001,             // not a handle of this component
    QNN_TENSOR_ERROR_DOES_NOT_EXIST = 7002,             // no such tensor
    QNN_TENSOR_ERROR_ALREADY_EXISTS = 7003,             // made before
    QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM = 7004,       // a field is wrong
    QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM = 7005,   // a field has a value that is not supported
    QNN_TENSOR_ERROR_NAME_HASH_COLLISION = 7006,        // choose another name
    QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE = 7007, // differs in more than may change
    QNN_TENSOR_ERROR_UNSUPPORTED_FEATURE = 1000,        // the library does not do this
    QNN_TENSOR_MAX_ERROR = 7999,                        // last code
    QNN_TENSOR_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnTensor_Error_t;

// Registers a tensor that every graph of the context can use, and writes its id. Not for NATIVE
// tensors.
// Errors: QNN_TENSOR_ERROR_INVALID_HANDLE, QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
// QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM, QNN_COMMON_ERROR_MEM_ALLOC,
// QNN_TENSOR_ERROR_UNSUPPORTED_FEATURE.
QNN_API Qnn_ErrorHandle_t QnnTensor_createContextTensor(Qnn_ContextHandle_t context,
                                                        Qnn_Tensor_t *tensor);

// Registers a tensor of the graph and writes its id. Static tensors need data, which is copied;
// others must have none. Not for READWRITE tensors.
// Errors: QNN_TENSOR_ERROR_INVALID_HANDLE, QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
// QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM, QNN_COMMON_ERROR_MEM_ALLOC,
// QNN_TENSOR_ERROR_UNSUPPORTED_FEATURE.
QNN_API Qnn_ErrorHandle_t QnnTensor_createGraphTensor(Qnn_GraphHandle_t graph,
                                                      Qnn_Tensor_t *tensor);

// Gives updateable tensors of the graph new data or encodings, in force from the next finalize on.
// Errors: QNN_TENSOR_ERROR_INVALID_HANDLE, QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
// QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM, QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED,
// QNN_COMMON_ERROR_MEM_ALLOC, QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE,
// QNN_TENSOR_ERROR_UNSUPPORTED_FEATURE.
QNN_API Qnn_ErrorHandle_t QnnTensor_updateGraphTensors(Qnn_GraphHandle_t graph,
                                                       const Qnn_Tensor_t **tensor,
                                                       uint64_t numTensors);

// The same for tensors of the context.
// Errors: QNN_TENSOR_ERROR_INVALID_HANDLE, QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
// QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM, QNN_COMMON_ERROR_MEM_ALLOC,
// QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE, QNN_TENSOR_ERROR_UNSUPPORTED_FEATURE.
QNN_API Qnn_ErrorHandle_t QnnTensor_updateContextTensors(Qnn_ContextHandle_t context,
                                                         const Qnn_Tensor_t **tensor,
                                                         uint64_t numTensors);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_TENSOR_H
