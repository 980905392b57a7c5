// SPDX-License-Identifier: MIT
//
// Rules for networks: which steps break them, which near ones do not, and gains that equal the
// estimate of the changed network. Every rule must be seen both ways.
#include "net.h"

#include "device/advice_rules.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define CHIP "SM8650" // clk 1.61, 14.16e12 MAC/s, 76 GB/s, 8 MB
#define MAX_RULES 64

static bool seen_broken[MAX_RULES], seen_kept[MAX_RULES];

static uint32_t value(net *n, bool constant, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    uint32_t index;
    const qd_value v = {.rank = 4, .dims = {a, b, c, d}, .constant = constant};
    assert_int_equal(qd_add_value(&n->g, &v, &index), QRN_OK);
    return index;
}

static uint32_t op(net *n, const char *type, uint32_t a, uint32_t b, uint32_t y) {
    const uint32_t in[] = {a, b};
    const qd_op o = {.name = type, .type = type, .in = in, .n_in = 2, .out = &y, .n_out = 1};
    assert_int_equal(qd_add_op(&n->g, &o), QRN_OK);
    return y;
}

static uint32_t unary(net *n, const char *type, uint32_t x, uint32_t y) {
    op(n, type, x, x, y);
    n->g.ops[n->g.n_ops - 1].n_in = 1;
    return y;
}

static uint32_t conv(net *n, uint32_t x, uint32_t k, uint32_t in, uint32_t out, uint32_t size) {
    return op(n, "Conv2d", x, value(n, true, k, k, in, out), value(n, false, 1, size, size, out));
}

static uint32_t input(net *n, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    uint32_t v = value(n, false, a, b, c, d);
    n->g.values[v].input = true;
    return v;
}

// Records whether the rule was broken.
static const qd_advice *note(const char *rule, const qd_advice *a) {
    for (size_t i = 0; i < qd_n_rules; i++)
        if (strcmp(qd_rules[i].name, rule) == 0)
            *(a ? &seen_broken[i] : &seen_kept[i]) = true;
    return a;
}

static const qd_advice *advise(net *n, qd_precision p, const char *rule) {
    const qd_chip *c = qd_chip_find(CHIP);
    assert_int_equal(qd_cut(&n->g, &n->s), QRN_OK);
    assert_int_equal(qd_estimate_of(&n->s, c, p, NULL, n->g.arena, &n->e), QRN_OK);
    assert_int_equal(qd_advise(&n->g, &n->s, &n->e, c, p, NULL, n->g.arena, &n->a), QRN_OK);
    for (uint32_t i = 1; i < n->a.n; i++)
        assert_true(n->a.list[i - 1].gain >= n->a.list[i].gain);
    for (uint32_t i = 0; i < n->a.n; i++)
        if (strcmp(n->a.list[i].rule, rule) == 0)
            return note(rule, &n->a.list[i]);
    return note(rule, NULL);
}

static void near(double got, double want) {
    if (fabs(got - want) > 1e-6 * fabs(want))
        fail_msg("%.12g, expected %.12g", got, want);
}

static void a_lone_batchnorm_could_go(void **state) {
    net *n = *state;
    uint32_t x = value(n, false, 1, 64, 64, 32), c = value(n, true, 1, 1, 1, 32);
    conv(n, op(n, "Batchnorm", x, c, value(n, false, 1, 64, 64, 32)), 1, 32, 32, 64);
    const qd_advice *a = advise(n, QD_W8A8, "batchnorm");
    assert_non_null(a);
    // Twice 262144 bytes at 952 GB/s and twice 5.19 us, at clk 1.61; memory hardly matters.
    double core = 2 * (262144 / 952e3 + 5.19) / 1.61;
    near(a->gain,
         n->e.us - (n->e.start + pow(pow(n->e.core - core, 4) + pow(n->e.memory, 4), 0.25)));
    assert_true(fabs(a->gain - core) < 0.01);
    assert_int_equal(a->n, 1);
    assert_int_equal(a->hits[0].step, 0);
}

static void a_transpose_in_the_middle_could_go(void **state) {
    net *n = *state;
    uint32_t x = conv(n, value(n, false, 1, 64, 64, 32), 1, 32, 32, 64);
    uint32_t y = unary(n, "Transpose", x, value(n, false, 1, 32, 64, 64));
    conv(n, y, 1, 64, 64, 64);
    const qd_advice *a = advise(n, QD_W8A8, "transpose");
    assert_non_null(a);
    assert_int_equal(a->hits[0].step, 1);
}

