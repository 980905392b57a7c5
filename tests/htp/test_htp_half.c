// SPDX-License-Identifier: MIT
//
// Float graphs on the HTP: which device computes in which kind of half, where numbers are rounded,
// and which graphs are refused. Expected numbers come from the compiler's _Float16 and from sums in
// double.
#include "htp_describe.h"
#include "net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define F32 QNN_DATATYPE_FLOAT_32
#define F16 QNN_DATATYPE_FLOAT_16
#define IN QNN_TENSOR_TYPE_APP_WRITE
#define OUT QNN_TENSOR_TYPE_APP_READ
#define CONSTANT QNN_TENSOR_TYPE_STATIC
#define INSIDE QNN_TENSOR_TYPE_NATIVE

enum { SM8350 = 30, SM8550 = 43, SM8650 = 57, SM8750 = 69 }; // v68, v73, v75, v79

static uint64_t seed = 11;
static float random_float(void) { // in (-1, 1), with more bits than a half has
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(int32_t)(seed >> 32) * 0x1p-31);
}

static float half(double x) { return (float)(_Float16)x; }

static void fill(float *x, size_t n, float scale) {
    for (size_t i = 0; i < n; i++)
        x[i] = scale * random_float();
}

static void same_floats(const float *got, const float *want, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (isnan(want[i]) ? !isnan(got[i]) : memcmp(&got[i], &want[i], sizeof want[i]) != 0)
            fail_msg("result %zu is %.9g, expected %.9g", i, (double)got[i], (double)want[i]);
}

// y = (a * b + c) * a on n elements of some type; c is a constant.
#define CHAIN 77
typedef struct chain {
    float a[CHAIN], b[CHAIN], c[CHAIN], y[CHAIN];
    net n;
} chain;

static void chain_build(chain *k, htp_world *w, const char *name) {
    uint32_t dims[] = {1, CHAIN};
    fill(k->a, CHAIN, 2);
    fill(k->b, CHAIN, 3);
    fill(k->c, CHAIN, 1);
    k->n = net_begin(w, name, NULL);
    int a = (int)net_add(&k->n, IN, F32, 2, dims, 0, 0, k->a);
    int b = (int)net_add(&k->n, IN, F32, 2, dims, 0, 0, k->b);
    int c = (int)net_add(&k->n, CONSTANT, F32, 2, dims, 0, 0, k->c);
    int p = (int)net_add(&k->n, INSIDE, F32, 2, dims, 0, 0, NULL);
    int s = (int)net_add(&k->n, INSIDE, F32, 2, dims, 0, 0, NULL);
    int y = (int)net_add(&k->n, OUT, F32, 2, dims, 0, 0, k->y);
    NET_NODE(&k->n, "ElementWiseMultiply", NET_LIST(a, b), NET_LIST(p));
    NET_NODE(&k->n, "ElementWiseAdd", NET_LIST(p, c), NET_LIST(s));
    NET_NODE(&k->n, "ElementWiseMultiply", NET_LIST(s, a), NET_LIST(y));
}

static void chain_check(const chain *k, bool halves) {
    for (size_t i = 0; i < CHAIN; i++) {
        float want = (k->a[i] * k->b[i] + k->c[i]) * k->a[i];
        if (halves) {
            _Float16 a = (_Float16)k->a[i], b = (_Float16)k->b[i], c = (_Float16)k->c[i];
            _Float16 p = (_Float16)((double)a * (double)b), s = (_Float16)((double)p + (double)c);
            want = half((double)s * (double)a);
            assert_memory_equal(&k->y[i], &want, sizeof want);
        }
        assert_true(fabsf(k->y[i] - want) <= 1e-6f * (1 + fabsf(want)));
    }
}

static void htp_prc_01_float_graphs_compute_in_halves(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8750);
    chain k;
    chain_build(&k, &w, "chain");
    net_finish(&k.n);
    chain_check(&k, true);
    htp_end(&w);
}

