// SPDX-License-Identifier: MIT
//
// Graphs cut into fused steps; every expected number is worked out by hand beside its graph.
#include "net.h"

#include "QnnOpDef.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

// Dimensions up to the first 0.
static uint32_t add(net *n, qd_value v, const uint32_t dims[5]) {
    uint32_t index;
    for (v.rank = 0; v.rank < 5 && dims[v.rank]; v.rank++)
        v.dims[v.rank] = dims[v.rank];
    assert_int_equal(qd_add_value(&n->g, &v, &index), QRN_OK);
    return index;
}

#define D(...) ((const uint32_t[5]){__VA_ARGS__})
#define INPUT(...) add(n, (qd_value){.input = true}, D(__VA_ARGS__))
#define VALUE(...) add(n, (qd_value){0}, D(__VA_ARGS__))
#define RESULT(...) add(n, (qd_value){.output = true}, D(__VA_ARGS__))
#define WEIGHTS(...) add(n, (qd_value){.constant = true}, D(__VA_ARGS__))

static void op(net *n, qd_op o, uint32_t a, uint32_t b, uint32_t y) {
    const uint32_t in[] = {a, b};
    o.in = in;
    o.n_in = b == UINT32_MAX ? 1 : 2;
    o.out = &y;
    o.n_out = 1;
    o.name = o.name ? o.name : o.type;
    assert_int_equal(qd_add_op(&n->g, &o), QRN_OK);
}

#define OP1(word, x, y) op(n, (qd_op){.type = word}, x, UINT32_MAX, y)
#define OP2(word, a, b, y) op(n, (qd_op){.type = word}, a, b, y)

static const qd_step *cut(net *n, uint32_t expected) {
    assert_int_equal(qd_cut(&n->g, &n->s), QRN_OK);
    assert_int_equal(n->s.n, expected);
    return n->s.list;
}

static void a_stem_is_padded_to_32_channels(void **state) {
    net *n = *state;
    uint32_t x = INPUT(1, 224, 224, 3), y = RESULT(1, 112, 112, 64);
    OP2("Conv2d", x, WEIGHTS(7, 7, 3, 64), y);
    const qd_step *s = cut(n, 1);
    assert_int_equal(s->kind, QD_MATRIX);
    assert_true(s->macs == 12544.0 * 147 * 64);       // 112*112 rows of 7*7*3
    assert_true(s->padded == 12544.0 * 49 * 32 * 64); // 12544 is 392*32
    assert_true(s->weights == 9408);                  // 147*64
    assert_true(s->in == 150528 && s->out == 802816);
}

static void rows_and_channels_round_up(void **state) {
    net *n = *state;
    OP2("Conv2d", INPUT(1, 7, 7, 40), WEIGHTS(1, 1, 40, 100), RESULT(1, 7, 7, 100));
    const qd_step *s = cut(n, 1);
    assert_true(s->macs == 49.0 * 40 * 100);
    assert_true(s->padded == 64.0 * 64 * 128);
    assert_true(s->results == 64.0 * 128);
}

static void thin_groups_share_tiles(void **state) {
    net *n = *state;
    op(n, (qd_op){.type = "Conv2d", .groups = 8}, INPUT(1, 8, 8, 64), WEIGHTS(3, 3, 8, 64),
       VALUE(1, 8, 8, 64));
    op(n, (qd_op){.type = "Conv2d", .groups = 2}, INPUT(1, 8, 8, 96), WEIGHTS(3, 3, 48, 96),
       RESULT(1, 8, 8, 96));
    const qd_step *s = cut(n, 2);
    assert_true(s[0].macs == 64.0 * 9 * 8 * 64);
    assert_true(s[0].padded == 64.0 * (9 * 32) * 64); // 8 channels a group: one tile of 32
    assert_true(s[1].padded == 64.0 * (9 * 64) * (2 * 64));
}

