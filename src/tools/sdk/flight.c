// SPDX-License-Identifier: MIT
#include "tools/sdk/flight.h"

#include "tools/sdk/profile_writer.h"

void qs_flight_init(qs_flight *f) {
    *f = (qs_flight){.started = false};
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->done, NULL);
}

void qs_flight_free(qs_flight *f) {
    qs_set_free(&f->set);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->done);
}

static void on_done(void *param, Qnn_NotifyStatus_t status) {
    qs_flight *f = param;
    pthread_mutex_lock(&f->lock);
    f->status = status.error;
    f->stop_us = qs_now_us();
    f->running = false;
    pthread_cond_signal(&f->done);
    pthread_mutex_unlock(&f->lock);
}

void qs_flight_start(qs_flight *f, bool async, Qnn_ProfileHandle_t profile,
                     Qnn_SignalHandle_t signal) {
    f->started = true;
    f->start_us = qs_now_us();
    if (!async) {
        f->status = qs_set_execute(&f->set, profile, signal);
        f->stop_us = qs_now_us();
        return;
    }
    f->running = true;
    Qnn_ErrorHandle_t code = qs_set_enqueue(&f->set, profile, on_done, f);
    if (code == QNN_SUCCESS)
        return;
    f->running = false; // it was never queued
    f->status = code;
}

qrn_status qs_flight_wait(qs_flight *f, bool async) {
    pthread_mutex_lock(&f->lock);
    while (f->running)
        pthread_cond_wait(&f->done, &f->lock);
    pthread_mutex_unlock(&f->lock);
    f->started = false;
    return qc_check(f->set.client, f->status, async ? "graphExecuteAsync" : "graphExecute");
}
