// SPDX-License-Identifier: MIT
//
// The engine that graphs take by priority: by itself, and under graphs.
#include "engine_client.h"

#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

// --- the engine by itself

typedef struct walker {
    qrn_htp_turn turn;
    int *order;
    atomic_int *n;
    int name;
    pthread_t thread;
} walker;

static void *walk(void *arg) {
    walker *k = arg;
    assert_int_equal(qrn_htp_engine_take(&k->turn), QRN_OK);
    k->order[atomic_fetch_add(k->n, 1)] = k->name; // nobody else can: we hold the engine
    qrn_htp_engine_give(&k->turn);
    return NULL;
}

static void the_engine_serves_by_priority_then_by_arrival(void **state) {
    (void)state;
    static const int priority[] = {100, 0, 200, 100, 200, 0};
    static const int expected[] = {2, 4, 0, 3, 1, 5};
    int order[6] = {0};
    atomic_int n = 0;
    walker k[6];
    qrn_htp_turn mine = {.priority = 500};
    assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);
    for (int i = 0; i < 6; i++) {
        k[i] = (walker){.turn = {.priority = priority[i]}, .order = order, .n = &n, .name = i};
        assert_int_equal(pthread_create(&k[i].thread, NULL, walk, &k[i]), 0);
        wait_for_line((uint32_t)i + 1);
    }
    assert_int_equal(n, 0);
    qrn_htp_engine_give(&mine);
    for (int i = 0; i < 6; i++)
        pthread_join(k[i].thread, NULL);
    for (int i = 0; i < 6; i++)
        assert_int_equal(order[i], expected[i]);
    assert_int_equal(qrn_htp_engine_waiting(), 0);
}

static void a_holder_is_wanted_by_higher_priorities_only(void **state) {
    (void)state;
    int order[2];
    atomic_int n = 0;
    qrn_htp_turn mine = {.priority = 100};
    assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);
    assert_false(qrn_htp_engine_wanted(&mine));
    walker equal = {.turn = {.priority = 100}, .order = order, .n = &n};
    walker high = {.turn = {.priority = 150}, .order = order, .n = &n, .name = 1};
    pthread_create(&equal.thread, NULL, walk, &equal);
    wait_for_line(1);
    assert_false(qrn_htp_engine_wanted(&mine));
    pthread_create(&high.thread, NULL, walk, &high);
    wait_for_line(2);
    assert_true(qrn_htp_engine_wanted(&mine));
    qrn_htp_engine_give(&mine);
    pthread_join(equal.thread, NULL);
    pthread_join(high.thread, NULL);
    assert_int_equal(order[0], 1);
}

// ThreadSanitizer does not follow a process with threads over a fork.
#ifndef __SANITIZE_THREAD__
static void a_forked_child_has_the_engine_for_itself(void **state) {
    (void)state;
    int order[1];
    atomic_int n = 0;
    qrn_htp_turn mine = {.priority = 100};
    assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);
    walker other = {.turn = {.priority = 500}, .order = order, .n = &n};
    pthread_create(&other.thread, NULL, walk, &other);
    wait_for_line(1);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20); // it would wait for ever otherwise
        qrn_htp_turn its = {.priority = 0};
        bool ok = qrn_htp_engine_waiting() == 0 && qrn_htp_engine_take(&its) == QRN_OK &&
                  !qrn_htp_engine_wanted(&its);
        qrn_htp_engine_give(&its);
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(qrn_htp_engine_waiting(), 1); // nothing changed here
    qrn_htp_engine_give(&mine);
    pthread_join(other.thread, NULL);
}
#endif

// HTP-PGE-03: an 8 MB chip, A has [0, 3), B has [3, 7) of 7 addressable MB.
static void htp_pge_03_two_graphs_that_part_the_vtcm_run_together(void **state) {
    (void)state;
    const uint64_t mb = 1024 * 1024;
    qrn_htp_turn a = {.priority = 100, .shares = true, .vtcm_end = 3 * mb};
    qrn_htp_turn b = {.priority = 100, .shares = true, .vtcm_from = 3 * mb, .vtcm_end = 7 * mb};
    assert_int_equal(qrn_htp_engine_take(&a), QRN_OK);
    assert_int_equal(qrn_htp_engine_take(&b), QRN_OK); // would hang otherwise
    assert_true(a.holds && b.holds);
    int order[3];
    atomic_int n = 0;
    // A third, one that overlaps, one of another priority: they wait.
    qrn_htp_engine_give(&b);
    walker overlaps = {
        .turn = {.priority = 100, .shares = true, .vtcm_from = 2 * mb, .vtcm_end = 4 * mb},
        .order = order,
        .n = &n};
    walker higher = {
        .turn = {.priority = 150, .shares = true, .vtcm_from = 3 * mb, .vtcm_end = 7 * mb},
        .order = order,
        .n = &n,
        .name = 1};
    pthread_create(&overlaps.thread, NULL, walk, &overlaps);
    wait_for_line(1);
    pthread_create(&higher.thread, NULL, walk, &higher);
    wait_for_line(2);
    assert_int_equal(n, 0);
    qrn_htp_engine_give(&a);
    pthread_join(overlaps.thread, NULL);
    pthread_join(higher.thread, NULL);
    assert_int_equal(order[0], 1);
}

// --- graphs on the engine