static void frames_are_separate(void **state) {
    net *n = *state;
    OP2("Conv3d", INPUT(1, 4, 5, 5, 32), WEIGHTS(3, 3, 3, 32, 32), RESULT(1, 4, 5, 5, 32));
    const qd_step *s = cut(n, 1);
    assert_true(s->macs == 100.0 * 27 * 32 * 32);
    assert_true(s->padded == 4.0 * 32 * 27 * 32 * 32); // 25 rows a frame become 32
}

static void products_count_heads_as_batches(void **state) {
    net *n = *state;
    OP2("MatMul", INPUT(1, 12, 197, 64), INPUT(1, 12, 64, 197), VALUE(1, 12, 197, 197));
    OP2("MatMul", INPUT(2, 50, 64), WEIGHTS(64, 10), RESULT(2, 50, 10));
    const qd_step *s = cut(n, 2);
    assert_true(s[0].macs == 12.0 * 197 * 64 * 197);
    assert_true(s[0].padded == 12.0 * 224 * 64 * 224);
    assert_true(s[0].weights == 0);
    assert_true(s[1].padded == 128.0 * 64 * 32); // one matrix for all: 100 rows
    assert_true(s[1].weights == 640);
}

static void a_classifier_costs_a_tile_of_rows(void **state) {
    net *n = *state;
    OP2("FullyConnected", INPUT(1, 1280, 0), WEIGHTS(1000, 1280), RESULT(1, 1000, 0));
    const qd_step *s = cut(n, 1);
    assert_true(s->macs == 1280000 && s->weights == 1280000);
    assert_true(s->padded == 32.0 * 1280 * 1024);
}

static void depthwise_steps_count_products(void **state) {
    net *n = *state;
    OP2("DepthWiseConv2d", INPUT(1, 14, 14, 48), WEIGHTS(3, 3, 1, 48), RESULT(1, 14, 14, 48));
    const qd_step *s = cut(n, 1);
    assert_int_equal(s->kind, QD_DEPTHWISE);
    assert_true(s->macs == 9408.0 * 9 && s->padded == 0 && s->weights == 432);
}

static void what_follows_a_convolution_joins_it(void **state) {
    net *n = *state;
    uint32_t a = VALUE(1, 8, 8, 32), b = VALUE(1, 8, 8, 32), c = VALUE(1, 8, 8, 32);
    OP2("Conv2d", INPUT(1, 8, 8, 32), WEIGHTS(1, 1, 32, 32), a);
    OP2("Batchnorm", a, WEIGHTS(32), b);
    OP2("ElementWiseAdd", b, WEIGHTS(32), c);
    OP1("Relu", c, RESULT(1, 8, 8, 32));
    assert_int_equal(cut(n, 1)->n_ops, 4);
}

static void a_computed_scale_stays_a_step(void **state) {
    net *n = *state;
    uint32_t a = VALUE(1, 8, 8, 32), gate = VALUE(1, 1, 1, 32);
    OP2("Conv2d", INPUT(1, 8, 8, 32), WEIGHTS(1, 1, 32, 32), a);
    OP1("Sigmoid", INPUT(1, 1, 1, 32), gate);
    OP2("ElementWiseMultiply", a, gate, RESULT(1, 8, 8, 32)); // one number for each channel
    const qd_step *s = cut(n, 3);
    assert_int_equal(s[0].n_ops, 1);
    assert_true(s[2].in == 2048 + 32 && s[2].out == 2048);
}

static void nothing_joins_where_somebody_else_reads(void **state) {
    net *n = *state;
    uint32_t a = VALUE(1, 8, 8, 32), b = VALUE(1, 8, 8, 32);
    OP2("Conv2d", INPUT(1, 8, 8, 32), WEIGHTS(1, 1, 32, 32), a);
    OP1("Relu", a, b);
    OP2("ElementWiseAdd", a, b, RESULT(1, 8, 8, 32));
    const qd_step *s = cut(n, 3);
    assert_int_equal(s[0].n_ops, 1);
    assert_int_equal(s[1].kind, QD_LIGHT);
}

