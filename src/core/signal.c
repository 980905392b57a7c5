// SPDX-License-Identifier: MIT
//
// Signals while a call lasts; see signal.h.
#include "core/signal.h"

#include "core/clock.h"

qrn_status qrn_signal_check_support(void) {
    if (!(qrn_this_backend.features & QRN_FEATURE_SIGNAL))
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: signals are not supported",
                        qrn_this_backend.provider_name);
    return QRN_OK;
}

qrn_status qrn_signal_get(const void *handle, const qrn_api_backend *b, qrn_api_signal **signal) {
    *signal = NULL;
    if (!handle)
        return QRN_OK;
    qrn_api_signal *s = qrn_pin(QRN_KIND_SIGNAL, handle);
    if (!s || s->backend != b)
        return QRN_FAIL(QRN_E_HANDLE, s ? "signal of another backend" : "not a signal handle");
    QRN_TRY(qrn_signal_check_support());
    *signal = s;
    return QRN_OK;
}

qrn_status qrn_signal_begin(qrn_api_signal *s) {
    if (!s)
        return QRN_OK;
    pthread_mutex_lock(&s->lock);
    bool taken = s->in_use;
    if (!taken) {
        s->in_use = true;
        s->calls++;
        s->owner = pthread_self();
        s->owned = true;
        uint64_t now = qrn_call_now_ns(), wait = UINT64_MAX;
        if (s->timeout_us < (UINT64_MAX - now) / 1000)
            wait = s->timeout_us * 1000;
        s->deadline_ns = wait == UINT64_MAX ? wait : now + wait;
        atomic_store(&s->triggered, false);
    }
    pthread_mutex_unlock(&s->lock);
    return taken ? QRN_FAIL(QRN_E_IN_USE, "the signal is already in use by another call") : QRN_OK;
}

qrn_status qrn_signal_poll(void *signal) {
    qrn_api_signal *s = signal;
    // Type, timeout and deadline do not change while the signal is in use.
    if (!s || s->type == QRN_SIGNAL_NONE)
        return QRN_OK;
    if (s->type == QRN_SIGNAL_ABORT)
        return atomic_load(&s->triggered) ? QRN_FAIL(QRN_E_ABORTED, "aborted by its signal")
                                          : QRN_OK;
    if (qrn_call_now_ns() < s->deadline_ns)
        return QRN_OK;
    return QRN_FAIL(QRN_E_TIMED_OUT, "not done within the %llu microseconds of its signal",
                    (unsigned long long)s->timeout_us);
}

void qrn_signal_end(qrn_api_signal *s) {
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->in_use = false;
    pthread_cond_broadcast(&s->idle);
    pthread_mutex_unlock(&s->lock);
}
