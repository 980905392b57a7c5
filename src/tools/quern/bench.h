// SPDX-License-Identifier: MIT
//
// quern bench: what is measured, and its report.
#ifndef QRN_TOOLS_QUERN_BENCH_H
#define QRN_TOOLS_QUERN_BENCH_H

#include "tools/quern/bench_ops.h"
#include "tools/quern/gpu_memory.h"
#include "tools/quern/inputs.h"
#include "tools/quern/streams.h"
#include "tools/quern/subject.h"

typedef struct qt_bench_options {
    qt_backend_options backend;
    qt_input_options in;
    double seconds;
    uint64_t warmup, runs, nodes, streams;
    const char *html;
    bool json, no_profile, per_op, serve, resident, by_streams;
} qt_bench_options;

// Time of one node or of all nodes of a type.
typedef struct qt_share {
    const char *name, *type;
    double us;
    size_t n;
} qt_share;

typedef struct qt_bench_run {
    const qt_bench_options *opt;
    const char *path;
    qt_subject subject;
    qt_inputs in;
    qt_session s;
    qt_gpu_memory *memory; // with --resident
    qt_array *arrays;
    double *ms;    // of each run, sorted in the end
    json_t *drawn; // with --html: of runs in their order, each drawn_step-th
    size_t drawn_step;
    bool interrupted; // by Ctrl-C: what was measured until then is reported
    size_t n_runs, cap_runs;
    qt_share *nodes, *types;
    size_t n_nodes, n_types;
    double throughput;                        // runs a second, of all streams
    qt_stream_point points[QT_STREAM_POINTS]; // with --throughput
    size_t n_points;
    double peak_rss_mb;
    qt_ops ops; // with --per-op
    qt_peaks peaks;
} qt_bench_run;

// Prints the report, and writes the page if one is wanted; the exit code.
int qt_bench_report(qt_bench_run *b);
double qt_bench_load_ms(const qt_bench_run *b);        // until the graph could be imported, or of a
                                                       // binary: executed
const char *qt_bench_precision(const qt_bench_run *b); // of a GPU graph

#endif
