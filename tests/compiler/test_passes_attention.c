// SPDX-License-Identifier: MIT
//
// Pass "attention": which graphs become one step, and which do not. What the step computes is
// checked against numpy (tests/op/cases_fusion.py) and by test_attention.
#include "small_graph.h"

#include "compiler/compile.h"

static small_graph g;

enum { HEADS = 2, ROWS = 3, PAST = 5, KEYS = PAST + ROWS, SIZE = 8 };

typedef struct form {
    bool joins;          // keys and values are a cache and new ones
    bool fp16;           // the cache is fp16, which a Cast makes floats of
    bool shows_scores;   // the application wants them
    bool reads_twice;    // somebody else reads the weights
    bool mask_of_scores; // the mask is a function of the scores
    qrn_fp16_rule rule;
} form;

static uint32_t cache(bool fp16) {
    if (!fp16)
        return INPUT(&g, HEADS, PAST, SIZE);
    uint32_t real = INNER(&g, HEADS, PAST, SIZE);
    small_unary(&g, QNN_OP_CAST,
                small_tensor(&g, QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_16,
                             SHAPE(HEADS, PAST, SIZE)),
                real);
    return real;
}

static uint32_t keys(form f) {
    if (!f.joins)
        return INPUT(&g, HEADS, KEYS, SIZE);
    uint32_t all = INNER(&g, HEADS, KEYS, SIZE);
    const uint32_t parts[] = {cache(f.fp16), INPUT(&g, HEADS, ROWS, SIZE)};
    small_concat(&g, parts, 2, all, 1);
    return all;
}

static void build(form f) {
    uint32_t q = INPUT(&g, HEADS, ROWS, SIZE), k = keys(f), v = keys(f);
    uint32_t kt = INNER(&g, HEADS, SIZE, KEYS);
    small_transpose(&g, k, kt, (const uint32_t[]){0, 2, 1});
    uint32_t s = f.shows_scores ? OUTPUT(&g, HEADS, ROWS, KEYS) : INNER(&g, HEADS, ROWS, KEYS);
    small_binary(&g, QNN_OP_MAT_MUL, q, kt, s);
    uint32_t mask = INPUT(&g, 1, ROWS, KEYS), masked = INNER(&g, HEADS, ROWS, KEYS);
    if (f.mask_of_scores) {
        mask = INNER(&g, HEADS, ROWS, KEYS);
        small_unary(&g, QNN_OP_RELU, s, mask);
    }
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, s, mask, masked);
    uint32_t p = INNER(&g, HEADS, ROWS, KEYS), y = INNER(&g, HEADS, ROWS, SIZE);
    small_unary(&g, QNN_OP_SOFTMAX, masked, p);
    small_binary(&g, QNN_OP_MAT_MUL, p, v, y);
    if (f.reads_twice)
        small_unary(&g, QNN_OP_RELU, p, OUTPUT(&g, HEADS, ROWS, KEYS));
    small_transpose(&g, y, OUTPUT(&g, ROWS, HEADS, SIZE), (const uint32_t[]){1, 0, 2});
}

// How many steps of each kind the graph compiles to.
typedef struct steps {
    uint32_t attention, softmax, concat, transpose, all;
} steps;

static steps compile(form f, const char *passes, bool binder_fuses) {
    qrn_compile_options opt = {.passes = passes, .binder_fuses = binder_fuses, .fp16 = f.rule};
    qrn_compiled *cg = NULL;
    steps n = {0};
    small_begin(&g);
    build(f);
    const qrn_api_graph *object = qrn_handle_get(QRN_KIND_GRAPH, g.handle);
    assert_int_equal(qrn_compile(object->ir, &opt, &cg), QRN_OK);
    for (uint32_t i = 0; i < cg->n_steps; i++) {
        n.attention += cg->steps[i].op == &qrn_cop_attention;
        n.softmax += cg->steps[i].op == &qrn_cop_softmax;
        n.concat += cg->steps[i].op == &qrn_cop_concat;
        n.transpose += cg->steps[i].op == &qrn_cop_transpose;
    }
    n.all = cg->n_steps;
    assert_int_equal(qrn_compiled_verify(cg, true), QRN_OK);
    qrn_compiled_destroy(cg);
    small_end(&g);
    return n;
}

static void attention_is_one_step(void **state) {
    (void)state;
    assert_int_equal(compile((form){0}, "", false).all, 1);
}

static void a_cache_and_new_keys_are_read_where_they_lie(void **state) {
    (void)state;
    steps n = compile((form){.joins = true}, "", false);
    assert_int_equal(n.attention, 1);
    assert_int_equal(n.all, 1);
}

static void a_cache_of_fp16_is_read_as_it_is(void **state) {
    (void)state;
    for (qrn_fp16_rule rule = QRN_FP16_IEEE; rule <= QRN_FP16_AS_F32; rule++) {
        steps n = compile((form){.joins = true, .fp16 = true, .rule = rule}, "", false);
        assert_int_equal(n.attention, 1);
        assert_int_equal(n.all, 1);
    }
}

static void scores_that_somebody_wants_stay(void **state) {
    (void)state;
    assert_int_equal(compile((form){.shows_scores = true}, "", false).softmax, 1);
    assert_int_equal(compile((form){.reads_twice = true}, "", false).softmax, 1);
    assert_int_equal(compile((form){.mask_of_scores = true}, "", false).softmax, 1);
}

static void a_binder_that_fuses_gets_the_parts(void **state) {
    (void)state;
    assert_int_equal(compile((form){.joins = true}, "", true).attention, 0);
    assert_int_equal(compile((form){.joins = true}, "-attention", false).attention, 0);
}

// Keys of quantized attention: the cache is not transposed for each token.
static void quantized_keys_are_not_transposed(void **state) {
    (void)state;
    small_begin(&g);
    uint32_t q = small_encoded(&g, QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_16,
                               SHAPE(HEADS, ROWS, SIZE), 0.01f, -30000);
    uint32_t k = small_encoded(&g, QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_16,
                               SHAPE(HEADS, KEYS, SIZE), 0.02f, -32768);
    uint32_t kt = small_encoded(&g, QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_UFIXED_POINT_16,
                                SHAPE(HEADS, SIZE, KEYS), 0.02f, -32768);
    uint32_t s = small_encoded(&g, QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_16,
                               SHAPE(HEADS, ROWS, KEYS), 30.0f, -32000);
    small_transpose(&g, k, kt, (const uint32_t[]){0, 2, 1});
    small_binary(&g, QNN_OP_MAT_MUL, q, kt, s);
    small_expect(&g, 2, 1);
    small_end(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_one_step),
        cmocka_unit_test(a_cache_and_new_keys_are_read_where_they_lie),
        cmocka_unit_test(a_cache_of_fp16_is_read_as_it_is),
        cmocka_unit_test(scores_that_somebody_wants_stay),
        cmocka_unit_test(a_binder_that_fuses_gets_the_parts),
        cmocka_unit_test(quantized_keys_are_not_transposed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