static void nothing_joins_a_result_of_the_graph(void **state) {
    net *n = *state;
    uint32_t a = RESULT(1, 8, 8, 32);
    OP2("Conv2d", INPUT(1, 8, 8, 32), WEIGHTS(1, 1, 32, 32), a);
    OP1("Relu", a, RESULT(1, 8, 8, 32));
    cut(n, 2);
}

static void a_residual_sum_takes_its_relu(void **state) {
    net *n = *state;
    uint32_t x = INPUT(1, 8, 8, 32), a = VALUE(1, 8, 8, 32), b = VALUE(1, 8, 8, 32);
    OP2("Conv2d", x, WEIGHTS(1, 1, 32, 32), a);
    OP2("ElementWiseAdd", a, x, b);
    OP1("Relu", b, RESULT(1, 8, 8, 32));
    const qd_step *s = cut(n, 2);
    assert_int_equal(s[1].n_ops, 2);
    assert_true(s[1].in == 4096 && s[1].out == 2048);
}

static void a_lone_batchnorm_is_two_steps_when_quantized(void **state) {
    net *n = *state;
    uint32_t a = VALUE(1, 8, 8, 32), b = VALUE(1, 8, 8, 32);
    OP2("Batchnorm", INPUT(1, 8, 8, 32), WEIGHTS(32), a);
    OP1("Relu", a, b);
    OP2("Conv2d", b, WEIGHTS(1, 1, 32, 32), RESULT(1, 8, 8, 32));
    const qd_step *s = cut(n, 2);
    assert_true(s[0].split);
    assert_int_equal(s[0].n_ops, 2);
}

static void sigmoid_times_its_input_is_one_step(void **state) {
    net *n = *state;
    uint32_t x = VALUE(1, 8, 8, 32), a = VALUE(1, 8, 8, 32);
    OP2("Conv2d", INPUT(1, 8, 8, 32), WEIGHTS(1, 1, 32, 32), x);
    OP1("Sigmoid", x, a);
    OP2("ElementWiseMultiply", x, a, RESULT(1, 8, 8, 32));
    const qd_step *s = cut(n, 2);
    assert_int_equal(s[1].kind, QD_HEAVY);
    assert_true(s[1].in + s[1].out == 4096);
}

static void reshapes_are_free_and_transparent(void **state) {
    net *n = *state;
    uint32_t a = VALUE(1, 8, 8, 32), b = VALUE(1, 64, 32);
    OP2("Conv2d", INPUT(1, 8, 8, 32), WEIGHTS(1, 1, 32, 32), a);
    OP1("Reshape", a, b);
    OP1("Relu", b, RESULT(1, 64, 32));
    assert_int_equal(cut(n, 1)->n_ops, 2);
}

static void transposes_at_the_ends_are_free(void **state) {
    net *n = *state;
    uint32_t a = VALUE(1, 8, 8, 32), b = VALUE(1, 8, 8, 32), c = VALUE(8, 1, 8, 32);
    OP1("Transpose", INPUT(1, 32, 8, 8), a);
    OP1("Softmax", a, b);
    OP1("Transpose", b, c);
    OP1("Softmax", c, RESULT(8, 1, 8, 32));
    const qd_step *s = cut(n, 3);
    assert_int_equal(s[1].kind, QD_MOVE);
    assert_true(s[1].in + s[1].out == 4096);
}

static void transposes_beside_conversions_at_the_ends_are_free(void **state) {
    net *n = *state;
    uint32_t a = VALUE(1, 32, 8, 8), b = VALUE(1, 8, 8, 32), c = VALUE(1, 8, 8, 32);
    uint32_t d = VALUE(1, 32, 8, 8);
    OP1("Quantize", INPUT(1, 32, 8, 8), a);
    OP1("Transpose", a, b);
    OP1("Softmax", b, c);
    OP1("Transpose", c, d);
    OP1("Dequantize", d, RESULT(1, 32, 8, 8));
    const qd_step *s = cut(n, 3);
    assert_string_equal(s[1].op->type, "Softmax");
}

