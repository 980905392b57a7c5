// SPDX-License-Identifier: MIT
//
// Log component: handles with a callback or the default stream.
#include "base/mem.h"
#include "core/errors.h"
#include "core/handle.h"
#include "core/own.h"

static qrn_status check_level(QnnLog_Level_t level) {
    if ((level >= QNN_LOG_LEVEL_ERROR && level <= QNN_LOG_LEVEL_DEBUG) ||
        level == QNN_LOG_LEVEL_MAX)
        return QRN_OK;
    return QRN_FAIL(QRN_E_ARGUMENT, "log level %d, expected %d to %d", (int)level,
                    QNN_LOG_LEVEL_ERROR, QNN_LOG_LEVEL_DEBUG);
}

static qrn_status create(QnnLog_Callback_t callback, QnnLog_Level_t level, Qnn_LogHandle_t *out) {
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "log: no place for the handle");
    QRN_TRY(check_level(level));
    qrn_api_log *log = qrn_calloc(sizeof *log);
    if (!log)
        return QRN_E_MEM;
    log->callback = callback;
    atomic_init(&log->level, (int)level);
    atomic_init(&log->users, 1);
    qrn_status s = QRN_E_MEM;
    log->handle = qrn_handle_new(QRN_KIND_LOG, log);
    if (log->handle)
        s = qrn_this_backend.log_level ? qrn_this_backend.log_level(log, (int)level) : QRN_OK;
    if (s != QRN_OK) {
        qrn_handle_free(log->handle);
        qrn_log_release(log);
        return s;
    }
    *out = log->handle;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnLog_create(QnnLog_Callback_t callback, QnnLog_Level_t maxLogLevel,
                                Qnn_LogHandle_t *logger) {
    return qrn_api_end(QRN_COMP_LOG, create(callback, maxLogLevel, logger), NULL);
}

static qrn_status set_level(qrn_api_log *log, QnnLog_Level_t level) {
    if (!log)
        return QRN_FAIL(QRN_E_HANDLE, "not a log handle");
    QRN_TRY(check_level(level));
    if (qrn_this_backend.log_level)
        QRN_TRY(qrn_this_backend.log_level(log, (int)level));
    atomic_store(&log->level, (int)level);
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnLog_setLogLevel(Qnn_LogHandle_t logger, QnnLog_Level_t maxLogLevel) {
    QRN_API_CALL;
    qrn_api_log *log = qrn_pin_log(logger);
    return qrn_api_end(QRN_COMP_LOG, set_level(log, maxLogLevel), log);
}

// Returns when no callback of the log runs any more. Called from inside a callback it does not wait
// for the others.
Qnn_ErrorHandle_t QnnLog_free(Qnn_LogHandle_t logger) {
    QRN_API_CALL;
    void *log = NULL;
    if (qrn_pin_last(QRN_KIND_LOG, logger, true, &log) == QRN_E_IN_USE)
        log = qrn_pin(QRN_KIND_LOG, logger);
    if (!log)
        return qrn_api_end(QRN_COMP_LOG, QRN_FAIL(QRN_E_HANDLE, "not a log handle"), NULL);
    qrn_handle_free(logger);
    // Backends and devices may still hold it, but the client's callback is out of bounds from now
    // on.
    atomic_store(&((qrn_api_log *)log)->level, 0);
    qrn_log_release(log);
    return QNN_SUCCESS;
}
