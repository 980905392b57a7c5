// SPDX-License-Identifier: MIT
//
// Budgets: what the limits are, that they are met exactly, and what is said when one is reached.
#include "base/arena.h"
#include "base/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void budget_is_spent_to_the_last_node_and_then_names_the_limit(void **state) {
    (void)state;
    qrn_budget b;
    assert_int_equal(qrn_budget_begin(&b, 2, 0), QRN_OK);
    uint64_t most = 250000 + 2 * 16; // docs/limits.md
    assert_int_equal(qrn_budget_left(&b, QRN_COST_NODES), most);
    assert_int_equal(qrn_budget_spend(&b, QRN_COST_NODES, most), QRN_OK);
    assert_int_equal(qrn_budget_spend(&b, QRN_COST_NODES, 1), QRN_E_UNSUPPORTED);
    assert_non_null(strstr(qrn_message(), "250032 nodes"));
    assert_non_null(strstr(qrn_message(), "QUERN_LIMITS=nodes=N"));
    assert_int_equal(qrn_budget_left(&b, QRN_COST_NODES), 0);
}

static void budget_grows_with_the_constants_of_the_file(void **state) {
    (void)state;
    qrn_budget b;
    assert_int_equal(qrn_budget_begin(&b, 0, 1000), QRN_OK);
    assert_int_equal(qrn_budget_left(&b, QRN_COST_MEMORY), (256 << 20) + 8000);
    assert_int_equal(qrn_budget_begin(&b, UINT64_MAX, UINT64_MAX), QRN_OK); // saturates
    assert_int_equal(qrn_budget_left(&b, QRN_COST_MEMORY), UINT64_MAX);
}

static void budget_ends_when_its_time_is_over(void **state) {
    (void)state;
    qrn_budget b;
    assert_int_equal(qrn_budget_begin(&b, 0, 0), QRN_OK);
    b.end_ns = 1; // long ago
    assert_int_equal(qrn_budget_spend(&b, QRN_COST_NODES, 1), QRN_E_TIMED_OUT);
    assert_non_null(strstr(qrn_message(), "QUERN_LIMITS=time=SECONDS"));
}

static void limits_are_read_from_text(void **state) {
    (void)state;
    qrn_limits l = {.most = {1, 2, 3}, .time_s = 4, .run_bytes = 5};
    assert_int_equal(qrn_limits_parse("nodes=2K,time=60", &l), QRN_OK);
    assert_int_equal(l.most[QRN_COST_NODES], 2048);
    assert_int_equal(l.most[QRN_COST_MEMORY], 2);
    assert_int_equal(l.time_s, 60);
    assert_int_equal(l.run_bytes, 5);
    assert_int_equal(qrn_limits_parse("run=8G", &l), QRN_OK);
    assert_int_equal(l.run_bytes, (uint64_t)8 << 30);
    assert_int_equal(qrn_limits_parse("memory=3G,work=0", &l), QRN_OK);
    assert_int_equal(l.most[QRN_COST_MEMORY], (uint64_t)3 << 30);
    assert_int_equal(l.most[QRN_COST_WORK], UINT64_MAX);
    static const char *const bad[] = {"nodes",     "nodes=",    "nodes=x",   "steps=1", "nodes=1X",
                                      "nodes=1KB", "=1",        ",",         "5",       "nodes=-1",
                                      "nodes= 1",  "nodes=1;2", "time=1.5s", "node=1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(qrn_limits_parse(bad[i], &l), QRN_E_CONFIG);
        assert_non_null(strstr(qrn_message(), "QUERN_LIMITS"));
    }
}

static void arena_hands_out_no_more_than_its_limit(void **state) {
    (void)state;
    qrn_arena *a = qrn_arena_create();
    assert_non_null(qrn_arena_alloc(a, 1000));
    qrn_arena_limit(a, 5000);
    assert_non_null(qrn_arena_alloc(a, 3000));
    assert_false(qrn_arena_limited(a));
    assert_null(qrn_arena_alloc(a, 1001));
    assert_true(qrn_arena_limited(a));
    assert_non_null(qrn_arena_alloc(a, 1000));
    assert_null(qrn_arena_reserve(a, SIZE_MAX));
    qrn_arena_limit(a, SIZE_MAX);
    assert_non_null(qrn_arena_alloc(a, 1 << 20));
    qrn_arena_destroy(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budget_is_spent_to_the_last_node_and_then_names_the_limit),
        cmocka_unit_test(budget_grows_with_the_constants_of_the_file),
        cmocka_unit_test(budget_ends_when_its_time_is_over),
        cmocka_unit_test(limits_are_read_from_text),
        cmocka_unit_test(arena_hands_out_no_more_than_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
