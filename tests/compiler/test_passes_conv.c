// SPDX-License-Identifier: MIT
//
// Passes that change convolutions and fully connected layers: numbers of steps, and the same bytes
// with and without passes.
#include "compiler/compile.h"

#include "small_graph.h"

#include <math.h>
#include <string.h>

SMALL_FIXTURE(g)

// Whole numbers of both signs, so that sums are exact in any order.
static void count_up(float *w, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        w[i] = (float)(int32_t)(i * 7u % 11u) - 5.0f;
}

static const uint32_t none[4] = {0}, uneven[4] = {2, 1, 0, 3}, after[4] = {0, 1, 0, 2};

// --- batchnorm

// Convolution or FullyConnected, then Batchnorm; all numbers are whole and small, so that both ways
// are exact. Expected steps without and with passes.
static void normed(const char *op, uint32_t cin, uint32_t cout, bool keep) {
    float w[4096], f[64], s[64];
    bool flat = strcmp(op, QNN_OP_FULLY_CONNECTED) == 0;
    bool depthwise = strcmp(op, QNN_OP_DEPTH_WISE_CONV_2D) == 0;
    count_up(w, 4096);
    count_up(s, 64);
    for (uint32_t c = 0; c < 64; c++)
        f[c] = (float)(c % 5) - 2.0f;
    uint32_t size = flat ? cin * cout : 9 * (depthwise ? 1 : cin) * cout;
    uint32_t x = flat ? INPUT(&g, 3, cin) : INPUT(&g, 1, 5, 6, cin);
    uint32_t t = flat ? INNER(&g, 3, cout) : INNER(&g, 1, 3, 4, cout);
    uint32_t y = flat ? OUTPUT(&g, 3, cout) : OUTPUT(&g, 1, 3, 4, cout);
    const uint32_t *shape = flat ? SHAPE(cout, cin) : SHAPE(3, 3, depthwise ? 1 : cin, cout);
    uint32_t weights =
        small_constant(&g, QNN_DATATYPE_FLOAT_32, shape, 0.0f, 0, w, size * sizeof *w);
    uint32_t factor =
        small_constant(&g, QNN_DATATYPE_FLOAT_32, SHAPE(cout), 0.0f, 0, f, cout * sizeof *f);
    uint32_t shift =
        small_constant(&g, QNN_DATATYPE_FLOAT_32, SHAPE(cout), 0.0f, 0, s, cout * sizeof *s);
    if (flat)
        small_binary(&g, op, x, weights, t);
    else
        small_conv(&g, op, x, weights, t, none);
    small_node(&g, QNN_OP_BATCHNORM, (uint32_t[]){t, factor, shift}, 3, &y, 1, NULL, 0);
    if (keep) // the layer's own result is wanted too
        small_unary(&g, QNN_OP_ELEMENT_WISE_NEG, t,
                    flat ? OUTPUT(&g, 3, cout) : OUTPUT(&g, 1, 3, 4, cout));
    small_expect(&g, keep ? 3 : 2, keep ? 3 : 1);
}

static void batchnorm_goes_into_convolutions(void **state) {
    (void)state;
    normed(QNN_OP_CONV_2D, 7, 37, false); // more than one panel of columns
}

static void batchnorm_goes_into_depthwise_convolutions(void **state) {
    (void)state;
    normed(QNN_OP_DEPTH_WISE_CONV_2D, 12, 12, false);
}

static void batchnorm_goes_into_fully_connected_layers(void **state) {
    (void)state;
    normed(QNN_OP_FULLY_CONNECTED, 19, 41, false);
}

static void batchnorm_stays_behind_results_that_are_read(void **state) {
    (void)state;
    normed(QNN_OP_CONV_2D, 7, 37, true);
}

// --- winograd

