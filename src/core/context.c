// SPDX-License-Identifier: MIT
//
// What backends ask of contexts and backends; see services.h.
#include "base/mem.h"
#include "core/dump.h"
#include "core/graph.h"

// Locks are no part of an object's value.
static pthread_mutex_t *lock_of(const qrn_api_context *c) { return (pthread_mutex_t *)&c->lock; }

void qrn_backend_exclusively(const qrn_api_backend *b, void (*f)(void *arg), void *arg) {
    pthread_mutex_t *lock = (pthread_mutex_t *)&b->lock;
    pthread_mutex_lock(lock);
    f(arg);
    pthread_mutex_unlock(lock);
}

void qrn_dump_disable(qrn_api_backend *b) { (void)qrn_dump_set(b, NULL, 0); }

uint32_t qrn_context_n_graphs(const qrn_api_context *c) {
    pthread_mutex_lock(lock_of(c));
    uint32_t n = c->n_graphs;
    pthread_mutex_unlock(lock_of(c));
    return n;
}

qrn_api_graph *qrn_context_graph(const qrn_api_context *c, uint32_t i) {
    pthread_mutex_lock(lock_of(c));
    qrn_api_graph *g = i < c->n_graphs ? c->graphs[i] : NULL;
    pthread_mutex_unlock(lock_of(c));
    return g;
}

qrn_status qrn_context_each_graph(const qrn_api_context *c,
                                  qrn_status (*visit)(void *arg, const qrn_api_graph *g),
                                  void *arg) {
    qrn_status s = QRN_OK;
    pthread_mutex_lock(lock_of(c));
    for (uint32_t i = 0; i < c->n_graphs && s == QRN_OK; i++)
        s = visit(arg, c->graphs[i]);
    pthread_mutex_unlock(lock_of(c));
    return s;
}

void qrn_context_discard_graphs(qrn_api_context *c) {
    while (c->n_graphs)
        qrn_api_graph_discard(c->graphs[c->n_graphs - 1]);
}

qrn_tensor *qrn_context_tensor(const qrn_api_context *c, uint32_t id) {
    pthread_mutex_lock(lock_of(c));
    qrn_tensor *t = id && id <= c->n_tensors ? c->tensors[id - 1] : NULL;
    pthread_mutex_unlock(lock_of(c));
    return t;
}

uint32_t qrn_context_max_id(const qrn_api_context *c) {
    pthread_mutex_lock(lock_of(c));
    uint32_t n = c->n_tensors;
    pthread_mutex_unlock(lock_of(c));
    return n;
}

const void *qrn_context_add_data(qrn_api_context *c, const void *data, size_t size_bytes) {
    pthread_mutex_lock(&c->lock);
    const void *copy = qrn_blobs_add(&c->blobs, data, size_bytes);
    pthread_mutex_unlock(&c->lock);
    return copy;
}

void qrn_context_drop_data(qrn_api_context *c, const void *data) {
    pthread_mutex_lock(&c->lock);
    qrn_blobs_drop(&c->blobs, data);
    pthread_mutex_unlock(&c->lock);
}

bool qrn_context_take_binary(qrn_api_context *c, const void *data) {
    bool ours = data && c->deferred.owned == data;
    if (ours)
        c->deferred.owned = NULL;
    return ours;
}
