// SPDX-License-Identifier: MIT
//
// How nodes are connected across subgraphs. The nodes of a branch read and write tensors of the
// graphs around it; for those graphs the writer is the node that runs the branch.
#ifndef QRN_CORE_BRANCH_H
#define QRN_CORE_BRANCH_H

#include "ir/graph.h"

// Checks of a node before it is added to g: its branches exist, what it reads is written before it,
// and what it writes outside g has no other writer there.
qrn_status qrn_branch_check(const qrn_graph *g, const qrn_node *n);

// Sets the producers of tensors outside a branch after the node was added.
void qrn_branch_added(const qrn_graph *g, qrn_node *n);

#endif
