// SPDX-License-Identifier: MIT
//
// Rules of float graphs on the HTP: who refuses them and how, options that change no number, and
// float results that must be right whatever other implementations do.
#include "net.h"

#include <math.h>
#include <stdio.h>

#define F32 QNN_DATATYPE_FLOAT_32
#define IN QNN_TENSOR_TYPE_APP_WRITE
#define OUT QNN_TENSOR_TYPE_APP_READ

enum { SM8350 = 30, SM8650 = 57, SM8750 = 69 }; // v68, v75, v79

static char last_log[1024], last_info[1024];
static int n_warnings;

static void keep_log(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args) {
    (void)time;
    n_warnings += level == QNN_LOG_LEVEL_WARN;
    if (level <= QNN_LOG_LEVEL_WARN)
        vsnprintf(last_log, sizeof last_log, fmt, args);
    else if (level == QNN_LOG_LEVEL_INFO)
        vsnprintf(last_info, sizeof last_info, fmt, args);
}

static htp_world begin_logged(uint32_t soc, Qnn_LogHandle_t *log) {
    htp_world w = {.qnn = htp_open()};
    last_log[0] = last_info[0] = '\0';
    n_warnings = 0;
    HTP_OK(w.qnn.logCreate(keep_log, QNN_LOG_LEVEL_INFO, log));
    HTP_OK(w.qnn.backendCreate(*log, NULL, &w.backend));
    w.device = htp_device(&w.qnn, soc);
    HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &w.context));
    return w;
}

static void end_logged(htp_world *w, Qnn_LogHandle_t log) {
    htp_table qnn = w->qnn;
    htp_end(w);
    HTP_OK(qnn.logFree(log));
}

// x and y of one type in a graph of their own.
static void pair(net *n, htp_world *w, Qnn_DataType_t type, void *x, void *y) {
    uint32_t dims[] = {1, 6};
    *n = net_begin(w, "pair", NULL);
    net_add(n, IN, type, 2, dims, 0, 0, x);
    net_add(n, OUT, type, 2, dims, 0, 0, y);
}

// One third has no fp16 form: the number shows which precision it was.
static void htp_prc_05_v68_computes_floats_in_32_bits_and_says_so(void **state) {
    (void)state;
    Qnn_LogHandle_t log;
    htp_world w = begin_logged(SM8350, &log);
    float x[6] = {-1, 0, 1.0f / 3, 0.1f, 70000, 1e30f}, y[6];
    float want[6] = {0, 0, 1.0f / 3, 0.1f, 70000, 1e30f};
    net n;
    pair(&n, &w, F32, x, y);
    assert_int_equal(net_try(&n, "Relu", NET_LIST(0), NET_LIST(1), NULL, 0, true), QNN_SUCCESS);
    NET_NODE(&n, "Relu", NET_LIST(0), NET_LIST(1));
    last_log[0] = '\0';
    net_finish(&n);
    assert_memory_equal(y, want, sizeof want);
    assert_non_null(strstr(last_log, "computed in float32, because SM8350 (v68) has no float16"));
    end_logged(&w, log);
}

// A device of SM8650 whose core is an HPASS, as its platform info says.
static Qnn_DeviceHandle_t hpass_device(const htp_table *qnn) {
    QnnDevice_CoreInfo_t core = {.version = QNN_DEVICE_CORE_INFO_VERSION_1};
    QnnHtpDevice_DeviceInfoExtension_t extension = {.devType = QNN_HTP_DEVICE_TYPE_ON_CHIP};
    QnnDevice_HardwareDeviceInfo_t device = {.version = QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1};
    QnnDevice_PlatformInfo_t info = {.version = QNN_DEVICE_PLATFORM_INFO_VERSION_1};
    core.v1.coreType = QNN_HTP_CORE_TYPE_HPASS;
    extension.onChipDevice.socModel = SM8650;
    extension.onChipDevice.arch = (QnnHtpDevice_Arch_t)75;
    device.v1.numCores = 1;
    device.v1.cores = &core;
    device.v1.deviceInfoExtension = &extension;
    info.v1.numHwDevices = 1;
    info.v1.hwDevices = &device;
    QnnDevice_Config_t x = {.option = QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO,
                            .hardwareInfo = &info};
    const QnnDevice_Config_t *list[] = {&x, NULL};
    Qnn_DeviceHandle_t d = NULL;
    HTP_OK(qnn->deviceCreate(NULL, list, &d));
    return d;
}

