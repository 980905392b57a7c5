// SPDX-License-Identifier: MIT
//
// The model of yielding and of sharing VTCM, against the published figures: who holds what when.
#include "backend/htp/device/sched.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { HIGH = 0xBB, MID = 0xC0, LOW = 0xC5 }; // thread priorities: larger is less urgent
enum { A, B, C };                             // clients
#define NOBODY 99u

static qrn_htp_sched_timeline timeline;

static void simulate(const qrn_htp_sched_chip *chip, const qrn_htp_sched_client *clients,
                     uint32_t n) {
    assert_int_equal(qrn_htp_sched_run(chip, clients, n, &timeline), QRN_OK);
}

// Does the client hold the accelerator from time t on? Its first MB of VTCM goes to *first.
static bool runs_at(uint32_t client, uint64_t t, uint32_t *first) {
    bool running = false;
    for (uint32_t i = 0; i < timeline.n_events && timeline.events[i].time <= t; i++) {
        const qrn_htp_sched_event *e = &timeline.events[i];
        if (e->client != client)
            continue;
        if (e->kind == QRN_HTP_SCHED_RUN) {
            running = true;
            *first = e->first_mb;
        } else if (e->kind == QRN_HTP_SCHED_YIELD || e->kind == QRN_HTP_SCHED_END) {
            running = false;
        }
    }
    return running;
}

// Who holds a MB of VTCM at time t.
static uint32_t holder(const qrn_htp_sched_client *clients, uint32_t n, uint64_t t, uint32_t mb) {
    uint32_t found = NOBODY, first;
    for (uint32_t i = 0; i < n; i++)
        if (runs_at(i, t, &first) && mb >= first && mb < first + clients[i].vtcm_mb) {
            assert_int_equal(found, NOBODY);
            found = i;
        }
    return found;
}

// The client runs in exactly these spans: begin, end, begin, end, ...
static void check_spans(uint32_t client, const uint64_t *spans, uint32_t n) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < timeline.n_events; i++) {
        const qrn_htp_sched_event *e = &timeline.events[i];
        if (e->client != client || e->kind == QRN_HTP_SCHED_WAIT || e->kind == QRN_HTP_SCHED_ASK)
            continue;
        assert_true(k < n);
        assert_int_equal(e->kind == QRN_HTP_SCHED_RUN, k % 2 == 0);
        assert_int_equal(e->time, spans[k++]);
    }
    assert_int_equal(k, n);
}
#define SPANS(client, ...)                                                                         \
    check_spans(client, (const uint64_t[]){__VA_ARGS__},                                           \
                sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static uint32_t count(uint32_t client, qrn_htp_sched_kind kind) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < timeline.n_events; i++)
        n += timeline.events[i].client == client && timeline.events[i].kind == kind;
    return n;
}

static const qrn_htp_sched_chip chip8 = {.vtcm_mb = 8, .n_hvx = 4, .shares = true};
static const qrn_htp_sched_chip chip4 = {.vtcm_mb = 4, .n_hvx = 2, .shares = true};
#define JOBS(...)                                                                                  \
    .jobs = (const qrn_htp_sched_job[]){__VA_ARGS__},                                              \
    .n_jobs = sizeof((const qrn_htp_sched_job[]){__VA_ARGS__}) / sizeof(qrn_htp_sched_job)

static void htp_yld_01_priority_queue(void **state) {
    (void)state;
    const qrn_htp_sched_client c[] = {
        {.priority = MID, .graph = true, .vtcm_mb = 8, .yield_every = 10, JOBS({0, 100})},
        {.priority = HIGH, .graph = true, .vtcm_mb = 8, JOBS({10, 20})},
        {.priority = LOW, .graph = true, .vtcm_mb = 8, JOBS({1, 10})},
        {.priority = MID, .graph = true, .vtcm_mb = 8, JOBS({2, 10})},
    };
    simulate(&chip8, c, 4);
    SPANS(0, 0, 10, 40, 130); // pre-empted by the urgent one; the equal one that waited goes first
    SPANS(1, 10, 30);
    SPANS(3, 30, 40);
    SPANS(2, 130, 140); // the least urgent one last, although it came early
}