// The engine is held with [0, 3) MB of 7: a graph with [3, 7) runs beside it, another waits.
static void htp_pge_01_graphs_run_beside_each_other(void **state) {
    (void)state;
    const uint32_t mb = 1024 * 1024;
    htp_world w = htp_begin(87); // v81, 8 MB
    QnnHtpGraph_CustomConfig_t parallel = {
        .option = QNN_HTP_GRAPH_CONFIG_OPTION_PARALLEL_GRAPH_EXECUTION_CONFIG,
        .parallelGraphExecutionConfig = {.concurrency = QNN_HTP_GRAPH_CONCURRENCY_OPTION_ALL_SHARED,
                                         .vtcmConfig = {.sizeInBytes = 4 * mb,
                                                        .offsetInBytes = 3 * mb,
                                                        .sizeTotalInBytes = 7 * mb}}};
    QnnGraph_Config_t config = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM,
                                .customConfig = &parallel};
    const QnnGraph_Config_t *configs[] = {&config, NULL};
    chain beside, alone;
    chain_build(&w.qnn, w.context, "beside", configs, 1, 64, 3, &beside);
    chain_build(&w.qnn, w.context, "alone", NULL, 1, 64, 3, &alone);
    HTP_OK(w.qnn.graphFinalize(beside.graph, NULL, NULL));
    HTP_OK(w.qnn.graphFinalize(alone.graph, NULL, NULL));
    uint8_t x[64], y[64] = {0};
    chain_fill(x, 64, 1);
    Qnn_SignalHandle_t s =
        signal_of(&w, (QnnSignal_Config_t){.option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT,
                                           .timeoutDurationUs = 10000});
    qrn_htp_turn mine = {.priority = QNN_PRIORITY_DEFAULT, .shares = true, .vtcm_end = 3 * mb};
    assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);
    runner r = {&w, &alone, x, y, s, NULL, 0, 0};
    run_once(&r);
    HTP_FAILS(r.result, QNN_GRAPH_ERROR_TIMED_OUT);
    r.c = &beside;
    r.signal = NULL; // it would hang otherwise
    run_once(&r);
    HTP_OK(r.result);
    chain_check(&beside, x, y, 64);
    qrn_htp_engine_give(&mine);
    HTP_OK(w.qnn.signalFree(s));
    htp_end(&w);
}

// A priority that was changed by setConfig counts for the next run: the graph gets past one that
// came before it. The op traces tell when each began.
static uint64_t first_tick(const htp_world *w, Qnn_ProfileHandle_t p) {
    const QnnProfile_EventId_t *ids = NULL, *sub = NULL;
    uint32_t n = 0, n_sub = 0;
    HTP_OK(w->qnn.profileGetEvents(p, &ids, &n));
    for (uint32_t i = 0; i < n; i++) {
        HTP_OK(w->qnn.profileGetSubEvents(ids[i], &sub, &n_sub));
        for (uint32_t k = 0; k < n_sub; k++) {
            QnnProfile_ExtendedEventData_t d = QNN_PROFILE_EXTENDED_EVENT_DATA_INIT;
            HTP_OK(w->qnn.profileGetExtendedEventData(sub[k], &d));
            if (d.v1.type != QNN_PROFILE_EVENTTYPE_TRACE)
                continue;
            // magic, version, one-letter name, clock, number of ops, op id, thread
            const size_t at = 8 + 4 + 5 + 8 + 4 + 4 + 4;
            uint64_t tick;
            memcpy(&tick, (const char *)d.v1.backendOpaqueObject.opaqueObject.data + at, 8);
            return tick;
        }
    }
    fail_msg("no trace");
    return 0;
}

static void htp_pri_02_a_changed_priority_counts_for_the_next_run(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    chain c[2];
    runner r[2];
    uint8_t x[64], y[2][64];
    chain_fill(x, 64, 1);
    QnnGraph_Config_t low = chain_priority(QNN_PRIORITY_LOW),
                      high = chain_priority(QNN_PRIORITY_HIGH);
    const QnnGraph_Config_t *lows[] = {&low, NULL}, *highs[] = {&high, NULL};
    QnnProfile_Config_t on = {.option = QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE,
                              .enableOptrace = 1};
    const QnnProfile_Config_t *trace[] = {&on, NULL};
    for (int i = 0; i < 2; i++) {
        chain_build(&w.qnn, w.context, i ? "b" : "a", i ? lows : NULL, 1, 64, 3, &c[i]);
        HTP_OK(w.qnn.graphFinalize(c[i].graph, NULL, NULL));
        r[i] = (runner){&w, &c[i], x, y[i], NULL, NULL, 0, 0};
        HTP_OK(w.qnn.profileCreate(w.backend, QNN_PROFILE_LEVEL_DETAILED, &r[i].profile));
        HTP_OK(w.qnn.profileSetConfig(r[i].profile, trace));
    }
    for (int round = 0; round < 2; round++) {
        qrn_htp_turn mine = {.priority = 500};
        assert_int_equal(qrn_htp_engine_take(&mine), QRN_OK);
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(pthread_create(&r[i].thread, NULL, run_once, &r[i]), 0);
            wait_for_line(i + 1);
        }
        qrn_htp_engine_give(&mine);
        for (int i = 0; i < 2; i++) {
            pthread_join(r[i].thread, NULL);
            HTP_OK(r[i].result);
        }
        uint64_t a = first_tick(&w, r[0].profile), b = first_tick(&w, r[1].profile);
        assert_true(round == 0 ? a < b : b < a);
        HTP_OK(w.qnn.graphSetConfig(c[1].graph, highs));
    }
    for (int i = 0; i < 2; i++)
        HTP_OK(w.qnn.profileFree(r[i].profile));
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_engine_serves_by_priority_then_by_arrival),
        cmocka_unit_test(a_holder_is_wanted_by_higher_priorities_only),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(a_forked_child_has_the_engine_for_itself),
#endif
        cmocka_unit_test(htp_pge_03_two_graphs_that_part_the_vtcm_run_together),
        cmocka_unit_test(htp_pge_01_graphs_run_beside_each_other),
        cmocka_unit_test(htp_pri_02_a_changed_priority_counts_for_the_next_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