// A float graph that was prepared for no chip, loaded where there are no floats.
static void htp_prc_05_hpass_cores_load_no_float_graph(void **state) {
    (void)state;
    htp_world w = htp_begin(0);
    net n;
    pair(&n, &w, F32, NULL, NULL);
    NET_NODE(&n, "Relu", NET_LIST(0), NET_LIST(1));
    HTP_OK(w.qnn.graphFinalize(n.graph, NULL, NULL));
    Qnn_ContextBinarySize_t size = 0, written = 0;
    HTP_OK(w.qnn.contextGetBinarySize(w.context, &size));
    void *data = malloc(size);
    HTP_OK(w.qnn.contextGetBinary(w.context, data, size, &written));
    htp_end(&w);
    Qnn_LogHandle_t log;
    w = begin_logged(0, &log);
    Qnn_DeviceHandle_t core = hpass_device(&w.qnn);
    Qnn_ContextHandle_t c = NULL;
    HTP_FAILS(w.qnn.contextCreateFromBinary(w.backend, core, NULL, data, written, &c, NULL),
              QNN_CONTEXT_ERROR_CREATE_FROM_BINARY);
    assert_non_null(strstr(last_log, "HPASS"));
    assert_non_null(strstr(last_log, "SM8650"));
    HTP_OK(w.qnn.deviceFree(core));
    end_logged(&w, log);
    free(data);
}

// Leading into a quantized graph and out of it is no float arithmetic.
static void htp_prc_05_v68_converts_floats(void **state) {
    (void)state;
    float x[6] = {-3, -0.6f, 0, 0.26f, 1, 9}, y[6];
    float want[6] = {0, 0, 0, 0.5f, 1, 9};
    uint32_t dims[] = {1, 6};
    htp_world w = htp_begin(SM8350);
    net n;
    pair(&n, &w, F32, x, y);
    Qnn_DataType_t q8 = QNN_DATATYPE_UFIXED_POINT_8;
    int a = (int)net_add(&n, QNN_TENSOR_TYPE_NATIVE, q8, 2, dims, 0.5f, -100, NULL);
    int b = (int)net_add(&n, QNN_TENSOR_TYPE_NATIVE, q8, 2, dims, 0.5f, -100, NULL);
    NET_NODE(&n, "Quantize", NET_LIST(0), NET_LIST(a));
    NET_NODE(&n, "Relu", NET_LIST(a), NET_LIST(b));
    NET_NODE(&n, "Dequantize", NET_LIST(b), NET_LIST(1));
    net_finish(&n);
    assert_memory_equal(y, want, sizeof want);
    htp_end(&w);
}

static void htp_prc_06_bfloat16_is_refused(void **state) {
    (void)state;
    static const uint32_t chips[] = {0, SM8750, 87};
    for (size_t i = 0; i < 3; i++) {
        Qnn_LogHandle_t log;
        htp_world w = begin_logged(chips[i], &log);
        net n;
        pair(&n, &w, QNN_DATATYPE_BFLOAT_16, NULL, NULL);
        Qnn_Param_t exp = net_u32("operation", 5);
        static const char *const ops[] = {"ElementWiseUnary", "Relu"};
        for (uint32_t op = 0; op < 2; op++) {
            assert_int_equal(net_try(&n, ops[op], NET_LIST(0), NET_LIST(1), &exp, 1 - op, true),
                             QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE);
            assert_non_null(strstr(last_log, "bf16"));
            assert_int_equal(net_try(&n, ops[op], NET_LIST(0), NET_LIST(1), &exp, 1 - op, false),
                             QNN_GRAPH_ERROR_INVALID_OP_CONFIG);
        }
        end_logged(&w, log);
    }
}

