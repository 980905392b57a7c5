// SPDX-License-Identifier: MIT
//
// Shape rules of the seq group, for its table alone.
#ifndef QRN_IR_OPS_SEQ_H
#define QRN_IR_OPS_SEQ_H

#include "ir/op.h"

// seq_recurrent.c
qrn_status qrn_rule_lstm(const qrn_op_call *c);
qrn_status qrn_rule_gru(const qrn_op_call *c);

// seq_sparse.c
qrn_status qrn_rule_create_sparse(const qrn_op_call *c);
qrn_status qrn_rule_get_sparse_indices(const qrn_op_call *c);
qrn_status qrn_rule_get_sparse_values(const qrn_op_call *c);
qrn_status qrn_rule_sparse_to_dense(const qrn_op_call *c);

// seq_attention.c
qrn_status qrn_rule_grouped_query_attention(const qrn_op_call *c);
qrn_status qrn_rule_rotary_embedding(const qrn_op_call *c);
qrn_status qrn_rule_stft(const qrn_op_call *c);

// seq_stateful.c
qrn_status qrn_rule_buffer(const qrn_op_call *c);
qrn_status qrn_rule_if(const qrn_op_call *c);
qrn_status qrn_rule_random(const qrn_op_call *c);

// --- shared by the rules, in seq_stateful.c ---

static inline bool qrn_seq_has(const qrn_op_call *c, uint32_t i) { return i < c->n_in && c->in[i]; }
// Input i, when it is given, has exactly these dims.
qrn_status qrn_seq_expect(const qrn_op_call *c, uint32_t i, uint32_t rank, const uint32_t *dims);
// Input i, when it is given, is a single value: rank 0 or [1].
qrn_status qrn_seq_single(const qrn_op_call *c, uint32_t i);

#endif
