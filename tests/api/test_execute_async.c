// SPDX-License-Identifier: MIT
//
// Executing: signals that end a call, and the queue of executeAsync.
#include "build.h"

#include "core/signal.h"

#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

static const QnnSignal_Config_t at_once = {.option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT,
                                           .timeoutDurationUs = 0};
static const QnnSignal_Config_t on_demand = {.option = QNN_SIGNAL_CONFIG_OPTION_ABORT};

// A backend that runs until its signal ends it.
static atomic_bool running;
static qrn_status run_until_told(qrn_api_graph *g, qrn_binding *io, const qrn_run_options *opt) {
    (void)g, (void)io;
    atomic_store(&running, true);
    for (;;) {
        QRN_TRY(opt->poll(opt->poll_ctx));
        usleep(100);
    }
}

typedef struct background {
    relu_graph *r;
    Qnn_SignalHandle_t signal;
    Qnn_ErrorHandle_t code;
} background;

static void *execute_in_background(void *arg) {
    background *b = arg;
    b->code = RUN(b->r, NULL, b->signal);
    return NULL;
}

static void signals_end_executions(void **state) {
    (void)state;
    relu_graph r;
    relu_finalized(&r, "r", 4);
    float x[4] = {0}, y[4];
    relu_bind(&r, x, y);
    Qnn_SignalHandle_t s = make_signal(at_once);
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_TIMED_OUT, RUN(&r, NULL, s));
    OK(QnnSignal_free(s));
    s = make_signal(on_demand);
    OK(RUN(&r, NULL, s)); // nobody triggers it
    fault_backend.graph_execute = run_until_told;
    atomic_store(&running, false);
    background b = {&r, s, 0};
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, execute_in_background, &b), 0);
    while (!atomic_load(&running))
        usleep(100);
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_SIGNAL_IN_USE, RUN(&r, NULL, s));
    PAIR("QnnGraph_executeAsync", QNN_GRAPH_ERROR_SIGNAL_IN_USE,
         QnnGraph_executeAsync(r.handle, &r.x, 1, &r.y, 1, NULL, s, NULL, NULL));
    OK(QnnSignal_trigger(s));
    pthread_join(t, NULL);
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_ABORTED, b.code);
    fault_reset();
    OK(RUN(&r, NULL, s)); // the graph works on
    OK(QnnSignal_free(s));
}

typedef struct done {
    sem_t *sem;
    int order, *counter;
    Qnn_ErrorHandle_t code;
} done;

static void notify(void *param, Qnn_NotifyStatus_t status) {
    done *d = param;
    d->order = (*d->counter)++;
    d->code = status.error;
    sem_post(d->sem);
}

static void asynchronous_calls_finish_in_order(void **state) {
    (void)state;
    enum { N = 40 }; // more than the queue holds
    relu_graph r;
    relu_finalized(&r, "r", 4);
    sem_t sem;
    sem_init(&sem, 0, 0);
    int counter = 0;
    static done d[N];
    static float x[N][4], y[N][4];
    static Qnn_Tensor_t in[N], out[N];
    for (int i = 0; i < N; i++) {
        d[i] = (done){&sem, -1, &counter, 99};
        for (int k = 0; k < 4; k++)
            x[i][k] = (float)(i - 20 * k);
        relu_bind(&r, x[i], y[i]);
        in[i] = r.x;
        out[i] = r.y;
        OK(QnnGraph_executeAsync(r.handle, &in[i], 1, &out[i], 1, NULL, NULL, notify, &d[i]));
    }
    for (int i = 0; i < N; i++)
        sem_wait(&sem);
    for (int i = 0; i < N; i++) {
        assert_int_equal(d[i].code, QNN_SUCCESS);
        assert_int_equal(d[i].order, i);
        for (int k = 0; k < 4; k++)
            assert_true(y[i][k] == (x[i][k] > 0 ? x[i][k] : 0));
    }
    sem_destroy(&sem);
}

// What goes wrong after the call has returned arrives with the notification.
static Qnn_ErrorHandle_t async_code(relu_graph *r, Qnn_ProfileHandle_t p, Qnn_SignalHandle_t s) {
    sem_t sem;
    sem_init(&sem, 0, 0);
    int counter = 0;
    done d = {&sem, -1, &counter, 99};
    OK(QnnGraph_executeAsync(r->handle, &r->x, 1, &r->y, 1, p, s, notify, &d));
    sem_wait(&sem);
    sem_destroy(&sem);
    return d.code;
}

