// SPDX-License-Identifier: MIT
//
// Thread pool. One job at a time. Its tasks lie in slots, one a cache line, of which each thread
// takes those of its own number first: the same thread gets the same part of every step, so what it
// wrote is in its caches. What nobody has taken is taken by whoever has nothing to do: a thread
// that sleeps, or that the system does not run, holds nobody up. A slot holds
//   job << 2 | OPEN, TAKEN or DONE
// and is taken by a compare-and-swap of the whole word. Fields of a job are written before its
// number is published (`epoch`) and stay until all its slots are DONE, hence who took a slot of a
// job has read its fields whole, and who comes late takes nothing.
// Workers spin on `epoch`, then sleep on it (futex); the caller looks at all slots, then sleeps on
// `ended`. Who is going to sleep says so first and looks afterwards, who wakes changes the word
// first and asks afterwards: so a system call is made only where somebody sleeps, and none is
// missed. No more threads work than there are CPUs: others would only take turns with them. Lock:
// registry_lock guards `shared` and its user count; nothing else is locked.
#include "base/pool.h"

#include "base/env.h"
#include "base/fpenv.h"
#include "base/mem.h"
#include "base/quota.h"

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

#define LINE 64           // bytes of a cache line
#define SPIN_ROUNDS 2000  // pauses before a thread sleeps
#define STEAL_ROUNDS 24   // pauses before a worker looks for tasks of others
#define YIELD_ROUNDS 256  // pauses before it offers its CPU to others,
#define YIELD_STEP 64     // and then in so many
#define AFFINITY_JOBS 512 // after so many the CPUs are counted again,
#define AFFINITY_ASKED 32 // and while there is one, after so many questions: there are no jobs then

enum { OPEN = 1, TAKEN, DONE }; // a slot that was never used is 0

typedef struct worker {
    qrn_pool *pool;
    pthread_t thread;
    uint32_t number; // 1 and up; the caller is 0
} worker;

typedef struct slot {
    _Alignas(LINE) _Atomic uint64_t state;
} slot;

struct qrn_pool {
    slot slots[QRN_POOL_MOST];
    // Written for each job, read by all.
    _Alignas(LINE) _Atomic uint32_t epoch; // job number; workers sleep on it
    _Atomic uint32_t n_slots, n_active;    // of the job; threads that work on it
    _Atomic uint32_t n_tasks;              // task t is in slot t % n_slots
    _Atomic(void (*)(void *, uint32_t)) fn;
    _Atomic(void *) arg;
    // Written when somebody goes to sleep.
    _Alignas(LINE) _Atomic uint32_t asleep; // workers that sleep, or are about to
    _Atomic uint32_t waiting;               // the caller does
    _Atomic uint32_t ended;                 // changes when a slot is done while it does
    _Atomic uint32_t grown;                 // changes when more threads are to work
    // The caller's.
    _Alignas(LINE) atomic_bool busy; // a job is running
    atomic_bool stop;
    uint32_t n_threads;      // caller included
    uint32_t n_started;      // workers running; changed only while busy
    uint32_t n_jobs;         // since CPUs were counted; the same
    _Atomic uint32_t n_cpus; // that were there lately
    _Atomic uint32_t asked;  // how many there are, while there was one
    uint32_t quota;          // CPUs of the cgroup, 0: no limit
    pid_t pid;               // process the workers belong to
    unsigned users;          // guarded by registry_lock
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

// One round of waiting; after some of them, others that wait for this CPU may have it.
static void spin(int round) {
    if (round >= YIELD_ROUNDS && round % YIELD_STEP == 0)
        sched_yield();
    else
        pause_cpu();
}

static void sleep_on(_Atomic uint32_t *word, uint32_t seen) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void wake_all(_Atomic uint32_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, QRN_POOL_MOST, NULL, NULL, 0);
}

static uint64_t state_of(uint32_t job, uint64_t what) { return (uint64_t)job << 2 | what; }

