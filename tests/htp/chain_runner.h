// SPDX-License-Identifier: MIT
//
// Chains that run in a thread or in a queue, and signals.
#ifndef QRN_TESTS_HTP_CHAIN_RUNNER_H
#define QRN_TESTS_HTP_CHAIN_RUNNER_H

#include "chain.h"

#include <pthread.h>
#include <stdatomic.h>

// One run of a chain; run_once may be a thread.
typedef struct runner {
    htp_world *w;
    chain *c;
    uint8_t *x, *y;
    Qnn_SignalHandle_t signal;
    Qnn_ProfileHandle_t profile;
    Qnn_ErrorHandle_t result;
    pthread_t thread;
} runner;

static inline void *run_once(void *arg) {
    runner *r = arg;
    Qnn_Tensor_t x = r->c->x, y = r->c->y;
    htp_buffer(&x, r->x, chain_bytes(r->c));
    htp_buffer(&y, r->y, chain_bytes(r->c));
    r->result = r->w->qnn.graphExecute(r->c->graph, &x, 1, &y, 1, r->profile, r->signal);
    return NULL;
}

static inline Qnn_SignalHandle_t signal_of(const htp_world *w, QnnSignal_Config_t config) {
    const QnnSignal_Config_t *configs[] = {&config, NULL};
    Qnn_SignalHandle_t s = NULL;
    HTP_OK(w->qnn.signalCreate(w->backend, configs, &s));
    return s;
}

// --- a queue of runs

typedef struct inbox {
    atomic_int n;
    int order[8];
    Qnn_ErrorHandle_t error[8];
} inbox;

typedef struct letter {
    inbox *box;
    int name;
} letter;

static inline void notified(void *param, Qnn_NotifyStatus_t status) {
    letter *l = param;
    int i = atomic_load(&l->box->n);
    l->box->order[i] = l->name;
    l->box->error[i] = status.error;
    atomic_store(&l->box->n, i + 1); // one thread delivers
}

static inline Qnn_ContextHandle_t context_of_depth(const htp_world *w, uint32_t depth,
                                                   Qnn_ErrorHandle_t *code) {
    QnnContext_Config_t config = {
        .option = QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH,
        .asyncExeQueueDepth = {QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC, {depth}}};
    const QnnContext_Config_t *configs[] = {&config, NULL};
    Qnn_ContextHandle_t c = NULL;
    *code = w->qnn.contextCreate(w->backend, w->device, configs, &c);
    if (*code == QNN_SUCCESS) {
        HTP_FAILS(w->qnn.contextSetConfig(c, configs), QNN_CONTEXT_ERROR_INVALID_ARGUMENT);
    }
    return c;
}

#endif
