// SPDX-License-Identifier: MIT
//
// Log component: a logger that other components write to.

#ifndef QNN_LOG_H
#define QNN_LOG_H

#include <stdarg.h>
#include <stdint.h>

#include "QnnCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// Errors of the log component.
typedef enum {
    QNN_LOG_MIN_ERROR = 11000,              // first code
    QNN_LOG_NO_ERROR = 0,                   // done
    QNN_LOG_ERROR_MEM_ALLOC = 1002,         // out of memory
    QNN_LOG_ERROR_INITIALIZATION = 11002,   // setting up failed
    QNN_LOG_ERROR_INVALID_ARGUMENT = 11003, // an argument is wrong
    QNN_LOG_ERROR_INVALID_HANDLE = 11004,   // not a handle of this component
    QNN_LOG_MAX_ERROR = 11999,              // last code
    QNN_LOG_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnLog_Error_t;

// Severity of a message; a logger delivers its own level and the more severe ones.
typedef enum {
    QNN_LOG_LEVEL_ERROR = 1,
    QNN_LOG_LEVEL_WARN = 2,
    QNN_LOG_LEVEL_INFO = 3,
    QNN_LOG_LEVEL_VERBOSE = 4,
    QNN_LOG_LEVEL_DEBUG = 5,
    QNN_LOG_LEVEL_MAX = 0x7FFFFFFF, // everything
} QnnLog_Level_t;

// Receives messages, from any thread. timestamp says when; args belong to fmt as for vprintf.
typedef void (*QnnLog_Callback_t)(const char *fmt, QnnLog_Level_t level, uint64_t timestamp,
                                  va_list args);

// Makes a logger. May be called before there is a backend. A NULL callback stands for the
// platform's default stream.
// Errors: QNN_COMMON_ERROR_NOT_SUPPORTED, QNN_LOG_ERROR_INVALID_ARGUMENT, QNN_LOG_ERROR_MEM_ALLOC,
// QNN_LOG_ERROR_INITIALIZATION, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnLog_create(QnnLog_Callback_t callback, QnnLog_Level_t maxLogLevel,
                                        Qnn_LogHandle_t *logger);

// Changes the level.
// Errors: QNN_LOG_ERROR_INVALID_ARGUMENT, QNN_LOG_ERROR_INVALID_HANDLE,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnLog_setLogLevel(Qnn_LogHandle_t logger, QnnLog_Level_t maxLogLevel);

// Frees the logger; nothing may use it any more.
// Errors: QNN_LOG_ERROR_MEM_ALLOC, QNN_LOG_ERROR_INVALID_HANDLE.
QNN_API Qnn_ErrorHandle_t QnnLog_free(Qnn_LogHandle_t logger);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_LOG_H
