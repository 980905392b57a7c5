// SPDX-License-Identifier: MIT
//
// Passes for steps on codes and for steps behind convolutions: tables of functions of one code,
// element-wise steps chained to the step before. Numbers of steps, and the same bytes with and
// without passes.
#include "small_graph.h"

#include <math.h>
#include <string.h>

SMALL_FIXTURE(g)

static uint32_t codes(Qnn_TensorType_t type, Qnn_DataType_t dtype, const uint32_t *shape,
                      float scale, int32_t offset) {
    return small_encoded(&g, type, dtype, shape, scale, offset);
}
#define IN QNN_TENSOR_TYPE_APP_WRITE
#define INSIDE QNN_TENSOR_TYPE_NATIVE
#define OUT QNN_TENSOR_TYPE_APP_READ
#define U8 QNN_DATATYPE_UFIXED_POINT_8
#define U16 QNN_DATATYPE_UFIXED_POINT_16

// --- table

// x * sigmoid(x), both encoded: one look-up.
static void swish(Qnn_DataType_t dtype, uint32_t rows, uint32_t with) {
    const uint32_t *shape = SHAPE(rows, 100);
    uint32_t x = codes(IN, dtype, shape, 0.05f, -120), s = codes(INSIDE, dtype, shape, 0.004f, 0);
    uint32_t y = codes(OUT, dtype, shape, 0.03f, -9);
    small_unary(&g, QNN_OP_SIGMOID, x, s);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MULTIPLY, s, x, y);
    small_pair p = small_compare(&g);
    assert_int_equal(p.with.n_steps, with);
    small_free(&p.without);
    small_free(&p.with);
}

static void table_of_x_times_sigmoid_x(void **state) {
    (void)state;
    swish(U8, 7, 1);
}

static void table_of_many_16_bit_codes(void **state) {
    (void)state;
    swish(U16, 656, 1);
}

// 0 less the values, without a table and without floats.
static void negation_of_16_bits_is_one_step(void **state) {
    (void)state;
    const uint32_t *shape = SHAPE(7, 100);
    small_unary(&g, QNN_OP_ELEMENT_WISE_NEG, codes(IN, U16, shape, 0.05f, -30000),
                codes(OUT, U16, shape, 0.04f, -35000));
    small_expect(&g, 1, 1);
}

// A Relu whose results begin at 0 is a conversion: the values of the definition, in double.
static void relu_of_16_bits_is_a_conversion(void **state) {
    (void)state;
    const uint32_t *shape = SHAPE(656, 100);
    const size_t n = 656 * 100;
    uint32_t x = codes(IN, U16, shape, 0.05f, -30000), y = codes(OUT, U16, shape, 0.03f, 0);
    uint32_t same = codes(OUT, U16, shape, 0.05f, -30000);
    small_unary(&g, QNN_OP_RELU, x, y);
    small_unary(&g, QNN_OP_RESHAPE, x, same);
    small_run r = small_go(&g, "", 1);
    assert_int_equal(r.n_out, 2 * n * sizeof(uint16_t));
    const uint16_t *got = (const uint16_t *)(void *)r.out, *of = got + n;
    for (size_t i = 0; i < n; i++) {
        double real = ((double)of[i] - 30000) * (double)0.05f;
        double want = floor((real > 0 ? real : 0) / (double)0.03f + 0.5);
        assert_true(fabs((double)got[i] - (want < UINT16_MAX ? want : UINT16_MAX)) <= 1e-9);
    }
    small_free(&r);
}

// With the same encoding there is nothing left to do.
static void relu(Qnn_DataType_t dtype, float scale, uint32_t steps) {
    const uint32_t *shape = SHAPE(656, 100);
    uint32_t a = codes(IN, dtype, shape, 0.05f, -30), b = codes(IN, dtype, shape, 0.05f, -40);
    uint32_t sum = codes(INSIDE, dtype, shape, 0.03f, 0), y = codes(OUT, dtype, shape, scale, 0);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, a, b, sum);
    small_unary(&g, QNN_OP_RELU, sum, y);
    small_expect(&g, 2, steps);
}
static void relu_of_the_same_encoding_is_no_step(void **state) {
    (void)state;
    relu(U16, 0.03f, 1);
}
static void relu_of_bytes_of_the_same_encoding_is_no_step(void **state) {
    (void)state;
    relu(U8, 0.03f, 1);
}
static void relu_of_another_encoding_is_a_step(void **state) {
    (void)state;
    relu(U16, 0.02f, 2);
}

