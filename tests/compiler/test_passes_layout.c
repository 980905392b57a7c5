// SPDX-License-Identifier: MIT
//
// Pass "layout": steps between a Transpose and the one that undoes it.
#include "small_graph.h"

#include <math.h>
#include <string.h>

SMALL_FIXTURE(g)

static const uint32_t last[] = {0, 2, 3, 1}, first[] = {0, 3, 1, 2}, other[] = {0, 3, 2, 1};

static uint32_t channels(const float *numbers, uint32_t n) {
    return small_constant(&g, QNN_DATATYPE_FLOAT_32, SHAPE(n), 0.0f, 0, numbers,
                          n * (uint32_t)sizeof *numbers);
}

// Transpose, an op on images of 5 channels, Transpose.
static void between(const char *op, const uint32_t *size, const uint32_t *back, uint32_t n_factors,
                    bool same, bool read) {
    static const float factors[5] = {2, -1, 3, 0, 5}, shifts[5] = {1, 0, -4, 7, 2};
    uint32_t x = INPUT(&g, 2, 5, 3, 4), t = INNER(&g, 2, 3, 4, 5);
    uint32_t u = INNER(&g, 2, size[0], size[1], 5), y;
    if (back == first)
        y = OUTPUT(&g, 2, 5, size[0], size[1]);
    else
        y = OUTPUT(&g, 2, 5, size[1], size[0]);
    uint32_t in[3] = {t};
    small_transpose(&g, x, t, last);
    if (n_factors > 0)
        in[1] = channels(factors, 5);
    if (n_factors > 1)
        in[2] = same ? in[1] : channels(shifts, 5);
    small_node(&g, op, in, 1 + n_factors, &u, 1, NULL, 0);
    small_transpose(&g, u, y, back);
    if (read)
        small_unary(&g, QNN_OP_ELEMENT_WISE_NEG, t, OUTPUT(&g, 2, 3, 4, 5));
}

static void batchnorm_leaves_channels_first(void **state) {
    (void)state;
    between(QNN_OP_BATCHNORM, (const uint32_t[]){3, 4}, first, 2, false, false);
    small_expect(&g, 3, 1);
}

static void batchnorm_without_shifts_leaves_channels_first(void **state) {
    (void)state;
    between(QNN_OP_BATCHNORM, (const uint32_t[]){3, 4}, first, 1, false, false);
    small_expect(&g, 3, 1);
}

static void constants_that_others_read_keep_their_shape(void **state) {
    (void)state;
    between(QNN_OP_BATCHNORM, (const uint32_t[]){3, 4}, first, 2, true, false);
    small_expect(&g, 3, 3);
}

static void resizing_is_one_step_in_the_layout_before(void **state) {
    (void)state;
    between(QNN_OP_RESIZE_NEAREST_NEIGHBOR, (const uint32_t[]){6, 8}, first, 0, false, false);
    small_expect(&g, 4, 1);
}

static void resizing_by_other_factors_too(void **state) {
    (void)state;
    between(QNN_OP_RESIZE_NEAREST_NEIGHBOR, (const uint32_t[]){2, 9}, first, 0, false, false);
    small_expect(&g, 4, 1);
}

static void a_transpose_to_another_layout_stays(void **state) {
    (void)state;
    between(QNN_OP_RESIZE_NEAREST_NEIGHBOR, (const uint32_t[]){6, 8}, other, 0, false, false);
    small_expect(&g, 4, 3);
}

static void a_transpose_that_is_read_stays(void **state) {
    (void)state;
    between(QNN_OP_BATCHNORM, (const uint32_t[]){3, 4}, first, 2, false, true);
    small_expect(&g, 4, 4);
}

// Statistics and factors are two steps: results differ in their last bits.
static void instance_norm_takes_channels_as_they_lie(void **state) {
    (void)state;
    between(QNN_OP_INSTANCE_NORM, (const uint32_t[]){3, 4}, first, 2, false, false);
    small_run sum = small_go(&g, "-all", 1), fast = small_go(&g, "", 1);
    assert_int_equal(sum.n_steps, 3);
    assert_int_equal(fast.n_steps, 2);
    assert_int_equal(fast.n_out, sum.n_out);
    for (size_t i = 0; i < sum.n_out / sizeof(float); i++) {
        float a, b;
        memcpy(&a, sum.out + i * sizeof a, sizeof a);
        memcpy(&b, fast.out + i * sizeof b, sizeof b);
        assert_true(fabsf(a - b) <= 1e-5f * (1 + fabsf(a)));
    }
    small_free(&sum);
    small_free(&fast);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(batchnorm_leaves_channels_first),
        TEST(batchnorm_without_shifts_leaves_channels_first),
        TEST(constants_that_others_read_keep_their_shape),
        TEST(resizing_is_one_step_in_the_layout_before),
        TEST(resizing_by_other_factors_too),
        TEST(a_transpose_to_another_layout_stays),
        TEST(a_transpose_that_is_read_stays),
        TEST(instance_norm_takes_channels_as_they_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
