// SPDX-License-Identifier: MIT
//
// quern bench: how fast a model runs. Times are those of graphExecute alone; the table of ops comes
// from separate runs with a profile, so that measuring does not slow what is measured.
#include "tools/quern/bench_ops.h"
#include "tools/quern/bench_serve.h"
#include "tools/quern/commands.h"
#include "tools/quern/gpu.h"
#include "tools/quern/gpu_memory.h"
#include "tools/quern/machine.h"
#include "tools/quern/report.h"
#include "tools/quern/stats.h"
#include "tools/quern/streams.h"
#include "tools/quern/subject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SECONDS 2.0
#define DEFAULT_WARMUP 3
#define MAX_RUNS 1000000
#define PROFILED_RUNS 5
#define PER_OP_RUNS 20
#define TABLE_ROWS 15
#define MAX_STREAMS 256

typedef struct bench_options {
    qt_backend_options backend;
    qt_input_options in;
    double seconds;
    uint64_t warmup, runs, nodes, streams;
    bool json, no_profile, per_op, serve, resident, by_streams;
} bench_options;

#define AT(field) offsetof(bench_options, field)

static const qt_flag measure_flags[] = {
    {"seconds", 's', QT_NUMBER, "T", AT(seconds), NULL, "measure for T seconds (default 2)"},
    {"runs", 'n', QT_COUNT, "N", AT(runs), NULL, "measure N runs instead"},
    {"warmup", 'w', QT_COUNT, "N", AT(warmup), NULL, "number of warm-up runs (default 3)"},
    {"streams", 0, QT_COUNT, "N", AT(streams), NULL,
     "run N inferences in parallel to measure throughput"},
    {"throughput", 0, QT_BOOL, NULL, AT(by_streams), NULL,
     "throughput and latency with 1, 2, 4, ... parallel streams, up to --streams or the CPUs"},
    {"resident", 0, QT_BOOL, NULL, AT(resident), NULL,
     "keep inputs and outputs in GPU memory, to measure without copies"},
    {"nodes", 0, QT_COUNT, "N", AT(nodes), NULL, "list the N slowest nodes as well"},
    {"per-op", 0, QT_BOOL, NULL, AT(per_op), NULL,
     "list every node with its kernels, its share of the machine's peak, and how busy its threads "
     "were"},
    {"serve", 0, QT_BOOL, NULL, AT(serve), NULL,
     "read lines 'run N' from stdin and answer each with a line of JSON"},
    {"no-profile", 0, QT_BOOL, NULL, AT(no_profile), NULL, "do not print the table of ops"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    {0},
};
static const qt_flag input_flags[] = {QT_INPUT_FLAGS(bench_options, in), {0}};

// Time of one node or of all nodes of a type.
typedef struct share {
    const char *name, *type;
    double us;
    size_t n;
} share;

typedef struct bench {
    const bench_options *opt;
    const char *path;
    qt_subject subject;
    qt_inputs in;
    qt_session s;
    qt_gpu_memory *memory; // with --resident
    qt_array *arrays;
    double *ms; // of each run, sorted in the end
    size_t n_runs, cap_runs;
    share *nodes, *types;
    size_t n_nodes, n_types;
    double throughput;                        // runs a second, of all streams
    qt_stream_point points[QT_STREAM_POINTS]; // with --throughput
    size_t n_points;
    double peak_rss_mb;
    qt_ops ops; // with --per-op
    qt_peaks peaks;
} bench;

static int fail(int code) {
    qt_error("%s", qrn_message());
    return code;
}

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

static int prepare(bench *b, const qt_list *args) {
    int code = qt_subject_open(b->path, &b->opt->in, &b->subject);
    if (code == QT_EXIT_OK)
        code = qt_inputs_open(b->subject.model, &b->opt->in, args, 1, &b->in);
    if (code != QT_EXIT_OK)
        return code;
    ox_info *shapes = calloc(b->in.n_ports + 1, sizeof *shapes);
    b->arrays = calloc(b->in.n_ports + 1, sizeof *b->arrays);
    if (!shapes || !b->arrays) {
        free(shapes);
        return no_memory();
    }
    if (qt_inputs_load(&b->in, 0, b->arrays) != QRN_OK) {
        free(shapes);
        return fail(QT_EXIT_INPUT);
    }
    qt_inputs_shapes(&b->in, b->arrays, shapes);
    const ox_options import = {.input_shapes = shapes, .n_input_shapes = b->in.n_ports};
    code = qt_subject_session(&b->subject, &b->opt->backend, &import, &b->s);
    free(shapes);
    if (code == QT_EXIT_OK && qt_session_set_inputs(&b->s, b->arrays) != QRN_OK)
        code = fail(QT_EXIT_INPUT);
    if (code == QT_EXIT_OK && b->opt->resident && qt_gpu_memory_open(&b->s, &b->memory) != QRN_OK)
        code = fail(QT_EXIT_FAILURE);
    return code;
}

static bool note_run(bench *b, double ms) {
    if (b->n_runs == b->cap_runs) {
        size_t want = b->cap_runs ? 2 * b->cap_runs : 256;
        double *grown = realloc(b->ms, want * sizeof *grown);
        if (!grown)
            return false;
        b->ms = grown;
        b->cap_runs = want;
    }
    b->ms[b->n_runs++] = ms;
    return true;
}

static size_t warmup_runs(const bench_options *o) {
    return o->warmup ? (size_t)o->warmup : DEFAULT_WARMUP;
}

static int measure(bench *b) {
    const bench_options *o = b->opt;
    for (size_t i = 0; i < warmup_runs(o); i++)
        if (qt_session_execute(&b->s) != QRN_OK)
            return fail(QT_EXIT_FAILURE);
    double limit_ms = 1e3 * (o->seconds > 0 ? o->seconds : DEFAULT_SECONDS);
    double first = qt_now_ms(), now = first;
    size_t limit = o->runs ? (size_t)o->runs : MAX_RUNS;
    while (b->n_runs < limit && (o->runs || b->n_runs < 3 || now - first < limit_ms)) {
        double t0 = qt_now_ms();
        if (qt_session_execute(&b->s) != QRN_OK)
            return fail(QT_EXIT_FAILURE);
        now = qt_now_ms();
        if (!note_run(b, now - t0))
            return no_memory();
        if (o->runs)
            qt_progress("measuring", b->n_runs, limit);
        else
            qt_progress("measuring", (size_t)(now - first), (size_t)limit_ms);
    }
    qt_progress(NULL, 0, 0);
    qt_sort(b->ms, b->n_runs);
    return QT_EXIT_OK;
}

// Adds to the row of that name; false when out of memory.
static bool add_share(share **rows, size_t *n, const char *name, const char *type, double us,
                      bool new_node) {
    for (size_t i = 0; i < *n; i++)
        if (strcmp((*rows)[i].name, name) == 0) {
            (*rows)[i].us += us;
            (*rows)[i].n += new_node;
            return true;
        }
    share *grown = realloc(*rows, (*n + 1) * sizeof *grown);
    if (!grown)
        return false;
    *rows = grown;
    (*rows)[(*n)++] = (share){name, type, us, 1};
    return true;
}

static int profiled_runs(const bench *b) { return b->opt->per_op ? PER_OP_RUNS : PROFILED_RUNS; }

// Events of one run: those of nodes, at any depth. Names live in the graph's own table.
static bool read_events(bench *b, const QnnProfile_EventId_t *ids, uint32_t n, int run) {
    const QNN_INTERFACE_VER_TYPE *q = &b->s.client->qnn;
    const qc_graph *g = b->s.model.graph;
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_EventData_t e;
        const QnnProfile_EventId_t *sub = NULL;
        uint32_t n_sub = 0;
        if (q->profileGetEventData(ids[i], &e) != QNN_SUCCESS)
            continue;
        if (e.type == QNN_PROFILE_EVENTTYPE_NODE && e.identifier &&
            e.unit == QNN_PROFILE_EVENTUNIT_MICROSEC) {
            char *kept = qrn_arena_strdup(g->arena, e.identifier);
            char *op_id = kept ? strstr(kept, ":OpId_") : NULL;
            if (op_id) // the HTP adds its op number to the name
                *op_id = '\0';
            const char *type = kept ? qrn_strmap_get(&g->node_names, kept) : NULL;
            double us = (double)e.value / profiled_runs(b);
            if (kept && b->opt->per_op)
                qt_ops_add_time(&b->ops, kept, (double)e.value);
            if (!kept || !add_share(&b->nodes, &b->n_nodes, kept, type ? type : "?", us, false) ||
                !add_share(&b->types, &b->n_types, type ? type : "other", NULL, us, run == 0))
                return false;
        }
        if (q->profileGetSubEvents(ids[i], &sub, &n_sub) == QNN_SUCCESS && n_sub &&
            !read_events(b, sub, n_sub, run))
            return false;
    }
    return true;
}