static void concats_want_full_tiles(void **state) {
    net *n = *state;
    uint32_t a = conv(n, value(n, false, 1, 8, 8, 32), 1, 32, 48, 8);
    uint32_t b = conv(n, value(n, false, 1, 8, 8, 32), 1, 32, 64, 8);
    op(n, "Concat", b, a, value(n, false, 1, 8, 8, 112)); // the last one may be 48
    assert_null(advise(n, QD_W8A8, "concat"));
    op(n, "Concat", a, b, value(n, false, 1, 8, 8, 112));
    const qd_advice *found = advise(n, QD_W8A8, "concat");
    assert_non_null(found);
    assert_true(found->at_most);
    assert_int_equal(found->n, 1);
    assert_int_equal(found->hits[0].step, 3);
}

// Columns count in eights, in fours of 16 bits; rows in eights.
static void concats_of_pixels(void **state) {
    net *n = *state;
    uint32_t a = value(n, false, 1, 8, 12, 32), b = value(n, false, 1, 8, 16, 32);
    op(n, "Concat", a, b, value(n, false, 1, 8, 28, 32));
    const qd_advice *found = advise(n, QD_W8A8, "concat");
    assert_non_null(found);
    assert_string_equal(found->hits[0].detail, "input 0 has 12 columns, no multiple of 8");
    assert_null(advise(n, QD_W8A16, "concat"));
    op(n, "Concat", value(n, false, 1, 12, 16, 32), b, value(n, false, 1, 20, 16, 32));
    found = advise(n, QD_W8A16, "concat");
    assert_non_null(found);
    assert_string_equal(found->hits[0].detail, "input 0 has 12 rows, no multiple of 8");
}

static void spilling_steps_are_named(void **state) {
    net *n = *state;
    uint32_t x = value(n, false, 1, 512, 512, 32);
    op(n, "ElementWiseAdd", x, x, value(n, false, 1, 512, 512, 32));
    const qd_advice *a = advise(n, QD_W8A8, "spill");
    assert_non_null(a);
    near(a->gain, n->e.us - (n->e.start + n->e.core)); // no weights: no memory traffic is left
}

static void an_activation_that_does_not_fold(void **state) {
    net *n = *state;
    uint32_t x = conv(n, value(n, false, 1, 64, 64, 32), 1, 32, 32, 64);
    unary(n, "Gelu", x, value(n, false, 1, 64, 64, 32));
    assert_non_null(advise(n, QD_W8A16, "activation"));
}

static void parallel_thin_convolutions_merge(void **state) {
    net *n = *state;
    uint32_t x = value(n, false, 1, 64, 64, 32);
    conv(n, x, 3, 32, 9, 64);
    conv(n, x, 3, 32, 7, 64);
    const qd_advice *a = advise(n, QD_W8A8, "parallel");
    assert_non_null(a);
    assert_int_equal(a->n, 1);
    double one = 4096.0 * (9 * 32 + 31.2) * 32 / 14.16e6; // 16 channels are a tile as 9 are
    near(a->gain, n->e.us - (n->e.start + pow(pow(one, 4) + pow(n->e.memory, 4), 0.25)));
}

static void rules_keep_away_from_ordinary_steps(void **state) {
    net *n = *state;
    uint32_t x = conv(n, value(n, false, 1, 64, 64, 32), 3, 32, 64, 64);
    conv(n, unary(n, "Relu", x, value(n, false, 1, 64, 64, 64)), 3, 64, 96, 64);
    for (size_t i = 0; i < qd_n_rules; i++)
        assert_null(advise(n, QD_W8A8, qd_rules[i].name));
}

static void eight_bits_are_worth_a_try(void **state) {
    net *n = *state;
    conv(n, value(n, false, 1, 64, 64, 64), 3, 64, 64, 64);
    assert_null(advise(n, QD_W8A8, "precision"));
    double us = n->e.us;
    const qd_advice *a = advise(n, QD_FP16, "precision");
    assert_non_null(a);
    near(n->e.us - a->gain, us);
    assert_true(a->at_most);
}

