// SPDX-License-Identifier: MIT
//
// Global configuration: options of the process rather than of a handle.

#ifndef QNN_GLOBAL_CONFIG_H
#define QNN_GLOBAL_CONFIG_H

#include "QnnCommon.h"
#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

// Errors of the global configuration.
typedef enum {
    QNN_GLOBAL_CONFIG_MIN_ERROR = 15000,            // first code
    QNN_GLOBAL_CONFIG_NO_ERROR = 0,                 // done
    QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG = 15000, // an option or its value is wrong
    QNN_GLOBAL_CONFIG_MAX_ERROR = 15999,            // last code
    QNN_GLOBAL_CONFIG_ERROR_UNDEFINED = 0x7FFFFFFF,
} QnnGlobalConfig_Error_t;

// Options of the process.
typedef enum {
    QNN_GLOBAL_CONFIG_OPTION_SOC_MODEL = 0,
    QNN_GLOBAL_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnGlobalConfig_ConfigOption_t;

// One option.
typedef struct {
    QnnGlobalConfig_ConfigOption_t option; // selects the union member
    union UNNAMED {
        Qnn_SocModel_t socModel; // SOC_MODEL
    };
} QnnGlobalConfig_t;

// Initial values: everything unset.
// clang-format off
#define QNN_GLOBAL_CONFIG_INIT {QNN_GLOBAL_CONFIG_OPTION_UNDEFINED, {QNN_SOC_MODEL_UNKNOWN}}
// clang-format on

// Sets options of the process, before anything is created.
// Errors: QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG.
QNN_API Qnn_ErrorHandle_t QnnGlobalConfig_Set(const QnnGlobalConfig_t **config);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_GLOBAL_CONFIG_H
