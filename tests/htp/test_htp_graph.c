// SPDX-License-Identifier: MIT
//
// Options of graphs on the HTP: accepted and kept, refused with the documented code, and what
// follows from them. Expected values are those of the requirements the tests are named after.
#include "htp_describe.h"
#include "htp_options.h"

#include <math.h>
#include <stdio.h>

enum { SM8350 = 30, SM7325 = 35, SM8550 = 43, SA8255 = 52, SM8650 = 57, SM8750 = 69, SM8850 = 87 };

// What a binary reports of a graph that is prepared with these options.
static QnnHtpSystemContext_GraphBlobInfoV1_t reported(const htp_world *w,
                                                      const QnnHtpGraph_CustomConfig_t *custom,
                                                      size_t n) {
    htp_world own = *w;
    graph_list l;
    htp_relu r;
    HTP_OK(w->qnn.contextCreate(w->backend, w->device, NULL, &own.context));
    htp_relu_graph(&w->qnn, own.context, "r", graph_options(&l, custom, n), 2, &r);
    HTP_OK(w->qnn.graphFinalize(r.graph, NULL, NULL));
    described d = describe_context(&own);
    HTP_OK(w->qnn.contextFree(own.context, NULL));
    return d.graphs[0].v1;
}

static QnnHtpSystemContext_GraphBlobInfoV1_t reported_one(const htp_world *w,
                                                          QnnHtpGraph_CustomConfig_t x) {
    return reported(w, &x, 1);
}

// --- the table

