// SPDX-License-Identifier: MIT
//
// Signal component: abort and timeout, one call at once, triggering waits for the call.
#include "core/signal.h"
#include "fault_backend.h"
#include "pairs.h"

#include <sched.h>
#include <time.h>

#define LIMIT_US 60000000 // for what never takes so long

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static Qnn_BackendHandle_t backend;
static QnnSignal_Config_t abort_option = {.option = QNN_SIGNAL_CONFIG_OPTION_ABORT};
static const QnnSignal_Config_t *abort_list[] = {&abort_option, NULL};

static int setup(void **state) {
    (void)state;
    fault_reset();
    return QnnBackend_create(NULL, NULL, &backend) != QNN_SUCCESS;
}

static int teardown(void **state) {
    (void)state;
    fault_reset();
    return QnnBackend_free(backend) != QNN_SUCCESS;
}

static qrn_api_signal *object(Qnn_SignalHandle_t h) {
    QRN_API_CALL;
    qrn_api_signal *s = NULL;
    assert_int_equal(qrn_signal_get(h, qrn_handle_get(QRN_KIND_BACKEND, backend), &s), QRN_OK);
    return s;
}

typedef struct call {
    qrn_api_signal *signal;
    atomic_bool begun;
    atomic_bool returned;
    atomic_bool trigger_returned;
    bool waited_for; // triggering had not returned before the call did
    qrn_status result;
} call;

// Stands for a long graph execution.
static void *work(void *arg) {
    call *c = arg;
    c->result = qrn_signal_begin(c->signal);
    atomic_store(&c->begun, true);
    uint64_t start = now_us();
    while (c->result == QRN_OK && now_us() - start < LIMIT_US) {
        sched_yield();
        c->result = qrn_signal_poll(c->signal);
    }
    c->waited_for = true;
    for (unsigned i = 0; i < 1000; i++) { // time enough for a trigger that does not wait
        sched_yield();
        c->waited_for &= !atomic_load(&c->trigger_returned);
    }
    atomic_store(&c->returned, true);
    qrn_signal_end(c->signal);
    return NULL;
}

static void start(pthread_t *t, call *c) {
    assert_int_equal(pthread_create(t, NULL, work, c), 0);
    while (!atomic_load(&c->begun))
        sched_yield();
}

static void triggering_aborts_the_call_and_waits_for_it(void **state) {
    (void)state;
    Qnn_SignalHandle_t h;
    OK(QnnSignal_create(backend, abort_list, &h));
    PAIR("QnnSignal_trigger", QNN_SIGNAL_ERROR_SIGNAL_IDLE, QnnSignal_trigger(h));
    for (unsigned round = 0; round < 3; round++) { // a signal can be used again
        call c = {.signal = object(h)};
        pthread_t t;
        start(&t, &c);
        PAIR("QnnSignal_free", QNN_SIGNAL_ERROR_SIGNAL_IN_USE, QnnSignal_free(h));
        PAIR("QnnSignal_setConfig", QNN_SIGNAL_ERROR_SIGNAL_IN_USE,
             QnnSignal_setConfig(h, abort_list));
        assert_int_equal(qrn_signal_begin(c.signal), QRN_E_IN_USE);
        OK(QnnSignal_trigger(h));
        atomic_store(&c.trigger_returned, true);
        assert_true(atomic_load(&c.returned));
        pthread_join(t, NULL);
        assert_true(c.waited_for);
        assert_int_equal(c.result, QRN_E_ABORTED);
    }
    PAIR("QnnSignal_trigger", QNN_SIGNAL_ERROR_SIGNAL_IDLE, QnnSignal_trigger(h));
    OK(QnnSignal_free(h));
}

