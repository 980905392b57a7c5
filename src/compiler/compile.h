// SPDX-License-Identifier: MIT
//
// Compiling: a validated graph in, a plan for this machine out: lower, fold constants, run the
// passes (passes.h), choose kernels, plan memory.
#ifndef QRN_COMPILER_COMPILE_H
#define QRN_COMPILER_COMPILE_H

#include "base/fp16.h"
#include "ir/graph.h"
#include "ir/packed.h"
#include "runtime/plan.h"

struct qrn_lowering;

typedef struct qrn_compile_options {
    uint32_t isa;       // CPU features that may be used (base/cpu.h)
    uint32_t n_threads; // of the pool, for scratch sizes
    qrn_fp16_rule half; // what all floats of the graph are between steps
    bool fold_relu;     // a Relu behind a sum of products gives it its encoding
    bool half_away;     // floats that become codes: halves go away from zero, not up
    bool low_ties;      // TopK: of equal values the lower index comes first, not the higher one
    bool pack4;         // 8-bit weights whose values fit 4 bits are packed with 4
    bool keep_tensors;  // every tensor has its own memory and is computed: no passes
    // (optional) Passes to leave out, as in QUERN_PASSES, which counts when this is NULL.
    const char *passes;
    // (optional) Constants that were packed before: used where they lie. A static tensor may then
    // lack its data.
    const qrn_packed_list *packed;
    // (optional) Most bytes of constants and state that may be made while compiling; 0: no limit.
    // For graphs from files, whose shapes may be anything.
    size_t most_bytes;
    // (optional) Lowers a node of a user op package; ctx is passed through.
    qrn_status (*lower_user)(void *ctx, struct qrn_lowering *lo, const qrn_node *n);
    void *ctx;
    // (optional) Asked between passes and nodes; a status other than OK ends compiling with it.
    qrn_status (*poll)(void *ctx);
    void *poll_ctx;
    // (optional) Takes one line per step: which kernel was chosen and why not those before it.
    void (*explain)(void *ctx, const char *line);
    void *explain_ctx;
} qrn_compile_options;

qrn_status qrn_compile(const qrn_graph *g, const qrn_compile_options *opt, qrn_plan **plan);

#endif
