// SPDX-License-Identifier: MIT
//
// Graph switching with real binaries: which graphs are there, that their room is really given back,
// and that results do not depend on it. What is loaded stands in the log.
#include "htp_room.h"

#include <sched.h>
#include <stdatomic.h>

enum { SM8650 = 57 };

static binary all; // A to D

static int setup(void **state) {
    (void)state;
    all = make_binary(SM8650);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    free(all.data);
    return 0;
}

static Qnn_ErrorHandle_t load(htp_world *w, const wish *x) { return load_switching(w, &all, x); }

static htp_world loaded(const wish *x) {
    htp_world w = no_context(SM8650);
    HTP_OK(load(&w, x));
    return w;
}

static void is_there(const char *expected) { assert_string_equal(log_switched().there, expected); }

static void step(const htp_world *w, char graph, const char *expected) {
    run_graph(w, (uint32_t)(graph - 'A'));
    is_there(expected);
}

// --- room: all sessions but for n graphs are filled by somebody else

static filler others;

static uint64_t size_of_graph(void) {
    htp_world w = loaded(&(wish){.persistent = true, .hint_mb = 1});
    uint64_t bytes = log_place().bytes; // one of them is there
    assert_true(bytes >= CODES);
    htp_end(&w);
    w = loaded(&(wish){.persistent = true}); // all of them: more by the graphs that were left out
    assert_int_equal(log_place().bytes, N_GRAPHS * bytes);
    htp_end(&w);
    return bytes;
}

static void leave_room_for(uint32_t n_graphs) {
    uint64_t bytes = n_graphs * size_of_graph();
    fill_begin(&others, SM8650, &all);
    leave_bytes(&others, bytes);
}

// --- plain switching

