// SPDX-License-Identifier: MIT
//
// From an op configuration to a checked node: one path for the validation of single ops and for
// adding nodes, so that the two cannot disagree.
#ifndef QRN_API_OPCONFIG_H
#define QRN_API_OPCONFIG_H

#include "core/own.h"

// Where operands come from and where the node goes.
typedef struct qrn_op_source {
    qrn_api_backend *backend;
    qrn_api_graph *graph; // operands are its tensors, by id; NULL: operands are as described
    qrn_arena *arena;     // node, arrays, texts
} qrn_op_source;

// Builds and checks a node. Fails with QRN_E_OP_UNKNOWN (package or op), QRN_E_TENSOR (operand),
// QRN_E_OP_CONFIG / SHAPE / DTYPE / PARAM (the op refuses it), QRN_E_MEM.
qrn_status qrn_opconfig_node(const qrn_op_source *src, const Qnn_OpConfig_t *config,
                             qrn_node **node);

#endif
