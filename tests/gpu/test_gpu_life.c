// SPDX-License-Identifier: MIT
//
// Many contexts, one after the other and side by side: nothing grows, nothing mixes. The argument
// is the number of rounds (1000).
#include "cl_shim.h"
#include "gpu_client.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>

static unsigned n_rounds = 1000;

static void one_round(gpu_world *w, bool profile) {
    gpu_graph g;
    float out[GPU_N];
    Qnn_ProfileHandle_t p = NULL;
    GPU_OK(w->qnn.contextCreate(w->backend, NULL, NULL, &w->context));
    gpu_graph_make(w, &g, "g", NULL);
    if (profile)
        GPU_OK(w->qnn.profileCreate(w->backend, QNN_PROFILE_LEVEL_DETAILED, &p));
    GPU_OK(gpu_graph_try(w, &g, 1, out, p));
    gpu_graph_check(w, &g, 2);
    if (p)
        GPU_OK(w->qnn.profileFree(p));
    GPU_OK(w->qnn.contextFree(w->context, NULL));
    w->context = NULL;
}

static void rounds_of_create_execute_free_leave_nothing(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    GPU_OK(w.qnn.logSetLogLevel(w.log, QNN_LOG_LEVEL_ERROR));
    GPU_OK(w.qnn.contextFree(w.context, NULL));
    w.context = NULL;
    one_round(&w, true); // programs and tables are there after it
    shim_begin(0);
    size_t live = qrn_alloc_live();
    for (unsigned i = 0; i < n_rounds; i++) {
        one_round(&w, i % 2);
        assert_int_equal(shim_live, 0);
        assert_int_equal(qrn_alloc_live(), live);
    }
    shim_end();
    gpu_end(&w);
}

// --- threads

typedef struct worker {
    const gpu_world *shared; // its backend
    pthread_barrier_t *start;
    unsigned n_rounds;
    atomic_bool *good;
} worker;

// Asserts are the main thread's: a worker notes what it saw.
static void *work(void *arg) {
    const worker *k = arg;
    gpu_world w = *k->shared;
    pthread_barrier_wait(k->start);
    for (unsigned round = 0; round < k->n_rounds; round++) {
        uint32_t dims[] = {GPU_N};
        Qnn_GraphHandle_t g;
        bool ok = w.qnn.contextCreate(w.backend, NULL, NULL, &w.context) == QNN_SUCCESS &&
                  w.qnn.graphCreate(w.context, "g", NULL, &g) == QNN_SUCCESS;
        Qnn_Tensor_t x = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 1, dims);
        Qnn_Tensor_t y = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 1, dims);
        ok = ok && w.qnn.tensorCreateGraphTensor(g, &x) == QNN_SUCCESS &&
             w.qnn.tensorCreateGraphTensor(g, &y) == QNN_SUCCESS &&
             w.qnn.graphAddNode(g, op_config("neg", QNN_OP_PACKAGE_NAME_QTI_AISW, "ElementWiseNeg",
                                             &x, 1, &y, 1)) == QNN_SUCCESS &&
             w.qnn.graphFinalize(g, NULL, NULL) == QNN_SUCCESS;
        for (unsigned run = 0; ok && run < 4; run++) {
            float in[GPU_N], out[GPU_N];
            for (uint32_t i = 0; i < GPU_N; i++)
                in[i] = (float)(i + 10 * run + 100 * round);
            set_buffer(&x, in, sizeof in);
            set_buffer(&y, out, sizeof out);
            ok = w.qnn.graphExecute(g, &x, 1, &y, 1, NULL, NULL) == QNN_SUCCESS;
            for (uint32_t i = 0; ok && i < GPU_N; i++)
                ok = out[i] == -in[i];
        }
        if (!ok || w.qnn.contextFree(w.context, NULL) != QNN_SUCCESS)
            atomic_store(k->good, false);
    }
    return NULL;
}

static void eight_threads_have_eight_contexts(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    GPU_OK(w.qnn.logSetLogLevel(w.log, QNN_LOG_LEVEL_ERROR));
    pthread_barrier_t start;
    pthread_t threads[8];
    atomic_bool good = true;
    worker k = {&w, &start, n_rounds / 100 + 1, &good};
    pthread_barrier_init(&start, NULL, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &k), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
    assert_true(good);
    gpu_end(&w);
}

// Graphs of one context, from several threads.
typedef struct same {
    const gpu_world *w;
    gpu_graph *g;
    pthread_barrier_t *start;
    atomic_bool *good;
    float scale;
} same;

static void *run_same(void *arg) {
    const same *s = arg;
    pthread_barrier_wait(s->start);
    for (int run = 0; run < 20; run++) {
        float out[GPU_N];
        bool ok = gpu_graph_try(s->w, s->g, s->scale, out, NULL) == QNN_SUCCESS;
        for (uint32_t i = 0; ok && i < GPU_N; i++) {
            float sum = (float)i * s->scale + (float)i - 2.0f;
            ok = out[i] == (sum > 0 ? sum : 0);
        }
        if (!ok)
            atomic_store(s->good, false);
    }
    return NULL;
}

static void ctx_06_graphs_of_one_context_run_from_many_threads(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph g[2];
    GPU_OK(w.qnn.logSetLogLevel(w.log, QNN_LOG_LEVEL_ERROR));
    gpu_graph_make(&w, &g[0], "a", NULL);
    gpu_graph_make(&w, &g[1], "b", NULL);
    pthread_barrier_t start;
    pthread_t threads[4];
    same args[4];
    atomic_bool good = true;
    pthread_barrier_init(&start, NULL, 4);
    for (int i = 0; i < 4; i++) {
        args[i] = (same){&w, &g[i % 2], &start, &good, (float)(i + 1) * 0.5f};
        assert_int_equal(pthread_create(&threads[i], NULL, run_same, &args[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
    assert_true(good);
    gpu_end(&w);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        SHIM_TEST(rounds_of_create_execute_free_leave_nothing),
        SHIM_TEST(eight_threads_have_eight_contexts),
        SHIM_TEST(ctx_06_graphs_of_one_context_run_from_many_threads),
    };
    if (argc > 1)
        n_rounds = (unsigned)strtoul(argv[1], NULL, 10);
    return gpu_tests(tests);
}