// Runs the tasks of a slot unless somebody has taken it.
static void try_slot(qrn_pool *p, uint32_t job, uint32_t i) {
    uint64_t open = state_of(job, OPEN);
    if (atomic_load_explicit(&p->slots[i].state, memory_order_relaxed) != open)
        return;
    void (*fn)(void *, uint32_t) = atomic_load(&p->fn);
    void *arg = atomic_load(&p->arg);
    uint32_t n_tasks = atomic_load(&p->n_tasks), step = atomic_load(&p->n_slots);
    if (!atomic_compare_exchange_strong(&p->slots[i].state, &open, state_of(job, TAKEN)))
        return;
    for (uint32_t task = i; task < n_tasks; task += step)
        fn(arg, task);
    atomic_store(&p->slots[i].state, state_of(job, DONE));
    if (atomic_load(&p->waiting)) {
        atomic_fetch_add(&p->ended, 1);
        wake_all(&p->ended);
    }
}

// The slots of a thread's own number.
static void run_own(qrn_pool *p, uint32_t job, uint32_t me) {
    uint32_t n = atomic_load(&p->n_slots), step = atomic_load(&p->n_active);
    for (uint32_t i = me; i < n && me < step; i += step)
        try_slot(p, job, i);
}

// Those that nobody has taken, from the next number on. `job` may have ended long ago.
static void run_others(qrn_pool *p, uint32_t job, uint32_t me) {
    uint32_t n = atomic_load(&p->n_slots);
    for (uint32_t i = 1; i <= n; i++)
        try_slot(p, job, (me + i) % n);
}

static void *worker_main(void *arg) {
    const worker *w = arg;
    qrn_pool *p = w->pool;
    uint32_t seen = 0;
    self = w->number;
    qrn_fpenv_enter(); // a thread inherits the control word of the one that made it
    for (;;) {
        uint32_t now = atomic_load(&p->epoch), grown = atomic_load(&p->grown);
        for (int i = 0; now == seen && i < SPIN_ROUNDS; i++) {
            if (i == STEAL_ROUNDS)
                run_others(p, seen, self);
            spin(i);
            now = atomic_load(&p->epoch);
        }
        if (atomic_load(&p->stop))
            return NULL;
        if (self >= atomic_load(&p->n_active)) { // there is no CPU for it
            sleep_on(&p->grown, grown);
            continue;
        }
        if (now == seen) {
            atomic_fetch_add(&p->asleep, 1);
            sleep_on(&p->epoch, seen);
            atomic_fetch_sub(&p->asleep, 1);
            continue;
        }
        seen = now;
        run_own(p, now, self);
    }
}

