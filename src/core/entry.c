// SPDX-License-Identifier: MIT
//
// What one call uses; see handle.h. The calls that a thread is in form a list, innermost first:
// more than one when a callback of the library calls the library.
#include "core/profile.h"
#include "core/signal.h"

// The only state: the innermost call of each thread. Each read is a function call in a shared
// library, so functions read it once.
static _Thread_local qrn_entry *current;

void qrn_entry_begin(qrn_entry *u) {
    u->outer = current;
    u->log = NULL;
    u->graphs = NULL;
    u->refused = false;
    u->n = 0;
    current = u;
}

// The i-th graph that is pinned by itself; nested ones go with the one around them. *handle is NULL
// for those; false behind the last.
static bool graph_at(qrn_api_context *c, uint32_t i, const void **handle) {
    pthread_mutex_lock(&c->own->lock);
    bool there = i < c->own->n_graphs;
    if (there)
        *handle = c->own->graphs[i]->ir->parent ? NULL : c->own->graphs[i]->handle;
    pthread_mutex_unlock(&c->own->lock);
    return there;
}

static void leave_graphs(qrn_api_context *c, uint32_t n, bool alone) {
    const void *h;
    for (uint32_t i = 0; i < n && graph_at(c, i, &h); i++)
        if (h)
            qrn_handle_leave(h, alone);
}

void qrn_entry_end(qrn_entry *u) {
    if (u->graphs)
        leave_graphs(u->graphs, UINT32_MAX, u->graphs_alone);
    while (u->n > 0) {
        u->n--;
        qrn_handle_leave(u->pins[u->n].handle, u->pins[u->n].alone);
    }
    current = u->outer;
    if (u->log)
        qrn_log_release(u->log);
}

static void renew_context(qrn_context_own *c) {
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->mem_lock, NULL);
    pthread_mutex_init(&c->options_lock, NULL);
    c->async_lost = c->async != NULL;
}

void qrn_object_after_fork(qrn_kind kind, void *obj) {
    switch (kind) {
    case QRN_KIND_BACKEND:
        pthread_mutex_init(&((qrn_api_backend *)obj)->own->lock, NULL);
        break;
    case QRN_KIND_CONTEXT:
        renew_context(((qrn_api_context *)obj)->own);
        break;
    case QRN_KIND_GRAPH:
        qrn_runner_after_fork(((qrn_api_graph *)obj)->runner);
        break;
    case QRN_KIND_PROFILE:
        pthread_mutex_init(&((qrn_api_profile *)obj)->lock, NULL);
        break;
    case QRN_KIND_SIGNAL:
        pthread_mutex_init(&((qrn_api_signal *)obj)->lock, NULL);
        break;
    default:
        break;
    }
}

void qrn_entries_after_fork(void) {
    for (const qrn_entry *u = current; u; u = u->outer) {
        for (uint32_t i = 0; i < u->n; i++)
            qrn_handle_restore(u->pins[i].handle, u->pins[i].alone);
        for (uint32_t i = 0; u->graphs && i < u->graphs->own->n_graphs; i++)
            if (!u->graphs->own->graphs[i]->ir->parent)
                qrn_handle_restore(u->graphs->own->graphs[i]->handle, u->graphs_alone);
    }
}

bool qrn_may_wait(void) { return current && !current->outer; }

const char *qrn_pin_reason(void) {
    return current && current->refused ? ": it is in use, and a callback cannot wait for it" : "";
}

// QRN_E_HANDLE also outside of a call: an entry point that forgot to open one is of no use.
static qrn_status pin(qrn_entry *e, qrn_kind kind, const void *handle, qrn_entrance how,
                      void **obj) {
    *obj = NULL;
    if (!e || e->n == QRN_ENTRY_PINS)
        return QRN_E_HANDLE;
    qrn_status s = qrn_handle_enter(kind, handle, how, obj);
    e->refused = s == QRN_E_IN_USE;
    if (s == QRN_OK) {
        e->pins[e->n].handle = handle;
        e->pins[e->n++].alone = how & QRN_ENTER_ALONE;
    }
    return s;
}

static qrn_entrance waiting(const qrn_entry *e, qrn_entrance how) {
    return e && !e->outer ? how | QRN_ENTER_WAIT : how;
}

