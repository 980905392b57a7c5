// SPDX-License-Identifier: MIT
//
// Status texts and the message of the last failure on this thread.
#include "base/status.h"

#include "base/report_text.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static const char *const status_text[QRN_STATUS_COUNT] = {
#define X(name, text) [QRN_E_##name] = text,
    QRN_STATUS_LIST(X)
#undef X
};

static _Thread_local char message[QRN_MESSAGE_MAX];
static atomic_bool no_memory;

const char *qrn_status_text(qrn_status s) {
    if ((unsigned)s >= QRN_STATUS_COUNT)
        return "unknown status";
    return status_text[s];
}

qrn_status qrn_fail(qrn_status s, const char *fmt, ...) {
    if (s == QRN_E_MEM)
        atomic_store(&no_memory, true);
    va_list ap;
    va_start(ap, fmt);
    // Formatted aside first: an argument may be the current message itself.
    char line[QRN_MESSAGE_MAX];
    if (vsnprintf(line, sizeof line, fmt, ap) < 0)
        line[0] = '\0';
    va_end(ap);
    qrn_shown_text(message, sizeof message, line); // names in it come from files
    return s;
}

bool qrn_failed_for_memory(void) { return atomic_load(&no_memory); }

void qrn_restore_failed_for_memory(bool before) { atomic_store(&no_memory, before); }

const char *qrn_message(void) { return message; }

void qrn_message_clear(void) { message[0] = '\0'; }
