// SPDX-License-Identifier: MIT
//
// What each node of a graph costs and which kernels its steps got: collected while the graph is
// made (nodes from the front end, steps from the library's dispatch lines) and while it runs (times
// from profiles), then held against the machine's peaks.
#ifndef QRN_TOOLS_QUERN_BENCH_OPS_H
#define QRN_TOOLS_QUERN_BENCH_OPS_H

#include "tools/quern/bench_peak.h"
#include "tools/quern/session.h"

#include <jansson.h>

// One step of a node, in the words of the library.
typedef struct qt_op_step {
    const char *family, *kernel;
    const char *shapes; // "f32:1x8x8x4 f32:1x36x16->f32:1x8x8x6"
    const char *why;    // "not row: reason; ..." of the kernels before it; "" for the first choice
    double bytes;       // of its operands; of those it only picks from, what it picks
    struct qt_op_step *next;
} qt_op_step;

typedef struct qt_op_row {
    const char *name, *type;
    double macs;  // -1: not known; 0: no multiply-adds to count
    double bytes; // of the operands of its steps; without steps, of its own
    qt_peak_kind peak;
    qt_op_step *steps, *last;
    double run_us; // of the run that is going on; -1: no event yet
    double us;     // of the fastest run; -1: no event yet
    // Of all runs together, in nanoseconds: its steps, their tasks on all threads, and those of the
    // busiest thread; 0: the library does not say.
    double span_ns, busy_ns, longest_ns;
    unsigned threads, tasks; // that could run them; of the step that was cut into most
} qt_op_row;

typedef struct qt_ops {
    qt_op_row *rows; // in the order in which they became known
    size_t n, cap;
    qrn_strmap names; // index + 1
    qrn_arena *arena;
    double arena_bytes, bound_bytes; // memory of an execution, and the least; 0: not known
    bool failed;                     // out of memory
} qt_ops;

bool qt_ops_init(qt_ops *ops);
void qt_ops_free(qt_ops *ops);
void qt_ops_add_node(void *ops, const qc_op *o);   // a qt_watch.node
void qt_ops_add_line(void *ops, const char *line); // a qt_watch.line; other lines are ignored
void qt_ops_add_time(qt_ops *ops, const char *node, double us);
void qt_ops_end_run(qt_ops *ops);

// Multiply-accumulates of an op from its shapes; 0: has none; -1: not known.
double qt_op_macs(const qc_op *o);

// What a row achieved; NAN where something is not known.
typedef struct qt_op_rates {
    double gops, of_peak;     // two operations for each multiply-add
    double gbs, of_bandwidth; // of the level below
    const char *level;        // the nearest memory that can hold the operands: L2, L3 or DRAM
    double limit_us;          // the machine could not do it faster
} qt_op_rates;
qt_op_rates qt_op_rate(const qt_op_row *r, const qt_peaks *p);

// Where the time of the threads went, as shares that add up to 1; NAN: not known.
typedef struct qt_op_shares {
    double efficiency; // they were busy
    double imbalance;  // others were busy longer
    double barrier;    // nobody was: waking up, claiming tasks, waiting for the end
} qt_op_shares;
qt_op_shares qt_op_share(const qt_op_row *r);

// Slowest first, at most max_rows (0: all).
void qt_print_ops(qt_ops *ops, const qt_peaks *p, size_t max_rows);
json_t *qt_json_ops(qt_ops *ops, const qt_peaks *p, size_t max_rows);

#endif
