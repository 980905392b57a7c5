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

// Export attribute of QnnSaver_initialize; empty unless the build of a library defines it.
#ifndef QNN_SAVER_API
#define QNN_SAVER_API
#endif

// Errors of the Saver.
typedef enum {
    QNN_SAVER_MIN_ERROR = 4950,                  // first code
    QNN_SAVER_ERROR_DUMMY_RETVALUE = 4950,       // recorded, but there is no result to give
    QNN_SAVER_ERROR_ALREADY_INSTANTIATED = 4951, // too late: other calls were recorded
    QNN_SAVER_MAX_ERROR = 4998,                  // last code
} QnnSaver_Error_t;

// Names of the files.
typedef struct {
    const char *modelFileName; // C source; saver_output.c by default
    const char *dataFileName;  // tensor data; params.bin by default
} QnnSaver_FileConfig_t;

// Options of the Saver.
typedef enum {
    QNN_SAVER_CONFIG_OPTION_OUTPUT_DIRECTORY = 0,
    QNN_SAVER_CONFIG_OPTION_APPEND_TIMESTAMP = 1,
    QNN_SAVER_CONFIG_OPTION_BACKEND_ID = 2, // whose custom options to expect
    QNN_SAVER_CONFIG_OPTION_FILE_CONFIG = 3,
    QNN_SAVER_CONFIG_WRITE_OUTPUT_HEADER = 4,
    QNN_SAVER_CONFIG_WRITE_OUTPUT_FOOTER = 5,
    QNN_SAVER_CONFIG_OPTION_UNDEFINED = 0x7FFFFFFF,
} QnnSaver_ConfigOption_t;

// One option; flags are on when not 0.
typedef struct {
    QnnSaver_ConfigOption_t option; // selects the union member
    union UNNAMED {
        const char *outputDirectory;      // OUTPUT_DIRECTORY: ./saver_output/ by default
        uint8_t appendTimestamp;          // APPEND_TIMESTAMP: to the folder name
        uint32_t backendId;               // BACKEND_ID: whose custom options to expect
        QnnSaver_FileConfig_t fileConfig; // FILE_CONFIG
        uint8_t writeOutputHeader;        // WRITE_OUTPUT_HEADER
        uint8_t writeOutputFooter;        // WRITE_OUTPUT_FOOTER
    };
} QnnSaver_Config_t;

// Initial values: everything unset.
// clang-format off
#define QNN_SAVER_CONFIG_INIT {QNN_SAVER_CONFIG_OPTION_UNDEFINED, {NULL}}
// clang-format on

// Sets options, before any other call of the library.
// Errors: QNN_COMMON_ERROR_INVALID_ARGUMENT, QNN_SAVER_ERROR_ALREADY_INSTANTIATED.
QNN_SAVER_API Qnn_ErrorHandle_t QnnSaver_initialize(const QnnSaver_Config_t **config);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_SAVER_H
