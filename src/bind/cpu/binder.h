// SPDX-License-Identifier: MIT
//
// State of one binding, shared by the files of this folder; nothing outside sees it.
#ifndef QRN_BIND_CPU_BINDER_H
#define QRN_BIND_CPU_BINDER_H

#include "bind/cpu/bind.h"
#include "compiler/gemm.h"

typedef struct qrn_cpu_binder {
    qrn_compiled *cg;
    const qrn_cpu_options *opt;
    qrn_plan *plan;     // its first values are those of the compiled graph, in their order
    size_t taken_bytes; // for packed constants and state
} qrn_cpu_binder;

// gemm.c, quantized_gemm.c, weight_only.c: replaces GEMM step `s` by one with packed weights.
// QRN_E_UNSUPPORTED without any message: no packing fits, the step stays as it is.
qrn_status qrn_cpu_gemm(qrn_cpu_binder *b, qrn_step *s, const qrn_gemm *g);
qrn_status qrn_cpu_quantized_gemm(qrn_cpu_binder *b, qrn_step *s, const qrn_gemm *g);
qrn_status qrn_cpu_weight_only(qrn_cpu_binder *b, qrn_step *s, const qrn_gemm *g);

// gemm.c: does a packing hold the weights of a GEMM of plain rows with so many columns as they are,
// not scaled or transformed? Then their strides.
bool qrn_cpu_gemm_is_plain(const qrn_plan_packing *k, uint32_t cols, size_t *w_depth,
                           size_t *w_col);
// quantized_gemm.c: the same for signed bytes, packed there or in weight_only.c.
bool qrn_cpu_bytes_are_plain(const qrn_plan_packing *k, uint32_t cols, uint32_t depth,
                             size_t *w_depth, size_t *w_col);
// table.c: Gather steps of tables that are packed weights read those.
qrn_status qrn_cpu_tables(qrn_cpu_binder *b);

// New values: a constant whose memory the caller fills.
qrn_status qrn_cpu_const(qrn_cpu_binder *b, qrn_dtype dtype, const qrn_shape *shape, qrn_val *out,
                         void **data);
// pack.c: a constant made from constant value `source` by `pack`. Data of a tensor is packed once
// everything that can fail is done: the memory is taken now and written then, so that tensors can
// be given up one by one; one that was packed before is used where it lies. Other sources are
// packed at once. args are copied.
typedef struct qrn_cpu_packing {
    qrn_packing_id id;
    uint32_t node; // plan node that wants it
    qrn_val source;
    qrn_dtype dtype; // of the packed form
    const qrn_shape *shape;
    qrn_pack_fn pack;
    const void *args;
    size_t args_bytes;
} qrn_cpu_packing;
qrn_status qrn_cpu_pack(qrn_cpu_binder *b, const qrn_cpu_packing *p, qrn_val *out);
// pack.c: a constant for kernels of this machine alone, made of plan value `from` by `pack` when
// the plan is first run. One that lies in a file (of Quern 0.1, which stored them) is used there.
qrn_status qrn_cpu_pack_late(qrn_cpu_binder *b, const qrn_cpu_packing *p, qrn_val from,
                             qrn_val *out);
// quantized_gemm.c: gives up those that no kernel reads, once the kernels are chosen.
void qrn_cpu_drop_late(qrn_cpu_binder *b);
// The same where an equal packed form of another tensor, or for another node, is in the plan.
qrn_status qrn_cpu_share(qrn_cpu_binder *b, const qrn_cpu_packing *p, const qrn_plan_packing *equal,
                         qrn_val *out);
// Was the tensor packed like that before? Then its own data may be missing.
bool qrn_cpu_was_packed(const qrn_cpu_binder *b, const qrn_cpu_packing *p);
// pack.c: constants that are only described and that steps read.
qrn_status qrn_cpu_pack_described(qrn_cpu_binder *b);
// pack.c: finds the tensors whose own data nothing needs once all their packings are written.
qrn_status qrn_cpu_find_droppable(qrn_cpu_binder *b);
// Counts memory; fails when that is too much (option most_bytes).
qrn_status qrn_cpu_take(qrn_cpu_binder *b, size_t size_bytes);

// shapes.c: how a step with dynamic operands gets its shapes.
qrn_reshape_fn qrn_cpu_reshape(qrn_shapes shapes);

// memplan.c: offsets for arena values and scratch.
qrn_status qrn_cpu_plan_memory(qrn_cpu_binder *b);

static inline qrn_status qrn_cpu_no_memory(const qrn_cpu_binder *b) {
    return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", b->cg->name);
}

#endif