static int slower_first(const void *a, const void *b) {
    const share *x = a, *y = b;
    return x->us > y->us ? -1 : x->us < y->us ? 1 : strcmp(x->name, y->name);
}

static int profile(bench *b) {
    qc_client *c = b->s.client;
    qc_graph *g = b->s.model.graph;
    int code = QT_EXIT_OK;
    if (b->opt->no_profile || !c->qnn.profileCreate ||
        qc_check(c, c->qnn.profileCreate(c->backend, QNN_PROFILE_LEVEL_DETAILED, &g->profile),
                 "profileCreate") != QRN_OK)
        return QT_EXIT_OK; // a library without profiles has no table
    for (int i = 0; i < profiled_runs(b) && code == QT_EXIT_OK; i++) {
        const QnnProfile_EventId_t *ids = NULL;
        uint32_t n = 0;
        if (qt_session_execute(&b->s) != QRN_OK)
            code = fail(QT_EXIT_FAILURE);
        else if (qc_check(c, c->qnn.profileGetEvents(g->profile, &ids, &n), "profileGetEvents") ==
                     QRN_OK &&
                 !read_events(b, ids, n, i))
            code = no_memory();
        qt_ops_end_run(&b->ops);
    }
    c->qnn.profileFree(g->profile);
    g->profile = NULL;
    if (b->n_nodes)
        qsort(b->nodes, b->n_nodes, sizeof *b->nodes, slower_first);
    if (b->n_types)
        qsort(b->types, b->n_types, sizeof *b->types, slower_first);
    return code;
}