static void htp_num_07_the_device_decides_and_nobody_else(void **state) {
    (void)state;
    htp_world plain = htp_begin(0), phone = {.qnn = plain.qnn, .backend = plain.backend};
    phone.device = htp_device(&phone.qnn, SM8650);
    HTP_OK(phone.qnn.contextCreate(phone.backend, phone.device, NULL, &phone.context));
    chain single, halves;
    chain_build(&single, &plain, "single");
    chain_build(&halves, &phone, "halves");
    HTP_OK(plain.qnn.graphFinalize(single.n.graph, NULL, NULL));
    HTP_OK(phone.qnn.graphFinalize(halves.n.graph, NULL, NULL));
    for (int i = 0; i < 2; i++) {
        net_run(&single.n);
        net_run(&halves.n);
        chain_check(&single, false);
        chain_check(&halves, true);
    }
    bool differ = false; // single precision is no half
    for (size_t i = 0; i < CHAIN; i++)
        differ |= single.y[i] != half((double)single.y[i]);
    assert_true(differ);
    phone.backend = NULL;
    htp_end(&phone);
    htp_end(&plain);
}

static void htp_num_07_an_architecture_is_enough(void **state) {
    (void)state;
    QnnHtpDevice_CustomConfig_t custom = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_ARCH};
    custom.arch.arch = QNN_HTP_DEVICE_ARCH_V73;
    QnnDevice_Config_t config = {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM,
                                 .customConfig = &custom};
    const QnnDevice_Config_t *configs[] = {&config, NULL};
    htp_world w = {.qnn = htp_open()};
    HTP_OK(w.qnn.backendCreate(NULL, NULL, &w.backend));
    HTP_OK(w.qnn.deviceCreate(NULL, configs, &w.device));
    HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &w.context));
    chain k;
    chain_build(&k, &w, "chain");
    net_finish(&k.n);
    chain_check(&k, true);
    htp_end(&w);
}

// Quantize and Dequantize lead in and out; what lies between a Dequantize and the application is
// computed in halves.
static void htp_prc_02_floats_and_codes_mix(void **state) {
    (void)state;
    enum { N = 64 };
    float x[N], c[N], y[N], direct[N];
    uint16_t codes[N];
    uint32_t dims[] = {1, N};
    fill(x, N, 4);
    fill(c, N, 1);
    htp_world w = htp_begin(SM8750);
    net n = net_begin(&w, "mixed", NULL);
    int in = (int)net_add(&n, IN, F32, 2, dims, 0, 0, x);
    int q = (int)net_add(&n, OUT, QNN_DATATYPE_UFIXED_POINT_16, 2, dims, 1e-4f, -40000, codes);
    int f = (int)net_add(&n, INSIDE, F32, 2, dims, 0, 0, NULL);
    int k = (int)net_add(&n, CONSTANT, F32, 2, dims, 0, 0, c);
    int out = (int)net_add(&n, OUT, F32, 2, dims, 0, 0, y);
    int all = (int)net_add(&n, OUT, F32, 2, dims, 0, 0, direct);
    NET_NODE(&n, "Quantize", NET_LIST(in), NET_LIST(q));
    NET_NODE(&n, "Dequantize", NET_LIST(q), NET_LIST(f));
    NET_NODE(&n, "ElementWiseAdd", NET_LIST(f, k), NET_LIST(out));
    NET_NODE(&n, "Dequantize", NET_LIST(q), NET_LIST(all));
    net_finish(&n);
    bool finer = false; // application floats are quantized as they come, not as halves
    for (size_t i = 0; i < N; i++) {
        double place = (double)x[i] / (double)1e-4f, nearest = round(place) + 40000;
        double code = fmin(fmax(nearest, 0), 65535), real = (code - 40000) * (double)1e-4f;
        assert_true(codes[i] == code);
        finer |= round((double)half((double)x[i]) / (double)1e-4f) != round(place);
        float want = half((double)half(real) + (double)half((double)c[i]));
        same_floats(&y[i], &want, 1);
        assert_true(fabs((double)direct[i] - real) <= 1e-6);
    }
    assert_true(finer);
    htp_end(&w);
}

static void convert_takes_halves_to_codes(void **state) {
    (void)state;
    enum { N = 40 };
    _Float16 x[N];
    uint8_t codes[N];
    uint32_t dims[] = {1, N};
    for (size_t i = 0; i < N; i++)
        x[i] = (_Float16)(3 * random_float());
    htp_world w = htp_begin(SM8650);
    net n = net_begin(&w, "convert", NULL);
    int in = (int)net_add(&n, IN, F16, 2, dims, 0, 0, x);
    int q = (int)net_add(&n, OUT, QNN_DATATYPE_UFIXED_POINT_8, 2, dims, 0.03f, -128, codes);
    NET_NODE(&n, "Convert", NET_LIST(in), NET_LIST(q));
    net_finish(&n);
    for (size_t i = 0; i < N; i++)
        assert_true(codes[i] == fmin(fmax(round((double)x[i] / (double)0.03f) + 128, 0), 255));
    htp_end(&w);
}

