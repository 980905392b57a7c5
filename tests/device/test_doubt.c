// SPDX-License-Identifier: MIT
//
// Doubts: each appears for what nobody measured, and not for what was.
#include "net.h"

#include "device/doubt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct shape {
    uint32_t a, b, c, d;
} shape;

static uint32_t add(net *n, qd_value v, shape s) {
    uint32_t index;
    v.rank = 4;
    memcpy(v.dims, (const uint32_t[]){s.a, s.b, s.c, s.d}, 4 * sizeof(uint32_t));
    assert_int_equal(qd_add_value(&n->g, &v, &index), QRN_OK);
    return index;
}

static uint32_t op(net *n, const char *type, uint32_t a, uint32_t b, shape s) {
    uint32_t y = add(n, (qd_value){0}, s);
    const uint32_t in[] = {a, b};
    const qd_op o = {.name = type, .type = type, .in = in, .n_in = 2, .out = &y, .n_out = 1};
    assert_int_equal(qd_add_op(&n->g, &o), QRN_OK);
    return y;
}

// A convolution of 0.46 GMAC, as ordinary as can be; returns its result.
static uint32_t ordinary(net *n, uint32_t batch, uint32_t bits) {
    uint32_t x = add(n, (qd_value){.input = true}, (shape){batch, 112, 112, 64});
    uint32_t w = add(n, (qd_value){.constant = true, .bits = bits}, (shape){3, 3, 64, 64});
    return op(n, "Conv2d", x, w, (shape){batch, 112, 112, 64});
}

// The words of all doubts, each with a space behind it.
static const char *doubts(net *n, const char *chip, qd_precision p, const char *lent_to,
                          uint32_t n_elsewhere) {
    static char words[256];
    qd_doubt list[QD_MAX_DOUBTS];
    const qd_chip *c = qd_chip_find(chip);
    assert_int_equal(qd_cut(&n->g, &n->s), QRN_OK);
    assert_int_equal(qd_estimate_of(&n->s, c, p, n->options, n->g.arena, &n->e), QRN_OK);
    const qd_case all = {&n->g, &n->s, c, lent_to, p, &n->e, n->options, n_elsewhere, false};
    uint32_t count = qd_doubts_of(&all, list);
    words[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert_true(strlen(list[i].text) > 10);
        strcat(strcat(words, list[i].word), " ");
    }
    return words;
}

#define EXPECT(words, p) assert_string_equal(doubts(n, "SM8650", p, NULL, 0), words)

static void an_ordinary_network_has_none(void **state) {
    net *n = *state;
    ordinary(n, 1, 8);
    EXPECT("", QD_W8A8);
    EXPECT("", QD_W8A16);
    EXPECT("", QD_FP16);
}

static void a_batch_was_not_measured(void **state) {
    net *n = *state;
    ordinary(n, 2, 0);
    EXPECT("batch ", QD_W8A8);
}

static void weights_of_other_widths_count_as_8(void **state) {
    net *n = *state;
    ordinary(n, 1, 4);
    EXPECT("weights ", QD_W8A8);
    EXPECT("weights ", QD_W8A16);
    EXPECT("", QD_FP16); // they are unpacked
}

static void weights_of_16_bits_as_well(void **state) {
    net *n = *state;
    ordinary(n, 1, 16);
    EXPECT("weights ", QD_W8A16);
}

static void heavy_ops_are_unknown_in_8_bits_only(void **state) {
    net *n = *state;
    uint32_t x = ordinary(n, 1, 8);
    op(n, "Sigmoid", x, x, (shape){1, 112, 112, 64});
    EXPECT("heavy ", QD_W8A8);
    EXPECT("", QD_W8A16);
    EXPECT("", QD_FP16);
}

static void a_softmax_of_a_classifier_does_not_matter(void **state) {
    net *n = *state;
    ordinary(n, 1, 8);
    uint32_t x = add(n, (qd_value){0}, (shape){1, 1, 1, 1000});
    op(n, "Softmax", x, x, (shape){1, 1, 1, 1000});
    EXPECT("", QD_W8A8);
}

static void rates_of_memory_are_hardly_known(void **state) {
    net *n = *state;
    uint32_t x = add(n, (qd_value){.input = true}, (shape){1, 1, 33, 8192});
    uint32_t w = add(n, (qd_value){.constant = true, .bits = 8}, (shape){1, 1, 8192, 8192});
    op(n, "Conv2d", x, w, (shape){1, 1, 33, 8192});
    EXPECT("memory ", QD_W8A8);
}

