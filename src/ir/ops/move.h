// SPDX-License-Identifier: MIT
//
// Shape rules of the move group, for its table alone.
#ifndef QRN_IR_OPS_MOVE_H
#define QRN_IR_OPS_MOVE_H

#include "ir/op.h"

// move_rearrange.c
qrn_status qrn_rule_batch_to_space(const qrn_op_call *c);
qrn_status qrn_rule_channel_shuffle(const qrn_op_call *c);
qrn_status qrn_rule_concat(const qrn_op_call *c);
qrn_status qrn_rule_depth_to_space(const qrn_op_call *c);
qrn_status qrn_rule_pack(const qrn_op_call *c);
qrn_status qrn_rule_pad(const qrn_op_call *c);
qrn_status qrn_rule_space_to_batch(const qrn_op_call *c);
qrn_status qrn_rule_space_to_depth(const qrn_op_call *c);
qrn_status qrn_rule_split(const qrn_op_call *c);
qrn_status qrn_rule_tile(const qrn_op_call *c);
qrn_status qrn_rule_transpose(const qrn_op_call *c);
qrn_status qrn_rule_unpack(const qrn_op_call *c);

// move_reshape.c
qrn_status qrn_rule_expand_dims(const qrn_op_call *c);
qrn_status qrn_rule_reshape(const qrn_op_call *c);
qrn_status qrn_rule_squeeze(const qrn_op_call *c);
qrn_status qrn_rule_strided_slice(const qrn_op_call *c);

// move_index.c
qrn_status qrn_rule_batch_permutation(const qrn_op_call *c);
qrn_status qrn_rule_constant_of_shape(const qrn_op_call *c);
qrn_status qrn_rule_gather(const qrn_op_call *c);
qrn_status qrn_rule_gather_elements(const qrn_op_call *c);
qrn_status qrn_rule_gather_nd(const qrn_op_call *c);
qrn_status qrn_rule_nonzero(const qrn_op_call *c);
qrn_status qrn_rule_one_hot(const qrn_op_call *c);
qrn_status qrn_rule_scatter_elements(const qrn_op_call *c);
qrn_status qrn_rule_scatter_nd(const qrn_op_call *c);
qrn_status qrn_rule_shape(const qrn_op_call *c);

// --- shared by the rules, in move_rearrange.c ---

// Data keeps its type on the way from in[i] to out[o]; only real numbers (float, fixed point) may
// change theirs.
qrn_status qrn_move_types(const qrn_op_call *c, uint32_t i, uint32_t o);
// parameter `name`, an axis: below `limit`.
qrn_status qrn_move_axis(const qrn_op_call *c, const char *name, uint64_t axis, uint32_t limit);
// A tensor parameter of rank 1 (n_cols 0) or 2 has n_rows (and n_cols) entries.
qrn_status qrn_move_param_dims(const qrn_op_call *c, const char *name, uint32_t n_rows,
                               uint32_t n_cols);
// A scalar parameter that is a whole number is a quantized value of a fixed-point output: then the
// output, and in[0] when `moved`, must have one scale.
qrn_status qrn_move_quantized(const qrn_op_call *c, const char *name, bool moved);
// Writes a dimension that was computed in 64 bits; it must be 1 .. 2^32-1.
qrn_status qrn_move_dim(const qrn_op_call *c, uint32_t d, uint64_t size, uint32_t *dim);

#endif