// Pad, a convolution of 3x3 cells large enough for Winograd's, Batchnorm: one step, whose results
// are near those of the plain sum, which is exact, but not the same; with `winograd` left out they
// are.
static void winograd_takes_padding_and_factors(void **state) {
    (void)state;
    static float w[9 * 32 * 48], f[48];
    count_up(w, 9 * 32 * 48);
    for (uint32_t c = 0; c < 48; c++)
        f[c] = (float)(c % 5) - 2.0f;
    uint32_t x = INPUT(&g, 2, 15, 14, 32), p = INNER(&g, 2, 18, 17, 32);
    uint32_t t = INNER(&g, 2, 18, 17, 48), y = OUTPUT(&g, 2, 18, 17, 48);
    uint32_t weights =
        small_constant(&g, QNN_DATATYPE_FLOAT_32, SHAPE(3, 3, 32, 48), 0.0f, 0, w, sizeof w);
    uint32_t factor = small_constant(&g, QNN_DATATYPE_FLOAT_32, SHAPE(48), 0.0f, 0, f, sizeof f);
    small_pad(&g, x, p, uneven, 0.0f);
    small_conv(&g, QNN_OP_CONV_2D, p, weights, t, (uint32_t[]){1, 1, 1, 1});
    small_node(&g, QNN_OP_BATCHNORM, (uint32_t[]){t, factor}, 2, &y, 1, NULL, 0);
    small_run sum = small_go(&g, "-all", 1), plain = small_go(&g, "-winograd", 1);
    small_run fast = small_go(&g, "", 1);
    assert_int_equal(sum.n_steps, 3);
    assert_int_equal(fast.n_steps, 1);
    assert_int_equal(fast.n_out, sum.n_out);
    assert_memory_equal(plain.out, sum.out, sum.n_out);
    assert_memory_not_equal(fast.out, sum.out, sum.n_out);
    const float *want = (const float *)sum.out, *got = (const float *)fast.out;
    float most = 0.0f;
    for (size_t i = 0; i < sum.n_out / sizeof *want; i++)
        most = fabsf(want[i]) > most ? fabsf(want[i]) : most;
    for (size_t i = 0; i < sum.n_out / sizeof *want; i++)
        assert_true(fabsf(got[i] - want[i]) <= 1e-5f * most);
    small_free(&sum);
    small_free(&plain);
    small_free(&fast);
}

// --- pad

// x [1, 5, 6, c] is padded and convolved with `kernel`; the step count without and with passes.
static void padded_conv(const char *op, uint32_t kernel, const uint32_t *pad, float fill,
                        const uint32_t *own, bool goes) {
    float w[3 * 3 * 4 * 4];
    bool depthwise = strcmp(op, QNN_OP_DEPTH_WISE_CONV_2D) == 0;
    uint32_t h = 5 + pad[0] + pad[1], v = 6 + pad[2] + pad[3], cin = depthwise ? 1 : 4;
    uint32_t oh = h + own[0] + own[1] - kernel + 1, ov = v + own[2] + own[3] - kernel + 1;
    count_up(w, kernel * kernel * cin * 4);
    uint32_t x = INPUT(&g, 1, 5, 6, 4), p = INNER(&g, 1, h, v, 4), y = OUTPUT(&g, 1, oh, ov, 4);
    uint32_t f = small_constant(&g, QNN_DATATYPE_FLOAT_32, SHAPE(kernel, kernel, cin, 4), 0.0f, 0,
                                w, kernel * kernel * cin * 16);
    small_pad(&g, x, p, pad, fill);
    small_conv(&g, op, p, f, y, own);
    small_expect(&g, 2, goes ? 1 : 2);
}

static void pad_goes_into_convolutions(void **state) {
    (void)state;
    padded_conv(QNN_OP_CONV_2D, 3, uneven, 0.0f, none, true);
}

static void pad_adds_to_padding(void **state) {
    (void)state;
    padded_conv(QNN_OP_CONV_2D, 3, uneven, 0.0f, (uint32_t[]){1, 1, 0, 2}, true);
}

static void pad_behind_goes_into_single_taps(void **state) {
    (void)state;
    padded_conv(QNN_OP_CONV_2D, 1, after, 0.0f, none, true);
}

static void pad_goes_into_depthwise_convolutions(void **state) {
    (void)state;
    padded_conv(QNN_OP_DEPTH_WISE_CONV_2D, 3, uneven, 0.0f, none, true);
}

static void pad_with_other_numbers_stays(void **state) {
    (void)state;
    padded_conv(QNN_OP_CONV_2D, 3, uneven, 1.0f, none, false);
}

