// SPDX-License-Identifier: MIT
//
// Graph switching with real binaries: which graphs are there, that memory is really given back, and
// that results do not depend on it.
#include "htp_switch.h"

#include "base/mem.h"

#include <pthread.h>
#include <sched.h>

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

// What a client asks for; NULL and 0: not.
typedef struct wish {
    bool persistent;
    uint64_t hint_mb;
    const char **enable, **retain;
} wish;

static Qnn_ErrorHandle_t load(htp_world *w, const wish *x) {
    QnnContext_Config_t options[] = {
        {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = x->persistent},
        {.option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT, .memoryLimitHint = x->hint_mb},
        {.option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS, .enableGraphs = x->enable},
        {.option = QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER, .graphRetentionOrder = x->retain},
    };
    const QnnContext_Config_t *list[5] = {&options[0], &options[1]};
    size_t n = 2;
    if (x->enable)
        list[n++] = &options[2];
    if (x->retain)
        list[n++] = &options[3];
    return w->qnn.contextCreateFromBinary(w->backend, w->device, list, all.data, all.size,
                                          &w->context, NULL);
}

static htp_world loaded(const wish *x) {
    htp_world w = no_context(SM8650);
    HTP_OK(load(&w, x));
    return w;
}

// Letters of the graphs that can run at once, by what is really in memory.
static const char *there(const htp_world *w) {
    static char text[N_GRAPHS + 1];
    const qrn_api_context *c = context_object(w->context);
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_graphs; i++)
        if (c->graphs[i]->runner)
            text[n++] = c->graphs[i]->ir->name[0];
    text[n] = '\0';
    return text;
}

static void step(const htp_world *w, char graph, const char *expected) {
    run_graph(w, (uint32_t)(graph - 'A'));
    assert_string_equal(there(w), expected);
}

// --- room: all sessions but for n graphs are filled by somebody else

static uint64_t size_of_graph(void) {
    htp_world w = loaded(&(wish){.persistent = true, .hint_mb = 1});
    uint64_t bytes = session_info(&w).sw->graphs[0].size_bytes;
    for (uint32_t i = 1; i < N_GRAPHS; i++)
        assert_int_equal(session_info(&w).sw->graphs[i].size_bytes, bytes);
    assert_true(bytes >= CODES);
    htp_end(&w);
    return bytes;
}

static uint64_t others;

static void leave_room_for(uint32_t n_graphs) {
    qrn_htp_space *space = qrn_htp_session_space();
    others = QRN_HTP_SESSION_BYTES - n_graphs * size_of_graph();
    assert_int_equal(qrn_htp_space_used(space), 0); // nobody else is there
    space->n_open = space->limit;
    for (uint32_t i = 0; i < space->limit; i++)
        space->used_bytes[i] = others;
}

static void give_room_back(void) {
    qrn_htp_space *space = qrn_htp_session_space();
    for (uint32_t i = 0; i < space->limit; i++) {
        assert_int_equal(space->used_bytes[i], others); // all contexts gave back what they had
        space->used_bytes[i] = 0;
    }
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
        assert_int_equal(session_info(&w).sw != NULL, rows[i].on);
        assert_string_equal(there(&w), rows[i].on ? "A" : "ABCD");
        for (uint32_t g = 0; g < N_GRAPHS; g++)
            run_graph(&w, g);
        htp_end(&w);
    }
}

static void htp_gsw_02_gsw_03_gsw_09_one_graph_is_there_and_results_are_right(void **state) {
    (void)state;
    htp_world w = loaded(&(wish){.persistent = true, .hint_mb = 1});
    uint64_t bytes = session_info(&w).bytes;
    step(&w, 'A', "A");
    step(&w, 'B', "B");
    step(&w, 'A', "A");
    step(&w, 'C', "C");
    assert_int_equal(session_info(&w).sw->n_loads, 4);
    assert_int_equal(session_info(&w).sw->n_unloads, 3);
    assert_int_equal(session_info(&w).bytes, bytes);
    uint64_t one = session_info(&w).sw->graphs[0].size_bytes;
    htp_end(&w);
    w = loaded(&(wish){.persistent = true}); // all of them: more by the graphs that were left out
    assert_int_equal(session_info(&w).bytes, bytes + 3 * one);
    htp_end(&w);
}

