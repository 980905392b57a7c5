// SPDX-License-Identifier: MIT
//
// The loop: execution e uses slot e of a ring of sets. A slot is filled, queued, and emptied when
// its turn comes again, so results are written in order however the backend finishes them.
#include "tools/sdk/inference.h"

#include "tools/quern/session.h"
#include "tools/sdk/flight.h"
#include "tools/sdk/list_batch.h"
#include "tools/sdk/program.h"

#include "QnnSignal.h"

#include <stdlib.h>
#include <string.h>

// One execution in flight, and its number.
typedef struct slot {
    qs_flight flight;
    uint64_t number;
} slot;

typedef struct runner {
    const qs_running *how;
    const qc_client *client;
    const qs_graph *graph;
    const qs_list *list;
    const char *folder;
    qs_batching batching;
    bool *native; // of each input
    slot *slots;
    uint32_t n_slots;
    void **cache; // inputs of a group, one block; NULL: not kept
    size_t n_cached, set_bytes;
    Qnn_SignalHandle_t signal;
    bool delayed; // the graph's profile is not enabled yet
    uint64_t begin_us;
    qs_output output;
} runner;

static int failed(const runner *r) {
    qt_error("graph '%s': %s", r->graph->g->name, qrn_message());
    return QT_EXIT_FAILURE;
}

static int no_memory(void) {
    qt_error("out of memory");
    return QT_EXIT_FAILURE;
}

// --- making

static int choose_native(runner *r) {
    const qc_graph *g = r->graph->g;
    r->native = calloc(g->n_inputs + 1, sizeof *r->native);
    if (!r->native)
        return no_memory();
    for (uint32_t i = 0; i < g->n_inputs; i++)
        r->native[i] =
            r->how->native_in ||
            (r->how->natives && qs_is_selected(r->how->natives, g->name, g->inputs[i]->t.v1.name));
    return QT_EXIT_OK;
}

static int make_signal(runner *r) {
    const qc_client *c = r->client;
    const QnnSignal_Config_t limit = {.option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT,
                                      .timeoutDurationUs = r->how->timeout_us};
    const QnnSignal_Config_t *list[] = {&limit, NULL};
    if (!r->how->timeout_us)
        return QT_EXIT_OK;
    if (!c->qnn.signalCreate || !qc_has(c, QNN_PROPERTY_SIGNAL_SUPPORT_TIMEOUT)) {
        qt_error("--timeout: %s has no signals with a timeout", c->path);
        return QT_EXIT_REFUSED;
    }
    return qc_check(c, c->qnn.signalCreate(c->backend, list, &r->signal), "signalCreate") == QRN_OK
               ? QT_EXIT_OK
               : failed(r);
}

static int make_slots(runner *r) {
    const qs_running *h = r->how;
    r->slots = calloc(h->depth, sizeof *r->slots);
    if (!r->slots)
        return no_memory();
    for (uint32_t i = 0; i < h->depth; i++) {
        qs_flight *f = &r->slots[i].flight;
        qs_flight_init(f);
        r->n_slots = i + 1;
        if (qs_set_create(r->client, r->graph->g, r->graph->context, h->multiplier, h->place,
                          h->shared, &f->set) != QRN_OK)
            return failed(r);
    }
    const qs_set *first = &r->slots[0].flight.set;
    for (uint32_t i = 0; i < first->n_in; i++)
        r->set_bytes += first->shapes[i].bytes;
    return QT_EXIT_OK;
}

static int start(runner *r) {
    const qs_running *h = r->how;
    int code = choose_native(r);
    if (code == QT_EXIT_OK)
        code = make_signal(r);
    if (code == QT_EXIT_OK)
        code = make_slots(r);
    if (code == QT_EXIT_OK)
        code = qs_batching_of(r->list, &r->slots[0].flight.set, r->native, &r->batching);
    if (code != QT_EXIT_OK)
        return code;
    r->cache = calloc(r->batching.groups + 1, sizeof *r->cache);
    r->output = (qs_output){.root = h->root,
                            .graph = r->folder,
                            .floats = h->floats_out,
                            .native = h->native_out,
                            .only = (const char *const *)r->list->in.selected,
                            .n_only = r->list->in.n_selected};
    r->delayed = r->graph->profile && r->graph->profiling_delay_s > 0;
    return r->cache ? QT_EXIT_OK : no_memory();
}

static void finish(runner *r) {
    for (uint32_t i = 0; i < r->n_slots; i++)
        qs_flight_free(&r->slots[i].flight);
    for (size_t i = 0; r->cache && i < r->batching.groups; i++)
        free(r->cache[i]);
    if (r->signal)
        r->client->qnn.signalFree(r->signal);
    free(r->cache);
    free(r->slots);
    free(r->native);
}

// --- inputs

static bool may_cache(const runner *r) {
    const qs_running *h = r->how;
    if (h->cached_bytes)
        return (r->n_cached + 1) * r->set_bytes <= h->cached_bytes;
    return h->cached_sets < 0 || r->n_cached < (uint64_t)h->cached_sets;
}

static void keep_inputs(runner *r, size_t group, const qs_set *s) {
    char *block = may_cache(r) ? malloc(r->set_bytes + 1) : NULL;
    char *at = block;
    if (!block)
        return; // the files are read again
    for (uint32_t i = 0; i < s->n_in; i++) {
        memcpy(at, s->buffers[i], s->shapes[i].bytes);
        at += s->shapes[i].bytes;
    }
    r->cache[group] = block;
    r->n_cached++;
}

