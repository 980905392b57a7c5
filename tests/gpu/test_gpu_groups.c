// SPDX-License-Identifier: MIT
//
// GPU-SPD-02: how many launches small graphs become. Plans only: no device is needed.
#include "../compiler/small_graph.h"

#include "bind/gpu/plan.h"
#include "compiler/compile.h"

#include <stdio.h>
#include <string.h>

static small_graph g;
static char launched[4096]; // the names of the kernels
static bool tensor_cores;   // of the device that there is not

static int setup(void **state) {
    (void)state;
    small_begin(&g);
    launched[0] = 0;
    tensor_cores = false;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    small_end(&g);
    return 0;
}

static void note(void *ctx, const char *line) {
    (void)ctx;
    size_t n = strlen(launched);
    snprintf(launched + n, sizeof launched - n, "%s\n", line);
}

static uint32_t launches(bool keep_nodes) {
    static const qrn_cl_device info = {.type = CL_DEVICE_TYPE_GPU,
                                       .max_group = 1024,
                                       .local_bytes = 49152,
                                       .n_units = 16,
                                       .name = "no device"};
    const qrn_gpu_device device = {.info = &info, .mma = tensor_cores};
    const qrn_api_graph *object = qrn_handle_get(QRN_KIND_GRAPH, g.handle);
    qrn_compile_options opt = {
        .fp16 = QRN_FP16_AS_F32, .binder_fuses = true, .keep_tensors = keep_nodes};
    qrn_gpu_options gpu = {.device = &device, .keep_nodes = keep_nodes, .explain = note};
    qrn_compiled *cg = NULL;
    qrn_gpu_plan *p = NULL;
    if (qrn_compile(object->ir, &opt, &cg) != QRN_OK || qrn_bind_gpu(cg, &gpu, &p) != QRN_OK)
        fail_msg("%s", qrn_message());
    uint32_t n = p->n_launches;
    qrn_gpu_plan_destroy(p);
    return n;
}

static void expect(uint32_t n) {
    uint32_t found = launches(false);
    if (found != n)
        fail_msg("%u launches instead of %u:\n%s", found, n, launched);
}

// --- graphs

static const uint32_t same[4] = {1, 1, 1, 1};

// A convolution of 8 to 8 channels.
static uint32_t conv(uint32_t x, uint32_t y) {
    static float w[3 * 3 * 8 * 8];
    uint32_t weights =
        small_constant(&g, QNN_DATATYPE_FLOAT_32, SHAPE(3, 3, 8, 8), 0.0f, 0, w, sizeof w);
    small_conv(&g, QNN_OP_CONV_2D, x, weights, y, same);
    return y;
}

static uint32_t constant(const uint32_t *shape, float value) {
    static float data[64];
    uint32_t n = 1;
    for (uint32_t d = 0; shape[d]; d++)
        n *= shape[d];
    for (uint32_t i = 0; i < 64; i++)
        data[i] = value;
    return small_constant(&g, QNN_DATATYPE_FLOAT_32, shape, 0.0f, 0, data, n * sizeof *data);
}

static void layer_norm(uint32_t x, uint32_t y) {
    static const uint32_t last[1] = {3};
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_TENSOR;
    p.name = QNN_OP_LAYER_NORM_PARAM_AXES;
    p.tensorParam =
        g.tensors[small_constant(&g, QNN_DATATYPE_UINT_32, SHAPE(1), 0.0f, 0, last, sizeof last)];
    uint32_t in[] = {x, constant(SHAPE(8), 2.0f), constant(SHAPE(8), 1.0f)};
    small_node(&g, QNN_OP_LAYER_NORM, in, 3, &y, 1, &p, 1);
}

static void test_conv_and_relu6_are_one_launch(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 6, 6, 8), t = INNER(&g, 1, 6, 6, 8), y = OUTPUT(&g, 1, 6, 6, 8);
    small_unary(&g, QNN_OP_RELU6, conv(x, t), y);
    expect(1);
}