static uint32_t cpus_of(void) {
    qt_machine m;
    qt_machine_read(&m);
    return m.cpus < MAX_STREAMS ? (uint32_t)m.cpus : MAX_STREAMS;
}

static int measure_throughput(bench *b) {
    const bench_options *o = b->opt;
    b->throughput = 1e3 / qt_mean(b->ms, b->n_runs);
    if (o->streams < 2 && !o->by_streams)
        return QT_EXIT_OK;
    if (o->streams > MAX_STREAMS) {
        qt_error("--streams %llu: at most %d", (unsigned long long)o->streams, MAX_STREAMS);
        return QT_EXIT_USAGE;
    }
    double seconds = o->seconds > 0 ? o->seconds : DEFAULT_SECONDS;
    if (o->by_streams) {
        uint32_t most = o->streams ? (uint32_t)o->streams : cpus_of();
        if (qt_streams_curve(&b->s, most, seconds, b->points, &b->n_points) != QRN_OK)
            return fail(QT_EXIT_FAILURE);
        for (size_t i = 0; i < b->n_points; i++)
            b->throughput = fmax(b->throughput, b->points[i].runs_per_second);
        return QT_EXIT_OK;
    }
    if (qt_streams_run(&b->s, (uint32_t)o->streams, seconds, &b->throughput) != QRN_OK)
        return fail(QT_EXIT_FAILURE);
    return QT_EXIT_OK;
}

// Until the graph could be imported, or of a binary: executed.
static double load_ms(const bench *b) { return b->subject.load_ms + b->s.load_ms; }

