// SPDX-License-Identifier: MIT
//
// Choosing precisions for groups of layers, against trying all choices.
#include "quantizer/mixed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define GROUPS 6
#define OPTIONS 3
#define ALL 729 // OPTIONS to the power of GROUPS

static double noise[GROUPS * OPTIONS], ms[GROUPS * OPTIONS], turn[GROUPS * OPTIONS];
static const qz_mixed table = {GROUPS, OPTIONS, noise, ms, NULL};
static const qz_mixed with_turns = {GROUPS, OPTIONS, noise, ms, turn};

static void fill(unsigned seed) {
    srand(seed);
    for (int i = 0; i < GROUPS * OPTIONS; i++) {
        noise[i] = i % OPTIONS ? rand() / (double)RAND_MAX - 0.05 : 0;
        ms[i] = i % OPTIONS ? -rand() / (double)RAND_MAX + 0.1 : 0;
        turn[i] = i % OPTIONS ? 0.3 * rand() / (double)RAND_MAX : 0;
    }
}

static void sum(const qz_mixed *m, const uint8_t *choice, double *n, double *t) {
    *n = *t = 0;
    for (int g = 0; g < GROUPS; g++) {
        if (m->turn && g && choice[g] != choice[g - 1])
            *t += turn[g * OPTIONS + choice[g]] + turn[(g - 1) * OPTIONS + choice[g - 1]];
        *n += noise[g * OPTIONS + choice[g]];
        *t += ms[g * OPTIONS + choice[g]];
    }
}

static void spell(int k, uint8_t *choice) {
    for (int g = 0; g < GROUPS; g++, k /= OPTIONS)
        choice[g] = (uint8_t)(k % OPTIONS);
}

static void check_all(const qz_mixed *m, unsigned seed) {
    double weights[32];
    fill(seed);
    uint32_t n = qz_mixed_weights(m, weights, 32);
    assert_true(n >= 2);
    for (uint32_t w = 0; w < n; w++) {
        uint8_t choice[GROUPS], other[GROUPS];
        double a, t, b, u;
        assert_int_equal(qz_mixed_choose(m, weights[w], choice), QRN_OK);
        sum(m, choice, &a, &t);
        for (int k = 0; k < ALL; k++) {
            spell(k, other);
            sum(m, other, &b, &u);
            assert_true(a + weights[w] * t <= b + weights[w] * u + 1e-9);
        }
    }
}

static void a_choice_is_the_best_of_all_for_its_price(void **state) {
    (void)state;
    for (unsigned seed = 1; seed < 30; seed++) {
        check_all(&table, seed);
        check_all(&with_turns, seed);
    }
}

// Every choice that is best for some price appears, once, from the least noise to the least time.
static void all_prices_are_found(void **state) {
    (void)state;
    for (unsigned seed = 1; seed < 50; seed++) {
        fill(seed);
        double weights[64], last = INFINITY;
        uint8_t seen[64][GROUPS];
        uint32_t n = qz_mixed_weights(&table, weights, 64);
        for (uint32_t w = 0; w < n; w++) {
            double a, t;
            qz_mixed_choose(&table, weights[w], seen[w]);
            sum(&table, seen[w], &a, &t);
            assert_true(w == 0 || t < last);
            last = t;
        }
        for (int step = 0; step < 2000; step++) {
            uint8_t choice[GROUPS];
            bool found = false;
            qz_mixed_choose(&table, exp((step - 1000) * 0.02), choice);
            for (uint32_t w = 0; w < n && !found; w++)
                found = memcmp(choice, seen[w], GROUPS) == 0;
            assert_true(found);
        }
    }
}

static void few_prices_keep_both_ends(void **state) {
    (void)state;
    fill(7);
    double all[64], few[3];
    uint8_t a[GROUPS], b[GROUPS];
    uint32_t n = qz_mixed_weights(&table, all, 64);
    assert_true(n > 3);
    assert_int_equal(qz_mixed_weights(&table, few, 3), 3);
    qz_mixed_choose(&table, all[0], a);
    qz_mixed_choose(&table, few[0], b);
    assert_memory_equal(a, b, GROUPS);
    qz_mixed_choose(&table, all[n - 1], a);
    qz_mixed_choose(&table, few[2], b);
    assert_memory_equal(a, b, GROUPS);
}

static void the_front_has_no_point_that_another_beats(void **state) {
    (void)state;
    qz_point p[] = {{1, 10, 0}, {2, 20, 0}, {2, 15, 0},  {3, 20, 0},      {0.5, 5, 0},
                    {1, 10, 0}, {4, 30, 0}, {NAN, 9, 0}, {0.1, -2, true}, {5, NAN, 0}};
    const bool want[] = {true, true, false, false, true, false, true, false, true, false};
    qz_mixed_front(p, 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(p[i].on_front, want[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_choice_is_the_best_of_all_for_its_price),
        cmocka_unit_test(all_prices_are_found),
        cmocka_unit_test(few_prices_keep_both_ends),
        cmocka_unit_test(the_front_has_no_point_that_another_beats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