// Runs y = a * b on a device; everything is f32 but the output when `narrow`.
static void multiply(uint32_t soc, const QnnGraph_Config_t **configs, float *a, float *b,
                     uint32_t count, bool narrow, void *y) {
    uint32_t dims[] = {1, count};
    htp_world w = htp_begin(soc);
    net n = net_begin(&w, "multiply", configs);
    int x = (int)net_add(&n, IN, narrow ? F16 : F32, 2, dims, 0, 0, a);
    int c = (int)net_add(&n, IN, narrow ? F16 : F32, 2, dims, 0, 0, b);
    int out = (int)net_add(&n, OUT, narrow ? F16 : F32, 2, dims, 0, 0, y);
    NET_NODE(&n, "ElementWiseMultiply", NET_LIST(x, c), NET_LIST(out));
    net_finish(&n);
    htp_end(&w);
}

static void htp_prc_07_ties_go_to_even_and_subnormals_stay(void **state) {
    (void)state;
    float a[] = {1 + 0x1p-11f, 1 + 0x3p-11f,  0x1p-24f, 0x1.8p-24f, 0x1p-25f, 0x1.01p-25f,
                 0x1p-20f,     -0x1.7p-20f,   0x1p-10f, 0x1.3p-10f, 2049,     -2051,
                 65519,        -0x1.ff8p-15f, -0.0f,    0x1p-12f};
    float one[16], scale[16], y[16], want[16];
    enum { N = sizeof a / sizeof a[0] };
    for (size_t i = 0; i < N; i++) {
        one[i] = 1;
        scale[i] = 0x1.4p-10f;
        want[i] = half((double)a[i]);
    }
    multiply(SM8750, NULL, a, one, N, false, y);
    same_floats(y, want, N);
    assert_true(want[0] == 1 && want[2] == 0x1p-24f && want[4] == 0 && want[10] == 2048);
    for (size_t i = 0; i < N; i++) // products that are subnormal
        want[i] = half((double)half((double)a[i]) * 0x1.4p-10);
    multiply(SM8750, NULL, a, scale, N, false, y);
    same_floats(y, want, N);
    multiply(SM8650, NULL, a, scale, N, false, y);
    same_floats(y, want, N);
}

static void htp_num_08_wide_halves_have_no_infinity(void **state) {
    (void)state;
    float a[] = {300, 300, -400, 65504, 255.875f, INFINITY, -INFINITY, NAN, 60000, 1e30f, 0x1p-20f};
    float b[] = {300, -300, 400, 2, 512, 1, 1, 1, 1.0f + 0x1p-4f, 1, 0x1p-4f};
    float want[] = {89984,   -89984, -131008, 131008, 131008,  131008,
                    -131008, 131008, 63744,   131008, 0x1p-24f};
    enum { N = sizeof a / sizeof a[0] };
    float y[N];
    want[8] = half(60000 * (1 + 0x1p-4));
    multiply(SM8550, NULL, a, b, N, false, y);
    same_floats(y, want, N);
    multiply(SM8650, NULL, a, b, N, false, y);
    same_floats(y, want, N);
    // In a buffer of IEEE halves there is no room for them.
    _Float16 ha[] = {(_Float16)300, (_Float16)-400, (_Float16)INFINITY, (_Float16)1.5};
    _Float16 hb[] = {(_Float16)300, (_Float16)400, (_Float16)0.25, (_Float16)1.5}, hy[4];
    multiply(SM8650, NULL, (float *)(void *)ha, (float *)(void *)hb, 4, true, hy);
    assert_true(hy[0] == 65504 && hy[1] == -65504 && hy[2] == 32752 && hy[3] == (_Float16)2.25);
}

