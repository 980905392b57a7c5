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

// As a quantizer writes it: heads in groups, a cache and new keys, scores divided by a number that
// only their scale shows, a mask for all heads, a Transpose behind it.
typedef struct cached {
    Qnn_DataType_t cache;
    uint32_t rows;
    float scale; // of the divided scores, times 8
} cached;

static uint32_t words(Qnn_TensorType_t type, const uint32_t *shape, float scale, int32_t offset) {
    return small_encoded(&g, type, QNN_DATATYPE_UFIXED_POINT_16, shape, scale, offset);
}

static uint32_t cached_keys(cached c) {
    const bool bytes = c.cache == QNN_DATATYPE_UFIXED_POINT_8;
    const float scale = bytes ? 0.02f : 0.0001f;
    const int32_t offset = bytes ? -128 : -32768;
    const uint32_t parts[] = {small_encoded(&g, QNN_TENSOR_TYPE_APP_WRITE, c.cache,
                                            SHAPE(HEADS, PAST, SIZE), scale, offset),
                              small_encoded(&g, QNN_TENSOR_TYPE_APP_WRITE, c.cache,
                                            SHAPE(HEADS, c.rows, SIZE), scale, offset)};
    uint32_t all = small_encoded(&g, QNN_TENSOR_TYPE_NATIVE, c.cache,
                                 SHAPE(HEADS, PAST + c.rows, SIZE), scale, offset);
    small_concat(&g, parts, 2, all, 1);
    return all;
}

static void build_cached(cached c) {
    const uint32_t n = PAST + c.rows;
    const uint16_t eight = 65535;
    uint32_t q = words(QNN_TENSOR_TYPE_APP_WRITE, SHAPE(HEADS, c.rows, SIZE), 0.0001f, -30000);
    uint32_t k = cached_keys(c), v = cached_keys(c);
    uint32_t kt = small_encoded(&g, QNN_TENSOR_TYPE_NATIVE, c.cache, SHAPE(HEADS, SIZE, n),
                                g.tensors[k].v1.quantizeParams.scaleOffsetEncoding.scale,
                                g.tensors[k].v1.quantizeParams.scaleOffsetEncoding.offset);
    small_transpose(&g, k, kt, (const uint32_t[]){0, 2, 1});
    uint32_t s = words(QNN_TENSOR_TYPE_NATIVE, SHAPE(HEADS, c.rows, n), 0.008f, -32000);
    small_binary(&g, QNN_OP_MAT_MUL, q, kt, s);
    uint32_t d = words(QNN_TENSOR_TYPE_NATIVE, SHAPE(HEADS, c.rows, n), c.scale / 8, -32000);
    uint32_t root = small_constant(&g, QNN_DATATYPE_UFIXED_POINT_16, SHAPE(1), 8.0f / 65535, 0,
                                   &eight, sizeof eight);
    small_binary(&g, QNN_OP_ELEMENT_WISE_DIVIDE, s, root, d);
    uint32_t mask = words(QNN_TENSOR_TYPE_APP_WRITE, SHAPE(1, c.rows, n), 0.001f, -65535);
    uint32_t sum = words(QNN_TENSOR_TYPE_NATIVE, SHAPE(HEADS, c.rows, n), 0.0013f, -50000);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, d, mask, sum);
    uint32_t p = words(QNN_TENSOR_TYPE_NATIVE, SHAPE(HEADS, c.rows, n), 1.0f / 65535, 0);
    small_unary(&g, QNN_OP_SOFTMAX, sum, p);
    uint32_t y = words(QNN_TENSOR_TYPE_NATIVE, SHAPE(HEADS, c.rows, SIZE), 0.0001f, -33000);
    small_binary(&g, QNN_OP_MAT_MUL, p, v, y);
    uint32_t last = words(QNN_TENSOR_TYPE_APP_READ, SHAPE(c.rows, HEADS, SIZE), 0.0001f, -33000);
    small_transpose(&g, y, last, (const uint32_t[]){1, 0, 2});
}

static uint32_t steps_of_cached(cached c) {
    small_begin(&g);
    build_cached(c);
    small_pair runs = small_compare(&g); // equal to the byte
    uint32_t n = runs.with.n_steps;
    small_free(&runs.with);
    small_free(&runs.without);
    small_end(&g);
    return n;
}

static void quantized_attention_is_one_step(void **state) {
    (void)state;
    const Qnn_DataType_t types[] = {QNN_DATATYPE_UFIXED_POINT_16, QNN_DATATYPE_UFIXED_POINT_8};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(steps_of_cached((cached){types[i], 1, 0.008f}), 1);
        assert_int_equal(steps_of_cached((cached){types[i], 3, 0.008f}), 1);
        // a scaling that changes quantized values is a step; many rows are multiplied packed
        assert_true(steps_of_cached((cached){types[i], 3, 0.009f}) > 1);
        assert_true(steps_of_cached((cached){types[i], 17, 0.008f}) > 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_one_step),
        cmocka_unit_test(a_cache_and_new_keys_are_read_where_they_lie),
        cmocka_unit_test(a_cache_of_fp16_is_read_as_it_is),
        cmocka_unit_test(scores_that_somebody_wants_stay),
        cmocka_unit_test(a_binder_that_fuses_gets_the_parts),
        cmocka_unit_test(quantized_keys_are_not_transposed),
        cmocka_unit_test(quantized_attention_is_one_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
