// SPDX-License-Identifier: MIT
//
// Sampling and rotary positions: draws against the probabilities of a softmax in double precision,
// frequencies against the formula of Llama 3.1 computed by numpy.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "frontend/llm/rope.h"
#include "frontend/llm/sample.h"

enum { VOCAB = 6, DRAWS = 40000 };
static const float logits[VOCAB] = {0.5f, 2.0f, -1.0f, 1.0f, 0.0f, 1.5f};

static ql_sampler *make(ql_sampling how) {
    ql_sampler *s = NULL;
    assert_int_equal(ql_sampler_make(&how, VOCAB, &s), QRN_OK);
    return s;
}

static uint32_t choose(ql_sampler *s, const float *from) {
    float copy[VOCAB];
    uint32_t token = VOCAB;
    memcpy(copy, from, sizeof copy);
    assert_int_equal(ql_sampler_choose(s, copy, &token), QRN_OK);
    return token;
}

// Counts draws and compares each share with `want` within four standard deviations.
static void expect_shares(ql_sampling how, const double *want) {
    unsigned counts[VOCAB] = {0};
    ql_sampler *s = make(how);
    for (int i = 0; i < DRAWS; i++)
        counts[choose(s, logits)]++;
    ql_sampler_close(s);
    for (int i = 0; i < VOCAB; i++) {
        double sigma = sqrt(want[i] * (1 - want[i]) / DRAWS);
        assert_true(fabs((double)counts[i] / DRAWS - want[i]) <= 4 * sigma);
    }
}

// Softmax of the tokens in a set.
static void softmax(double temperature, unsigned set, double *out) {
    double sum = 0;
    for (int i = 0; i < VOCAB; i++) {
        out[i] = set >> i & 1 ? exp((double)logits[i] / temperature) : 0;
        sum += out[i];
    }
    for (int i = 0; i < VOCAB; i++)
        out[i] /= sum;
}

static void greedy_takes_the_largest_and_of_equal_ones_the_first(void **state) {
    (void)state;
    static const float equal[VOCAB] = {1, 3, 2, 3, 3, 0};
    ql_sampler *s = make((ql_sampling){0});
    assert_int_equal(choose(s, logits), 1);
    assert_int_equal(choose(s, equal), 1);
    ql_sampler_close(s);
}

static void draws_follow_the_softmax_of_the_temperature(void **state) {
    (void)state;
    double want[VOCAB];
    softmax(1, 0x3f, want);
    expect_shares((ql_sampling){.temperature = 1, .seed = 1}, want);
    softmax(0.5, 0x3f, want);
    expect_shares((ql_sampling){.temperature = 0.5, .seed = 2}, want);
}

static void top_k_and_top_p_leave_the_most_probable_tokens(void **state) {
    (void)state;
    double want[VOCAB];
    softmax(1, 1 << 1 | 1 << 5 | 1 << 3, want);
    expect_shares((ql_sampling){.temperature = 1, .top_k = 3, .seed = 3}, want);
    // 1 has 0.420 of all, 5 has 0.255: both are needed for 0.65.
    softmax(1, 1 << 1 | 1 << 5, want);
    expect_shares((ql_sampling){.temperature = 1, .top_p = 0.65, .seed = 4}, want);
}

static void a_penalty_divides_what_is_above_zero_and_multiplies_the_rest(void **state) {
    (void)state;
    ql_sampler *s = make((ql_sampling){.repeat_penalty = 2});
    ql_sampler_note(s, 1);
    assert_int_equal(choose(s, logits), 5); // 2.0 became 1.0
    ql_sampler_note(s, 5);
    static const float low[VOCAB] = {-3, -1, -3, -3, -1.5f, -9};
    assert_int_equal(choose(s, low), 4); // -1 became -2
    ql_sampler_close(s);
}

static void logits_that_are_no_numbers_are_an_error(void **state) {
    (void)state;
    float broken[VOCAB] = {0, 1, NAN, 2, 3, 4}, empty[VOCAB];
    uint32_t token;
    ql_sampler *s = make((ql_sampling){.temperature = 1});
    assert_int_equal(ql_sampler_choose(s, broken, &token), QRN_E_GENERAL);
    assert_non_null(strstr(qrn_message(), "token 2 is NaN"));
    for (int i = 0; i < VOCAB; i++)
        empty[i] = -INFINITY;
    assert_int_equal(ql_sampler_choose(s, empty, &token), QRN_E_GENERAL);
    ql_sampler_close(s);
}

