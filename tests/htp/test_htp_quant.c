// SPDX-License-Identifier: MIT
//
// The HTP's quantized numbers (HTP-NUM): how results are rounded and clamped, exhaustively over the
// codes, against the formulas in double precision.
#include "htp_quant.h"

#define U8 QNN_DATATYPE_UFIXED_POINT_8
#define S8 QNN_DATATYPE_SFIXED_POINT_8
#define U16 QNN_DATATYPE_UFIXED_POINT_16
#define S16 QNN_DATATYPE_SFIXED_POINT_16

// All codes of the type, `repeat` times each in a row, or the whole list `repeat` times.
static operand all_codes(Qnn_DataType_t type, float scale, int32_t offset, uint32_t outer,
                         uint32_t inner) {
    uint32_t n = 1u << bits_of(type);
    operand o = {
        .type = type, .scale = scale, .offset = offset, .rank = 2, .dims = {outer, n * inner}};
    o.codes = test_malloc((size_t)outer * n * inner * sizeof *o.codes);
    for (size_t i = 0; i < (size_t)outer * n * inner; i++)
        o.codes[i] = lowest(type) + (int64_t)(i / inner % n);
    return o;
}

static operand result_like(const operand *x, Qnn_DataType_t type, float scale, int32_t offset) {
    operand o = *x;
    o.type = type;
    o.scale = scale;
    o.offset = offset;
    o.codes = test_malloc(count_of(x) * sizeof *o.codes);
    return o;
}

// Runs op(x) and compares every code with f.
static void check_unary(htp_world *w, one_node *d, double (*f)(double)) {
    HTP_OK(run_node(w, d));
    for (size_t i = 0; i < count_of(d->out); i++) {
        int64_t want = code_of(d->out, f(real_of(d->in[0], d->in[0]->codes[i])));
        if (d->out->codes[i] != want)
            fail_msg("%s of code %lld: %lld, expected %lld", d->op, (long long)d->in[0]->codes[i],
                     (long long)d->out->codes[i], (long long)want);
    }
}

static double same(double x) { return x; }

// Zero points of either parity; a scale twice as large makes every other code a tie.
static void htp_num_01_requantizing_rounds_halves_up(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    static const int32_t offsets[] = {-128, -127, -3, 0};
    for (size_t i = 0; i < 4; i++) {
        operand x = all_codes(U8, 0.5f, offsets[i], 1, 1),
                y = result_like(&x, U8, 1.0f, offsets[3 - i]);
        one_node d = {.op = "Convert", .in = {&x}, .n_in = 1, .out = &y};
        check_unary(&w, &d, same);
        assert_int_equal(y.codes[-x.offset + 1], 1 - y.offset); // 0.5 becomes 1, not 0
        test_free(x.codes);
        test_free(y.codes);
    }
    htp_end(&w);
}

typedef struct binary_case {
    const char *op;
    double (*f)(double, double);
    float scale; // of the result: halves occur
    int32_t offset;
} binary_case;

static double add(double a, double b) { return a + b; }
static double sub(double a, double b) { return a - b; }
static double mul(double a, double b) { return a * b; }

static void htp_num_01_add_sub_mul_round_halves_up(void **state) {
    (void)state;
    static const binary_case cases[] = {{"ElementWiseAdd", add, 2.0f, -101},
                                        {"ElementWiseSubtract", sub, 2.0f, -128},
                                        {"ElementWiseMultiply", mul, 16.0f, -64}};
    htp_world w = htp_begin(0);
    for (size_t c = 0; c < 3; c++) {
        operand a = all_codes(U8, 1.0f, -127, 1, 256), b = all_codes(U8, 0.5f, -128, 256, 1);
        a.dims[0] = b.dims[0] = 256;
        a.dims[1] = b.dims[1] = 256;
        operand y = result_like(&a, U8, cases[c].scale, cases[c].offset);
        one_node d = {.op = cases[c].op, .in = {&a, &b}, .n_in = 2, .out = &y};
        unsigned ties = 0;
        HTP_OK(run_node(&w, &d));
        for (size_t i = 0; i < 65536; i++) {
            double real = cases[c].f(real_of(&a, a.codes[i]), real_of(&b, b.codes[i]));
            double steps = real / (double)y.scale;
            ties += steps - floor(steps) == 0.5;
            if (y.codes[i] != code_of(&y, real))
                fail_msg("%s of codes %lld and %lld: %lld, expected %lld", d.op,
                         (long long)a.codes[i], (long long)b.codes[i], (long long)y.codes[i],
                         (long long)code_of(&y, real));
        }
        assert_true(ties > 1000);
        test_free(a.codes);
        test_free(b.codes);
        test_free(y.codes);
    }
    htp_end(&w);
}

