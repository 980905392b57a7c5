// SPDX-License-Identifier: MIT
//
// Contexts on the accelerator; see session.h.
#include "backend/htp/device/session.h"

#include "core/services.h"
#include "backend/htp/device/group.h"
#include "backend/htp/device/properties.h"
#include "backend/htp/device/session_space.h"
#include "backend/htp/device/switch.h"
#include "base/fork.h"
#include "base/mem.h"
#include "binary/binary.h"

#include <string.h>

typedef struct session {
    qrn_api_context *context;
    uint32_t number;
    uint64_t bytes;       // in the address space: base, set-aside I/O and loaded graphs
    uint64_t io_bytes;    // part of them that is set aside for I/O
    uint64_t io_mapped;   // buffers of the client: in that part, the rest beside it
    bool heap_first;      // no other context had its heap profiled
    uint64_t heap_before; // bytes in use before it
    bool started;         // loading a graph takes room by itself
    bool switching;
    pthread_mutex_t lock; // guards the switch and what it loads
    qrn_switch sw;
    qrn_switch_graph graphs[];
} session;

static pthread_mutex_t space_lock = PTHREAD_MUTEX_INITIALIZER;
QRN_RENEW_AFTER_FORK(space_lock);
static qrn_htp_space space;
static uint32_t n_profiled; // living sessions whose heap is profiled; guarded by space_lock

static session *session_of(const qrn_api_context *c) { return qrn_htp_context_of(c)->session; }

// --- sizes

// Weights of a graph that adapters replace, if all graphs have one place for them (HTP-CTX-13); 0
// when each graph keeps its own.
static uint64_t adapter_bytes(const qrn_htp_context *c, uint32_t i) {
    const qrn_bin_graph *g = &c->bin->graphs[i];
    uint64_t sum = 0;
    if (!c->options.lora_weight_sharing || c->options.lora_ram_preload)
        return 0;
    for (uint32_t k = 0; k < g->n_tensors; k++)
        if (g->tensors[k]->updateable && g->tensors[k]->role == QRN_ROLE_STATIC)
            sum += g->tensors[k]->size_bytes;
    return sum;
}

// A graph while it is loaded: constants of its own, and the intermediate data of an execution as
// measured, not as the file says.
static uint64_t graph_bytes(const qrn_htp_context *c, uint32_t i) {
    const qrn_bin_graph *g = &c->bin->graphs[i];
    uint64_t elsewhere = g->shared_bytes + adapter_bytes(c, i);
    return (g->const_bytes > elsewhere ? g->const_bytes - elsewhere : 0) +
           qrn_htp_graph_of(qrn_context_graph(c->api, i))->sizes.live_bytes;
}

// What is there as long as the context: constants that graphs share (HTP-CTX-21), the place of the
// largest adapter, and the buffers of its group, once.
static uint64_t base_bytes(const qrn_htp_context *c) {
    uint64_t adapter = 0;
    for (uint32_t i = 0; i < c->bin->n_graphs; i++) {
        uint64_t a = adapter_bytes(c, i);
        adapter = a > adapter ? a : adapter;
    }
    return c->bin->shared_bytes + adapter + qrn_htp_group_bytes(c->api);
}

static uint64_t all_io_bytes(const qrn_htp_context *c) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < c->bin->n_graphs; i++)
        sum += c->bin->graphs[i].io_bytes;
    return sum;
}

// --- loading and unloading

static qrn_status take_room(session *s, uint64_t bytes) {
    pthread_mutex_lock(&space_lock);
    qrn_status st = qrn_htp_space_map(&space, s->number, bytes);
    if (st == QRN_OK)
        s->bytes += bytes;
    pthread_mutex_unlock(&space_lock);
    return st == QRN_OK ? QRN_OK : QRN_E_MEM;
}

static void give_room(session *s, uint64_t bytes) {
    pthread_mutex_lock(&space_lock);
    qrn_htp_space_release(&space, s->number, bytes);
    s->bytes -= bytes;
    pthread_mutex_unlock(&space_lock);
}

static void log_graph(const session *s, uint32_t i, const char *what) {
    qrn_log(s->context->backend->log, QNN_LOG_LEVEL_VERBOSE,
            "graph '%s': %s, session %u, %llu bytes", s->graphs[i].name, what, s->number,
            (unsigned long long)s->graphs[i].size_bytes);
}

