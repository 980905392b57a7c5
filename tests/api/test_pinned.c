// SPDX-License-Identifier: MIT
//
// Objects that a call uses stay: who frees one in another thread waits for the call, and who does
// it from inside a callback of that call is refused.
#include "build.h"

#include <sched.h>
#include <semaphore.h>

// A backend whose execution goes on until it is let go.
static atomic_bool running, go;

static qrn_status run_until_let_go(qrn_api_graph *g, qrn_binding *io, const qrn_run_options *opt) {
    (void)g, (void)io, (void)opt;
    atomic_store(&running, true);
    while (!atomic_load(&go))
        sched_yield();
    return QRN_OK;
}

typedef struct task {
    Qnn_ErrorHandle_t (*make)(struct task *t);
    relu_graph *r;
    void *handle;
    atomic_bool begun, returned;
    Qnn_ErrorHandle_t code;
    pthread_t thread;
} task;

static void *work(void *arg) {
    task *t = arg;
    atomic_store(&t->begun, true);
    t->code = t->make(t);
    atomic_store(&t->returned, true);
    return NULL;
}

static void start(task *t) {
    assert_int_equal(pthread_create(&t->thread, NULL, work, t), 0);
    while (!atomic_load(&t->begun))
        sched_yield();
}

static Qnn_ErrorHandle_t execute(task *t) { return RUN(t->r, NULL, NULL); }
static Qnn_ErrorHandle_t free_context(task *t) { return QnnContext_free(t->handle, NULL); }
static Qnn_ErrorHandle_t free_memory(task *t) { return QnnMem_deRegister(&t->handle, 1); }
static Qnn_ErrorHandle_t free_log(task *t) { return QnnLog_free(t->handle); }
static Qnn_ErrorHandle_t finalize(task *t) { return QnnGraph_finalize(t->r->handle, NULL, NULL); }

static void begin_execution(task *t, relu_graph *r) {
    fault_backend.graph_execute = run_until_let_go;
    atomic_store(&running, false);
    atomic_store(&go, false);
    *t = (task){.make = execute, .r = r};
    start(t);
    while (!atomic_load(&running))
        sched_yield();
}

// The call `t` is started beside an execution, and returns `code` after it.
static void comes_after_the_execution(relu_graph *r, task *t, Qnn_ErrorHandle_t code) {
    task execution;
    begin_execution(&execution, r);
    start(t);
    for (int i = 0; i < 2000; i++) { // time enough for a call that does not wait
        sched_yield();
        assert_false(atomic_load(&t->returned));
    }
    assert_false(atomic_load(&execution.returned));
    atomic_store(&go, true);
    pthread_join(t->thread, NULL);
    assert_int_equal(QNN_GET_ERROR_CODE(t->code), code);
    pthread_join(execution.thread, NULL);
    OK(execution.code);
    fault_reset();
}

static void freeing_a_context_waits_for_its_executions(void **state) {
    (void)state;
    relu_graph r;
    float x[4] = {0}, y[4];
    relu_finalized(&r, "r", 4);
    relu_bind(&r, x, y);
    task t = {.make = free_context, .handle = context};
    comes_after_the_execution(&r, &t, QNN_SUCCESS);
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_INVALID_HANDLE, RUN(&r, NULL, NULL));
    OK(QnnContext_create(backend, NULL, NULL, &context)); // for the teardown
}

static void a_graph_is_not_changed_during_its_executions(void **state) {
    (void)state;
    relu_graph r;
    float x[4] = {0}, y[4];
    relu_finalized(&r, "r", 4);
    relu_bind(&r, x, y);
    task t = {.make = finalize, .r = &r};
    comes_after_the_execution(&r, &t, QNN_GRAPH_ERROR_FINALIZE_FAILED); // finalized already
}

static Qnn_MemHandle_t register_floats(uint32_t *dims) {
    Qnn_MemDescriptor_t d = QNN_MEM_DESCRIPTOR_INIT;
    d.memShape.numDim = 1;
    d.memShape.dimSize = dims;
    d.dataType = QNN_DATATYPE_FLOAT_32;
    d.memType = QNN_MEM_TYPE_ION;
    d.ionInfo.fd = 100;
    Qnn_MemHandle_t h = NULL;
    OK(QnnMem_register(context, &d, 1, &h));
    return h;
}

static void bind_memory(relu_graph *r, float *x, float *y, Qnn_MemHandle_t h) {
    relu_bind(r, x, y);
    r->x.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    r->x.v1.memHandle = h;
}

static void deregistering_memory_waits_for_the_executions_that_use_it(void **state) {
    (void)state;
    relu_graph r;
    float x[4] = {0}, y[4];
    relu_finalized(&r, "r", 4);
    task t = {.make = free_memory, .handle = register_floats(r.dims)};
    bind_memory(&r, x, y, t.handle);
    comes_after_the_execution(&r, &t, QNN_SUCCESS);
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_INVALID_TENSOR, RUN(&r, NULL, NULL));
}

