// SPDX-License-Identifier: MIT
//
// What objects have in common: lists of children, counts, capabilities of the backend.
#include "core/objects.h"

void qrn_backend_add_context(qrn_api_backend *b, qrn_api_device *d) {
    pthread_mutex_lock(&b->lock);
    b->n_contexts++;
    pthread_mutex_unlock(&b->lock);
    if (d)
        atomic_fetch_add(&d->n_contexts, 1);
}

void qrn_backend_drop_context(qrn_api_backend *b, qrn_api_device *d) {
    pthread_mutex_lock(&b->lock);
    b->n_contexts--;
    pthread_mutex_unlock(&b->lock);
    if (d)
        atomic_fetch_sub(&d->n_contexts, 1);
}

void qrn_child_enter(qrn_api_backend *b, qrn_child **list, qrn_child *c) {
    pthread_mutex_lock(&b->lock);
    c->next = *list;
    c->prev = list;
    if (c->next)
        c->next->prev = &c->next;
    *list = c;
    pthread_mutex_unlock(&b->lock);
}

void qrn_child_leave(qrn_api_backend *b, qrn_child *c) {
    pthread_mutex_lock(&b->lock);
    *c->prev = c->next;
    if (c->next)
        c->next->prev = c->prev;
    pthread_mutex_unlock(&b->lock);
}

// The first child that somebody else uses; NULL: all are entered.
static const void *enter_all(qrn_api_backend *b, qrn_child **list, qrn_kind kind) {
    const void *busy = NULL;
    pthread_mutex_lock(&b->lock);
    for (qrn_child *c = *list; c && !busy; c = c->next)
        if (qrn_handle_enter(kind, c->handle, QRN_ENTER_ALONE, NULL) != QRN_OK) {
            busy = c->handle;
            for (qrn_child *k = *list; k != c; k = k->next)
                qrn_handle_leave(k->handle, true);
        }
    pthread_mutex_unlock(&b->lock);
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
