// SPDX-License-Identifier: MIT
//
// Thread pool. One job at a time; tasks are claimed from a ticket word that holds the job number
// and the next task, so a worker that comes late to a finished job can never touch it:
//   ticket = job << 32 | next task
// A claim is a compare-and-swap on the ticket. Fields of a job are written before its ticket is
// published and stay untouched until all its tasks are done, hence a successful claim read them
// whole. Workers spin briefly on `epoch`, then sleep on it (futex). Who is going to sleep counts
// itself first and looks at the word afterwards (the system call does), who wakes changes the word
// first and looks at the count afterwards: so a system call is made only where somebody sleeps, and
// none is missed. Lock: registry_lock guards `shared` and its user count; nothing else is locked.
#include "base/pool.h"

#include "base/env.h"
#include "base/fpenv.h"
#include "base/mem.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPIN_ROUNDS 2000

typedef struct worker {
    qrn_pool *pool;
    pthread_t thread;
    uint32_t number; // 1 and up; the caller is 0
} worker;

struct qrn_pool {
    _Atomic uint64_t ticket;
    _Atomic uint32_t epoch;     // job number; workers sleep on it
    _Atomic uint32_t remaining; // tasks of the job that are not done; the caller sleeps on it
    _Atomic(void (*)(void *, uint32_t)) fn;
    _Atomic(void *) arg;
    _Atomic uint32_t n_tasks;
    _Atomic uint32_t asleep; // threads that sleep on one of the two words, or are about to
    atomic_bool busy;        // a job is running
    atomic_bool stop;
    uint32_t n_threads; // caller included
    uint32_t n_started; // workers running; changed only while busy
    pid_t pid;          // process the workers belong to
    unsigned users;     // guarded by registry_lock
    worker workers[QRN_POOL_MOST];
};

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static qrn_pool *shared; // the library's pool while it has users
static _Thread_local uint32_t self;

static void pause_cpu(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void sleep_on(qrn_pool *p, _Atomic uint32_t *word, uint32_t seen) {
    atomic_fetch_add(&p->asleep, 1);
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    atomic_fetch_sub(&p->asleep, 1);
}

// Behind a change of the word.
static void wake_all(qrn_pool *p, _Atomic uint32_t *word) {
    if (atomic_load(&p->asleep))
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, QRN_POOL_MOST, NULL, NULL, 0);
}

// Runs tasks of job `job` until none is left to claim.
static void work(qrn_pool *p, uint32_t job) {
    for (;;) {
        uint64_t t = atomic_load(&p->ticket);
        uint32_t task = (uint32_t)t;
        if ((uint32_t)(t >> 32) != job || task >= atomic_load(&p->n_tasks))
            return;
        void (*fn)(void *, uint32_t) = atomic_load(&p->fn);
        void *arg = atomic_load(&p->arg);
        if (!atomic_compare_exchange_strong(&p->ticket, &t, t + 1))
            continue;
        fn(arg, task);
        if (atomic_fetch_sub(&p->remaining, 1) == 1)
            wake_all(p, &p->remaining);
    }
}

static void *worker_main(void *arg) {
    const worker *w = arg;
    qrn_pool *p = w->pool;
    self = w->number;
    uint32_t seen = 0;
    qrn_fpenv_enter(); // a thread inherits the control word of the one that made it
    for (;;) {
        uint32_t now = atomic_load(&p->epoch);
        for (int i = 0; now == seen && i < SPIN_ROUNDS; i++) {
            pause_cpu();
            now = atomic_load(&p->epoch);
        }
        if (atomic_load(&p->stop))
            return NULL;
        if (now == seen) {
            sleep_on(p, &p->epoch, seen);
            continue;
        }
        seen = now;
        work(p, now);
    }
}