static void a_call_may_trigger_its_own_signal(void **state) {
    (void)state;
    Qnn_SignalHandle_t h;
    OK(QnnSignal_create(backend, abort_list, &h));
    qrn_api_signal *s = object(h);
    assert_int_equal(qrn_signal_begin(s), QRN_OK);
    assert_int_equal(qrn_signal_poll(s), QRN_OK);
    OK(QnnSignal_trigger(h)); // does not wait for itself
    assert_int_equal(qrn_signal_poll(s), QRN_E_ABORTED);
    qrn_signal_end(s);
    assert_int_equal(qrn_signal_begin(s), QRN_OK); // the next call starts afresh
    assert_int_equal(qrn_signal_poll(s), QRN_OK);
    qrn_signal_end(s);
    OK(QnnSignal_free(h));
}

static void a_timeout_counts_from_the_begin_of_the_call(void **state) {
    (void)state;
    QnnSignal_Config_t option = {.option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT,
                                 .timeoutDurationUs = 1};
    const QnnSignal_Config_t *list[] = {&option, &option, NULL};
    Qnn_SignalHandle_t h;
    OK(QnnSignal_create(backend, list, &h));
    option.timeoutDurationUs = 20000;
    OK(QnnSignal_setConfig(h, list));
    qrn_api_signal *s = object(h);
    uint64_t set = now_us();
    while (now_us() - set < 20000) // more than the timeout, before the call
        sched_yield();
    for (unsigned round = 0; round < 2; round++) {
        uint64_t begun = now_us();
        assert_int_equal(qrn_signal_begin(s), QRN_OK);
        while (qrn_signal_poll(s) == QRN_OK)
            assert_true(now_us() - begun < LIMIT_US);
        assert_true(now_us() - begun >= 20000);
        assert_int_equal(qrn_signal_poll(s), QRN_E_TIMED_OUT);
        PAIR("QnnSignal_trigger", QNN_SIGNAL_ERROR_INCOMPATIBLE_SIGNAL_TYPE, QnnSignal_trigger(h));
        qrn_signal_end(s);
    }
    option.timeoutDurationUs = UINT64_MAX; // practically never, and no overflow
    OK(QnnSignal_setConfig(h, list));
    assert_int_equal(qrn_signal_begin(s), QRN_OK);
    assert_int_equal(qrn_signal_poll(s), QRN_OK);
    qrn_signal_end(s);
    OK(QnnSignal_setConfig(h, abort_list)); // becomes an abort signal
    assert_int_equal(qrn_signal_begin(s), QRN_OK);
    OK(QnnSignal_trigger(h));
    qrn_signal_end(s);
    OK(QnnSignal_free(h));
}

static void a_signal_without_options_does_nothing(void **state) {
    (void)state;
    Qnn_SignalHandle_t h;
    OK(QnnSignal_create(backend, NULL, &h));
    qrn_api_signal *s = object(h);
    assert_int_equal(qrn_signal_begin(s), QRN_OK);
    PAIR("QnnSignal_trigger", QNN_SIGNAL_ERROR_INCOMPATIBLE_SIGNAL_TYPE, QnnSignal_trigger(h));
    assert_int_equal(qrn_signal_poll(s), QRN_OK);
    qrn_signal_end(s);
    assert_int_equal(qrn_signal_begin(NULL), QRN_OK);
    assert_int_equal(qrn_signal_poll(NULL), QRN_OK);
    qrn_signal_end(NULL);
    OK(QnnSignal_free(h));
}

static void look_up(Qnn_SignalHandle_t h, Qnn_BackendHandle_t other) {
    QRN_API_CALL;
    qrn_api_signal *s = (void *)7;
    qrn_api_backend *b = qrn_handle_get(QRN_KIND_BACKEND, backend);
    assert_int_equal(qrn_signal_get(NULL, b, &s), QRN_OK);
    assert_null(s);
    assert_int_equal(qrn_signal_get(h, b, &s), QRN_E_HANDLE);
    assert_int_equal(qrn_signal_get(&s, b, &s), QRN_E_HANDLE);
    assert_int_equal(qrn_signal_get(h, qrn_handle_get(QRN_KIND_BACKEND, other), &s), QRN_OK);
    assert_non_null(s);
    fault_backend.features = 0;
    assert_int_equal(qrn_signal_get(h, qrn_handle_get(QRN_KIND_BACKEND, other), &s),
                     QRN_E_UNSUPPORTED);
}