static void channels_fill_tiles(void **state) {
    net *n = *state;
    conv(n, value(n, false, 1, 64, 64, 64), 1, 64, 40, 64);
    const qd_advice *a = advise(n, QD_W8A8, "channels");
    assert_non_null(a);
    double us = 4096.0 * (64 + 31.2) * 32 / 14.16e6; // a tile of two less
    near(a->gain, n->e.us - (n->e.start + pow(pow(n->e.core - us, 4) + pow(n->e.memory, 4), 0.25)));
}

static void classifiers_keep_their_classes(void **state) {
    net *n = *state;
    conv(n, value(n, false, 1, 1, 1, 64), 1, 64, 1000, 1);
    assert_null(advise(n, QD_W8A8, "channels"));
}

static void grouped(net *n, uint32_t channels) {
    uint32_t w = value(n, true, 3, 3, channels / 4, channels);
    op(n, "Conv2d", value(n, false, 1, 64, 64, channels), w, value(n, false, 1, 64, 64, channels));
    n->g.ops[n->g.n_ops - 1].groups = 4;
}

static void groups_of_40_channels(void **state) {
    grouped(*state, 160);
    assert_non_null(advise(*state, QD_W8A8, "groups"));
}

static void groups_of_32_channels(void **state) {
    grouped(*state, 128);
    assert_null(advise(*state, QD_W8A8, "groups"));
}

static void pictures_of_odd_sizes(void **state) {
    net *n = *state;
    conv(n, value(n, false, 1, 17, 17, 512), 1, 512, 512, 17);
    const qd_advice *a = advise(n, QD_W8A8, "rows");
    assert_non_null(a);
    assert_non_null(strstr(a->hits[0].detail, "289 pixels or tokens count as 320"));
}

static void pictures_of_few_channels(void **state) {
    net *n = *state;
    conv(n, value(n, false, 1, 224, 224, 3), 3, 3, 32, 112);
    const qd_advice *a = advise(n, QD_W8A8, "shallow");
    assert_non_null(a);
    assert_non_null(strstr(a->hits[0].detail, "3x3 over 3 channels; 2x2 over 12"));
}

static void sixteen_channels_stay(void **state) {
    net *n = *state;
    conv(n, value(n, false, 1, 224, 224, 16), 3, 16, 32, 112);
    assert_null(advise(n, QD_W8A8, "shallow"));
}

static void convolutions_of_other_sizes_do_not_merge(void **state) {
    net *n = *state;
    uint32_t x = value(n, false, 1, 64, 64, 32);
    conv(n, x, 3, 32, 9, 64);
    conv(n, x, 1, 32, 7, 64);
    assert_null(advise(n, QD_W8A8, "parallel"));
}

static void scale_and_shift(net *n, bool constant) {
    uint32_t c = constant ? value(n, true, 1, 1, 1, 64) : value(n, false, 1, 64, 64, 64);
    uint32_t x = conv(n, value(n, false, 1, 64, 64, 32), 1, 32, 96, 64);
    uint32_t y = unary(n, "StridedSlice", x, value(n, false, 1, 64, 64, 64));
    y = op(n, "ElementWiseMultiply", y, c, value(n, false, 1, 64, 64, 64));
    op(n, "ElementWiseAdd", y, c, value(n, false, 1, 64, 64, 64));
}

static void chains_of_constants_are_convolutions(void **state) {
    net *n = *state;
    scale_and_shift(n, true);
    const qd_advice *a = advise(n, QD_W8A8, "chain");
    assert_non_null(a);
    assert_int_equal(a->n, 2);
}

static void chains_of_values_are_not(void **state) {
    scale_and_shift(*state, false);
    assert_null(advise(*state, QD_W8A8, "chain"));
}

static void four_bits_halve_the_weights(void **state) {
    net *n = *state;
    conv(n, value(n, false, 1, 8, 8, 2048), 1, 2048, 2048, 8);
    const qd_advice *a = advise(n, QD_W8A8, "int4");
    assert_non_null(a);
    double memory = 2048.0 * 2048 / 2 / 76e3;
    near(a->gain, n->e.us - (n->e.start + pow(pow(n->e.core, 4) + pow(memory, 4), 0.25)));
    assert_null(advise(n, QD_FP16, "int4"));
}

static void larger_filters_gain_nothing_by_4_bits(void **state) {
    net *n = *state;
    conv(n, value(n, false, 1, 8, 8, 1024), 3, 1024, 1024, 8);
    assert_null(advise(n, QD_W8A8, "int4"));
}

