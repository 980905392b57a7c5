// SPDX-License-Identifier: MIT
//
// What objects have in common: lists of children, counts, capabilities of the backend.
#include "core/own.h"

#include "base/mem.h"

#include <string.h>

void qrn_backend_add_context(qrn_api_backend *b, qrn_api_device *d) {
    pthread_mutex_lock(&b->own->lock);
    b->own->n_contexts++;
    pthread_mutex_unlock(&b->own->lock);
    if (d)
        atomic_fetch_add(&d->own->n_contexts, 1);
}

void qrn_backend_drop_context(qrn_api_backend *b, qrn_api_device *d) {
    pthread_mutex_lock(&b->own->lock);
    b->own->n_contexts--;
    pthread_mutex_unlock(&b->own->lock);
    if (d)
        atomic_fetch_sub(&d->own->n_contexts, 1);
}

void qrn_child_enter(qrn_api_backend *b, qrn_child **list, qrn_child *c) {
    pthread_mutex_lock(&b->own->lock);
    c->next = *list;
    c->prev = list;
    if (c->next)
        c->next->prev = &c->next;
    *list = c;
    pthread_mutex_unlock(&b->own->lock);
}

void qrn_child_leave(qrn_api_backend *b, qrn_child *c) {
    pthread_mutex_lock(&b->own->lock);
    *c->prev = c->next;
    if (c->next)
        c->next->prev = c->prev;
    pthread_mutex_unlock(&b->own->lock);
}

// The first child that somebody else uses; NULL: all are entered.
static const void *enter_all(qrn_api_backend *b, qrn_child **list, qrn_kind kind) {
    const void *busy = NULL;
    pthread_mutex_lock(&b->own->lock);
    for (qrn_child *c = *list; c && !busy; c = c->next)
        if (qrn_handle_enter(kind, c->handle, QRN_ENTER_ALONE, NULL) != QRN_OK) {
            busy = c->handle;
            for (qrn_child *k = *list; k != c; k = k->next)
                qrn_handle_leave(k->handle, true);
        }
    pthread_mutex_unlock(&b->own->lock);
    return busy;
}

bool qrn_children_pin(qrn_api_backend *b, qrn_child **list, qrn_kind kind) {
    for (const void *busy; (busy = enter_all(b, list, kind));) {
        if (!qrn_may_wait())
            return false;
        // It may be freed meanwhile, and then is not in the list any more.
        if (qrn_handle_enter(kind, busy, QRN_ENTER_ALONE | QRN_ENTER_WAIT, NULL) == QRN_OK)
            qrn_handle_leave(busy, true);
    }
    return true;
}

void qrn_children_unpin(qrn_child *list) {
    for (; list; list = list->next)
        qrn_handle_leave(list->handle, true);
}

bool qrn_has_capability(uint32_t key) {
    for (size_t i = 0; i < qrn_this_backend.n_capabilities; i++)
        if (qrn_this_backend.capabilities[i].key == key)
            return qrn_this_backend.capabilities[i].supported;
    return false;
}

void *qrn_object_alloc(size_t size_bytes, size_t own_bytes, size_t at) {
    size_t align = _Alignof(max_align_t), own_at = (size_bytes + align - 1) / align * align;
    char *object = qrn_calloc(own_at + own_bytes);
    if (!object)
        return NULL;
    void *own = object + own_at;
    memcpy(object + at, &own, sizeof own);
    return object;
}
