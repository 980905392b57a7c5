// SPDX-License-Identifier: MIT
//
// Pass "special": the chains that front ends compose Erf and Acos of become one step, with results
// as good as the chain's or better; chains that only look like it stay as they are.
#include "small_graph.h"

#include "base/erf_fit.h"

#include <math.h>
#include <stdlib.h>

#define N_FIT (sizeof qrn_erf_fit / sizeof qrn_erf_fit[0])

// One thing that differs from the chain.
typedef enum mistake {
    NONE,
    COEFFICIENT,  // the next float
    VECTOR,       // a coefficient for each column
    SHORT,        // one term less
    SQUARE,       // x * another value instead of x * x
    OTHER_SQUARE, // in one term
    FACTOR,       // P(x^2) times another value
    FUNCTION,     // sigmoid, not tanh
    N_MISTAKES
} mistake;

SMALL_FIXTURE(g)

static uint32_t number(float x) {
    return small_constant(&g, QNN_DATATYPE_FLOAT_32, SHAPE(1), 0, 0, &x, sizeof x);
}

static uint32_t coefficient(size_t i, mistake m) {
    float p = (float)qrn_erf_fit[i], all[33];
    for (uint32_t k = 0; k < 33; k++)
        all[k] = p;
    if (m == VECTOR && i == 3)
        return small_constant(&g, QNN_DATATYPE_FLOAT_32, SHAPE(33), 0, 0, all, sizeof all);
    return number(m == COEFFICIENT && i == 3 ? nextafterf(p, 1.0f) : p);
}

static uint32_t with(const char *op, uint32_t a, uint32_t b) {
    uint32_t y = INNER(&g, 7, 33);
    small_binary(&g, op, a, b, y);
    return y;
}

// The erf of x / 32; z is another value. Returns the argument of tanh.
static uint32_t chain(uint32_t x, uint32_t z, uint32_t y, mistake m) {
    const char *mul = QNN_OP_ELEMENT_WISE_MULTIPLY, *add = QNN_OP_ELEMENT_WISE_ADD;
    uint32_t square = with(mul, x, m == SQUARE ? z : x), other = with(mul, x, z);
    uint32_t sum = coefficient(0, m);
    for (size_t i = 1; i < N_FIT - (m == SHORT); i++) {
        uint32_t by = m == OTHER_SQUARE && i == 4 ? other : square;
        sum = with(add, with(mul, sum, by), coefficient(i, m));
    }
    uint32_t arg = with(mul, sum, m == FACTOR ? z : x);
    small_unary(&g, m == FUNCTION ? QNN_OP_SIGMOID : QNN_OP_TANH, arg, y);
    return arg;
}

// Outputs: x, then its erf. Whole numbers from -128 to 127 come in.
static uint32_t whole_chain(mistake m) {
    uint32_t in = INPUT(&g, 7, 33), x = OUTPUT(&g, 7, 33), y = OUTPUT(&g, 7, 33);
    uint32_t z = INNER(&g, 7, 33);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MULTIPLY, in, number(1.0f / 32), x);
    small_unary(&g, QNN_OP_ELEMENT_WISE_NEG, x, z);
    return chain(x, z, y, m);
}

static double worst_error(const small_run *r) {
    size_t n = r->n_out / sizeof(float) / 2;
    const float *x = (const float *)r->out, *y = x + n;
    double worst = 0;
    assert_int_equal(n, 7 * 33);
    for (size_t i = 0; i < n; i++) {
        double want = erf((double)x[i]);
        double e = want == 0 ? fabs((double)y[i]) : fabs((double)y[i] / want - 1);
        worst = e <= worst ? worst : e; // NaN is worst of all
    }
    return worst;
}

static void erf_is_one_step(void **state) {
    (void)state;
    whole_chain(NONE);
    small_run sum = small_go(&g, "-all", 1), plain = small_go(&g, "-special", 1);
    small_run fast = small_go(&g, "", 1);
    assert_int_equal(sum.n_steps, 18);
    assert_int_equal(plain.n_steps, 16); // those that nobody reads are dead
    assert_int_equal(fast.n_steps, 2);
    assert_memory_equal(plain.out, sum.out, sum.n_out);
    assert_true(worst_error(&fast) <= 1e-7);
    assert_true(worst_error(&fast) <= worst_error(&sum));
    small_free(&sum);
    small_free(&plain);
    small_free(&fast);
}

