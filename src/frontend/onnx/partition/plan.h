// SPDX-License-Identifier: MIT
//
// Which nodes of a model a backend supports, and in which partitions: one answer for all front
// ends. The whole graph is imported for trial, each node is accepted or rejected by the same code
// that compiles it later, for the same target; accepted nodes are grouped, and each group is tried
// alone with the borders that it will have.
#ifndef QRN_FRONTEND_ONNX_PLAN_H
#define QRN_FRONTEND_ONNX_PLAN_H

#include "frontend/onnx/import.h"

// Lists live in the model's arena and have one entry for each node.
typedef struct ox_plan {
    int32_t *group;     // partition; -1: not taken
    const char **why;   // reasons of nodes that are rejected, or NULL
    qrn_status *status; // theirs
    bool *constant;     // (optional) computed while importing
    bool *copied;       // (optional) in every group that reads it: constants, DequantizeLinear
    uint32_t n_groups, n_taken;
    bool leaves_borders;   // as the options have it
    const ox_info *shapes; // of values, as the trial found them
    uint32_t n_shapes;
} ox_plan;

typedef struct ox_plan_options {
    const ox_options *import; // how to build; report and value are the plan's
    bool leave_borders;       // quantizing at the model's borders is left to others
    bool hides_inputs;        // partitions do not get what the bodies of their nodes read
    // Learn shapes and constants from the trial, for models whose values nobody described.
    bool learn;
    // (optional) Around each trial, whose refusals are no errors of the library's log.
    void (*trial)(void *ctx, bool begins);
    // (optional) Rejects further nodes in `why`.
    qrn_status (*reject)(void *ctx, const char **why);
    void *ctx;
} ox_plan_options;

qrn_status ox_plan_make(const ox_model *m, qc_client *c, const ox_plan_options *opt, ox_plan *out);
// Why node i is not taken: rejected, or left by choice; NULL: it is taken.
const char *ox_plan_reason(const ox_graph *g, const ox_plan *plan, uint32_t i);

// submodel.c
// A group as a model of its own, in the arena of `m`; index[i]: its node i in the whole graph.
qrn_status ox_submodel(const ox_model *m, const ox_plan *plan, uint32_t group, bool hides_inputs,
                       ox_model *out, uint32_t **index);

// Calls fn with a graph's worth of trial: what it builds goes to a context that is thrown away.
qrn_status ox_in_trial(qc_client *c, const ox_plan_options *opt, qrn_status (*fn)(void *),
                       void *arg);

#endif