static void a_transposed_operand_is_free(void **state) {
    net *n = *state;
    uint32_t k = VALUE(2, 50, 64), t = VALUE(2, 64, 50), u = VALUE(2, 64, 50);
    OP1("Softmax", INPUT(2, 50, 64), k);
    op(n, (qd_op){.type = "Transpose", .swaps = true}, k, UINT32_MAX, t);
    OP2("ElementWiseMultiply", t, WEIGHTS(1), u);
    OP2("MatMul", INPUT(2, 50, 64), u, RESULT(2, 50, 50));
    const qd_step *s = cut(n, 3);
    assert_int_equal(s[1].kind, QD_LIGHT);
}

static void a_transpose_beside_products_is_a_copy(void **state) {
    net *n = *state;
    uint32_t k = VALUE(2, 50, 64), t = VALUE(2, 64, 50);
    OP1("Softmax", INPUT(2, 50, 64), k);
    op(n, (qd_op){.type = "Transpose", .swaps = true}, k, UINT32_MAX, t);
    OP1("Softmax", t, RESULT(2, 64, 50));
    assert_int_equal(cut(n, 3)[1].kind, QD_MOVE);
}

static void pools_count_half_their_windows(void **state) {
    net *n = *state;
    uint32_t a = VALUE(1, 4, 4, 32);
    op(n, (qd_op){.type = "PoolMax2d", .window = 9}, INPUT(1, 8, 8, 32), UINT32_MAX, a);
    op(n, (qd_op){.type = "PoolAvg2d", .window = 16}, a, UINT32_MAX, RESULT(1, 1, 1, 32));
    const qd_step *s = cut(n, 2);
    assert_int_equal(s[0].kind, QD_POOL);
    assert_true(s[0].windows == 0.5 * 512 * 9);
    assert_int_equal(s[1].kind, QD_LIGHT); // over all of it
    assert_true(s[1].windows == 0);
}

static void an_enlarged_picture_is_compared_as_it_is_made(void **state) {
    net *n = *state;
    uint32_t a = VALUE(1, 64, 64, 21), b = VALUE(1, 8, 8, 21), c = VALUE(1, 64, 64, 21);
    OP1("ResizeBilinear", INPUT(1, 8, 8, 21), a);
    OP1("Argmax", a, RESULT(1, 64, 64));
    OP1("Relu", INPUT(1, 8, 8, 21), b);
    OP1("ResizeBilinear", b, c);
    OP1("Argmax", c, RESULT(1, 64, 64));
    OP1("Softmax", c, RESULT(1, 64, 64, 21)); // somebody else reads this one
    const qd_step *s = cut(n, 6);
    assert_true(s[0].in == 1344 && s[0].out == 0);
    assert_true(s[1].in == 0 && s[1].out == 4096);
    assert_true(s[3].in == 1344 && s[3].out == 86016);
    assert_true(s[4].in == 86016 && s[4].out == 4096);
}

static void thin_pictures_count_32_channels(void **state) {
    net *n = *state;
    uint32_t a = INPUT(1, 8, 8, 1), b = VALUE(1, 8, 8, 1), c = VALUE(1, 8, 8, 1);
    OP2("ElementWiseAdd", a, INPUT(1, 8, 8, 1), b);
    OP1("Transpose", b, c); // moves no more than there is
    OP2("ElementWiseMultiply", c, WEIGHTS(1, 8, 8, 1), RESULT(1, 8, 8, 1));
    OP2("ElementWiseAdd", INPUT(1, 8, 8, 16), INPUT(1, 8, 8, 16), RESULT(1, 8, 8, 16));
    const qd_step *s = cut(n, 4);
    assert_true(s[0].in + s[0].out == 3 * 64 && qd_work(&s[0]) == 3 * 64 * 32);
    assert_true(s[1].kind == QD_MOVE && qd_work(&s[1]) == 2 * 64);
    assert_true(qd_work(&s[2]) == 1.4 * (2 * 64 * 32)); // constants are not read in tiles
    assert_true(qd_work(&s[3]) == 3 * 64 * 16);         // 16 are no longer thin
    const bool thin[] = {true, false, true, false};
    for (int i = 0; i < 4; i++)
        assert_int_equal(s[i].thin, thin[i]);
}

