// SPDX-License-Identifier: MIT
//
// Saver backend (records calls instead of running them): options that are set before any other
// call.

#ifndef QNN_SAVER_H
#define QNN_SAVER_H

#include <stddef.h>
#include <stdint.h>

#include "QnnTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef QNN_SAVER_API
#define QNN_SAVER_API
#endif

typedef enum {
    QNN_SAVER_MIN_ERROR = 4950,
    QNN_SAVER_ERROR_DUMMY_RETVALUE = 4950,
    QNN_SAVER_ERROR_ALREADY_INSTANTIATED = 4951,
    QNN_SAVER_MAX_ERROR = 4998,
} QnnSaver_Error_t;

typedef struct {
    const char *modelFileName;
    const char *dataFileName;
} QnnSaver_FileConfig_t;

typedef enum {
    QNN_SAVER_CONFIG_OPTION_OUTPUT_DIRECTORY = 0,
    QNN_SAVER_CONFIG_OPTION_APPEND_TIMESTAMP = 1,
    QNN_SAVER_CONFIG_OPTION_BACKEND_ID = 2,
    QNN_SAVER_CONFIG_OPTION_FILE_CONFIG = 3,
    QNN_SAVER_CONFIG_WRITE_OUTPUT_HEADER = 4,
    QNN_SAVER_CONFIG_WRITE_OUTPUT_FOOTER = 5,
    QNN_SAVER_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnSaver_ConfigOption_t;

typedef struct {
    QnnSaver_ConfigOption_t option;
    union UNNAMED {
        const char *outputDirectory;
        uint8_t appendTimestamp;
        uint32_t backendId;
        QnnSaver_FileConfig_t fileConfig;
        uint8_t writeOutputHeader;
        uint8_t writeOutputFooter;
    };
} QnnSaver_Config_t;

// Initial values: everything unset.
// clang-format off
#define QNN_SAVER_CONFIG_INIT {QNN_SAVER_CONFIG_OPTION_UNDEFINED, {NULL}}
// clang-format on

QNN_SAVER_API Qnn_ErrorHandle_t QnnSaver_initialize(const QnnSaver_Config_t **config);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_SAVER_H
