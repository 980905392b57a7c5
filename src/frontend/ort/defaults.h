// SPDX-License-Identifier: MIT
//
// Inputs with a default: initializers that are inputs as well, which an application may replace in
// any run. Where a node needs such a value as a constant, the partition is compiled with the
// default. Each run compares the input with it; for another value the partition is compiled again.
#ifndef QRN_FRONTEND_ORT_DEFAULTS_H
#define QRN_FRONTEND_ORT_DEFAULTS_H

#include "frontend/ort/part.h"

// The model with those defaults as constants that nodes rejected by the plan depend on, in the
// arena of g's model; *n: how many, the last of its constants.
qrn_status qe_defaults_needed(const qe_graph *g, const ox_plan *plan, ox_model *out, uint32_t *n);
// Has the session compile these values as constants.
qrn_status qe_defaults_freeze(qe_ep *ep, const ox_tensor *list, uint32_t n);
// A graph with the frozen defaults of the fused node's inputs as constants; the graph itself where
// there are none.
qrn_status qe_defaults_apply(const qe_ep *ep, const qe_graph *g, const ox_node *fused,
                             qe_graph *out);
// Remembers in the partition which of its inputs are constants of the graph it was compiled from.
qrn_status qe_defaults_note(qe_part *p, const ox_graph *g);
// Keeps what a partition with such inputs was compiled from: takes the graph.
qrn_status qe_defaults_keep(qe_part *p, qe_graph *g, const ox_node *fused);
void qe_defaults_free(struct qe_defaults *d); // NULL is fine

// The partition for the values of this run: the same, or one that is compiled for them now.
qrn_status qe_part_for_values(const qe_part *p, const OrtKernelContext *context,
                              const qe_part **out);

#endif
