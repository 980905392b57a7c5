// SPDX-License-Identifier: MIT
//
// Signal component: lets another thread abort a call, or limits its time. A signal serves one call
// at once. Triggering blocks until that call is about to return, except from inside the call
// itself.
#include "core/signal.h"

#include "base/mem.h"
#include "core/errors.h"

// What a configuration list asks for, read completely before anything changes.
typedef struct wish {
    bool abort, timeout;
    uint64_t timeout_us;
} wish;

static qrn_status parse(const QnnSignal_Config_t **config, wish *w) {
    *w = (wish){0};
    for (size_t i = 0; config && config[i]; i++) {
        switch (config[i]->option) {
        case QNN_SIGNAL_CONFIG_OPTION_ABORT:
            w->abort = true;
            break;
        case QNN_SIGNAL_CONFIG_OPTION_TIMEOUT:
            w->timeout = true;
            w->timeout_us = config[i]->timeoutDurationUs;
            break;
        case QNN_SIGNAL_CONFIG_OPTION_CUSTOM:
            return QRN_FAIL(QRN_E_UNSUPPORTED, "signal: custom options are not supported");
        default:
            return QRN_FAIL(QRN_E_CONFIG, "signal: unknown option %u, allowed ABORT=1, TIMEOUT=2",
                            (unsigned)config[i]->option);
        }
    }
    if (w->abort && w->timeout)
        return QRN_FAIL(QRN_E_CONFIG, "signal: both ABORT and TIMEOUT, only one is allowed");
    return QRN_OK;
}

static void apply(qrn_api_signal *s, const wish *w) {
    if (w->abort || w->timeout)
        s->type = w->abort ? QRN_SIGNAL_ABORT : QRN_SIGNAL_TIMEOUT;
    if (w->timeout)
        s->timeout_us = w->timeout_us;
}

static qrn_status create(qrn_api_backend *b, const QnnSignal_Config_t **config,
                         Qnn_SignalHandle_t *out) {
    if (!b)
        return QRN_FAIL(QRN_E_HANDLE, "signal: not a backend handle");
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "signal: no place for the handle");
    wish w;
    QRN_TRY(parse(config, &w));
    QRN_TRY(qrn_signal_check_support());
    qrn_api_signal *s = qrn_calloc(sizeof *s);
    if (!s)
        return QRN_E_MEM;
    s->child.handle = qrn_handle_new(QRN_KIND_SIGNAL, s);
    if (!s->child.handle) {
        qrn_free(s);
        return QRN_E_MEM;
    }
    s->backend = b;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->idle, NULL);
    apply(s, &w);
    qrn_child_enter(b, &b->own->signals, &s->child);
    *out = s->child.handle;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnSignal_create(Qnn_BackendHandle_t backend, const QnnSignal_Config_t **config,
                                   Qnn_SignalHandle_t *signal) {
    QRN_API_CALL;
    qrn_api_backend *b = qrn_pin(QRN_KIND_BACKEND, backend);
    return qrn_api_end(QRN_COMP_SIGNAL, create(b, config, signal), b ? b->log : NULL);
}

static qrn_status set_config(qrn_api_signal *s, const QnnSignal_Config_t **config) {
    if (!s)
        return QRN_FAIL(QRN_E_HANDLE, "not a signal handle");
    if (!config)
        return QRN_FAIL(QRN_E_ARGUMENT, "signal: no options");
    wish w;
    QRN_TRY(parse(config, &w));
    QRN_TRY(qrn_signal_check_support());
    pthread_mutex_lock(&s->lock);
    bool in_use = s->in_use;
    if (!in_use)
        apply(s, &w);
    pthread_mutex_unlock(&s->lock);
    return in_use ? QRN_FAIL(QRN_E_IN_USE, "signal: options cannot change during a call") : QRN_OK;
}

static qrn_api_log *log_of(const qrn_api_signal *s) { return s ? s->backend->log : NULL; }

Qnn_ErrorHandle_t QnnSignal_setConfig(Qnn_SignalHandle_t signal,
                                      const QnnSignal_Config_t **config) {
    QRN_API_CALL;
    qrn_api_signal *s = qrn_pin(QRN_KIND_SIGNAL, signal);
    return qrn_api_end(QRN_COMP_SIGNAL, set_config(s, config), log_of(s));
}

static qrn_status trigger(qrn_api_signal *s) {
    if (!s)
        return QRN_FAIL(QRN_E_HANDLE, "not a signal handle");
    QRN_TRY(qrn_signal_check_support());
    qrn_status r = QRN_OK;
    pthread_mutex_lock(&s->lock);
    if (s->type != QRN_SIGNAL_ABORT) {
        r = QRN_FAIL(QRN_E_INCOMPATIBLE, "signal: only ABORT signals can be triggered");
    } else if (!s->in_use) {
        r = QRN_FAIL(QRN_E_IDLE, "signal: no call to abort");
    } else {
        atomic_store(&s->triggered, true);
        uint64_t call = s->calls;
        bool self = s->owned && pthread_equal(s->owner, pthread_self());
        while (!self && s->in_use && s->calls == call)
            pthread_cond_wait(&s->idle, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return r;
}

Qnn_ErrorHandle_t QnnSignal_trigger(Qnn_SignalHandle_t signal) {
    QRN_API_CALL;
    qrn_api_signal *s = qrn_pin(QRN_KIND_SIGNAL, signal);
    return qrn_api_end(QRN_COMP_SIGNAL, trigger(s), log_of(s));
}

// The caller has it alone. Its handle ends last: who waits for that finds it out of the list.
static void destroy(qrn_api_signal *s) {
    const void *handle = s->child.handle;
    qrn_child_leave(s->backend, &s->child);
    pthread_cond_destroy(&s->idle);
    pthread_mutex_destroy(&s->lock);
    qrn_free(s);
    qrn_handle_free(handle);
}

static qrn_status free_signal(qrn_api_signal *s) {
    QRN_TRY(qrn_signal_check_support());
    pthread_mutex_lock(&s->lock);
    bool in_use = s->in_use;
    pthread_mutex_unlock(&s->lock);
    if (in_use)
        return QRN_FAIL(QRN_E_IN_USE, "signal: cannot be freed during a call");
    destroy(s);
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnSignal_free(Qnn_SignalHandle_t signal) {
    QRN_API_CALL;
    void *object = NULL;
    qrn_status s = qrn_pin_last(QRN_KIND_SIGNAL, signal, false, &object);
    qrn_api_log *log = qrn_keep_log(log_of(object));
    if (s == QRN_OK)
        s = free_signal(object);
    else
        s = QRN_FAIL(s, s == QRN_E_IN_USE ? "signal: a call uses it" : "not a signal handle");
    return qrn_api_end(QRN_COMP_SIGNAL, s, log);
}

// The caller has them alone.
void qrn_signal_free_all(qrn_api_backend *b) {
    while (b->own->signals) {
        const void *handle = b->own->signals->handle;
        destroy((qrn_api_signal *)b->own->signals);
        qrn_handle_leave(handle, true);
    }
}
