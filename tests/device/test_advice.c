// SPDX-License-Identifier: MIT
//
// Rules for networks: which steps break them, and gains that equal the estimate of the changed
// network.
#include "net.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define CHIP "SM8650" // clk 1.63, 14.58e12 MAC/s, 80 GB/s, 8 MB

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

static uint32_t conv(net *n, uint32_t x, uint32_t k, uint32_t in, uint32_t out, uint32_t size) {
    return op(n, "Conv2d", x, value(n, true, k, k, in, out), value(n, false, 1, size, size, out));
}

static const qd_advice *advise(net *n, qd_precision p, const char *rule) {
    const qd_chip *c = qd_chip_find(CHIP);
    assert_int_equal(qd_cut(&n->g, &n->s), QRN_OK);
    assert_int_equal(qd_estimate_of(&n->s, c, p, 0, n->g.arena, &n->e), QRN_OK);
    assert_int_equal(qd_advise(&n->g, &n->s, &n->e, c, p, 0, n->g.arena, &n->a), QRN_OK);
    for (uint32_t i = 1; i < n->a.n; i++)
        assert_true(n->a.list[i - 1].gain >= n->a.list[i].gain);
    for (uint32_t i = 0; i < n->a.n; i++)
        if (strcmp(n->a.list[i].rule, rule) == 0)
            return &n->a.list[i];
    return NULL;
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
    // Twice 262144 bytes at 298 GB/s and twice 6.1 us, at clk 1.63; memory hardly matters.
    double core = 2 * (262144 / 298e3 + 6.1) / 1.63;
    near(a->gain,
         n->e.us - (n->e.start + pow(pow(n->e.core - core, 4) + pow(n->e.memory, 4), 0.25)));
    assert_true(fabs(a->gain - core) < 0.01);
    assert_int_equal(a->n, 1);
    assert_int_equal(a->hits[0].step, 0);
}

static void a_transpose_in_the_middle_could_go(void **state) {
    net *n = *state;
    uint32_t x = conv(n, value(n, false, 1, 64, 64, 32), 1, 32, 32, 64);
    uint32_t y = op(n, "Transpose", x, x, value(n, false, 1, 32, 64, 64));
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
    op(n, "Gelu", x, x, value(n, false, 1, 64, 64, 32));
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
    double one = 4096.0 * 9 * 32 * 32 / 14.58e6 + 0.38 / 1.63; // 16 channels are a tile as 9 are
    near(a->gain, n->e.us - (n->e.start + pow(pow(one, 4) + pow(n->e.memory, 4), 0.25)));
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

#define T(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(a_lone_batchnorm_could_go),        T(a_transpose_in_the_middle_could_go),
        T(concats_want_full_tiles),          T(spilling_steps_are_named),
        T(an_activation_that_does_not_fold), T(parallel_thin_convolutions_merge),
        T(a_good_network_gets_no_advice),    T(nothing_comes_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
