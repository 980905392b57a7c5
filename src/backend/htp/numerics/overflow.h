// SPDX-License-Identifier: MIT
//
// Watching an execution for numbers that are too large for fp16.
#ifndef QRN_BACKEND_HTP_OVERFLOW_H
#define QRN_BACKEND_HTP_OVERFLOW_H

#include "backend/htp/htp.h"
#include "base/fp16.h"

enum { QRN_HTP_SEEN = 1, QRN_HTP_LOST = 2 }; // marks of a value; 0: not looked at

typedef struct qrn_htp_watch {
    const qrn_api_graph *graph;
    qrn_fp16_rule rule;
    uint8_t *marks; // [values of the plan]; NULL: nothing is watched
    bool done;      // something was reported
} qrn_htp_watch;

// Sets the trace of *opt where this execution is to be watched: w must live until the end.
void qrn_htp_watch_begin(qrn_htp_watch *w, const qrn_api_graph *g, qrn_run_options *opt);
void qrn_htp_watch_end(qrn_htp_watch *w);

#endif