// Compiles from the binary what is not there. What the context was placed with has its room.
static qrn_status load_graph(void *ctx, uint32_t i) {
    session *s = ctx;
    qrn_api_graph *g = qrn_context_graph(s->context, i);
    const qrn_finalize_options opt = {0};
    if (s->started)
        QRN_TRY(take_room(s, s->graphs[i].size_bytes));
    if (!g->runner) {
        qrn_status st = qrn_htp_graph_finalize(g, &opt);
        if (st != QRN_OK && s->started)
            give_room(s, s->graphs[i].size_bytes);
        QRN_TRY(st);
        qrn_runner_finish(g->runner, g->context->backend->pool, NULL, NULL);
    }
    log_graph(s, i, "loaded");
    return QRN_OK;
}

static void drop_runner(const session *s, uint32_t i) {
    qrn_api_graph *g = qrn_context_graph(s->context, i);
    qrn_runner_destroy(g->runner);
    g->runner = NULL;
    g->compiled = NULL;
}

static void unload_graph(void *ctx, uint32_t i) {
    session *s = ctx;
    drop_runner(s, i);
    give_room(s, s->graphs[i].size_bytes);
    log_graph(s, i, "unloaded");
}

static uint32_t find_graph(const session *s, const char *name) {
    uint32_t i = 0;
    while (i < s->sw.n_graphs && strcmp(s->graphs[i].name, name) != 0)
        i++;
    return i;
}

static qrn_status retain(session *s) {
    char *const *names = s->context->retention_order;
    uint32_t n = 0;
    while (names && names[n])
        n++;
    uint32_t *order = qrn_calloc((n + 1u) * sizeof(*order));
    if (!order)
        return QRN_FAIL(QRN_E_MEM, "out of memory for GRAPH_RETENTION_ORDER");
    qrn_status st = QRN_OK;
    for (uint32_t i = 0; i < n && st == QRN_OK; i++) {
        order[i] = find_graph(s, names[i]);
        if (order[i] == s->sw.n_graphs || s->graphs[order[i]].disabled)
            st = QRN_FAIL(QRN_E_CONFIG,
                          "GRAPH_RETENTION_ORDER: the context has no enabled graph '%s'", names[i]);
    }
    if (st == QRN_OK)
        qrn_switch_retain(&s->sw, order, n);
    qrn_free(order);
    return st;
}

qrn_status qrn_htp_session_retain(qrn_api_context *c) {
    session *s = session_of(c);
    if (!s || !s->switching)
        return QRN_OK;
    pthread_mutex_lock(&s->lock);
    qrn_status st = retain(s);
    pthread_mutex_unlock(&s->lock);
    return st;
}

void qrn_htp_session_profile(qrn_api_context *c, bool was_on) {
    if (!session_of(c))
        return;
    pthread_mutex_lock(&space_lock);
    n_profiled += (uint32_t)qrn_htp_context_of(c)->options.dsp_memory_profiling - (uint32_t)was_on;
    pthread_mutex_unlock(&space_lock);
}

// --- opening

static void list_graphs(session *s) {
    const qrn_api_context *c = s->context;
    const qrn_htp_context *impl = qrn_htp_context_of(c);
    uint32_t n = qrn_context_n_graphs(c);
    for (uint32_t i = 0; i < n; i++)
        s->graphs[i] = (qrn_switch_graph){.name = qrn_context_graph(c, i)->ir->name,
                                          .size_bytes = graph_bytes(impl, i),
                                          .disabled = c->enable_graphs != NULL,
                                          .rank = QRN_SWITCH_NOT_KEPT};
    s->sw = (qrn_switch){.graphs = s->graphs,
                         .n_graphs = n,
                         .room_bytes = QRN_HTP_SESSION_BYTES,
                         .load = load_graph,
                         .unload = unload_graph,
                         .ctx = s};
    for (uint32_t k = 0; c->enable_graphs && c->enable_graphs[k]; k++) {
        uint32_t i = find_graph(s, c->enable_graphs[k]);
        if (i < n) // else the API layer complains
            s->graphs[i].disabled = false;
    }
}

// The first enabled graph by the client's list, or the first one of the binary (HTP-GSW-02).
static uint32_t first_graph(const session *s) {
    char *const *names = s->context->enable_graphs;
    uint32_t i = names && names[0] ? find_graph(s, names[0]) : 0;
    return i < s->sw.n_graphs ? i : 0;
}

