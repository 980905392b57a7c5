// SPDX-License-Identifier: MIT
//
// Executing on the HTP, and what an execution notes for its profile.
#ifndef QRN_BACKEND_HTP_EXECUTE_H
#define QRN_BACKEND_HTP_EXECUTE_H

#include "backend/htp/htp.h"

#define QRN_HTP_MAX_YIELDS 64u // of which the parts are kept; further ones are only counted

// A yield: the engine is given back, others run, the engine is there again.
typedef struct qrn_htp_yield {
    uint64_t release_ns, wait_ns, restore_ns;
} qrn_htp_yield;

// Measured; 0 where nothing happened.
typedef struct qrn_htp_report {
    uint64_t inside_ns;  // the whole run
    uint64_t engine_ns;  // from asking for the engine until giving it back
    uint64_t acquire_ns; // part of it: until the engine was granted
    uint64_t power_ns;   // part of it: from then until the first step could begin
    uint64_t yield_ns;   // part of it: all yields
    uint32_t n_yields;
    qrn_htp_yield yields[QRN_HTP_MAX_YIELDS];
} qrn_htp_report;

// qrn_runner_run on the engine. opt->report: a qrn_htp_report, or NULL.
qrn_status qrn_htp_run(qrn_api_graph *g, qrn_binding *io, const qrn_run_options *opt);

#endif
