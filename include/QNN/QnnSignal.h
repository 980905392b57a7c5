// SPDX-License-Identifier: MIT
//
// Signal component: an object that lets another thread abort a running call, or limits its time.

#ifndef QNN_SIGNAL_H
#define QNN_SIGNAL_H

#include <stddef.h>
#include <stdint.h>

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// Errors of the signal component.
typedef enum {
    QNN_SIGNAL_MIN_ERROR = 9000,                      // first code
    QNN_SIGNAL_NO_ERROR = 0,                          // done
    QNN_SIGNAL_ERROR_UNSUPPORTED = 1000,              // the library does not do this
    QNN_SIGNAL_ERROR_SIGNAL_IN_USE = 9000,            // it serves another call
    QNN_SIGNAL_ERROR_SIGNAL_IDLE = 9001,              // no call uses it
    QNN_SIGNAL_ERROR_INVALID_ARGUMENT = 9002,         // an argument is wrong
    QNN_SIGNAL_ERROR_INVALID_HANDLE = 9003,           // not a handle of this component
    QNN_SIGNAL_ERROR_TIMEOUT = 9004,                  // waiting took too long
    QNN_SIGNAL_ERROR_INCOMPATIBLE_SIGNAL_TYPE = 9005, // not a signal of that kind
    QNN_SIGNAL_ERROR_MEM_ALLOC = 1002,                // out of memory
    QNN_SIGNAL_MAX_ERROR = 9999,                      // last code
    QNN_SIGNAL_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnSignal_Error_t;

// Pointer to the custom configuration struct of the backend.
typedef void *QnnSignal_CustomConfig_t;

// Options of a signal. ABORT and TIMEOUT exclude each other; without either the signal does
// nothing.
typedef enum {
    QNN_SIGNAL_CONFIG_OPTION_CUSTOM = 0,
    QNN_SIGNAL_CONFIG_OPTION_ABORT = 1,
    QNN_SIGNAL_CONFIG_OPTION_TIMEOUT = 2,
    QNN_SIGNAL_CONFIG_UNDEFINED = 0x7FFFFFFF,
} QnnSignal_ConfigOption_t;

// One option.
typedef struct {
    QnnSignal_ConfigOption_t option; // selects the union member
    union UNNAMED {
        QnnSignal_CustomConfig_t customConfig; // CUSTOM: struct of the backend
        uint64_t timeoutDurationUs;            // TIMEOUT: microseconds
    };
} QnnSignal_Config_t;

// Initial values: everything unset.
// clang-format off
#define QNN_SIGNAL_CONFIG_INIT {QNN_SIGNAL_CONFIG_UNDEFINED, {NULL}}
// clang-format on

// Makes a signal. It serves one call at a time.
// Errors: QNN_SIGNAL_ERROR_INVALID_ARGUMENT, QNN_SIGNAL_ERROR_INVALID_HANDLE,
// QNN_SIGNAL_ERROR_UNSUPPORTED, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnSignal_create(Qnn_BackendHandle_t backend,
                                           const QnnSignal_Config_t **config,
                                           Qnn_SignalHandle_t *signal);

// Changes options; not while a call uses the signal.
// Errors: QNN_SIGNAL_ERROR_INVALID_HANDLE, QNN_SIGNAL_ERROR_INVALID_ARGUMENT,
// QNN_SIGNAL_ERROR_SIGNAL_IN_USE, QNN_SIGNAL_ERROR_UNSUPPORTED.
QNN_API Qnn_ErrorHandle_t QnnSignal_setConfig(Qnn_SignalHandle_t signal,
                                              const QnnSignal_Config_t **config);

// Aborts the call that uses the signal and waits until that call is about to return.
// Errors: QNN_SIGNAL_ERROR_INVALID_HANDLE, QNN_SIGNAL_ERROR_INCOMPATIBLE_SIGNAL_TYPE,
// QNN_SIGNAL_ERROR_SIGNAL_IDLE, QNN_SIGNAL_ERROR_UNSUPPORTED,
// QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL.
QNN_API Qnn_ErrorHandle_t QnnSignal_trigger(Qnn_SignalHandle_t signal);

// Frees the signal; not while a call uses it.
// Errors: QNN_SIGNAL_ERROR_INVALID_HANDLE, QNN_SIGNAL_ERROR_SIGNAL_IN_USE,
// QNN_SIGNAL_ERROR_MEM_ALLOC, QNN_SIGNAL_ERROR_UNSUPPORTED.
QNN_API Qnn_ErrorHandle_t QnnSignal_free(Qnn_SignalHandle_t signal);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_SIGNAL_H
