// SPDX-License-Identifier: MIT
//
// Pass "rotary": a rotary embedding becomes one step with the same bytes; what only looks like one
// stays.
#include "small_graph.h"

#define MUL QNN_OP_ELEMENT_WISE_MULTIPLY

typedef enum mistake {
    NONE,
    OVERLAP, // b begins one number early
    SIGN,    // a cos + b sin
    COS,     // another cosine for b
    SWAPPED, // b before a
    SOURCE,  // b is cut from another value
    N_MISTAKES
} mistake;

SMALL_FIXTURE(g)

static uint32_t part(uint32_t x, const uint32_t *shape, uint32_t from) {
    uint32_t y = INNER(&g, shape[0], shape[1], shape[2], shape[3] / 2);
    const int32_t ranges[] = {0,
                              (int32_t)shape[0],
                              1,
                              0,
                              (int32_t)shape[1],
                              1,
                              0,
                              (int32_t)shape[2],
                              1,
                              (int32_t)from,
                              (int32_t)(from + shape[3] / 2),
                              1};
    small_slice(&g, x, y, ranges);
    return y;
}

static uint32_t with(const char *op, uint32_t a, uint32_t b, const uint32_t *shape) {
    uint32_t y = INNER(&g, shape[0], shape[1], shape[2], shape[3] / 2);
    small_binary(&g, op, a, b, y);
    return y;
}

// Rotates rows of `shape`; returns a cos.
static uint32_t rotary(const uint32_t *shape, const uint32_t *angles, mistake m) {
    const char *add = QNN_OP_ELEMENT_WISE_ADD, *sub = QNN_OP_ELEMENT_WISE_SUBTRACT;
    uint32_t half = shape[3] / 2,
             x = small_tensor(&g, QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, shape);
    uint32_t cos = small_tensor(&g, QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, angles);
    uint32_t sin = small_tensor(&g, QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, angles);
    uint32_t other = small_tensor(&g, QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32,
                                  m == SOURCE ? shape : angles);
    uint32_t y = small_tensor(&g, QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, shape);
    uint32_t a = part(x, shape, m == SWAPPED ? half : 0);
    uint32_t b =
        part(m == SOURCE ? other : x, shape, m == SWAPPED ? 0 : half - (m == OVERLAP ? 1 : 0));
    uint32_t ac = with(MUL, a, cos, shape), bs = with(MUL, b, sin, shape);
    uint32_t first = with(m == SIGN ? add : sub, ac, bs, shape);
    uint32_t as = with(MUL, a, sin, shape), bc = with(MUL, b, m == COS ? other : cos, shape);
    small_concat(&g, (uint32_t[]){first, with(add, as, bc, shape)}, 2, y, 3);
    return ac;
}

static void rotary_is_one_step(void **state) {
    (void)state;
    rotary(SHAPE(1, 3, 37, 34), SHAPE(1, 1, 37, 17), NONE);
    small_expect(&g, 9, 1);
}

static void one_angle_for_all_heads(void **state) {
    (void)state;
    rotary(SHAPE(2, 19, 5, 64), SHAPE(2, 19, 1, 32), NONE);
    small_expect(&g, 9, 1);
}

static void one_angle_for_all_batches_and_heads(void **state) {
    (void)state;
    rotary(SHAPE(3, 19, 5, 6), SHAPE(1, 19, 1, 3), NONE);
    small_expect(&g, 9, 1);
}

static void an_angle_for_each_row(void **state) {
    (void)state;
    rotary(SHAPE(2, 3, 11, 8), SHAPE(2, 3, 11, 4), NONE);
    small_expect(&g, 9, 1);
}

// Rows that one step does not have: angles of each batch, but of no head.
static void angles_around_the_heads_stay(void **state) {
    (void)state;
    rotary(SHAPE(2, 3, 11, 8), SHAPE(2, 1, 11, 4), NONE);
    small_expect(&g, 9, 9);
}

static void rotary_leaves_steps_that_are_read(void **state) {
    (void)state;
    uint32_t ac = rotary(SHAPE(1, 3, 37, 34), SHAPE(1, 1, 37, 17), NONE);
    small_unary(&g, QNN_OP_ELEMENT_WISE_ABS, ac, OUTPUT(&g, 1, 3, 37, 17));
    small_expect(&g, 10, 4);
}

static void other_sums_stay(void **state) {
    (void)state;
    for (mistake m = NONE + 1; m < N_MISTAKES; m++) {
        if (m > NONE + 1)
            small_begin(&g);
        rotary(SHAPE(1, 3, 37, 34), SHAPE(1, 1, 37, 17), m);
        small_expect(&g, 9, 9);
        if (m + 1 < N_MISTAKES)
            small_end(&g);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(rotary_is_one_step),
        TEST(one_angle_for_all_heads),
        TEST(one_angle_for_all_batches_and_heads),
        TEST(an_angle_for_each_row),
        TEST(angles_around_the_heads_stay),
        TEST(rotary_leaves_steps_that_are_read),
        TEST(other_sums_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