static void test_conv_residual_and_relu_are_one_launch(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 6, 6, 8), z = INPUT(&g, 1, 6, 6, 8);
    uint32_t t = INNER(&g, 1, 6, 6, 8), s = INNER(&g, 1, 6, 6, 8), y = OUTPUT(&g, 1, 6, 6, 8);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, conv(x, t), z, s);
    small_unary(&g, QNN_OP_RELU, s, y);
    expect(1);
}

static void test_swish_behind_a_conv_is_in_its_launch(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 6, 6, 8), t = INNER(&g, 1, 6, 6, 8), s = INNER(&g, 1, 6, 6, 8),
             y = OUTPUT(&g, 1, 6, 6, 8);
    conv(x, t);
    small_unary(&g, QNN_OP_SIGMOID, t, s);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MULTIPLY, t, s, y);
    expect(1);
}

static void test_a_value_that_two_followers_read_stays_in_the_launch(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 2, 8), t = INNER(&g, 2, 8), a = INNER(&g, 2, 8), b = INNER(&g, 2, 8),
             y = OUTPUT(&g, 2, 8);
    small_unary(&g, QNN_OP_ELEMENT_WISE_EXP, x, t);
    small_unary(&g, QNN_OP_ELEMENT_WISE_SIN, t, a);
    small_unary(&g, QNN_OP_ELEMENT_WISE_COS, t, b);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MULTIPLY, a, b, y);
    expect(1);
}

static void test_a_square_is_one_launch(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 2, 8), t = INNER(&g, 2, 8), y = OUTPUT(&g, 2, 8);
    small_unary(&g, QNN_OP_ELEMENT_WISE_EXP, x, t);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MULTIPLY, t, t, y);
    expect(1);
}

static void test_a_sum_of_two_products_is_one_launch(void **state) {
    (void)state;
    uint32_t x[4], p = INNER(&g, 2, 8), q = INNER(&g, 2, 8), y = OUTPUT(&g, 2, 8);
    for (int i = 0; i < 4; i++)
        x[i] = INPUT(&g, 2, 8);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MULTIPLY, x[0], x[1], p);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MULTIPLY, x[2], x[3], q);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, p, q, y);
    expect(1);
}

static void test_an_operand_made_before_the_conv_joins_its_launch(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 6, 6, 8), z = INPUT(&g, 1, 6, 6, 8), e = INNER(&g, 1, 6, 6, 8);
    uint32_t t = INNER(&g, 1, 6, 6, 8), y = OUTPUT(&g, 1, 6, 6, 8);
    small_unary(&g, QNN_OP_ELEMENT_WISE_EXP, z, e);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, conv(x, t), e, y);
    expect(1);
}

static void test_what_a_conv_reads_is_stored_although_its_follower_reads_it_too(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 6, 6, 8), e = INNER(&g, 1, 6, 6, 8), t = INNER(&g, 1, 6, 6, 8),
             y = OUTPUT(&g, 1, 6, 6, 8);
    small_unary(&g, QNN_OP_ELEMENT_WISE_EXP, x, e);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, conv(e, t), e, y);
    expect(2);
}

static void test_what_the_application_reads_is_stored(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 6, 6, 8), t = OUTPUT(&g, 1, 6, 6, 8), y = OUTPUT(&g, 1, 6, 6, 8);
    small_unary(&g, QNN_OP_ELEMENT_WISE_EXP, conv(x, t), y);
    expect(2);
}

static void test_a_part_of_the_own_result_is_not_at_hand(void **state) {
    (void)state;
    static const int32_t first[] = {0, 1, 1, 0, 8, 1};
    uint32_t x = INPUT(&g, 2, 8), t = INNER(&g, 2, 8), part = INNER(&g, 1, 8), y = OUTPUT(&g, 2, 8);
    small_unary(&g, QNN_OP_ELEMENT_WISE_EXP, x, t);
    small_slice(&g, t, part, first);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, t, part, y);
    assert_true(launches(false) >= 2);
}