// Bytes of the graphs that are there at the start.
static uint64_t initial_bytes(const session *s) {
    uint64_t kept = 0, all = 0;
    for (uint32_t i = 0; i < s->sw.n_graphs; i++) {
        all += s->graphs[i].disabled ? 0 : s->graphs[i].size_bytes;
        kept += s->graphs[i].rank != QRN_SWITCH_NOT_KEPT ? s->graphs[i].size_bytes : 0;
    }
    if (!s->switching)
        return all;
    return kept ? kept : s->graphs[first_graph(s)].size_bytes;
}

static qrn_status place(session *s) {
    const qrn_htp_context *c = qrn_htp_context_of(s->context);
    s->io_bytes = c->options.io_mem_estimation ? all_io_bytes(c) : 0;
    uint64_t bytes = base_bytes(c) + s->io_bytes + initial_bytes(s);
    pthread_mutex_lock(&space_lock);
    s->heap_before = qrn_htp_space_used(&space);
    qrn_status st = qrn_htp_space_place(&space, bytes, &s->number);
    if (st == QRN_OK) {
        s->heap_first = c->options.dsp_memory_profiling && n_profiled == 0;
        n_profiled += c->options.dsp_memory_profiling;
        s->bytes = bytes;
    }
    pthread_mutex_unlock(&space_lock);
    if (st == QRN_E_MEM && s->switching && s->context->retention_order)
        return QRN_E_BINARY; // the list must be shortened (HTP-MGS-02)
    QRN_TRY(st);
    qrn_log(s->context->backend->log, QNN_LOG_LEVEL_VERBOSE,
            "context: session %u, %llu bytes, of them %llu set aside for I/O", s->number,
            (unsigned long long)bytes, (unsigned long long)s->io_bytes);
    return QRN_OK;
}

// Whatever was compiled without being loaded goes.
static void trim(session *s) {
    for (uint32_t i = 0; i < s->sw.n_graphs; i++)
        if (!s->graphs[i].loaded)
            drop_runner(s, i);
}

static qrn_status start(session *s) {
    QRN_TRY(qrn_switch_start(&s->sw, first_graph(s)));
    trim(s);
    s->started = true;
    return QRN_OK;
}

void qrn_htp_session_trim(qrn_api_context *c) {
    session *s = session_of(c);
    if (!s || !s->switching)
        return;
    pthread_mutex_lock(&s->lock);
    trim(s);
    pthread_mutex_unlock(&s->lock);
}

// What graphs on several cores exclude (HTP-MLC-02).
static qrn_status check_cores(const qrn_api_context *c, bool switching) {
    const char *with = switching                      ? "graph switching"
                       : qrn_htp_context_of(c)->group ? "a group that shares buffers"
                                                      : NULL;
    for (uint32_t i = 0; with && i < qrn_context_n_graphs(c); i++) {
        const qrn_api_graph *g = qrn_context_graph(c, i);
        if (qrn_htp_graph_of(g)->options.n_cores > 1)
            return QRN_FAIL(QRN_E_UNSUPPORTED, "graph '%s' uses several cores, which excludes %s",
                            g->ir->name, with);
    }
    return QRN_OK;
}

qrn_status qrn_htp_session_open(qrn_api_context *c) {
    bool switching = c->persistent_binary && c->memory_limit_mb; // HTP-GSW-01
    QRN_TRY(check_cores(c, switching));
    QRN_TRY(qrn_htp_group_check_graphs(c));
    session *s = qrn_calloc(sizeof *s + qrn_context_n_graphs(c) * sizeof *s->graphs);
    if (!s)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a context");
    s->context = c;
    s->switching = switching;
    list_graphs(s);
    qrn_status st = s->switching ? retain(s) : QRN_OK;
    if (st == QRN_OK)
        st = place(s);
    if (st != QRN_OK) {
        qrn_free(s);
        return st;
    }
    pthread_mutex_init(&s->lock, NULL);
    qrn_htp_context_of(c)->session = s;
    st = s->switching ? start(s) : QRN_OK;
    if (st != QRN_OK)
        qrn_htp_session_close(c);
    return st;
}

void qrn_htp_session_close(qrn_api_context *c) {
    session *s = session_of(c);
    if (s) {
        pthread_mutex_lock(&space_lock);
        qrn_htp_space_release(&space, s->number, s->bytes);
        n_profiled -= qrn_htp_context_of(c)->options.dsp_memory_profiling;
        pthread_mutex_unlock(&space_lock);
        pthread_mutex_destroy(&s->lock);
        qrn_free(s);
        qrn_htp_context_of(c)->session = NULL;
    }
}

// --- executing