static void htp_yld_02_pre_emption_is_cooperative(void **state) {
    (void)state;
    const qrn_htp_sched_client c[] = {
        {.priority = LOW, .graph = true, .vtcm_mb = 8, .yield_every = 25, JOBS({0, 60})},
        {.priority = HIGH, .graph = true, .vtcm_mb = 8, JOBS({1, 5})},
        {.priority = HIGH, .graph = true, .vtcm_mb = 8, JOBS({100, 5})},
        {.priority = LOW, .graph = true, .vtcm_mb = 8, JOBS({95, 30})}, // has no such points
    };
    simulate(&chip8, c, 4);
    SPANS(1, 25, 30); // not at 1
    SPANS(0, 0, 25, 30, 65);
    SPANS(3, 95, 125);
    SPANS(2, 125, 130);
}

static void htp_yld_03_priority_of_threads(void **state) {
    (void)state;
    static const struct {
        uint32_t priority, hmx, hvx;
    } rows[] = {{0, 0xC5, 0xC6},   {50, 0xC3, 0xC4},  {100, 0xC0, 0xC1}, {150, 0xBD, 0xBE},
                {200, 0xBB, 0xBC}, {300, 0xB6, 0xB7}, {400, 0xB1, 0xB2}, {500, 0xAC, 0xAD},
                {120, 0xC0, 0xC1}, {9999, 0xAC, 0xAD}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        qrn_htp_threads t = qrn_htp_thread_priority(rows[i].priority);
        assert_int_equal(t.hmx, rows[i].hmx);
        assert_int_equal(t.hvx, rows[i].hvx);
    }
    // A graph of priority HIGH (200) pre-empts one of NORMAL (100).
    const qrn_htp_sched_client c[] = {
        {.priority = qrn_htp_thread_priority(100).hmx,
         .graph = true,
         .vtcm_mb = 8,
         .yield_every = 10,
         JOBS({0, 20})},
        {.priority = qrn_htp_thread_priority(200).hmx, .graph = true, .vtcm_mb = 8, JOBS({5, 5})},
    };
    simulate(&chip8, c, 2);
    SPANS(1, 10, 15);
}

// Do a graph that runs from 0 to 10 and a client that comes at 1 run side by side?
static bool side_by_side(const qrn_htp_sched_chip *chip, qrn_htp_sched_client graph,
                         qrn_htp_sched_client other) {
    const qrn_htp_sched_job first = {0, 10}, second = {1, 10};
    graph.jobs = &first;
    other.jobs = &second;
    graph.n_jobs = other.n_jobs = 1;
    const qrn_htp_sched_client c[] = {graph, other};
    uint32_t mb;
    simulate(chip, c, 2);
    assert_true(runs_at(0, 0, &mb));
    return runs_at(1, 1, &mb);
}

static const qrn_htp_sched_client graph6 = {
    .priority = MID, .graph = true, .n_hvx = 1, .vtcm_mb = 6, .page_mb = 8};
static const qrn_htp_sched_client app2 = {.priority = MID, .n_hvx = 1, .vtcm_mb = 2, .page_mb = 1};

static void htp_yld_04_who_may_run_together(void **state) {
    (void)state;
    qrn_htp_sched_client app = app2, graph = graph6;
    qrn_htp_sched_chip old = chip8;
    assert_true(side_by_side(&chip8, graph, app));
    app.pd = 1; // not across process domains
    assert_false(side_by_side(&chip8, graph, app));
    app = app2;
    app.hmx = true; // one holds the HMX
    assert_false(side_by_side(&chip8, graph, app));
    assert_false(side_by_side(&chip8, app, graph)); // the graph waits, too
    app = app2;
    app.graph = true; // two graphs never
    app.vtcm_mb = 4;
    graph.vtcm_mb = 4;
    assert_false(side_by_side(&chip8, graph, app));
    app = app2;
    app.n_hvx = 4; // HVX units are shared, not multiplied
    assert_false(side_by_side(&chip8, graph6, app));
    old.shares = false; // not before v73
    assert_false(side_by_side(&old, graph6, app2));
}

