// SPDX-License-Identifier: MIT
//
// Profilers that the host asks for. Each keeps the events of its own profile: a profile of a run
// covers the threads between its StartEvent and StopEvent, a profile of the session of all.
// One lock guards everything; without a profile that has begun it is never taken.
#include "frontend/ort/timeline.h"

#include "base/mem.h"
#include "base/strmap.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_EVENTS 1000000 // as many as the host keeps
#define MAX_ARGS 5

typedef struct entry {
    OrtProfilingEventCategory category;
    int32_t thread;
    uint64_t start_ns, end_ns, cycles; // cycles 0: not counted
    const char *name;
    const char *graph, *op, *source; // op and source may be NULL
} entry;

// A thread on which the host has begun events and not ended them.
typedef struct listened {
    int32_t thread;
    uint32_t depth;
} listened;

typedef struct profiler {
    OrtEpProfilerImpl base; // first
    struct profiler *next;
    qe_timeline *timeline;
    const char *backend;
    bool on;
    uint64_t zero_ns; // of our clock when the profile began
    int64_t offset_ns;
    listened *threads;
    uint32_t n_threads;
    entry *list;
    size_t n, cap, n_lost;
    qrn_arena *arena; // of texts
    qrn_strmap texts; // that were kept, by themselves
} profiler;

struct qe_timeline {
    pthread_mutex_t lock;
    uint32_t n_refs;
    atomic_uint n_on; // profiles that have begun
    profiler *first;
};

// --- life

qrn_status qe_timeline_open(qe_timeline **out) {
    qe_timeline *t = qrn_calloc(sizeof *t);
    if (!t)
        return QRN_FAIL(QRN_E_MEM, "profile: no memory");
    pthread_mutex_init(&t->lock, NULL);
    t->n_refs = 1;
    *out = t;
    return QRN_OK;
}

// Gives up one reference, with the lock held.
static void leave(qe_timeline *t) {
    bool last = --t->n_refs == 0;
    pthread_mutex_unlock(&t->lock);
    if (last) {
        pthread_mutex_destroy(&t->lock);
        qrn_free(t);
    }
}

void qe_timeline_close(qe_timeline *t) {
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    leave(t);
}

static void stop(profiler *p) {
    if (p->on)
        atomic_fetch_sub(&p->timeline->n_on, 1);
    p->on = false;
}

static void forget(profiler *p) {
    qrn_free(p->threads);
    qrn_free(p->list);
    qrn_strmap_clear(&p->texts);
    qrn_arena_destroy(p->arena);
    p->threads = NULL;
    p->list = NULL;
    p->arena = NULL;
    p->n_threads = 0;
    p->n = p->cap = p->n_lost = 0;
}