static void table_behind_a_table(void **state) {
    (void)state;
    const uint32_t *shape = SHAPE(3, 50);
    uint32_t x = codes(IN, U8, shape, 0.05f, -128), a = codes(INSIDE, U8, shape, 0.01f, -100);
    uint32_t b = codes(INSIDE, U8, shape, 0.02f, -30), y = codes(OUT, U8, shape, 0.01f, 0);
    small_unary(&g, QNN_OP_TANH, x, a);
    small_unary(&g, QNN_OP_CONVERT, a, b);
    small_unary(&g, QNN_OP_SIGMOID, b, y);
    small_expect(&g, 3, 1);
}

// What a table of the first step made is wanted as well: it stays, and both read x.
static void table_leaves_results_that_are_read(void **state) {
    (void)state;
    const uint32_t *shape = SHAPE(3, 50);
    uint32_t x = codes(IN, U8, shape, 0.05f, -128), a = codes(OUT, U8, shape, 0.01f, -100);
    uint32_t y = codes(OUT, U8, shape, 0.01f, -7);
    small_unary(&g, QNN_OP_TANH, x, a);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, a, a, y);
    small_expect(&g, 2, 2);
}

// Functions of different codes, and operands that broadcast: no tables.
static void table_is_for_one_code(void **state) {
    (void)state;
    const uint32_t *shape = SHAPE(5, 20), *row = SHAPE(1, 20);
    uint32_t x = codes(IN, U8, shape, 0.05f, -128), z = codes(IN, U8, row, 0.05f, -99);
    uint32_t a = codes(INSIDE, U8, row, 0.01f, -100), b = codes(INSIDE, U8, shape, 0.1f, -1);
    uint32_t y = codes(OUT, U8, shape, 0.01f, -7);
    small_unary(&g, QNN_OP_TANH, z, a);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, a, x, b);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MULTIPLY, a, b, y);
    small_expect(&g, 3, 3);
}

// --- swish

static void swish_of_floats(bool keep) {
    uint32_t x = INPUT(&g, 9, 50), s = keep ? OUTPUT(&g, 9, 50) : INNER(&g, 9, 50);
    uint32_t y = OUTPUT(&g, 9, 50);
    small_unary(&g, QNN_OP_SIGMOID, x, s);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MULTIPLY, s, x, y);
    small_run sum = small_go(&g, "-all", 1), plain = small_go(&g, "-swish", 1);
    small_run fast = small_go(&g, "", 1);
    assert_int_equal(sum.n_steps, 2);
    assert_int_equal(fast.n_steps, keep ? 2 : 1);
    assert_int_equal(fast.n_out, sum.n_out);
    assert_memory_equal(plain.out, sum.out, sum.n_out);
    const float *want = (const float *)sum.out, *got = (const float *)fast.out;
    for (size_t i = 0; i < sum.n_out / sizeof *want; i++)
        assert_true(fabsf(got[i] - want[i]) <= 1e-6f * fabsf(want[i]));
    small_free(&sum);
    small_free(&plain);
    small_free(&fast);
}

static void swish_is_one_step(void **state) {
    (void)state;
    swish_of_floats(false);
}

static void swish_leaves_a_sigmoid_that_is_read(void **state) {
    (void)state;
    swish_of_floats(true);
}

// --- round_to

// x / scale, rounded, with a zero point, limited and cast; returns the tensor between.
static uint32_t rounds(Qnn_DataType_t dtype, float low, float high, bool vector, bool two) {
    float by[50], zero = 3;
    for (uint32_t i = 0; i < 50; i++)
        by[i] = 0.75f + (float)i;
    const uint32_t *shape = SHAPE(9, 50);
    uint32_t x = INPUT(&g, 9, 50), d = INNER(&g, 9, 50), r = INNER(&g, 9, 50);
    uint32_t a = INNER(&g, 9, 50), c = INNER(&g, 9, 50), m = INNER(&g, 9, 50);
    uint32_t y = small_encoded(&g, OUT, dtype, shape, 1, 0);
    uint32_t scale = small_constant(&g, QNN_DATATYPE_FLOAT_32, vector ? SHAPE(50) : SHAPE(1), 0, 0,
                                    by, (vector ? 50 : 1) * sizeof *by);
    small_binary(&g, QNN_OP_ELEMENT_WISE_DIVIDE, x, scale, d);
    small_unary(&g, QNN_OP_ELEMENT_WISE_ROUND, d, r);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, r,
                 small_constant(&g, QNN_DATATYPE_FLOAT_32, SHAPE(1), 0, 0, &zero, sizeof zero), a);
    if (two) {
        small_binary(&g, QNN_OP_ELEMENT_WISE_MAXIMUM, a,
                     small_constant(&g, QNN_DATATYPE_FLOAT_32, SHAPE(1), 0, 0, &low, 4), m);
        small_binary(&g, QNN_OP_ELEMENT_WISE_MINIMUM, m,
                     small_constant(&g, QNN_DATATYPE_FLOAT_32, SHAPE(1), 0, 0, &high, 4), c);
    } else {
        Qnn_Param_t limits[2] = {{.paramType = QNN_PARAMTYPE_SCALAR, .name = "min_value"},
                                 {.paramType = QNN_PARAMTYPE_SCALAR, .name = "max_value"}};
        for (int i = 0; i < 2; i++) {
            limits[i].scalarParam.dataType = QNN_DATATYPE_FLOAT_32;
            limits[i].scalarParam.floatValue = i ? high : low;
        }
        small_node(&g, QNN_OP_RELU_MIN_MAX, &a, 1, &c, 1, limits, 2);
    }
    small_unary(&g, QNN_OP_CAST, c, y);
    return a;
}

