// SPDX-License-Identifier: MIT
//
// Chains that run in a thread, and signals.
#ifndef QRN_TESTS_HTP_CHAIN_RUNNER_H
#define QRN_TESTS_HTP_CHAIN_RUNNER_H

#include "chain.h"

#include <pthread.h>

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

#endif