static void htp_gsw_01_needs_a_persistent_binary_and_a_hint(void **state) {
    (void)state;
    static const struct {
        wish x;
        bool on;
    } rows[] = {
        {{.persistent = false, .hint_mb = 0}, false},
        {{.persistent = true, .hint_mb = 0}, false},
        {{.persistent = false, .hint_mb = 5}, false},
        {{.persistent = true, .hint_mb = 1}, true},
        {{.persistent = true, .hint_mb = 100000}, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        htp_world w = loaded(&rows[i].x);
        for (uint32_t g = 0; g < N_GRAPHS; g++)
            run_graph(&w, g);
        is_there(rows[i].on ? "D" : ""); // nothing is loaded or unloaded by and by without it
        htp_end(&w);
    }
}

static void htp_gsw_02_gsw_03_gsw_09_one_graph_is_there_and_results_are_right(void **state) {
    (void)state;
    htp_world w = loaded(&(wish){.persistent = true, .hint_mb = 1});
    step(&w, 'A', "A");
    step(&w, 'B', "B");
    step(&w, 'A', "A");
    step(&w, 'C', "C");
    assert_int_equal(log_switched().n_loads, 4);
    assert_int_equal(log_switched().n_unloads, 3);
    htp_end(&w);
    size_of_graph(); // takes the room of one graph instead of four
}

static void htp_gsw_02_gsw_08_the_first_enabled_graph_is_first(void **state) {
    (void)state;
    const char *enable[] = {"C", "A", NULL};
    htp_world w = loaded(&(wish){.persistent = true, .hint_mb = 1, .enable = enable});
    is_there("C");
    step(&w, 'A', "A");
    uint8_t y[CODES];
    HTP_FAILS(run_code(&w, 1, y), QNN_GRAPH_ERROR_DISABLED);
    is_there("A");
    htp_end(&w);
}

// Runs a graph over and over until told to stop, and counts what it is answered.
typedef struct loop {
    const htp_world *w;
    uint32_t graph;
    atomic_bool *stop;
    atomic_uint refused;
    unsigned wrong;
    pthread_t thread;
} loop;

static void *keep_running(void *arg) {
    loop *k = arg;
    uint8_t y[CODES];
    while (!atomic_load(k->stop)) {
        Qnn_ErrorHandle_t code = run_code(k->w, k->graph, y);
        if (QNN_GET_ERROR_CODE(code) == QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED)
            atomic_fetch_add(&k->refused, 1);
        else
            k->wrong += code != QNN_SUCCESS || !is_right(k->graph, y);
    }
    return NULL;
}

static void htp_gsw_04_mgs_06_one_graph_runs_at_a_time(void **state) {
    (void)state;
    const char *retain[] = {"A", "B", NULL};
    const char **orders[] = {NULL, retain};
    for (size_t i = 0; i < 2; i++) {
        htp_world w = loaded(&(wish){.persistent = true, .hint_mb = 1, .retain = orders[i]});
        atomic_bool stop = false;
        loop k[2] = {{.w = &w, .graph = 0, .stop = &stop}, {.w = &w, .graph = 1, .stop = &stop}};
        for (int t = 0; t < 2; t++)
            assert_int_equal(pthread_create(&k[t].thread, NULL, keep_running, &k[t]), 0);
        while (!atomic_load(&k[0].refused) && !atomic_load(&k[1].refused))
            sched_yield();
        atomic_store(&stop, true);
        for (int t = 0; t < 2; t++) {
            pthread_join(k[t].thread, NULL);
            assert_int_equal(k[t].wrong, 0);
        }
        run_graph(&w, 1);
        htp_end(&w);
    }
}

// The client's bytes are read when a graph is loaded, not before: a change of one of them shows.
static void htp_gsw_06_the_clients_binary_is_used_in_place(void **state) {
    (void)state;
    uint8_t b[COLUMNS], y[CODES];
    for (uint32_t i = 0; i < COLUMNS; i++)
        b[i] = addend(3, i);
    uint8_t *at = memmem(all.data, all.size, b, sizeof b);
    assert_non_null(at);
    htp_world w = loaded(&(wish){.persistent = true, .hint_mb = 1});
    at[30]++; // of graph D, which is not there yet
    HTP_OK(run_code(&w, 3, y));
    at[30]--;
    assert_false(is_right(3, y));
    y[30]--;
    assert_true(is_right(3, y));
    htp_end(&w);
}

// --- retention

static htp_world retaining(const char **order) {
    return loaded(&(wish){.persistent = true, .hint_mb = 1, .retain = order});
}

static void htp_mgs_01_mgs_04_retained_graphs_leave_last(void **state) {
    (void)state;
    const char *ab[] = {"A", "B", NULL};
    leave_room_for(2);
    htp_world w = retaining(ab);
    is_there("AB");
    step(&w, 'A', "AB");
    step(&w, 'B', "AB");
    step(&w, 'A', "AB");
    step(&w, 'B', "AB");
    assert_int_equal(log_switched().n_loads, 2);
    step(&w, 'C', "AC");
    step(&w, 'A', "AC");
    step(&w, 'B', "AB");
    step(&w, 'D', "AD");
    htp_end(&w);
    w = retaining(ab); // fresh start
    step(&w, 'C', "AC");
    step(&w, 'A', "AC");
    htp_end(&w);
    fill_end(&others);
}

static void htp_mgs_01_without_the_hint_retention_is_off(void **state) {
    (void)state;
    const char *ab[] = {"A", "B", NULL}, *none[] = {NULL};
    htp_world w = loaded(&(wish){.persistent = true, .retain = ab});
    run_graph(&w, 2);
    is_there("");
    htp_end(&w);
    w = retaining(none); // an empty list: plain switching
    is_there("A");
    step(&w, 'B', "B");
    htp_end(&w);
}

static void htp_mgs_02_a_list_that_does_not_fit(void **state) {
    (void)state;
    const char *abc[] = {"A", "B", "C", NULL};
    leave_room_for(2);
    htp_world w = no_context(SM8650);
    HTP_FAILS(load(&w, &(wish){.persistent = true, .hint_mb = 1, .retain = abc}),
              QNN_CONTEXT_ERROR_CREATE_FROM_BINARY);
    htp_end(&w);
    fill_end(&others);
    w = retaining(abc);
    is_there("ABC");
    htp_end(&w);
}

static void htp_mgs_03_listed_graphs_must_be_enabled(void **state) {
    (void)state;
    const char *ab[] = {"A", "B", NULL}, *ac[] = {"A", "C", NULL}, *unknown[] = {"E", NULL};
    htp_world w = no_context(SM8650);
    HTP_FAILS(load(&w, &(wish){.persistent = true, .hint_mb = 1, .enable = ac, .retain = ab}),
              QNN_CONTEXT_ERROR_INVALID_CONFIG);
    HTP_FAILS(load(&w, &(wish){.persistent = true, .hint_mb = 1, .retain = unknown}),
              QNN_CONTEXT_ERROR_INVALID_CONFIG);
    HTP_OK(load(&w, &(wish){.persistent = true, .hint_mb = 1, .enable = ac, .retain = ac}));
    htp_end(&w);
}

static Qnn_ErrorHandle_t set_order(const htp_world *w, const char **order) {
    QnnContext_Config_t x = {.option = QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER,
                             .graphRetentionOrder = order};
    const QnnContext_Config_t *list[] = {&x, NULL};
    return w->qnn.contextSetConfig(w->context, list);
}

static void htp_mgs_05_the_list_may_be_replaced(void **state) {
    (void)state;
    const char *ab[] = {"A", "B", NULL}, *none[] = {NULL}, *unknown[] = {"A", "E", NULL},
               *dc[] = {"D", "C", NULL};
    leave_room_for(2);
    htp_world w = retaining(ab);
    step(&w, 'B', "AB");
    HTP_FAILS(set_order(&w, unknown), QNN_CONTEXT_ERROR_INVALID_ARGUMENT);
    step(&w, 'C', "AC"); // still the old list
    HTP_OK(set_order(&w, none));
    is_there("AC");
    step(&w, 'B', "B");
    HTP_OK(set_order(&w, dc));
    is_there("B");
    step(&w, 'D', "D");
    step(&w, 'C', "CD");
    step(&w, 'A', "AD");
    htp_end(&w);
    fill_end(&others);
}

// --- threads: whoever comes second is refused, and nobody sees a wrong number

typedef struct worker {
    const htp_world *w;
    uint32_t graph;
} worker;

static void *work(void *arg) {
    worker *k = arg;
    uint8_t y[CODES];
    for (int n_done = 0; n_done < 50;) {
        Qnn_ErrorHandle_t code = run_code(k->w, k->graph, y);
        if (code == QNN_SUCCESS && is_right(k->graph, y))
            n_done++;
        else if (QNN_GET_ERROR_CODE(code) == QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED)
            sched_yield();
        else
            return k;
    }
    return NULL;
}

static void two_threads_switch_without_harm(void **state) {
    (void)state;
    htp_world w = loaded(&(wish){.persistent = true, .hint_mb = 1});
    worker k[2] = {{&w, 0}, {&w, 1}};
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&t[i], NULL, work, &k[i]), 0);
    for (int i = 0; i < 2; i++) {
        void *bad = NULL;
        pthread_join(t[i], &bad);
        assert_null(bad);
    }
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_gsw_01_needs_a_persistent_binary_and_a_hint),
        cmocka_unit_test(htp_gsw_02_gsw_03_gsw_09_one_graph_is_there_and_results_are_right),
        cmocka_unit_test(htp_gsw_02_gsw_08_the_first_enabled_graph_is_first),
        cmocka_unit_test(htp_gsw_04_mgs_06_one_graph_runs_at_a_time),
        cmocka_unit_test(htp_gsw_06_the_clients_binary_is_used_in_place),
        cmocka_unit_test(htp_mgs_01_mgs_04_retained_graphs_leave_last),
        cmocka_unit_test(htp_mgs_01_without_the_hint_retention_is_off),
        cmocka_unit_test(htp_mgs_02_a_list_that_does_not_fit),
        cmocka_unit_test(htp_mgs_03_listed_graphs_must_be_enabled),
        cmocka_unit_test(htp_mgs_05_the_list_may_be_replaced),
        cmocka_unit_test(two_threads_switch_without_harm),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