static void htp_num_01_concat_rounds_halves_up(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    operand a = all_codes(S8, 0.5f, 3, 1, 1), b = all_codes(S8, 0.25f, 0, 1, 1);
    operand y = {.type = S8, .scale = 1.0f, .offset = -1, .rank = 2, .dims = {1, 512}};
    y.codes = test_malloc(512 * sizeof *y.codes);
    one_node d = {.op = "Concat", .in = {&a, &b}, .n_in = 2, .out = &y, .n_params = 1};
    d.params[0] = scalar_u32("axis", 1);
    HTP_OK(run_node(&w, &d));
    for (size_t i = 0; i < 512; i++) {
        double real = i < 256 ? real_of(&a, a.codes[i]) : real_of(&b, b.codes[i - 256]);
        assert_int_equal(y.codes[i], code_of(&y, real));
    }
    test_free(a.codes);
    test_free(b.codes);
    test_free(y.codes);
    htp_end(&w);
}

// Every pair of codes in a window: the mean of an odd sum is a tie.
static void htp_num_01_means_round_halves_up(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    int64_t codes[2 * 65536], pooled[65536], reduced[65536];
    for (size_t i = 0; i < 65536; i++) {
        codes[2 * i] = (int64_t)(i / 256);
        codes[2 * i + 1] = (int64_t)(i % 256);
    }
    operand x = {.type = U8,
                 .scale = 0.25f,
                 .offset = -77,
                 .rank = 4,
                 .dims = {1, 65536, 2, 1},
                 .codes = codes};
    operand p = {.type = U8,
                 .scale = 0.25f,
                 .offset = -76,
                 .rank = 4,
                 .dims = {1, 65536, 1, 1},
                 .codes = pooled};
    operand r = p;
    r.rank = 3;
    r.codes = reduced;
    one_node pool = {.op = "PoolAvg2d", .in = {&x}, .n_in = 1, .out = &p, .n_lists = 3};
    pool.lists[0] = (list_param){"filter_size", 1, {2}, {1, 2}};
    pool.lists[1] = (list_param){"stride", 1, {2}, {1, 2}};
    pool.lists[2] = (list_param){"pad_amount", 2, {2, 2}, {0, 0, 0, 0}};
    HTP_OK(run_node(&w, &pool));
    one_node mean = {.op = "ReduceMean", .in = {&x}, .n_in = 1, .out = &r, .n_lists = 1};
    mean.lists[0] = (list_param){"axes", 1, {1}, {2}};
    HTP_OK(run_node(&w, &mean));
    for (size_t i = 0; i < 65536; i++) {
        double real = (real_of(&x, codes[2 * i]) + real_of(&x, codes[2 * i + 1])) / 2;
        assert_int_equal(pooled[i], code_of(&p, real));
        assert_int_equal(reduced[i], code_of(&r, real));
    }
    htp_end(&w);
}

// Between two pixels, at a quarter of the way: ties for distances of 2, 6, 10 ...
static void htp_num_01_resize_rounds_halves_up(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    int64_t codes[512], out[1024];
    for (size_t i = 0; i < 256; i++) {
        codes[2 * i] = (int64_t)i;
        codes[2 * i + 1] = (int64_t)(i * 7 % 256);
    }
    operand x = {
        .type = U8, .scale = 0.5f, .offset = -9, .rank = 4, .dims = {256, 1, 2, 1}, .codes = codes};
    operand y = x;
    y.dims[2] = 4;
    y.codes = out;
    one_node d = {.op = "ResizeBilinear", .in = {&x}, .n_in = 1, .out = &y, .n_params = 1};
    d.params[0] = (Qnn_Param_t){.paramType = QNN_PARAMTYPE_SCALAR, .name = "half_pixel_centers"};
    d.params[0].scalarParam.dataType = QNN_DATATYPE_BOOL_8;
    d.params[0].scalarParam.bool8Value = 1;
    HTP_OK(run_node(&w, &d));
    for (size_t i = 0; i < 1024; i++) {
        static const double at[] = {0, 0.25, 0.75, 1};
        double a = real_of(&x, codes[i / 4 * 2]), b = real_of(&x, codes[i / 4 * 2 + 1]);
        assert_int_equal(out[i], code_of(&y, a + (b - a) * at[i % 4]));
    }
    htp_end(&w);
}

// One product a result: acc * 2^-2 has halves for every second odd multiple.
static void htp_num_01_products_round_halves_up(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    operand x = all_codes(U8, 0.5f, -128, 1, 1), y = result_like(&x, U8, 1.0f, -128);
    int64_t one = 1;
    x.dims[0] = y.dims[0] = 256;
    x.dims[1] = y.dims[1] = 1;
    operand weight = {.type = S8, .scale = 0.5f, .rank = 2, .dims = {1, 1}, .codes = &one};
    one_node fc = {.op = "FullyConnected", .in = {&x, &weight}, .n_in = 2, .statics = 2, .out = &y};
    HTP_OK(run_node(&w, &fc));
    for (size_t i = 0; i < 256; i++)
        assert_int_equal(y.codes[i], code_of(&y, 0.5 * real_of(&x, x.codes[i])));
    assert_int_equal(y.codes[126], 128); // -2 / 4 = -0.5 becomes 0
    assert_int_equal(y.codes[130], 129); // 2 / 4 = 0.5 becomes 1
    test_free(x.codes);
    test_free(y.codes);
    htp_end(&w);
}

