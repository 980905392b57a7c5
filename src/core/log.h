// SPDX-License-Identifier: MIT
//
// Logs: the one function through which every line goes.
#ifndef QRN_CORE_LOG_H
#define QRN_CORE_LOG_H

#include "QnnLog.h"

typedef struct qrn_api_log qrn_api_log;

// One more and one fewer user; NULL is fine.
qrn_api_log *qrn_log_hold(qrn_api_log *log);
void qrn_log_release(qrn_api_log *log);

// errno of opening the file of QUERN_LOG; 0 where it is open or not asked for.
int qrn_log_file_error(void);

// Logging: below the level of `log` nothing is formatted. Also goes to QUERN_LOG when set.
void qrn_log(qrn_api_log *log, QnnLog_Level_t level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
