// SPDX-License-Identifier: MIT
//
// Executions as a trace for Perfetto and Chrome (TOOL-OPT-04 to 07): units as threads of one
// process, counters of memory traffic and of the VTCM, what the engine did around the graph, and
// arrows. All times are cycles. Executions follow each other.
#include "tools/profile_viewer/optrace.h"
#include "tools/quern/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNTRACES = 1, YIELDS };
enum { VTCM_ACQUIRE = 3010, POWER_ON = 3011, YIELD_RELEASE = 3006, YIELD_RESTORE = 3008 };

typedef struct tracing {
    json_t *events;
    const qv_run *r;
    const qv_features *f;
    double offset; // of the execution
    uint32_t n_flows;
} tracing;

static void slice(tracing *t, uint32_t tid, const char *name, double begin, double cycles,
                  json_t *args) {
    json_array_append_new(t->events, json_pack("{s:o,s:s,s:i,s:i,s:f,s:f,s:o}", "name",
                                               qt_json_text(name), "ph", "X", "pid", 0, "tid",
                                               (int)tid, "ts", begin, "dur", cycles, "args", args));
}

static void name_thread(tracing *t, uint32_t tid, const char *name) {
    json_array_append_new(t->events,
                          json_pack("{s:s,s:s,s:i,s:i,s:{s:o}}", "name", "thread_name", "ph", "M",
                                    "pid", 0, "tid", (int)tid, "args", "name", qt_json_text(name)));
}

// --- units

static void add_pieces(tracing *t) {
    for (uint32_t i = 0; i < t->r->n; i++) {
        const qv_piece *p = &t->r->list[i];
        const qv_thread *unit = &qv_threads[p->unit];
        json_t *args = json_pack(
            "{s:o,s:o,s:f,s:f,s:f,s:s,s:I,s:I,s:I,s:I}", "HTP Op Type", qt_json_text(p->type),
            "QNN Op Type", qt_json_text(qv_op_type(t->r, p->op)), "Start Cycle", p->begin,
            "Duration (cycles)", p->end - p->begin, "Dominant Path Cycles", p->dominant, "Unit",
            unit->type, "DRAM read", (json_int_t)p->dram_read, "DRAM write",
            (json_int_t)p->dram_write, "VTCM read", (json_int_t)p->vtcm_read, "VTCM write",
            (json_int_t)p->vtcm_write);
        slice(t, unit->tid, qv_op_name(t->r, p->op), t->offset + p->begin, p->end - p->begin, args);
    }
}

// --- counters

typedef struct change {
    double at, rate;
} change;

static int by_time(const void *x, const void *y) {
    const change *a = x, *b = y;
    return a->at < b->at ? -1 : a->at > b->at;
}

static void put_counter(tracing *t, const char *name, const char *unit, double at, double value) {
    json_array_append_new(t->events,
                          json_pack("{s:s,s:s,s:i,s:f,s:{s:f}}", "name", name, "ph", "C", "pid", 0,
                                    "ts", t->offset + at, "args", unit, value));
}

// Bytes a cycle that all pieces move together, where it changes.
static void add_rate(tracing *t, const char *name, size_t field, change *list) {
    size_t n = 0;
    double rate = 0;
    for (uint32_t i = 0; i < t->r->n; i++) {
        const qv_piece *p = &t->r->list[i];
        uint64_t bytes;
        memcpy(&bytes, (const char *)p + field, sizeof bytes);
        if (bytes && p->end > p->begin) {
            list[n++] = (change){p->begin, (double)bytes / (p->end - p->begin)};
            list[n++] = (change){p->end, -(double)bytes / (p->end - p->begin)};
        }
    }
    qsort(list, n, sizeof *list, by_time);
    for (size_t i = 0; i < n; i++) {
        rate += list[i].rate;
        if (i + 1 == n || list[i + 1].at > list[i].at)
            put_counter(t, name, "bytes per cycle", list[i].at, rate > 1e-6 ? rate : 0);
    }
}