static void quantization_is_one_step(void **state) {
    (void)state;
    rounds(U8, 0, 255, false, false);
    small_expect(&g, 5, 1);
}

static void quantization_to_16_bits_is_one_step(void **state) {
    (void)state;
    rounds(QNN_DATATYPE_INT_16, -32768, 32767, false, true);
    small_expect(&g, 6, 1);
}

static void quantization_leaves_steps_that_are_read(void **state) {
    (void)state;
    uint32_t a = rounds(QNN_DATATYPE_INT_8, -128, 127, false, false), y = OUTPUT(&g, 9, 50);
    small_unary(&g, QNN_OP_ELEMENT_WISE_NEG, a, y);
    small_expect(&g, 6, 5);
}

static void quantization_by_channel_stays(void **state) {
    (void)state;
    rounds(U8, 0, 255, true, false);
    small_expect(&g, 5, 5);
}

static void limits_beyond_the_type_stay(void **state) {
    (void)state;
    rounds(U8, -1, 255, false, false);
    small_expect(&g, 5, 5);
}

// --- extremes

// The difference of what two reductions of x find.
static void two_reductions(const char *first, const char *second, uint32_t n_axes, uint32_t rows,
                           uint32_t steps) {
    uint32_t x = INPUT(&g, rows, 50), n = n_axes == 2 ? 1 : 50;
    uint32_t a = INNER(&g, n), b = INNER(&g, n), y = OUTPUT(&g, n);
    small_reduce(&g, first, x, a, n_axes);
    small_reduce(&g, second, x, b, n_axes);
    small_binary(&g, QNN_OP_ELEMENT_WISE_SUBTRACT, a, b, y);
    small_expect(&g, 3, steps);
}

static void extremes_are_one_step(void **state) {
    (void)state;
    two_reductions(QNN_OP_REDUCE_MIN, QNN_OP_REDUCE_MAX, 2, 9, 2);
}

static void extremes_in_the_other_order(void **state) {
    (void)state;
    two_reductions(QNN_OP_REDUCE_MAX, QNN_OP_REDUCE_MIN, 2, 9, 2);
}

static void extremes_of_columns_stay(void **state) {
    (void)state;
    two_reductions(QNN_OP_REDUCE_MIN, QNN_OP_REDUCE_MAX, 1, 9, 3);
}

static void equal_extremes_stay(void **state) {
    (void)state;
    two_reductions(QNN_OP_REDUCE_MAX, QNN_OP_REDUCE_MAX, 2, 9, 3);
}

static void extremes_of_few_stay(void **state) {
    (void)state;
    two_reductions(QNN_OP_REDUCE_MIN, QNN_OP_REDUCE_MAX, 2, 1, 3);
}

// --- chain

static void expect_chained(uint32_t n) {
    small_pair p = small_compare(&g);
    assert_int_equal(p.without.n_chained, 0);
    assert_int_equal(p.with.n_chained, n);
    small_free(&p.without);
    small_free(&p.with);
}

static uint32_t weights(uint32_t k, uint32_t cin, uint32_t cout) {
    static float w[9 * 64 * 64];
    for (uint32_t i = 0; i < k * k * cin * cout; i++)
        w[i] = (float)(int32_t)(i * 7u % 11u) - 5.0f;
    return small_constant(&g, QNN_DATATYPE_FLOAT_32, SHAPE(k, k, cin, cout), 0.0f, 0, w,
                          k * k * cin * cout * (uint32_t)sizeof *w);
}

static const uint32_t same[4] = {1, 1, 1, 1};

