// SPDX-License-Identifier: MIT
//
// The state machine of graph switching, by the published tables: graphs A to D, what is loaded
// after each step, and what was done for it.
#include "htp_client.h"

#include "backend/htp/device/switch.h"

#include <stdio.h>

#define MAX_GRAPHS 4u

typedef struct world {
    qrn_switch_graph graphs[MAX_GRAPHS];
    qrn_switch s;
    char done[64]; // "-B+C": B unloaded, C loaded
    qrn_status fail;
} world;

static void note(world *w, char what, uint32_t graph) {
    size_t n = strlen(w->done);
    assert_true(n + 3 < sizeof w->done);
    w->done[n] = what;
    w->done[n + 1] = (char)('A' + graph);
    w->done[n + 2] = '\0';
}

static qrn_status on_load(void *ctx, uint32_t graph) {
    world *w = ctx;
    if (w->fail != QRN_OK)
        return w->fail;
    note(w, '+', graph);
    return QRN_OK;
}

static void on_unload(void *ctx, uint32_t graph) { note(ctx, '-', graph); }

// n graphs of one unit, `room` units.
static void begin(world *w, uint32_t n, uint64_t room) {
    static const char *const names[] = {"A", "B", "C", "D"};
    memset(w, 0, sizeof *w);
    for (uint32_t i = 0; i < n; i++)
        w->graphs[i] =
            (qrn_switch_graph){.name = names[i], .size_bytes = 1, .rank = QRN_SWITCH_NOT_KEPT};
    w->s = (qrn_switch){.graphs = w->graphs,
                        .n_graphs = n,
                        .room_bytes = room,
                        .load = on_load,
                        .unload = on_unload,
                        .ctx = w};
}

static void retain(world *w, const char *names) {
    uint32_t order[MAX_GRAPHS], n = 0;
    for (; names[n]; n++)
        order[n] = (uint32_t)(names[n] - 'A');
    qrn_switch_retain(&w->s, order, n);
}

// Runs one graph; what is done and loaded then.
static void step(world *w, char graph, const char *done, const char *loaded) {
    char now[MAX_GRAPHS + 1] = "";
    w->done[0] = '\0';
    assert_int_equal(qrn_switch_enter(&w->s, (uint32_t)(graph - 'A')), QRN_OK);
    qrn_switch_leave(&w->s, (uint32_t)(graph - 'A'));
    assert_string_equal(w->done, done);
    for (uint32_t i = 0, n = 0; i < w->s.n_graphs; i++)
        if (w->graphs[i].loaded)
            now[n++] = (char)('A' + i);
    assert_string_equal(now, loaded);
}

// GSW-T1
static void htp_gsw_02_gsw_03_one_graph_at_a_time(void **state) {
    (void)state;
    world w;
    begin(&w, 3, 100); // room does not matter
    assert_int_equal(qrn_switch_start(&w.s, 0), QRN_OK);
    assert_string_equal(w.done, "+A");
    step(&w, 'A', "", "A");
    step(&w, 'B', "-A+B", "B");
    step(&w, 'A', "-B+A", "A");
    step(&w, 'C', "-A+C", "C");
    assert_int_equal(qrn_switch_loaded_bytes(&w.s), 1);
}

static void htp_gsw_04_no_two_graphs_at_once(void **state) {
    (void)state;
    world w;
    begin(&w, 3, 2);
    retain(&w, "AB");
    assert_int_equal(qrn_switch_start(&w.s, 0), QRN_OK);
    assert_int_equal(qrn_switch_enter(&w.s, 0), QRN_OK);
    assert_int_equal(qrn_switch_enter(&w.s, 1), QRN_E_NOT_PERMITTED); // though it is loaded
    assert_int_equal(qrn_switch_enter(&w.s, 2), QRN_E_NOT_PERMITTED);
    assert_int_equal(qrn_switch_enter(&w.s, 0), QRN_OK); // the same one may
    qrn_switch_leave(&w.s, 0);
    assert_int_equal(qrn_switch_enter(&w.s, 1), QRN_E_NOT_PERMITTED);
    qrn_switch_leave(&w.s, 0);
    assert_int_equal(qrn_switch_enter(&w.s, 1), QRN_OK);
}

static void htp_gsw_08_disabled_graphs_do_not_run(void **state) {
    (void)state;
    world w;
    begin(&w, 2, 2);
    w.graphs[1].disabled = true;
    assert_int_equal(qrn_switch_start(&w.s, 0), QRN_OK);
    assert_int_equal(qrn_switch_enter(&w.s, 1), QRN_E_DISABLED);
    step(&w, 'A', "", "A");
}

