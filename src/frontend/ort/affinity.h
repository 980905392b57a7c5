// SPDX-License-Identifier: MIT
//
// Which backend may take which ops (option op_affinity): a JSON file that pins op types
// ("op_type") and single nodes ("op_name") to one backend each. What is pinned to "cpu" is left to
// other providers, unless the session's own backend is the CPU's. A pin to any other backend than
// the session's can never be followed and fails the session.
#ifndef QRN_FRONTEND_ORT_AFFINITY_H
#define QRN_FRONTEND_ORT_AFFINITY_H

#include "frontend/ort/ep.h"

qrn_status qe_affinity_read(qe_ep *ep);        // fills ep->affinity; nothing without the option
qrn_status qe_affinity_check(const qe_ep *ep); // when the backend is known
// Refuses nodes of the graph in `why`, and warns of names that it does not have.
qrn_status qe_affinity_refuse(const qe_ep *ep, const ox_graph *g, qrn_arena *arena,
                              const char **why);

#endif