static bool add_counters(tracing *t) {
    static const struct {
        const char *name;
        size_t field;
    } rates[] = {{"VTCM read", offsetof(qv_piece, vtcm_read)},
                 {"VTCM write", offsetof(qv_piece, vtcm_write)},
                 {"DRAM read", offsetof(qv_piece, dram_read)},
                 {"DRAM write", offsetof(qv_piece, dram_write)}};
    change *list = calloc(2 * (size_t)t->r->n + 1, sizeof *list);
    if (!list)
        return false;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        add_rate(t, rates[i].name, rates[i].field, list);
    for (uint32_t i = 0; i < t->r->n_vtcm; i++)
        put_counter(t, "VTCM alloc", "bytes", t->r->vtcm[i].at, (double)t->r->vtcm[i].bytes);
    free(list);
    return true;
}

// --- around the graph

// A span in measured microseconds from `at` on, which moves behind it.
static void add_span(tracing *t, uint32_t track, const char *name, double us, double *at) {
    double cycles = us * t->r->per_us;
    slice(t, track, name, *at, cycles,
          json_pack("{s:f,s:f,s:f,s:s}", "stat_start_cycles", *at, "stat_end_cycles", *at + cycles,
                    "summary_time_us", us, "source", "measured"));
    *at += cycles;
}

static const qt_event *find_event(const qt_event *list, uint32_t n, uint32_t type) {
    for (uint32_t i = 0; i < n; i++) {
        const qt_event *below =
            list[i].type == type ? &list[i] : find_event(list[i].sub, list[i].n_sub, type);
        if (below)
            return below;
    }
    return NULL;
}

static void add_yields(tracing *t, const qt_event *list, uint32_t n, double *at) {
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].type >= YIELD_RELEASE && list[i].type <= YIELD_RESTORE)
            add_span(t, YIELDS, list[i].name, (double)list[i].value, at);
        add_yields(t, list[i].sub, list[i].n_sub, at);
    }
}

// What comes before the graph moves the execution; where in the graph a yield was is not recorded.
static void add_runtrace(tracing *t, const qt_call *c) {
    const qt_event *vtcm = find_event(c->events, c->n, VTCM_ACQUIRE);
    const qt_event *power = find_event(c->events, c->n, POWER_ON);
    if (vtcm)
        add_span(t, RUNTRACES, "VTCM Acquire", (double)vtcm->value, &t->offset);
    if (power)
        add_span(t, RUNTRACES, "Resource Power On", (double)power->value, &t->offset);
    double begin = t->offset + t->r->begin, cycles = t->r->end - t->r->begin, at = begin;
    slice(t, RUNTRACES, "Graph Execute", begin, cycles,
          json_pack("{s:f,s:f,s:f,s:s}", "stat_start_cycles", begin, "stat_end_cycles",
                    begin + cycles, "summary_time_us", cycles / t->r->per_us, "source",
                    t->r->modelled ? "modelled" : "measured"));
    add_yields(t, c->events, c->n, &at);
}

// --- arrows

static void arrow(tracing *t, const char *name, const qv_piece *from, const qv_piece *to) {
    t->n_flows++;
    for (int k = 0; k < 2; k++) {
        const qv_piece *p = k ? to : from;
        json_t *e =
            json_pack("{s:s,s:s,s:s,s:i,s:i,s:i,s:f}", "name", name, "cat", name, "ph",
                      k ? "f" : "s", "id", (int)t->n_flows, "pid", 0, "tid",
                      (int)qv_threads[p->unit].tid, "ts", t->offset + (k ? p->begin : p->end));
        if (k)
            json_object_set_new(e, "bp", json_string("e"));
        json_array_append_new(t->events, e);
    }
}

static bool is_compute(const qv_piece *p) { return p->unit != QV_READ && p->unit != QV_WRITE; }