static json_t *json_shares(const share *rows, size_t n, double total) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *o = json_pack("{s:o,s:f,s:f,s:I}", rows[i].type ? "name" : "type",
                              qt_json_text(rows[i].name), "us", rows[i].us, "share",
                              total > 0 ? rows[i].us / total : 0, "count", (json_int_t)rows[i].n);
        if (o && rows[i].type)
            json_object_set_new(o, "type", qt_json_text(rows[i].type));
        json_array_append_new(list, o);
    }
    return list;
}

static double total_us(const bench *b) {
    double sum = 0;
    for (size_t i = 0; i < b->n_types; i++)
        sum += b->types[i].us;
    return sum;
}

static const char *precision_of(const bench *b) {
    return qt_precision(&b->opt->backend, b->subject.graph);
}

static json_t *json_points(const bench *b) {
    json_t *list = json_array();
    for (size_t i = 0; i < b->n_points; i++)
        json_array_append_new(list, json_pack("{s:I,s:f,s:f}", "streams",
                                              (json_int_t)b->points[i].streams, "throughput",
                                              b->points[i].runs_per_second, "latency_ms",
                                              b->points[i].latency_ms));
    return list;
}

static int report_json(bench *b) {
    size_t nodes = b->opt->nodes < b->n_nodes ? (size_t)b->opt->nodes : b->n_nodes;
    const struct {
        const char *name;
        double value;
    } times[] = {
        {"min_ms", b->ms[0]},
        {"median_ms", qt_median(b->ms, b->n_runs)},
        {"mean_ms", qt_mean(b->ms, b->n_runs)},
        {"p95_ms", qt_quantile(b->ms, b->n_runs, 0.95)},
        {"throughput", b->throughput},
        {"load_ms", load_ms(b)},
        {"import_ms", b->s.import_ms},
        {"finalize_ms", b->s.finalize_ms},
        {"peak_rss_mb", b->peak_rss_mb},
    };
    json_t *o = json_pack(
        "{s:o,s:o,s:I,s:I,s:I}", "model", qt_json_text(b->path), "backend",
        qt_json_text(b->s.client->path), "threads", (json_int_t)b->opt->backend.threads, "streams",
        (json_int_t)(b->opt->streams > 1 ? b->opt->streams : 1), "runs", (json_int_t)b->n_runs);
    for (size_t i = 0; o && i < sizeof times / sizeof times[0]; i++)
        json_object_set_new(o, times[i].name, qt_json_number(times[i].value));
    qt_gpu_json(b->s.client, precision_of(b), o);
    if (o) {
        json_object_set_new(o, "ops", json_shares(b->types, b->n_types, total_us(b)));
        if (b->n_points)
            json_object_set_new(o, "by_streams", json_points(b));
        if (nodes)
            json_object_set_new(o, "nodes", json_shares(b->nodes, nodes, total_us(b)));
        if (b->opt->per_op)
            json_object_set_new(o, "per_op",
                                qt_json_ops(&b->ops, &b->peaks, (size_t)b->opt->nodes));
    }
    return qt_print_json(o);
}

static void print_shares(const char *title, const share *rows, size_t n, size_t max, double total) {
    qt_print("\n%s%-44s %6s %10s %7s%s\n", qt_style_on(QT_BOLD), title, "nodes", "ms", "share",
             qt_style_off());
    double rest = 0;
    size_t rest_n = 0;
    for (size_t i = 0; i < n; i++) {
        if (i >= max) {
            rest += rows[i].us;
            rest_n += rows[i].n;
            continue;
        }
        char label[128], cell[QT_CELL];
        bool typed = rows[i].type && strcmp(rows[i].type, "?") != 0;
        snprintf(label, sizeof label, typed ? "%s (%.20s)" : "%s",
                 qt_cell_name(rows[i].name, typed ? 28 : 44, cell), rows[i].type);
        qt_print("%-44s %6zu %10.3f %6.1f%%\n", label, rows[i].n, rows[i].us / 1e3,
                 total > 0 ? 100 * rows[i].us / total : 0);
    }
    if (rest_n)
        qt_print("%-44s %6zu %10.3f %6.1f%%\n", "others", rest_n, rest / 1e3,
                 total > 0 ? 100 * rest / total : 0);
}

