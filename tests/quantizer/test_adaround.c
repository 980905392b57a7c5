// SPDX-License-Identifier: MIT
//
// Adaptive rounding: against all roundings up and down of a small matrix, and its own errors
// against a formula in double.
#include "quantizer/adaround.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define K 8
#define N 12
#define ROWS 400

static float x[ROWS][K], w[K][N], scales[N];
static double means[K];

static double uniform(void) { return 2.0 * rand() / RAND_MAX - 1; }

// Inputs with a mean, each much like the one before.
static void fill(unsigned seed, qz_gram *g) {
    srand(seed);
    memset(means, 0, sizeof means);
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < K; i++) {
            x[r][i] = (float)(uniform() + 0.5 * i + (i ? 0.9 * (double)x[r][i - 1] : 0));
            means[i] += (double)x[r][i] / ROWS;
        }
    for (int c = 0; c < N; c++) {
        scales[c] = 0.1f + 0.01f * (float)c;
        for (int i = 0; i < K; i++)
            w[i][c] = (float)(0.6 * uniform());
    }
    assert_int_equal(qz_gram_init(g, K), QRN_OK);
    qz_gram_add(g, x[0], ROWS);
}

// Mean squared error of column c with those integers, without what the mean makes.
static double error_of(int c, const double *q, int centred) {
    double sum = 0;
    for (int r = 0; r < ROWS; r++) {
        double e = 0;
        for (int i = 0; i < K; i++)
            e += (q[i] * (double)scales[c] - (double)w[i][c]) *
                 ((double)x[r][i] - (centred ? means[i] : 0));
        sum += e * e / ROWS;
    }
    return sum;
}

// The least error of all 2^K roundings of a column.
static double least_of(int c, int centred) {
    double least = INFINITY;
    for (int bits = 0; bits < 1 << K; bits++) {
        double q[K];
        for (int i = 0; i < K; i++)
            q[i] = floor((double)w[i][c] / (double)scales[c]) + (bits >> i & 1);
        least = fmin(least, error_of(c, q, centred));
    }
    return least;
}

static void compare(int centred) {
    double before = 0, after = 0, plain = 0, mine = 0, best = 0;
    int8_t out[K][N];
    qz_gram g;
    fill(3, &g);
    const qz_rounding r = {w[0], K, N, scales, 0, -127, 127, out[0]};
    assert_int_equal(qz_adaround(&r, &g, centred ? means : NULL, &before, &after), QRN_OK);
    for (int c = 0; c < N; c++) {
        double q[K], nearest[K];
        for (int i = 0; i < K; i++) {
            q[i] = out[i][c];
            nearest[i] = rint((double)w[i][c] / (double)scales[c]);
        }
        plain += error_of(c, nearest, centred);
        mine += error_of(c, q, centred);
        best += least_of(c, centred);
    }
    assert_true(mine < (centred ? 0.4 : 0.05) * plain); // means are most of what can be made up for
    assert_true(mine < 2 * best);
    assert_true(fabs(before - plain) < 0.1 * plain && fabs(after - mine) < 0.5 * mine);
    qz_gram_free(&g);
}

static void results_come_nearly_as_close_as_any_rounding(void **state) {
    (void)state;
    compare(0);
}

static void what_a_bias_takes_away_does_not_count(void **state) {
    (void)state;
    compare(1);
}

static void values_stay_in_their_range(void **state) {
    int8_t out[K][N];
    qz_gram g;
    (void)state;
    fill(4, &g);
    const qz_rounding r = {w[0], K, N, scales, 0, -2, 1, out[0]};
    assert_int_equal(qz_adaround(&r, &g, NULL, NULL, NULL), QRN_OK);
    for (int i = 0; i < K; i++)
        for (int c = 0; c < N; c++)
            assert_in_range(out[i][c] + 2, 0, 3);
    qz_gram_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_come_nearly_as_close_as_any_rounding),
        cmocka_unit_test(what_a_bias_takes_away_does_not_count),
        cmocka_unit_test(values_stay_in_their_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