static void release(OrtEpProfilerImpl *base) {
    profiler *p = (profiler *)base;
    qe_timeline *t = p->timeline;
    pthread_mutex_lock(&t->lock);
    for (profiler **at = &t->first; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    stop(p);
    forget(p);
    qrn_free(p);
    leave(t);
}

// --- which threads

static int32_t this_thread(void) { return (int32_t)syscall(SYS_gettid); }

static listened *find_thread(const profiler *p, int32_t thread) {
    for (uint32_t i = 0; i < p->n_threads; i++)
        if (p->threads[i].thread == thread)
            return &p->threads[i];
    return NULL;
}

static bool add_thread(profiler *p, int32_t thread) {
    listened *at = find_thread(p, thread);
    if (!at && !(at = find_thread(p, 0))) { // a thread that left
        size_t old = p->n_threads * sizeof *at;
        at = qrn_realloc(p->threads, old, old + sizeof *at);
        if (!at)
            return false;
        p->threads = at;
        at = &p->threads[p->n_threads++];
        at->depth = 0;
    }
    at->thread = thread;
    at->depth++;
    return true;
}

static OrtStatus *start_event(OrtEpProfilerImpl *base, uint64_t id) {
    profiler *p = (profiler *)base;
    (void)id;
    pthread_mutex_lock(&p->timeline->lock);
    bool ok = add_thread(p, this_thread());
    pthread_mutex_unlock(&p->timeline->lock);
    return ok ? NULL : qe_status(QRN_FAIL(QRN_E_MEM, "profile: no memory"));
}

static OrtStatus *stop_event(OrtEpProfilerImpl *base, uint64_t id, const OrtProfilingEvent *e) {
    profiler *p = (profiler *)base;
    (void)id, (void)e;
    pthread_mutex_lock(&p->timeline->lock);
    listened *at = find_thread(p, this_thread());
    if (at && --at->depth == 0)
        at->thread = 0;
    pthread_mutex_unlock(&p->timeline->lock);
    return NULL;
}

bool qe_timeline_listens(const qe_ep *ep) {
    qe_timeline *t = ep->timeline;
    bool yes = false;
    if (atomic_load_explicit(&t->n_on, memory_order_relaxed) == 0)
        return false;
    int32_t thread = this_thread();
    pthread_mutex_lock(&t->lock);
    for (const profiler *p = t->first; p && !yes; p = p->next)
        yes = p->on && find_thread(p, thread);
    pthread_mutex_unlock(&t->lock);
    return yes;
}

// --- events

// The host writes texts into JSON as they are, and values that begin with a bracket as JSON.
static void make_harmless(char *text) {
    if (text[0] == '{' || text[0] == '[')
        text[0] = '(';
    for (char *c = text; *c; c++)
        *c = *c == '"' ? '\'' : *c == '\\' ? '/' : (unsigned char)*c < 0x20 ? ' ' : *c;
}

// A text that lives as long as the profile; NULL stays NULL. False: no memory.
static bool keep(profiler *p, const char **text) {
    if (!*text)
        return true;
    const char *kept = qrn_strmap_get(&p->texts, *text);
    if (!kept && p->arena) {
        char *key = qrn_arena_strdup(p->arena, *text), *made = qrn_arena_strdup(p->arena, *text);
        if (!key || !made || !qrn_strmap_put(&p->texts, key, made))
            return false;
        make_harmless(made);
        kept = made;
    }
    *text = kept;
    return kept;
}

static bool put(profiler *p, entry e) {
    if (p->n == MAX_EVENTS || !keep(p, &e.name) || !keep(p, &e.graph) || !keep(p, &e.op) ||
        !keep(p, &e.source))
        return false;
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 64;
        entry *list = qrn_realloc(p->list, p->n * sizeof *list, cap * sizeof *list);
        if (!list)
            return false;
        p->list = list;
        p->cap = cap;
    }
    p->list[p->n++] = e;
    return true;
}

static void add(qe_ep *ep, entry e) {
    qe_timeline *t = ep->timeline;
    if (atomic_load_explicit(&t->n_on, memory_order_relaxed) == 0)
        return;
    e.thread = this_thread();
    pthread_mutex_lock(&t->lock);
    for (profiler *p = t->first; p; p = p->next)
        // Graphs are compiled before the host begins events of its own.
        if (p->on && (e.category == ORT_EVENT_OF_SESSION || find_thread(p, e.thread)) && !put(p, e))
            p->n_lost++;
    pthread_mutex_unlock(&t->lock);
}

void qe_timeline_made(qe_ep *ep, const char *what, const char *graph, uint64_t start_ns) {
    add(ep, (entry){.category = ORT_EVENT_OF_SESSION,
                    .start_ns = start_ns,
                    .end_ns = qe_now_ns(),
                    .name = what,
                    .graph = graph});
}

void qe_timeline_run(qe_ep *ep, const char *graph, uint64_t start_ns) {
    add(ep, (entry){.category = ORT_EVENT_OF_KERNEL,
                    .start_ns = start_ns,
                    .end_ns = qe_now_ns(),
                    .name = "qnn_graph_execute",
                    .graph = graph});
}