// The code of 0 is 128: a Pad with the real number 0 goes, one with -1 stays.
static void pad_of_codes(float fill, bool goes) {
    uint8_t w[3 * 3 * 2 * 3];
    for (uint32_t i = 0; i < sizeof w; i++)
        w[i] = (uint8_t)(i * 37u);
    Qnn_DataType_t u8 = QNN_DATATYPE_UFIXED_POINT_8;
    uint32_t x = small_encoded(&g, QNN_TENSOR_TYPE_APP_WRITE, u8, SHAPE(1, 5, 6, 2), 0.1f, -128);
    uint32_t p = small_encoded(&g, QNN_TENSOR_TYPE_NATIVE, u8, SHAPE(1, 7, 8, 2), 0.1f, -128);
    uint32_t y = small_encoded(&g, QNN_TENSOR_TYPE_APP_READ, u8, SHAPE(1, 5, 6, 3), 0.7f, -100);
    uint32_t f = small_constant(&g, u8, SHAPE(3, 3, 2, 3), 0.02f, -99, w, sizeof w);
    small_pad(&g, x, p, (uint32_t[]){1, 1, 1, 1}, fill);
    small_conv(&g, QNN_OP_CONV_2D, p, f, y, none);
    small_expect(&g, 2, goes ? 1 : 2);
}

static void pad_with_the_code_of_zero_goes(void **state) {
    (void)state;
    pad_of_codes(0.0f, true);
}

static void pad_with_another_code_stays(void **state) {
    (void)state;
    pad_of_codes(-1.0f, false);
}

// --- weights of depthwise convolutions

// The bytes that small_go gives its first input.
static void inputs_of(uint32_t seed, uint8_t *x, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (uint8_t)(seed >> 24);
    }
}

// Weights that are signed bytes with their offset are so in the compiled graph; results are those
// of the formula in either case.
static void depthwise_of_codes(Qnn_DataType_t type, int32_t offset, qrn_dtype made) {
    enum { H = 5, W = 6, C = 20 };
    const Qnn_DataType_t u8 = QNN_DATATYPE_UFIXED_POINT_8;
    uint8_t w[3 * 3 * C], in[H * W * C];
    for (uint32_t i = 0; i < sizeof w; i++)
        w[i] = (uint8_t)(type == u8 ? i * 37 : i * 7 % 121);
    uint32_t x = small_encoded(&g, QNN_TENSOR_TYPE_APP_WRITE, u8, SHAPE(1, H, W, C), 0.5f, -128);
    uint32_t y =
        small_encoded(&g, QNN_TENSOR_TYPE_APP_READ, u8, SHAPE(1, H - 2, W - 2, C), 16.0f, -100);
    uint32_t f = small_constant(&g, type, SHAPE(3, 3, 1, C), 0.0625f, offset, w, sizeof w);
    small_conv(&g, QNN_OP_DEPTH_WISE_CONV_2D, x, f, y, none);
    const qrn_api_graph *object = qrn_handle_get(QRN_KIND_GRAPH, g.handle);
    qrn_compiled *cg = NULL;
    assert_int_equal(qrn_compile(object->ir, &(qrn_compile_options){.passes = ""}, &cg), QRN_OK);
    const qrn_cvalue *weights = &cg->values[cg->steps[0].in[1]];
    assert_int_equal(weights->dtype, made);
    qrn_compiled_destroy(cg);
    small_run r = small_go(&g, "", 1);
    inputs_of(1, in, sizeof in);
    for (uint32_t i = 0; i < (H - 2) * (W - 2) * C; i++) {
        uint32_t c = i % C, col = i / C % (W - 2), row = i / C / (W - 2);
        int32_t sum = 0;
        for (uint32_t t = 0; t < 9; t++) {
            int32_t code = type == u8 ? w[t * C + c] : (int8_t)w[t * C + c];
            sum += (in[((row + t / 3) * W + col + t % 3) * C + c] - 128) * (code + offset);
        }
        double real = floor(sum * 0.5 * 0.0625 / 16 + 0.5) + 100;
        assert_int_equal(r.out[i], real < 0 ? 0 : real > 255 ? 255 : (int32_t)real);
    }
    small_free(&r);
}