static void test_layer_norm_and_what_follows_are_one_launch(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 6, 6, 8), t = INNER(&g, 1, 6, 6, 8), y = OUTPUT(&g, 1, 6, 6, 8);
    layer_norm(x, t);
    small_unary(&g, QNN_OP_RELU, t, y);
    expect(1);
}

static void test_scale_mask_and_softmax_are_two_launches(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 2, 8, 8), mask = INPUT(&g, 1, 1, 8, 8);
    uint32_t t = INNER(&g, 1, 2, 8, 8), s = INNER(&g, 1, 2, 8, 8), y = OUTPUT(&g, 1, 2, 8, 8);
    small_binary(&g, QNN_OP_ELEMENT_WISE_MULTIPLY, x, constant(SHAPE(1), 0.125f), t);
    small_binary(&g, QNN_OP_ELEMENT_WISE_ADD, t, mask, s);
    small_unary(&g, QNN_OP_SOFTMAX, s, y);
    expect(2);
}

static void test_concat_of_convs_along_channels_copies_nothing(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 6, 6, 8), a = INNER(&g, 1, 6, 6, 8), b = INNER(&g, 1, 6, 6, 8),
             c = INNER(&g, 1, 6, 6, 8), y = OUTPUT(&g, 1, 6, 6, 16);
    conv(x, a);
    small_unary(&g, QNN_OP_RELU, conv(x, b), c);
    small_concat(&g, (uint32_t[]){a, c}, 2, y, 3);
    expect(2);
}

static void test_a_part_of_a_concat_that_others_read_is_copied(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 6, 6, 8), a = INNER(&g, 1, 6, 6, 8), b = INNER(&g, 1, 6, 6, 8),
             y = OUTPUT(&g, 1, 6, 6, 16);
    conv(x, a);
    conv(a, b);
    small_concat(&g, (uint32_t[]){a, b}, 2, y, 3);
    expect(3);
}

static void test_long_chains_are_cut(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 2, 8);
    for (int i = 0; i < 40; i++) {
        uint32_t y = i == 39 ? OUTPUT(&g, 2, 8) : INNER(&g, 2, 8);
        small_unary(&g, i % 2 ? QNN_OP_ELEMENT_WISE_SIN : QNN_OP_ELEMENT_WISE_EXP, x, y);
        x = y;
    }
    expect(3); // of at most 16 steps
}

static void test_without_node_optimizations_each_node_is_a_launch(void **state) {
    (void)state;
    uint32_t x = INPUT(&g, 1, 6, 6, 8), t = INNER(&g, 1, 6, 6, 8), s = INNER(&g, 1, 6, 6, 8),
             y = OUTPUT(&g, 1, 6, 6, 8);
    small_unary(&g, QNN_OP_RELU6, conv(x, t), s);
    small_unary(&g, QNN_OP_ELEMENT_WISE_EXP, s, y);
    assert_int_equal(launches(true), 3);
}

// --- on tensor cores

static uint32_t zeros(Qnn_DataType_t type, const uint32_t *shape, float scale) {
    static float data[8192];
    size_t n = 1;
    for (uint32_t d = 0; shape[d]; d++)
        n *= shape[d];
    size_t bytes = type == QNN_DATATYPE_FLOAT_32 ? n * sizeof *data : (n + 1) / 2;
    assert_true(bytes <= sizeof data);
    return small_constant(&g, type, shape, scale, 0, data, (uint32_t)bytes);
}

static void expect_kernel(const char *name, bool there) {
    if (!strstr(launched, name) == there)
        fail_msg("%s kernel %s:\n%s", there ? "no" : "a", name, launched);
}

