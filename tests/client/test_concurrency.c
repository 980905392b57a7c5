// SPDX-License-Identifier: MIT
//
// Threads: one finalized graph executed from many threads at once, graphs built on many threads,
// and the same result whatever the number of threads.
#include "qnn_client.h"

#include <pthread.h>

#define N_THREADS 4
#define ROWS 64
#define COLS 700

static qnn_table qnn;
static Qnn_BackendHandle_t backend;
static uint32_t dims[] = {ROWS, COLS};

typedef struct model {
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, y;
} model;

static model build(void) {
    model m;
    assert_int_equal(qnn.contextCreate(backend, NULL, NULL, &m.context), QNN_SUCCESS);
    assert_int_equal(qnn.graphCreate(m.context, "g", NULL, &m.graph), QNN_SUCCESS);
    m.x = tensor(&qnn, m.graph, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, dims);
    Qnn_Tensor_t r = tensor(&qnn, m.graph, "r", QNN_TENSOR_TYPE_NATIVE, 2, dims);
    m.y = tensor(&qnn, m.graph, "y", QNN_TENSOR_TYPE_APP_READ, 2, dims);
    node(&qnn, m.graph, "relu", QNN_OP_RELU, &m.x, &r);
    node(&qnn, m.graph, "softmax", QNN_OP_SOFTMAX, &r, &m.y);
    assert_int_equal(qnn.graphFinalize(m.graph, NULL, NULL), QNN_SUCCESS);
    return m;
}

static void fill(float *x, int seed) {
    for (int i = 0; i < ROWS * COLS; i++)
        x[i] = (float)((i * 7919 + seed * 104729) % 2001 - 1000) / 250.0f;
}

static void execute(const model *m, float *in, float *out) {
    Qnn_Tensor_t x = m->x, y = m->y;
    set_buffer(&x, in, ROWS * COLS * sizeof(float));
    set_buffer(&y, out, ROWS * COLS * sizeof(float));
    assert_int_equal(qnn.graphExecute(m->graph, &x, 1, &y, 1, NULL, NULL), QNN_SUCCESS);
}

typedef struct job {
    const model *shared; // NULL: build one of its own each round
    int seed;
    float in[ROWS * COLS], want[ROWS * COLS], got[ROWS * COLS];
    int bad;
} job;

static void *run_job(void *arg) {
    job *j = arg;
    for (int round = 0; round < 20; round++) {
        model own;
        if (!j->shared)
            own = build();
        memset(j->got, 0, sizeof j->got);
        execute(j->shared ? j->shared : &own, j->in, j->got);
        j->bad += memcmp(j->got, j->want, sizeof j->got) != 0;
        if (!j->shared)
            j->bad += qnn.contextFree(own.context, NULL) != QNN_SUCCESS;
    }
    return NULL;
}

static void run_jobs(const model *shared) {
    static job jobs[N_THREADS];
    pthread_t threads[N_THREADS];
    model quiet = build(); // the expected bits, computed while nothing else runs
    for (int i = 0; i < N_THREADS; i++) {
        jobs[i] = (job){.shared = shared, .seed = i};
        fill(jobs[i].in, i);
        execute(&quiet, jobs[i].in, jobs[i].want);
    }
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(jobs[i].bad, 0);
    }
    assert_int_equal(qnn.contextFree(quiet.context, NULL), QNN_SUCCESS);
}

static void one_graph_runs_on_many_threads(void **state) {
    (void)state;
    model m = build();
    run_jobs(&m);
    assert_int_equal(qnn.contextFree(m.context, NULL), QNN_SUCCESS);
}

static void graphs_are_built_on_many_threads(void **state) {
    (void)state;
    run_jobs(NULL);
}

static int set_up(void **state) {
    *state = open_library(&qnn);
    assert_int_equal(qnn.backendCreate(NULL, NULL, &backend), QNN_SUCCESS);
    return 0;
}

static int tear_down(void **state) {
    assert_int_equal(qnn.backendFree(backend), QNN_SUCCESS);
    dlclose(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_graph_runs_on_many_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(graphs_are_built_on_many_threads, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
