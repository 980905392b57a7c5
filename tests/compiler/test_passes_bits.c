// SPDX-License-Identifier: MIT
//
// Pass "bits": sums that are operations on bits become one step, and sums that only look like them
// stay. Results with and without the pass are compared to the byte, on any 32 bits.
#include "small_graph.h"

#include <stdlib.h>
#include <string.h>

#define IN QNN_TENSOR_TYPE_APP_WRITE
#define OUT QNN_TENSOR_TYPE_APP_READ
#define INSIDE QNN_TENSOR_TYPE_NATIVE
#define I32 QNN_DATATYPE_INT_32
#define U32 QNN_DATATYPE_UINT_32

#define CHUNK 6u
#define BASE (1u << CHUNK)

// One mistake in the sum.
typedef enum mistake { NONE, TABLE, FACTOR, SHIFT, SHORT, OPERAND } mistake;

SMALL_FIXTURE(g)

static const uint32_t shape[5] = {7, 33};

static uint32_t number(int64_t x) {
    uint32_t word = (uint32_t)x;
    return small_constant(&g, I32, SHAPE(1), 0, 0, &word, sizeof word);
}

static uint32_t with(const char *op, uint32_t a, uint32_t b) {
    uint32_t y = small_tensor(&g, INSIDE, I32, shape);
    small_binary(&g, op, a, b, y);
    return y;
}

static uint32_t looked_up(uint32_t table, uint32_t index) {
    uint32_t y = small_tensor(&g, INSIDE, I32, shape);
    Qnn_Param_t axis = {.paramType = QNN_PARAMTYPE_SCALAR, .name = QNN_OP_GATHER_PARAM_AXIS};
    axis.scalarParam.dataType = I32;
    small_node(&g, QNN_OP_GATHER, (uint32_t[]){table, index}, 2, &y, 1, &axis, 1);
    return y;
}

static uint32_t and_table(mistake m) {
    static int32_t table[BASE * BASE];
    for (uint32_t i = 0; i < BASE * BASE; i++)
        table[i] = (int32_t)((i / BASE) & (i % BASE));
    table[BASE * BASE - 1] ^= m == TABLE;
    return small_constant(&g, I32, SHAPE(BASE * BASE), 0, 0, table, sizeof table);
}

// The parts of b: computed, or those of a constant.
static uint32_t part_of(uint32_t b, int64_t given, unsigned at, unsigned take) {
    if (given >= 0)
        return number(((uint32_t)given >> at) & ((1u << take) - 1));
    return with(QNN_OP_ELEMENT_WISE_MOD, b, number(1u << take));
}

static uint32_t both(uint32_t a, uint32_t b, int64_t given, mistake m) {
    uint32_t table = and_table(m), sum = 0, first = a;
    for (unsigned at = 0, take; at < (m == SHORT ? 24 : 32); at += take) {
        take = 32 - at < CHUNK ? 32 - at : CHUNK;
        uint32_t size = number(1u << take);
        uint32_t x = with(QNN_OP_ELEMENT_WISE_MOD, m == OPERAND && at == 12 ? first : a, size);
        uint32_t y = part_of(b, given, at, take);
        uint32_t row = with(QNN_OP_ELEMENT_WISE_MULTIPLY, x, number(BASE));
        uint32_t chunk = looked_up(table, with(QNN_OP_ELEMENT_WISE_ADD, row, y));
        if (at) {
            unsigned to = m == FACTOR && at == 18 ? at + 1 : at;
            chunk = with(QNN_OP_ELEMENT_WISE_MULTIPLY, chunk, number(1u << to));
        }
        sum = at ? with(QNN_OP_ELEMENT_WISE_ADD, sum, chunk) : chunk;
        if (at + take == 32)
            break;
        uint32_t by = m == SHIFT && at == 6 ? number(2 * BASE) : size;
        a = with(QNN_OP_ELEMENT_WISE_DIVIDE, with(QNN_OP_ELEMENT_WISE_SUBTRACT, a, x), by);
        if (given < 0)
            b = with(QNN_OP_ELEMENT_WISE_DIVIDE, with(QNN_OP_ELEMENT_WISE_SUBTRACT, b, y), size);
    }
    return sum;
}