// Sigmoid of some numbers on SM8650 with one option of the graph.
static void sigmoid(QnnHtpGraph_CustomConfig_t *custom, float y[6]) {
    float x[6] = {-7.3f, -1.1f, 0.01f, 0.7f, 2.9f, 8.2f};
    QnnGraph_Config_t config = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = custom};
    const QnnGraph_Config_t *configs[] = {&config, NULL};
    uint32_t dims[] = {1, 6};
    htp_world w = htp_begin(SM8650);
    net n = net_begin(&w, "sigmoid", custom ? configs : NULL);
    net_add(&n, IN, F32, 2, dims, 0, 0, x);
    net_add(&n, OUT, F32, 2, dims, 0, 0, y);
    NET_NODE(&n, "Sigmoid", NET_LIST(0), NET_LIST(1));
    net_finish(&n);
    for (size_t i = 0; i < 6; i++) {
        float want = (float)(_Float16)(1 / (1 + exp(-(double)(_Float16)x[i])));
        assert_memory_equal(&y[i], &want, sizeof want);
    }
    htp_end(&w);
}

static void htp_prc_03_the_precision_option_changes_nothing(void **state) {
    (void)state;
    static const Qnn_Precision_t all[] = {QNN_PRECISION_FLOAT16, QNN_PRECISION_FLOAT32};
    float y[6];
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        QnnHtpGraph_CustomConfig_t c = {.option = QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION,
                                        .precision = all[i]};
        sigmoid(&c, y);
    }
}

// We are always precise: the result is the nearest half, whatever these say.
static void htp_grf_15_grf_16_precise_with_and_without_options(void **state) {
    (void)state;
    float y[6];
    sigmoid(NULL, y);
    for (int on = 0; on < 2; on++) {
        QnnHtpGraph_CustomConfig_t fusion = {
            .option = QNN_HTP_GRAPH_CONFIG_OPTION_ADVANCED_ACTIVATION_FUSION,
            .advancedActivationFusion = on};
        QnnHtpGraph_CustomConfig_t precise = {
            .option = QNN_HTP_GRAPH_CONFIG_OPTION_HIGH_PRECISION_SIGMOID,
            .highPrecisionSigmoid = on};
        sigmoid(&fusion, y);
        sigmoid(&precise, y);
    }
}

static void htp_num_10_max_pool_pads_with_minus_infinity(void **state) {
    (void)state;
    float x[9] = {-9, -8, -7, -6, -5, -4, -3, -2, -1}, y[4], want[4] = {-9, -7, -3, -1};
    uint32_t dx[] = {1, 3, 3, 1}, dy[] = {1, 2, 2, 1};
    uint32_t size[] = {2, 2}, amount[] = {1, 0, 1, 0};
    static const uint32_t chips[] = {0, SM8650, SM8750};
    for (size_t i = 0; i < 3; i++) {
        htp_world w = htp_begin(chips[i]);
        net n = net_begin(&w, "pool", NULL);
        net_add(&n, IN, F32, 4, dx, 0, 0, x);
        net_add(&n, OUT, F32, 4, dy, 0, 0, y);
        Qnn_Param_t params[] = {net_list(&n, "filter_size", 2, 0, size),
                                net_list(&n, "stride", 2, 0, size),
                                net_list(&n, "pad_amount", 4, 2, amount)};
        assert_int_equal(net_try(&n, "PoolMax2d", NET_LIST(0), NET_LIST(1), params, 3, false), 0);
        net_finish(&n);
        assert_memory_equal(y, want, sizeof want);
        htp_end(&w);
    }
}

static void htp_num_10_top_k_takes_the_lowest_index_first(void **state) {
    (void)state;
    // 1 + 2^-12 is 1 as a half: equal on the device, though not in single precision.
    float x[8] = {1, 3, 1 + 0x1p-12f, 3, 0.5f, 1, 3, -1}, y[5];
    int32_t at[5];
    uint32_t dx[] = {1, 8}, dy[] = {1, 5};
    htp_world w = htp_begin(SM8650);
    net n = net_begin(&w, "top", NULL);
    net_add(&n, IN, F32, 2, dx, 0, 0, x);
    net_add(&n, OUT, F32, 2, dy, 0, 0, y);
    net_add(&n, OUT, QNN_DATATYPE_INT_32, 2, dy, 0, 0, at);
    Qnn_Param_t k = net_u32("k", 5);
    assert_int_equal(net_try(&n, "TopK", NET_LIST(0), NET_LIST(1, 2), &k, 1, false), 0);
    net_finish(&n);
    static const int32_t order[5] = {1, 3, 6, 0, 2};
    static const float values[5] = {3, 3, 3, 1, 1};
    assert_memory_equal(at, order, sizeof order);
    assert_memory_equal(y, values, sizeof values);
    htp_end(&w);
}