static void htp_yld_05_base_higher(void **state) {
    (void)state;
    const qrn_htp_sched_client c[] = {
        {.priority = LOW, .graph = true, .vtcm_mb = 8, .yield_every = 30, JOBS({0, 50})},
        {.priority = HIGH, .graph = true, .vtcm_mb = 8, JOBS({10, 30})},
    };
    simulate(&chip8, c, 2);
    SPANS(A, 0, 30, 60, 80);
    SPANS(B, 30, 60);
    assert_int_equal(timeline.n_yields[A], 1);
    assert_int_equal(timeline.n_yields[B], 0);
}

static void htp_yld_06_complex(void **state) {
    (void)state;
    enum { APP, GRAPH1, GRAPH2 };
    const qrn_htp_sched_client c[] = {
        {.priority = MID, .vtcm_mb = 8, .yield_every = 30, JOBS({0, 60})},
        {.priority = HIGH, .graph = true, .vtcm_mb = 8, JOBS({20, 30})},
        {.priority = LOW, .graph = true, .vtcm_mb = 8, JOBS({10, 30})},
    };
    simulate(&chip8, c, 3);
    SPANS(APP, 0, 30, 60, 90);
    SPANS(GRAPH1, 30, 60);
    SPANS(GRAPH2, 90, 120);
}

// Each line: time, then who holds VTCM 0 to 3; only graphs hold the HMX.
typedef struct moment {
    uint64_t time;
    uint32_t vtcm[4];
} moment;

// Each moment holds until the next one.
static void check_moments(const qrn_htp_sched_client *c, uint32_t n, const moment *m,
                          size_t n_moments) {
    for (size_t i = 0; i < n_moments; i++) {
        uint64_t end = i + 1 < n_moments ? m[i + 1].time : m[i].time + 1;
        for (uint64_t t = m[i].time; t < end; t++)
            for (uint32_t mb = 0; mb < 4; mb++)
                assert_int_equal(holder(c, n, t, mb), m[i].vtcm[mb]);
    }
}

static void htp_yld_07_same_process_domain(void **state) {
    (void)state;
    enum { G1, APP, G2, NO = NOBODY };
    const qrn_htp_sched_client c[] = {
        {.priority = HIGH,
         .graph = true,
         .n_hvx = 1,
         .vtcm_mb = 3,
         .page_mb = 4,
         .yield_every = 10,
         JOBS({0, 30}, {40, 20})},
        {.priority = MID,
         .n_hvx = 1,
         .vtcm_mb = 1,
         .page_mb = 1,
         .yield_every = 10,
         JOBS({10, 50})},
        {.priority = LOW,
         .graph = true,
         .n_hvx = 1,
         .vtcm_mb = 2,
         .page_mb = 4,
         .yield_every = 20,
         JOBS({20, 40})},
    };
    static const moment figure[] = {
        {0, {NO, G1, G1, G1}},   {10, {APP, G1, G1, G1}}, {30, {APP, NO, G2, G2}},
        {50, {APP, G1, G1, G1}}, {60, {NO, G1, G1, G1}},  {70, {NO, NO, G2, G2}},
    };
    simulate(&chip4, c, 3);
    check_moments(c, 3, figure, sizeof figure / sizeof *figure);
    assert_int_equal(count(APP, QRN_HTP_SCHED_ASK), 0);
}

