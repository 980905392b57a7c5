// SPDX-License-Identifier: MIT
//
// The table of a context's tensors, guarded by the context's lock.
#include "core/tensor.h"

#include "base/mem.h"

#include <string.h>

#define MAX_ID (1u << 24) // of tensors that bring their own; bounds the table

static bool grow_table(qrn_api_context *c, uint32_t n) {
    if (n <= c->own->cap_tensors)
        return true;
    uint32_t cap = c->own->cap_tensors ? 2 * c->own->cap_tensors : 64;
    while (cap < n)
        cap = cap > UINT32_MAX / 2 ? n : 2 * cap;
    qrn_tensor **table = qrn_realloc(c->own->tensors, c->own->cap_tensors * sizeof(void *),
                                     (size_t)cap * sizeof(void *));
    if (!table)
        return false;
    memset(table + c->own->cap_tensors, 0, (size_t)(cap - c->own->cap_tensors) * sizeof(void *));
    c->own->tensors = table;
    c->own->cap_tensors = cap;
    return true;
}

// The next free id; its place in the table stays empty until the tensor is complete. 0: no memory.
uint32_t qrn_tensor_reserve_id(qrn_api_context *c) {
    pthread_mutex_lock(&c->own->lock);
    uint32_t id = c->own->n_tensors < MAX_ID && grow_table(c, c->own->n_tensors + 1)
                      ? ++c->own->n_tensors
                      : 0;
    pthread_mutex_unlock(&c->own->lock);
    return id;
}

// Makes sure that the table has a place for an id that came from elsewhere.
static bool claim_id(qrn_api_context *c, uint32_t id) {
    pthread_mutex_lock(&c->own->lock);
    bool room = grow_table(c, id);
    if (room && id > c->own->n_tensors)
        c->own->n_tensors = id;
    pthread_mutex_unlock(&c->own->lock);
    return room;
}

// Names and lists come after the id: an id that is lost leaves no trace.
static qrn_status enter(qrn_api_context *c, qrn_api_graph *g, qrn_tensor *t) {
    bool named;
    if (g) {
        QRN_TRY(qrn_graph_add_tensor(g->ir, t));
        named = qrn_strmap_put(&g->own->names, t->name, t);
        if (!named)
            g->ir->n_tensors--;
    } else {
        pthread_mutex_lock(&c->own->lock);
        named = qrn_strmap_put(&c->own->names, t->name, t);
        pthread_mutex_unlock(&c->own->lock);
    }
    if (!named)
        return QRN_FAIL(QRN_E_MEM, "out of memory for tensor '%s'", t->name);
    pthread_mutex_lock(&c->own->lock);
    c->own->tensors[t->id - 1] = t;
    pthread_mutex_unlock(&c->own->lock);
    return QRN_OK;
}

qrn_status qrn_tensor_add(qrn_api_context *c, qrn_api_graph *g, qrn_tensor *t) {
    if (t->id > MAX_ID)
        return QRN_FAIL(QRN_E_TENSOR, "tensor '%s': id %u, allowed 1 to %u", t->name, t->id,
                        MAX_ID);
    if (!t->id)
        t->id = qrn_tensor_reserve_id(c);
    else if (!claim_id(c, t->id))
        t->id = 0;
    if (!t->id)
        return QRN_FAIL(QRN_E_MEM, "out of memory for tensor '%s'", t->name);
    return enter(c, g, t);
}

qrn_tensor *qrn_tensor_find(qrn_api_context *c, const qrn_graph *g, uint32_t id) {
    qrn_tensor *t = qrn_context_tensor(c, id);
    if (!t || !t->graph)
        return t;
    for (; g; g = g->parent)
        if (t->graph == g)
            return t;
    return NULL;
}

bool qrn_tensor_same_form(const qrn_tensor *a, const qrn_tensor *b) {
    return a->role == b->role && a->updateable == b->updateable && a->dtype == b->dtype &&
           a->format == b->format && a->quant.kind == b->quant.kind &&
           a->quant.n_groups == b->quant.n_groups && a->quant.axis == b->quant.axis &&
           qrn_shape_equal(&a->shape, &b->shape) &&
           memcmp(a->dynamic, b->dynamic, sizeof(a->dynamic)) == 0;
}