// Another reader keeps its steps; the erf itself is still one.
static void erf_leaves_steps_that_are_read(void **state) {
    (void)state;
    uint32_t arg = whole_chain(NONE), y = OUTPUT(&g, 7, 33);
    small_unary(&g, QNN_OP_ELEMENT_WISE_ABS, arg, y);
    small_run sum = small_go(&g, "-all", 1), fast = small_go(&g, "", 1);
    assert_int_equal(sum.n_steps, 19);
    assert_int_equal(fast.n_steps, 17);
    size_t third = fast.n_out / 3;
    assert_memory_equal(fast.out + 2 * third, sum.out + 2 * third, third);
    fast.n_out = sum.n_out = 2 * third;
    assert_true(worst_error(&fast) <= 1e-7);
    small_free(&sum);
    small_free(&fast);
}

static void other_chains_stay(void **state) {
    (void)state;
    for (mistake m = NONE + 1; m < N_MISTAKES; m++) {
        if (m > NONE + 1)
            small_begin(&g);
        whole_chain(m);
        small_pair p = small_compare(&g);
        assert_true(p.with.n_steps >= 14);
        small_free(&p.without);
        small_free(&p.with);
        if (m + 1 < N_MISTAKES)
            small_end(&g);
    }
}

// The acos of x / 128: 2 atan(sqrt((1 - x) / (x + 1))). `two` and `one` differ from that in tests.
static void acos_chain(float two, float one, bool other) {
    uint32_t in = INPUT(&g, 7, 33), x = OUTPUT(&g, 7, 33), y = OUTPUT(&g, 7, 33);
    uint32_t z = INNER(&g, 7, 33), root = INNER(&g, 7, 33), half = INNER(&g, 7, 33);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MULTIPLY, in, number(1.0f / 128), x);
    small_unary(&g, QNN_OP_ELEMENT_WISE_NEG, x, z);
    uint32_t less = with(QNN_OP_ELEMENT_WISE_SUBTRACT, number(one), x);
    uint32_t more = with(QNN_OP_ELEMENT_WISE_ADD, other ? z : x, number(1));
    small_unary(&g, QNN_OP_ELEMENT_WISE_SQUARE_ROOT, with(QNN_OP_ELEMENT_WISE_DIVIDE, less, more),
                root);
    small_unary(&g, QNN_OP_ELEMENT_WISE_ATAN, root, half);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MULTIPLY, half, number(two), y);
}

static void acos_is_one_step(void **state) {
    (void)state;
    acos_chain(2, 1, false);
    small_run sum = small_go(&g, "-all", 1), plain = small_go(&g, "-special", 1);
    small_run fast = small_go(&g, "", 1);
    assert_int_equal(sum.n_steps, 8);
    assert_int_equal(plain.n_steps, 7); // the negation that nobody reads is dead
    assert_int_equal(fast.n_steps, 2);
    assert_memory_equal(plain.out, sum.out, sum.n_out);
    size_t n = fast.n_out / sizeof(float) / 2;
    const float *x = (const float *)fast.out, *y = x + n;
    for (size_t i = 0; i < n; i++)
        assert_true(fabs((double)y[i] - acos((double)x[i])) <= 2e-7 * acos((double)x[i]));
    small_free(&sum);
    small_free(&plain);
    small_free(&fast);
}

static void other_chains_than_acos_stay(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            small_begin(&g);
        acos_chain(i == 0 ? 2.5f : 2, i == 1 ? 1.5f : 1, i == 2);
        small_pair p = small_compare(&g);
        assert_int_equal(p.with.n_steps, i == 2 ? 8 : 7);
        small_free(&p.without);
        small_free(&p.with);
        if (i < 2)
            small_end(&g);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(erf_is_one_step),  TEST(erf_leaves_steps_that_are_read), TEST(other_chains_stay),
        TEST(acos_is_one_step), TEST(other_chains_than_acos_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
