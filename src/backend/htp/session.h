// SPDX-License-Identifier: MIT
//
// A context on the accelerator: its place in the address space of a session, which of its graphs
// are loaded, and who may execute.
#ifndef QRN_BACKEND_HTP_SESSION_H
#define QRN_BACKEND_HTP_SESSION_H

#include "backend/htp/htp.h"

// Brackets one execution of a graph: begin refuses what may not run (and on failure nothing is to
// be ended).
qrn_status qrn_htp_execute_begin(qrn_api_graph *g);
void qrn_htp_execute_end(qrn_api_graph *g);

// Ends what a context has here.
void qrn_htp_session_end(qrn_api_context *c);

#endif
