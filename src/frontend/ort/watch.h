// SPDX-License-Identifier: MIT
//
// Ending a run inside of a partition. A thread looks after runs whose graph has been executing for
// a while: when the application asked for the end of such a run, the execution is aborted by its
// QNN signal. Libraries without such signals are left alone, and so are runs that are profiled,
// because a probe with their options would write a profile, too.
#ifndef QRN_FRONTEND_ORT_WATCH_H
#define QRN_FRONTEND_ORT_WATCH_H

#include "frontend/ort/ep.h"

typedef struct qe_watch qe_watch;

qrn_status qe_watch_open(qe_ep *ep); // sets ep->watch, to NULL where nothing can be aborted
void qe_watch_close(qe_ep *ep);      // ends the thread; no run may be going on

// On the thread of a run, from its start to its end.
qrn_status qe_watch_run(qe_ep *ep, const OrtRunOptions *options);
void qe_watch_run_end(qe_ep *ep);

// Around an execution: the signal for it; NULL: it is not watched.
Qnn_SignalHandle_t qe_watch_enter(qe_ep *ep);
void qe_watch_leave(qe_ep *ep, Qnn_SignalHandle_t signal);

#endif
