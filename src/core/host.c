// SPDX-License-Identifier: MIT
//
// Options that all backends of this host have, and one thread pool for all graphs of a backend.
#include "core/host.h"

#include "core/dump.h"
#include "core/errors.h"

#include "Quern/QuernBackend.h"

static qrn_status configure_dump(qrn_api_backend *b, const QuernBackend_DumpConfig_t *c) {
    pthread_mutex_lock(&b->own->lock);
    uint32_t n = b->own->n_contexts;
    pthread_mutex_unlock(&b->own->lock);
    if (n)
        return QRN_FAIL(QRN_E_CONFIG, "custom backend option DUMP: set it before the first context "
                                      "is made, graphs are compiled for it");
    return qrn_dump_set(b, c->folder, c->runs);
}

static qrn_status configure_observer(qrn_api_backend *b, const QuernBackend_ObserveConfig_t *c) {
    b->own->observer = (qrn_observer){.tensor = c->tensor, .ctx = c->ctx};
    return QRN_OK;
}

static qrn_status configure_some(qrn_api_backend *b, const QuernBackend_ObserveSomeConfig_t *c) {
    b->own->observer = (qrn_observer){c->tensor, c->ctx, c->wanted};
    return QRN_OK;
}

static qrn_status configure_threads(qrn_api_backend *b, uint32_t n) {
    if (n < 1 || n > 256)
        return QRN_FAIL(QRN_E_CONFIG, "custom backend option THREADS: %u, allowed 1..256", n);
    b->own->n_threads = n;
    return QRN_OK;
}

static qrn_status configure_trials(qrn_api_backend *b, uint32_t on) {
    if (on > 1)
        return QRN_FAIL(QRN_E_CONFIG, "custom backend option TRIALS: %u, allowed 0 and 1", on);
    atomic_store(&b->own->trials, on == 1);
    return QRN_OK;
}

qrn_status qrn_host_config(qrn_api_backend *b, const void *custom) {
    const QuernBackend_CustomConfig_t *c = custom;
    switch (c->magic == QUERN_BACKEND_CONFIG_MAGIC ? c->option : 0) {
    case QUERN_BACKEND_OPTION_DUMP:
        return configure_dump(b, custom);
    case QUERN_BACKEND_OPTION_OBSERVE:
        return configure_observer(b, custom);
    case QUERN_BACKEND_OPTION_OBSERVE_SOME:
        return configure_some(b, custom);
    case QUERN_BACKEND_OPTION_THREADS:
        return configure_threads(b, c->value);
    case QUERN_BACKEND_OPTION_TRIALS:
        return configure_trials(b, c->value);
    default:
        qrn_log(b->log, QNN_LOG_LEVEL_WARN,
                "backend: custom option that is not one of Quern/QuernBackend.h, ignored: leave it "
                "out");
        return QRN_OK;
    }
}

qrn_status qrn_host_acquire_pool(qrn_api_backend *b) {
    pthread_mutex_lock(&b->own->lock);
    bool first = !b->pool;
    if (first)
        b->pool = qrn_pool_acquire(b->own->n_threads);
    qrn_pool *pool = b->pool;
    pthread_mutex_unlock(&b->own->lock);
    if (!pool)
        return QRN_FAIL(QRN_E_MEM, "out of memory for the thread pool");
    if (first && b->own->n_threads && b->own->n_threads != qrn_pool_threads(pool))
        qrn_log(b->log, QNN_LOG_LEVEL_WARN,
                "option THREADS=%u has no effect: the library runs with %u threads already",
                b->own->n_threads, qrn_pool_threads(pool));
    return QRN_OK;
}

bool qrn_host_keeps_tensors(const qrn_api_graph *g) {
    const qrn_backend_own *own = g->context->backend->own;
    return own->dump.folder != NULL || own->observer.tensor != NULL;
}

void qrn_host_release(qrn_api_backend *b) {
    qrn_pool_release(b->pool);
    b->pool = NULL;
}
