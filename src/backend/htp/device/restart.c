// SPDX-License-Identifier: MIT
//
// Restarts. State of the library: what follows, all of it atomic.
#include "backend/htp/device/restart.h"

#include "backend/htp/power/power.h"

#include "base/env.h"
#include "core/services.h"

#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_uint restarts;
static atomic_uint crossings_left; // until the ordered crash; 0: none is ordered
static atomic_bool crash_is_fatal, dead;

uint32_t qrn_htp_restarts(void) { return atomic_load_explicit(&restarts, memory_order_relaxed); }

void qrn_htp_restart_at(uint32_t n, bool fatal) {
    atomic_store(&dead, false);
    atomic_store(&crash_is_fatal, fatal);
    atomic_store(&crossings_left, n);
}

// "5" or "5,fatal"; 0: it is neither.
static uint32_t order_of(const char *text, bool *fatal) {
    char *end = NULL;
    unsigned long n = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
    *fatal = end && strcmp(end, ",fatal") == 0;
    return n <= UINT32_MAX && end && (*fatal || *end == '\0') ? (uint32_t)n : 0;
}

static void order_once(void) {
    const char *text = qrn_env_get(QRN_ENV_HTP_RESTART);
    bool fatal = false;
    uint32_t n = text ? order_of(text, &fatal) : 0;
    if (n)
        qrn_htp_restart_at(n, fatal);
}

void qrn_htp_restart_of_environment(qrn_api_log *log) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *text = qrn_env_get(QRN_ENV_HTP_RESTART);
    bool fatal;
    pthread_once(&once, order_once);
    if (text && !order_of(text, &fatal))
        qrn_log(log, QNN_LOG_LEVEL_WARN,
                "QUERN_HTP_RESTART is '%.64s', expected the number of a call from 1 on, such as 5, "
                "or 5,fatal: nothing will crash",
                text);
}

qrn_status qrn_htp_restart_check(const qrn_api_context *c) {
    if (atomic_load_explicit(&dead, memory_order_relaxed))
        return QRN_FAIL(QRN_E_COMM_FATAL, "the accelerator crashed and did not come back: end the "
                                          "process");
    if (c && qrn_htp_context_of(c)->restarts != qrn_htp_restarts())
        return QRN_FAIL(QRN_E_COMM, "the accelerator was restarted: free the context, make it and "
                                    "its graphs again, register memory again");
    return QRN_OK;
}

// True for the one crossing that the order names, whichever thread makes it.
static bool crash_is_due(void) {
    unsigned left = atomic_load_explicit(&crossings_left, memory_order_relaxed);
    while (left && !atomic_compare_exchange_weak(&crossings_left, &left, left - 1))
        continue;
    return left == 1;
}

qrn_status qrn_htp_cross(const qrn_api_context *c) {
    if (!crash_is_due())
        return qrn_htp_restart_check(c);
    atomic_fetch_add(&restarts, 1);
    atomic_store(&dead, atomic_load(&crash_is_fatal));
    qrn_htp_power_restart();
    if (atomic_load(&dead))
        return qrn_htp_restart_check(c);
    return QRN_FAIL(QRN_E_COMM, "the accelerator crashed during the call and was restarted");
}
