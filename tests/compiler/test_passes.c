// SPDX-License-Identifier: MIT
//
// Each pass on graphs in which it has something to do, and on some that look alike but must be left
// alone: numbers of steps, memory, and the same bytes with and without passes.
#include "small_graph.h"

#include "compiler/passes.h"

#include <string.h>

SMALL_FIXTURE(g)

static void relu(uint32_t x, uint32_t y) { small_unary(&g, QNN_OP_RELU, x, y); }
static void neg(uint32_t x, uint32_t y) { small_unary(&g, QNN_OP_ELEMENT_WISE_NEG, x, y); }
static void reshape(uint32_t x, uint32_t y) { small_unary(&g, QNN_OP_RESHAPE, x, y); }

// --- alias

static void alias_drops_reshapes_between_steps(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 2, 3, 4), a = INNER(&g, 2, 3, 4), b = INNER(&g, 6, 4);
    uint32_t c = INNER(&g, 24), d = INNER(&g, 24), y = OUTPUT(&g, 4, 6);
    neg(x, a);
    reshape(a, b);
    reshape(b, c);
    neg(c, d);
    reshape(d, y);
    small_expect(&g, 5, 2);
    small_run r = small_go(&g, "", 7), same = small_go(&g, "-all", 7);
    assert_memory_equal(r.out, same.out, r.n_out);
    small_free(&r);
    small_free(&same);
}

static void alias_copies_from_input_to_output(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 2, 3), t = INNER(&g, 3, 2), y = OUTPUT(&g, 6);
    reshape(x, t);
    reshape(t, y);
    small_expect(&g, 2, 1);
}

static void alias_reads_inputs_where_they_are(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 2, 3), t = INNER(&g, 6), y = OUTPUT(&g, 6);
    reshape(x, t);
    neg(t, y);
    small_expect(&g, 2, 1);
}

static void alias_copies_for_the_second_output(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 4, 3), t = INNER(&g, 4, 3), y = OUTPUT(&g, 12), z = OUTPUT(&g, 3, 4);
    neg(x, t);
    reshape(t, y);
    reshape(t, z);
    small_expect(&g, 3, 2);
}

static void alias_knows_transposes_of_single_dimensions(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 5, 1, 7), a = INNER(&g, 5, 1, 7, 1), y = OUTPUT(&g, 5, 1, 7, 1);
    small_transpose(&g, x, a, (uint32_t[]){1, 0, 3, 2});
    neg(a, y);
    small_expect(&g, 2, 1);
}

static void alias_leaves_real_transposes(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 5, 1, 7), a = INNER(&g, 7, 1, 5, 1), y = OUTPUT(&g, 7, 1, 5, 1);
    small_transpose(&g, x, a, (uint32_t[]){3, 0, 1, 2});
    neg(a, y);
    small_expect(&g, 2, 2);
}

static void alias_knows_casts_of_equal_width(void **state) {
    (void)state;
    uint32_t x = small_tensor(&g, QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_INT_32, SHAPE(9));
    uint32_t a = small_tensor(&g, QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_INT_32, SHAPE(9));
    uint32_t y = small_tensor(&g, QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UINT_32, SHAPE(9));
    small_binary(&g, QNN_OP_ELEMENT_WISE_MAXIMUM, x, x, a);
    small_unary(&g, QNN_OP_CAST, a, y);
    small_pair p = small_compare(&g);
    assert_int_equal(p.with.n_steps, p.without.n_steps - 1);
    small_free(&p.without);
    small_free(&p.with);
}

static void alias_leaves_casts_to_bool(void **state) {
    (void)state;
    uint32_t x = small_tensor(&g, QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UINT_8, SHAPE(9));
    uint32_t a = small_tensor(&g, QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_BOOL_8, SHAPE(9));
    uint32_t y = small_tensor(&g, QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_BOOL_8, SHAPE(9));
    small_unary(&g, QNN_OP_CAST, x, a);
    small_unary(&g, QNN_OP_ELEMENT_WISE_NOT, a, y);
    small_expect(&g, 2, 2);
}

// --- cancel

