// SPDX-License-Identifier: MIT
//
// quern bench: how fast a model runs. Times are those of graphExecute alone; the table of ops comes
// from separate runs with a profile, so that measuring does not slow what is measured.
#include "tools/quern/bench.h"
#include "tools/quern/bench_serve.h"
#include "tools/quern/commands.h"
#include "tools/quern/gpu.h"
#include "tools/quern/machine.h"
#include "tools/quern/report.h"
#include "tools/quern/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SECONDS 2.0
#define DEFAULT_WARMUP 3
#define MAX_RUNS 1000000
#define PROFILED_RUNS 5
#define PER_OP_RUNS 20
#define MAX_STREAMS 256
#define MAX_DRAWN 2000 // runs on a page

#define AT(field) offsetof(qt_bench_options, field)

static const qt_flag measure_flags[] = {
    {"seconds", 's', QT_ABOVE0, "T", AT(seconds), NULL, "measure for T seconds (default 2)"},
    {"runs", 'n', QT_COUNT1, "N", AT(runs), NULL, "measure N runs instead"},
    {"warmup", 'w', QT_COUNT, "N", AT(warmup), NULL, "number of warm-up runs (default 3)"},
    {"streams", 0, QT_COUNT1, "N", AT(streams), NULL,
     "run N inferences in parallel to measure throughput"},
    {"throughput", 0, QT_BOOL, NULL, AT(by_streams), NULL,
     "throughput and latency with 1, 2, 4, ... parallel streams, up to --streams (default: "
     "the CPUs)"},
    {"resident", 0, QT_BOOL, NULL, AT(resident), NULL,
     "keep inputs and outputs in GPU memory, to measure without copies"},
    {"nodes", 0, QT_COUNT1, "N", AT(nodes), NULL, "list the N slowest nodes as well"},
    {"per-op", 0, QT_BOOL, NULL, AT(per_op), NULL,
     "list every node with its kernels, its share of the machine's peak, and how busy its threads "
     "were"},
    {"serve", 0, QT_BOOL, NULL, AT(serve), NULL,
     "read lines 'run N' from stdin and answer each with a line of JSON"},
    {"no-profile", 0, QT_BOOL, NULL, AT(no_profile), NULL, "do not print the table of ops"},
    {"json", 0, QT_BOOL, NULL, AT(json), NULL, "print the report as JSON"},
    {"html", 0, QT_FILE, "FILE", AT(html), NULL, "write a page: runs, ops, nodes, roofline"},
    {0},
};
static const qt_flag input_flags[] = {QT_INPUT_FLAGS(qt_bench_options, in), {0}};

static int fail(int code) {
    qt_error("%s", qrn_message());
    return code;
}