static void divisions(void **state) {
    net *n = *state;
    uint32_t x = value(n, false, 1, 64, 64, 32);
    op(n, "ElementWiseDivide", x, value(n, true, 1, 64, 64, 32), value(n, false, 1, 64, 64, 32));
    const qd_advice *a = advise(n, QD_W8A8, "division");
    assert_non_null(a);
    assert_string_equal(a->hits[0].detail, "by a constant");
    n->g.ops[0].type = "ElementWiseMultiply";
    double us = n->e.us;
    assert_null(advise(n, QD_W8A8, "division"));
    near(us - a->gain, n->e.us);
}

static void divisions_by_values(void **state) {
    net *n = *state;
    uint32_t x = value(n, false, 1, 64, 64, 32), y = value(n, false, 1, 64, 64, 32);
    op(n, "ElementWiseDivide", x, y, value(n, false, 1, 64, 64, 32));
    const qd_advice *a = advise(n, QD_W8A8, "division");
    assert_non_null(a);
    assert_non_null(strstr(a->hits[0].detail, "by another value: a gain only if"));
}

static void slopes(net *n, uint32_t count) {
    uint32_t x = conv(n, value(n, false, 1, 64, 64, 32), 1, 32, 32, 64);
    op(n, "Prelu", x, value(n, true, 1, 1, 1, count), value(n, false, 1, 64, 64, 32));
}

static void a_slope_for_each_channel(void **state) {
    net *n = *state;
    slopes(n, 32);
    const qd_advice *a = advise(n, QD_W8A8, "prelu");
    assert_non_null(a);
    n->g.ops[1].type = "Relu";
    double us = n->e.us;
    advise(n, QD_W8A8, "prelu");
    near(us - a->gain, n->e.us); // it joins the convolution
}

static void a_slope_with_nothing_to_join(void **state) {
    net *n = *state;
    uint32_t x = unary(n, "Gelu", value(n, false, 1, 64, 64, 32), value(n, false, 1, 64, 64, 32));
    op(n, "Prelu", x, value(n, true, 1, 1, 1, 32), value(n, false, 1, 64, 64, 32));
    const qd_advice *a = advise(n, QD_W8A8, "prelu");
    assert_non_null(a);
    n->g.ops[1].type = "Relu";
    double us = n->e.us;
    advise(n, QD_W8A8, "prelu");
    near(us - a->gain, n->e.us); // still a step
}

static void one_slope_for_all(void **state) {
    slopes(*state, 1);
    assert_null(advise(*state, QD_W8A8, "prelu"));
}

static void a_gelu_behind_no_convolution(void **state) {
    net *n = *state;
    uint32_t x = value(n, false, 1, 64, 64, 32);
    unary(n, "Gelu", x, value(n, false, 1, 64, 64, 32));
    assert_null(advise(n, QD_W8A16, "activation"));
}

static void a_relu_that_cannot_join(void **state) {
    net *n = *state;
    uint32_t x = conv(n, value(n, false, 1, 64, 64, 32), 1, 32, 32, 64);
    uint32_t y = unary(n, "HardSwish", x, value(n, false, 1, 64, 64, 32));
    op(n, "Concat", x, y, value(n, false, 1, 64, 64, 64));
    assert_non_null(advise(n, QD_W8A8, "shared"));
}

static void gate(net *n, bool of_itself) {
    uint32_t x = conv(n, value(n, false, 1, 64, 64, 32), 1, 32, 32, 64);
    uint32_t other = value(n, false, 1, 64, 64, 32);
    uint32_t a =
        op(n, "ElementWiseAdd", x, value(n, true, 1, 1, 1, 1), value(n, false, 1, 64, 64, 32));
    a = unary(n, "Relu6", a, value(n, false, 1, 64, 64, 32));
    op(n, "ElementWiseMultiply", of_itself ? x : other, a, value(n, false, 1, 64, 64, 32));
}

static void a_hard_swish_in_parts(void **state) {
    net *n = *state;
    gate(n, true);
    const qd_advice *a = advise(n, QD_W8A8, "hardswish");
    assert_non_null(a);
    double us = 0; // the sum and the product
    for (uint32_t i = 1; i < n->s.n; i++)
        us += n->e.steps[i].vector + n->e.steps[i].overhead;
    assert_true(fabs(a->gain - us) < 0.01 * us);
}

static void a_gate_of_something_else(void **state) {
    gate(*state, false);
    assert_null(advise(*state, QD_W8A8, "hardswish"));
}