static void divisions_and_slopes_take_longer(void **state) {
    net *n = *state;
    uint32_t a = INPUT(1, 8, 8, 32), b = VALUE(1, 8, 8, 32), c = VALUE(1, 8, 8, 32);
    OP2("ElementWiseDivide", a, INPUT(1, 8, 8, 32), b);
    OP2("Prelu", b, WEIGHTS(32), c);
    OP2("Prelu", c, WEIGHTS(1), RESULT(1, 8, 8, 32));
    OP2("ElementWiseSubtract", a, b, RESULT(1, 8, 8, 32));
    OP2("ElementWiseMultiply", a, b, RESULT(1, 8, 8, 32));
    OP2("ElementWiseBinary", a, b, RESULT(1, 8, 8, 32));
    n->g.ops[n->g.n_ops - 1].kind = 18; // subtract
    const qd_step *s = cut(n, 6);
    assert_true(s[0].divides && qd_work(&s[0]) == 10.2 * (3 * 2048));
    assert_true(s[1].thin && qd_work(&s[1]) == 2 * 2 * 2048); // its slopes, not its channels
    assert_true(!s[2].thin && qd_work(&s[2]) == 2 * 2048);
    assert_true(!s[3].divides && qd_work(&s[3]) == 4.1 * (3 * 2048));
    assert_true(qd_work(&s[4]) == 3 * 2048);
    assert_true(qd_work(&s[5]) == 4.1 * (3 * 2048));
    for (int i = 0; i < 6; i++)
        assert_int_equal(qd_passes(&s[i], QD_W8A8), 1);
}

static void operations_by_number_are_known(void **state) {
    net *n = *state;
    uint32_t a = INPUT(1, 8, 8, 32), b = VALUE(1, 8, 8, 32), c = VALUE(1, 8, 8, 32);
    qd_op binary = {.type = "ElementWiseBinary", .kind = QNN_OP_ELEMENT_WISE_BINARY_OPERATION_ADD};
    op(n, binary, a, INPUT(1, 8, 8, 32), b);
    binary.kind = QNN_OP_ELEMENT_WISE_BINARY_OPERATION_DIVIDE;
    op(n, binary, b, INPUT(1, 8, 8, 32), c);
    qd_op neuron = {.type = "ElementWiseNeuron",
                    .kind = QNN_OP_ELEMENT_WISE_NEURON_OPERATION_SIGMOID};
    uint32_t gate = VALUE(1, 8, 8, 32);
    op(n, neuron, c, UINT32_MAX, gate);
    OP2("ElementWiseMultiply", c, gate, RESULT(1, 8, 8, 32)); // x * sigmoid(x)
    const qd_step *s = cut(n, 3);
    assert_true(!s[0].divides && s[1].divides);
    assert_int_equal(s[2].n_ops, 2);
}

static void concats_of_whole_tiles_are_in_place(void **state) {
    net *n = *state;
    uint32_t wide = VALUE(1, 8, 8, 64), odd = VALUE(1, 8, 8, 48);
    OP1("Softmax", INPUT(1, 8, 8, 64), wide);
    OP1("Softmax", INPUT(1, 8, 8, 48), odd);
    OP2("Concat", wide, odd, RESULT(1, 8, 8, 112)); // the last one may be odd
    OP2("Concat", odd, wide, RESULT(1, 8, 8, 112));
    OP2("Concat", wide, wide, RESULT(1, 16, 8, 64));               // rows
    OP2("Concat", wide, INPUT(1, 8, 8, 64), RESULT(1, 8, 8, 128)); // the application's memory
    OP1("StridedSlice", wide, RESULT(1, 8, 8, 32));
    const qd_step *s = cut(n, 7);
    for (int i = 2; i < 7; i++)
        assert_int_equal(s[i].in_place, i == 2);
    for (int i = 0; i < 7; i++)
        assert_int_equal(s[i].joins, i >= 2 && i < 6);
}