static void calls_look_their_signal_up(void **state) {
    (void)state;
    Qnn_BackendHandle_t other;
    Qnn_SignalHandle_t h;
    OK(QnnBackend_create(NULL, NULL, &other));
    OK(QnnSignal_create(other, NULL, &h));
    look_up(h, other);
    OK(QnnBackend_free(other));
}

static void documented_errors(void **state) {
    (void)state;
    QnnSignal_Config_t timeout = {.option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT},
                       custom = {.option = QNN_SIGNAL_CONFIG_OPTION_CUSTOM},
                       unknown = QNN_SIGNAL_CONFIG_INIT;
    const QnnSignal_Config_t *both[] = {&abort_option, &timeout, NULL}, *none[] = {NULL},
                             *own[] = {&custom, NULL}, *bad[] = {&unknown, NULL};
    Qnn_SignalHandle_t h = (void *)7;
    PAIR("QnnSignal_create", QNN_SIGNAL_ERROR_INVALID_HANDLE, QnnSignal_create(NULL, NULL, &h));
    PAIR("QnnSignal_create", QNN_SIGNAL_ERROR_INVALID_ARGUMENT,
         QnnSignal_create(backend, NULL, NULL));
    PAIR("QnnSignal_create", QNN_SIGNAL_ERROR_INVALID_ARGUMENT,
         QnnSignal_create(backend, both, &h));
    PAIR("QnnSignal_create", QNN_SIGNAL_ERROR_INVALID_ARGUMENT, QnnSignal_create(backend, bad, &h));
    PAIR("QnnSignal_create", QNN_SIGNAL_ERROR_UNSUPPORTED, QnnSignal_create(backend, own, &h));
    fault_backend.features = 0;
    PAIR("QnnSignal_create", QNN_SIGNAL_ERROR_UNSUPPORTED, QnnSignal_create(backend, NULL, &h));
    assert_ptr_equal(h, (void *)7);
    fault_reset();
    PAIR_MEM("QnnSignal_create", QNN_COMMON_ERROR_MEM_ALLOC, QnnSignal_create(backend, none, &h));

    OK(QnnSignal_setConfig(h, none));
    PAIR("QnnSignal_setConfig", QNN_SIGNAL_ERROR_INVALID_ARGUMENT, QnnSignal_setConfig(h, NULL));
    PAIR("QnnSignal_setConfig", QNN_SIGNAL_ERROR_INVALID_ARGUMENT, QnnSignal_setConfig(h, both));
    PAIR("QnnSignal_setConfig", QNN_SIGNAL_ERROR_UNSUPPORTED, QnnSignal_setConfig(h, own));
    PAIR("QnnSignal_setConfig", QNN_SIGNAL_ERROR_INVALID_HANDLE,
         QnnSignal_setConfig(backend, abort_list));
    PAIR("QnnSignal_trigger", QNN_SIGNAL_ERROR_INVALID_HANDLE, QnnSignal_trigger(backend));
    PAIR("QnnSignal_free", QNN_SIGNAL_ERROR_INVALID_HANDLE, QnnSignal_free(NULL));
    fault_backend.features = 0;
    PAIR("QnnSignal_setConfig", QNN_SIGNAL_ERROR_UNSUPPORTED, QnnSignal_setConfig(h, abort_list));
    PAIR("QnnSignal_trigger", QNN_SIGNAL_ERROR_UNSUPPORTED, QnnSignal_trigger(h));
    PAIR("QnnSignal_free", QNN_SIGNAL_ERROR_UNSUPPORTED, QnnSignal_free(h));
    fault_reset();
    OK(QnnSignal_free(h));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(triggering_aborts_the_call_and_waits_for_it),
        TEST(a_call_may_trigger_its_own_signal),
        TEST(a_timeout_counts_from_the_begin_of_the_call),
        TEST(a_signal_without_options_does_nothing),
        TEST(calls_look_their_signal_up),
        TEST(documented_errors),
    };
    return cmocka_run_group_tests_name("signal", tests, NULL, NULL);
}