static void cancel_undoes_transposes(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 2, 3, 5), a = INNER(&g, 5, 2, 3), b = INNER(&g, 2, 3, 5);
    uint32_t y = OUTPUT(&g, 2, 3, 5);
    small_transpose(&g, x, a, (uint32_t[]){2, 0, 1});
    small_transpose(&g, a, b, (uint32_t[]){1, 2, 0});
    neg(b, y);
    small_expect(&g, 3, 1);
}

static void cancel_merges_transposes(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 2, 3, 5), a = INNER(&g, 5, 2, 3), b = INNER(&g, 3, 2, 5);
    uint32_t c = INNER(&g, 5, 3, 2), y = OUTPUT(&g, 5, 3, 2);
    small_transpose(&g, x, a, (uint32_t[]){2, 0, 1});
    small_transpose(&g, a, b, (uint32_t[]){2, 1, 0});
    small_transpose(&g, b, c, (uint32_t[]){2, 0, 1});
    neg(c, y);
    small_expect(&g, 4, 2);
}

static void cancel_keeps_what_others_read(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 2, 3), a = INNER(&g, 3, 2), b = INNER(&g, 2, 3);
    uint32_t y = OUTPUT(&g, 2, 3), z = OUTPUT(&g, 3, 2);
    small_transpose(&g, x, a, (uint32_t[]){1, 0});
    small_transpose(&g, a, b, (uint32_t[]){1, 0});
    neg(b, y);
    neg(a, z);
    small_expect(&g, 4, 3);
}

// Quantize(Dequantize(x)) on every code; `scale2` is that of the second encoding.
static void round_trip(Qnn_DataType_t dtype, uint32_t n, int32_t offset, float scale2, bool goes) {
    uint32_t x = small_encoded(&g, QNN_TENSOR_TYPE_APP_WRITE, dtype, SHAPE(n), 0.0173f, offset);
    uint32_t a = INNER(&g, n);
    uint32_t b = small_encoded(&g, QNN_TENSOR_TYPE_NATIVE, dtype, SHAPE(n), scale2, offset);
    uint32_t y = small_encoded(&g, QNN_TENSOR_TYPE_APP_READ, dtype, SHAPE(n), 0.02f, offset);
    small_unary(&g, QNN_OP_DEQUANTIZE, x, a);
    small_unary(&g, QNN_OP_QUANTIZE, a, b);
    relu(b, y);
    small_pair p = small_compare(&g);
    assert_int_equal(p.without.n_steps - p.with.n_steps, goes ? 2 : 0);
    small_free(&p.without);
    small_free(&p.with);
}

static void cancel_drops_round_trips_of_bytes(void **state) {
    (void)state;
    round_trip(QNN_DATATYPE_UFIXED_POINT_8, 4096, -77, 0.0173f, true);
}

static void cancel_drops_round_trips_of_16_bits(void **state) {
    (void)state;
    round_trip(QNN_DATATYPE_UFIXED_POINT_16, 65536, -32768, 0.0173f, true);
}

static void cancel_leaves_other_encodings(void **state) {
    (void)state;
    round_trip(QNN_DATATYPE_UFIXED_POINT_8, 4096, -77, 0.0174f, false);
}

// The float has no room for such codes: 1.0f * (0 + 2^30 + 1) is even.
static void cancel_leaves_codes_a_float_cannot_hold(void **state) {
    (void)state;
    round_trip(QNN_DATATYPE_UFIXED_POINT_8, 256, -1073741825, 0.0173f, false);
}

// --- join

static void join_writes_parts_into_the_whole(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 3, 4), z = INPUT(&g, 1, 2, 4), a = INNER(&g, 1, 3, 4);
    uint32_t b = INNER(&g, 1, 2, 4), c = INNER(&g, 1, 5, 4), y = OUTPUT(&g, 1, 5, 4);
    neg(x, a);
    neg(z, b);
    small_concat(&g, (uint32_t[]){a, b}, 2, c, 1);
    neg(c, y);
    small_expect(&g, 4, 3);
}

static void join_writes_parts_into_an_output(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 3, 5), a = INNER(&g, 3, 5), b = INNER(&g, 3, 5), y = OUTPUT(&g, 6, 5);
    neg(x, a);
    relu(x, b);
    small_concat(&g, (uint32_t[]){a, b}, 2, y, 0);
    small_expect(&g, 3, 2);
}