// Room for loaded graphs: what others leave in the session.
static void update_room(session *s) {
    pthread_mutex_lock(&space_lock);
    uint64_t others = space.used_bytes[s->number] - qrn_switch_loaded_bytes(&s->sw);
    s->sw.room_bytes = QRN_HTP_SESSION_BYTES - others;
    pthread_mutex_unlock(&space_lock);
}

static uint32_t number_of(const qrn_api_graph *g) {
    uint32_t i = 0;
    while (qrn_context_graph(g->context, i) != g)
        i++;
    return i;
}

// Adapters that share a place have to be put there first (HTP-CTX-33).
static qrn_status check_adapter(const qrn_api_graph *g) {
    const qrn_htp_context *c = qrn_htp_context_of(g->context);
    if (!c->options.lora_weight_sharing || qrn_htp_graph_of(g)->section_applied)
        return QRN_OK;
    for (uint32_t i = 0; i < g->ir->n_tensors; i++)
        if (g->ir->tensors[i]->updateable)
            return QRN_FAIL(QRN_E_NOT_PERMITTED,
                            "graph '%s': its context was prepared with "
                            "LORA_WEIGHT_SHARING_ENABLED; apply a binary section first",
                            g->ir->name);
    return QRN_OK;
}

qrn_status qrn_htp_graph_enter(qrn_api_graph *g) {
    bool loaded = g->context->from_binary; // the option is stored, but was meant for the preparer
    if (!loaded && qrn_htp_context_of(g->context)->options.prepare_only)
        return QRN_FAIL(QRN_E_NOT_PERMITTED,
                        "graph '%s': its context was made with PREPARE_ONLY; save it as a binary "
                        "and execute that",
                        g->ir->name);
    if (loaded)
        QRN_TRY(check_adapter(g));
    session *s = session_of(g->context);
    if (s && s->switching) {
        pthread_mutex_lock(&s->lock);
        update_room(s);
        qrn_status st = qrn_switch_enter(&s->sw, number_of(g));
        pthread_mutex_unlock(&s->lock);
        QRN_TRY(st);
    }
    atomic_store(&qrn_htp_graph_of(g)->executed, true);
    return QRN_OK;
}

void qrn_htp_graph_leave(qrn_api_graph *g) {
    session *s = session_of(g->context);
    if (!s || !s->switching)
        return;
    pthread_mutex_lock(&s->lock);
    qrn_switch_leave(&s->sw, number_of(g));
    pthread_mutex_unlock(&s->lock);
}

// --- buffers of clients

qrn_status qrn_htp_session_map(const qrn_api_context *c, uint64_t bytes) {
    session *s = session_of(c);
    if (!s)
        return QRN_OK;
    pthread_mutex_lock(&space_lock);
    uint64_t before = s->io_mapped < s->io_bytes ? s->io_bytes - s->io_mapped : 0;
    qrn_status st = QRN_OK;
    if (bytes > before)
        st = qrn_htp_space_map(&space, s->number, bytes - before);
    if (st == QRN_OK)
        s->io_mapped += bytes;
    pthread_mutex_unlock(&space_lock);
    return st;
}

void qrn_htp_session_unmap(const qrn_api_context *c, uint64_t bytes) {
    session *s = session_of(c);
    if (!s)
        return;
    pthread_mutex_lock(&space_lock);
    uint64_t beyond = s->io_mapped > s->io_bytes ? s->io_mapped - s->io_bytes : 0;
    s->io_mapped -= bytes;
    qrn_htp_space_release(&space, s->number, bytes < beyond ? bytes : beyond);
    pthread_mutex_unlock(&space_lock);
}

uint64_t qrn_htp_read_bytes(uint64_t left, uint64_t budget_mb) {
    if (!budget_mb || budget_mb > left >> 20)
        return left;
    return budget_mb << 20;
}

// --- the heap

bool qrn_htp_heap_before(const qrn_api_context *c, uint64_t *bytes) {
    const session *s = session_of(c);
    if (!s || !s->heap_first)
        return false;
    *bytes = s->heap_before;
    return true;
}

void qrn_htp_context_ending(const qrn_api_context *c, qrn_call_record *r) {
    const session *s = session_of(c);
    if (!s || !qrn_htp_context_of(c)->options.dsp_memory_profiling)
        return;
    pthread_mutex_lock(&space_lock);
    uint64_t beside = s->io_mapped > s->io_bytes ? s->io_mapped - s->io_bytes : 0;
    r->has_heap = n_profiled == 1;
    r->heap_bytes = qrn_htp_space_used(&space) - s->bytes - beside;
    pthread_mutex_unlock(&space_lock);
}