static void htp_yld_08_two_process_domains(void **state) {
    (void)state;
    enum { G1, APP, G2, NO = NOBODY };
    const qrn_htp_sched_client c[] = {
        {.pd = 1,
         .priority = HIGH,
         .graph = true,
         .n_hvx = 1,
         .vtcm_mb = 3,
         .page_mb = 4,
         JOBS({0, 40}, {50, 30})},
        {.pd = 1,
         .priority = LOW,
         .n_hvx = 1,
         .vtcm_mb = 1,
         .page_mb = 1,
         .yield_every = 30,
         JOBS({10, 60})},
        {.pd = 2,
         .priority = MID,
         .graph = true,
         .n_hvx = 1,
         .vtcm_mb = 2,
         .page_mb = 4,
         .yield_every = 30,
         JOBS({20, 60})},
    };
    static const moment figure[] = {
        {0, {NO, G1, G1, G1}},   {10, {APP, G1, G1, G1}}, {40, {NO, NO, G2, G2}},
        {70, {APP, G1, G1, G1}}, {100, {NO, NO, G2, G2}},
    };
    simulate(&chip4, c, 3);
    check_moments(c, 3, figure, sizeof figure / sizeof *figure);
}

static void htp_yld_10_forced_pre_emption(void **state) {
    (void)state;
    // By chip.
    assert_true(qrn_htp_sched_chip_of(qrn_soc_by_name("SA8650")).forced);
    assert_true(qrn_htp_sched_chip_of(qrn_soc_by_name("SA8775")).forced);
    assert_true(qrn_htp_sched_chip_of(qrn_soc_by_name("SA8255")).forced);
    assert_true(qrn_htp_sched_chip_of(qrn_soc_by_name("SA8797")).forced);
    assert_false(qrn_htp_sched_chip_of(qrn_soc_by_name("SM8650")).forced);
    qrn_htp_sched_chip forced = chip8;
    forced.forced = true;
    const qrn_htp_sched_client c[] = {
        {.pd = 1, .priority = LOW, .graph = true, .vtcm_mb = 8, .yield_every = 30, JOBS({0, 50})},
        {.pd = 2, .priority = HIGH, .graph = true, .vtcm_mb = 8, JOBS({10, 30})},
        // Of process domain 1, whose priority is that of its first client.
        {.pd = 1, .priority = HIGH - 1, .graph = true, .vtcm_mb = 8, JOBS({5, 10})},
    };
    simulate(&forced, c, 3);
    SPANS(A, 0, 10, 50, 90); // at once, not at 30
    SPANS(B, 10, 40);
    SPANS(C, 40, 50);
    char line[80];
    qrn_htp_yield_line(line, sizeof line, timeline.n_yields[A]);
    assert_string_equal(line, "Backend (QNN Num times yield occurred): 1 count");
}

static void htp_vsh_01_chips_that_share(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool shares;
    } chips[] = {{"SM8350", false}, {"SM8450", false}, {"SM8550", true},
                 {"SM8650", true},  {"SM8750", true},  {"SM8850", true}};
    for (int i = 0; i < 6; i++) {
        const qrn_soc *soc = qrn_soc_by_name(chips[i].name);
        qrn_htp_sched_chip chip = qrn_htp_sched_chip_of(soc);
        assert_int_equal(chip.vtcm_mb, soc->vtcm_mb);
        qrn_htp_sched_client graph = graph6, app = app2;
        graph.vtcm_mb = graph.page_mb = chip.vtcm_mb;
        graph.vtcm_mb -= 2;
        assert_int_equal(side_by_side(&chip, graph, app), chips[i].shares);
    }
}

static void htp_vsh_02_vsh_11_overmap_lies_at_the_end(void **state) {
    (void)state;
    uint32_t mb;
    assert_true(side_by_side(&chip8, graph6, app2)); // acquire(6, 8), acquire(2, 1)
    assert_true(runs_at(0, 5, &mb));
    assert_int_equal(mb, 2);
    assert_true(runs_at(1, 5, &mb));
    assert_int_equal(mb, 0);
    // All of it: the other waits, for it is not more urgent.
    qrn_htp_sched_client all = graph6;
    all.vtcm_mb = 8;
    assert_false(side_by_side(&chip8, all, app2));
    assert_int_equal(count(0, QRN_HTP_SCHED_ASK), 0);
    SPANS(1, 10, 20);
}