static void copies_behind_copies(void **state) {
    net *n = *state;
    uint32_t x = conv(n, value(n, false, 1, 64, 64, 32), 1, 32, 32, 64);
    uint32_t y = unary(n, "SpaceToDepth", x, value(n, false, 1, 32, 32, 128));
    assert_null(advise(n, QD_W8A8, "copies"));
    unary(n, "StridedSlice", y, value(n, false, 1, 32, 32, 64));
    const qd_advice *a = advise(n, QD_W8A8, "copies");
    assert_non_null(a);
    assert_int_equal(a->hits[0].step, 2);
}

static void conversions_in_front_and_between(void **state) {
    net *n = *state;
    uint32_t x = input(n, 1, 64, 64, 32);
    uint32_t q = unary(n, "Quantize", x, value(n, false, 1, 64, 64, 32));
    uint32_t c = conv(n, q, 1, 32, 32, 64);
    unary(n, "Convert", c, value(n, false, 1, 64, 64, 32));
    const qd_advice *a = advise(n, QD_W8A8, "convert");
    assert_non_null(a);
    assert_int_equal(a->n, 2);
    assert_non_null(strstr(a->hits[0].detail, "could pass quantized values"));
}

static void reshaped(net *n, bool in_front) {
    uint32_t x = in_front ? input(n, 1, 1, 4096, 32) : input(n, 1, 64, 64, 32);
    if (!in_front)
        x = conv(n, x, 1, 32, 32, 64);
    uint32_t y = unary(n, "Reshape", x, value(n, false, 1, 64, 64, 32));
    conv(n, y, 3, 32, 32, 64);
}

static void a_reshape_in_front(void **state) {
    net *n = *state;
    reshaped(n, true);
    const qd_advice *a = advise(n, QD_W8A8, "first");
    assert_non_null(a);
    assert_true(a->at_most && a->gain <= 0.1 * n->e.us + 1e-6);
}

static void a_reshape_behind_a_convolution(void **state) {
    reshaped(*state, false);
    assert_null(advise(*state, QD_W8A8, "first"));
}

static void a_mean_over_the_picture(void **state) {
    net *n = *state;
    uint32_t x = conv(n, value(n, false, 1, 64, 64, 32), 1, 32, 32, 64);
    uint32_t y = unary(n, "PoolAvg2d", x, value(n, false, 1, 1, 1, 32));
    n->g.ops[1].window = 4096;
    y = op(n, "ElementWiseMultiply", x, y, value(n, false, 1, 64, 64, 32));
    assert_null(advise(n, QD_W8A8, "global")); // nothing that waits for it is a convolution
    conv(n, y, 1, 32, 32, 64);
    assert_non_null(advise(n, QD_W8A8, "global"));
}

static void concats_of_columns_and_rows(void **state) {
    net *n = *state;
    uint32_t a = value(n, false, 1, 64, 12, 32), b = value(n, false, 1, 64, 52, 32);
    op(n, "Concat", a, b, value(n, false, 1, 64, 64, 32));
    assert_non_null(advise(n, QD_W8A8, "concat"));
    assert_null(advise(n, QD_W8A16, "concat")); // 4 columns of 16 bits
    a = value(n, false, 1, 12, 64, 32), b = value(n, false, 1, 52, 64, 32);
    op(n, "Concat", a, b, value(n, false, 1, 64, 64, 32));
    assert_int_equal(advise(n, QD_W8A16, "concat")->n, 1);
}

static void tiles_that_do_not_fit(void **state) {
    net *n = *state;
    // 512 * 2048 * 3 * 8 bytes of rows: 25 MB, of 8
    uint32_t x = value(n, false, 1, 16, 512, 2048);
    op(n, "Conv2d", x, value(n, true, 3, 3, 2048, 32), value(n, false, 1, 16, 512, 32));
    const qd_advice *a = advise(n, QD_W8A8, "tile");
    assert_non_null(a);
    assert_true(a->unknown && a->gain == 0);
    assert_ptr_equal(a, &n->a.list[n->a.n - 1]);
}

// 504 columns of 1024 channels, 8 rows: 4,128,768 bytes; a row of the result: 4,032; and a filter
// of 32,768 bytes for each of its columns. Half the VTCM has 4,194,304.
static void a_row_of_pixels(net *n, uint32_t filter) {
    uint32_t x = value(n, false, 1, 16, 504, 1024);
    op(n, "Conv2d", x, value(n, true, 1, filter, 1024, 32), value(n, false, 1, 16, 504, 32));
}

