// SPDX-License-Identifier: MIT
//
// Pass "rotary": a rotary embedding becomes one step with the same bytes; what only looks like one
// stays.
#include "small_graph.h"

#include "compiler/compile.h"
#include "kernels/eltwise/rotate.h"

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

// x cos + (-b, a) sin; the operands of sums and products in one of 8 orders.
static void whole(const uint32_t *shape, const uint32_t *angles, uint32_t order, mistake m) {
    const char *add = QNN_OP_ELEMENT_WISE_ADD;
    uint32_t half = shape[3] / 2;
    uint32_t x = small_tensor(&g, QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, shape);
    uint32_t cos = small_tensor(&g, QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, angles);
    uint32_t sin = small_tensor(&g, QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, angles);
    uint32_t other = small_tensor(&g, QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, shape);
    uint32_t y = small_tensor(&g, QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, shape);
    uint32_t a = part(x, shape, m == SWAPPED ? half : 0);
    uint32_t b =
        part(m == SOURCE ? other : x, shape, m == SWAPPED ? 0 : half - (m == OVERLAP ? 1 : 0));
    uint32_t negative = INNER(&g, shape[0], shape[1], shape[2], half);
    small_unary(&g, m == SIGN ? QNN_OP_ELEMENT_WISE_ABS : QNN_OP_ELEMENT_WISE_NEG, b, negative);
    uint32_t turned = INNER(&g, shape[0], shape[1], shape[2], shape[3]);
    small_concat(&g, (uint32_t[]){negative, a}, 2, turned, 3);
    uint32_t straight = INNER(&g, shape[0], shape[1], shape[2], shape[3]);
    uint32_t across = INNER(&g, shape[0], shape[1], shape[2], shape[3]);
    uint32_t from = m == COS ? other : x;
    small_binary(&g, MUL, order & 1 ? cos : from, order & 1 ? from : cos, straight);
    small_binary(&g, MUL, order & 2 ? sin : turned, order & 2 ? turned : sin, across);
    small_binary(&g, add, order & 4 ? across : straight, order & 4 ? straight : across, y);
}

static void rows_with_an_angle_for_each_column_are_one_step(void **state) {
    (void)state;
    for (uint32_t order = 0; order < 8; order++) {
        if (order)
            small_begin(&g);
        whole(SHAPE(1, 3, 19, 34), SHAPE(1, 1, 19, 34), order, NONE);
        small_expect(&g, 7, 1);
        if (order < 7)
            small_end(&g);
    }
}

static void other_whole_sums_stay(void **state) {
    (void)state;
    for (mistake m = NONE + 1; m < N_MISTAKES; m++) {
        if (m > NONE + 1)
            small_begin(&g);
        whole(SHAPE(1, 3, 19, 34), SHAPE(1, 1, 19, 34), 0, m);
        small_expect(&g, 7, 7);
        if (m + 1 < N_MISTAKES)
            small_end(&g);
    }
}

// Every product and sum is rounded to fp16, in the step itself, also in a graph that is stored.
static void rounded_rows_are_one_step(void **state) {
    (void)state;
    whole(SHAPE(1, 9, 1, 64), SHAPE(1, 1, 1, 64), 0, NONE);
    const qrn_api_graph *object = qrn_handle_get(QRN_KIND_GRAPH, g.handle);
    for (qrn_fp16_rule rule = QRN_FP16_IEEE; rule <= QRN_FP16_WIDE_RANGE; rule++) {
        const qrn_compile_options opt = {.passes = "", .fp16 = rule, .stored = true};
        qrn_compiled *cg = NULL;
        uint32_t n = 0;
        assert_int_equal(qrn_compile(object->ir, &opt, &cg), QRN_OK);
        for (uint32_t i = 0; i < cg->n_steps; i++)
            if (cg->steps[i].op == &qrn_cop_rotate) {
                assert_int_equal(((const qrn_rotate_args *)cg->steps[i].args)->rule, rule);
                n++;
            }
        assert_int_equal(n, 1);
        assert_int_equal(cg->n_steps, 4); // inputs are rounded before: x, cos and sin
        assert_int_equal(qrn_compiled_verify(cg, true), QRN_OK);
        qrn_compiled_destroy(cg);
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
        TEST(rows_with_an_angle_for_each_column_are_one_step),
        TEST(other_whole_sums_stay),
        TEST(rounded_rows_are_one_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
