// SPDX-License-Identifier: MIT
//
// Error component: text for an error code.

#ifndef QNN_ERROR_H
#define QNN_ERROR_H

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// Errors of the error component.
typedef enum {
    QNN_ERROR_MIN_ERROR = 10000,            // first code
    QNN_ERROR_NO_ERROR = 0,                 // done
    QNN_ERROR_INVALID_ARGUMENT = 10000,     // an argument is wrong
    QNN_ERROR_INVALID_ERROR_HANDLE = 10001, // not a code of this library
    QNN_ERROR_MAX_ERROR = 10999,            // last code
    QNN_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnError_Error_t;

// Static text for a code.
// Errors: QNN_ERROR_INVALID_ARGUMENT, QNN_ERROR_INVALID_ERROR_HANDLE.
QNN_API Qnn_ErrorHandle_t QnnError_getMessage(Qnn_ErrorHandle_t errorHandle,
                                              const char **errorMessage);

// Text about the failure itself, as the error reporting options allow. Freed with
// QnnError_freeVerboseMessage.
// Errors: QNN_ERROR_INVALID_ARGUMENT, QNN_ERROR_INVALID_ERROR_HANDLE.
QNN_API Qnn_ErrorHandle_t QnnError_getVerboseMessage(Qnn_ErrorHandle_t errorHandle,
                                                     const char **errorMessage);

// Frees a verbose message.
// Errors: QNN_ERROR_INVALID_ARGUMENT.
QNN_API Qnn_ErrorHandle_t QnnError_freeVerboseMessage(const char *errorMessage);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_ERROR_H