static void asynchronous_failures_are_notified(void **state) {
    (void)state;
    relu_graph r;
    relu_finalized(&r, "r", 4);
    float x[4] = {-1, 0, 1, 2}, y[4] = {0};
    relu_bind(&r, x, y);
    assert_int_equal(async_code(&r, NULL, NULL), QNN_SUCCESS);
    static const struct {
        qrn_status status;
        Qnn_ErrorHandle_t code;
    } rows[] = {{QRN_E_EARLY, QNN_GRAPH_ERROR_EARLY_TERMINATION},
                {QRN_E_COMM, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION},
                {QRN_E_COMM_FATAL, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL}};
    for (size_t i = 0; i < N_OF(rows); i++) {
        fault_status[FAULT_GRAPH_EXECUTE] = rows[i].status;
        PAIR("QnnGraph_executeAsync", rows[i].code, async_code(&r, NULL, NULL));
    }
    fault_reset();
    Qnn_SignalHandle_t s = make_signal(at_once);
    PAIR("QnnGraph_executeAsync", QNN_GRAPH_ERROR_TIMED_OUT, async_code(&r, NULL, s));
    OK(QnnSignal_free(s));
    s = make_signal(on_demand);
    fault_backend.graph_execute = run_until_told;
    atomic_store(&running, false);
    sem_t sem;
    sem_init(&sem, 0, 0);
    int counter = 0;
    done d = {&sem, -1, &counter, 99};
    OK(QnnGraph_executeAsync(r.handle, &r.x, 1, &r.y, 1, NULL, s, notify, &d));
    while (!atomic_load(&running))
        usleep(100);
    OK(QnnSignal_trigger(s));
    sem_wait(&sem);
    sem_destroy(&sem);
    PAIR("QnnGraph_executeAsync", QNN_GRAPH_ERROR_ABORTED, d.code);
    fault_reset();
    OK(QnnSignal_free(s));
#define ASYNC(code, in, n, p)                                                                      \
    PAIR("QnnGraph_executeAsync", code,                                                            \
         QnnGraph_executeAsync(r.handle, in, n, &r.y, 1, p, NULL, notify, NULL))
    ASYNC(QNN_GRAPH_ERROR_INVALID_ARGUMENT, NULL, 1, NULL);
    ASYNC(QNN_GRAPH_ERROR_INVALID_ARGUMENT, &r.x, 1, context); // no profile
    ASYNC(QNN_GRAPH_ERROR_INVALID_TENSOR, &r.x, 0, NULL);
    fault_backend.features &= ~(uint32_t)QRN_FEATURE_ASYNC;
    ASYNC(QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE, &r.x, 1, NULL);
    ASYNC(QNN_GRAPH_ERROR_INVALID_TENSOR, &r.x, 0, NULL); // what is wrong comes first
}

static void asynchronous_profiles_tell_the_wait(void **state) {
    (void)state;
    relu_graph r;
    relu_finalized(&r, "r", 4);
    float x[4] = {0}, y[4];
    relu_bind(&r, x, y);
    Qnn_ProfileHandle_t p;
    OK(QnnProfile_create(backend, QNN_PROFILE_LEVEL_BASIC, &p));
    assert_int_equal(async_code(&r, p, NULL), QNN_SUCCESS);
    const QnnProfile_EventId_t *top = NULL, *sub = NULL;
    uint32_t n = 0, n_sub = 0;
    OK(QnnProfile_getEvents(p, &top, &n));
    assert_int_equal(n, 1);
    OK(QnnProfile_getSubEvents(top[0], &sub, &n_sub));
    assert_int_equal(n_sub, 1);
    QnnProfile_EventData_t data;
    OK(QnnProfile_getEventData(sub[0], &data));
    assert_int_equal(data.type, QNN_PROFILE_EVENTTYPE_EXECUTE_QUEUE_WAIT);
    OK(QnnProfile_free(p));
}