static void htp_num_10_pad_repeats_edges(void **state) {
    (void)state;
    enum { EDGE = 3 };
    float x[4] = {0.1f, -2, 3, 70}, y[12], want[12];
    uint32_t dx[] = {2, 2}, dy[] = {3, 4}, amount[] = {1, 0, 0, 2};
    static const uint32_t from[12] = {0, 1, 1, 1, 0, 1, 1, 1, 2, 3, 3, 3};
    htp_world w = htp_begin(SM8650);
    net n = net_begin(&w, "pad", NULL);
    net_add(&n, IN, F32, 2, dx, 0, 0, x);
    net_add(&n, OUT, F32, 2, dy, 0, 0, y);
    Qnn_Param_t params[] = {net_u32("scheme", EDGE), net_list(&n, "pad_amount", 4, 2, amount)};
    assert_int_equal(net_try(&n, "Pad", NET_LIST(0), NET_LIST(1), params, 2, false), 0);
    net_finish(&n);
    for (size_t i = 0; i < 12; i++)
        want[i] = (float)(_Float16)x[from[i]];
    assert_memory_equal(y, want, sizeof want);
    htp_end(&w);
}

// A constant that fills a tensor is rounded like the tensor's own elements.
static void padding_is_rounded(void **state) {
    (void)state;
    float x[2] = {1, 2}, y[3], want[3] = {1, 2, (float)(_Float16)0.1f};
    uint32_t dx[] = {2}, dy[] = {3}, amount[] = {0, 1};
    htp_world w = htp_begin(SM8750);
    net n = net_begin(&w, "pad", NULL);
    net_add(&n, IN, F32, 1, dx, 0, 0, x);
    net_add(&n, OUT, F32, 1, dy, 0, 0, y);
    Qnn_Param_t params[] = {net_u32("scheme", 0), net_list(&n, "pad_amount", 2, 2, amount),
                            net_u32("pad_constant_value", 0)};
    params[2].scalarParam.dataType = F32;
    params[2].scalarParam.floatValue = 0.1f;
    assert_int_equal(net_try(&n, "Pad", NET_LIST(0), NET_LIST(1), params, 3, false), 0);
    net_finish(&n);
    assert_memory_equal(y, want, sizeof want);
    htp_end(&w);
}

static void htp_num_10_resize_nearest_rounds_up(void **state) {
    (void)state;
    enum { ASYMMETRIC = 3, NEAREST = 0, CEIL = 3 };
    float x[3] = {1, 2, 3}, y[5], want[5] = {1, 2, 3, 3, 3}; // places 0, 0.6, 1.2, 1.8, 2.4
    uint32_t dx[] = {1, 1, 3, 1}, dy[] = {1, 1, 5, 1};
    htp_world w = htp_begin(SM8650);
    net n = net_begin(&w, "resize", NULL);
    net_add(&n, IN, F32, 4, dx, 0, 0, x);
    net_add(&n, OUT, F32, 4, dy, 0, 0, y);
    Qnn_Param_t params[] = {net_u32("transformation_mode", ASYMMETRIC),
                            net_u32("interpolation_mode", NEAREST), net_u32("nearest_mode", CEIL)};
    assert_int_equal(net_try(&n, "Resize", NET_LIST(0), NET_LIST(1), params, 3, false), 0);
    net_finish(&n);
    assert_memory_equal(y, want, sizeof want);
    htp_end(&w);
}

// --- constants that are lost

// y = (x op c) + c on that chip; how many warnings?
static int warnings_of(uint32_t soc, const char *op, const float *c, uint32_t n_c) {
    Qnn_LogHandle_t log;
    htp_world w = begin_logged(soc, &log);
    uint32_t dims[] = {1, 6}, row[] = {n_c};
    net n = net_begin(&w, "lossy", NULL);
    net_add(&n, IN, F32, 2, dims, 0, 0, NULL);
    net_add(&n, QNN_TENSOR_TYPE_STATIC, F32, 1, row, 0, 0, (void *)(uintptr_t)c);
    net_add(&n, QNN_TENSOR_TYPE_NATIVE, F32, 2, dims, 0, 0, NULL);
    net_add(&n, OUT, F32, 2, dims, 0, 0, NULL);
    NET_NODE(&n, op, NET_LIST(0, 1), NET_LIST(2));
    NET_NODE(&n, "ElementWiseAdd", NET_LIST(2, 1), NET_LIST(3));
    HTP_OK(w.qnn.graphFinalize(n.graph, NULL, NULL));
    int heard = n_warnings;
    end_logged(&w, log);
    return heard;
}

