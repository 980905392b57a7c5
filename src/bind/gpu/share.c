// SPDX-License-Identifier: MIT
//
// Constants by content. The SHA-256 of the bytes is their name, so that nothing of a plan that is
// gone has to be kept for comparing.
#include "bind/gpu/share.h"

#include "base/mem.h"
#include "base/sha256.h"

#include <pthread.h>
#include <string.h>

typedef struct entry {
    struct entry *next;
    uint8_t name[QRN_SHA256_BYTES];
    uint64_t bytes;
    cl_mem memory;
} entry;

struct qrn_gpu_shares {
    pthread_mutex_t lock; // of the list; held while a buffer is filled, so that it is made once
    entry *first;
};

qrn_gpu_shares *qrn_gpu_shares_create(void) {
    qrn_gpu_shares *s = qrn_calloc(sizeof *s);
    if (s)
        pthread_mutex_init(&s->lock, NULL);
    return s;
}

void qrn_gpu_shares_clear(qrn_gpu_shares *s) {
    while (s && s->first) {
        entry *e = s->first;
        s->first = e->next;
        qrn_cl.clReleaseMemObject(e->memory);
        qrn_free(e);
    }
}

void qrn_gpu_shares_destroy(qrn_gpu_shares *s) {
    qrn_gpu_shares_clear(s);
    if (s)
        pthread_mutex_destroy(&s->lock);
    qrn_free(s);
}

static qrn_status find_or_make(qrn_gpu_shares *s, const qrn_gpu_plan *p, const qrn_gpu_const *c,
                               const uint8_t *name, cl_mem *out) {
    entry *e = s->first;
    while (e && (e->bytes != c->bytes || memcmp(e->name, name, QRN_SHA256_BYTES) != 0))
        e = e->next;
    if (!e) {
        e = qrn_calloc(sizeof *e);
        if (!e)
            return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", p->cg->name);
        qrn_status made = qrn_gpu_new_buffer(p, c->bytes, c->data, &e->memory);
        if (made != QRN_OK) {
            qrn_free(e);
            return made;
        }
        memcpy(e->name, name, QRN_SHA256_BYTES);
        e->bytes = c->bytes;
        e->next = s->first;
        s->first = e;
    }
    qrn_cl.clRetainMemObject(e->memory);
    *out = e->memory;
    return QRN_OK;
}

qrn_status qrn_gpu_share(qrn_gpu_shares *s, const qrn_gpu_plan *p, const qrn_gpu_const *c,
                         cl_mem *out) {
    uint8_t name[QRN_SHA256_BYTES];
    qrn_sha256 h;
    qrn_sha256_begin(&h);
    qrn_sha256_add(&h, c->data, (size_t)c->bytes);
    qrn_sha256_end(&h, name);
    pthread_mutex_lock(&s->lock);
    qrn_status status = find_or_make(s, p, c, name, out);
    pthread_mutex_unlock(&s->lock);
    return status;
}