// Runs on the thread of the execution, as a callback would.
static relu_graph *current;
static qrn_status free_from_inside(qrn_api_graph *g, qrn_binding *io, const qrn_run_options *opt) {
    (void)g, (void)io, (void)opt;
    PAIR("QnnContext_free", QNN_CONTEXT_ERROR_INVALID_ARGUMENT, QnnContext_free(context, NULL));
    PAIR("QnnBackend_free", QNN_BACKEND_ERROR_TERMINATE_FAILED, QnnBackend_free(backend));
    PAIR("QnnMem_deRegister", QNN_MEM_ERROR_INVALID_ARGUMENT,
         QnnMem_deRegister(&current->x.v1.memHandle, 1));
    assert_int_not_equal(QnnGraph_finalize(current->handle, NULL, NULL), QNN_SUCCESS);
    Qnn_GraphHandle_t found;
    OK(QnnGraph_retrieve(context, "r", &found)); // what nobody has alone can be used
    return QRN_OK;
}

static void a_callback_is_refused_what_its_own_call_uses(void **state) {
    (void)state;
    relu_graph r;
    float x[4] = {0}, y[4];
    relu_finalized(&r, "r", 4);
    Qnn_MemHandle_t h = register_floats(r.dims);
    bind_memory(&r, x, y, h);
    current = &r;
    fault_backend.graph_execute = free_from_inside;
    OK(RUN(&r, NULL, NULL));
    fault_reset();
    OK(RUN(&r, NULL, NULL)); // nothing has changed
    OK(QnnMem_deRegister(&h, 1));
}

static sem_t told;
static void free_in_notification(void *param, Qnn_NotifyStatus_t status) {
    (void)param;
    OK(status.error);
    PAIR("QnnContext_free", QNN_CONTEXT_ERROR_INVALID_ARGUMENT, QnnContext_free(context, NULL));
    sem_post(&told);
}

static void a_notification_does_not_free_its_context(void **state) {
    (void)state;
    relu_graph r;
    float x[4] = {0}, y[4];
    relu_finalized(&r, "r", 4);
    relu_bind(&r, x, y);
    sem_init(&told, 0, 0);
    OK(QnnGraph_executeAsync(r.handle, &r.x, 1, &r.y, 1, NULL, NULL, free_in_notification, NULL));
    sem_wait(&told);
    sem_destroy(&told);
}

static Qnn_LogHandle_t own;
static atomic_int n_lines;
static void hear_until_let_go(const char *fmt, QnnLog_Level_t level, uint64_t time_ns,
                              va_list args) {
    (void)fmt, (void)level, (void)time_ns, (void)args;
    atomic_fetch_add(&n_lines, 1);
    atomic_store(&running, true);
    while (!atomic_load(&go))
        sched_yield();
}

static Qnn_ErrorHandle_t write_a_line(task *t) {
    return QnnLog_setLogLevel(t->handle, (QnnLog_Level_t)77);
}

static void freeing_a_log_waits_for_its_callback(void **state) {
    (void)state;
    atomic_store(&running, false);
    atomic_store(&go, false);
    atomic_store(&n_lines, 0);
    OK(QnnLog_create(hear_until_let_go, QNN_LOG_LEVEL_ERROR, &own));
    task line = {.make = write_a_line, .handle = own}, end = {.make = free_log, .handle = own};
    start(&line);
    while (!atomic_load(&running))
        sched_yield();
    start(&end);
    for (int i = 0; i < 2000; i++) {
        sched_yield();
        assert_false(atomic_load(&end.returned));
    }
    atomic_store(&go, true);
    pthread_join(line.thread, NULL);
    pthread_join(end.thread, NULL);
    OK(end.code);
    assert_int_equal(atomic_load(&n_lines), 1);
}

static void free_own_log(const char *fmt, QnnLog_Level_t level, uint64_t time_ns, va_list args) {
    (void)fmt, (void)level, (void)time_ns, (void)args;
    atomic_fetch_add(&n_lines, 1);
    OK(QnnLog_free(own));
}

static void a_log_may_be_freed_by_its_own_callback(void **state) {
    (void)state;
    Qnn_BackendHandle_t b;
    atomic_store(&n_lines, 0);
    OK(QnnLog_create(free_own_log, QNN_LOG_LEVEL_ERROR, &own));
    OK(QnnBackend_create(own, NULL, &b));
    for (int i = 0; i < 2; i++) // the second line has nowhere to go
        assert_int_not_equal(QnnBackend_setConfig(b, NULL), QNN_SUCCESS);
    assert_int_equal(atomic_load(&n_lines), 1);
    OK(QnnBackend_free(b));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, build_setup, build_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(freeing_a_context_waits_for_its_executions),
        TEST(a_graph_is_not_changed_during_its_executions),
        TEST(deregistering_memory_waits_for_the_executions_that_use_it),
        TEST(a_callback_is_refused_what_its_own_call_uses),
        TEST(a_notification_does_not_free_its_context),
        TEST(freeing_a_log_waits_for_its_callback),
        TEST(a_log_may_be_freed_by_its_own_callback),
    };
    return cmocka_run_group_tests_name("pinned", tests, NULL, NULL);
}
