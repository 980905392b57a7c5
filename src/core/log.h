// SPDX-License-Identifier: MIT
//
// Logs: where lines go, and the one function through which every line goes.
#ifndef QRN_CORE_LOG_H
#define QRN_CORE_LOG_H

#include "QnnLog.h"

#include <stdatomic.h>

// Outlives its handle as long as somebody holds it; after QnnLog_free it receives nothing more.
typedef struct qrn_api_log {
    void *handle;
    QnnLog_Callback_t callback; // NULL: default stream (stderr)
    _Atomic int level;          // QnnLog_Level_t; messages above it are dropped; 0: closed
    atomic_uint users;          // the handle, backends and devices that hold it
} qrn_api_log;

// One more and one fewer user; NULL is fine.
qrn_api_log *qrn_log_hold(qrn_api_log *log);
void qrn_log_release(qrn_api_log *log);

// Logging: below the level of `log` nothing is formatted. Also goes to QUERN_LOG when set.
void qrn_log(qrn_api_log *log, QnnLog_Level_t level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