static void join_copies_what_cannot_move(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 3, 5), a = INNER(&g, 3, 5), y = OUTPUT(&g, 12, 5);
    neg(x, a);
    small_concat(&g, (uint32_t[]){x, a, a, x}, 4, y, 0);
    small_expect(&g, 2, 2);
}

static void join_leaves_inner_dimensions(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 3, 5), a = INNER(&g, 3, 5), b = INNER(&g, 3, 5), y = OUTPUT(&g, 3, 10);
    neg(x, a);
    relu(x, b);
    small_concat(&g, (uint32_t[]){a, b}, 2, y, 1);
    small_expect(&g, 3, 3);
}

static void join_reads_parts_where_they_lie(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 7, 3), t = INNER(&g, 1, 7, 3), a = INNER(&g, 1, 2, 3);
    uint32_t b = INNER(&g, 1, 5, 3), y = OUTPUT(&g, 1, 2, 3), z = OUTPUT(&g, 1, 5, 3);
    neg(x, t);
    small_split(&g, t, (uint32_t[]){a, b}, 2, 1);
    neg(a, y);
    relu(b, z);
    small_expect(&g, 4, 3);
}

static void join_copies_parts_for_the_application(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 7, 3), t = INNER(&g, 7, 3), a = INNER(&g, 2, 3);
    uint32_t y = OUTPUT(&g, 2, 3), z = OUTPUT(&g, 5, 3);
    neg(x, t);
    small_split(&g, t, (uint32_t[]){a, z}, 2, 0);
    neg(a, y);
    small_expect(&g, 3, 3);
}

static void join_knows_slices_of_one_run(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 4, 6, 5), a = INNER(&g, 1, 3, 5), y = OUTPUT(&g, 1, 3, 5);
    small_slice(&g, x, a, (int32_t[]){2, 3, 1, 1, 4, 1, 0, 5, 1});
    neg(a, y);
    small_expect(&g, 2, 1);
}

static void join_leaves_slices_with_gaps(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 4, 6, 5), a = INNER(&g, 2, 3, 5), b = INNER(&g, 2, 6, 5);
    uint32_t y = OUTPUT(&g, 2, 3, 5), z = OUTPUT(&g, 2, 6, 5);
    small_slice(&g, x, a, (int32_t[]){2, 4, 1, 1, 4, 1, 0, 5, 1});
    small_slice(&g, x, b, (int32_t[]){0, 4, 2, 0, 6, 1, 0, 5, 1});
    neg(a, y);
    neg(b, z);
    small_expect(&g, 4, 4);
}

// --- dead

static void dead_drops_what_nobody_reads(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 8), a = INNER(&g, 8), b = INNER(&g, 8), y = OUTPUT(&g, 8);
    neg(x, a);
    relu(a, b);
    neg(x, y);
    small_expect(&g, 3, 1);
}

// --- the list

static void passes_can_be_left_out_one_by_one(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 2, 4), a = INNER(&g, 2, 4), b = INNER(&g, 8), y = OUTPUT(&g, 8);
    uint32_t unread = INNER(&g, 8);
    neg(x, a);
    reshape(a, b);
    neg(b, y);
    relu(b, unread);
    static const struct {
        const char *list;
        uint32_t steps;
    } cases[] = {{"", 2},      {"-dead", 3},         {"-alias", 3},      {"-alias,-dead", 4},
                 {"alias", 2}, {"-aliases,-dea", 2}, {"-join,-dead", 3}, {"-all", 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        small_run r = small_go(&g, cases[i].list, 1);
        assert_int_equal(r.n_steps, cases[i].steps);
        small_free(&r);
    }
}

// --- memory

