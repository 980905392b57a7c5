// SPDX-License-Identifier: MIT
//
// Profiles as a trace for Perfetto and Chrome: calls, their nodes as measured, and their nodes as
// modelled. Where a log has op traces (docs/profiling.md), nodes lie where they ran; else they
// follow each other from the begin of their call.
#include "tools/quern/optrace.h"
#include "tools/quern/output.h"
#include "tools/quern/profile_sums.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS = 1, NODES, STEPS, HMX, HVX, DMA, N_TRACKS };

static const char *const track_names[N_TRACKS] = {
    [CALLS] = "calls (measured)",
    [NODES] = "nodes (measured)",
    [STEPS] = "nodes (modelled; 1 us = 1000 cycles)",
    [HMX] = "matrix unit (HMX, modelled)",
    [HVX] = "vector unit (HVX, modelled)",
    [DMA] = "memory (DMA, modelled)",
};

typedef struct tracing {
    json_t *events;
    bool used[N_TRACKS];
} tracing;

static void slice(tracing *t, int track, const char *name, double begin, double us) {
    t->used[track] = true;
    json_array_append_new(t->events,
                          json_pack("{s:o,s:s,s:i,s:i,s:f,s:f}", "name", qt_json_text(name), "ph",
                                    "X", "pid", 1, "tid", track, "ts", begin, "dur", us));
}

// Nodes one behind the other.
static void add_nodes(tracing *t, const qt_event *list, uint32_t n, qt_node_kind kind, int track,
                      double per_us, double *at) {
    for (uint32_t i = 0; i < n; i++) {
        char name[512];
        if (qt_node_of(&list[i], name, sizeof name) == kind) {
            slice(t, track, name, *at, (double)list[i].value / per_us);
            *at += (double)list[i].value / per_us;
        }
        add_nodes(t, list[i].sub, list[i].n_sub, kind, track, per_us, at);
    }
}

// --- op traces

const qt_event *qt_find_optrace(const qt_event *list, uint32_t n) {
    static const char magic[] = "51524e5452414345"; // QRNTRACE
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].hex && strncmp(list[i].hex, magic, sizeof magic - 1) == 0)
            return &list[i];
        const qt_event *below = qt_find_optrace(list[i].sub, list[i].n_sub);
        if (below)
            return below;
    }
    return NULL;
}

// The node of an op id, which the events of the same call have.
static const char *name_of(const qt_event *list, uint32_t n, uint32_t id, char *buf, size_t size) {
    for (uint32_t i = 0; i < n; i++) {
        const char *at = qt_node_of(&list[i], buf, size) ? strstr(buf, "OpId_") : NULL;
        if (at && strtoull(at + 5, NULL, 10) == id)
            return buf;
        if (name_of(list[i].sub, list[i].n_sub, id, buf, size))
            return buf;
    }
    return NULL;
}

static void name_op(const qt_call *c, uint32_t id, char *buf, size_t size) {
    if (!name_of(c->events, c->n, id, buf, size))
        snprintf(buf, size, "OpId_%u", id);
}

static void add_steps(tracing *t, const qt_call *c, const qt_optrace *trace, double call) {
    for (uint32_t i = 0; i < trace->n_steps; i++) {
        const qt_step *s = &trace->steps[i];
        const double *const moves[] = {s->fetch, s->swap};
        char name[512];
        name_op(c, s->id, name, sizeof name);
        slice(t, s->engines & QT_HMX ? HMX : HVX, name, call + s->run / 1e3,
              (s->end - s->run) / 1e3);
        for (int k = 0; k < 2; k++)
            if (moves[k][1] > moves[k][0])
                slice(t, DMA, name, call + moves[k][0] / 1e3, (moves[k][1] - moves[k][0]) / 1e3);
    }
}

// Where each op ran, and what a chip would do; both from the begin of the call on.
static void add_trace(tracing *t, const qt_call *c, const qt_optrace *trace, double call) {
    for (uint32_t i = 0; i < trace->n_ran; i++) {
        const qt_ran *r = &trace->ran[i];
        char name[512];
        name_op(c, r->id, name, sizeof name);
        slice(t, NODES, name, call + (double)(r->begin - trace->ran[0].begin) / trace->ticks_per_us,
              (double)(r->end - r->begin) / trace->ticks_per_us);
    }
    add_steps(t, c, trace, call);
}

// --- all of it

static bool add_call(tracing *t, qrn_arena *a, const qt_call *c, double at, double us) {
    static const char *const names[QT_CALL_KINDS] = {"init",  "compose", "finalize", "de-init",
                                                     "apply", "execute", "rate",     "other"};
    char name[256];
    snprintf(name, sizeof name, "%s %.200s", names[c->kind], c->graph);
    slice(t, CALLS, name, at, us);
    if (c->kind != QT_CALL_EXECUTE)
        return true;
    const qt_event *block = qt_find_optrace(c->events, c->n);
    qt_optrace trace;
    if (block) {
        bool whole = qt_optrace_read(a, block->hex, &trace);
        if (whole)
            add_trace(t, c, &trace, at);
        return whole;
    }
    double measured = at, modelled = at;
    add_nodes(t, c->events, c->n, QT_NODE_US, NODES, 1, &measured);
    add_nodes(t, c->events, c->n, QT_NODE_MODELLED, STEPS, 1000, &modelled);
    return true;
}

// The longest event in microseconds: a call's duration where the file has no times.
static double longest(const qt_call *c) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < c->n; i++)
        if (strcmp(c->events[i].unit, "us") == 0 && c->events[i].value > most)
            most = c->events[i].value;
    return (double)most;
}

static bool add_calls(tracing *t, const qt_profile *p) {
    double at = 0, zero = p->n ? (double)p->calls[0].start_us : 0;
    bool ok = true;
    for (uint32_t i = 0; i < p->n && ok; i++) {
        const qt_call *c = &p->calls[i];
        bool timed = c->stop_us > c->start_us;
        double us = timed ? (double)(c->stop_us - c->start_us) : longest(c);
        at = timed ? (double)c->start_us - zero : at;
        ok = add_call(t, p->arena, c, at, us);
        at += us;
    }
    return ok;
}

json_t *qt_profile_trace_json(const qt_profile *p) {
    tracing t = {.events = json_array()};
    if (!add_calls(&t, p)) {
        qt_error("an op trace of the profile is damaged");
        json_decref(t.events);
        return NULL;
    }
    for (int i = CALLS; i < N_TRACKS; i++)
        if (t.used[i])
            json_array_append_new(t.events, json_pack("{s:s,s:s,s:i,s:i,s:{s:s}}", "name",
                                                      "thread_name", "ph", "M", "pid", 1, "tid", i,
                                                      "args", "name", track_names[i]));
    json_t *all = json_pack("{s:o,s:s}", "traceEvents", t.events, "displayTimeUnit", "ms");
    if (!all)
        qt_error("out of memory");
    return all;
}

bool qt_profile_trace(const qt_profile *p, const char *path) {
    json_t *all = qt_profile_trace_json(p);
    char *text = all ? qt_json_dump(all, JSON_COMPACT) : NULL;
    if (!text)
        return false;
    const qt_part part = {text, strlen(text)};
    bool done = qt_write_file(path, &part, 1);
    free(text);
    return done;
}