static void htp_vsh_03_any_order_of_arrival(void **state) {
    (void)state;
    uint32_t mb;
    assert_true(side_by_side(&chip8, app2, graph6)); // the client first
    assert_true(runs_at(0, 5, &mb));
    assert_int_equal(mb, 0);
    assert_true(runs_at(1, 5, &mb));
    assert_int_equal(mb, 2);
    qrn_htp_sched_client app = app2; // a page that does not fit in the overmap
    app.page_mb = 4;
    assert_false(side_by_side(&chip8, graph6, app));
}

static void htp_vsh_04_cached_calls_only(void **state) {
    (void)state;
    qrn_htp_sched_client app = app2;
    app.uncached = true;
    assert_false(side_by_side(&chip8, graph6, app));
    assert_false(side_by_side(&chip8, app, graph6));
}

static void htp_vsh_05_active_with_every_overmap(void **state) {
    (void)state;
    qrn_htp_sched_client graph = graph6, app = app2;
    app.vtcm_mb = 1;
    for (graph.vtcm_mb = 4; graph.vtcm_mb < 8; graph.vtcm_mb++)
        assert_true(side_by_side(&chip8, graph, app));
    graph.vtcm_mb = 8; // no overmap
    assert_false(side_by_side(&chip8, graph, app));
}

static void htp_vsh_06_vsh_14_process_domains(void **state) {
    (void)state;
    qrn_htp_sched_client app = app2;
    qrn_htp_sched_chip windows = chip8;
    windows.windowing = true;
    app.pd = 1;
    assert_false(side_by_side(&chip8, graph6, app));
    assert_true(side_by_side(&windows, graph6, app));
}

static void htp_vsh_07_half_of_vtcm(void **state) {
    (void)state;
    qrn_htp_sched_client graph = graph6;
    graph.vtcm_mb = 3;
    assert_false(side_by_side(&chip8, graph, app2));
    graph.vtcm_mb = 4;
    assert_true(side_by_side(&chip8, graph, app2));
}

static void htp_vsh_08_what_does_not_fit_is_scheduled(void **state) {
    (void)state;
    // Three MB do not fit beside six: the urgent client has the graph asked, which leaves at 20.
    const qrn_htp_sched_client c[] = {
        {.priority = MID,
         .graph = true,
         .n_hvx = 1,
         .vtcm_mb = 6,
         .page_mb = 8,
         .yield_every = 20,
         JOBS({0, 40})},
        {.priority = HIGH, .n_hvx = 1, .vtcm_mb = 3, .page_mb = 1, JOBS({5, 10})},
    };
    simulate(&chip8, c, 2);
    SPANS(A, 0, 20, 30, 50);
    SPANS(B, 20, 30);
}

static void htp_vsh_09_each_client_saves_and_restores(void **state) {
    (void)state;
    const qrn_htp_sched_client c[] = {
        {.priority = LOW,
         .graph = true,
         .vtcm_mb = 6,
         .page_mb = 8,
         .yield_every = 10,
         JOBS({0, 30})},
        {.priority = HIGH, .graph = true, .vtcm_mb = 4, .page_mb = 8, JOBS({5, 10}, {25, 10})},
    };
    simulate(&chip8, c, 2);
    assert_int_equal(timeline.n_yields[A], 2);
    assert_int_equal(timeline.saved_mb[A], 12);
    assert_int_equal(timeline.saved_mb[B], 0);
    uint32_t resumed = 0;
    for (uint32_t i = 0; i < timeline.n_events; i++)
        resumed += timeline.events[i].resumes && timeline.events[i].client == A;
    assert_int_equal(resumed, 2);
}