static void htp_num_02_floats_round_halves_away_from_zero(void **state) {
    (void)state;
    static const Qnn_DataType_t types[] = {U8, S8, U16};
    static const int32_t offsets[] = {-128, 5, -32768};
    htp_world w = htp_begin(0);
    for (size_t t = 0; t < 3; t++) {
        float reals[801];
        int64_t codes[801];
        for (int i = 0; i < 801; i++)
            reals[i] = 0.25f * (float)(i - 400); // steps of 0.5: every fourth is a tie
        operand x = {.type = QNN_DATATYPE_FLOAT_32, .rank = 1, .dims = {801}, .reals = reals};
        operand y = {.type = types[t],
                     .scale = 0.5f,
                     .offset = offsets[t],
                     .rank = 1,
                     .dims = {801},
                     .codes = codes};
        one_node d = {.op = "Quantize", .in = {&x}, .n_in = 1, .out = &y};
        HTP_OK(run_node(&w, &d));
        for (int i = 0; i < 801; i++) {
            double want = round((double)reals[i] / 0.5) - (double)y.offset; // halves away from zero
            want = fmin(fmax(want, (double)lowest(y.type)), (double)highest(y.type));
            assert_int_equal(codes[i], (int64_t)want);
        }
        assert_int_equal(codes[399], -1 - y.offset); // -0.25 is -0.5 steps
        assert_int_equal(codes[401], 1 - y.offset);
    }
    htp_end(&w);
}

// Results beyond both ends of the range; the same numbers as signed and as unsigned codes.
static void htp_num_03_clamps_and_signs_agree(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    operand a = all_codes(U8, 1.0f, -128, 1, 256), b = all_codes(U8, 1.0f, -128, 256, 1);
    a.dims[0] = b.dims[0] = 256;
    a.dims[1] = b.dims[1] = 256;
    operand sa = a, sb = b, y = result_like(&a, U8, 0.75f, -128),
            sy = result_like(&a, S8, 0.75f, 0);
    sa.codes = test_malloc(65536 * sizeof *sa.codes);
    sb.codes = test_malloc(65536 * sizeof *sb.codes);
    for (size_t i = 0; i < 65536; i++) {
        sa.codes[i] = a.codes[i] - 128;
        sb.codes[i] = b.codes[i] - 128;
    }
    sa.type = sb.type = S8;
    sa.offset = sb.offset = 0;
    static const char *const ops[] = {"ElementWiseAdd", "ElementWiseMultiply"};
    for (size_t o = 0; o < 2; o++) {
        one_node u = {.op = ops[o], .in = {&a, &b}, .n_in = 2, .out = &y};
        one_node s = {.op = ops[o], .in = {&sa, &sb}, .n_in = 2, .out = &sy};
        unsigned low = 0, high = 0;
        HTP_OK(run_node(&w, &u));
        HTP_OK(run_node(&w, &s));
        for (size_t i = 0; i < 65536; i++) {
            double x0 = real_of(&a, a.codes[i]), x1 = real_of(&b, b.codes[i]);
            assert_int_equal(y.codes[i], code_of(&y, o ? x0 * x1 : x0 + x1));
            assert_int_equal(sy.codes[i] + 128, y.codes[i]);
            low += y.codes[i] == 0;
            high += y.codes[i] == 255;
        }
        assert_true(low > 1000 && high > 1000);
    }
    operand *all[] = {&a, &b, &sa, &sb, &y, &sy};
    for (size_t i = 0; i < 6; i++)
        test_free(all[i]->codes);
    htp_end(&w);
}

// --- HTP-NUM-04

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double gelu(double x) { return x / 2 * (1 + erf(x / sqrt(2.0))); }
static double hard_swish(double x) { return x * fmin(fmax(x + 3, 0), 6) / 6; }
static double elu(double x) { return x < 0 ? 0.75 * (exp(x) - 1) : x; }
static double relu(double x) { return fmax(x, 0); }

typedef struct unary_case {
    const char *op;
    double (*f)(double);
    float in_scale;
    int32_t in_offset; // of unsigned codes; signed ones get 128 or 32768 more
    float out_scale;
    int32_t out_offset;
} unary_case;