// What an application gives is asked, not what the device makes of it; other ops that read the same
// tensor get the device's numbers.
static void htp_num_08_infinities_that_come_in_are_found(void **state) {
    (void)state;
    const float given[] = {1.1f, INFINITY, -INFINITY, 0, NAN, 65504, 1e30f, -5};
    enum { N = sizeof given / sizeof given[0] };
    static const uint32_t socs[] = {SM8550, SM8650, SM8750};
    for (int i = 0; i < 6; i++) {
        bool narrow = i % 2;
        uint32_t dims[] = {1, N};
        float a[N];
        _Float16 ha[N], hy[N];
        uint8_t inf[N], nan[N];
        float y[N];
        for (int k = 0; k < N; k++) {
            a[k] = given[k];
            ha[k] = (_Float16)given[k];
        }
        htp_world w = htp_begin(socs[i / 2]);
        net n = net_begin(&w, "ask", NULL);
        int x = (int)net_add(&n, IN, narrow ? F16 : F32, 2, dims, 0, 0, narrow ? (void *)ha : a);
        int o0 = (int)net_add(&n, OUT, QNN_DATATYPE_BOOL_8, 2, dims, 0, 0, inf);
        int o1 = (int)net_add(&n, OUT, QNN_DATATYPE_BOOL_8, 2, dims, 0, 0, nan);
        int o2 = (int)net_add(&n, OUT, narrow ? F16 : F32, 2, dims, 0, 0, narrow ? (void *)hy : y);
        NET_NODE(&n, "IsInf", NET_LIST(x), NET_LIST(o0));
        NET_NODE(&n, "IsNan", NET_LIST(x), NET_LIST(o1));
        NET_NODE(&n, "ElementWiseNeg", NET_LIST(x), NET_LIST(o2));
        net_finish(&n);
        for (int k = 0; k < N; k++) {
            float v = narrow ? (float)ha[k] : given[k]; // 1e30 is infinite only as a half
            assert_int_equal(inf[k], isinf(v) != 0);
            assert_int_equal(nan[k], isnan(v) != 0);
        }
        float negated = narrow ? (float)hy[1] : y[1];
        assert_true(negated == (socs[i / 2] == SM8750 ? -INFINITY : narrow ? -65504 : -131008));
        htp_end(&w);
    }
}

static void htp_num_08_newer_devices_overflow_to_infinity(void **state) {
    (void)state;
    float a[] = {300, -400, 65504, 255.9f, INFINITY, NAN, 1e30f, 65519};
    float b[] = {300, 400, 1, 256, 1, 1, 1, 1};
    float want[] = {INFINITY, -INFINITY, 65504, INFINITY, INFINITY, NAN, INFINITY, 65504};
    enum { N = sizeof a / sizeof a[0] };
    float y[N];
    want[3] = half((double)half(255.9) * 256);
    multiply(SM8750, NULL, a, b, N, false, y);
    same_floats(y, want, N);
    QnnHtpGraph_CustomConfig_t clamp = {.option = QNN_HTP_GRAPH_CONFIG_OPTION_FP16_CLAMP_OVERFLOW,
                                        .fp16ClampOverflow = true};
    QnnGraph_Config_t config = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &clamp};
    const QnnGraph_Config_t *configs[] = {&config, NULL};
    float clamped[] = {65504, -65504, 65504, 65504, 65504, NAN, 65504, 65504};
    multiply(SM8750, configs, a, b, N, false, y);
    clamped[3] = want[3];
    same_floats(y, clamped, N);
}

// Sums of products: y [rows, cols] = x [rows, depth] * w [depth, cols], w constant or not.
enum { ROWS = 9, DEPTH = 1500, COLS = 40 };
static float product_x[ROWS * DEPTH], product_w[DEPTH * COLS], product_y[ROWS * COLS];

static void product(uint32_t soc, Qnn_TensorType_t weights, double *share_equal) {
    uint32_t dx[] = {ROWS, DEPTH}, dw[] = {DEPTH, COLS}, dy[] = {ROWS, COLS};
    htp_world w = htp_begin(soc);
    net n = net_begin(&w, "product", NULL);
    int x = (int)net_add(&n, IN, F32, 2, dx, 0, 0, product_x);
    int k = (int)net_add(&n, weights, F32, 2, dw, 0, 0, product_w);
    int y = (int)net_add(&n, OUT, F32, 2, dy, 0, 0, product_y);
    NET_NODE(&n, "MatMul", NET_LIST(x, k), NET_LIST(y));
    net_finish(&n);
    uint32_t equal = 0;
    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < COLS; c++) {
            double sum = 0, terms = 0;
            for (size_t i = 0; i < DEPTH; i++) {
                double p = (double)half((double)product_x[r * DEPTH + i]) *
                           (double)half((double)product_w[i * COLS + c]);
                sum += p;
                terms += fabs(p);
            }
            double got = (double)product_y[r * COLS + c], want = (double)half(sum);
            equal += got == want;
            assert_true(fabs(got - want) <= fabs(want) * 0x1p-10 + terms * 1e-6);
        }
    *share_equal = equal / (double)(ROWS * COLS);
    htp_end(&w);
}