// Two clients of 2 MB beside a graph of 4; a third client needs room.
static void htp_vsh_10_who_is_asked(void **state) {
    (void)state;
    enum { GRAPH, X, Y, NEW };
    qrn_htp_sched_client c[] = {
        {.priority = HIGH, .graph = true, .vtcm_mb = 4, .page_mb = 8, JOBS({0, 100})},
        {.priority = MID, .vtcm_mb = 2, .page_mb = 1, .yield_every = 10, JOBS({0, 100})},
        {.priority = LOW, .vtcm_mb = 2, .page_mb = 1, .yield_every = 10, JOBS({0, 100})},
        {.priority = HIGH, .vtcm_mb = 2, .page_mb = 1, JOBS({5, 10})},
    };
    simulate(&chip8, c, 4);
    assert_int_equal(count(GRAPH, QRN_HTP_SCHED_ASK), 0);
    assert_int_equal(count(X, QRN_HTP_SCHED_ASK), 0); // one is enough: the least urgent
    assert_int_equal(count(Y, QRN_HTP_SCHED_ASK), 1);
    SPANS(NEW, 10, 20);
    c[NEW].vtcm_mb = 4; // both must leave, and both are less urgent
    simulate(&chip8, c, 4);
    assert_int_equal(count(X, QRN_HTP_SCHED_ASK), 1);
    assert_int_equal(count(Y, QRN_HTP_SCHED_ASK), 1);
    SPANS(NEW, 10, 20);
    c[NEW].priority = MID; // one of the two is not: nobody is asked
    simulate(&chip8, c, 4);
    assert_int_equal(count(X, QRN_HTP_SCHED_ASK), 0);
    assert_int_equal(count(Y, QRN_HTP_SCHED_ASK), 0);
    SPANS(NEW, 100, 110);
}

static void htp_vsh_15_pre_emption_in_one_domain(void **state) {
    (void)state;
    enum { GRAPH1, C1, GRAPH2 };
    const qrn_htp_sched_client c[] = {
        {.priority = LOW,
         .graph = true,
         .n_hvx = 1,
         .vtcm_mb = 6,
         .page_mb = 8,
         .yield_every = 10,
         JOBS({0, 50})},
        {.priority = LOW, .n_hvx = 1, .vtcm_mb = 2, .page_mb = 1, .yield_every = 10, JOBS({0, 80})},
        {.priority = HIGH, .graph = true, .n_hvx = 1, .vtcm_mb = 6, .page_mb = 8, JOBS({15, 20})},
    };
    simulate(&chip8, c, 3);
    assert_int_equal(count(GRAPH1, QRN_HTP_SCHED_ASK), 1);
    assert_int_equal(count(C1, QRN_HTP_SCHED_ASK), 0);
    SPANS(C1, 0, 80);
    SPANS(GRAPH2, 20, 40);
    SPANS(GRAPH1, 0, 20, 40, 70);
}

