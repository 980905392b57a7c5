// SPDX-License-Identifier: MIT
//
// Has an application asked for the end of a run? onnxruntime's interface can set and clear that
// flag of run options, and has no function that reads it. But a run of anything with the same
// options fails at once when it is set: so a model of one node is run, which takes microseconds.
#ifndef QRN_FRONTEND_ORT_PROBE_H
#define QRN_FRONTEND_ORT_PROBE_H

#include "frontend/ort/host.h"

typedef struct qe_probe qe_probe;

typedef enum qe_flag {
    QE_GOES_ON,
    QE_TERMINATED,
    QE_UNKNOWN // the options do not fit the model: they name adapters, for instance
} qe_flag;

qrn_status qe_probe_open(qe_probe **out); // a session of the host, without threads of its own
void qe_probe_close(qe_probe *p);         // NULL is fine
qe_flag qe_probe_ask(qe_probe *p, const OrtRunOptions *options);

#endif
