// SPDX-License-Identifier: MIT
//
// Sessions that share contexts (ep.share_ep_contexts): one backend, device and context for all of
// them, so that their graphs share weights in one binary, and so that what one session loaded
// serves the next.
//
// State: the pool of the process, behind its lock. Sessions hold it while they use the client,
// which is not thread-safe; the pool itself lets go with the session that stops the sharing. While
// models are compiled it also outlives the provider's registration: tools like Olive register the
// provider anew for each model.
#include "frontend/ort/ep.h"

#include "frontend/ort/memory.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <string.h>

typedef struct pool {
    pthread_mutex_t lock;
    qc_client *client; // NULL: nobody shares
    uint32_t users;    // sessions, and the pool itself until the sharing is stopped
    bool open;         // for further sessions
    bool stays;        // until the sharing is stopped, whoever releases the provider
    qe_options opt;    // of the first session: the backend's part counts
    char *binary;      // name of the file that the first session gave its binary
    struct qe_loaded *loaded;
} pool;

static pool the_pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool same_text(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

static bool same_backend(const qe_options *a, const qe_options *b) {
    return a->backend_type == b->backend_type && a->soc_model == b->soc_model &&
           a->htp_arch == b->htp_arch && a->device_id == b->device_id &&
           a->n_threads == b->n_threads;
}

// What the first session made the context with holds for all.
static bool same_context(const qe_options *a, const qe_options *b) {
    return a->priority == b->priority && a->extended_udma == b->extended_udma &&
           a->split_graphs == b->split_graphs && a->prepare_only == b->prepare_only;
}

void qe_share_lock(const qe_ep *ep) {
    if (ep->opt.share_contexts)
        pthread_mutex_lock(&the_pool.lock);
}

void qe_share_unlock(const qe_ep *ep) {
    if (ep->opt.share_contexts)
        pthread_mutex_unlock(&the_pool.lock);
}

// Keeps this library in the process, and the pool with it.
static bool stay(void) {
    Dl_info info;
    return dladdr(&the_pool, &info) &&
           dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static qrn_status join(qe_ep *ep, const char *path) {
    pool *p = &the_pool;
    if (p->client && p->open) {
        if (!same_backend(&p->opt, &ep->opt) || !same_text(p->opt.backend_path, path))
            return QRN_FAIL(QRN_E_INCONSISTENT,
                            "ep.share_ep_contexts: the session names another backend, SoC or "
                            "number of threads than those that share with it (%s)",
                            p->client->path);
        if (!same_context(&p->opt, &ep->opt))
            return QRN_FAIL(QRN_E_INCONSISTENT,
                            "ep.share_ep_contexts: qnn_context_priority, extended_udma, "
                            "enable_htp_graph_splitting and enable_htp_prepare_only must be those "
                            "of the session that made the context");
        ep->client = p->client;
        p->users++;
        return QRN_OK;
    }
    if (p->client)
        return QRN_FAIL(QRN_E_INCONSISTENT,
                        "ep.share_ep_contexts: sessions of a stopped sharing are still there; "
                        "release them first");
    QRN_TRY(qe_client_open(ep, path));
    *p = (pool){.lock = p->lock, .client = ep->client, .users = 2, .open = true, .opt = ep->opt};
    p->stays = ep->opt.context_enable && stay();
    p->opt.backend_path = qrn_strdup(path);
    return p->opt.backend_path ? QRN_OK : QRN_FAIL(QRN_E_MEM, "sharing: no memory");
}

qrn_status qe_share_join(qe_ep *ep, const char *path) {
    pthread_mutex_lock(&the_pool.lock);
    qrn_status s = join(ep, path);
    ep->shares = s == QRN_OK;
    if (s != QRN_OK)
        ep->client = NULL;
    pthread_mutex_unlock(&the_pool.lock);
    return s;
}

static void let_go(pool *p) {
    if (--p->users)
        return;
    qe_memory_forget(p->client);
    qe_loaded_free(p->client, p->loaded);
    qc_close(p->client);
    qrn_free((char *)(uintptr_t)p->opt.backend_path);
    qrn_free(p->binary);
    p->client = NULL;
    p->loaded = NULL;
    p->binary = NULL;
    p->stays = false;
    p->opt = (qe_options){0};
}

void qe_share_leave(qe_ep *ep) {
    pthread_mutex_lock(&the_pool.lock);
    if (ep->shares)
        let_go(&the_pool);
    ep->shares = false;
    pthread_mutex_unlock(&the_pool.lock);
}

void qe_share_stop(void) {
    if (!the_pool.open)
        return;
    the_pool.open = false;
    let_go(&the_pool);
}

void qe_share_end(void) {
    pthread_mutex_lock(&the_pool.lock);
    if (!the_pool.stays)
        qe_share_stop();
    pthread_mutex_unlock(&the_pool.lock);
}

struct qe_loaded **qe_share_loaded(void) {
    return &the_pool.loaded;
}

qrn_status qe_share_binary(const char *name, const char **out) {
    if (!the_pool.binary)
        the_pool.binary = qrn_strdup(name);
    *out = the_pool.binary;
    return *out ? QRN_OK : QRN_FAIL(QRN_E_MEM, "sharing: no memory");
}
