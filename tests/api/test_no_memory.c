// SPDX-License-Identifier: MIT
//
// A whole client session on the CPU backend, once for each of its allocations, which fails (alone,
// or with all that follow): the session ends with the documented code or is not disturbed, its
// results are right, and nothing is left behind.
#include "base/mem.h"

#include "QnnInterface.h"
#include "QnnOpDef.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { M = 3, K = 4 };

static QNN_INTERFACE_VER_TYPE api;

typedef struct session {
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device;
    Qnn_ContextHandle_t context;
    Qnn_ProfileHandle_t profile;
    Qnn_SignalHandle_t signal;
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, w, h, y;
} session;

static Qnn_Tensor_t describe(const char *name, Qnn_TensorType_t type, uint32_t *dims) {
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = QNN_DATATYPE_FLOAT_32;
    t.v1.rank = 2;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    return t;
}

static Qnn_OpConfig_t op(const char *type, Qnn_Tensor_t *in, uint32_t n_in, Qnn_Tensor_t *out) {
    Qnn_OpConfig_t c = QNN_OPCONFIG_INIT;
    c.v1.name = type;
    c.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    c.v1.typeName = type;
    c.v1.numOfInputs = n_in;
    c.v1.inputTensors = in;
    c.v1.numOfOutputs = 1;
    c.v1.outputTensors = out;
    return c;
}

#define STEP(call)                                                                                 \
    do {                                                                                           \
        Qnn_ErrorHandle_t e_ = (call);                                                             \
        if (e_ != QNN_SUCCESS)                                                                     \
            return e_;                                                                             \
    } while (0)

static Qnn_ErrorHandle_t open_all(session *s) {
    STEP(api.logCreate(NULL, QNN_LOG_LEVEL_ERROR, &s->log));
    // Failures are expected here; their lines are not wanted on the screen.
    STEP(api.backendCreate(NULL, NULL, &s->backend));
    STEP(api.deviceCreate(NULL, NULL, &s->device));
    STEP(api.contextCreate(s->backend, s->device, NULL, &s->context));
    STEP(api.profileCreate(s->backend, QNN_PROFILE_LEVEL_DETAILED, &s->profile));
    return api.signalCreate(s->backend, NULL, &s->signal);
}

// y = relu(x w)
static Qnn_ErrorHandle_t build(session *s) {
    static uint32_t x_dims[2] = {M, K}, w_dims[2] = {K, K};
    static float w[K * K];
    for (unsigned i = 0; i < K * K; i++)
        w[i] = i % (K + 1) ? 0 : (i % 2 ? -1.0f : 1.0f); // 1, -1, 1, -1 on the diagonal
    s->x = describe("x", QNN_TENSOR_TYPE_APP_WRITE, x_dims);
    s->w = describe("w", QNN_TENSOR_TYPE_STATIC, w_dims);
    s->w.v1.clientBuf = (Qnn_ClientBuffer_t){w, sizeof w};
    s->h = describe("h", QNN_TENSOR_TYPE_NATIVE, x_dims);
    s->y = describe("y", QNN_TENSOR_TYPE_APP_READ, x_dims);
    STEP(api.graphCreate(s->context, "g", NULL, &s->graph));
    STEP(api.tensorCreateGraphTensor(s->graph, &s->x));
    STEP(api.tensorCreateGraphTensor(s->graph, &s->w));
    STEP(api.tensorCreateGraphTensor(s->graph, &s->h));
    STEP(api.tensorCreateGraphTensor(s->graph, &s->y));
    Qnn_Tensor_t in[2] = {s->x, s->w};
    Qnn_OpConfig_t product = op(QNN_OP_MAT_MUL, in, 2, &s->h);
    STEP(api.backendValidateOpConfig(s->backend, product));
    STEP(api.graphAddNode(s->graph, product));
    STEP(api.graphAddNode(s->graph, op(QNN_OP_RELU, &s->h, 1, &s->y)));
    return api.graphFinalize(s->graph, s->profile, s->signal);
}

static Qnn_ErrorHandle_t run(session *s) {
    float x[M * K], y[M * K];
    for (unsigned i = 0; i < M * K; i++) {
        x[i] = (float)i - 5;
        y[i] = -99;
    }
    s->x.v1.clientBuf = (Qnn_ClientBuffer_t){x, sizeof x};
    s->y.v1.clientBuf = (Qnn_ClientBuffer_t){y, sizeof y};
    STEP(api.graphExecute(s->graph, &s->x, 1, &s->y, 1, s->profile, s->signal));
    for (unsigned i = 0; i < M * K; i++) {
        float want = i % 2 ? 5 - (float)i : (float)i - 5;
        assert_true(y[i] == (want > 0 ? want : 0));
    }
    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n = 0;
    return api.profileGetEvents(s->profile, &ids, &n);
}

static void close_all(session *s) {
    if (s->signal)
        assert_int_equal(api.signalFree(s->signal), QNN_SUCCESS);
    if (s->context)
        assert_int_equal(api.contextFree(s->context, NULL), QNN_SUCCESS);
    if (s->profile)
        assert_int_equal(api.profileFree(s->profile), QNN_SUCCESS);
    if (s->device)
        assert_int_equal(api.deviceFree(s->device), QNN_SUCCESS);
    if (s->backend)
        assert_int_equal(api.backendFree(s->backend), QNN_SUCCESS);
    if (s->log)
        assert_int_equal(api.logFree(s->log), QNN_SUCCESS);
}

// Returns whether the session went through.
static bool session_with_failure(unsigned n, bool forever) {
    session s = {0};
    size_t live = qrn_alloc_live();
    qrn_alloc_fail_at(n, forever);
    Qnn_ErrorHandle_t e = open_all(&s);
    if (e == QNN_SUCCESS)
        e = build(&s);
    if (e == QNN_SUCCESS)
        e = run(&s);
    qrn_alloc_fail_at(0, false);
    close_all(&s);
    if (qrn_alloc_live() != live)
        print_error("allocation %u: %zu blocks were left\n", n, qrn_alloc_live() - live);
    assert_int_equal(qrn_alloc_live(), live);
    if (e != QNN_SUCCESS && e != QNN_COMMON_ERROR_MEM_ALLOC)
        print_error("allocation %u: code %llu\n", n, (unsigned long long)e);
    assert_true(e == QNN_SUCCESS || e == QNN_COMMON_ERROR_MEM_ALLOC);
    return e == QNN_SUCCESS;
}

// Allocations whose failure is tolerated (a profile that stays empty) let a session through, so the
// end is found by a run of successes, not by the first one.
static void every_allocation_may_fail(bool forever) {
    unsigned failed = 0, n_in_a_row = 0;
    for (unsigned n = 1; n_in_a_row < 50 && n < 5000; n++) {
        bool through = session_with_failure(n, forever);
        failed += !through;
        n_in_a_row = through ? n_in_a_row + 1 : 0;
    }
    assert_int_equal(n_in_a_row, 50);
    assert_true(failed > 20);
}

static void one_failing_allocation_is_survived(void **state) {
    (void)state;
    every_allocation_may_fail(false);
}

static void memory_that_stays_short_is_survived(void **state) {
    (void)state;
    every_allocation_may_fail(true);
}

static int setup(void **state) {
    (void)state;
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    if (QnnInterface_getProviders(&list, &n) != QNN_SUCCESS)
        return 1;
    api = list[0]->QNN_INTERFACE_VER_NAME;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_failing_allocation_is_survived),
        cmocka_unit_test(memory_that_stays_short_is_survived),
    };
    return cmocka_run_group_tests_name("no memory", tests, setup, NULL);
}