// Starts the missing workers; a thread that cannot be started is done without.
static void start_workers(qrn_pool *p) {
    if (p->pid != getpid()) { // after fork: the parent's workers do not exist here
        p->n_started = 0;
        p->pid = getpid();
        atomic_store(&p->asleep, 0);
    }
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (p->n_started + 1 < p->n_threads) {
        worker *w = &p->workers[p->n_started];
        w->pool = p;
        w->number = p->n_started + 1;
        if (pthread_create(&w->thread, NULL, worker_main, w) != 0)
            break;
        char name[16];
        snprintf(name, sizeof name, "quern-%u", w->number);
        pthread_setname_np(w->thread, name);
        p->n_started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void qrn_pool_run(qrn_pool *p, void (*fn)(void *arg, uint32_t task), void *arg, uint32_t n_tasks) {
    bool idle = false;
    if (!p || p->n_threads < 2 || n_tasks < 2 ||
        !atomic_compare_exchange_strong(&p->busy, &idle, true)) {
        for (uint32_t i = 0; i < n_tasks; i++)
            fn(arg, i);
        return;
    }
    if (p->n_started + 1 < p->n_threads || p->pid != getpid())
        start_workers(p);
    uint32_t job = atomic_load(&p->epoch) + 1;
    atomic_store(&p->ticket, (uint64_t)job << 32 | UINT32_MAX); // closed while the fields change
    atomic_store(&p->fn, fn);
    atomic_store(&p->arg, arg);
    atomic_store(&p->n_tasks, n_tasks);
    atomic_store(&p->remaining, n_tasks);
    atomic_store(&p->ticket, (uint64_t)job << 32);
    atomic_store(&p->epoch, job);
    wake_all(p, &p->epoch);
    work(p, job);
    uint32_t left = atomic_load(&p->remaining);
    for (int i = 0; left && i < SPIN_ROUNDS; i++) {
        pause_cpu();
        left = atomic_load(&p->remaining);
    }
    for (; left; left = atomic_load(&p->remaining))
        sleep_on(p, &p->remaining, left);
    atomic_store(&p->busy, false);
}

uint32_t qrn_pool_threads(const qrn_pool *p) { return p ? p->n_threads : 1; }

uint32_t qrn_pool_self(void) { return self; }

// Whole CPUs of the cgroup quota ("max 100000" or "200000 100000"), at least 1; 0 when unlimited.
static uint32_t cgroup_cpus(void) {
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (!f)
        return 0;
    char text[64] = "";
    bool ok = fgets(text, sizeof text, f) != NULL;
    fclose(f);
    char *end;
    long quota = ok ? strtol(text, &end, 10) : 0;
    if (quota <= 0 || end == text)
        return 0;
    long period = strtol(end, NULL, 10);
    return period <= 0 ? 0 : quota < period ? 1 : (uint32_t)(quota / period);
}

uint32_t qrn_pool_default_threads(void) {
    const char *want = qrn_env_get(QRN_ENV_THREADS);
    long n = want ? strtol(want, NULL, 10) : 0;
    if (n < 1) {
        cpu_set_t set;
        n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
        uint32_t quota = cgroup_cpus();
        if (quota && (long)quota < n)
            n = (long)quota;
    }
    return n > QRN_POOL_MOST ? QRN_POOL_MOST : (uint32_t)n;
}

qrn_pool *qrn_pool_acquire(uint32_t n_threads) {
    pthread_mutex_lock(&registry_lock);
    if (!shared) {
        shared = qrn_calloc(sizeof *shared);
        if (shared) {
            shared->n_threads = n_threads ? n_threads : qrn_pool_default_threads();
            if (shared->n_threads > QRN_POOL_MOST)
                shared->n_threads = QRN_POOL_MOST;
            shared->pid = getpid();
        }
    }
    qrn_pool *p = shared;
    if (p)
        p->users++;
    pthread_mutex_unlock(&registry_lock);
    return p;
}

void qrn_pool_release(qrn_pool *p) {
    if (!p)
        return;
    pthread_mutex_lock(&registry_lock);
    bool last = --p->users == 0;
    if (last)
        shared = NULL;
    pthread_mutex_unlock(&registry_lock);
    if (!last)
        return;
    atomic_store(&p->stop, true);
    atomic_fetch_add(&p->epoch, 1);
    wake_all(p, &p->epoch);
    if (p->pid == getpid())
        for (uint32_t i = 0; i < p->n_started; i++)
            pthread_join(p->workers[i].thread, NULL);
    qrn_free(p);
}