static void htp_vsh_15_pre_emption_by_another_domain(void **state) {
    (void)state;
    enum { GRAPH, C1, OTHER };
    qrn_htp_sched_client c[] = {
        {.pd = 1,
         .priority = LOW,
         .graph = true,
         .n_hvx = 1,
         .vtcm_mb = 6,
         .page_mb = 8,
         .yield_every = 20,
         JOBS({0, 60})},
        {.pd = 1,
         .priority = MID,
         .n_hvx = 1,
         .vtcm_mb = 2,
         .page_mb = 1,
         .yield_every = 30,
         JOBS({0, 60})},
        {.pd = 2,
         .priority = HIGH,
         .graph = true,
         .n_hvx = 1,
         .vtcm_mb = 4,
         .page_mb = 8,
         .yield_every = 10,
         JOBS({5, 20})},
    };
    // Higher than both: it runs when both have left.
    simulate(&chip8, c, 3);
    SPANS(GRAPH, 0, 20, 50, 90);
    SPANS(C1, 0, 30, 50, 80);
    SPANS(OTHER, 30, 50);
    // Between them: it waits for the urgent one to end, only then the graph is asked; when the
    // urgent one comes back it has to leave.
    c[C1].priority = HIGH;
    c[C1].jobs = (const qrn_htp_sched_job[]){{0, 30}, {55, 10}};
    c[C1].n_jobs = 2;
    c[OTHER].priority = MID;
    c[OTHER].jobs = (const qrn_htp_sched_job[]){{5, 50}};
    simulate(&chip8, c, 3);
    for (uint32_t i = 0; i < timeline.n_events; i++)
        if (timeline.events[i].kind == QRN_HTP_SCHED_ASK && timeline.events[i].client == GRAPH) {
            assert_int_equal(timeline.events[i].time, 30);
            break;
        }
    SPANS(C1, 0, 30, 60, 70);
    assert_int_equal(timeline.n_yields[OTHER], 1);
    uint32_t mb;
    assert_true(runs_at(OTHER, 40, &mb));
    assert_false(runs_at(OTHER, 60, &mb));
}

static void impossible_clients_are_refused(void **state) {
    (void)state;
    qrn_htp_sched_client c = {.vtcm_mb = 9, JOBS({0, 1})};
    assert_int_equal(qrn_htp_sched_run(&chip8, &c, 1, &timeline), QRN_E_ARGUMENT);
    c.vtcm_mb = 1;
    c.n_hvx = 5;
    assert_int_equal(qrn_htp_sched_run(&chip8, &c, 1, &timeline), QRN_E_ARGUMENT);
    c.n_hvx = 1;
    c.page_mb = 16;
    assert_int_equal(qrn_htp_sched_run(&chip8, &c, 1, &timeline), QRN_E_ARGUMENT);
    c.page_mb = 0;
    simulate(&chip8, &c, 1);
    static qrn_htp_sched_job many[200];
    c.jobs = many;
    c.n_jobs = 200; // three events each
    assert_int_equal(qrn_htp_sched_run(&chip8, &c, 1, &timeline), QRN_E_GENERAL);
    assert_int_equal(qrn_htp_sched_run(&chip8, &c, 9, &timeline), QRN_E_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_yld_01_priority_queue),
        cmocka_unit_test(htp_yld_02_pre_emption_is_cooperative),
        cmocka_unit_test(htp_yld_03_priority_of_threads),
        cmocka_unit_test(htp_yld_04_who_may_run_together),
        cmocka_unit_test(htp_yld_05_base_higher),
        cmocka_unit_test(htp_yld_06_complex),
        cmocka_unit_test(htp_yld_07_same_process_domain),
        cmocka_unit_test(htp_yld_08_two_process_domains),
        cmocka_unit_test(htp_yld_10_forced_pre_emption),
        cmocka_unit_test(htp_vsh_01_chips_that_share),
        cmocka_unit_test(htp_vsh_02_vsh_11_overmap_lies_at_the_end),
        cmocka_unit_test(htp_vsh_03_any_order_of_arrival),
        cmocka_unit_test(htp_vsh_04_cached_calls_only),
        cmocka_unit_test(htp_vsh_05_active_with_every_overmap),
        cmocka_unit_test(htp_vsh_06_vsh_14_process_domains),
        cmocka_unit_test(htp_vsh_07_half_of_vtcm),
        cmocka_unit_test(htp_vsh_08_what_does_not_fit_is_scheduled),
        cmocka_unit_test(htp_vsh_09_each_client_saves_and_restores),
        cmocka_unit_test(htp_vsh_10_who_is_asked),
        cmocka_unit_test(htp_vsh_15_pre_emption_in_one_domain),
        cmocka_unit_test(htp_vsh_15_pre_emption_by_another_domain),
        cmocka_unit_test(impossible_clients_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