// Starts the missing workers; a thread that cannot be started is done without.
static void start_workers(qrn_pool *p, uint32_t n_threads) {
    if (p->pid != getpid()) { // after fork: the parent's workers do not exist here
        p->n_started = 0;
        p->pid = getpid();
        atomic_store(&p->asleep, 0);
    }
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (p->n_started + 1 < n_threads) {
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

// Are all slots of a job done? Looks at all of them at once; with `take`, runs those that are open.
static bool is_done(qrn_pool *p, uint32_t job, uint32_t n, bool take) {
    uint64_t open = 0, left = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t state = atomic_load(&p->slots[i].state);
        open |= state == state_of(job, OPEN);
        left |= state != state_of(job, DONE);
    }
    if (open && take)
        run_others(p, job, 0);
    return !left;
}

static void wait_for(qrn_pool *p, uint32_t job) {
    uint32_t n = atomic_load(&p->n_slots);
    for (int i = 0; i < SPIN_ROUNDS; i++) {
        if (is_done(p, job, n, true))
            return;
        spin(i);
    }
    atomic_store(&p->waiting, 1);
    for (;;) {
        uint32_t ended = atomic_load(&p->ended);
        if (is_done(p, job, n, false))
            break;
        sleep_on(&p->ended, ended);
    }
    atomic_store(&p->waiting, 0);
}

static uint32_t count_cpus(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

static uint32_t usable_cpus(const qrn_pool *p) {
    uint32_t n = count_cpus();
    return p->quota && p->quota < n ? p->quota : n;
}

uint32_t qrn_pool_useful(qrn_pool *p) {
    if (!p)
        return 1;
    uint32_t cpus = atomic_load_explicit(&p->n_cpus, memory_order_relaxed);
    if (cpus < 2 && p->n_threads > 1 &&
        atomic_fetch_add_explicit(&p->asked, 1, memory_order_relaxed) % AFFINITY_ASKED == 0) {
        cpus = usable_cpus(p);
        atomic_store_explicit(&p->n_cpus, cpus, memory_order_relaxed);
    }
    return p->n_threads < cpus ? p->n_threads : cpus;
}

// Threads that a job uses. The CPUs may change while the program runs.
static uint32_t active_threads(qrn_pool *p) {
    if (p->n_jobs++ % AFFINITY_JOBS == 0)
        atomic_store(&p->n_cpus, usable_cpus(p));
    return qrn_pool_useful(p);
}

static void run_alone(void (*fn)(void *arg, uint32_t task), void *arg, uint32_t n_tasks) {
    for (uint32_t i = 0; i < n_tasks; i++)
        fn(arg, i);
}

// Publishes a job for so many threads, all fields before its number.
static uint32_t begin_job(qrn_pool *p, void (*fn)(void *arg, uint32_t task), void *arg,
                          uint32_t n_tasks, uint32_t active) {
    uint32_t job = atomic_load(&p->epoch) + 1, before = atomic_load(&p->n_active);
    uint32_t n = n_tasks < QRN_POOL_MOST ? n_tasks : QRN_POOL_MOST;
    atomic_store_explicit(&p->fn, fn, memory_order_relaxed);
    atomic_store_explicit(&p->arg, arg, memory_order_relaxed);
    atomic_store_explicit(&p->n_tasks, n_tasks, memory_order_relaxed);
    atomic_store_explicit(&p->n_slots, n, memory_order_relaxed);
    if (active != before)
        atomic_store(&p->n_active, active);
    if (active > before) {
        atomic_fetch_add(&p->grown, 1);
        wake_all(&p->grown);
    }
    for (uint32_t i = 0; i < n; i++)
        atomic_store_explicit(&p->slots[i].state, state_of(job, OPEN), memory_order_release);
    atomic_store(&p->epoch, job);
    if (atomic_load(&p->asleep))
        wake_all(&p->epoch);
    return job;
}

void qrn_pool_run(qrn_pool *p, void (*fn)(void *arg, uint32_t task), void *arg, uint32_t n_tasks) {
    bool idle = false;
    if (!p || p->n_threads < 2 || n_tasks < 2 ||
        !atomic_compare_exchange_strong(&p->busy, &idle, true)) {
        run_alone(fn, arg, n_tasks);
        return;
    }
    uint32_t active = active_threads(p);
    if (active < 2) {
        run_alone(fn, arg, n_tasks);
    } else {
        if (p->n_started + 1 < active || p->pid != getpid())
            start_workers(p, active);
        uint32_t job = begin_job(p, fn, arg, n_tasks, active);
        run_own(p, job, 0);
        wait_for(p, job);
    }
    atomic_store(&p->busy, false);
}

uint32_t qrn_pool_threads(const qrn_pool *p) { return p ? p->n_threads : 1; }

uint32_t qrn_pool_self(void) { return self; }

static uint32_t cgroup_cpus(void) { return qrn_quota_cpus("/proc/self/cgroup", "/sys/fs/cgroup"); }

uint32_t qrn_pool_default_threads(void) {
    const char *want = qrn_env_get(QRN_ENV_THREADS);
    long n = want ? strtol(want, NULL, 10) : 0;
    if (n < 1) {
        n = count_cpus();
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
            shared->quota = cgroup_cpus();
            atomic_init(&shared->n_cpus, usable_cpus(shared));
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
    atomic_fetch_add(&p->grown, 1);
    wake_all(&p->epoch);
    wake_all(&p->grown);
    if (p->pid == getpid())
        for (uint32_t i = 0; i < p->n_started; i++)
            pthread_join(p->workers[i].thread, NULL);
    qrn_free(p);
}
