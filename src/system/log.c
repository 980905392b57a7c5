// SPDX-License-Identifier: MIT
//
// The System library's logger: the core's, plus the memory of which handle is the newest.
//
// State of the library: that handle. It is never dereferenced, so a freed one does no harm.
#include "system/system.h"

#include <stdatomic.h>

static _Atomic(void *) newest;

qrn_api_log *qrn_system_log(void) {
    return qrn_pin_log(atomic_load_explicit(&newest, memory_order_relaxed));
}

Qnn_ErrorHandle_t QnnSystemLog_create(QnnLog_Callback_t callback, QnnLog_Level_t maxLogLevel,
                                      Qnn_LogHandle_t *logger) {
    Qnn_ErrorHandle_t code = QnnLog_create(callback, maxLogLevel, logger);
    if (code == QNN_SUCCESS)
        atomic_store(&newest, *logger);
    return code;
}

Qnn_ErrorHandle_t QnnSystemLog_setLogLevel(Qnn_LogHandle_t logger, QnnLog_Level_t maxLogLevel) {
    return QnnLog_setLogLevel(logger, maxLogLevel);
}

Qnn_ErrorHandle_t QnnSystemLog_free(Qnn_LogHandle_t logger) { return QnnLog_free(logger); }
