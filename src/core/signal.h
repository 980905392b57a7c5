// SPDX-License-Identifier: MIT
//
// Signals as the calls that they end see them: begin, poll while working, end.
// A NULL signal is allowed everywhere and never fires.
#ifndef QRN_CORE_SIGNAL_H
#define QRN_CORE_SIGNAL_H

#include "core/own.h"

typedef enum qrn_signal_type {
    QRN_SIGNAL_NONE,   // never fires
    QRN_SIGNAL_ABORT,  // fires when triggered
    QRN_SIGNAL_TIMEOUT // fires timeout_us after begin
} qrn_signal_type;

typedef struct qrn_api_signal {
    qrn_child child; // first, so that it is the address
    qrn_api_backend *backend;
    pthread_mutex_t lock; // guards what follows; innermost
    pthread_cond_t idle;  // the call that used it is about to return
    qrn_signal_type type;
    uint64_t timeout_us; // TIMEOUT
    bool in_use;
    uint64_t calls; // number of begins: one call differs from the next
    bool owned;     // the call runs in the thread `owner`, else in another
    pthread_t owner;
    uint64_t deadline_ns; // TIMEOUT, of the running call; monotonic clock
    atomic_bool triggered;
} qrn_api_signal;

// QRN_E_UNSUPPORTED when the backend has no signals.
qrn_status qrn_signal_check_support(void);

// The signal behind a handle of a call on backend b. A NULL handle gives NULL and OK.
// QRN_E_HANDLE: not a signal of this backend; QRN_E_UNSUPPORTED: the backend has no signals.
qrn_status qrn_signal_get(const void *handle, const qrn_api_backend *b, qrn_api_signal **signal);

// Takes the signal for one call; QRN_E_IN_USE when another call has it.
qrn_status qrn_signal_begin(qrn_api_signal *s);
// QRN_E_ABORTED or QRN_E_TIMED_OUT when it has fired. Fits the poll callbacks of compiler and
// runtime.
qrn_status qrn_signal_poll(void *signal);
// Lets it go; call it last, when the outcome is fixed. Wakes the thread that triggered it.
void qrn_signal_end(qrn_api_signal *s);

// Ends the signals of a backend, which the caller has alone.
void qrn_signal_free_all(qrn_api_backend *b);

#endif
