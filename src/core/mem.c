// SPDX-License-Identifier: MIT
//
// Ending of memory handles.
#include "base/mem.h"
#include "core/services.h"

void qrn_mem_destroy(qrn_api_context *c, uint32_t index) {
    qrn_api_mem *m = c->mems[index];
    c->mems[index] = c->mems[--c->n_mems];
    c->mems[index]->index = index;
    qrn_handle_free(m->handle);
    if (qrn_this_backend.mem_unmap)
        qrn_this_backend.mem_unmap(m);
    qrn_free(m);
}

void qrn_mem_free_all(qrn_api_context *c) {
    pthread_mutex_lock(&c->mem_lock);
    while (c->n_mems) {
        const void *handle = c->mems[c->n_mems - 1]->handle;
        // Nobody executes; a deregistration that is looking it up does not wait for anything.
        qrn_handle_enter(QRN_KIND_MEM, handle, QRN_ENTER_ALONE | QRN_ENTER_WAIT, NULL);
        qrn_mem_destroy(c, c->n_mems - 1);
        qrn_handle_leave(handle, true);
    }
    qrn_free(c->mems);
    c->mems = NULL;
    c->cap_mems = 0;
    pthread_mutex_unlock(&c->mem_lock);
}
