// SPDX-License-Identifier: MIT
//
// For tests of the engine: chains that run in a thread, and signals. Tests hold the engine
// themselves to make others wait.
#ifndef QRN_TESTS_HTP_ENGINE_CLIENT_H
#define QRN_TESTS_HTP_ENGINE_CLIENT_H

#include "backend/htp/device/engine.h"
#include "chain.h"

#include <pthread.h>
#include <time.h>

static inline void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL); }

// Until n runs wait for the engine.
static inline void wait_for_line(uint32_t n) {
    for (int i = 0; i < 50000 && qrn_htp_engine_waiting() != n; i++)
        nap();
    assert_int_equal(qrn_htp_engine_waiting(), n);
}

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