static void weights_of_bytes_become_signed(void **state) {
    (void)state;
    depthwise_of_codes(QNN_DATATYPE_UFIXED_POINT_8, -128, QRN_DTYPE_SQ8);
}

static void signed_weights_lose_their_offset(void **state) {
    (void)state;
    depthwise_of_codes(QNN_DATATYPE_SFIXED_POINT_8, 7, QRN_DTYPE_SQ8);
}

static void weights_that_are_no_signed_bytes_stay(void **state) {
    (void)state;
    depthwise_of_codes(QNN_DATATYPE_UFIXED_POINT_8, -3, QRN_DTYPE_UQ8);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

// --- clamp

// Layer and activation are one step; the same bytes, and limits that are met.
static void limited(const char *op, uint32_t size, uint32_t cin, uint32_t cout, bool six) {
    static float w[9 * 32 * 48];
    bool flat = strcmp(op, QNN_OP_FULLY_CONNECTED) == 0;
    bool depthwise = strcmp(op, QNN_OP_DEPTH_WISE_CONV_2D) == 0;
    static const uint32_t same[4] = {1, 1, 1, 1};
    count_up(w, 9 * 32 * 48);
    uint32_t x = flat ? INPUT(&g, size, cin) : INPUT(&g, 1, size, size, cin);
    uint32_t t = flat ? INNER(&g, size, cout) : INNER(&g, 1, size, size, cout);
    uint32_t y = flat ? OUTPUT(&g, size, cout) : OUTPUT(&g, 1, size, size, cout);
    const uint32_t *shape = flat ? SHAPE(cout, cin) : SHAPE(3, 3, depthwise ? 1 : cin, cout);
    uint32_t bytes = (flat ? cin : 9 * (depthwise ? 1 : cin)) * cout * (uint32_t)sizeof *w;
    uint32_t f = small_constant(&g, QNN_DATATYPE_FLOAT_32, shape, 0.0f, 0, w, bytes);
    if (flat)
        small_binary(&g, op, x, f, t);
    else
        small_conv(&g, op, x, f, t, same);
    small_unary(&g, six ? QNN_OP_RELU6 : QNN_OP_RELU, t, y);
    small_pair p = small_compare(&g);
    assert_int_equal(p.with.n_steps, 1);
    const float *r = (const float *)(const void *)p.with.out;
    bool seen = false;
    for (size_t i = 0; i < p.with.n_out / sizeof *r; i++) {
        assert_true(r[i] >= 0.0f && (!six || r[i] <= 6.0f));
        seen |= r[i] > 0.0f;
    }
    assert_true(seen);
    small_free(&p.without);
    small_free(&p.with);
}

static void clamp_goes_into_convolutions(void **state) {
    (void)state;
    limited(QNN_OP_CONV_2D, 7, 5, 37, true);
}

static void clamp_goes_into_depthwise_convolutions(void **state) {
    (void)state;
    limited(QNN_OP_DEPTH_WISE_CONV_2D, 11, 21, 21, false);
}

static void clamp_goes_into_fully_connected_layers(void **state) {
    (void)state;
    limited(QNN_OP_FULLY_CONNECTED, 3, 19, 41, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(clamp_goes_into_convolutions, setup, teardown),
        cmocka_unit_test_setup_teardown(clamp_goes_into_depthwise_convolutions, setup, teardown),
        cmocka_unit_test_setup_teardown(clamp_goes_into_fully_connected_layers, setup, teardown),
        TEST(batchnorm_goes_into_convolutions),
        TEST(batchnorm_goes_into_depthwise_convolutions),
        TEST(batchnorm_goes_into_fully_connected_layers),
        TEST(batchnorm_stays_behind_results_that_are_read),
        TEST(winograd_takes_padding_and_factors),
        TEST(pad_goes_into_convolutions),
        TEST(pad_adds_to_padding),
        TEST(pad_behind_goes_into_single_taps),
        TEST(pad_goes_into_depthwise_convolutions),
        TEST(pad_with_other_numbers_stays),
        TEST(pad_with_the_code_of_zero_goes),
        TEST(pad_with_another_code_stays),
        TEST(weights_of_bytes_become_signed),
        TEST(signed_weights_lose_their_offset),
        TEST(weights_that_are_no_signed_bytes_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