// a op b, of random bits or with a constant b, compared with C's own operators.
static void expect(char op, int64_t given, mistake m, uint32_t n_steps) {
    uint32_t a = small_tensor(&g, IN, I32, shape);
    uint32_t b = given < 0 ? small_tensor(&g, IN, I32, shape) : number(given);
    uint32_t as_they_are[2] = {small_tensor(&g, OUT, I32, shape),
                               small_tensor(&g, OUT, I32, shape)};
    uint32_t y = small_tensor(&g, OUT, I32, shape), zero = number(0);
    uint32_t left = with(QNN_OP_ELEMENT_WISE_ADD, a, zero);
    uint32_t t = both(left, b, given, m);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, a, zero, as_they_are[0]);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MAXIMUM, a, b, as_they_are[1]);
    if (op == '^')
        t = with(QNN_OP_ELEMENT_WISE_MULTIPLY, t, number(2));
    if (op == '&')
        small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, t, zero, y);
    else
        small_binary(&g, QNN_OP_ELEMENT_WISE_SUBTRACT, with(QNN_OP_ELEMENT_WISE_ADD, left, b), t,
                     y);
    small_pair p = small_compare(&g);
    if (m == NONE)
        assert_int_equal(p.with.n_steps, n_steps);
    else
        assert_true(p.with.n_steps > n_steps);
    uint32_t n = (uint32_t)(p.with.n_out / sizeof(uint32_t) / 3);
    const uint32_t *first = (const uint32_t *)p.with.out, *got = first + 2 * (size_t)n;
    for (uint32_t i = 0; m == NONE && given >= 0 && i < n; i++) {
        uint32_t x = first[i], c = (uint32_t)given;
        assert_int_equal(got[i], op == '&' ? x & c : op == '|' ? x | c : x ^ c);
    }
    small_free(&p.without);
    small_free(&p.with);
}

static void and_is_one_step(void **state) {
    (void)state;
    expect('&', -1, NONE, 4); // with a + 0, twice, and the maximum
}
static void or_is_one_step(void **state) {
    (void)state;
    expect('|', -1, NONE, 4);
}
static void xor_is_one_step(void **state) {
    (void)state;
    expect('^', -1, NONE, 4);
}
static void and_with_a_constant(void **state) {
    (void)state;
    expect('&', 0xDEADBEEF, NONE, 4);
}
static void or_with_a_constant(void **state) {
    (void)state;
    expect('|', 0x80000001, NONE, 4);
}
static void xor_with_a_constant(void **state) {
    (void)state;
    expect('^', 0xFFFFFFFF, NONE, 4);
}
static void another_table_stays(void **state) {
    (void)state;
    expect('&', -1, TABLE, 10);
}
static void another_factor_stays(void **state) {
    (void)state;
    expect('|', -1, FACTOR, 10);
}
static void another_shift_stays(void **state) {
    (void)state;
    expect('^', -1, SHIFT, 10);
}
static void fewer_bits_stay(void **state) {
    (void)state;
    expect('&', -1, SHORT, 10);
}
static void bits_of_another_place_stay(void **state) {
    (void)state;
    expect('&', 0x12345678, OPERAND, 10);
}

// y = x * 2^z or x / 2^z, in the type given.
static void shift(Qnn_DataType_t dtype, const char *op, uint32_t base, uint32_t n_steps) {
    uint32_t x = small_tensor(&g, IN, dtype, shape), z = small_tensor(&g, IN, dtype, SHAPE(33));
    uint32_t count = small_tensor(&g, INSIDE, dtype, SHAPE(33)), most = 40;
    uint32_t power = small_tensor(&g, INSIDE, dtype, SHAPE(33));
    uint32_t y = small_tensor(&g, OUT, dtype, shape);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MOD, z,
                 small_constant(&g, dtype, SHAPE(1), 0, 0, &most, sizeof most), count);
    small_binary(&g, QNN_OP_ELEMENT_WISE_POWER,
                 small_constant(&g, dtype, SHAPE(1), 0, 0, &base, sizeof base), count, power);
    small_binary(&g, op, x, power, y);
    small_expect(&g, 3, n_steps);
}
static void product_with_a_power_is_a_shift(void **state) {
    (void)state;
    shift(U32, QNN_OP_ELEMENT_WISE_MULTIPLY, 2, 2);
}
static void signed_product_is_a_shift(void **state) {
    (void)state;
    shift(I32, QNN_OP_ELEMENT_WISE_MULTIPLY, 2, 2);
}
static void quotient_is_a_shift(void **state) {
    (void)state;
    shift(U32, QNN_OP_ELEMENT_WISE_DIVIDE, 2, 2);
}
static void signed_quotient_stays(void **state) {
    (void)state;
    shift(I32, QNN_OP_ELEMENT_WISE_DIVIDE, 2, 3);
}
static void power_of_3_stays(void **state) {
    (void)state;
    shift(U32, QNN_OP_ELEMENT_WISE_MULTIPLY, 3, 3);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(and_is_one_step),
        TEST(or_is_one_step),
        TEST(xor_is_one_step),
        TEST(and_with_a_constant),
        TEST(or_with_a_constant),
        TEST(xor_with_a_constant),
        TEST(another_table_stays),
        TEST(another_factor_stays),
        TEST(another_shift_stays),
        TEST(fewer_bits_stay),
        TEST(bits_of_another_place_stay),
        TEST(product_with_a_power_is_a_shift),
        TEST(signed_product_is_a_shift),
        TEST(quotient_is_a_shift),
        TEST(signed_quotient_stays),
        TEST(power_of_3_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
