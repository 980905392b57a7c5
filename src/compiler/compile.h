// SPDX-License-Identifier: MIT
//
// Compiling: a validated graph in, a compiled graph (compiled.h) out: lower, fold constants, run
// the passes (passes.h). Nothing here depends on the machine that will run it.
#ifndef QRN_COMPILER_COMPILE_H
#define QRN_COMPILER_COMPILE_H

#include "compiler/compiled.h"
#include "ir/graph.h"

struct qrn_lowering;

typedef struct qrn_compile_options {
    qrn_fp16_rule fp16;   // what all floats of the graph are between steps
    bool fold_relu;       // a Relu behind a convolution or matmul gives it its encoding
    bool round_half_away; // quantizing floats: ties go away from zero, not up
    bool masked_softmax;  // a softmax over entries that a Select keeps has 0 elsewhere (HTP-MSM)
    bool low_ties;        // TopK: of equal values the lower index comes first, not the higher one
    bool keep_tensors;    // every tensor has its own memory and is computed: no passes
    // (optional) With keep_tensors: is a tensor looked at? Passes that keep such ones run.
    bool (*wanted)(void *ctx, const char *name);
    void *wanted_ctx;
    bool binder_fuses; // no epilogues, nothing in place: the binder does it itself
    bool stored;       // the graph may be stored: passes that look at the data of weights stay out
    // (optional) Passes to leave out, as in QUERN_PASSES, which counts when this is NULL.
    const char *passes;
    // (optional) Most bytes of constants and state that may be made while compiling; 0: no limit.
    // For graphs from files, whose shapes may be anything.
    size_t most_bytes;
    // (optional) Lowers a node of a user op package; ctx is passed through.
    qrn_status (*lower_user)(void *ctx, struct qrn_lowering *lo, const qrn_node *n);
    void *ctx;
    // (optional) Asked between passes and nodes; a status other than OK ends compiling with it.
    qrn_status (*poll)(void *ctx);
    void *poll_ctx;
} qrn_compile_options;

qrn_status qrn_compile(const qrn_graph *g, const qrn_compile_options *opt, qrn_compiled **out);

// Is a pass (or "winograd") to be run? Not when `list`, or QUERN_PASSES where that is NULL, leaves
// it out: "-name", or "-all".
bool qrn_pass_enabled(const char *list, const char *name);

#endif
