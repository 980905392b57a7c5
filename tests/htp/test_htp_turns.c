// SPDX-License-Identifier: MIT
//
// Graphs that take turns on the accelerator, as their profiles show it: who gives way to whom, and
// who runs beside whom.
#include "chain_runner.h"

#include <sched.h>
#include <stdatomic.h>

// --- yielding

static uint64_t event_value(const htp_world *w, const QnnProfile_EventId_t *ids, uint32_t n,
                            uint32_t type, uint64_t *sum_below, uint32_t *n_below) {
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_EventData_t e;
        HTP_OK(w->qnn.profileGetEventData(ids[i], &e));
        if (e.type != type)
            continue;
        const QnnProfile_EventId_t *sub = NULL;
        HTP_OK(w->qnn.profileGetSubEvents(ids[i], &sub, n_below));
        for (uint32_t k = 0; k < *n_below; k++) {
            QnnProfile_EventData_t below;
            HTP_OK(w->qnn.profileGetEventData(sub[k], &below));
            assert_int_equal(below.type, 3006 + k % 3);
            assert_int_equal(below.unit, QNN_PROFILE_EVENTUNIT_MICROSEC);
            *sum_below += below.value;
        }
        return e.value;
    }
    fail_msg("no event %u", type);
    return 0;
}

typedef struct background {
    runner run;
    atomic_bool stop;
    atomic_int n_runs;
} background;

// Runs the long graph until it has yielded, or somebody is tired of it; its profile stays that of
// the run that yielded.
static void *run_until_it_yields(void *arg) {
    background *b = arg;
    while (!atomic_load(&b->stop)) {
        run_once(&b->run);
        atomic_fetch_add(&b->n_runs, 1);
        if (b->run.result != QNN_SUCCESS)
            break;
        const QnnProfile_EventId_t *ids = NULL;
        uint32_t n = 0, n_below = 0;
        uint64_t sum = 0;
        HTP_OK(b->run.w->qnn.profileGetEvents(b->run.profile, &ids, &n));
        if (event_value(b->run.w, ids, n, 3009, &sum, &n_below) > 0)
            break;
    }
    atomic_store(&b->stop, true);
    return NULL;
}

// A graph of many steps that runs in the background, and a short one that comes again and again.
typedef struct pair {
    chain slow, fast;
    uint8_t *x, *y, fx[64], fy[64];
} pair;

static void pair_build(const htp_world *w, Qnn_ContextHandle_t fast_context, Qnn_Priority_t slow,
                       Qnn_Priority_t fast, pair *p) {
    QnnGraph_Config_t a = chain_priority(slow), b = chain_priority(fast);
    const QnnGraph_Config_t *as[] = {&a, NULL}, *bs[] = {&b, NULL};
    chain_build(&w->qnn, w->context, "slow", as, 64, 1024, 60, &p->slow);
    chain_build(&w->qnn, fast_context, "fast", bs, 1, 64, 2, &p->fast);
    HTP_OK(w->qnn.graphFinalize(p->slow.graph, NULL, NULL));
    HTP_OK(w->qnn.graphFinalize(p->fast.graph, NULL, NULL));
    uint32_t n = chain_bytes(&p->slow);
    p->x = malloc(n);
    p->y = calloc(1, n);
    assert_true(p->x && p->y);
    chain_fill(p->x, n, 5);
    chain_fill(p->fx, 64, 6);
}

static void pair_free(pair *p) {
    free(p->x);
    free(p->y);
}

enum { UNTIL = 100000, A_WHILE = 20 };

// Runs both until the slow one has yielded, at most so many times the slow one; the profile is that
// of its last run.
static bool slow_yields(htp_world *w, pair *p, int most, Qnn_ProfileHandle_t profile) {
    background b = {.run = {w, &p->slow, p->x, p->y, NULL, profile, 0, 0}};
    runner r = {w, &p->fast, p->fx, p->fy, NULL, NULL, 0, 0};
    assert_int_equal(pthread_create(&b.run.thread, NULL, run_until_it_yields, &b), 0);
    while (atomic_load(&b.n_runs) < most && !atomic_load(&b.stop)) {
        run_once(&r);
        HTP_OK(r.result);
    }
    bool yielded = atomic_exchange(&b.stop, true);
    pthread_join(b.run.thread, NULL);
    HTP_OK(b.run.result);
    chain_check(&p->slow, p->x, p->y, chain_bytes(&p->slow));
    chain_check(&p->fast, p->fx, p->fy, 64);
    return yielded;
}