static void a_profile_stays_until_queued_calls_have_filled_it(void **state) {
    (void)state;
    relu_graph r;
    relu_finalized(&r, "r", 4);
    float x[4] = {0}, y[4];
    relu_bind(&r, x, y);
    Qnn_ProfileHandle_t p;
    OK(QnnProfile_create(backend, QNN_PROFILE_LEVEL_BASIC, &p));
    Qnn_SignalHandle_t s = make_signal(on_demand);
    fault_backend.graph_execute = run_until_told;
    atomic_store(&running, false);
    sem_t sem;
    sem_init(&sem, 0, 0);
    int counter = 0;
    done d[2] = {{&sem, -1, &counter, 99}, {&sem, -1, &counter, 99}};
    OK(QnnGraph_executeAsync(r.handle, &r.x, 1, &r.y, 1, NULL, s, notify, &d[0]));
    while (!atomic_load(&running))
        usleep(100);
    OK(QnnGraph_executeAsync(r.handle, &r.x, 1, &r.y, 1, p, NULL, notify, &d[1]));
    PAIR("QnnProfile_free", QNN_PROFILE_ERROR_HANDLE_IN_USE, QnnProfile_free(p));
    fault_reset(); // for the second one
    OK(QnnSignal_trigger(s));
    sem_wait(&sem);
    sem_wait(&sem);
    sem_destroy(&sem);
    OK(QnnProfile_free(p));
    OK(QnnSignal_free(s));
}

static void freeing_a_context_waits_for_its_queue(void **state) {
    (void)state;
    enum { N = 10 };
    relu_graph r;
    relu_finalized(&r, "r", 4);
    sem_t sem;
    sem_init(&sem, 0, 0);
    int counter = 0;
    static done d[N];
    float x[4] = {0}, y[4];
    relu_bind(&r, x, y);
    for (int i = 0; i < N; i++) {
        d[i] = (done){&sem, -1, &counter, 99};
        OK(QnnGraph_executeAsync(r.handle, &r.x, 1, &r.y, 1, NULL, NULL, notify, &d[i]));
    }
    OK(QnnContext_free(context, NULL));
    context = NULL;
    assert_int_equal(counter, N);
    sem_destroy(&sem);
}

static Qnn_ErrorHandle_t freed_inside;
static sem_t inside;
static void free_inside(void *param, Qnn_NotifyStatus_t status) {
    (void)param, (void)status;
    freed_inside = QnnContext_free(context, NULL);
    sem_post(&inside);
}

static void a_notification_cannot_free_its_own_context(void **state) {
    (void)state;
    relu_graph r;
    relu_finalized(&r, "r", 4);
    float x[4] = {0}, y[4];
    relu_bind(&r, x, y);
    sem_init(&inside, 0, 0);
    OK(QnnGraph_executeAsync(r.handle, &r.x, 1, &r.y, 1, NULL, NULL, free_inside, NULL));
    sem_wait(&inside);
    PAIR("QnnContext_free", QNN_CONTEXT_ERROR_INVALID_ARGUMENT, freed_inside);
    OK(RUN(&r, NULL, NULL));
    sem_destroy(&inside);
}

// Neither ThreadSanitizer nor qemu-user can start threads after a fork.
#if !defined(__SANITIZE_THREAD__) && !defined(QUERN_EMULATED)
// The queue's thread stays in the parent: the child starts one when it needs it, and frees the
// context without waiting for the lost one.
static void a_forked_child_starts_a_queue_of_its_own(void **state) {
    (void)state;
    relu_graph r;
    relu_finalized(&r, "r", 4);
    float x[4] = {0}, y[4];
    relu_bind(&r, x, y);
    sem_t sem;
    sem_init(&sem, 0, 0);
    int counter = 0;
    done d = {.sem = &sem, .counter = &counter};
    OK(QnnGraph_executeAsync(r.handle, &r.x, 1, &r.y, 1, NULL, NULL, notify, &d));
    sem_wait(&sem);
    for (int uses = 0; uses < 2; uses++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(60); // a queue that nobody serves would be waited for
            for (int i = 0; i < uses; i++) {
                if (QnnGraph_executeAsync(r.handle, &r.x, 1, &r.y, 1, NULL, NULL, notify, &d))
                    _exit(1);
                sem_wait(&sem);
            }
            _exit(QnnContext_free(context, NULL) == QNN_SUCCESS && counter == 1 + uses ? 0 : 2);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    OK(QnnGraph_executeAsync(r.handle, &r.x, 1, &r.y, 1, NULL, NULL, notify, &d)); // the parent's
    sem_wait(&sem);
    assert_int_equal(counter, 2);
    sem_destroy(&sem);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, build_setup, build_teardown)
        T(signals_end_executions),
        T(asynchronous_calls_finish_in_order),
        T(asynchronous_failures_are_notified),
        T(asynchronous_profiles_tell_the_wait),
        T(a_profile_stays_until_queued_calls_have_filled_it),
        T(freeing_a_context_waits_for_its_queue),
        T(a_notification_cannot_free_its_own_context),
#if !defined(__SANITIZE_THREAD__) && !defined(QUERN_EMULATED)
        T(a_forked_child_starts_a_queue_of_its_own),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
