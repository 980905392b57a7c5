// SPDX-License-Identifier: MIT
//
// Thread pool: every task runs exactly once, from many callers, across fork, and memory comes back.
#include "base/mem.h"
#include "base/pool.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define N_TASKS 100

static void count_task(void *arg, uint32_t task) {
    atomic_fetch_add(&((atomic_int *)arg)[task], 1);
}

static void run_rounds(qrn_pool *p, int rounds) {
    for (int r = 0; r < rounds; r++) {
        atomic_int seen[N_TASKS] = {0};
        uint32_t n = (uint32_t)(r % N_TASKS) + 1;
        qrn_pool_run(p, count_task, seen, n);
        for (uint32_t i = 0; i < N_TASKS; i++)
            assert_int_equal(atomic_load(&seen[i]), i < n ? 1 : 0);
    }
}

static void every_task_runs_once(void **state) {
    (void)state;
    size_t before = qrn_alloc_live();
    qrn_pool *p = qrn_pool_acquire(4);
    assert_int_equal(qrn_pool_threads(p), 4);
    assert_ptr_equal(qrn_pool_acquire(9), p); // one pool per library
    assert_int_equal(qrn_pool_threads(p), 4);
    run_rounds(p, 2000);
    qrn_pool_release(p);
    run_rounds(p, 10);
    qrn_pool_release(p);
    qrn_pool_release(NULL);
    assert_int_equal(qrn_alloc_live(), before);
}

static void without_a_pool_tasks_run_in_the_caller(void **state) {
    (void)state;
    assert_int_equal(qrn_pool_threads(NULL), 1);
    run_rounds(NULL, 5);
    assert_true(qrn_pool_default_threads() >= 1);
}

static void *caller(void *arg) {
    run_rounds(arg, 500);
    return NULL;
}

static void a_busy_pool_does_not_hold_up_other_callers(void **state) {
    (void)state;
    qrn_pool *p = qrn_pool_acquire(3);
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, caller, p), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    qrn_pool_release(p);
}