static void htp_yld_01_yld_02_yld_09_a_low_graph_yields_to_a_high_one(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    pair p;
    Qnn_ProfileHandle_t profile = NULL;
    pair_build(&w, w.context, QNN_PRIORITY_LOW, QNN_PRIORITY_HIGH, &p);
    HTP_OK(w.qnn.profileCreate(w.backend, QNN_PROFILE_LEVEL_BASIC, &profile));
    assert_true(slow_yields(&w, &p, UNTIL, profile));
    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n_events = 0, n_below = 0, none = 0;
    uint64_t parts = 0, unused = 0;
    HTP_OK(w.qnn.profileGetEvents(profile, &ids, &n_events));
    uint64_t yields = event_value(&w, ids, n_events, 3009, &parts, &n_below);
    assert_true(yields > 0);
    assert_int_equal(n_below, 3 * (yields < 64 ? yields : 64));
    uint64_t all = event_value(&w, ids, n_events, 3004, &unused, &none);
    uint64_t working = event_value(&w, ids, n_events, 3012, &unused, &none);
    assert_true(parts + working <= all + 1); // each is cut to whole microseconds
    HTP_OK(w.qnn.profileFree(profile));
    pair_free(&p);
    htp_end(&w);
}

static void htp_yld_01_equal_and_lower_priorities_wait(void **state) {
    (void)state;
    static const Qnn_Priority_t fast[] = {QNN_PRIORITY_NORMAL, QNN_PRIORITY_LOW};
    for (int i = 0; i < 2; i++) {
        htp_world w = htp_begin(43);
        pair p;
        Qnn_ProfileHandle_t profile = NULL;
        pair_build(&w, w.context, QNN_PRIORITY_NORMAL, fast[i], &p);
        HTP_OK(w.qnn.profileCreate(w.backend, QNN_PROFILE_LEVEL_BASIC, &profile));
        assert_false(slow_yields(&w, &p, A_WHILE, profile));
        HTP_OK(w.qnn.profileFree(profile));
        pair_free(&p);
        htp_end(&w);
    }
}

// Priorities are set when a graph is made, by setConfig of the graph, and by that of its context
// for all its graphs; each counts from the next run on.
static void htp_pri_02_pri_03_pri_04_priorities_are_set_by_graph_and_context(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    Qnn_ContextHandle_t other = NULL;
    Qnn_ProfileHandle_t profile = NULL;
    pair p;
    HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &other));
    pair_build(&w, other, QNN_PRIORITY_DEFAULT, QNN_PRIORITY_LOW, &p);
    HTP_OK(w.qnn.profileCreate(w.backend, QNN_PROFILE_LEVEL_BASIC, &profile));
    assert_false(slow_yields(&w, &p, A_WHILE, profile));
    QnnGraph_Config_t high = chain_priority(QNN_PRIORITY_NORMAL_HIGH),
                      low = chain_priority(QNN_PRIORITY_LOW);
    const QnnGraph_Config_t *highs[] = {&high, NULL}, *lows[] = {&low, NULL};
    HTP_OK(w.qnn.graphSetConfig(p.fast.graph, highs));
    assert_true(slow_yields(&w, &p, UNTIL, profile));
    HTP_OK(w.qnn.graphSetConfig(p.fast.graph, lows));
    assert_false(slow_yields(&w, &p, A_WHILE, profile));
    QnnContext_Config_t all = {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY,
                               .priority = QNN_PRIORITY_CRITICAL_PLUS}; // allowed by default
    const QnnContext_Config_t *every[] = {&all, NULL};
    HTP_OK(w.qnn.contextSetConfig(other, every));
    assert_true(slow_yields(&w, &p, UNTIL, profile));
    HTP_OK(w.qnn.profileFree(profile));
    HTP_OK(w.qnn.contextFree(other, NULL));
    pair_free(&p);
    htp_end(&w);
}

