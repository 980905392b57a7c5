// SPDX-License-Identifier: MIT
//
// What the API lets several threads do at once: create backends, and work with contexts and graphs
// that are not shared, on backends that are. Also run under ThreadSanitizer.
#include "QnnInterface.h"
#include "QnnOpDef.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { N_THREADS = 4, N_ROUNDS = 8, N = 64 };

static QNN_INTERFACE_VER_TYPE api;
static Qnn_LogHandle_t shared_log;
static Qnn_BackendHandle_t shared_backend;
static atomic_uint n_lines;

static void count(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    (void)fmt, (void)level, (void)timestamp, (void)args;
    atomic_fetch_add(&n_lines, 1);
}

static int setup(void **state) {
    (void)state;
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    if (QnnInterface_getProviders(&list, &n) != QNN_SUCCESS)
        return 1;
    api = list[0]->QNN_INTERFACE_VER_NAME;
    return api.logCreate(count, QNN_LOG_LEVEL_ERROR, &shared_log) != QNN_SUCCESS ||
           api.backendCreate(shared_log, NULL, &shared_backend) != QNN_SUCCESS;
}

static int teardown(void **state) {
    (void)state;
    return api.backendFree(shared_backend) != QNN_SUCCESS || api.logFree(shared_log) != QNN_SUCCESS;
}

// Relu of N numbers in a context of its own; counts what goes wrong.
static unsigned run_context(Qnn_BackendHandle_t backend, float first) {
    static uint32_t dims[1] = {N};
    unsigned bad = 0;
    Qnn_ContextHandle_t c = NULL;
    Qnn_GraphHandle_t g = NULL;
    Qnn_ProfileHandle_t p = NULL;
    Qnn_Tensor_t t[2] = {QNN_TENSOR_INIT, QNN_TENSOR_INIT};
    bad += api.contextCreate(backend, NULL, NULL, &c) != QNN_SUCCESS;
    bad += api.profileCreate(backend, QNN_PROFILE_LEVEL_BASIC, &p) != QNN_SUCCESS;
    bad += api.graphCreate(c, "g", NULL, &g) != QNN_SUCCESS;
    for (unsigned i = 0; i < 2; i++) {
        t[i].v1.name = i ? "out" : "in";
        t[i].v1.type = i ? QNN_TENSOR_TYPE_APP_READ : QNN_TENSOR_TYPE_APP_WRITE;
        t[i].v1.dataType = QNN_DATATYPE_FLOAT_32;
        t[i].v1.rank = 1;
        t[i].v1.dimensions = dims;
        t[i].v1.memType = QNN_TENSORMEMTYPE_RAW;
        bad += api.tensorCreateGraphTensor(g, &t[i]) != QNN_SUCCESS;
    }
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = "relu";
    op.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    op.v1.typeName = QNN_OP_RELU;
    op.v1.numOfInputs = op.v1.numOfOutputs = 1;
    op.v1.inputTensors = &t[0];
    op.v1.outputTensors = &t[1];
    bad += api.graphAddNode(g, op) != QNN_SUCCESS;
    bad += api.graphFinalize(g, p, NULL) != QNN_SUCCESS;
    bad += api.graphFinalize(c, p, NULL) == QNN_SUCCESS; // a failure that logs
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        float x[N], y[N];
        for (unsigned i = 0; i < N; i++)
            x[i] = first + (float)i - 32;
        t[0].v1.clientBuf = (Qnn_ClientBuffer_t){x, sizeof x};
        t[1].v1.clientBuf = (Qnn_ClientBuffer_t){y, sizeof y};
        bad += api.graphExecute(g, &t[0], 1, &t[1], 1, p, NULL) != QNN_SUCCESS;
        for (unsigned i = 0; i < N; i++)
            bad += y[i] != (x[i] > 0 ? x[i] : 0);
    }
    bad += api.contextFree(c, p) != QNN_SUCCESS;
    bad += api.profileFree(p) != QNN_SUCCESS;
    return bad;
}

typedef struct job {
    bool own_backend;
    float first;
    unsigned bad;
} job;

static void *work(void *arg) {
    job *j = arg;
    for (unsigned round = 0; round < N_ROUNDS; round++) {
        Qnn_BackendHandle_t b = shared_backend;
        if (j->own_backend)
            j->bad += api.backendCreate(shared_log, NULL, &b) != QNN_SUCCESS;
        j->bad += run_context(b, j->first);
        const char *text = NULL;
        j->bad += api.errorGetVerboseMessage(QNN_GRAPH_ERROR_INVALID_HANDLE, &text) != QNN_SUCCESS;
        j->bad += api.errorFreeVerboseMessage(text) != QNN_SUCCESS;
        if (j->own_backend)
            j->bad += api.backendFree(b) != QNN_SUCCESS;
    }
    return NULL;
}

static void run_threads(bool own_backend) {
    pthread_t threads[N_THREADS];
    job jobs[N_THREADS];
    for (unsigned i = 0; i < N_THREADS; i++) {
        jobs[i] = (job){.own_backend = own_backend, .first = (float)i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(jobs[i].bad, 0);
    }
}

static void backends_of_several_threads_do_not_meet(void **state) {
    (void)state;
    run_threads(true);
}

static void contexts_of_one_backend_do_not_meet(void **state) {
    (void)state;
    atomic_store(&n_lines, 0);
    run_threads(false);
    // A graph handle that is none has no backend and no log, so nothing was written.
    assert_int_equal(atomic_load(&n_lines), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(backends_of_several_threads_do_not_meet),
        TEST(contexts_of_one_backend_do_not_meet),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