// The smallest half is 2^-24, half of which still becomes 0; 65520 is the first infinite one.
static void constants_that_are_lost_are_reported(void **state) {
    (void)state;
    const float tiny[] = {1e-10f}, some[] = {1e-10f, 0, 1e-12f, 0, 1e-8f, 0x1p-25f},
                kept[] = {1e-10f, 0, 0, 0, 0, 0x1.1p-25f}, none[] = {0}, large[] = {-1e9f},
                edge[] = {65519}, endless[] = {-INFINITY};
    const uint32_t chips[] = {SM8650, SM8750};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(warnings_of(chips[i], "ElementWiseAdd", tiny, 1), 1);
        assert_non_null(strstr(last_log, "graph 'lossy'"));
        assert_non_null(strstr(last_log, "constant 'tb' (1e-10) is 0 in float16"));
        assert_non_null(strstr(last_log, "node 'nb' (ElementWiseAdd)"));
        assert_int_equal(warnings_of(chips[i], "ElementWiseAdd", some, 6), 1);
        assert_int_equal(warnings_of(chips[i], "ElementWiseAdd", kept, 6), 0);
        assert_int_equal(warnings_of(chips[i], "ElementWiseAdd", none, 1), 0);
        assert_int_equal(warnings_of(chips[i], "ElementWiseAdd", large, 1), 0);
        assert_int_equal(warnings_of(chips[i], "ElementWiseMultiply", edge, 1), 0);
        assert_int_equal(warnings_of(chips[i], "ElementWiseMultiply", endless, 1), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(warnings_of(chips[i], "ElementWiseMultiply", large, 1), 1);
        assert_non_null(strstr(last_log, "(-1e+09) is 65536 in float16"));
    }
    assert_int_equal(warnings_of(0, "ElementWiseAdd", tiny, 1), 0); // single precision
}

// y = x * c, finalized, and once more loaded from a binary; c of six elements.
static void multiplied(uint32_t soc, const float *c, const float *want) {
    float x[6] = {1, 2, 0.5f, -3, 0, 1.5f}, y[6];
    uint32_t dims[] = {1, 6};
    htp_world w = htp_begin(soc);
    net n;
    pair(&n, &w, F32, x, y);
    int b = (int)net_add(&n, QNN_TENSOR_TYPE_STATIC, F32, 2, dims, 0, 0, (void *)(uintptr_t)c);
    NET_NODE(&n, "ElementWiseMultiply", NET_LIST(0, b), NET_LIST(1));
    net_finish(&n);
    assert_memory_equal(y, want, sizeof y);
    Qnn_ContextBinarySize_t size = 0, written = 0;
    HTP_OK(w.qnn.contextGetBinarySize(w.context, &size));
    void *data = malloc(size);
    HTP_OK(w.qnn.contextGetBinary(w.context, data, size, &written));
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    HTP_OK(
        w.qnn.contextCreateFromBinary(w.backend, w.device, NULL, data, written, &w.context, NULL));
    HTP_OK(w.qnn.graphRetrieve(w.context, "pair", &n.graph));
    memset(y, 0, sizeof y);
    Qnn_Tensor_t io[2] = {n.tensors[0], n.tensors[1]};
    htp_buffer(&io[0], x, sizeof x);
    htp_buffer(&io[1], y, sizeof y);
    HTP_OK(w.qnn.graphExecute(n.graph, &io[0], 1, &io[1], 1, NULL, NULL));
    assert_memory_equal(y, want, sizeof y);
    free(data);
    htp_end(&w);
}

static void htp_num_08_constants_beyond_fp16_are_numbers(void **state) {
    (void)state;
    const float large[6] = {1e30f, 3e38f, 70000, INFINITY, -INFINITY, 2},
                small[6] = {1, 2, 65504, INFINITY, 1, 2};
    const float want[6] = {65536, 131008, 32768, -131008, -0.0f, 3},
                ieee[6] = {1, 4, 32752, -INFINITY, 0, 3}, wide[6] = {1, 4, 32752, -131008, 0, 3};
    multiplied(SM8750, large, want);
    multiplied(SM8750, small, ieee);
    multiplied(SM8650, large, want);
    multiplied(SM8650, small, wide);
}

