// SPDX-License-Identifier: MIT
//
// The engine: a lock that is handed over by rank. Without contention it costs one mutex to take and
// one to give.
//
// State of the library: `engine`, guarded by its lock, which is innermost; `wanted` is written
// under the lock and read without.
#include "backend/htp/device/engine.h"

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#define POLL_NS 500000 // how often a waiting run looks at its signal

static struct {
    pthread_mutex_t lock;
    qrn_htp_turn *holders; // one, or two that share
    qrn_htp_turn *waiting; // in the order they will be served
    uint64_t arrivals;
    uint32_t n_waiting;
    atomic_int wanted; // priority of the first that waits; INT_MIN: nobody does
} engine = {.lock = PTHREAD_MUTEX_INITIALIZER, .wanted = INT_MIN};

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// A forked child has none of the threads that hold the engine or wait for it.
static void before_fork(void) { pthread_mutex_lock(&engine.lock); }

static void after_fork_in_parent(void) { pthread_mutex_unlock(&engine.lock); }

static void after_fork_in_child(void) {
    engine.holders = engine.waiting = NULL;
    engine.n_waiting = 0;
    atomic_store(&engine.wanted, INT_MIN);
    pthread_mutex_unlock(&engine.lock);
}

static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static bool may_run(const qrn_htp_turn *t) {
    const qrn_htp_turn *h = engine.holders;
    if (!h)
        return true;
    return !h->next && h->shares && t->shares && h->priority == t->priority &&
           (h->vtcm_end <= t->vtcm_from || t->vtcm_end <= h->vtcm_from);
}

// Serves those at the head of the line that may run now. The lock is held, here and below.
static void serve(void) {
    while (engine.waiting && may_run(engine.waiting)) {
        qrn_htp_turn *t = engine.waiting;
        engine.waiting = t->next;
        engine.n_waiting--;
        t->next = engine.holders;
        engine.holders = t;
        t->holds = true;
        t->granted_ns = now_ns();
        if (t->sleeps)
            pthread_cond_signal(&t->granted);
    }
    atomic_store(&engine.wanted, engine.waiting ? engine.waiting->priority : INT_MIN);
}

static void line_up(qrn_htp_turn *t) {
    if (!t->number)
        t->number = ++engine.arrivals;
    qrn_htp_turn **at = &engine.waiting;
    while (*at && ((*at)->priority > t->priority ||
                   ((*at)->priority == t->priority && (*at)->number < t->number)))
        at = &(*at)->next;
    t->next = *at;
    *at = t;
    engine.n_waiting++;
}

static void take_out(qrn_htp_turn **list, const qrn_htp_turn *t) {
    while (*list != t)
        list = &(*list)->next;
    *list = t->next;
}

static void sleep_until_granted(qrn_htp_turn *t) {
    if (!t->poll) {
        pthread_cond_wait(&t->granted, &engine.lock);
        return;
    }
    uint64_t until = now_ns() + POLL_NS;
    struct timespec ts = {.tv_sec = (time_t)(until / 1000000000u),
                          .tv_nsec = (long)(until % 1000000000u)};
    pthread_cond_timedwait(&t->granted, &engine.lock, &ts);
}

static qrn_status wait_for_turn(qrn_htp_turn *t) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->granted, &attr);
    pthread_condattr_destroy(&attr);
    t->sleeps = true;
    qrn_status s = QRN_OK;
    while (!t->holds && s == QRN_OK) {
        sleep_until_granted(t);
        if (!t->holds && t->poll)
            s = t->poll(t->poll_ctx);
    }
    t->sleeps = false;
    pthread_cond_destroy(&t->granted);
    if (!t->holds) {
        take_out(&engine.waiting, t);
        engine.n_waiting--;
        serve(); // it may have kept others from running
    }
    return s;
}

qrn_status qrn_htp_engine_take(qrn_htp_turn *t) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    qrn_status s = QRN_OK;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&engine.lock);
    line_up(t);
    serve();
    if (!t->holds)
        s = wait_for_turn(t);
    pthread_mutex_unlock(&engine.lock);
    return s;
}

void qrn_htp_engine_give(qrn_htp_turn *t) {
    pthread_mutex_lock(&engine.lock);
    take_out(&engine.holders, t);
    t->holds = false;
    serve();
    pthread_mutex_unlock(&engine.lock);
}

bool qrn_htp_engine_wanted(const qrn_htp_turn *t) {
    return atomic_load_explicit(&engine.wanted, memory_order_relaxed) > t->priority;
}

uint32_t qrn_htp_engine_waiting(void) {
    pthread_mutex_lock(&engine.lock);
    uint32_t n = engine.n_waiting;
    pthread_mutex_unlock(&engine.lock);
    return n;
}
