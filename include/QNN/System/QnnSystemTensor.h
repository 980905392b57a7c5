// SPDX-License-Identifier: MIT
//
// System library: questions about tensors.

#ifndef QNN_SYSTEM_TENSOR_H
#define QNN_SYSTEM_TENSOR_H

#include <stdint.h>

#include "QnnTypes.h"
#include "System/QnnSystemCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// Errors of the tensor component.
typedef enum {
    QNN_SYSTEM_TENSOR_MIN_ERROR = 30000,                // first code
    QNN_SYSTEM_TENSOR_NO_ERROR = 0,                     // done
    QNN_SYSTEM_TENSOR_ERROR_UNSUPPORTED_FEATURE = 1000, // the library does not do this
    QNN_SYSTEM_TENSOR_ERROR_INVALID_ARGUMENT = 30001,   // an argument is wrong
    QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR = 30002,     // a tensor is wrong here
    QNN_SYSTEM_TENSOR_MAX_ERROR = 49999,                // last code
} QnnSystemTensor_Error_t;

// Bytes a tensor needs at most.
// Errors: QNN_SYSTEM_TENSOR_ERROR_INVALID_ARGUMENT, QNN_SYSTEM_TENSOR_ERROR_INVALID_TENSOR,
// QNN_SYSTEM_TENSOR_ERROR_UNSUPPORTED_FEATURE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemTensor_getMemoryFootprint(Qnn_Tensor_t tensor,
                                                                    uint64_t *footprint);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_SYSTEM_TENSOR_H
