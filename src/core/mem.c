// SPDX-License-Identifier: MIT
//
// Ending of memory handles.
#include "base/mem.h"
#include "core/own.h"

void qrn_mem_destroy(qrn_api_context *c, uint32_t index) {
    qrn_api_mem *m = c->own->mems[index];
    c->own->mems[index] = c->own->mems[--c->own->n_mems];
    c->own->mems[index]->index = index;
    qrn_handle_free(m->handle);
    if (qrn_this_backend.mem_unmap)
        qrn_this_backend.mem_unmap(m);
    qrn_free(m);
}

void qrn_mem_free_all(qrn_api_context *c) {
    pthread_mutex_lock(&c->own->mem_lock);
    while (c->own->n_mems) {
        const void *handle = c->own->mems[c->own->n_mems - 1]->handle;
        // Nobody executes; a deregistration that is looking it up does not wait for anything.
        qrn_handle_enter(QRN_KIND_MEM, handle, QRN_ENTER_ALONE | QRN_ENTER_WAIT, NULL);
        qrn_mem_destroy(c, c->own->n_mems - 1);
        qrn_handle_leave(handle, true);
    }
    qrn_free(c->own->mems);
    c->own->mems = NULL;
    c->own->cap_mems = 0;
    pthread_mutex_unlock(&c->own->mem_lock);
}