static int prepare(qt_bench_run *b, const qt_list *args) {
    int code = qt_subject_open(b->path, &b->opt->in, &b->subject);
    if (code == QT_EXIT_OK)
        code = qt_inputs_open(b->subject.model, &b->opt->in, args, 1, &b->in);
    if (code != QT_EXIT_OK)
        return code;
    ox_info *shapes = calloc(b->in.n_ports + 1, sizeof *shapes);
    b->arrays = calloc(b->in.n_ports + 1, sizeof *b->arrays);
    if (!shapes || !b->arrays) {
        free(shapes);
        return qt_no_memory();
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

static bool note_run(qt_bench_run *b, double ms) {
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

// The runs in their order; of many only each n-th.
static json_t *json_runs(const qt_bench_run *b, size_t *step) {
    json_t *list = json_array();
    *step = b->n_runs / MAX_DRAWN + 1;
    for (size_t i = 0; i < b->n_runs; i += *step)
        json_array_append_new(list, json_real(b->ms[i]));
    return list;
}

static size_t warmup_runs(const qt_bench_options *o) {
    return o->warmup ? (size_t)o->warmup : DEFAULT_WARMUP;
}

static int measure(qt_bench_run *b) {
    const qt_bench_options *o = b->opt;
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
            return qt_no_memory();
        if (o->runs)
            qt_progress("measuring", b->n_runs, limit);
        else
            qt_progress("measuring", (size_t)(now - first), (size_t)limit_ms);
        qt_hold_interrupt(); // from now on there is something to report
        b->interrupted = qt_was_interrupted();
        if (b->interrupted)
            break;
    }
    qt_progress(NULL, 0, 0);
    if (o->html)
        b->drawn = json_runs(b, &b->drawn_step);
    qt_sort(b->ms, b->n_runs);
    return QT_EXIT_OK;
}

// Adds to the row of that name; false when out of memory.
static bool add_share(qt_share **rows, size_t *n, const char *name, const char *type, double us,
                      bool new_node) {
    for (size_t i = 0; i < *n; i++)
        if (strcmp((*rows)[i].name, name) == 0) {
            (*rows)[i].us += us;
            (*rows)[i].n += new_node;
            return true;
        }
    qt_share *grown = realloc(*rows, (*n + 1) * sizeof *grown);
    if (!grown)
        return false;
    *rows = grown;
    (*rows)[(*n)++] = (qt_share){name, type, us, 1};
    return true;
}

static int profiled_runs(const qt_bench_run *b) {
    return b->opt->per_op ? PER_OP_RUNS : PROFILED_RUNS;
}

// Events of one run: those of nodes, at any depth. Names live in the graph's own table.
static bool read_events(qt_bench_run *b, const QnnProfile_EventId_t *ids, uint32_t n, int run) {
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
    const qt_share *x = a, *y = b;
    return x->us > y->us ? -1 : x->us < y->us ? 1 : strcmp(x->name, y->name);
}

static int profile(qt_bench_run *b) {
    qc_client *c = b->s.client;
    qc_graph *g = b->s.model.graph;
    int code = QT_EXIT_OK;
    if (b->opt->no_profile || b->interrupted || !c->qnn.profileCreate ||
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
            code = qt_no_memory();
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

static int measure_throughput(qt_bench_run *b) {
    const qt_bench_options *o = b->opt;
    b->throughput = 1e3 / qt_mean(b->ms, b->n_runs);
    if ((o->streams < 2 && !o->by_streams) || b->interrupted)
        return QT_EXIT_OK;
    if (o->streams > MAX_STREAMS) {
        qt_error("--streams %llu: expected 1 to %d", (unsigned long long)o->streams, MAX_STREAMS);
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

static int serve(qt_bench_run *b) {
    for (size_t i = 0; i < warmup_runs(b->opt); i++)
        if (qt_session_execute(&b->s) != QRN_OK)
            return fail(QT_EXIT_FAILURE);
    json_t *ready = json_pack(
        "{s:b,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "ready", 1, "model", qt_json_text(b->path), "backend",
        qt_json_text(b->s.client->path), "load_ms", qt_json_number(qt_bench_load_ms(b)), "open_ms",
        qt_json_number(b->s.open_ms), "import_ms", qt_json_number(b->s.import_ms), "finalize_ms",
        qt_json_number(b->s.finalize_ms), "peak_rss_mb", qt_json_number(qt_peak_rss_mb()));
    qt_gpu_json(b->s.client, qt_bench_precision(b), ready);
    return qt_bench_serve(&b->s, ready, stdin, stdout);
}

// Threads that the library will use, as far as it shows from outside.
static unsigned threads_of(const qt_bench_options *o) {
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

static int check_options(const qt_bench_options *o) {
    if (o->resident && strcmp(qt_backend_name(&o->backend), "gpu") != 0 &&
        !strchr(qt_backend_name(&o->backend), '/')) {
        qt_error("--resident keeps data in GPU memory: it needs --backend gpu, found '%s'",
                 qt_backend_name(&o->backend));
        return QT_EXIT_USAGE;
    }
    if (o->serve && o->html) {
        qt_error("--serve and --html exclude each other; give one of them");
        return QT_EXIT_USAGE;
    }
    if (o->serve &&
        (o->per_op || o->runs || o->seconds > 0 || o->streams || o->nodes || o->by_streams)) {
        qt_error("--serve measures on request; --per-op, --nodes, --runs, --seconds, --streams "
                 "and --throughput cannot be combined with it");
        return QT_EXIT_USAGE;
    }
    if (o->per_op && o->no_profile) {
        qt_error("--per-op needs the profile that --no-profile leaves out");
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

static int measure_all(qt_bench_run *b) {
    int code = measure(b);
    if (code == QT_EXIT_OK)
        code = measure_throughput(b);
    b->peak_rss_mb = qt_peak_rss_mb(); // without what measuring the machine takes
    if (code == QT_EXIT_OK)
        code = profile(b);
    if (code == QT_EXIT_OK && b->ops.failed)
        code = qt_no_memory();
    if (code == QT_EXIT_OK && b->opt->per_op && !b->interrupted)
        qt_peaks_measure(threads_of(b->opt), &b->peaks);
    return code == QT_EXIT_OK ? qt_bench_report(b) : code;
}

static int run(const void *options, const qt_list *args) {
    qt_bench_options o = *(const qt_bench_options *)options;
    if (!o.in.inputs && !o.in.input_list && args->n == 1)
        o.in.random = true;              // times rarely depend on the values
    o.per_op |= o.html && !o.no_profile; // the page draws the nodes
    qt_bench_run b = {.opt = &o, .path = args->items[0]};
    const qt_watch watch = {&b.ops, qt_ops_add_node, qt_ops_add_line};
    int code = check_options(&o);
    if (code == QT_EXIT_OK && o.per_op) {
        code =
            qt_ops_init(&b.ops) && qt_ask_verbose("dispatch,threads") ? QT_EXIT_OK : qt_no_memory();
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
    json_decref(b.drawn);
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
        "there; without it a run includes both copies.\nCtrl-C ends the measurement and reports "
        "what was measured until then.",
    .groups = {{"measuring", measure_flags},
               {"inputs", input_flags},
               {"backend", qt_backend_flags}},
    .examples = {{"quern bench model.onnx --threads 2 --seconds 5", "On two threads, for long."},
                 {"quern bench model.onnx --dim batch=8 --json", "JSON for a script."},
                 {"quern bench model.onnx --per-op --nodes 20", "Where the time goes, and why."},
                 {"quern bench model.onnx --html bench.html", "A report as a web page."}},
    .options_size = sizeof(qt_bench_options),
    .run = run,
};
