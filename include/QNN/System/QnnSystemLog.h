// SPDX-License-Identifier: MIT
//
// System library: its logger.

#ifndef QNN_SYSTEM_LOG_H
#define QNN_SYSTEM_LOG_H

#include "QnnCommon.h"
#include "QnnLog.h"
#include "System/QnnSystemCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// Makes a logger. A NULL callback stands for the platform's default stream.
// Errors: QNN_COMMON_ERROR_NOT_SUPPORTED, QNN_LOG_ERROR_INVALID_ARGUMENT, QNN_LOG_ERROR_MEM_ALLOC,
// QNN_LOG_ERROR_INITIALIZATION.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemLog_create(QnnLog_Callback_t callback,
                                                     QnnLog_Level_t maxLogLevel,
                                                     Qnn_LogHandle_t *logger);

// Changes the level.
// Errors: QNN_LOG_ERROR_INVALID_ARGUMENT, QNN_LOG_ERROR_INVALID_HANDLE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemLog_setLogLevel(Qnn_LogHandle_t logger,
                                                          QnnLog_Level_t maxLogLevel);

// Frees the logger; nothing may use it any more.
// Errors: QNN_LOG_ERROR_MEM_ALLOC, QNN_LOG_ERROR_INVALID_HANDLE.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemLog_free(Qnn_LogHandle_t logger);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_SYSTEM_LOG_H