static void htp_num_09_sums_are_rounded_once(void **state) {
    (void)state;
    double share;
    for (int kind = 0; kind < 4; kind++) {
        fill(product_x, ROWS * DEPTH, 1);
        fill(product_w, DEPTH * COLS, 1);
        product(kind % 2 ? SM8750 : SM8550, kind / 2 ? IN : CONSTANT, &share);
        assert_true(share >= 0.995);
    }
    // 1500 ones and a bit more than a half can count: sums in halves would stop at 2048.
    for (size_t i = 0; i < ROWS * DEPTH; i++)
        product_x[i] = 1;
    for (size_t i = 0; i < DEPTH * COLS; i++)
        product_w[i] = 2;
    product(SM8750, CONSTANT, &share);
    assert_true(share == 1 && product_y[0] == 3000);
}

static void weights_of_products_are_kept_as_halves(void **state) {
    (void)state;
    uint32_t dx[] = {ROWS, DEPTH}, dw[] = {DEPTH, COLS}, dy[] = {ROWS, COLS};
    for (int soc = 0; soc < 2; soc++) {
        htp_world w = htp_begin(soc ? SM8650 : 0);
        net n = net_begin(&w, "product", NULL);
        int x = (int)net_add(&n, IN, F32, 2, dx, 0, 0, product_x);
        int k = (int)net_add(&n, CONSTANT, F32, 2, dw, 0, 0, product_w);
        int y = (int)net_add(&n, OUT, F32, 2, dy, 0, 0, product_y);
        NET_NODE(&n, "MatMul", NET_LIST(x, k), NET_LIST(y));
        net_finish(&n);
        size_t bytes = (size_t)(soc ? 2 : 4) * 64 * DEPTH; // two panels of 32 columns
        assert_int_equal(describe_context(&w).graphs[0].v2.constSize, bytes);
        htp_end(&w);
    }
}

// Constants of every kind: a product's, one that is moved, one that is added; saved and loaded.
static void constants_travel_in_a_binary(void **state) {
    (void)state;
    static float table[64 * DEPTH], out[ROWS * COLS], again[ROWS * COLS];
    int32_t rows[ROWS] = {5, 63, 0, 7, 7, 31, 32, 1, 2};
    uint32_t dt[] = {64, DEPTH}, di[] = {ROWS}, dx[] = {ROWS, DEPTH}, dw[] = {DEPTH, COLS};
    uint32_t dy[] = {ROWS, COLS};
    fill(table, 64 * DEPTH, 1);
    fill(product_w, DEPTH * COLS, 1);
    htp_world w = htp_begin(SM8550);
    net n = net_begin(&w, "constants", NULL);
    int t = (int)net_add(&n, CONSTANT, F32, 2, dt, 0, 0, table);
    int i = (int)net_add(&n, IN, QNN_DATATYPE_INT_32, 1, di, 0, 0, rows);
    int x = (int)net_add(&n, INSIDE, F32, 2, dx, 0, 0, NULL);
    int k = (int)net_add(&n, CONSTANT, F32, 2, dw, 0, 0, product_w);
    int y = (int)net_add(&n, OUT, F32, 2, dy, 0, 0, out);
    Qnn_Param_t axis = net_u32("axis", 0);
    axis.scalarParam.dataType = QNN_DATATYPE_INT_32;
    assert_int_equal(net_try(&n, "Gather", NET_LIST(t, i), NET_LIST(x), &axis, 1, false), 0);
    NET_NODE(&n, "MatMul", NET_LIST(x, k), NET_LIST(y));
    net_finish(&n);
    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < COLS; c++) {
            double sum = 0;
            for (size_t j = 0; j < DEPTH; j++)
                sum += (double)half((double)table[(size_t)rows[r] * DEPTH + j]) *
                       (double)half((double)product_w[j * COLS + c]);
            assert_true(fabs((double)out[r * COLS + c] - sum) <= 0.05);
        }
    uint64_t size = 0, written = 0;
    HTP_OK(w.qnn.contextGetBinarySize(w.context, &size));
    assert_true(size < 4 * 64 * DEPTH + 2 * 64 * DEPTH + 24576); // two bytes a weight
    void *binary = malloc(size);
    HTP_OK(w.qnn.contextGetBinary(w.context, binary, size, &written));
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    HTP_OK(w.qnn.contextCreateFromBinary(w.backend, w.device, NULL, binary, written, &w.context,
                                         NULL));
    HTP_OK(w.qnn.graphRetrieve(w.context, "constants", &n.graph));
    n.data[y] = again;
    net_run(&n);
    assert_memory_equal(out, again, sizeof out);
    htp_end(&w);
    free(binary);
}