static void htp_gsw_02_gsw_08_the_first_enabled_graph_is_first(void **state) {
    (void)state;
    const char *enable[] = {"C", "A", NULL};
    htp_world w = loaded(&(wish){.persistent = true, .hint_mb = 1, .enable = enable});
    assert_string_equal(there(&w), "C");
    step(&w, 'A', "A");
    uint8_t y[CODES];
    HTP_FAILS(run_code(&w, 1, y), QNN_GRAPH_ERROR_DISABLED);
    assert_string_equal(there(&w), "A");
    htp_end(&w);
}

static void htp_gsw_04_mgs_06_one_graph_runs_at_a_time(void **state) {
    (void)state;
    const char *retain[] = {"A", "B", NULL};
    const char **orders[] = {NULL, retain};
    for (size_t i = 0; i < 2; i++) {
        htp_world w = loaded(&(wish){.persistent = true, .hint_mb = 1, .retain = orders[i]});
        qrn_api_graph *a = context_object(w.context)->graphs[0];
        uint8_t y[CODES];
        assert_int_equal(qrn_htp_graph_enter(a), QRN_OK); // as if it were running
        HTP_FAILS(run_code(&w, 1, y), QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED);
        HTP_OK(run_code(&w, 0, y)); // the same graph may
        qrn_htp_graph_leave(a);
        run_graph(&w, 1);
        htp_end(&w);
    }
}

static void htp_gsw_06_the_clients_binary_is_used_in_place(void **state) {
    (void)state;
    htp_world w = loaded(&(wish){.persistent = true, .hint_mb = 1});
    const qrn_htp_context *c = qrn_htp_context_of(context_object(w.context));
    assert_ptr_equal(c->file, all.data);
    assert_null(c->owned);
    step(&w, 'D', "D"); // loaded from there
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
    assert_string_equal(there(&w), "AB");
    step(&w, 'A', "AB");
    step(&w, 'B', "AB");
    step(&w, 'A', "AB");
    step(&w, 'B', "AB");
    assert_int_equal(session_info(&w).sw->n_loads, 2);
    step(&w, 'C', "AC");
    step(&w, 'A', "AC");
    step(&w, 'B', "AB");
    step(&w, 'D', "AD");
    htp_end(&w);
    w = retaining(ab); // fresh start
    step(&w, 'C', "AC");
    step(&w, 'A', "AC");
    htp_end(&w);
    give_room_back();
}

static void htp_mgs_01_without_the_hint_retention_is_off(void **state) {
    (void)state;
    const char *ab[] = {"A", "B", NULL}, *none[] = {NULL};
    htp_world w = loaded(&(wish){.persistent = true, .retain = ab});
    assert_null(session_info(&w).sw);
    assert_string_equal(there(&w), "ABCD");
    htp_end(&w);
    w = retaining(none); // an empty list: plain switching
    assert_string_equal(there(&w), "A");
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
    give_room_back();
    w = retaining(abc);
    assert_string_equal(there(&w), "ABC");
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
    assert_string_equal(there(&w), "AC");
    step(&w, 'B', "B");
    HTP_OK(set_order(&w, dc));
    assert_string_equal(there(&w), "B");
    step(&w, 'D', "D");
    step(&w, 'C', "CD");
    step(&w, 'A', "AD");
    htp_end(&w);
    give_room_back();
}

// --- memory runs out while a graph is loaded: an error, and the next call works

static void out_of_memory_while_switching(void **state) {
    (void)state;
    htp_world w = loaded(&(wish){.persistent = true, .hint_mb = 1});
    uint64_t bytes = session_info(&w).bytes;
    uint8_t y[CODES];
    unsigned n_failed = 0;
    for (unsigned n = 1; n < 40; n++) {
        uint32_t which = n % 2;
        qrn_alloc_fail_at(n, false);
        Qnn_ErrorHandle_t code = run_code(&w, which, y);
        qrn_alloc_fail_at(0, false);
        if (code == QNN_SUCCESS) {
            assert_true(is_right(which, y));
        } else {
            HTP_FAILS(code, QNN_COMMON_ERROR_MEM_ALLOC);
            n_failed++;
        }
        run_graph(&w, which);
        assert_int_equal(session_info(&w).bytes, bytes);
    }
    assert_true(n_failed > 0);
    htp_end(&w);
    assert_int_equal(qrn_htp_space_used(qrn_htp_session_space()), 0);
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
        cmocka_unit_test(out_of_memory_while_switching),
        cmocka_unit_test(two_threads_switch_without_harm),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