static void chain_of_steps_behind_a_convolution(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 20, 30, 8), r = INPUT(&g, 1, 20, 30, 40), b = INPUT(&g, 40);
    uint32_t c = INNER(&g, 1, 20, 30, 40), d = INNER(&g, 1, 20, 30, 40);
    uint32_t e = INNER(&g, 1, 20, 30, 40), y = OUTPUT(&g, 1, 20, 30, 40);
    small_conv(&g, QNN_OP_CONV_2D, x, weights(3, 8, 40), c, same);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, c, b, d);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, r, d, e);
    small_unary(&g, QNN_OP_RELU, e, y);
    expect_chained(3);
}

// The sum could take the memory of t, which later parts of the convolution still read.
static void chain_spares_what_the_convolution_reads(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 40, 30, 16), t = INNER(&g, 1, 40, 30, 16);
    uint32_t c = INNER(&g, 1, 40, 30, 16), s = INNER(&g, 1, 40, 30, 16);
    uint32_t y = OUTPUT(&g, 1, 40, 30, 16);
    small_unary(&g, QNN_OP_ELEMENT_WISE_NEG, x, t);
    small_conv(&g, QNN_OP_CONV_2D, t, weights(3, 16, 16), c, same);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, t, c, s);
    small_unary(&g, QNN_OP_ELEMENT_WISE_NEG, s, y);
    small_pair p = small_compare(&g); // whether or not it is chained
    small_free(&p.without);
    small_free(&p.with);
}

static void chain_of_codes(void **state) {
    (void)state;
    static int8_t w[3 * 3 * 16 * 24];
    for (size_t i = 0; i < sizeof w; i++)
        w[i] = (int8_t)(i * 37u % 255u);
    uint32_t x = codes(IN, U8, SHAPE(1, 33, 17, 16), 0.02f, -100);
    uint32_t f =
        small_constant(&g, QNN_DATATYPE_SFIXED_POINT_8, SHAPE(3, 3, 16, 24), 0.01f, 0, w, sizeof w);
    const uint32_t *shape = SHAPE(1, 33, 17, 24);
    uint32_t c = codes(INSIDE, U8, shape, 0.2f, -128), s = codes(INSIDE, U8, shape, 0.004f, 0);
    uint32_t m = codes(INSIDE, U8, shape, 0.15f, -20), r = codes(IN, U8, shape, 0.1f, -90);
    uint32_t y = codes(OUT, U8, shape, 0.2f, -100);
    small_conv(&g, QNN_OP_CONV_2D, x, f, c, same);
    small_unary(&g, QNN_OP_SIGMOID, c, s);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MULTIPLY, c, s, m);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, m, r, y);
    small_expect(&g, 4, 3);
    expect_chained(2);
}

// Few rows and many columns: tasks share the columns, and each tells of its own.
static void chain_of_few_rows(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 2, 64), c = INNER(&g, 2, 500), y = OUTPUT(&g, 2, 500);
    static float w[64 * 500];
    for (uint32_t i = 0; i < 64 * 500; i++)
        w[i] = (float)(int32_t)(i * 5u % 9u) - 4.0f;
    uint32_t f = small_constant(&g, QNN_DATATYPE_FLOAT_32, SHAPE(500, 64), 0.0f, 0, w, sizeof w);
    small_binary(&g, QNN_OP_FULLY_CONNECTED, x, f, c);
    small_unary(&g, QNN_OP_ELEMENT_WISE_NEG, c, y);
    expect_chained(1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(table_of_x_times_sigmoid_x),
        TEST(table_of_many_16_bit_codes),
        TEST(negation_of_16_bits_is_one_step),
        TEST(relu_of_16_bits_is_a_conversion),
        TEST(relu_of_the_same_encoding_is_no_step),
        TEST(relu_of_bytes_of_the_same_encoding_is_no_step),
        TEST(relu_of_another_encoding_is_a_step),
        TEST(table_behind_a_table),
        TEST(table_leaves_results_that_are_read),
        TEST(table_is_for_one_code),
        TEST(swish_is_one_step),
        TEST(swish_leaves_a_sigmoid_that_is_read),
        TEST(quantization_is_one_step),
        TEST(quantization_to_16_bits_is_one_step),
        TEST(quantization_leaves_steps_that_are_read),
        TEST(quantization_by_channel_stays),
        TEST(limits_beyond_the_type_stay),
        TEST(extremes_are_one_step),
        TEST(extremes_in_the_other_order),
        TEST(extremes_of_columns_stay),
        TEST(equal_extremes_stay),
        TEST(extremes_of_few_stay),
        TEST(chain_of_steps_behind_a_convolution),
        TEST(chain_spares_what_the_convolution_reads),
        TEST(chain_of_codes),
        TEST(chain_of_few_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
