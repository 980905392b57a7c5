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

typedef enum {
    QNN_TENSOR_MIN_ERROR = 7000,
    QNN_TENSOR_NO_ERROR = 0,
    QNN_TENSOR_ERROR_INVALID_HANDLE = 7001,
    QNN_TENSOR_ERROR_DOES_NOT_EXIST = 7002,
    QNN_TENSOR_ERROR_ALREADY_EXISTS = 7003,
    QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM = 7004,
    QNN_TENSOR_ERROR_UNSUPPORTED_TENSOR_PARAM = 7005,
    QNN_TENSOR_ERROR_NAME_HASH_COLLISION = 7006,
    QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE = 7007,
    QNN_TENSOR_ERROR_UNSUPPORTED_FEATURE = 1000,
    QNN_TENSOR_MAX_ERROR = 7999,
    QNN_TENSOR_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnTensor_Error_t;

QNN_API Qnn_ErrorHandle_t QnnTensor_createContextTensor(Qnn_ContextHandle_t context,
                                                        Qnn_Tensor_t *tensor);

QNN_API Qnn_ErrorHandle_t QnnTensor_createGraphTensor(Qnn_GraphHandle_t graph,
                                                      Qnn_Tensor_t *tensor);

QNN_API Qnn_ErrorHandle_t QnnTensor_updateGraphTensors(Qnn_GraphHandle_t graph,
                                                       const Qnn_Tensor_t **tensor,
                                                       uint64_t numTensors);

QNN_API Qnn_ErrorHandle_t QnnTensor_updateContextTensors(Qnn_ContextHandle_t context,
                                                         const Qnn_Tensor_t **tensor,
                                                         uint64_t numTensors);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_TENSOR_H
