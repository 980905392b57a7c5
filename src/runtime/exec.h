// SPDX-License-Identifier: MIT
//
// Executing a plan. An execution object holds the arena and views of one call in flight; objects
// are kept for reuse, so that a call allocates nothing after the first of its concurrency level.
#ifndef QRN_RUNTIME_EXEC_H
#define QRN_RUNTIME_EXEC_H

#include "base/memory.h"
#include "base/pool.h"
#include "runtime/plan.h"

typedef struct qrn_runner qrn_runner; // a plan, its state block and its idle executions

// The runner takes the plan over and destroys it.
qrn_status qrn_runner_create(qrn_plan *plan, qrn_runner **out);
void qrn_runner_destroy(qrn_runner *r); // NULL is fine; no call may be in flight
const qrn_plan *qrn_runner_plan(const qrn_runner *r);
// Writes the packed constants, on all threads of the pool (NULL: this one); call it once, before
// the first run. Cannot fail. The list of packings stays, for those who store them. `release`
// (NULL: keep everything) is called for each tensor whose data is not needed any more, and may free
// it at once.
void qrn_runner_finish(qrn_runner *r, qrn_pool *pool,
                       void (*release)(void *ctx, uint32_t tensor_id), void *ctx);

// One application buffer of a call, in the order of plan->io. For dynamic values dims hold the
// current shape of inputs on entry and of outputs on return.
typedef struct qrn_binding {
    qrn_memory memory; // NONE: left out (optional_io only). The CPU runs on host addresses
    uint32_t dims[QRN_MAX_RANK];
    uint32_t rank;     // 0 with rank of the value != 0: use the declared shape
    bool produced;     // outputs: written on return
    uint32_t n_sparse; // sparse outputs: current number of elements on return
} qrn_binding;

// Times of a node in one call; monotonic clock.
typedef struct qrn_node_time {
    uint64_t first_ns, last_ns; // when its first step began and its last one ended; 0: never ran
    uint64_t spent_ns;          // in its steps
    uint64_t gap_ns;            // between the step before and each of its own, without polling
    // With `per_thread`, of its steps, with those chained to them:
    uint64_t span_ns;    // from their beginnings to their ends
    uint64_t busy_ns;    // in their tasks, of all threads together
    uint64_t longest_ns; // the same of the thread that was busy longest in each of them
    uint32_t n_tasks;    // of the step that was cut into most
    uint32_t n_threads;  // that could have run them
} qrn_node_time;

// The values of an execution, while a trace runs: by their numbers in the compiled graph.
typedef struct qrn_values {
    const void *run;
    // The value as it is now, its data on the host until the trace returns. False: this call has
    // put nothing into it.
    bool (*get)(const void *run, uint32_t value, qrn_view *view);
} qrn_values;

typedef struct qrn_run_options {
    qrn_pool *pool;            // NULL: single-threaded
    uint32_t max_threads;      // of the pool for this run; 0: all
    qrn_node_time *node_times; // NULL, or [plan->n_nodes], cleared, to add to
    bool per_thread;           // with node_times: each task looks at the clock, too
    // The buffers hold this many sets of values, one behind the other, which are run one after the
    // other; 0 counts as 1. Only for dense tensors of one size.
    uint32_t n_batch;
    // (optional) Asked before each step; a status other than OK ends the run with it.
    qrn_status (*poll)(void *ctx);
    void *poll_ctx;
    // (optional) Called after the last step of each node.
    void (*trace)(void *ctx, uint32_t node, const qrn_values *values);
    void *trace_ctx;
    // (optional) Where the backend notes what the profile of the call wants to know.
    void *report;
} qrn_run_options;

// In the child of a fork: other threads may have held its locks. NULL is fine.
void qrn_runner_after_fork(qrn_runner *r);

qrn_status qrn_runner_run(qrn_runner *r, qrn_binding *io, const qrn_run_options *opt);

#endif