static const unary_case functions[] = {
    {"Sigmoid", sigmoid, 0.07f, -131, 1 / 256.0f, 0},
    {"Tanh", tanh, 0.03f, -119, 1 / 128.0f, -128},
    {"Gelu", gelu, 0.05f, -100, 0.033f, -5},
    {"HardSwish", hard_swish, 0.06f, -140, 0.041f, -9},
    {"ElementWiseExp", exp, 0.02f, -200, 0.013f, 0},
    {"ElementWiseSquareRoot", sqrt, 0.1f, 0, 0.021f, 0},
    {"ElementWiseLog", log, 0.05f, 1, 0.022f, -137},
    {"ElementWiseSin", sin, 0.031f, -128, 1 / 127.0f, -128},
    {"Elu", elu, 0.04f, -150, 0.03f, -27},
    {"Relu", relu, 0.04f, -150, 0.03f, 0},
};

static void check_function(htp_world *w, const unary_case *c, Qnn_DataType_t type) {
    bool is_signed = is_signed_type(type);
    operand x = all_codes(type, c->in_scale, c->in_offset + (is_signed ? 128 : 0), 1, 1);
    operand y = result_like(&x, type, c->out_scale, c->out_offset + (is_signed ? 128 : 0));
    one_node d = {.op = c->op, .in = {&x}, .n_in = 1, .out = &y};
    if (strcmp(c->op, "Elu") == 0)
        d.params[d.n_params++] = scalar_f32("alpha", 0.75f);
    check_unary(w, &d, c->f);
    test_free(x.codes);
    test_free(y.codes);
}

static void htp_num_04_functions_of_bytes_are_rounded_correctly(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        check_function(&w, &functions[i], U8);
        check_function(&w, &functions[i], S8);
    }
    htp_end(&w);
}

static void htp_num_04_movement_is_exact(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    operand x = all_codes(U8, 0.37f, -3, 4, 1), y = result_like(&x, U8, 0.37f, -3);
    y.dims[0] = 256;
    y.dims[1] = 4;
    one_node d = {.op = "Transpose", .in = {&x}, .n_in = 1, .out = &y, .n_lists = 1};
    d.lists[0] = (list_param){"perm", 1, {2}, {1, 0}};
    HTP_OK(run_node(&w, &d));
    for (size_t i = 0; i < 1024; i++)
        assert_int_equal(y.codes[i], i / 4);
    test_free(x.codes);
    test_free(y.codes);
    htp_end(&w);
}

// HTP-NUM-06: ours are correctly rounded for all 65,536 codes, in the encodings that HTP fixes.
static void functions_of_16_bits_are_rounded_correctly(void **state) {
    (void)state;
    static const struct {
        const char *op;
        double (*f)(double);
        Qnn_DataType_t type;
        float in_scale, out_scale;
        int32_t in_offset, out_offset;
    } cases[] = {
        {"Sigmoid", sigmoid, U16, 0x1p-12f, 0x1p-16f, -30000, 0},
        {"Sigmoid", sigmoid, S16, 0x1p-12f, 0x1p-15f, 0, 0},
        {"Tanh", tanh, U16, 0x1p-13f, 0x1p-15f, -32768, -32768},
        {"Tanh", tanh, S16, 0x1p-13f, 0x1p-15f, 0, 0},
        {"Gelu", gelu, U16, 0.0001f, 0.00007f, -30000, -2500},
        {"ElementWiseExp", exp, U16, 0.0001f, 0.0002f, -50000, 0},
        {"ElementWiseSquareRoot", sqrt, U16, 0.001f, 0.00013f, 0, 0},
    };
    htp_world w = htp_begin(0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        operand x = all_codes(cases[i].type, cases[i].in_scale, cases[i].in_offset, 1, 1);
        operand y = result_like(&x, cases[i].type, cases[i].out_scale, cases[i].out_offset);
        one_node d = {.op = cases[i].op, .in = {&x}, .n_in = 1, .out = &y};
        check_unary(&w, &d, cases[i].f);
        test_free(x.codes);
        test_free(y.codes);
    }
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_num_01_requantizing_rounds_halves_up),
        cmocka_unit_test(htp_num_01_add_sub_mul_round_halves_up),
        cmocka_unit_test(htp_num_01_concat_rounds_halves_up),
        cmocka_unit_test(htp_num_01_means_round_halves_up),
        cmocka_unit_test(htp_num_01_resize_rounds_halves_up),
        cmocka_unit_test(htp_num_01_products_round_halves_up),
        cmocka_unit_test(htp_num_02_floats_round_halves_away_from_zero),
        cmocka_unit_test(htp_num_03_clamps_and_signs_agree),
        cmocka_unit_test(htp_num_04_functions_of_bytes_are_rounded_correctly),
        cmocka_unit_test(htp_num_04_movement_is_exact),
        cmocka_unit_test(functions_of_16_bits_are_rounded_correctly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