// One row: decoding, which was measured on some chips, with 4-bit weights and at least 0.7 GB.
static void decoding_was_measured_on_some_chips(void **state) {
    net *n = *state;
    uint32_t x = add(n, (qd_value){.input = true}, (shape){1, 1, 1, 40000});
    uint32_t w = add(n, (qd_value){.constant = true, .bits = 4}, (shape){1, 1, 40000, 40000});
    op(n, "Conv2d", x, w, (shape){1, 1, 1, 40000});
    assert_string_equal(doubts(n, "SM8750", QD_W8A16, NULL, 0), "");
    assert_string_equal(doubts(n, "SM8550", QD_W8A16, NULL, 0), "memory ");
    assert_string_equal(doubts(n, "SM8750", QD_FP16, NULL, 0), "");
}

static void small_language_models_are_outside(void **state) {
    net *n = *state;
    uint32_t x = add(n, (qd_value){.input = true}, (shape){1, 1, 1, 8192});
    uint32_t w = add(n, (qd_value){.constant = true, .bits = 8}, (shape){1, 1, 8192, 8192});
    op(n, "Conv2d", x, w, (shape){1, 1, 1, 8192});
    assert_string_equal(doubts(n, "SM8750", QD_W8A16, NULL, 0), "size ");
}

static void tiny_networks_are_outside(void **state) {
    net *n = *state;
    uint32_t x = add(n, (qd_value){.input = true}, (shape){1, 8, 8, 32});
    op(n, "ElementWiseAdd", x, x, (shape){1, 8, 8, 32});
    EXPECT("size ", QD_W8A8);
}

static void huge_networks_are_outside(void **state) {
    net *n = *state;
    uint32_t x = ordinary(n, 1, 8);
    for (int i = 0; i < 400; i++) // 186 GMAC
        x = op(n, "Conv2d", x, add(n, (qd_value){.constant = true}, (shape){3, 3, 64, 64}),
               (shape){1, 112, 112, 64});
    EXPECT("size ", QD_W8A8);
}

static void divisions_rest_on_one_run(void **state) {
    net *n = *state;
    uint32_t x = ordinary(n, 1, 8);
    x = op(n, "ElementWiseDivide", x, x, (shape){1, 112, 112, 64});
    EXPECT("rare ", QD_W8A8);
    n->g.ops[1].type = "ElementWiseSubtract";
    EXPECT("", QD_W8A8);
}

static void what_is_guessed_or_left_out(void **state) {
    net *n = *state;
    uint32_t x = ordinary(n, 1, 8);
    op(n, "Wobble", x, x, (shape){1, 112, 112, 64});
    assert_string_equal(doubts(n, "SM8650", QD_W8A8, NULL, 2), "guessed elsewhere ");
}

static void lent_constants(void **state) {
    net *n = *state;
    ordinary(n, 1, 8);
    assert_string_equal(doubts(n, "SA8295", QD_W8A8, "SM8350", 0), "borrowed ");
}

static void several_precisions_in_one(void **state) {
    net *n = *state;
    qd_doubt d[QD_MAX_DOUBTS];
    ordinary(n, 1, 8);
    EXPECT("", QD_W8A16);
    qd_case c = {.graph = &n->g,
                 .steps = &n->s,
                 .chip = qd_chip_find("SM8650"),
                 .precision = QD_W8A16,
                 .e = &n->e,
                 .mixed = true};
    assert_int_equal(qd_doubts_of(&c, d), 1);
    assert_string_equal(d[0].word, "mixed");
    assert_non_null(strstr(d[0].text, "counts as a16w8"));
}

static void options_that_nobody_measured(void **state) {
    net *n = *state;
    ordinary(n, 1, 8);
    n->options = &(const qd_options){.vtcm_bytes = 8 << 20, .hvx_threads = 4, .clock = 1};
    EXPECT("", QD_W8A8);
    n->options = &(const qd_options){.clock = 0.7};
    EXPECT("power ", QD_W8A8);
    n->options = &(const qd_options){.hvx_threads = 3};
    EXPECT("threads ", QD_W8A8);
    n->options = &(const qd_options){.vtcm_bytes = 4 << 20};
    EXPECT("vtcm ", QD_W8A8);
}

#define T(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(an_ordinary_network_has_none),
        T(a_batch_was_not_measured),
        T(weights_of_other_widths_count_as_8),
        T(weights_of_16_bits_as_well),
        T(several_precisions_in_one),
        T(heavy_ops_are_unknown_in_8_bits_only),
        T(a_softmax_of_a_classifier_does_not_matter),
        T(rates_of_memory_are_hardly_known),
        T(decoding_was_measured_on_some_chips),
        T(small_language_models_are_outside),
        T(tiny_networks_are_outside),
        T(huge_networks_are_outside),
        T(divisions_rest_on_one_run),
        T(what_is_guessed_or_left_out),
        T(lent_constants),
        T(options_that_nobody_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