static void fresh(world *w, const char *order) {
    begin(w, 4, 2);
    retain(w, order);
    assert_int_equal(qrn_switch_start(&w->s, 0), QRN_OK);
}

// MGS-T1 to T4
static void htp_mgs_01_mgs_04_retained_graphs_leave_last(void **state) {
    (void)state;
    world w;
    fresh(&w, "AB");
    assert_string_equal(w.done, "+A+B");
    step(&w, 'A', "", "AB");
    step(&w, 'B', "", "AB");
    step(&w, 'A', "", "AB");
    step(&w, 'B', "", "AB");
    fresh(&w, "AB");
    step(&w, 'A', "", "AB");
    step(&w, 'B', "", "AB");
    step(&w, 'C', "-B+C", "AC");
    step(&w, 'D', "-C+D", "AD");
    fresh(&w, "AB");
    step(&w, 'A', "", "AB");
    step(&w, 'B', "", "AB");
    step(&w, 'C', "-B+C", "AC");
    step(&w, 'A', "", "AC");
    step(&w, 'B', "-C+B", "AB");
    step(&w, 'D', "-B+D", "AD");
    fresh(&w, "AB");
    step(&w, 'C', "-B+C", "AC");
    step(&w, 'A', "", "AC");
}

// The order counts, not the position in the binary.
static void the_first_of_the_list_is_the_most_important(void **state) {
    (void)state;
    world w;
    fresh(&w, "BA");
    assert_string_equal(w.done, "+B+A");
    step(&w, 'C', "-A+C", "BC");
}

// MGS-T5
static void htp_mgs_02_a_list_that_does_not_fit(void **state) {
    (void)state;
    world w;
    begin(&w, 4, 2);
    retain(&w, "ABC");
    assert_int_equal(qrn_switch_start(&w.s, 0), QRN_E_BINARY);
    begin(&w, 4, 3);
    retain(&w, "ABC");
    assert_int_equal(qrn_switch_start(&w.s, 0), QRN_OK);
    assert_string_equal(w.done, "+A+B+C");
}

// MGS-T6
static void htp_mgs_05_the_list_may_be_replaced(void **state) {
    (void)state;
    world w;
    fresh(&w, "AB");
    step(&w, 'A', "", "AB");
    step(&w, 'B', "", "AB");
    w.done[0] = '\0';
    retain(&w, "");
    assert_string_equal(w.done, "");
    assert_true(w.graphs[0].loaded && w.graphs[1].loaded);
    step(&w, 'C', "-A-B+C", "C");
}

// MGS-T7
static void htp_mgs_04_large_graphs_take_the_room_of_several(void **state) {
    (void)state;
    world w;
    begin(&w, 4, 2);
    w.graphs[2].size_bytes = 2;
    retain(&w, "AB");
    assert_int_equal(qrn_switch_start(&w.s, 0), QRN_OK);
    step(&w, 'C', "-B-A+C", "C");
    w.graphs[3].size_bytes = 3;
    assert_int_equal(qrn_switch_enter(&w.s, 3), QRN_E_MEM);
    step(&w, 'A', "+A", "A"); // C had to go for nothing
}

static void a_failed_load_leaves_the_graph_out(void **state) {
    (void)state;
    world w;
    fresh(&w, "A");
    w.fail = QRN_E_MEM;
    assert_int_equal(qrn_switch_enter(&w.s, 1), QRN_E_MEM);
    assert_false(w.graphs[1].loaded);
    assert_int_equal(w.graphs[1].n_running, 0);
    w.fail = QRN_OK;
    step(&w, 'B', "+B", "AB");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_gsw_02_gsw_03_one_graph_at_a_time),
        cmocka_unit_test(htp_gsw_04_no_two_graphs_at_once),
        cmocka_unit_test(htp_gsw_08_disabled_graphs_do_not_run),
        cmocka_unit_test(htp_mgs_01_mgs_04_retained_graphs_leave_last),
        cmocka_unit_test(the_first_of_the_list_is_the_most_important),
        cmocka_unit_test(htp_mgs_02_a_list_that_does_not_fit),
        cmocka_unit_test(htp_mgs_05_the_list_may_be_replaced),
        cmocka_unit_test(htp_mgs_04_large_graphs_take_the_room_of_several),
        cmocka_unit_test(a_failed_load_leaves_the_graph_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
