// SPDX-License-Identifier: MIT
//
// What waits for the engine while a test holds it: signals end the wait, the queue fills up, and
// profiles measure it.
#include "engine_client.h"
#include "profile_record.h"

#include <stdatomic.h>

static void htp_can_02_can_03_signals_end_a_graph_that_waits(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    chain c;
    chain_build(&w.qnn, w.context, "c", NULL, 1, 64, 3, &c);
    HTP_OK(w.qnn.graphFinalize(c.graph, NULL, NULL));
    uint8_t x[64], y[64] = {0};
    chain_fill(x, 64, 1);
    runner r = {&w, &c, x, y, NULL, NULL, 0, 0};
    qrn_htp_turn mine = {.priority = 500};
    assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);

    r.signal = signal_of(&w, (QnnSignal_Config_t){.option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT,
                                                  .timeoutDurationUs = 3000});
    run_once(&r); // the engine is ours: it can only time out
    HTP_FAILS(r.result, QNN_GRAPH_ERROR_TIMED_OUT);
    HTP_OK(w.qnn.signalFree(r.signal));

    QnnSignal_Config_t abort = {.option = QNN_SIGNAL_CONFIG_OPTION_ABORT};
    r.signal = signal_of(&w, abort);
    HTP_FAILS(w.qnn.signalTrigger(r.signal), QNN_SIGNAL_ERROR_SIGNAL_IDLE);
    assert_int_equal(pthread_create(&r.thread, NULL, run_once, &r), 0);
    wait_for_line(1);
    runner second = r;
    run_once(&second);
    HTP_FAILS(second.result, QNN_GRAPH_ERROR_SIGNAL_IN_USE);
    const QnnSignal_Config_t *configs[] = {&abort, NULL};
    HTP_FAILS(w.qnn.signalSetConfig(r.signal, configs), QNN_SIGNAL_ERROR_SIGNAL_IN_USE);
    HTP_FAILS(w.qnn.signalFree(r.signal), QNN_SIGNAL_ERROR_SIGNAL_IN_USE);
    HTP_OK(w.qnn.signalTrigger(r.signal));
    pthread_join(r.thread, NULL);
    HTP_FAILS(r.result, QNN_GRAPH_ERROR_ABORTED);
    assert_int_equal(qrn_htp_engine_waiting(), 0);
    HTP_OK(w.qnn.signalFree(r.signal));

    qrn_htp_engine_give(&mine);
    r.signal = NULL;
    run_once(&r); // the graph is as good as before
    HTP_OK(r.result);
    chain_check(&c, x, y, 64);
    htp_end(&w);
}

static void a_queue_holds_its_depth_beside_the_run_that_waits(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    Qnn_ErrorHandle_t code;
    Qnn_ContextHandle_t context = context_of_depth(&w, 2, &code);
    HTP_OK(code);
    chain c;
    chain_build(&w.qnn, context, "c", NULL, 1, 64, 2, &c);
    HTP_OK(w.qnn.graphFinalize(c.graph, NULL, NULL));
    uint8_t x[64], y[4][64] = {{0}};
    chain_fill(x, 64, 3);
    inbox box = {0};
    letter letters[4];
    Qnn_Tensor_t outputs[4]; // of the client until the notification
    qrn_htp_turn mine = {.priority = 500};
    assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);
    htp_buffer(&c.x, x, 64);
    for (int i = 0; i < 4; i++) {
        letters[i] = (letter){&box, i};
        outputs[i] = c.y;
        htp_buffer(&outputs[i], y[i], 64);
        code = w.qnn.graphExecuteAsync(c.graph, &c.x, 1, &outputs[i], 1, NULL, NULL, notified,
                                       &letters[i]);
        if (i < 3)
            HTP_OK(code);
        else
            HTP_FAILS(code, QNN_GRAPH_ERROR_EXECUTION_ASYNC_FIFO_FULL);
        if (i == 0)
            wait_for_line(1); // it is off the queue and waits for the engine
    }
    Qnn_SignalHandle_t s =
        signal_of(&w, (QnnSignal_Config_t){.option = QNN_SIGNAL_CONFIG_OPTION_ABORT});
    HTP_FAILS(
        w.qnn.graphExecuteAsync(c.graph, &c.x, 1, &outputs[3], 1, NULL, s, notified, &letters[3]),
        QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE);
    HTP_OK(w.qnn.signalFree(s));
    assert_int_equal(box.n, 0);
    qrn_htp_engine_give(&mine);
    for (int i = 0; i < 50000 && atomic_load(&box.n) < 3; i++)
        nap();
    assert_int_equal(box.n, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(box.order[i], i);
        HTP_OK(box.error[i]);
        chain_check(&c, x, y[i], 64);
    }
    assert_int_equal(y[3][1], 0); // the refused one did not run
    HTP_OK(w.qnn.contextFree(context, NULL));
    htp_end(&w);
}

