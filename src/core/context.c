// SPDX-License-Identifier: MIT
//
// What backends ask of contexts and backends; see services.h.
#include "core/dump.h"
#include "core/graph.h"

void qrn_backend_exclusively(const qrn_api_backend *b, void (*f)(void *arg), void *arg) {
    pthread_mutex_lock(&b->own->lock);
    f(arg);
    pthread_mutex_unlock(&b->own->lock);
}

void qrn_dump_disable(qrn_api_backend *b) { (void)qrn_dump_set(b, NULL, 0); }

uint32_t qrn_context_n_graphs(const qrn_api_context *c) {
    pthread_mutex_lock(&c->own->lock);
    uint32_t n = c->own->n_graphs;
    pthread_mutex_unlock(&c->own->lock);
    return n;
}

qrn_api_graph *qrn_context_graph(const qrn_api_context *c, uint32_t i) {
    pthread_mutex_lock(&c->own->lock);
    qrn_api_graph *g = i < c->own->n_graphs ? c->own->graphs[i] : NULL;
    pthread_mutex_unlock(&c->own->lock);
    return g;
}

qrn_status qrn_context_each_graph(const qrn_api_context *c,
                                  qrn_status (*visit)(void *arg, const qrn_api_graph *g),
                                  void *arg) {
    qrn_status s = QRN_OK;
    pthread_mutex_lock(&c->own->lock);
    for (uint32_t i = 0; i < c->own->n_graphs && s == QRN_OK; i++)
        s = visit(arg, c->own->graphs[i]);
    pthread_mutex_unlock(&c->own->lock);
    return s;
}

void qrn_context_discard_graphs(qrn_api_context *c) {
    while (c->own->n_graphs)
        qrn_api_graph_discard(c->own->graphs[c->own->n_graphs - 1]);
}

qrn_tensor *qrn_context_tensor(const qrn_api_context *c, uint32_t id) {
    pthread_mutex_lock(&c->own->lock);
    qrn_tensor *t = id && id <= c->own->n_tensors ? c->own->tensors[id - 1] : NULL;
    pthread_mutex_unlock(&c->own->lock);
    return t;
}

uint32_t qrn_context_max_id(const qrn_api_context *c) {
    pthread_mutex_lock(&c->own->lock);
    uint32_t n = c->own->n_tensors;
    pthread_mutex_unlock(&c->own->lock);
    return n;
}

const void *qrn_context_add_data(qrn_api_context *c, const void *data, size_t size_bytes) {
    pthread_mutex_lock(&c->own->lock);
    const void *copy = qrn_blobs_add(&c->own->blobs, data, size_bytes);
    pthread_mutex_unlock(&c->own->lock);
    return copy;
}

void qrn_context_drop_data(qrn_api_context *c, const void *data) {
    pthread_mutex_lock(&c->own->lock);
    qrn_blobs_drop(&c->own->blobs, data);
    pthread_mutex_unlock(&c->own->lock);
}

bool qrn_context_take_binary(qrn_api_context *c, const void *data) {
    bool ours = data && c->own->deferred.owned == data;
    if (ours)
        c->own->deferred.owned = NULL;
    return ours;
}
