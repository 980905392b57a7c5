// SPDX-License-Identifier: MIT
//
// Restarts of the accelerator (HTP-SSR-*). The host's kernels do not crash; a client makes the
// modelled accelerator do so at a chosen crossing, that is a call that would reach it
// (Quern/QuernBackend.h). Contexts made before a restart are lost: they, their graphs and memory
// handles can only be freed.
#ifndef QRN_BACKEND_HTP_RESTART_H
#define QRN_BACKEND_HTP_RESTART_H

#include "backend/htp/htp.h"

// Number of restarts; a context keeps that of its creation.
uint32_t qrn_htp_restarts(void);
// Is the context lost? QRN_E_COMM, or QRN_E_COMM_FATAL when the accelerator did not come back. c is
// NULL for a context that is being made.
qrn_status qrn_htp_restart_check(const qrn_api_context *c);
// A call reaches the accelerator: the same, after the restart that was ordered for it.
qrn_status qrn_htp_cross(const qrn_api_context *c);

// The n-th crossing from now on finds the accelerator crashed (1: the next one; 0: none). fatal: it
// does not come back, until this is called again.
void qrn_htp_restart_at(uint32_t n, bool fatal);
// The order of QUERN_HTP_RESTART, counted from the library's first backend on; a value that is none
// is logged for each backend.
void qrn_htp_restart_of_environment(qrn_api_log *log);

#endif