// A depthwise convolution of 16 channels and a 1x1 convolution to 24.
static void separable(uint32_t x, uint32_t rows, uint32_t y) {
    static const uint32_t none[4] = {0};
    small_conv(&g, QNN_OP_DEPTH_WISE_CONV_2D, x,
               zeros(QNN_DATATYPE_FLOAT_32, SHAPE(3, 3, 1, 16), 0.0f), rows, same);
    small_conv(&g, QNN_OP_CONV_2D, rows, zeros(QNN_DATATYPE_FLOAT_32, SHAPE(1, 1, 16, 24), 0.0f), y,
               none);
}

static void test_a_depthwise_conv_runs_in_the_1x1_conv_behind_it(void **state) {
    (void)state;
    tensor_cores = true;
    separable(INPUT(&g, 1, 6, 6, 16), INNER(&g, 1, 6, 6, 16), OUTPUT(&g, 1, 6, 6, 24));
    expect(1);
    expect_kernel("separable", true);
}

static void test_a_depthwise_conv_that_others_read_runs_alone(void **state) {
    (void)state;
    tensor_cores = true;
    separable(INPUT(&g, 1, 6, 6, 16), OUTPUT(&g, 1, 6, 6, 16), OUTPUT(&g, 1, 6, 6, 24));
    expect(2);
}

static void test_the_first_conv_reads_planes(void **state) {
    (void)state;
    static const uint32_t to_cells[4] = {0, 2, 3, 1};
    tensor_cores = true;
    uint32_t x = INPUT(&g, 1, 3, 64, 64), t = INNER(&g, 1, 64, 64, 3), y = OUTPUT(&g, 1, 64, 64, 8);
    small_transpose(&g, x, t, to_cells);
    small_conv(&g, QNN_OP_CONV_2D, t, zeros(QNN_DATATYPE_FLOAT_32, SHAPE(3, 3, 3, 8), 0.0f), y,
               same);
    expect(1);
    expect_kernel("transpose", false);
}

static void test_one_row_has_kernels_of_its_own(void **state) {
    (void)state;
    tensor_cores = true;
    uint32_t x = INPUT(&g, 1, 32), y = OUTPUT(&g, 1, 160), z = OUTPUT(&g, 1, 160);
    uint32_t floats = zeros(QNN_DATATYPE_FLOAT_32, SHAPE(160, 32), 0.0f);
    uint32_t four_bits = zeros(QNN_DATATYPE_SFIXED_POINT_4, SHAPE(160, 32), 0.5f);
    small_node(&g, QNN_OP_FULLY_CONNECTED, (uint32_t[]){x, floats}, 2, &y, 1, NULL, 0);
    small_node(&g, QNN_OP_FULLY_CONNECTED, (uint32_t[]){x, four_bits}, 2, &z, 1, NULL, 0);
    expect(2);
    expect_kernel("gemv_float", true);
    expect_kernel("gemv_mma", true);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(conv_and_relu6_are_one_launch),
        TEST(conv_residual_and_relu_are_one_launch),
        TEST(swish_behind_a_conv_is_in_its_launch),
        TEST(a_value_that_two_followers_read_stays_in_the_launch),
        TEST(a_square_is_one_launch),
        TEST(a_sum_of_two_products_is_one_launch),
        TEST(an_operand_made_before_the_conv_joins_its_launch),
        TEST(what_a_conv_reads_is_stored_although_its_follower_reads_it_too),
        TEST(what_the_application_reads_is_stored),
        TEST(a_part_of_the_own_result_is_not_at_hand),
        TEST(layer_norm_and_what_follows_are_one_launch),
        TEST(scale_mask_and_softmax_are_two_launches),
        TEST(concat_of_convs_along_channels_copies_nothing),
        TEST(a_part_of_a_concat_that_others_read_is_copied),
        TEST(long_chains_are_cut),
        TEST(without_node_optimizations_each_node_is_a_launch),
        TEST(a_depthwise_conv_runs_in_the_1x1_conv_behind_it),
        TEST(a_depthwise_conv_that_others_read_runs_alone),
        TEST(the_first_conv_reads_planes),
        TEST(one_row_has_kernels_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
