// SPDX-License-Identifier: MIT
//
// What finalize, execute and the calls on binaries have in common: a profile that they fill and a
// signal that may end them.
#ifndef QRN_API_CALL_H
#define QRN_API_CALL_H

#include "core/clock.h"
#include "core/profile.h"
#include "core/signal.h"

// Profile and signal of one call.
typedef struct qrn_call {
    qrn_api_profile *profile; // NULL: none
    qrn_api_signal *signal;   // NULL: none
    qrn_api_graph *graph;     // that is executed; a profile may be bound to it
    uint64_t start_ns;
} qrn_call;

// Looks the handles up. `g` is the graph that is executed, NULL for all other calls.
qrn_status qrn_call_find(qrn_call *call, qrn_api_backend *b, qrn_api_graph *g, const void *profile,
                         const void *signal);
// Takes both and starts the clock; nothing is held on failure.
qrn_status qrn_call_begin(qrn_call *call);
// The second half of it: takes the profile and starts the clock, for a call that has its signal.
qrn_status qrn_call_open(qrn_call *call);
// Adds the events of the call to its profile; fills in the total time.
void qrn_call_report(const qrn_call *call, qrn_call_record *r);
// Lets both go.
void qrn_call_end(qrn_call *call);

#endif
