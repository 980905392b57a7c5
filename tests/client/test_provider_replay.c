// SPDX-License-Identifier: MIT
//
// Eight threads that each open, use and close sessions as onnxruntime's QNN provider does, while
// all of them execute the graphs of one context that they share. Every result is the one of a quiet
// run. For ThreadSanitizer above all; QUERN_REPLAY_SECONDS says how long (default 3).
#include "provider_session.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define N_THREADS 8u
#define RUNS_A_ROUND 4u

// What all threads read, and the context they share. A graph is executed under its own lock, as the
// provider does it: run[i] guards the graph i of `shared`.
static struct {
    session shared;
    session_binary binary;
    pthread_mutex_t run[SESSION_GRAPHS];
    uint8_t in[SESSION_IN_BYTES];
    uint8_t want[SESSION_GRAPHS][SESSION_OUT_BYTES];
    char folder[64];
    time_t end;
} world;

typedef struct worker {
    pthread_t thread;
    uint32_t number, rounds;
    const char *failed; // what went wrong, or NULL
} worker;

static bool same(session *s, uint32_t i) {
    uint8_t in[SESSION_IN_BYTES], out[SESSION_OUT_BYTES];
    memcpy(in, world.in, sizeof in);
    memset(out, 0, sizeof out);
    return session_run(s, i, in, out) && memcmp(out, world.want[i], sizeof out) == 0;
}

// A session of the thread's own: compiled or loaded, with profiles or without.
static const char *own_session(uint32_t number, uint32_t round) {
    session s;
    bool profile = (number + round) % 3 != 0, compile = (number + round) % 4 == 0;
    if (!session_open(&s, profile ? world.folder : NULL, number))
        return "a session cannot be opened";
    if (!(compile ? session_compile(&s) : session_load(&s, &world.binary)))
        return compile ? "a session cannot compile" : "a session cannot load";
    for (uint32_t i = 0; i < RUNS_A_ROUND; i++)
        if (!same(&s, (number + i) % SESSION_GRAPHS))
            return "a session of its own computes something else";
    return session_close(&s) ? NULL : "a session cannot be closed";
}

static const char *shared_session(uint32_t number, uint32_t round) {
    for (uint32_t i = 0; i < RUNS_A_ROUND; i++) {
        uint32_t g = (number + round + i) % SESSION_GRAPHS;
        pthread_mutex_lock(&world.run[g]);
        bool done = same(&world.shared, g);
        pthread_mutex_unlock(&world.run[g]);
        if (!done)
            return "the shared session computes something else";
    }
    Qnn_Priority_t priority = round % 2 ? QNN_PRIORITY_LOW : QNN_PRIORITY_NORMAL;
    if (number == 0 && !session_set_priority(&world.shared, priority))
        return "the priority cannot be set";
    return NULL;
}

static void *work(void *param) {
    worker *w = param;
    while (!w->failed && (w->rounds < 2 || time(NULL) < world.end)) {
        w->failed = own_session(w->number, w->rounds);
        if (!w->failed)
            w->failed = shared_session(w->number, w->rounds);
        w->rounds++;
    }
    return NULL;
}

static void prepare(void) {
    const char *seconds = getenv("QUERN_REPLAY_SECONDS");
    world.end = time(NULL) + (seconds ? atoi(seconds) : 3);
    snprintf(world.folder, sizeof world.folder, "/tmp/quern_replay_XXXXXX");
    assert_non_null(mkdtemp(world.folder));
    for (size_t i = 0; i < sizeof world.in; i++)
        world.in[i] = (uint8_t)(i * 97 + 13);
    assert_true(session_open(&world.shared, NULL, 0) && session_compile(&world.shared));
    assert_true(session_binary_of(&world.shared, &world.binary));
    for (uint32_t i = 0; i < SESSION_GRAPHS; i++) {
        uint8_t in[SESSION_IN_BYTES];
        memcpy(in, world.in, sizeof in);
        assert_true(session_run(&world.shared, i, in, world.want[i]));
        assert_int_equal(pthread_mutex_init(&world.run[i], NULL), 0);
        if (i > 0)
            assert_memory_not_equal(world.want[i], world.want[i - 1], SESSION_OUT_BYTES);
    }
}

static void clean_up(void) {
    free(world.binary.data);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%u_qnn.log", world.folder, i);
        assert_int_equal(access(path, F_OK), 0); // each has written its profiles
        unlink(path);
    }
    assert_int_equal(rmdir(world.folder), 0);
}

static void eight_threads_replay_the_calls_of_the_provider(void **state) {
    (void)state;
    worker workers[N_THREADS];
    uint32_t rounds = 0;
    prepare();
    for (uint32_t i = 0; i < N_THREADS; i++) {
        workers[i] = (worker){.number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < N_THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        rounds += workers[i].rounds;
        if (workers[i].failed)
            fail_msg("thread %u, round %u: %s", i, workers[i].rounds, workers[i].failed);
    }
    print_message("%u sessions in %u threads\n", rounds, N_THREADS);
    assert_true(session_close(&world.shared));
    clean_up();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_threads_replay_the_calls_of_the_provider),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