// --- beside each other

typedef struct span {
    uint64_t begin, end; // ticks
} span;

// From the first start of an op to the last end, by the op trace (docs/profiling.md).
static span span_of(const htp_world *w, Qnn_ProfileHandle_t p) {
    const QnnProfile_EventId_t *ids = NULL, *sub = NULL;
    uint32_t n = 0, n_sub = 0;
    span s = {UINT64_MAX, 0};
    HTP_OK(w->qnn.profileGetEvents(p, &ids, &n));
    for (uint32_t i = 0; i < n; i++) {
        HTP_OK(w->qnn.profileGetSubEvents(ids[i], &sub, &n_sub));
        for (uint32_t k = 0; k < n_sub; k++) {
            QnnProfile_ExtendedEventData_t d = QNN_PROFILE_EXTENDED_EVENT_DATA_INIT;
            HTP_OK(w->qnn.profileGetExtendedEventData(sub[k], &d));
            if (d.v1.type != QNN_PROFILE_EVENTTYPE_TRACE)
                continue;
            const char *at = d.v1.backendOpaqueObject.opaqueObject.data;
            at += 8 + 4 + 5 + 8; // magic, version, one-letter name, clock
            uint32_t n_ops;
            memcpy(&n_ops, at, 4);
            at += 4;
            for (uint32_t op = 0; op < n_ops; op++, at += 4 + 4 + 4 * 8) {
                uint64_t tick[2];
                memcpy(tick, at + 8, sizeof tick);
                s.begin = tick[0] < s.begin ? tick[0] : s.begin;
                s.end = tick[1] > s.end ? tick[1] : s.end;
            }
        }
    }
    assert_true(s.begin < s.end);
    return s;
}

#define RUNS 200u

typedef struct traced {
    runner run;
    span spans[RUNS];
    uint32_t n;
    atomic_uint *ready;
} traced;

static void *run_traced(void *arg) {
    traced *t = arg;
    atomic_fetch_add(t->ready, 1);
    while (atomic_load(t->ready) < 2)
        sched_yield();
    for (t->n = 0; t->n < RUNS && t->run.result == QNN_SUCCESS; t->n++) {
        run_once(&t->run);
        if (t->run.result == QNN_SUCCESS)
            t->spans[t->n] = span_of(t->run.w, t->run.profile);
    }
    return NULL;
}

static QnnHtpGraph_CustomConfig_t parallel(uint32_t size_mb, uint32_t offset_mb) {
    return (QnnHtpGraph_CustomConfig_t){
        .option = QNN_HTP_GRAPH_CONFIG_OPTION_PARALLEL_GRAPH_EXECUTION_CONFIG,
        .parallelGraphExecutionConfig = {.concurrency = QNN_HTP_GRAPH_CONCURRENCY_OPTION_ALL_SHARED,
                                         .vtcmConfig = {.sizeInBytes = size_mb << 20,
                                                        .offsetInBytes = offset_mb << 20,
                                                        .sizeTotalInBytes = 7u << 20}}};
}

