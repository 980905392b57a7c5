// SPDX-License-Identifier: MIT
//
// Contexts on the accelerator; see session.h.
#include "backend/htp/session.h"

#include "backend/htp/group.h"

qrn_status qrn_htp_execute_begin(qrn_api_graph *g) {
    bool loaded = g->context->from_binary; // the option is stored, but was meant for the preparer
    if (!loaded && qrn_htp_context_of(g->context)->options.prepare_only)
        return QRN_FAIL(QRN_E_NOT_PERMITTED,
                        "graph '%s': its context was made with PREPARE_ONLY; save it as a binary "
                        "and execute that",
                        g->ir->name);
    atomic_store(&qrn_htp_graph_of(g)->executed, true);
    return QRN_OK;
}

void qrn_htp_execute_end(qrn_api_graph *g) { (void)g; }

void qrn_htp_session_end(qrn_api_context *c) { qrn_htp_group_leave(c); }
