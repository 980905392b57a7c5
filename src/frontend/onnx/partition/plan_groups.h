// SPDX-License-Identifier: MIT
//
// Groups of accepted nodes (plan.c).
#ifndef QRN_FRONTEND_ONNX_PLAN_GROUPS_H
#define QRN_FRONTEND_ONNX_PLAN_GROUPS_H

#include "frontend/onnx/partition/plan.h"

// Numbers the groups of the nodes whose group is not negative.
qrn_status ox_group_nodes(const ox_graph *g, ox_plan *plan);
// Groups that compute nothing lose their nodes; the others are counted from 0. Adds up n_taken.
qrn_status ox_drop_idle_groups(const ox_graph *g, ox_plan *plan);

#endif