static void filters_that_just_fit(void **state) {
    a_row_of_pixels(*state, 1);
    assert_null(advise(*state, QD_W8A8, "tile"));
}

static void filters_that_are_too_wide(void **state) {
    a_row_of_pixels(*state, 2);
    assert_non_null(advise(*state, QD_W8A8, "tile"));
}

static void the_best_of_many(void **state) {
    net *n = *state;
    uint32_t x = value(n, false, 1, 1, 1, 8192); // 8192 * 256 * 2 bytes are half the VTCM
    unary(n, "TopK", x, value(n, false, 1, 1, 1, 5));
    assert_null(advise(n, QD_W8A8, "tile"));
    n->g.values[x].dims[3]++;
    assert_non_null(advise(n, QD_W8A8, "tile"));
}

static void wide_sums(void **state) {
    net *n = *state;
    uint32_t x = value(n, false, 1, 2, 5461, 1); // 5461 * 256 * 3 bytes: 5464 is more than 4 MB
    op(n, "ElementWiseAdd", x, x, value(n, false, 1, 2, 5461, 1));
    assert_non_null(advise(n, QD_W8A8, "tile"));
}

static void sums_that_just_fit(void **state) {
    net *n = *state;
    uint32_t x = value(n, false, 1, 2, 5456, 1);
    op(n, "ElementWiseAdd", x, x, value(n, false, 1, 2, 5456, 1));
    assert_null(advise(n, QD_W8A8, "tile"));
}

static void a_good_network_gets_no_advice(void **state) {
    net *n = *state;
    uint32_t x = conv(n, value(n, false, 1, 64, 64, 32), 3, 32, 64, 64);
    conv(n, x, 3, 64, 96, 64);
    assert_null(advise(n, QD_W8A8, ""));
    assert_int_equal(n->a.n, 0);
}

static void nothing_comes_of_nothing(void **state) {
    net *n = *state;
    assert_null(advise(n, QD_FP16, ""));
    assert_int_equal(n->a.n, 0);
}

static int every_rule_was_seen(void **state) {
    (void)state;
    int missing = 0;
    for (size_t i = 0; i < qd_n_rules; i++)
        if (!seen_broken[i] || !seen_kept[i]) {
            print_error("rule %s was never %s\n", qd_rules[i].name,
                        seen_broken[i] ? "kept" : "broken");
            missing++;
        }
    return missing;
}

#define T(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(a_lone_batchnorm_could_go),
        T(a_transpose_in_the_middle_could_go),
        T(concats_want_full_tiles),
        T(concats_of_pixels),
        T(spilling_steps_are_named),
        T(an_activation_that_does_not_fold),
        T(parallel_thin_convolutions_merge),
        T(rules_keep_away_from_ordinary_steps),
        T(eight_bits_are_worth_a_try),
        T(channels_fill_tiles),
        T(classifiers_keep_their_classes),
        T(groups_of_40_channels),
        T(groups_of_32_channels),
        T(pictures_of_odd_sizes),
        T(pictures_of_few_channels),
        T(sixteen_channels_stay),
        T(convolutions_of_other_sizes_do_not_merge),
        T(chains_of_constants_are_convolutions),
        T(chains_of_values_are_not),
        T(four_bits_halve_the_weights),
        T(larger_filters_gain_nothing_by_4_bits),
        T(divisions),
        T(divisions_by_values),
        T(a_slope_for_each_channel),
        T(a_slope_with_nothing_to_join),
        T(one_slope_for_all),
        T(a_gelu_behind_no_convolution),
        T(a_relu_that_cannot_join),
        T(a_hard_swish_in_parts),
        T(a_gate_of_something_else),
        T(copies_behind_copies),
        T(conversions_in_front_and_between),
        T(a_reshape_in_front),
        T(a_reshape_behind_a_convolution),
        T(a_mean_over_the_picture),
        T(concats_of_columns_and_rows),
        T(tiles_that_do_not_fit),
        T(filters_that_just_fit),
        T(filters_that_are_too_wide),
        T(the_best_of_many),
        T(wide_sums),
        T(sums_that_just_fit),
        T(a_good_network_gets_no_advice),
        T(nothing_comes_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, every_rule_was_seen);
}