typedef struct late {
    Qnn_ErrorHandle_t result;
    pthread_t thread;
} late;

static void *execute_late(void *arg) {
    late *l = arg;
    l->result = m.w.qnn.graphExecute(m.c.graph, &m.c.x, 1, &m.c.y, 1, m.profile, NULL);
    return NULL;
}

static void waiting_for_the_engine_is_measured(void **state) {
    (void)state;
    begin(QNN_PROFILE_LEVEL_BASIC);
    finalize();
    qrn_htp_turn mine = {.priority = 500};
    assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);
    late l = {0};
    uint64_t start = now_us();
    assert_int_equal(pthread_create(&l.thread, NULL, execute_late, &l), 0);
    while (qrn_htp_engine_waiting() == 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    uint64_t waiting = now_us();
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    uint64_t held = now_us() - waiting;
    qrn_htp_engine_give(&mine);
    pthread_join(l.thread, NULL);
    uint64_t all = now_us() - start;
    HTP_OK(l.result);
    read_record(&m.w, m.profile, &m.r);
    check_record(&m.r, "basic");
    assert_true(value(&m.r, 3010) + 1 >= held);
    assert_true(value(&m.r, 3010) <= all);
    assert_true(value(&m.r, 3004) >= value(&m.r, 3010));
    assert_true(value(&m.r, 3012) <= all - held + 1);
    assert_int_equal(value(&m.r, 3009), 0);
    end();
}

static void done(void *flag, Qnn_NotifyStatus_t status) {
    HTP_OK(status.error);
    atomic_store((atomic_bool *)flag, true);
}

static void the_queue_is_measured(void **state) {
    (void)state;
    begin(QNN_PROFILE_LEVEL_BASIC);
    finalize();
    qrn_htp_turn mine = {.priority = 500};
    assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);
    atomic_bool first = false, second = false;
    Qnn_Tensor_t out[] = {m.c.y, m.c.y};
    HTP_OK(m.w.qnn.graphExecuteAsync(m.c.graph, &m.c.x, 1, &out[0], 1, NULL, NULL, done, &first));
    while (qrn_htp_engine_waiting() == 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    HTP_OK(m.w.qnn.graphExecuteAsync(m.c.graph, &m.c.x, 1, &out[1], 1, m.profile, NULL, done,
                                     &second));
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    qrn_htp_engine_give(&mine);
    while (!atomic_load(&second))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    read_record(&m.w, m.profile, &m.r);
    check_record(&m.r, "basic");
    assert_true(value(&m.r, 405) >= 3000);
    assert_int_equal(m.r.e[find(&m.r, 405)->parent].type, 400);
    end();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(htp_can_02_can_03_signals_end_a_graph_that_waits),
    cmocka_unit_test(a_queue_holds_its_depth_beside_the_run_that_waits),
    cmocka_unit_test(waiting_for_the_engine_is_measured),
    cmocka_unit_test(the_queue_is_measured),
};

PROFILE_MAIN(tests)