// Weights are rounded where they are packed, and there are over a million of them here.
static void htp_num_08_weights_beyond_fp16_are_numbers(void **state) {
    (void)state;
    enum { IN_FEATURES = 200000 };
    const float large[6] = {1e30f, -3e38f, 70000, 65504, 65519, 2},
                want[6] = {65536, -65536, 65536, 65504, 65504, 2};
    float *x = calloc(IN_FEATURES, sizeof *x), *c = calloc((size_t)6 * IN_FEATURES, sizeof *c);
    x[IN_FEATURES - 1] = 1;
    for (size_t i = 0; i < 6; i++)
        c[(i + 1) * IN_FEATURES - 1] = large[i];
    const uint32_t chips[] = {SM8650, SM8750};
    for (int i = 0; i < 2; i++) {
        uint32_t x_dims[] = {1, IN_FEATURES}, w_dims[] = {6, IN_FEATURES}, y_dims[] = {1, 6};
        float y[6];
        htp_world w = htp_begin(chips[i]);
        net n = net_begin(&w, "weights", NULL);
        net_add(&n, IN, F32, 2, x_dims, 0, 0, x);
        net_add(&n, QNN_TENSOR_TYPE_STATIC, F32, 2, w_dims, 0, 0, c);
        net_add(&n, OUT, F32, 2, y_dims, 0, 0, y);
        NET_NODE(&n, "FullyConnected", NET_LIST(0, 1), NET_LIST(2));
        net_finish(&n);
        assert_memory_equal(y, want, sizeof y);
        htp_end(&w);
    }
    free(x);
    free(c);
}

// One line says how floats are computed, and it is what comes out: a third differs.
static void the_log_says_how_floats_are_computed(void **state) {
    (void)state;
    const struct {
        uint32_t soc;
        const char *says;
        float third;
    } rows[] = {
        {0, "graph 'pair': floats are computed in float32, because no SoC", 1.0f / 3},
        {SM8650, "graph 'pair': floats are computed in float16 (SM8650, v75)", 0x1.554p-2f},
        {SM8750, "graph 'pair': floats are computed in float16 (SM8750, v79)", 0x1.554p-2f}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float x[6] = {3, 3, 3, 3, 3, 3}, y[6] = {0}, one = 1;
        Qnn_LogHandle_t log;
        htp_world w = begin_logged(rows[i].soc, &log);
        net n;
        pair(&n, &w, F32, x, y);
        uint32_t dims[] = {1};
        net_add(&n, QNN_TENSOR_TYPE_STATIC, F32, 1, dims, 0, 0, &one);
        NET_NODE(&n, "ElementWiseDivide", NET_LIST(2, 0), NET_LIST(1));
        HTP_OK(w.qnn.graphFinalize(n.graph, NULL, NULL));
        assert_non_null(strstr(last_info, rows[i].says));
        net_run(&n);
        assert_true(y[0] == rows[i].third);
        end_logged(&w, log);
    }
}

// --- numbers that are too large

// y = max(x * x, x) + m on that chip, executed once for each of the n_runs rows of x; how many
// warnings?
static int runs_of(uint32_t soc, float (*x)[6], uint32_t n_runs, float m) {
    Qnn_LogHandle_t log;
    htp_world w = begin_logged(soc, &log);
    uint32_t dims[] = {1, 6}, one[] = {1};
    float y[6];
    net n = net_begin(&w, "large", NULL);
    net_add(&n, IN, F32, 2, dims, 0, 0, x[0]);
    net_add(&n, QNN_TENSOR_TYPE_STATIC, F32, 1, one, 0, 0, &m);
    net_add(&n, QNN_TENSOR_TYPE_NATIVE, F32, 2, dims, 0, 0, NULL);
    net_add(&n, QNN_TENSOR_TYPE_NATIVE, F32, 2, dims, 0, 0, NULL);
    net_add(&n, OUT, F32, 2, dims, 0, 0, y);
    NET_NODE(&n, "ElementWiseMultiply", NET_LIST(0, 0), NET_LIST(2));
    NET_NODE(&n, "ElementWiseMaximum", NET_LIST(2, 0), NET_LIST(3));
    NET_NODE(&n, "ElementWiseAdd", NET_LIST(3, 1), NET_LIST(4));
    HTP_OK(w.qnn.graphFinalize(n.graph, NULL, NULL));
    for (uint32_t i = 0; i < n_runs; i++) {
        n.data[0] = x[i];
        net_run(&n);
    }
    int heard = n_warnings;
    end_logged(&w, log);
    return heard;
}

