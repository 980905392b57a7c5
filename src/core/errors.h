// SPDX-License-Identifier: MIT
//
// From statuses to the documented codes of the component that was called, with logging of the line.
#ifndef QRN_CORE_ERRORS_H
#define QRN_CORE_ERRORS_H

#include "base/status.h"
#include "core/log.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum qrn_component {
    QRN_COMP_COMMON,
    QRN_COMP_BACKEND,
    QRN_COMP_DEVICE,
    QRN_COMP_CONTEXT,
    QRN_COMP_GRAPH,
    QRN_COMP_TENSOR,
    QRN_COMP_OP_PACKAGE,
    QRN_COMP_MEM,
    QRN_COMP_SIGNAL,
    QRN_COMP_LOG,
    QRN_COMP_PROFILE,
    QRN_COMP_ERROR,
    QRN_COMP_GLOBAL_CONFIG,
    QRN_COMP_PERF,           // performance infrastructure of the HTP
    QRN_COMP_SYSTEM_CONTEXT, // of the System library
    QRN_COMP_SYSTEM_TENSOR,
    QRN_COMP_SYSTEM_PROFILE,
    QRN_COMP_SYSTEM_DLC,
    QRN_COMP_COUNT
} qrn_component;

// The documented code for a status in a component (table in errors.c).
Qnn_ErrorHandle_t qrn_error_code(qrn_component comp, qrn_status s);

// Ends an API call: OK gives QNN_SUCCESS; a failure logs the thread's message (or the status text)
// at error level to `log` (may be NULL) and QUERN_LOG, remembers it for getVerboseMessage, and
// returns the code. Call it exactly once per API call. The thread's message is cleared.
Qnn_ErrorHandle_t qrn_api_end(qrn_component comp, qrn_status s, qrn_api_log *log);
// The same where a function has its own code for a status: `code` is what a failure returns.
Qnn_ErrorHandle_t qrn_api_end_as(Qnn_ErrorHandle_t code, qrn_status s, qrn_api_log *log);

// The same in a context that may be for trials, where a rejected node is an answer and no error: it
// is logged as "trial: ..." at verbose level.
Qnn_ErrorHandle_t qrn_api_end_trial(qrn_component comp, qrn_status s, bool is_trial,
                                    qrn_api_log *log);

// The meaning of a code, "NAME: meaning"; NULL when there is no such code.
const char *qrn_error_text(Qnn_ErrorHandle_t error);
// What this thread's last failure with the code was about, "NAME: message"; false when that is not
// known any more.
bool qrn_error_kept(Qnn_ErrorHandle_t error, char *line, size_t size);

#endif