static void htp_grf_01_opt_01_levels(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    assert_int_equal(reported(&w, NULL, 0).optimizationLevel, 2);
    for (uint32_t level = 1; level <= 3; level++) {
        QnnHtpGraph_CustomConfig_t x = OPTIMIZATION(FINALIZE_OPTIMIZATION_FLAG, (float)level);
        assert_int_equal(reported_one(&w, x).optimizationLevel, level);
    }
    static const float bad[] = {0.0f, 4.0f, 1.5f, -1.0f, NAN, INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        HTP_FAILS(graph_try(&w, OPTIMIZATION(FINALIZE_OPTIMIZATION_FLAG, bad[i])),
                  QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    HTP_OK(graph_try(&w, OPTIMIZATION(ENABLE_VTCM_RETENTION, 1.0f)));
    HTP_OK(graph_try(&w, OPTIMIZATION(ENABLE_CACHED_WEIGHTS, 1.0f)));
    HTP_OK(graph_try(&w, OPTIMIZATION(SCHEDULE_THRESHOLD, 7.0f))); // reserved: ignored
    HTP_OK(graph_try(&w, OPTIMIZATION(FINALIZE_RETRIES, 7.0f)));
    htp_end(&w);
}

static void htp_grf_02_precision_is_accepted(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    HTP_OK(graph_try(&w, GRAPH_OPTION(PRECISION, .precision = QNN_PRECISION_FLOAT16)));
    HTP_OK(graph_try(&w, GRAPH_OPTION(PRECISION, .precision = QNN_PRECISION_FLOAT32)));
    HTP_FAILS(graph_try(&w, GRAPH_OPTION(PRECISION, .precision = (Qnn_Precision_t)2)),
              QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    htp_end(&w);
}

static void htp_grf_04_grf_05_grf_12_grf_13_grf_14_grf_15_grf_16_grf_17_flags(void **state) {
    (void)state;
    static const QnnHtpGraph_ConfigOption_t options[] = {
        QNN_HTP_GRAPH_CONFIG_OPTION_FOLD_RELU_ACTIVATION_INTO_CONV_OFF,
        QNN_HTP_GRAPH_CONFIG_OPTION_SHORT_DEPTH_CONV_ON_HMX_OFF,
        QNN_HTP_GRAPH_CONFIG_OPTION_WEIGHTS_PACKING,
        QNN_HTP_GRAPH_CONFIG_OPTION_ASSUME_SAME_QUANT,
        QNN_HTP_GRAPH_CONFIG_OPTION_SHARE_IO_BUFFER,
        QNN_HTP_GRAPH_CONFIG_OPTION_ADVANCED_ACTIVATION_FUSION,
        QNN_HTP_GRAPH_CONFIG_OPTION_HIGH_PRECISION_SIGMOID,
        QNN_HTP_GRAPH_CONFIG_OPTION_MONOLITHIC_LSTM,
        QNN_HTP_GRAPH_CONFIG_OPTION_ENABLE_PREDICATION,
        QNN_HTP_GRAPH_CONFIG_OPTION_FP16_CLAMP_OVERFLOW,
    };
    warnings seen = {0};
    htp_world w = htp_warned(SM8650, &seen);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        HTP_OK(graph_try(&w, (QnnHtpGraph_CustomConfig_t){options[i], {.weightsPacking = true}}));
        HTP_OK(graph_try(&w, (QnnHtpGraph_CustomConfig_t){options[i], {.weightsPacking = false}}));
    }
    assert_int_equal(seen.n, 0); // known, every one
    htp_warned_end(&w);
}

static void htp_grf_18_precision_compensation_needs_v81(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    HTP_FAILS(graph_try(&w, GRAPH_OPTION(PRECISION_COMPENSATION, .precisionCompensation = true)),
              QNN_COMMON_ERROR_NOT_SUPPORTED);
    HTP_OK(graph_try(&w, GRAPH_OPTION(PRECISION_COMPENSATION, .precisionCompensation = false)));
    htp_end(&w);
    w = htp_begin(SM8850);
    HTP_OK(graph_try(&w, GRAPH_OPTION(PRECISION_COMPENSATION, .precisionCompensation = true)));
    htp_end(&w);
}

static Qnn_ErrorHandle_t tune(const htp_world *w, const char *key, Qnn_Scalar_t value) {
    return graph_try(w, GRAPH_OPTION(FINALIZE_CONFIG, .finalizeConfig = {key, value}));
}

static void htp_grf_07_opt_04_tuning_points(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    static const int valid[] = {0, 1, 2, 3, 4, 5, 6, 8, 13, 15, 16, 17, 19, 20, 21, 22, 23};
    for (int p = -1; p <= 40; p++) {
        bool ok = false;
        for (size_t i = 0; i < sizeof valid / sizeof *valid; i++)
            ok |= valid[i] == p;
        Qnn_Scalar_t v = {QNN_DATATYPE_INT_32, {.int32Value = p}};
        HTP_FAILS(tune(&w, "P", v), ok ? QNN_SUCCESS : QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    }
    Qnn_Scalar_t v = {QNN_DATATYPE_UINT_32, {.uint32Value = 13}};
    HTP_OK(tune(&w, "P", v));
    HTP_OK(tune(&w, "Q", v)); // a key nobody knows: a warning
    HTP_FAILS(tune(&w, NULL, v), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    v = (Qnn_Scalar_t){QNN_DATATYPE_FLOAT_32, {.floatValue = NAN}};
    HTP_FAILS(tune(&w, "P", v), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    v = (Qnn_Scalar_t){QNN_DATATYPE_STRING, {.stringValue = "1"}};
    HTP_FAILS(tune(&w, "P", v), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    htp_end(&w);
}

static void htp_grf_08_cores_of_the_chip(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    HTP_OK(graph_try(&w, GRAPH_OPTION(NUM_CORES, .numCores = 1)));
    HTP_FAILS(graph_try(&w, GRAPH_OPTION(NUM_CORES, .numCores = 0)),
              QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    HTP_FAILS(graph_try(&w, GRAPH_OPTION(NUM_CORES, .numCores = 2)),
              QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    htp_end(&w);
}

static QnnHtpGraph_CustomConfig_t parallel(int concurrency, uint32_t size_mb, uint32_t offset_mb,
                                           uint32_t total_mb) {
    return GRAPH_OPTION(PARALLEL_GRAPH_EXECUTION_CONFIG,
                        .parallelGraphExecutionConfig = {
                            .concurrency = (QnnHtpGraph_ConcurrencyOption_t)concurrency,
                            .vtcmConfig = {.sizeInBytes = size_mb << 20,
                                           .offsetInBytes = offset_mb << 20,
                                           .sizeTotalInBytes = total_mb << 20}});
}

static void htp_grf_09_pge_01_parallel_graphs(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8850); // v81, 8 MB
    HTP_OK(graph_try(&w, parallel(1, 3, 0, 7)));
    HTP_OK(graph_try(&w, parallel(1, 4, 3, 7)));
    HTP_OK(graph_try(&w, parallel(0, 0, 0, 0)));
    HTP_FAILS(graph_try(&w, parallel(1, 5, 3, 7)), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    HTP_FAILS(graph_try(&w, parallel(1, 3, 0, 9)), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    HTP_FAILS(graph_try(&w, parallel(2, 3, 0, 7)), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    htp_end(&w);
    w = htp_begin(SM8650);
    HTP_FAILS(graph_try(&w, parallel(1, 3, 0, 7)), QNN_COMMON_ERROR_NOT_SUPPORTED);
    HTP_OK(graph_try(&w, parallel(0, 0, 0, 0)));
    htp_end(&w);
}

static void htp_mlc_01_cores_of_chips(void **state) {
    (void)state;
    htp_world w = htp_begin(52); // SA8255, which has two
    HTP_OK(graph_try(&w, GRAPH_OPTION(NUM_CORES, .numCores = 2)));
    HTP_FAILS(graph_try(&w, GRAPH_OPTION(NUM_CORES, .numCores = 3)),
              QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    htp_end(&w);
    w = htp_begin(SM8850);
    HTP_FAILS(graph_try(&w, GRAPH_OPTION(NUM_CORES, .numCores = 2)),
              QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    htp_end(&w);
}

// The device is described by hand: any chip may have two cores then.
static void htp_mlc_02_pge_02_several_cores_exclude(void **state) {
    (void)state;
    htp_world w = {.qnn = htp_open()};
    HTP_OK(w.qnn.backendCreate(NULL, NULL, &w.backend));
    w.device = device_of_cores(&w.qnn, 2);
    HTP_OK(w.qnn.contextCreate(w.backend, w.device, NULL, &w.context));
    QnnHtpGraph_CustomConfig_t both[] = {GRAPH_OPTION(NUM_CORES, .numCores = 2),
                                         parallel(1, 3, 0, 7)};
    Qnn_GraphHandle_t g = NULL;
    HTP_OK(graph_with(&w, "cores", both, 1, &g));
    HTP_OK(graph_with(&w, "parallel", both + 1, 1, &g));
    HTP_FAILS(graph_with(&w, "both", both, 2, &g), QNN_COMMON_ERROR_NOT_SUPPORTED);
    HTP_OK(w.qnn.contextFree(w.context, NULL));
    QnnHtpContext_CustomConfig_t on =
        CONTEXT_OPTION(WEIGHT_SHARING_ENABLED, .weightSharingEnabled = true);
    HTP_OK(context_with(&w, &on, 1, &w.context));
    HTP_FAILS(graph_with(&w, "sharing", both, 1, &g), QNN_COMMON_ERROR_NOT_SUPPORTED);
    htp_end(&w);
}

static void htp_grf_11_hmx_bounding_needs_v81(void **state) {
    (void)state;
    QnnHtpGraph_CustomConfig_t x = GRAPH_OPTION(HMX_BOUNDING, .hmxBoundingInfo = {1.0e9f, 1.5e9f});
    htp_world w = htp_begin(SM8750);
    HTP_FAILS(graph_try(&w, x), QNN_COMMON_ERROR_NOT_SUPPORTED);
    htp_end(&w);
    w = htp_begin(SM8850);
    HTP_OK(graph_try(&w, x));
    x.hmxBoundingInfo.targetHmxFreqHz = NAN;
    HTP_FAILS(graph_try(&w, x), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    x.hmxBoundingInfo = (QnnHtp_HmxBoundingInfo_t){1.0e9f, 0.0f};
    HTP_FAILS(graph_try(&w, x), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    htp_end(&w);
}

// --- VTCM

static QnnHtpGraph_CustomConfig_t megabytes(uint32_t mb) {
    return GRAPH_OPTION(VTCM_SIZE_IN_MB, .vtcmSizeInMB = mb);
}
static QnnHtpGraph_CustomConfig_t bytes(uint32_t n) {
    return GRAPH_OPTION(VTCM_SIZE_IN_BYTES, .vtcmSizeInBytes = n);
}

static uint32_t default_vtcm(uint32_t soc) {
    htp_world w = htp_begin(soc);
    uint32_t mb = reported(&w, NULL, 0).vtcmSize;
    htp_end(&w);
    return mb;
}

static void htp_grf_03_vtcm_01_default_is_4_mb_or_all_there_is(void **state) {
    (void)state;
    assert_int_equal(default_vtcm(0), 4);
    assert_int_equal(default_vtcm(SM8650), 4); // has 8
    assert_int_equal(default_vtcm(SM7325), 2); // has 2
}

static void htp_vtcm_02_vtcm_03_more_than_there_is(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    assert_int_equal(reported_one(&w, megabytes(8)).vtcmSize, 8);
    assert_int_equal(reported_one(&w, megabytes(1)).vtcmSize, 1);
    HTP_FAILS(graph_try(&w, megabytes(9)), QNN_GRAPH_ERROR_CREATE_FAILED);
    HTP_FAILS(graph_try(&w, megabytes(UINT32_MAX)), QNN_GRAPH_ERROR_CREATE_FAILED);
    assert_int_equal(reported_one(&w, megabytes(QNN_HTP_GRAPH_CONFIG_OPTION_MAX)).vtcmSize, 8);
    htp_end(&w);
}

static void htp_grf_10_vtcm_05_bytes_in_pages_of_64_kb(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8850);
    HTP_OK(graph_try(&w, bytes(8323072)));
    assert_int_equal(reported_one(&w, bytes(3 << 20)).vtcmSize, 3);
    HTP_FAILS(graph_try(&w, bytes(8323073)), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    HTP_FAILS(graph_try(&w, bytes(9 << 20)), QNN_GRAPH_ERROR_CREATE_FAILED);
    htp_end(&w);
    w = htp_begin(SM8750);
    HTP_FAILS(graph_try(&w, bytes(8323072)), QNN_COMMON_ERROR_NOT_SUPPORTED);
    htp_end(&w);
}

static void htp_vtcm_06_the_last_request_wins(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8850);
    QnnHtpGraph_CustomConfig_t one[] = {megabytes(2), bytes(3 << 20)},
                               two[] = {bytes(3 << 20), megabytes(2)},
                               three[] = {megabytes(0), megabytes(2)};
    assert_int_equal(reported(&w, one, 2).vtcmSize, 3);
    assert_int_equal(reported(&w, two, 2).vtcmSize, 2);
    assert_int_equal(reported(&w, three, 2).vtcmSize, 2);
    htp_end(&w);
}

// --- bandwidth compression

static void htp_dlbc_08_device_without_compression(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8350);
    HTP_FAILS(graph_try(&w, OPTIMIZATION(ENABLE_DLBC, 1.0f)), QNN_GRAPH_ERROR_CREATE_FAILED);
    HTP_FAILS(graph_try(&w, OPTIMIZATION(ENABLE_DLBC_WEIGHTS, 1.0f)),
              QNN_GRAPH_ERROR_CREATE_FAILED);
    HTP_OK(graph_try(&w, OPTIMIZATION(ENABLE_DLBC, 0.0f))); // what clients always send
    htp_end(&w);
}

static void htp_dlbc_05_not_with_shared_weights(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650), shared = w;
    QnnHtpContext_CustomConfig_t on =
        CONTEXT_OPTION(WEIGHT_SHARING_ENABLED, .weightSharingEnabled = true);
    HTP_OK(context_with(&w, &on, 1, &shared.context));
    HTP_FAILS(graph_try(&shared, OPTIMIZATION(ENABLE_DLBC_WEIGHTS, 1.0f)),
              QNN_CONTEXT_ERROR_INVALID_CONFIG);
    HTP_FAILS(graph_try(&shared, OPTIMIZATION(ENABLE_DLBC, 1.0f)),
              QNN_CONTEXT_ERROR_INVALID_CONFIG);
    HTP_OK(graph_try(&shared, OPTIMIZATION(ENABLE_DLBC_WEIGHTS, 0.0f)));
    HTP_OK(graph_try(&w, OPTIMIZATION(ENABLE_DLBC_WEIGHTS, 1.0f)));
    HTP_OK(w.qnn.contextFree(shared.context, NULL));
    htp_end(&w);
}

// Graphs of one context until the first refusal.
static unsigned graphs_until_refused(const QnnHtpGraph_CustomConfig_t *first, size_t n) {
    htp_world w = htp_begin(SM8650);
    Qnn_GraphHandle_t g = NULL;
    unsigned count = 1;
    HTP_OK(graph_with(&w, "first", first, n, &g));
    for (; count < 100; count++) {
        char name[16];
        snprintf(name, sizeof name, "g%u", count);
        Qnn_ErrorHandle_t code = w.qnn.graphCreate(w.context, name, NULL, &g);
        if (code != QNN_SUCCESS) {
            HTP_FAILS(code, QNN_GRAPH_ERROR_CREATE_FAILED);
            break;
        }
    }
    htp_end(&w);
    return count;
}

static void htp_dlbc_07_most_graphs_of_a_context(void **state) {
    (void)state;
    QnnHtpGraph_CustomConfig_t both[] = {OPTIMIZATION(ENABLE_DLBC, 1.0f),
                                         OPTIMIZATION(ENABLE_DLBC_WEIGHTS, 1.0f)};
    assert_int_equal(graphs_until_refused(both, 1), 32);
    assert_int_equal(graphs_until_refused(both + 1, 1), 32);
    assert_int_equal(graphs_until_refused(both, 2), 16);
    assert_int_equal(graphs_until_refused(NULL, 0), 64);
}

// Compression of weights shows in the number of graphs alone.
static void htp_dlbc_01_dlbc_02_on_from_one(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    static const struct {
        float value;
        bool on;
    } rows[] = {{0.0f, false}, {0.5f, false}, {0.999f, false}, {1.0f, true}, {2.0f, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        QnnHtpGraph_CustomConfig_t data = OPTIMIZATION(ENABLE_DLBC, rows[i].value),
                                   weights = OPTIMIZATION(ENABLE_DLBC_WEIGHTS, rows[i].value);
        assert_int_equal(reported_one(&w, data).htpDlbc, rows[i].on);
        assert_int_equal(reported_one(&w, weights).htpDlbc, 0);
        assert_int_equal(graphs_until_refused(&weights, 1), rows[i].on ? 32 : 64);
    }
    HTP_FAILS(graph_try(&w, OPTIMIZATION(ENABLE_DLBC, NAN)), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    HTP_FAILS(graph_try(&w, OPTIMIZATION(ENABLE_DLBC, -1.0f)), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    htp_end(&w);
}

// --- threads

static QnnHtpGraph_CustomConfig_t threads(uint64_t n) {
    return GRAPH_OPTION(NUM_HVX_THREADS, .numHvxThreads = n);
}

static void htp_grf_06_hvx_01_no_more_threads_than_units(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650); // 4 units
    for (uint64_t n = 1; n <= 4; n++)
        assert_int_equal(reported_one(&w, threads(n)).numHvxThreads, n);
    HTP_FAILS(graph_try(&w, threads(0)), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    HTP_FAILS(graph_try(&w, threads(5)), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    HTP_FAILS(graph_try(&w, threads(1ull << 32 | 1)), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    htp_end(&w);
}

static void htp_hvx_02_offline_default_is_written(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    assert_int_equal(reported(&w, NULL, 0).numHvxThreads, 4);
    assert_int_equal(reported(&w, NULL, 0).vtcmSize, 4);
    htp_end(&w);
}

static void htp_hvx_03_settled_by_the_first_execution(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    htp_relu r;
    htp_relu_graph(&w.qnn, w.context, "r", NULL, 2, &r);
    HTP_OK(graph_set(&w, r.graph, threads(2)));
    HTP_OK(w.qnn.graphFinalize(r.graph, NULL, NULL));
    assert_int_equal(describe_context(&w).graphs[0].v1.numHvxThreads, 2);
    HTP_OK(graph_set(&w, r.graph, threads(3)));
    assert_int_equal(describe_context(&w).graphs[0].v1.numHvxThreads, 3);
    htp_relu_run(&w.qnn, &r);
    HTP_OK(graph_set(&w, r.graph, threads(1)));
    assert_int_equal(describe_context(&w).graphs[0].v1.numHvxThreads, 3);
    htp_end(&w);
}

// --- a graph that is large enough to be cut into tasks: y = x * w, 64 rows, 8-bit

#define ROWS 64u
#define DEPTH 96u
#define WIDTH 160u

typedef struct dense {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, w, y;
    uint32_t xd[2], wd[2], yd[2];
    uint8_t weights[WIDTH * DEPTH];
} dense;

static void dense_graph(const htp_world *w, const char *name,
                        const QnnHtpGraph_CustomConfig_t *custom, size_t n, dense *d) {
    *d = (dense){.xd = {ROWS, DEPTH}, .wd = {WIDTH, DEPTH}, .yd = {ROWS, WIDTH}};
    for (uint32_t i = 0; i < WIDTH * DEPTH; i++)
        d->weights[i] = (uint8_t)(i * 31u >> 2);
    HTP_OK(graph_with(w, name, custom, n, &d->graph));
    d->x = htp_tensor("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_8, 2, d->xd);
    d->w = htp_tensor("w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UFIXED_POINT_8, 2, d->wd);
    d->y = htp_tensor("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_UFIXED_POINT_8, 2, d->yd);
    htp_encode(&d->x, 0.05f, -128);
    htp_encode(&d->w, 0.02f, -128);
    htp_encode(&d->y, 0.4f, -128);
    htp_buffer(&d->w, d->weights, sizeof d->weights);
    HTP_OK(w->qnn.tensorCreateGraphTensor(d->graph, &d->x));
    HTP_OK(w->qnn.tensorCreateGraphTensor(d->graph, &d->w));
    HTP_OK(w->qnn.tensorCreateGraphTensor(d->graph, &d->y));
    Qnn_Tensor_t in[] = {d->x, d->w};
    HTP_OK(w->qnn.graphAddNode(d->graph, htp_op("fc", "FullyConnected", in, 2, &d->y, 1)));
    HTP_OK(w->qnn.graphFinalize(d->graph, NULL, NULL));
}

static void dense_run(const htp_world *w, dense *d, uint8_t *y) {
    static uint8_t x[ROWS * DEPTH];
    for (uint32_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)(i * 17u + (i >> 5));
    htp_buffer(&d->x, x, sizeof x);
    htp_buffer(&d->y, y, ROWS * WIDTH);
    HTP_OK(w->qnn.graphExecute(d->graph, &d->x, 1, &d->y, 1, NULL, NULL));
}

// Value of one output by the definition, in doubles; not near a tie for these numbers.
static void check_dense(const dense *d, const uint8_t *y) {
    for (uint32_t row = 0; row < ROWS; row += 7) {
        for (uint32_t col = 0; col < WIDTH; col += 5) {
            double sum = 0;
            for (uint32_t k = 0; k < DEPTH; k++) {
                uint32_t i = row * DEPTH + k;
                sum += (double)((int)(uint8_t)(i * 17u + (i >> 5)) - 128) *
                       (double)((int)d->weights[col * DEPTH + k] - 128);
            }
            double code = sum * (double)0.05f * (double)0.02f / (double)0.4f + 128;
            code = fmin(fmax(code, 0), 255);
            assert_true(fabs((double)y[row * WIDTH + col] - code) <= 0.501);
        }
    }
}

static void htp_hvx_04_results_do_not_depend_on_threads(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    static uint8_t y[5][ROWS * WIDTH];
    dense d;
    for (uint32_t n = 0; n <= 4; n++) {
        char name[8];
        snprintf(name, sizeof name, "n%u", n);
        QnnHtpGraph_CustomConfig_t x = threads(n);
        dense_graph(&w, name, &x, n ? 1 : 0, &d);
        assert_int_equal(describe_context(&w).graphs[n].v1.numHvxThreads, n ? n : 4);
        dense_run(&w, &d, y[n]);
        assert_memory_equal(y[n], y[0], sizeof y[0]);
    }
    check_dense(&d, y[0]);
    htp_end(&w);
}

static void htp_opt_05_dlbc_03_options_change_no_number(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    static uint8_t y[2][ROWS * WIDTH];
    const QnnHtpGraph_CustomConfig_t sets[] = {
        OPTIMIZATION(FINALIZE_OPTIMIZATION_FLAG, 1.0f),
        OPTIMIZATION(FINALIZE_OPTIMIZATION_FLAG, 2.0f),
        OPTIMIZATION(FINALIZE_OPTIMIZATION_FLAG, 3.0f),
        OPTIMIZATION(ENABLE_DLBC, 1.0f),
        OPTIMIZATION(ENABLE_DLBC_WEIGHTS, 1.0f),
        megabytes(1),
        GRAPH_OPTION(SHORT_DEPTH_CONV_ON_HMX_OFF, .shortDepthConvOnHmxOff = true),
    };
    dense d;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char name[8];
        snprintf(name, sizeof name, "s%zu", i);
        dense_graph(&w, name, &sets[i], 1, &d);
        dense_run(&w, &d, y[i > 0]);
        if (i)
            assert_memory_equal(y[0], y[1], sizeof y[0]);
    }
    check_dense(&d, y[0]);
    htp_end(&w);
}

static void htp_grf_22_short_depth_convolutions_are_exact(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    static uint8_t y[ROWS * WIDTH];
    QnnHtpGraph_CustomConfig_t off =
        GRAPH_OPTION(SHORT_DEPTH_CONV_ON_HMX_OFF, .shortDepthConvOnHmxOff = false);
    dense d;
    dense_graph(&w, "default", &off, 1, &d); // asymmetric weights: the inexact case there
    dense_run(&w, &d, y);
    check_dense(&d, y);
    htp_end(&w);
}

// --- later changes

static void htp_grf_20_few_options_change_after_finalize(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8750);
    htp_relu r;
    htp_relu_graph(&w.qnn, w.context, "r", NULL, 2, &r);
    HTP_OK(graph_set(&w, r.graph, megabytes(2))); // not finalized yet
    HTP_OK(w.qnn.graphFinalize(r.graph, NULL, NULL));
    Qnn_Scalar_t one = {QNN_DATATYPE_INT_32, {.int32Value = 1}};
    const QnnHtpGraph_CustomConfig_t late[] = {
        megabytes(4),
        OPTIMIZATION(FINALIZE_OPTIMIZATION_FLAG, 3.0f),
        OPTIMIZATION(ENABLE_DLBC, 0.0f),
        OPTIMIZATION(ENABLE_SLC_ALLOCATOR, 1.0f), // it was off at prepare
        GRAPH_OPTION(PRECISION, .precision = QNN_PRECISION_FLOAT16),
        GRAPH_OPTION(NUM_CORES, .numCores = 1),
        GRAPH_OPTION(WEIGHTS_PACKING, .weightsPacking = true),
        GRAPH_OPTION(FINALIZE_CONFIG, .finalizeConfig = {"P", one}),
        parallel(0, 0, 0, 0),
    };
    for (size_t i = 0; i < sizeof late / sizeof *late; i++)
        HTP_FAILS(graph_set(&w, r.graph, late[i]), QNN_GRAPH_ERROR_GRAPH_FINALIZED);
    assert_int_equal(describe_context(&w).graphs[0].v1.vtcmSize, 2);
    HTP_OK(graph_set(&w, r.graph, threads(2)));
    HTP_OK(graph_set(&w, r.graph, OPTIMIZATION(ENABLE_SLC_ALLOCATOR, 0.0f)));
    QnnGraph_Config_t high = {.option = QNN_GRAPH_CONFIG_OPTION_PRIORITY,
                              .priority = QNN_PRIORITY_HIGH};
    const QnnGraph_Config_t *list[] = {&high, NULL};
    HTP_OK(w.qnn.graphSetConfig(r.graph, list));
    htp_end(&w);
}

static void htp_slc_01_only_some_chips(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8750);
    HTP_OK(graph_try(&w, OPTIMIZATION(ENABLE_SLC_ALLOCATOR, 1.0f)));
    HTP_OK(graph_try(&w, OPTIMIZATION(ENABLE_SLC_ALLOCATOR, 0.0f)));
    HTP_FAILS(graph_try(&w, OPTIMIZATION(ENABLE_SLC_ALLOCATOR, 0.5f)),
              QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    htp_end(&w);
    warnings seen = {0};
    w = htp_warned(SM8650, &seen);
    HTP_OK(graph_try(&w, OPTIMIZATION(ENABLE_SLC_ALLOCATOR, 1.0f))); // ignored with a warning
    assert_int_equal(seen.n, 1);
    htp_warned_end(&w);
}

static void htp_slc_02_held_off_and_let_on_again(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8750);
    htp_relu r;
    htp_relu_graph(&w.qnn, w.context, "r", NULL, 2, &r);
    HTP_OK(graph_set(&w, r.graph, OPTIMIZATION(ENABLE_SLC_ALLOCATOR, 1.0f)));
    HTP_OK(w.qnn.graphFinalize(r.graph, NULL, NULL));
    HTP_OK(graph_set(&w, r.graph, OPTIMIZATION(ENABLE_SLC_ALLOCATOR, 0.0f)));
    HTP_OK(graph_set(&w, r.graph, OPTIMIZATION(ENABLE_SLC_ALLOCATOR, 1.0f)));
    htp_end(&w);
    w = htp_begin(SM8750); // off at prepare: it stays off
    htp_relu_graph(&w.qnn, w.context, "r", NULL, 2, &r);
    HTP_OK(w.qnn.graphFinalize(r.graph, NULL, NULL));
    HTP_FAILS(graph_set(&w, r.graph, OPTIMIZATION(ENABLE_SLC_ALLOCATOR, 1.0f)),
              QNN_GRAPH_ERROR_GRAPH_FINALIZED);
    htp_end(&w);
}

static void htp_grf_23_unknown_options_get_one_warning(void **state) {
    (void)state;
    warnings seen = {0};
    htp_world w = htp_warned(SM8650, &seen);
    HTP_OK(graph_try(&w, (QnnHtpGraph_CustomConfig_t){(QnnHtpGraph_ConfigOption_t)999, {{0}}}));
    HTP_OK(graph_try(&w, (QnnHtpGraph_CustomConfig_t){QNN_HTP_GRAPH_CONFIG_OPTION_UNKNOWN, {{0}}}));
    assert_int_equal(seen.n, 2);
    HTP_OK(graph_try(&w, OPTIMIZATION(UNKNOWN, 1.0f)));
    HTP_OK(graph_try(&w, (QnnHtpGraph_CustomConfig_t){(QnnHtpGraph_ConfigOption_t)999, {{0}}}));
    assert_int_equal(seen.n, 4);
    assert_non_null(strstr(seen.last, "option 999 "));
    htp_warned_end(&w);
}

static void htp_wpk_02_sparse_weights_are_refused(void **state) {
    (void)state;
    static const uint32_t socs[] = {SM8650, SA8255};
    for (size_t i = 0; i < 2; i++) {
        htp_world w = htp_begin(socs[i]);
        HTP_FAILS(graph_try(&w, OPTIMIZATION(ENABLE_SPARSE_WEIGHTS_COMPRESSION, 1.0f)),
                  QNN_COMMON_ERROR_NOT_SUPPORTED);
        HTP_OK(graph_try(&w, OPTIMIZATION(ENABLE_SPARSE_WEIGHTS_COMPRESSION, 0.0f)));
        htp_end(&w);
    }
}

static void htp_wpk_03_ubwc_images_are_refused(void **state) {
    (void)state;
    htp_world w = htp_begin(SA8255);
    uint32_t dims[] = {1, 64, 64, 3};
    Qnn_GraphHandle_t g = NULL;
    HTP_OK(w.qnn.graphCreate(w.context, "g", NULL, &g));
    static const uint32_t formats[] = {
        QNN_TENSOR_DATA_FORMAT_UBWC_RGBA8888, QNN_TENSOR_DATA_FORMAT_UBWC_NV12,
        QNN_TENSOR_DATA_FORMAT_UBWC_NV12_Y, QNN_TENSOR_DATA_FORMAT_UBWC_NV124R};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        Qnn_Tensor_t t =
            htp_tensor("image", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_UFIXED_POINT_8, 4, dims);
        t.v1.dataFormat = formats[i];
        assert_int_not_equal(w.qnn.tensorCreateGraphTensor(g, &t), QNN_SUCCESS);
    }
    htp_end(&w);
}

// A list with one bad entry leaves everything as it was.
static void lists_are_taken_as_a_whole(void **state) {
    (void)state;
    htp_world w = htp_begin(SM8650);
    htp_relu r;
    htp_relu_graph(&w.qnn, w.context, "r", NULL, 2, &r);
    QnnHtpGraph_CustomConfig_t list[] = {megabytes(2), threads(9)};
    graph_list l;
    HTP_FAILS(w.qnn.graphSetConfig(r.graph, graph_options(&l, list, 2)),
              QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    HTP_OK(w.qnn.graphFinalize(r.graph, NULL, NULL));
    assert_int_equal(describe_context(&w).graphs[0].v1.vtcmSize, 4); // the default
    htp_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(htp_grf_01_opt_01_levels),
        cmocka_unit_test(htp_grf_02_precision_is_accepted),
        cmocka_unit_test(htp_grf_04_grf_05_grf_12_grf_13_grf_14_grf_15_grf_16_grf_17_flags),
        cmocka_unit_test(htp_grf_18_precision_compensation_needs_v81),
        cmocka_unit_test(htp_grf_07_opt_04_tuning_points),
        cmocka_unit_test(htp_grf_08_cores_of_the_chip),
        cmocka_unit_test(htp_grf_09_pge_01_parallel_graphs),
        cmocka_unit_test(htp_mlc_01_cores_of_chips),
        cmocka_unit_test(htp_mlc_02_pge_02_several_cores_exclude),
        cmocka_unit_test(htp_grf_11_hmx_bounding_needs_v81),
        cmocka_unit_test(htp_grf_03_vtcm_01_default_is_4_mb_or_all_there_is),
        cmocka_unit_test(htp_vtcm_02_vtcm_03_more_than_there_is),
        cmocka_unit_test(htp_grf_10_vtcm_05_bytes_in_pages_of_64_kb),
        cmocka_unit_test(htp_vtcm_06_the_last_request_wins),
        cmocka_unit_test(htp_dlbc_01_dlbc_02_on_from_one),
        cmocka_unit_test(htp_dlbc_08_device_without_compression),
        cmocka_unit_test(htp_dlbc_05_not_with_shared_weights),
        cmocka_unit_test(htp_dlbc_07_most_graphs_of_a_context),
        cmocka_unit_test(htp_grf_06_hvx_01_no_more_threads_than_units),
        cmocka_unit_test(htp_hvx_02_offline_default_is_written),
        cmocka_unit_test(htp_hvx_03_settled_by_the_first_execution),
        cmocka_unit_test(htp_hvx_04_results_do_not_depend_on_threads),
        cmocka_unit_test(htp_opt_05_dlbc_03_options_change_no_number),
        cmocka_unit_test(htp_grf_22_short_depth_convolutions_are_exact),
        cmocka_unit_test(htp_grf_20_few_options_change_after_finalize),
        cmocka_unit_test(htp_slc_01_only_some_chips),
        cmocka_unit_test(htp_slc_02_held_off_and_let_on_again),
        cmocka_unit_test(htp_grf_23_unknown_options_get_one_warning),
        cmocka_unit_test(htp_wpk_02_sparse_weights_are_refused),
        cmocka_unit_test(htp_wpk_03_ubwc_images_are_refused),
        cmocka_unit_test(lists_are_taken_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
