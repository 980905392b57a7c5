// SPDX-License-Identifier: MIT
//
// Rounding that makes up for its errors: the sums against plain loops, the integers against GPTQ's
// own procedure by way of the inverse, in double.
#include "quantizer/gram.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define K 37
#define N 150 // more than one tile
#define ROWS 203

static float x[ROWS][K], w[K][N], scales[N];

static double gauss(void) {
    double u = (rand() + 1.0) / (RAND_MAX + 2.0), v = (rand() + 1.0) / (RAND_MAX + 2.0);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

// Inputs that go together: each is half the one before.
static void fill(unsigned seed) {
    srand(seed);
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < K; i++)
            x[r][i] = (float)((1 + i % 5) * (gauss() + (i ? 1.5 * (double)x[r][i - 1] : 0)) / 4);
    for (int c = 0; c < N; c++) {
        float most = 0;
        for (int i = 0; i < K; i++) {
            w[i][c] = (float)gauss();
            most = fabsf(w[i][c]) > most ? fabsf(w[i][c]) : most;
        }
        scales[c] = most / 7;
    }
}

static void sums(qz_gram *g) {
    assert_int_equal(qz_gram_init(g, K), QRN_OK);
    qz_gram_add(g, x[0], 50);
    qz_gram_add(g, x[50], ROWS - 50);
}

static void sums_are_those_of_plain_loops(void **state) {
    (void)state;
    fill(1);
    qz_gram g;
    sums(&g);
    assert_int_equal(g.n_rows, ROWS);
    for (int i = 0; i < K; i++)
        for (int j = i; j < K; j++) {
            double want = 0, size = 0;
            for (int r = 0; r < ROWS; r++) {
                want += (double)x[r][i] * (double)x[r][j];
                size += fabs((double)x[r][i] * (double)x[r][j]);
            }
            assert_true(fabs((double)g.sums[i * K + j] - want) <= 1e-5 * size);
        }
    qz_gram_free(&g);
}

static void invert(double a[K][K]) {
    for (int p = 0; p < K; p++) { // Gauss-Jordan; positive definite, so no pivoting
        double d = a[p][p];
        a[p][p] = 1;
        for (int j = 0; j < K; j++)
            a[p][j] /= d;
        for (int i = 0; i < K; i++) {
            double f = a[i][p];
            if (i == p)
                continue;
            a[i][p] = 0;
            for (int j = 0; j < K; j++)
                a[i][j] -= f * a[p][j];
        }
    }
}

// GPTQ: rounds the input of the largest sum first, then changes all that are left by the inverse,
// from which the rounded one is eliminated.
static void gptq(const qz_gram *g, int8_t out[K][N]) {
    static double inverse[K][K], v[K][N];
    double mean = 0;
    bool done[K] = {false};
    for (int i = 0; i < K; i++)
        mean += (double)g->sums[i * K + i] / K;
    for (int i = 0; i < K; i++)
        for (int j = 0; j < K; j++)
            inverse[i][j] = (double)g->sums[i < j ? i * K + j : j * K + i] + (i == j) * 0.01 * mean;
    invert(inverse);
    for (int i = 0; i < K; i++)
        for (int c = 0; c < N; c++)
            v[i][c] = (double)w[i][c];
    for (int step = 0; step < K; step++) {
        int p = -1;
        for (int i = 0; i < K; i++) // of equal ones the last, as a stable order has it
            if (!done[i] && (p < 0 || g->sums[i * K + i] >= g->sums[p * K + p]))
                p = i;
        done[p] = true;
        for (int c = 0; c < N; c++) {
            double s = (double)scales[c], q = rint(v[p][c] / s);
            q = q < -8 ? -8 : q > 7 ? 7 : q;
            out[p][c] = (int8_t)q;
            double e = (v[p][c] - q * s) / inverse[p][p];
            for (int i = 0; i < K; i++)
                if (!done[i])
                    v[i][c] -= e * inverse[p][i];
        }
        double d = inverse[p][p];
        double row[K];
        for (int j = 0; j < K; j++)
            row[j] = inverse[p][j];
        for (int i = 0; i < K; i++)
            for (int j = 0; j < K; j++)
                if (!done[i] && !done[j])
                    inverse[i][j] -= row[i] * row[j] / d;
    }
}

static qz_rounding rounding(int8_t out[K][N]) {
    return (qz_rounding){.weights = w[0],
                         .depth = K,
                         .columns = N,
                         .scales = scales,
                         .low = -8,
                         .high = 7,
                         .out = out[0]};
}

static void integers_are_those_of_gptq(void **state) {
    (void)state;
    static int8_t got[K][N], want[K][N];
    for (unsigned seed = 2; seed < 6; seed++) {
        fill(seed);
        qz_gram g;
        sums(&g);
        qz_rounding r = rounding(got);
        assert_int_equal(qz_round(&r, &g), QRN_OK);
        gptq(&g, want);
        int columns = 0; // one tie decided otherwise changes the rest of its column
        for (int c = 0; c < N; c++) {
            bool same = true;
            for (int i = 0; i < K; i++)
                same = same && got[i][c] == want[i][c];
            columns += same;
        }
        assert_true(columns >= N - 2);
        qz_gram_free(&g);
    }
}

static double output_error(int8_t q[K][N]) {
    double sum = 0;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < N; c++) {
            double d = 0;
            for (int i = 0; i < K; i++)
                d += (double)x[r][i] * ((double)w[i][c] - q[i][c] * (double)scales[c]);
            sum += d * d;
        }
    return sum;
}

static void results_err_less_than_by_plain_rounding(void **state) {
    (void)state;
    static int8_t got[K][N], plain[K][N];
    fill(7);
    qz_gram g;
    sums(&g);
    qz_rounding r = rounding(got);
    assert_int_equal(qz_round(&r, &g), QRN_OK);
    for (int i = 0; i < K; i++)
        for (int c = 0; c < N; c++)
            plain[i][c] = (int8_t)rintf(w[i][c] / scales[c]);
    assert_true(output_error(got) < 0.6 * output_error(plain));
    qz_gram_free(&g);
}

static void inputs_that_were_never_seen_are_rounded_plainly(void **state) {
    (void)state;
    static int8_t got[K][N];
    fill(8);
    memset(x, 0, sizeof x);
    qz_gram g;
    sums(&g);
    qz_rounding r = rounding(got);
    assert_int_equal(qz_round(&r, &g), QRN_OK);
    for (int i = 0; i < K; i++)
        for (int c = 0; c < N; c++)
            assert_int_equal(got[i][c], (int)rintf(w[i][c] / scales[c]));
    qz_gram_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_plain_loops),
        cmocka_unit_test(integers_are_those_of_gptq),
        cmocka_unit_test(results_err_less_than_by_plain_rounding),
        cmocka_unit_test(inputs_that_were_never_seen_are_rounded_plainly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