// Runs two graphs of one priority in two threads; did any two runs overlap in time?
static bool run_together(const QnnHtpGraph_CustomConfig_t *a, const QnnHtpGraph_CustomConfig_t *b) {
    static uint8_t x[4096], y[2][4096];
    static traced t[2];
    htp_world w = htp_begin(87); // v81, 8 MB
    const QnnHtpGraph_CustomConfig_t *custom[] = {a, b};
    chain c[2];
    atomic_uint ready = 0;
    QnnProfile_Config_t on = {.option = QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE,
                              .enableOptrace = 1};
    const QnnProfile_Config_t *trace[] = {&on, NULL};
    chain_fill(x, sizeof x, 1);
    for (int i = 0; i < 2; i++) {
        QnnGraph_Config_t config = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM,
                                    .customConfig = (void *)custom[i]};
        const QnnGraph_Config_t *configs[] = {&config, NULL};
        chain_build(&w.qnn, w.context, i ? "b" : "a", custom[i] ? configs : NULL, 4, 1024, 20,
                    &c[i]);
        HTP_OK(w.qnn.graphFinalize(c[i].graph, NULL, NULL));
        t[i] = (traced){.run = {&w, &c[i], x, y[i], NULL, NULL, 0, 0}, .ready = &ready};
        HTP_OK(w.qnn.profileCreate(w.backend, QNN_PROFILE_LEVEL_DETAILED, &t[i].run.profile));
        HTP_OK(w.qnn.profileSetConfig(t[i].run.profile, trace));
        assert_int_equal(pthread_create(&t[i].run.thread, NULL, run_traced, &t[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(t[i].run.thread, NULL);
        HTP_OK(t[i].run.result);
        chain_check(&c[i], x, y[i], sizeof x);
        HTP_OK(w.qnn.profileFree(t[i].run.profile));
    }
    bool together = false;
    for (uint32_t i = 0; i < RUNS; i++)
        for (uint32_t k = 0; k < RUNS; k++)
            together |=
                t[0].spans[i].begin < t[1].spans[k].end && t[1].spans[k].begin < t[0].spans[i].end;
    htp_end(&w);
    return together;
}

static void htp_yld_04_two_graphs_never_run_together(void **state) {
    (void)state;
    QnnHtpGraph_CustomConfig_t first = parallel(3, 0), overlapping = parallel(4, 2);
    assert_false(run_together(NULL, NULL));
    assert_false(run_together(&first, NULL));
    assert_false(run_together(&first, &overlapping));
}

static void htp_pge_01_pge_03_graphs_that_part_the_vtcm_run_together(void **state) {
    (void)state;
    QnnHtpGraph_CustomConfig_t first = parallel(3, 0), second = parallel(4, 3);
    bool together = false;
    for (int i = 0; i < 100 && !together; i++) // by chance: both threads must get a CPU
        together = run_together(&first, &second);
    assert_true(together);
}

// Four threads, two graphs each of other priority: results stay right and nothing hangs.
typedef struct crowd {
    runner run;
    int n;
} crowd;

static void *run_often(void *arg) {
    crowd *k = arg;
    for (int i = 0; i < k->n && k->run.result == QNN_SUCCESS; i++) {
        memset(k->run.y, 0, chain_bytes(k->run.c));
        run_once(&k->run);
        if (k->run.result == QNN_SUCCESS)
            chain_check(k->run.c, k->run.x, k->run.y, chain_bytes(k->run.c));
    }
    return NULL;
}

static void graphs_of_all_priorities_share_the_engine(void **state) {
    (void)state;
    htp_world w = htp_begin(43);
    static const Qnn_Priority_t priorities[] = {QNN_PRIORITY_LOW, QNN_PRIORITY_NORMAL,
                                                QNN_PRIORITY_NORMAL, QNN_PRIORITY_HIGH};
    static uint8_t x[4][4096], y[4][4096];
    chain c[4];
    crowd k[4];
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "g%d", i);
        QnnGraph_Config_t config = chain_priority(priorities[i]);
        const QnnGraph_Config_t *configs[] = {&config, NULL};
        chain_build(&w.qnn, w.context, name, configs, 4, 1024, 10, &c[i]);
        HTP_OK(w.qnn.graphFinalize(c[i].graph, NULL, NULL));
        chain_fill(x[i], 4096, (uint32_t)i);
        k[i] = (crowd){.run = {&w, &c[i], x[i], y[i], NULL, NULL, 0, 0}, .n = 40};
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&k[i].run.thread, NULL, run_often, &k[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(k[i].run.thread, NULL);
        HTP_OK(k[i].run.result);
    }
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_yld_01_yld_02_yld_09_a_low_graph_yields_to_a_high_one),
        cmocka_unit_test(htp_yld_01_equal_and_lower_priorities_wait),
        cmocka_unit_test(htp_pri_02_pri_03_pri_04_priorities_are_set_by_graph_and_context),
        cmocka_unit_test(htp_yld_04_two_graphs_never_run_together),
        cmocka_unit_test(htp_pge_01_pge_03_graphs_that_part_the_vtcm_run_together),
        cmocka_unit_test(graphs_of_all_priorities_share_the_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