static void an_unknown_op_is_named(void **state) {
    net *n = *state;
    OP1("Wobble", INPUT(4), RESULT(4));
    assert_int_equal(cut(n, 1)->kind, QD_LIGHT);
    assert_int_equal(n->s.n_unknown, 1);
    assert_string_equal(n->s.unknown[0]->type, "Wobble");
}

static void ops_without_operands_do_no_harm(void **state) {
    net *n = *state;
    uint32_t y = RESULT(1, 8, 8, 32);
    const qd_op none = {.name = "none", .type = "Conv2d", .in = &y, .out = &y};
    assert_int_equal(qd_add_op(&n->g, &none), QRN_OK);
    OP1("Conv2d", INPUT(1, 8, 8, 32), y);
    OP1("MatMul", y, RESULT(1, 8, 8, 32));
    cut(n, 0);
}

static void values_without_elements_do_no_harm(void **state) {
    net *n = *state;
    const qd_value none = {.rank = 4, .dims = {0, 0, 0, 0}};
    uint32_t x, y, z;
    assert_int_equal(qd_add_value(&n->g, &none, &x), QRN_OK);
    assert_int_equal(qd_add_value(&n->g, &none, &y), QRN_OK);
    assert_int_equal(qd_add_value(&n->g, &none, &z), QRN_OK);
    OP2("MatMul", x, y, z);
    OP2("Conv2d", x, y, z);
    OP2("FullyConnected", x, y, z);
    OP2("DepthWiseConv2d", x, y, z);
    OP1("PoolMax2d", x, z);
    const qd_step *s = cut(n, 5);
    for (int i = 0; i < 5; i++)
        assert_true(s[i].macs == 0 && s[i].padded == 0 && s[i].in == 0 && s[i].windows == 0);
}

static void an_empty_graph_has_no_steps(void **state) {
    net *n = *state;
    cut(n, 0);
}

static void lists_grow(void **state) {
    net *n = *state;
    uint32_t x = INPUT(32);
    for (int i = 0; i < 3000; i++) {
        uint32_t y = VALUE(32);
        OP1("Softmax", x, y);
        x = y;
    }
    const qd_step *s = cut(n, 3000);
    assert_true(s[0].in == 32 && s[2999].out == 32);
}

#define T(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void) {
    const struct CMUnitTest tests[] = {
        T(a_stem_is_padded_to_32_channels),
        T(rows_and_channels_round_up),
        T(thin_groups_share_tiles),
        T(frames_are_separate),
        T(products_count_heads_as_batches),
        T(a_classifier_costs_a_tile_of_rows),
        T(depthwise_steps_count_products),
        T(what_follows_a_convolution_joins_it),
        T(a_computed_scale_stays_a_step),
        T(nothing_joins_where_somebody_else_reads),
        T(nothing_joins_a_result_of_the_graph),
        T(a_residual_sum_takes_its_relu),
        T(a_lone_batchnorm_is_two_steps_when_quantized),
        T(sigmoid_times_its_input_is_one_step),
        T(reshapes_are_free_and_transparent),
        T(transposes_at_the_ends_are_free),
        T(transposes_beside_conversions_at_the_ends_are_free),
        T(a_transposed_operand_is_free),
        T(a_transpose_beside_products_is_a_copy),
        T(pools_count_half_their_windows),
        T(an_enlarged_picture_is_compared_as_it_is_made),
        T(thin_pictures_count_32_channels),
        T(divisions_and_slopes_take_longer),
        T(operations_by_number_are_known),
        T(concats_of_whole_tiles_are_in_place),
        T(an_unknown_op_is_named),
        T(ops_without_operands_do_no_harm),
        T(values_without_elements_do_no_harm),
        T(an_empty_graph_has_no_steps),
        T(lists_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