// Weights in 8 bits with float activations are the only mix of a product: they become halves.
static void weights_may_be_codes(void **state) {
    (void)state;
    enum { CIN = 33, COUT = 5, CELLS = 12 };
    _Float16 x[CELLS * CIN], y[CELLS * COUT], bias[COUT];
    int8_t codes[CIN * COUT];
    Qnn_ScaleOffset_t scales[COUT];
    uint32_t dx[] = {1, 3, 4, CIN}, dw[] = {1, 1, CIN, COUT}, db[] = {COUT}, dy[] = {1, 3, 4, COUT};
    for (size_t i = 0; i < CELLS * CIN; i++)
        x[i] = (_Float16)random_float();
    for (size_t i = 0; i < CIN * COUT; i++)
        codes[i] = (int8_t)(127 * random_float());
    for (uint32_t c = 0; c < COUT; c++) {
        scales[c] = (Qnn_ScaleOffset_t){0.01f * (float)(c + 1), 0};
        bias[c] = (_Float16)random_float();
    }
    htp_world w = htp_begin(SM8750);
    net n = net_begin(&w, "codes", NULL);
    int in = (int)net_add(&n, IN, F16, 4, dx, 0, 0, x);
    Qnn_Tensor_t t = htp_tensor("w", CONSTANT, QNN_DATATYPE_SFIXED_POINT_8, 4, dw);
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
    t.v1.quantizeParams.axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){3, COUT, scales};
    htp_buffer(&t, codes, sizeof codes);
    HTP_OK(w.qnn.tensorCreateGraphTensor(n.graph, &t));
    int k = (int)n.n++;
    n.tensors[k] = t;
    int b = (int)net_add(&n, CONSTANT, F16, 1, db, 0, 0, bias);
    int out = (int)net_add(&n, OUT, F16, 4, dy, 0, 0, y);
    uint32_t ones[] = {1, 1}, zeros[] = {0, 0, 0, 0};
    Qnn_Param_t params[] = {net_list(&n, "stride", 2, 0, ones),
                            net_list(&n, "pad_amount", 4, 2, zeros)};
    assert_int_equal(net_try(&n, "Conv2d", NET_LIST(in, k, b), NET_LIST(out), params, 2, false), 0);
    net_finish(&n);
    for (size_t i = 0; i < CELLS; i++)
        for (size_t c = 0; c < COUT; c++) {
            double sum = (double)bias[c], terms = fabs(sum);
            for (size_t j = 0; j < CIN; j++) {
                double p = (double)x[i * CIN + j] * codes[j * COUT + c] * (double)scales[c].scale;
                sum += p;
                terms += fabs(p);
            }
            // Each weight is off by half a last place at most.
            assert_true(fabs((double)y[i * COUT + c] - sum) <=
                        fabs(sum) * 0x1p-11 + terms * 0x1p-11);
        }
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_prc_01_float_graphs_compute_in_halves),
        cmocka_unit_test(htp_num_07_the_device_decides_and_nobody_else),
        cmocka_unit_test(htp_num_07_an_architecture_is_enough),
        cmocka_unit_test(htp_prc_02_floats_and_codes_mix),
        cmocka_unit_test(convert_takes_halves_to_codes),
        cmocka_unit_test(htp_prc_07_ties_go_to_even_and_subnormals_stay),
        cmocka_unit_test(htp_num_08_wide_halves_have_no_infinity),
        cmocka_unit_test(htp_num_08_infinities_that_come_in_are_found),
        cmocka_unit_test(htp_num_08_newer_devices_overflow_to_infinity),
        cmocka_unit_test(htp_num_09_sums_are_rounded_once),
        cmocka_unit_test(weights_of_products_are_kept_as_halves),
        cmocka_unit_test(constants_travel_in_a_binary),
        cmocka_unit_test(weights_may_be_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
