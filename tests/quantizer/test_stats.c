// SPDX-License-Identifier: MIT
//
// Statistics of tensors: the same to the count in any order and any division, and the ranges that
// follow from them, against plain loops over the values.
#include "quantizer/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N 40000

static float values[N];

static void fill(unsigned seed) {
    srand(seed);
    for (int i = 0; i < N; i++) {
        double u = (rand() + 1.0) / (RAND_MAX + 2.0), v = (rand() + 1.0) / (RAND_MAX + 2.0);
        values[i] = (float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
    }
    values[17] = -300;
    values[18] = 0;
    values[19] = -64; // the first edge of bins of a power of two
    values[20] = 1e-20f;
}

static void add_in_parts(qz_stats *s, size_t part, bool backwards) {
    assert_int_equal(qz_stats_init(s, true), QRN_OK);
    for (size_t at = 0; at < N; at += part) {
        size_t first = backwards ? N - at - part : at;
        qz_stats_add(s, values + first, part);
    }
}

static void check_same(const qz_stats *a, const qz_stats *b) {
    assert_true(a->min == b->min && a->max == b->max && a->above == b->above);
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->exponent, b->exponent);
    assert_memory_equal(a->bins, b->bins, QZ_BINS * sizeof *a->bins);
}

static void order_and_division_do_not_matter(void **state) {
    (void)state;
    fill(1);
    qz_stats all, parts, back;
    add_in_parts(&all, N, false);
    add_in_parts(&parts, 10, false);
    add_in_parts(&back, 100, true);
    check_same(&all, &parts);
    check_same(&all, &back);
    qz_stats_free(&all);
    qz_stats_free(&parts);
    qz_stats_free(&back);
}

static void merging_is_as_if_all_had_been_added(void **state) {
    (void)state;
    fill(2);
    for (size_t cut = 0; cut <= N; cut += N / 8) {
        qz_stats all, a, b;
        add_in_parts(&all, N, false);
        assert_int_equal(qz_stats_init(&a, true), QRN_OK);
        assert_int_equal(qz_stats_init(&b, true), QRN_OK);
        qz_stats_add(&a, values, cut);
        qz_stats_add(&b, values + cut, N - cut);
        qz_stats_merge(&a, &b);
        check_same(&all, &a);
        qz_stats_free(&all);
        qz_stats_free(&a);
        qz_stats_free(&b);
    }
}

static void bins_count_what_lies_in_them(void **state) {
    (void)state;
    fill(3);
    qz_stats s;
    add_in_parts(&s, N, false);
    double width = ldexp(1, s.exponent);
    uint64_t want[QZ_BINS] = {0};
    for (int i = 0; i < N; i++) {
        double at = floor((double)values[i] / width) + QZ_BINS / 2;
        assert_true(at >= 0 && at < QZ_BINS);
        want[(int)at]++;
    }
    assert_memory_equal(s.bins, want, sizeof want);
    qz_stats_free(&s);
}

static void numbers_that_are_none_are_counted_apart(void **state) {
    (void)state;
    const float x[] = {1, -INFINITY, NAN, INFINITY, -2000, -3};
    qz_stats s;
    assert_int_equal(qz_stats_init(&s, true), QRN_OK);
    qz_stats_add(&s, x, 6);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.n_nan, 2);
    assert_int_equal(s.n_masked, 2);
    assert_true(s.min == -2000 && s.max == 1 && s.above == -3);
    qz_stats_free(&s);
}

// Any length, with and without numbers that are none, against a plain loop.
static void every_value_is_looked_at(void **state) {
    (void)state;
    static const float odd[] = {NAN, INFINITY, -INFINITY, -5000, -1000, -999, -1e-42f, 3e38f};
    for (size_t n = 1; n < 5000; n = n * 5 / 4 + 1)
        for (size_t kind = 0; kind < 9; kind++) {
            fill((unsigned)(n + kind));
            if (kind < 8)
                values[n * 7 / 11] = odd[kind];
            double low = INFINITY, high = -INFINITY, above = INFINITY;
            uint64_t finite = 0, masked = 0, bad = 0;
            for (size_t i = 0; i < n; i++) {
                double v = (double)values[i];
                bad += isnan(v) || v == INFINITY;
                masked += v <= QZ_MASKED;
                finite += isfinite(v);
                low = isfinite(v) && v < low ? v : low;
                high = isfinite(v) && v > high ? v : high;
                above = isfinite(v) && v > QZ_MASKED && v < above ? v : above;
            }
            qz_stats s;
            assert_int_equal(qz_stats_init(&s, true), QRN_OK);
            qz_stats_add(&s, values, n);
            assert_int_equal(s.n, finite);
            assert_int_equal(s.n_masked, masked);
            assert_int_equal(s.n_nan, bad);
            if (finite)
                assert_true(s.min == low && s.max == high);
            assert_true(s.above == above);
            uint64_t counted = 0;
            for (int i = 0; i < QZ_BINS; i++)
                counted += s.bins[i];
            assert_int_equal(counted, finite);
            qz_stats_free(&s);
        }
}