static int report(bench *b) {
    if (b->opt->json)
        return report_json(b);
    const char *bold = qt_style_on(QT_BOLD), *off = qt_style_off();
    char device[256];
    qt_gpu_name(b->s.client, device, sizeof device);
    qt_print("%s%s%s on %s\n", bold, b->path, off, b->s.client->path);
    if (device[0])
        qt_print("device %s   precision %s\n", device, precision_of(b));
    qt_print("median %s%.3f ms%s   min %.3f   p95 %.3f   mean %.3f   (%zu runs)\n", bold,
             qt_median(b->ms, b->n_runs), off, b->ms[0], qt_quantile(b->ms, b->n_runs, 0.95),
             qt_mean(b->ms, b->n_runs), b->n_runs);
    qt_print("throughput %.1f runs/s   load %.1f ms   import %.1f ms   finalize %.1f ms   "
             "peak memory %.0f MiB\n",
             b->throughput, load_ms(b), b->s.import_ms, b->s.finalize_ms, b->peak_rss_mb);
    if (b->n_points)
        qt_print("\n%s%-10s %12s %12s%s\n", bold, "streams", "runs/s", "latency, ms", off);
    for (size_t i = 0; i < b->n_points; i++)
        qt_print("%-10u %12.1f %12.3f\n", b->points[i].streams, b->points[i].runs_per_second,
                 b->points[i].latency_ms);
    double total = total_us(b);
    bool typed = !b->subject.graph; // a binary does not have the types of its nodes
    if (b->n_types && typed)
        print_shares("op", b->types, b->n_types, TABLE_ROWS, total);
    else if (b->n_nodes && !b->opt->nodes)
        print_shares("node", b->nodes, b->n_nodes, TABLE_ROWS, total);
    if (b->opt->nodes && b->n_nodes)
        print_shares("slowest nodes", b->nodes,
                     b->opt->nodes < b->n_nodes ? (size_t)b->opt->nodes : b->n_nodes,
                     (size_t)b->opt->nodes, total);
    if (b->opt->per_op)
        qt_print_ops(&b->ops, &b->peaks, (size_t)b->opt->nodes);
    return qt_close_stdout();
}

static int serve(bench *b) {
    for (size_t i = 0; i < warmup_runs(b->opt); i++)
        if (qt_session_execute(&b->s) != QRN_OK)
            return fail(QT_EXIT_FAILURE);
    json_t *ready = json_pack(
        "{s:b,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "ready", 1, "model", qt_json_text(b->path), "backend",
        qt_json_text(b->s.client->path), "load_ms", qt_json_number(load_ms(b)), "open_ms",
        qt_json_number(b->s.open_ms), "import_ms", qt_json_number(b->s.import_ms), "finalize_ms",
        qt_json_number(b->s.finalize_ms), "peak_rss_mb", qt_json_number(qt_peak_rss_mb()));
    qt_gpu_json(b->s.client, precision_of(b), ready);
    return qt_bench_serve(&b->s, ready, stdin, stdout);
}

// Threads that the library will use, as far as it shows from outside.
static unsigned threads_of(const bench_options *o) {
    qt_machine m;
    qt_machine_read(&m);
    const char *asked = secure_getenv("QUERN_THREADS");
    unsigned long n = o->backend.threads ? (unsigned long)o->backend.threads
                      : asked            ? strtoul(asked, NULL, 10)
                                         : 0;
    if (n)
        return n > m.cpus ? m.cpus : (unsigned)n;
    return m.quota > 0 && m.quota < m.cpus ? (unsigned)(m.quota + 0.999) : m.cpus;
}