static void frequencies_are_those_of_the_formula(void **state) {
    (void)state;
    static const struct {
        unsigned i;
        double want; // of numpy: theta 500000, 64 numbers, factor 32, 1, 4, 8192
    } rows[] = {{0, 1.0},
                {5, 0.12868737343265052},
                {14, 0.0032114459947525913},
                {15, 0.001290547928209264},
                {16, 0.00042955679655936815},
                {17, 9.70828780262767e-05},
                {18, 1.9461638184831125e-05},
                {20, 8.570255489881478e-06},
                {31, 9.418306725434911e-08}};
    const ql_rope r = {500000, QL_ROPE_LLAMA3, 32, 1, 4, 8192, 0, 0, 0};
    float f[32];
    ql_rope_frequencies(&r, 32, f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_true(fabs((double)f[rows[i].i] / rows[i].want - 1) < 1e-6);
    const ql_rope plain = {.theta = 10000},
                  linear = {.theta = 10000, .scaling = QL_ROPE_LINEAR, .factor = 4};
    ql_rope_frequencies(&plain, 32, f);
    assert_true(fabs((double)f[31] / pow(10000, -31.0 / 32) - 1) < 1e-6);
    ql_rope_frequencies(&linear, 32, f);
    assert_true(fabs((double)f[31] * 4 / pow(10000, -31.0 / 32) - 1) < 1e-6);
}

static void yarn_mixes_frequencies_and_raises_the_amplitude(void **state) {
    (void)state;
    static const struct {
        unsigned i;
        double want; // of the paper's formula in Python: theta 1e6, 128 numbers, factor 4, 32768
    } rows[] = {{0, 1.0},
                {20, 0.01333521432163324},
                {23, 0.006978305848598663},
                {30, 0.001064360981247002},
                {38, 9.262301704129457e-05},
                {45, 1.510740975595332e-05},
                {63, 3.102344401879299e-07}};
    ql_rope r = {.theta = 1e6, .scaling = QL_ROPE_YARN, .factor = 4, .original_positions = 32768};
    r.beta_fast = 32;
    r.beta_slow = 1;
    float f[64], c, s;
    ql_rope_frequencies(&r, 64, f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_true(fabs((double)f[rows[i].i] / rows[i].want - 1) < 1e-6);
    assert_true(fabs((double)ql_rope_amplitude(&r) - 1.138629436111989) < 1e-6);
    ql_rope_row(f, 1, 0.5f, 2, 1, &c, &s);
    assert_true(fabs((double)c - cos(2.0) / 2) < 1e-6 && fabs((double)s - sin(2.0) / 2) < 1e-6);
    r.amplitude = 1.5;
    assert_true(ql_rope_amplitude(&r) == 1.5f);
}

static void rows_of_angles_repeat_for_both_halves(void **state) {
    (void)state;
    static const float f[2] = {1.0f, 0.25f};
    float c[4], s[4];
    ql_rope_row(f, 2, 1, 3, 4, c, s);
    for (int i = 0; i < 4; i++) {
        assert_true(fabs((double)c[i] - cos(3 * (double)f[i % 2])) < 1e-6);
        assert_true(fabs((double)s[i] - sin(3 * (double)f[i % 2])) < 1e-6);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greedy_takes_the_largest_and_of_equal_ones_the_first),
        cmocka_unit_test(draws_follow_the_softmax_of_the_temperature),
        cmocka_unit_test(top_k_and_top_p_leave_the_most_probable_tokens),
        cmocka_unit_test(a_penalty_divides_what_is_above_zero_and_multiplies_the_rest),
        cmocka_unit_test(logits_that_are_no_numbers_are_an_error),
        cmocka_unit_test(frequencies_are_those_of_the_formula),
        cmocka_unit_test(yarn_mixes_frequencies_and_raises_the_amplitude),
        cmocka_unit_test(rows_of_angles_repeat_for_both_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