static int fill(runner *r, qs_set *s, size_t group) {
    const char *at = r->cache[group];
    if (!at) {
        if (qs_batch_load(r->list, &r->batching, group, r->native, s) != QRN_OK) {
            qt_error("%s", qrn_message());
            return QT_EXIT_INPUT;
        }
        keep_inputs(r, group, s);
        return QT_EXIT_OK;
    }
    for (uint32_t i = 0; i < s->n_in; i++) {
        memcpy(s->buffers[i], at, s->shapes[i].bytes);
        at += s->shapes[i].bytes;
    }
    return QT_EXIT_OK;
}

// --- executing

// A graph's own profile handle is switched on when its time has come.
static int enable_profile(runner *r) {
    double waited = 1e-6 * (double)(qs_now_us() - r->begin_us);
    const QnnGraph_Config_t on = {.option = QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_STATE,
                                  .profilingState = QNN_GRAPH_PROFILING_STATE_ENABLED};
    const QnnGraph_Config_t *list[] = {&on, NULL};
    if (!r->delayed || waited < r->graph->profiling_delay_s)
        return QT_EXIT_OK;
    r->delayed = false;
    return qc_check(r->client, r->client->qnn.graphSetConfig(r->graph->g->handle, list),
                    "graphSetConfig") == QRN_OK
               ? QT_EXIT_OK
               : failed(r);
}

static int execute(runner *r, slot *s) {
    const qs_running *h = r->how;
    int code = enable_profile(r);
    if (code != QT_EXIT_OK)
        return code;
    qs_extension_begin(h->extension, QUERN_EXTENSION_PHASE_EXECUTE);
    qs_flight_start(&s->flight, h->async, r->graph->profile ? NULL : h->profile->handle, r->signal);
    return QT_EXIT_OK;
}

static int write_results(runner *r, const slot *s) {
    const qs_running *h = r->how;
    const qs_batching *b = &r->batching;
    uint64_t pass = s->number / b->groups, line = s->number % b->groups * b->together;
    int code = QT_EXIT_OK;
    for (size_t k = 0; k < b->together && line + k < b->lines && code == QT_EXIT_OK; k++) {
        uint64_t index = pass * b->lines + line + k;
        if (!h->limit_outputs || index < h->keep_outputs)
            code = qs_output_write(&r->output, &s->flight.set, index, k, b->together);
    }
    return code;
}

// Waits for a slot and, unless something failed before, writes what it holds.
static int empty(runner *r, slot *s, bool keep) {
    const qs_running *h = r->how;
    if (!s->flight.started)
        return QT_EXIT_OK;
    qrn_status done = qs_flight_wait(&s->flight, h->async);
    qs_extension_end(h->extension, QUERN_EXTENSION_PHASE_EXECUTE);
    if (!keep)
        return QT_EXIT_OK;
    if (done != QRN_OK)
        return failed(r);
    int code = qs_profile_take(h->profile,
                               h->async ? QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE_ASYNC
                                        : QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE,
                               r->graph->g->name, s->flight.start_us,
                               r->graph->profile ? NULL : h->profile->handle);
    return code == QT_EXIT_OK ? write_results(r, s) : code;
}

static bool is_over(const runner *r, uint64_t n) {
    const qs_running *h = r->how;
    double seconds = 1e-6 * (double)(qs_now_us() - r->begin_us);
    if (h->n_inferences && n >= h->n_inferences)
        return true;
    if (h->duration_s > 0)
        return seconds >= h->duration_s;
    return !h->n_inferences && n >= r->batching.groups;
}

static int loop(runner *r, uint64_t *n_done) {
    int code = QT_EXIT_OK;
    uint64_t n = 0;
    r->begin_us = qs_now_us();
    for (; code == QT_EXIT_OK && !is_over(r, n); n++) {
        slot *s = &r->slots[n % r->n_slots];
        code = empty(r, s, true);
        if (code == QT_EXIT_OK)
            code = fill(r, &s->flight.set, (size_t)(n % r->batching.groups));
        s->number = n;
        if (code == QT_EXIT_OK)
            code = execute(r, s);
    }
    for (uint32_t i = 0; i < r->n_slots; i++) { // the oldest first
        int last = empty(r, &r->slots[(n + i) % r->n_slots], code == QT_EXIT_OK);
        code = code == QT_EXIT_OK ? last : code;
    }
    if (code == QT_EXIT_OK && r->graph->profile)
        code = qs_profile_take(r->how->profile, QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE,
                               r->graph->g->name, r->begin_us, r->graph->profile);
    if (code == QT_EXIT_OK)
        code = qs_profile_rate(r->how->profile, r->graph->g->name, n, r->begin_us, qs_now_us());
    *n_done += n;
    return code;
}

int qs_run_graph(const qs_running *how, const qc_client *c, const qs_graph *g, const char *folder,
                 const qs_list *list, uint64_t *n_done) {
    runner r = {.how = how, .client = c, .graph = g, .folder = folder, .list = list};
    int code = start(&r);
    if (code == QT_EXIT_OK)
        code = loop(&r, n_done);
    finish(&r);
    return code;
}