void qe_timeline_op(qe_ep *ep, const char *graph, const char *name, const char *op,
                    const char *source, uint64_t cycles, uint64_t start_ns, uint64_t end_ns) {
    add(ep, (entry){.category = ORT_EVENT_OF_KERNEL,
                    .start_ns = start_ns,
                    .end_ns = end_ns,
                    .cycles = cycles,
                    .name = name,
                    .graph = graph,
                    .op = op,
                    .source = source});
}

// --- handing over

static qrn_status hand_event(const profiler *p, const entry *e, OrtProfilingEventsContainer *to) {
    const char *keys[MAX_ARGS] = {"backend", "graph"}, *values[MAX_ARGS] = {p->backend, e->graph};
    size_t n = 2;
    char cycles[24];
    if (e->op) {
        keys[n] = "qnn_op";
        values[n++] = e->op;
    }
    if (e->source) {
        keys[n] = "onnx_node";
        values[n++] = e->source;
    }
    if (e->cycles) {
        snprintf(cycles, sizeof cycles, "%llu", (unsigned long long)e->cycles);
        keys[n] = "cycles";
        values[n++] = cycles;
    }
    int64_t at_us = (p->offset_ns + (int64_t)(e->start_ns - p->zero_ns)) / 1000;
    OrtProfilingEvent *event = NULL;
    QE_TRY(CreateProfilingEvent, e->category, (int32_t)getpid(), e->thread, e->name, at_us,
           (int64_t)(e->end_ns - e->start_ns) / 1000, keys, values, n, &event);
    const OrtProfilingEvent *list[] = {event};
    qrn_status s = qe_heard(ORT(ProfilingEventsContainer_AddEvents)(to, list, 1),
                            "ProfilingEventsContainer_AddEvents");
    ORT(ReleaseProfilingEvent)(event);
    return s;
}

static OrtStatus *start_profiling(OrtEpProfilerImpl *base, int64_t offset_ns) {
    profiler *p = (profiler *)base;
    pthread_mutex_lock(&p->timeline->lock);
    p->zero_ns = qe_now_ns();
    p->offset_ns = offset_ns;
    if (!p->arena)
        p->arena = qrn_arena_create();
    if (p->arena && !p->on) {
        p->on = true;
        atomic_fetch_add(&p->timeline->n_on, 1);
    }
    bool ok = p->arena;
    pthread_mutex_unlock(&p->timeline->lock);
    return ok ? NULL : qe_status(QRN_FAIL(QRN_E_MEM, "profile: no memory"));
}

static OrtStatus *end_profiling(OrtEpProfilerImpl *base, OrtProfilingEventsContainer *to) {
    profiler *p = (profiler *)base;
    qrn_status s = QRN_OK;
    pthread_mutex_lock(&p->timeline->lock);
    stop(p);
    for (size_t i = 0; i < p->n && s == QRN_OK; i++)
        s = hand_event(p, &p->list[i], to);
    size_t lost = p->n_lost;
    forget(p);
    pthread_mutex_unlock(&p->timeline->lock);
    if (lost)
        qe_say(NULL, ORT_LOG_WARNING, "%zu events are not in the profile: there was no room", lost);
    return qe_status(s);
}

OrtStatus *qe_create_profiler(OrtEp *base, OrtEpProfilerImpl **out) {
    const qe_ep *ep = (const qe_ep *)base;
    qe_timeline *t = ep->timeline;
    profiler *p = qrn_calloc(sizeof *p);
    *out = NULL;
    if (!p)
        return qe_status(QRN_FAIL(QRN_E_MEM, "profile: no memory"));
    p->base = (OrtEpProfilerImpl){ORT_API_OF_PROFILER, release,    start_profiling,
                                  start_event,         stop_event, end_profiling};
    p->timeline = t;
    p->backend = qe_backend_names[ep->backend];
    pthread_mutex_lock(&t->lock);
    t->n_refs++;
    p->next = t->first;
    t->first = p;
    pthread_mutex_unlock(&t->lock);
    *out = &p->base;
    return NULL;
}