static void *own_graph(qrn_api_context *c, const void *handle) {
    void *found = NULL;
    pthread_mutex_lock(&c->own->lock);
    for (uint32_t i = 0; i < c->own->n_graphs && !found; i++)
        if (c->own->graphs[i]->handle == handle)
            found = c->own->graphs[i];
    pthread_mutex_unlock(&c->own->lock);
    return found;
}

// An object that this call has already, maybe alone, is not waited for.
void *qrn_pin(qrn_kind kind, const void *handle) {
    void *obj = NULL;
    qrn_entry *e = current;
    for (uint32_t i = 0; e && i < e->n; i++)
        if (e->pins[i].handle == handle)
            return qrn_handle_get(kind, handle);
    if (kind == QRN_KIND_GRAPH && e && e->graphs && (obj = own_graph(e->graphs, handle)))
        return obj;
    pin(e, kind, handle, waiting(e, QRN_ENTER_SHARED), &obj);
    return obj;
}

void *qrn_pin_alone(qrn_kind kind, const void *handle) {
    void *obj;
    pin(current, kind, handle, waiting(current, QRN_ENTER_ALONE), &obj);
    return obj;
}

qrn_status qrn_pin_last(qrn_kind kind, const void *handle, bool wait, void **obj) {
    qrn_entrance how = wait ? waiting(current, QRN_ENTER_ALONE) : QRN_ENTER_ALONE;
    return pin(current, kind, handle, how, obj);
}

void qrn_unpin(const void *handle) {
    for (uint32_t i = current ? current->n : 0; i-- > 0;)
        if (current->pins[i].handle == handle) {
            qrn_handle_leave(handle, current->pins[i].alone);
            current->pins[i] = current->pins[--current->n];
            return;
        }
}

void *qrn_pin_memory(const void *handle) {
    void *obj = NULL;
    qrn_handle_enter(QRN_KIND_MEM, handle, QRN_ENTER_SHARED, &obj);
    return obj;
}

qrn_status qrn_pin_graphs(qrn_api_context *c, bool alone) {
    qrn_entrance how = waiting(current, alone ? QRN_ENTER_ALONE : QRN_ENTER_SHARED);
    const void *h;
    for (uint32_t i = 0; graph_at(c, i, &h); i++) {
        if (!h || qrn_handle_enter(QRN_KIND_GRAPH, h, how, NULL) == QRN_OK)
            continue;
        leave_graphs(c, i, alone);
        return QRN_FAIL(QRN_E_IN_USE,
                        "a graph of the context is in use, and a callback cannot wait for it");
    }
    current->graphs = c;
    current->graphs_alone = alone;
    return QRN_OK;
}

// Who changes a nested graph looks it up first, without waiting for anything: so it can be waited
// for here.
void qrn_end_graphs(qrn_api_context *c) {
    bool pinned = current && current->graphs == c;
    for (uint32_t i = 0; i < c->own->n_graphs; i++) {
        const void *h = c->own->graphs[i]->handle;
        if (!pinned || c->own->graphs[i]->ir->parent)
            qrn_handle_enter(QRN_KIND_GRAPH, h, QRN_ENTER_ALONE | QRN_ENTER_WAIT, NULL);
        qrn_handle_free(h);
        qrn_handle_leave(h, true);
    }
    if (pinned)
        current->graphs = NULL;
}

// A nested graph is pinned together with the outermost one, which comes first: so it is let go
// before that is waited for.
void *qrn_pin_graph_alone(const void *handle) {
    const qrn_api_graph *g = qrn_pin(QRN_KIND_GRAPH, handle);
    if (!g)
        return NULL;
    const void *outermost = g->own->outermost;
    qrn_unpin(handle);
    void *root = qrn_pin_alone(QRN_KIND_GRAPH, outermost);
    return root && outermost != handle ? qrn_pin(QRN_KIND_GRAPH, handle) : root;
}

qrn_api_log *qrn_keep_log(qrn_api_log *log) {
    if (log && current) {
        qrn_log_release(current->log);
        current->log = qrn_log_hold(log);
    }
    return log;
}

qrn_api_log *qrn_pin_log(const void *handle) { return qrn_keep_log(qrn_pin(QRN_KIND_LOG, handle)); }