static int check_options(const bench_options *o) {
    if (o->serve &&
        (o->per_op || o->runs || o->seconds > 0 || o->streams || o->nodes || o->by_streams)) {
        qt_error("--serve measures on request; --per-op, --nodes, --runs, --seconds, --streams "
                 "and --throughput do not go with it");
        return QT_EXIT_USAGE;
    }
    if (o->per_op && o->no_profile) {
        qt_error("--per-op needs the profile that --no-profile leaves out");
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

static int measure_all(bench *b) {
    int code = measure(b);
    if (code == QT_EXIT_OK)
        code = measure_throughput(b);
    b->peak_rss_mb = qt_peak_rss_mb(); // without what measuring the machine takes
    if (code == QT_EXIT_OK)
        code = profile(b);
    if (code == QT_EXIT_OK && b->ops.failed)
        code = no_memory();
    if (code == QT_EXIT_OK && b->opt->per_op)
        qt_peaks_measure(threads_of(b->opt), &b->peaks);
    return code == QT_EXIT_OK ? report(b) : code;
}

static int run(const void *options, const qt_list *args) {
    bench_options o = *(const bench_options *)options;
    if (!o.in.inputs && !o.in.input_list && args->n == 1)
        o.in.random = true; // times rarely depend on the values
    bench b = {.opt = &o, .path = args->items[0]};
    const qt_watch watch = {&b.ops, qt_ops_add_node, qt_ops_add_line};
    int code = check_options(&o);
    if (code == QT_EXIT_OK && o.per_op) {
        code = qt_ops_init(&b.ops) && qt_ask_verbose("dispatch,threads") ? QT_EXIT_OK : no_memory();
        o.backend.watch = &watch;
    }
    if (code == QT_EXIT_OK)
        code = prepare(&b, args);
    if (code == QT_EXIT_OK)
        code = o.serve ? serve(&b) : measure_all(&b);
    for (uint32_t i = 0; b.arrays && i < b.in.n_ports; i++)
        qt_array_free(&b.arrays[i]);
    free(b.arrays);
    free(b.ms);
    free(b.nodes);
    free(b.types);
    qt_gpu_memory_close(b.memory);
    qt_session_close(&b.s);
    qt_ops_free(&b.ops); // the library may have logged until now
    qt_inputs_close(&b.in);
    qt_subject_close(&b.subject);
    return code;
}

const qt_command qt_bench = {
    .name = "bench",
    .summary = "measure how fast a model runs",
    .args = "MODEL [[NAME=]FILE...]",
    .min_args = 1,
    .max_args = 1024,
    .about =
        "Measures how fast a model or a graph of a context binary runs, and reports latency, "
        "throughput, memory and the time of each op. Inputs are random unless given.\nThroughput "
        "is measured with one run after another, or with --streams parallel runs; --throughput "
        "lists it for 1, 2, 4, ... streams together with the latency. Peak memory is that of the "
        "whole process. The table of ops comes from a few additional runs with "
        "profiling.\n--per-op lists the nodes, slowest first: time of the fastest profiled run (in "
        "whole microseconds), operations per second (two per multiply-add) and their share of the "
        "machine's peak, bytes of all operands and their share of the DRAM bandwidth. Below each "
        "node are the kernels of its steps, their operands, and why faster kernels were not used. "
        "With several threads, four more columns show the number of tasks of the largest step and "
        "how the threads spent their time: busy, uneven (waiting for a slower thread) and waits "
        "(no thread was busy).\n--serve loads the model once, prints a line of JSON when it is "
        "ready, and then answers each line 'run N' on standard input with the times of N runs; "
        "'quit' or end of input ends it. A script can use it to interleave measurements with those "
        "of another program.\n--resident (GPU) copies inputs to the device once and leaves outputs "
        "there; without it a run includes both copies.",
    .groups = {{"measuring", measure_flags},
               {"inputs", input_flags},
               {"backend", qt_backend_flags}},
    .examples = {{"quern bench model.onnx --threads 2 --seconds 5", "On two threads, for long."},
                 {"quern bench model.onnx --dim batch=8 --json", "JSON for a script."},
                 {"quern bench model.onnx --per-op --nodes 20", "Where the time goes, and why."}},
    .options_size = sizeof(bench_options),
    .run = run,
};