// Per op the piece of its unit; NULL: memory is short.
static const qv_piece **find_work(const qv_run *r) {
    const qv_piece **work = calloc(r->s->n_ops + (size_t)1, sizeof(const qv_piece *));
    for (uint32_t i = 0; work && i < r->n; i++)
        if (is_compute(&r->list[i]) && r->list[i].op != QT_NO_INDEX)
            work[r->list[i].op] = &r->list[i];
    return work;
}

// From the step that makes a value to each step that reads it.
static bool add_data_flows(tracing *t) {
    const qv_run *r = t->r;
    const qv_piece **work = find_work(r);
    for (uint32_t i = 0; work && i < r->s->n_ops; i++)
        for (uint32_t k = 0; k < r->s->ops[i].n_in; k++) {
            uint32_t v = r->s->ops[i].in[k], p = v == QT_NO_INDEX ? v : r->maker[v];
            uint32_t to = r->home[i], from = p == QT_NO_INDEX ? p : r->home[p];
            if (to != QT_NO_INDEX && from != QT_NO_INDEX && from != to && work[to] && work[from])
                arrow(t, "data", work[from], work[to]);
        }
    free(work);
    return work != NULL;
}

// From each step to the next, and from the transfer of weights to the step that needs them.
static void add_order_flows(tracing *t) {
    const qv_piece *before = NULL;
    for (uint32_t i = 0; i < t->r->n; i++) {
        const qv_piece *p = &t->r->list[i];
        if (!is_compute(p))
            continue;
        if (before)
            arrow(t, "sequencer", before, p);
        for (uint32_t k = i; k-- > 0 && !is_compute(&t->r->list[k]);)
            if (t->r->list[k].end <= p->begin)
                arrow(t, "sequencer", &t->r->list[k], p);
        before = p;
    }
}

// --- all of it

static void name_tracks(tracing *t) {
    char name[256];
    json_array_append_new(t->events,
                          json_pack("{s:s,s:s,s:i,s:{s:s}}", "name", "process_name", "ph", "M",
                                    "pid", 0, "args", "name", "Core 0 Overview"));
    for (int u = 0; u < QV_UNITS; u++) {
        bool modelled = u != QV_HOST;
        if (u == QV_WRITE || modelled != t->r->modelled)
            continue;
        snprintf(name, sizeof name, "Core:0 Type: %s Tid: %u", qv_threads[u].type,
                 qv_threads[u].tid);
        name_thread(t, qv_threads[u].tid, name);
    }
    if (!t->f->runtrace)
        return;
    snprintf(name, sizeof name, "%.200s Runtraces", t->r->s->graph);
    name_thread(t, RUNTRACES, name);
    snprintf(name, sizeof name, "%.200s Yields", t->r->s->graph);
    name_thread(t, YIELDS, name);
}

json_t *qv_trace_json(const qv_execution *list, uint32_t n, const qv_features *f) {
    tracing t = {.events = json_array(), .f = f};
    bool ok = t.events != NULL;
    for (uint32_t i = 0; ok && i < n; i++) {
        t.r = &list[i].run;
        if (i == 0)
            name_tracks(&t);
        if (f->runtrace)
            add_runtrace(&t, list[i].call);
        add_pieces(&t);
        ok = !f->memory_info || add_counters(&t);
        ok = ok && (!f->enable_input_output_flow_events || add_data_flows(&t));
        if (f->enable_sequencer_flow_events)
            add_order_flows(&t);
        t.offset += t.r->end;
    }
    if (!ok) {
        json_decref(t.events);
        return NULL;
    }
    return json_pack("{s:{s:{s:i,s:i,s:i},s:s,s:s,s:s},s:o}", "header", "header_version", "major",
                     1, "minor", 0, "patch", 0, "version", "1.0.0", "artifact_type", "OP_TRACE",
                     "producer", "Quern " QUERN_VERSION, "traceEvents", t.events);
}