// Three branches of different sizes: sums of what is alive, counted by hand.
static void memory_is_what_is_alive(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1024), a = INNER(&g, 1024), b = INNER(&g, 1024), c = INNER(&g, 1024);
    uint32_t y = OUTPUT(&g, 1024);
    neg(x, a);
    neg(a, b);
    neg(b, c);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, c, a, y);
    small_run r = small_go(&g, "-all", 1);
    assert_true(r.arena_bytes >= r.bound_bytes);
    assert_in_range(r.bound_bytes, 3 * 4096, 3 * (4096 + 64)); // a, b and c meet
    assert_int_equal(r.arena_bytes, r.bound_bytes);
    small_free(&r);
}

// The chain needs one buffer; every result takes the memory of its input.
static void in_place_reuses_inputs_that_die(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1000), a = INNER(&g, 1000), b = INNER(&g, 1000), c = INNER(&g, 1000);
    uint32_t z = INPUT(&g, 1000), y = OUTPUT(&g, 1000);
    neg(x, a);
    neg(a, b);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, z, b, c);
    neg(c, y);
    small_expect(&g, 4, 4);
    small_run with = small_go(&g, "", 1), without = small_go(&g, "-in_place", 1);
    assert_in_range(with.arena_bytes, 4000, 4000 + 127);
    assert_in_range(without.arena_bytes, 8000, 8000 + 2 * 127);
    small_free(&with);
    small_free(&without);
}

// `a` is read again at the end, and a row that is added to a matrix has no room for the sum.
static void in_place_spares_what_is_read_later(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 8, 64), a = INNER(&g, 8, 64), b = INNER(&g, 8, 64);
    uint32_t r = INPUT(&g, 1, 64), s = INNER(&g, 1, 64), c = INNER(&g, 8, 64);
    uint32_t d = INNER(&g, 8, 64), y = OUTPUT(&g, 8, 64);
    neg(x, a);
    relu(a, b);
    neg(r, s);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, s, b, c);
    small_binary(&g, QNN_OP_ELEMENT_WISE_SUBTRACT, c, a, d);
    neg(d, y);
    small_expect(&g, 6, 6);
    small_run with = small_go(&g, "", 1);
    assert_in_range(with.arena_bytes, 2 * 2048 + 256, 2 * (2048 + 64) + 256 + 64); // a, b and s
    small_free(&with);
}

// The row that is subtracted is part of the memory that would be written over.
static void in_place_sees_parts_of_the_same_memory(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 4, 16), a = INNER(&g, 4, 16), row = INNER(&g, 1, 16);
    uint32_t b = INNER(&g, 4, 16), y = OUTPUT(&g, 4, 16);
    neg(x, a);
    small_slice(&g, a, row, (int32_t[]){0, 1, 1, 0, 16, 1});
    small_binary(&g, QNN_OP_ELEMENT_WISE_SUBTRACT, a, row, b);
    neg(b, y);
    small_expect(&g, 4, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(alias_drops_reshapes_between_steps),
        TEST(alias_copies_from_input_to_output),
        TEST(alias_reads_inputs_where_they_are),
        TEST(alias_copies_for_the_second_output),
        TEST(alias_knows_transposes_of_single_dimensions),
        TEST(alias_leaves_real_transposes),
        TEST(alias_knows_casts_of_equal_width),
        TEST(alias_leaves_casts_to_bool),
        TEST(cancel_undoes_transposes),
        TEST(cancel_merges_transposes),
        TEST(cancel_keeps_what_others_read),
        TEST(cancel_drops_round_trips_of_bytes),
        TEST(cancel_drops_round_trips_of_16_bits),
        TEST(cancel_leaves_other_encodings),
        TEST(cancel_leaves_codes_a_float_cannot_hold),
        TEST(join_writes_parts_into_the_whole),
        TEST(join_writes_parts_into_an_output),
        TEST(join_copies_what_cannot_move),
        TEST(join_leaves_inner_dimensions),
        TEST(join_reads_parts_where_they_lie),
        TEST(join_copies_parts_for_the_application),
        TEST(join_knows_slices_of_one_run),
        TEST(join_leaves_slices_with_gaps),
        TEST(dead_drops_what_nobody_reads),
        TEST(passes_can_be_left_out_one_by_one),
        TEST(memory_is_what_is_alive),
        TEST(in_place_reuses_inputs_that_die),
        TEST(in_place_spares_what_is_read_later),
        TEST(in_place_sees_parts_of_the_same_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