static void nested(void *arg, uint32_t task) {
    atomic_int seen[8] = {0};
    (void)task;
    qrn_pool_run(arg, count_task, seen, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(atomic_load(&seen[i]), 1);
}

static void a_task_may_use_the_pool_itself(void **state) {
    (void)state;
    qrn_pool *p = qrn_pool_acquire(2);
    qrn_pool_run(p, nested, p, 16);
    qrn_pool_release(p);
}

// Neither ThreadSanitizer nor qemu-user can start threads after a fork.
#if !defined(__SANITIZE_THREAD__) && !defined(QUERN_EMULATED)
static void a_forked_child_starts_workers_of_its_own(void **state) {
    (void)state;
    qrn_pool *p = qrn_pool_acquire(3);
    run_rounds(p, 10);
    pid_t child = fork();
    if (child == 0) {
        run_rounds(p, 10);
        _exit(0);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    run_rounds(p, 10);
    qrn_pool_release(p);
}
#endif

// States of this process's threads but the first, as /proc has them: how many sleep.
static int sleeping_threads(void) {
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[300], line[512];
        if (e->d_name[0] == '.' || atoi(e->d_name) == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", e->d_name);
        FILE *f = fopen(path, "r");
        if (f && fgets(line, sizeof line, f)) {
            const char *state = strrchr(line, ')'); // behind the name
            n += state && state[2] == 'S';
        }
        if (f)
            fclose(f);
    }
    if (d)
        closedir(d);
    return n;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct meeting {
    atomic_int begun[2], met, done;
    pthread_t caller;
} meeting;

// Each of two tasks waits until the other one has begun: that takes two threads.
static void meet(void *arg, uint32_t task) {
    meeting *m = arg;
    atomic_store(&m->begun[task], 1);
    for (double end = seconds() + 60; !atomic_load(&m->begun[1 - task]) && seconds() < end;)
        sched_yield();
    atomic_fetch_add(&m->met, atomic_load(&m->begun[1 - task]));
}

static void workers_that_sleep_are_woken(void **state) {
    (void)state;
    if (qrn_pool_default_threads() < 2)
        skip(); // a pool has no more threads than CPUs
    qrn_pool *p = qrn_pool_acquire(2);
    for (int i = 0; i < 50; i++) {
        meeting m = {.met = 0};
        qrn_pool_run(p, meet, &m, 2);
        assert_int_equal(atomic_load(&m.met), 2);
        for (double end = seconds() + 60; i % 2 && !sleeping_threads() && seconds() < end;)
            sched_yield();
    }
    qrn_pool_release(p);
}

// The worker's task takes longer than the caller spins.
static void slow(void *arg, uint32_t task) {
    meeting *m = arg;
    meet(m, task);
    if (!pthread_equal(pthread_self(), m->caller))
        for (double end = seconds() + 0.002; seconds() < end;)
            sched_yield();
    atomic_fetch_add(&m->done, 1);
}

static void a_caller_that_sleeps_is_woken(void **state) {
    (void)state;
    if (qrn_pool_default_threads() < 2)
        skip();
    qrn_pool *p = qrn_pool_acquire(2);
    for (int i = 0; i < 50; i++) {
        meeting m = {.caller = pthread_self()};
        qrn_pool_run(p, slow, &m, 2);
        assert_int_equal(atomic_load(&m.done), 2);
    }
    qrn_pool_release(p);
}

static int threads_of_this_process(void) {
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

// More threads than CPUs would only take turns; CPUs that come and go are noticed.
static void threads_follow_the_cpus(void **state) {
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    int before = threads_of_this_process(), cpus = CPU_COUNT(&all);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    qrn_pool *p = qrn_pool_acquire(64);
    assert_int_equal(qrn_pool_threads(p), 64);
    assert_int_equal(qrn_pool_useful(p), 1);
    assert_int_equal(qrn_pool_useful(NULL), 1);
    run_rounds(p, 10);
    assert_int_equal(threads_of_this_process(), before);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    run_rounds(p, 2000);
    assert_true(threads_of_this_process() < before + (cpus < 64 ? cpus : 64));
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    run_rounds(p, 2000);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    run_rounds(p, 2000);
    qrn_pool_release(p);
}

static void no_worker(void *arg, uint32_t task) {
    (void)task;
    if (qrn_pool_self() >= 2)
        atomic_fetch_add((atomic_int *)arg, 1);
}

// As the runtime does, which makes a job only where more than one thread is useful.
static void run_useful(qrn_pool *p, int rounds) {
    atomic_int others = 0;
    for (int i = 0; i < rounds; i++)
        if (qrn_pool_useful(p) > 1)
            qrn_pool_run(p, no_worker, &others, 2);
}

static void a_cpu_that_comes_back_is_noticed_without_jobs(void **state) {
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    qrn_pool *p = qrn_pool_acquire(2);
    uint32_t before = qrn_pool_useful(p);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    run_useful(p, 2000);
    assert_int_equal(qrn_pool_useful(p), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    run_useful(p, 2000);
    assert_int_equal(qrn_pool_useful(p), before);
    qrn_pool_release(p);
}

static void threads_have_numbers(void **state) {
    (void)state;
    atomic_int others = 0;
    qrn_pool *p = qrn_pool_acquire(2);
    assert_int_equal(qrn_pool_self(), 0);
    for (int i = 0; i < 100; i++)
        qrn_pool_run(p, no_worker, &others, 300); // more than a pool has slots
    assert_int_equal(atomic_load(&others), 0);
    qrn_pool_release(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(without_a_pool_tasks_run_in_the_caller),
        cmocka_unit_test(a_busy_pool_does_not_hold_up_other_callers),
        cmocka_unit_test(a_task_may_use_the_pool_itself),
        cmocka_unit_test(workers_that_sleep_are_woken),
        cmocka_unit_test(a_caller_that_sleeps_is_woken),
        cmocka_unit_test(threads_follow_the_cpus),
        cmocka_unit_test(a_cpu_that_comes_back_is_noticed_without_jobs),
        cmocka_unit_test(threads_have_numbers),
#if !defined(__SANITIZE_THREAD__) && !defined(QUERN_EMULATED)
        cmocka_unit_test(a_forked_child_starts_workers_of_its_own),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
