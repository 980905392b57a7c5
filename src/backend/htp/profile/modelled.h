// SPDX-License-Identifier: MIT
//
// Modelled cycles of a chip beside what profiles measure (HTP-PRF-05, HTP-PRF-10 to 13): events of
// types that are Quern's own, so that who counts published ones counts none of these.
#ifndef QRN_BACKEND_HTP_MODELLED_H
#define QRN_BACKEND_HTP_MODELLED_H

#include "backend/htp/device/prediction.h"

// A call as a whole; below it its nodes; below the overlap of a node (5002, 5003) up to ten
// transfers that run meanwhile.
#define QRN_HTP_EVENT_MODELLED 12003u
#define QRN_HTP_EVENT_MODELLED_NODE 12004u
#define QRN_HTP_EVENT_MODELLED_TRANSFER 12005u
// The call in microseconds, with the core clock that the power votes in force ask for.
#define QRN_HTP_EVENT_MODELLED_TIME 12006u

// Of one graph: made when a profile of an execution first asks (options are settled then), and kept
// until the graph is freed: updates of tensors change nothing here.
typedef struct qrn_htp_modelled {
    qrn_arena *arena;
    qrn_htp_scheduled x;
    uint32_t *slot_of; // per node of the plan: the step that it gives its name; UINT32_MAX: none
    uint32_t *node_of; // per step: that node; UINT32_MAX: none
    uint32_t *plan_of; // per node of the graph: its number in the plan; UINT32_MAX: none
    uint32_t n_nodes;
} qrn_htp_modelled;

// One that is not kept, to be freed; NULL: nothing can be said.
qrn_htp_modelled *qrn_htp_modelled_make(const qrn_api_graph *g);
void qrn_htp_modelled_free(qrn_htp_modelled *m); // NULL is fine

// NULL: nothing can be said. Safe from several threads that execute the graph.
const qrn_htp_modelled *qrn_htp_modelled_of(const qrn_api_graph *g);
void qrn_htp_modelled_drop(qrn_htp_graph *g);

// How much of a node's time, and of its wait, transfers run in the background: 0 to 1, by the
// model; 0 where nothing can be said. `node` is its number in the plan.
typedef struct qrn_htp_shares {
    double run, wait;
} qrn_htp_shares;
qrn_htp_shares qrn_htp_overlap_shares(const qrn_api_graph *g, uint32_t node);

// Adds the events of an execution.
void qrn_htp_record_modelled(qrn_api_profile *p, const qrn_api_graph *g, bool linting);

#endif
