// SPDX-License-Identifier: MIT
//
// State of one compilation, shared by the passes; nothing outside src/compiler sees it.
#ifndef QRN_COMPILER_LOWERING_H
#define QRN_COMPILER_LOWERING_H

#include "compiler/compile.h"
#include "compiler/lower.h"

// A conversion already made: value `from` in another format is value `to`.
typedef struct qrn_conversion {
    qrn_val from, to;
} qrn_conversion;

// Who uses a tensor of the graph that is lowered.
typedef struct qrn_uses {
    uint32_t n_readers;     // operands, of subgraphs too
    const qrn_node *reader; // the last of the graph's own nodes
    const qrn_node *writer; // of the graph's own nodes
} qrn_uses;

struct qrn_lowering {
    const qrn_graph *graph;        // being lowered: the client's, or fp16.c's copy of it
    const qrn_graph *client_graph; // as the client built it
    const qrn_compile_options *opt;
    qrn_compiled *cg;
    // Of the compiled graph's growing arrays.
    uint32_t cap_values, cap_steps, cap_nodes, cap_origin, cap_io, cap_constants;
    size_t taken_bytes; // for constants and state
    qrn_val *by_id;     // value of a tensor, by tensor id
    uint32_t n_by_id;
    qrn_uses *uses;              // by tensor id
    qrn_conversion *conversions; // reused while no branch begins or ends
    uint32_t n_conversions, cap_conversions;
    const qrn_node *node; // being lowered
    uint32_t depth;       // of branches we are inside; nothing is folded there

    // fp16.c; everything is empty when fp16 is OFF
    qrn_fp16_rule fp16;        // what floats are; OFF also for a graph without floats
    bool has_user_ops;         // the graph has ops of a user's package
    const qrn_tensor **origin; // the client's tensor behind a copy, by tensor id
    qrn_tensor **copies;       // by tensor id; NULL: the tensor is no float
    bool *is_read;             // by a node that computes with it, by tensor id
    qrn_val *rounded;          // rounded form of an application input or constant, by tensor id
    qrn_conversion *detours;   // f16 application outputs: their values until the end
    uint32_t n_detours, cap_detours;
};

// Appends room for one element to a growing array; false when out of memory.
bool qrn_lo_grow(void **array, uint32_t *cap, uint32_t used, size_t elem_bytes);

// Counts memory for constants and state; fails when that is too much (option most_bytes).
qrn_status qrn_lo_may_take(qrn_lowering *lo, size_t size_bytes);

// Makes a value a constant: as described, or with new memory that the caller fills.
qrn_status qrn_lo_be_constant(qrn_lowering *lo, qrn_val v, const qrn_cconst *c);
qrn_status qrn_lo_make_constant(qrn_lowering *lo, qrn_val v, void **data);

// fold.c: runs step `s` now if everything it reads is constant; *folded says whether it did.
qrn_status qrn_lo_fold(qrn_lowering *lo, const qrn_cstep *s, bool *folded);
// fold_relu.c: finds out who uses what.
qrn_status qrn_lo_find_uses(qrn_lowering *lo);
// fold_relu.c: replaces *n by a copy with other tensors when it is one of a pair that is folded;
// *done: nothing is left of it to be lowered.
qrn_status qrn_lo_fold_relu(qrn_lowering *lo, const qrn_node **n, bool *done);
// The path of an op's table row: `custom`, or the generic one.
qrn_status qrn_lo_row(qrn_lowering *lo, const qrn_lower_row *row, const qrn_node *n);
// sparse.c: has the node sparse operands that its row does not know? Lowers it then.
bool qrn_lo_is_sparse(const qrn_node *n);
qrn_status qrn_lo_sparse(qrn_lowering *lo, const qrn_lower_row *row, const qrn_node *n);

#endif
