// SPDX-License-Identifier: MIT
//
// Executing a plan. An execution object holds the arena and views of one call in flight; objects
// are kept for reuse, so that a call allocates nothing after the first of its concurrency level.
#ifndef QRN_RUNTIME_EXEC_H
#define QRN_RUNTIME_EXEC_H

#include "base/pool.h"
#include "runtime/plan.h"

typedef struct qrn_runner qrn_runner; // a plan, its state block and its idle executions

// The runner takes the plan over and destroys it.
qrn_status qrn_runner_create(qrn_plan *plan, qrn_runner **out);
void qrn_runner_destroy(qrn_runner *r); // NULL is fine; no call may be in flight
const qrn_plan *qrn_runner_plan(const qrn_runner *r);
// qrn_plan_finish on its plan: before the first run.
void qrn_runner_finish(qrn_runner *r, void (*release)(void *ctx, const void *tensor), void *ctx);

// One application buffer of a call, in the order of plan->io. For dynamic values dims hold the
// current shape of inputs on entry and of outputs on return.
typedef struct qrn_binding {
    void *data; // NULL: left out (optional_io only)
    uint32_t dims[QRN_MAX_RANK];
    uint32_t rank;     // 0 with rank of the value != 0: use the declared shape
    bool produced;     // outputs: written on return
    uint32_t n_sparse; // sparse outputs: current number of elements on return
} qrn_binding;

typedef struct qrn_run_options {
    qrn_pool *pool;    // NULL: single-threaded
    uint64_t *node_ns; // NULL, or [plan->n_nodes] to add time to
    // (optional) Asked before each step; a status other than OK ends the run with it.
    qrn_status (*poll)(void *ctx);
    void *poll_ctx;
    // (optional) Called after the last step of each node; views holds every value of the plan.
    void (*trace)(void *ctx, const qrn_plan *p, uint32_t node, const qrn_view *views);
    void *trace_ctx;
} qrn_run_options;

qrn_status qrn_runner_run(qrn_runner *r, qrn_binding *io, const qrn_run_options *opt);

#endif