// Tiny negative values lie below 0 whatever the width of the bins was when they came.
static void tiny_values_keep_their_sign(void **state) {
    (void)state;
    float x[64];
    for (int i = 0; i < 64; i++)
        x[i] = ldexpf(i % 2 ? 1.f : -1.f, -149 + i / 2);
    const float large = 1e30f;
    qz_stats early, late;
    assert_int_equal(qz_stats_init(&early, true), QRN_OK);
    assert_int_equal(qz_stats_init(&late, true), QRN_OK);
    qz_stats_add(&early, &large, 1);
    qz_stats_add(&early, x, 64);
    qz_stats_add(&late, x, 64);
    qz_stats_add(&late, &large, 1);
    check_same(&early, &late);
    assert_int_equal(early.bins[QZ_BINS / 2 - 1], 32);
    qz_stats_clear(&late);
    assert_true(late.n == 0 && late.bins[QZ_BINS / 2] == 0);
    qz_stats_free(&early);
    qz_stats_free(&late);
}

// Sizes against frexp: zeros, NaN and infinity have none; of many values every 17th counts.
static void sizes_are_powers_of_two(void **state) {
    (void)state;
    static const float odd[] = {0, -0.0f, NAN, INFINITY, -INFINITY, 1e-42f, -1e-13f, 3e38f, 1};
    for (size_t n = 3; n < N; n = n * 7 / 2 + 1) {
        uint64_t want[QZ_SIZES] = {0};
        qz_stats s;
        fill((unsigned)n);
        for (size_t i = 0; i < n; i += 3)
            values[i] = odd[i / 3 % 9];
        for (size_t i = 0; i<n; i += n> 4096 ? QZ_SIZES_STEP : 1) {
            int e;
            frexp((double)values[i], &e); // [2^(e-1), 2^e)
            e = e - 1 + 40;
            if (isfinite(values[i]) && values[i] != 0)
                want[e < 0 ? 0 : e >= QZ_SIZES ? QZ_SIZES - 1 : e]++;
        }
        assert_int_equal(qz_stats_init(&s, false), QRN_OK);
        qz_stats_add(&s, values, n);
        for (int i = 0; i < QZ_SIZES; i++)
            assert_int_equal(s.sizes[i], want[i]);
        qz_stats_free(&s);
    }
}

static void a_percentile_leaves_that_share_outside(void **state) {
    (void)state;
    fill(4);
    qz_stats s;
    double low, high, tail = 0.001;
    add_in_parts(&s, N, false);
    qz_stats_percentile(&s, tail, &low, &high);
    int below = 0, above = 0;
    double width = ldexp(1, s.exponent);
    for (int i = 0; i < N; i++) {
        below += (double)values[i] < low;
        above += (double)values[i] > high;
    }
    assert_true(below <= tail * N && above <= tail * N);
    int deeper = 0; // one bin further in would cut too much off
    for (int i = 0; i < N; i++)
        deeper += (double)values[i] < low + width;
    assert_true(deeper > tail * N);
    qz_stats_free(&s);
}

static double squared_error(double low, double high, double steps) {
    double step = (high - low) / steps, sum = 0;
    for (int i = 0; i < N; i++) {
        double q = rint((double)values[i] / step), a = rint(low / step), b = rint(high / step);
        double d = (double)values[i] - step * (q < a ? a : q > b ? b : q);
        sum += d * d;
    }
    return sum;
}

static void the_least_error_is_less_than_that_of_the_whole_range(void **state) {
    (void)state;
    fill(5);
    values[17] = -30;
    values[19] = 0;
    qz_stats s;
    double low, high;
    add_in_parts(&s, N, false);
    qz_stats_least_error(&s, 4, &low, &high);
    assert_true(low > -30 && low < -2 && high > 1.5);
    assert_true(squared_error(low, high, 15) < 0.5 * squared_error(s.min, s.max, 15));
    qz_stats_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_division_do_not_matter),
        cmocka_unit_test(merging_is_as_if_all_had_been_added),
        cmocka_unit_test(bins_count_what_lies_in_them),
        cmocka_unit_test(numbers_that_are_none_are_counted_apart),
        cmocka_unit_test(every_value_is_looked_at),
        cmocka_unit_test(tiny_values_keep_their_sign),
        cmocka_unit_test(sizes_are_powers_of_two),
        cmocka_unit_test(a_percentile_leaves_that_share_outside),
        cmocka_unit_test(the_least_error_is_less_than_that_of_the_whole_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