static void numbers_that_are_too_large_are_reported(void **state) {
    (void)state;
    float small[2][6] = {{1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}};
    float square[2][6] = {{1, 2, 300, 400, 5, 6}, {400, 400, 0, 0, 0, 0}};
    float later[2][6] = {{1, 2, 3, 4, 5, 6}, {1, 2, 400, 4, 5, 6}};
    float input[1][6] = {{1, 2, 3, 4, -200000, 6}};
    float endless[1][6] = {{1, 2, -INFINITY, 3, -3e38f, 6}};
    for (int i = 0; i < 2; i++) {
        uint32_t chip = i ? SM8750 : SM8650;
        assert_int_equal(runs_of(chip, small, 2, 1), 0);
        assert_int_equal(runs_of(chip, square, 2, 1), 1); // once
        assert_non_null(strstr(last_log, "graph 'large': node 'nb' (ElementWiseMultiply) is the "
                                         "first to leave the range of float16"));
        assert_non_null(strstr(last_log, i ? "is 65504: it gives inf at index 2"
                                           : "is 131008: it gives 131008 at index 3"));
        assert_int_equal(runs_of(chip, later, 2, 1), 0); // the first execution is watched
        assert_int_equal(runs_of(chip, input, 1, 1), 1);
        assert_non_null(strstr(last_log, "input 'ta' has -200000 at index 4, beyond float16"));
        assert_int_equal(runs_of(chip, endless, 1, 1), 0); // meant so
        assert_int_equal(runs_of(chip, small, 1, -INFINITY), 0);
    }
    assert_int_equal(runs_of(0, square, 1, 1), 0); // single precision
}

// Every place of a long row is looked at.
static void the_place_of_a_large_number_is_named(void **state) {
    (void)state;
    static float x[1300], y[1300];
    const uint32_t places[] = {0, 511, 512, 513, 1023, 1024, 1025, 1299};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        Qnn_LogHandle_t log;
        htp_world w = begin_logged(SM8750, &log);
        uint32_t dims[] = {1, 1300};
        char want[40];
        net n = net_begin(&w, "long", NULL);
        net_add(&n, IN, F32, 2, dims, 0, 0, x);
        net_add(&n, OUT, F32, 2, dims, 0, 0, y);
        NET_NODE(&n, "ElementWiseMultiply", NET_LIST(0, 0), NET_LIST(1));
        x[places[i]] = 400;
        net_finish(&n);
        x[places[i]] = 0;
        snprintf(want, sizeof want, "gives inf at index %u;", places[i]);
        assert_non_null(strstr(last_log, want));
        end_logged(&w, log);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_prc_05_v68_computes_floats_in_32_bits_and_says_so),
        cmocka_unit_test(htp_prc_05_hpass_cores_load_no_float_graph),
        cmocka_unit_test(htp_prc_05_v68_converts_floats),
        cmocka_unit_test(htp_prc_06_bfloat16_is_refused),
        cmocka_unit_test(htp_prc_03_the_precision_option_changes_nothing),
        cmocka_unit_test(htp_grf_15_grf_16_precise_with_and_without_options),
        cmocka_unit_test(htp_num_10_max_pool_pads_with_minus_infinity),
        cmocka_unit_test(htp_num_10_top_k_takes_the_lowest_index_first),
        cmocka_unit_test(htp_num_10_pad_repeats_edges),
        cmocka_unit_test(padding_is_rounded),
        cmocka_unit_test(htp_num_10_resize_nearest_rounds_up),
        cmocka_unit_test(constants_that_are_lost_are_reported),
        cmocka_unit_test(htp_num_08_constants_beyond_fp16_are_numbers),
        cmocka_unit_test(htp_num_08_weights_beyond_fp16_are_numbers),
        cmocka_unit_test(the_log_says_how_floats_are_computed),
        cmocka_unit_test(numbers_that_are_too_large_are_reported),
        cmocka_unit_test(the_place_of_a_large_number_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
