// SPDX-License-Identifier: MIT
//
// Options of backends, contexts, graphs and devices of the GPU backend; what it says it can do, and
// what it logs. Names of tests begin with the requirement they are about.
#include "gpu_client.h"

#include "GPU/QnnGpuDevice.h"
#include "QnnProperty.h"

static Qnn_ErrorHandle_t create_with(const gpu_table *qnn, QnnGpuBackend_CustomConfig_t *custom,
                                     Qnn_BackendHandle_t *backend) {
    QnnBackend_Config_t c = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = custom};
    const QnnBackend_Config_t *list[] = {&c, NULL};
    return qnn->backendCreate(NULL, list, backend);
}

static void bke_01_null_and_empty_lists_are_accepted(void **state) {
    (void)state;
    gpu_table qnn = gpu_open();
    const QnnBackend_Config_t *empty[] = {NULL};
    Qnn_BackendHandle_t b;
    GPU_OK(qnn.backendCreate(NULL, NULL, &b));
    GPU_OK(qnn.backendFree(b));
    GPU_OK(qnn.backendCreate(NULL, empty, &b));
    GPU_OK(qnn.backendFree(b));
}

static void bke_05_unknown_options_and_missing_texts_are_rejected(void **state) {
    (void)state;
    gpu_table qnn = gpu_open();
    Qnn_BackendHandle_t b = NULL;
    QnnGpuBackend_CustomConfig_t unset = QNN_GPU_BACKEND_CUSTOM_CONFIG_INIT;
    GPU_FAILS(create_with(&qnn, &unset, &b), 4012);
    QnnGpuBackend_CustomConfig_t unknown = {.option = (QnnGpuBackend_ConfigOption_t)5};
    GPU_FAILS(create_with(&qnn, &unknown, &b), 4012);
    QnnGpuBackend_CustomConfig_t no_text = {
        .option = QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR};
    GPU_FAILS(create_with(&qnn, &no_text, &b), 4012);
    assert_null(b);
    for (unsigned o = 0; o < 5; o++) {
        QnnGpuBackend_CustomConfig_t good = {.option = (QnnGpuBackend_ConfigOption_t)o};
        if (o == QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR)
            good.performanceCacheDir = "/tmp";
        else
            good.enableTuningMode = 0;
        GPU_OK(create_with(&qnn, &good, &b));
        GPU_OK(qnn.backendFree(b));
    }
}

static void bke_05_two_backends_cannot_name_two_cache_folders(void **state) {
    (void)state;
    gpu_table qnn = gpu_open();
    Qnn_BackendHandle_t a, b, c;
    QnnGpuBackend_CustomConfig_t one = {.option =
                                            QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR,
                                        .performanceCacheDir = "/tmp/one"};
    QnnGpuBackend_CustomConfig_t two = one;
    two.performanceCacheDir = "/tmp/two";
    GPU_OK(create_with(&qnn, &one, &a));
    GPU_FAILS(create_with(&qnn, &two, &b), 4010);
    GPU_OK(create_with(&qnn, &one, &c));
    GPU_OK(qnn.backendFree(a));
    GPU_FAILS(create_with(&qnn, &two, &b), 4010);
    GPU_OK(qnn.backendFree(c));
    GPU_OK(create_with(&qnn, &two, &b));
    GPU_OK(qnn.backendFree(b));
}

static void bke_05_backend_options_do_not_change_later(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    QnnGpuBackend_CustomConfig_t custom = {.option =
                                               QNN_GPU_BACKEND_CONFIG_OPTION_ENABLE_TUNING_MODE};
    QnnBackend_Config_t c = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &custom};
    const QnnBackend_Config_t *list[] = {&c, NULL};
    GPU_FAILS(w.qnn.backendSetConfig(w.backend, list), 1000);
    gpu_end(&w);
}

static Qnn_ErrorHandle_t context_with(const gpu_world *w, QnnGpuContext_CustomConfig_t *custom,
                                      Qnn_ContextHandle_t *out) {
    QnnContext_Config_t c = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = custom};
    const QnnContext_Config_t *list[] = {&c, NULL};
    return w->qnn.contextCreate(w->backend, NULL, list, out);
}

static void ctx_01_performance_hints_are_kept_within_their_range(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    for (unsigned hint = 0; hint < 5; hint++) {
        QnnGpuContext_CustomConfig_t custom = {.option = QNN_GPU_CONTEXT_CONFIG_OPTION_PERF_HINT,
                                               .perfHint = (QnnGpuContext_PerfHint_t)hint};
        Qnn_ContextHandle_t c;
        if (hint > 2) {
            GPU_FAILS(context_with(&w, &custom, &c), 5010);
            continue;
        }
        GPU_OK(context_with(&w, &custom, &c));
        QnnContext_Config_t again = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                     .customConfig = &custom};
        const QnnContext_Config_t *list[] = {&again, NULL};
        GPU_OK(w.qnn.contextSetConfig(c, list));
        GPU_OK(w.qnn.contextFree(c, NULL));
    }
    gpu_end(&w);
}

static void ctx_02_gl_buffers_are_refused_in_words(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    QnnGpuContext_CustomConfig_t custom = {.option = QNN_GPU_CONTEXT_CONFIG_OPTION_USE_GL_BUFFERS,
                                           .useGLBuffers = 1};
    Qnn_ContextHandle_t c;
    GPU_FAILS(context_with(&w, &custom, &c), 1000);
    GPU_LOGGED("USE_GL_BUFFERS");
    QnnGpuContext_CustomConfig_t unknown = QNN_GPU_CONTEXT_CUSTOM_CONFIG_INIT;
    GPU_FAILS(context_with(&w, &unknown, &c), 5010);
    gpu_end(&w);
}

static Qnn_ErrorHandle_t graph_with(const gpu_world *w, const char *name, void *custom,
                                    Qnn_GraphHandle_t *g) {
    QnnGraph_Config_t c = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = custom};
    const QnnGraph_Config_t *list[] = {&c, NULL};
    return w->qnn.graphCreate(w->context, name, list, g);
}

static void grf_01_both_versions_of_graph_options_are_read(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    Qnn_GraphHandle_t g;
    QnnGpuGraph_CustomConfig_t v1 = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
    v1.precision = QNN_GPU_PRECISION_HYBRID;
    v1.disableNodeOptimizations = 1;
    GPU_OK(graph_with(&w, "a", &v1, &g));
    GPU_LOGGED("graph 'a': precision HYBRID, memory optimizations on, node optimizations off");
    QnnGpuGraph_CustomConfigV2_t v2 = {.handshake = QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG,
                                       .option = QNN_GPU_GRAPH_CONFIG_OPTION_PRECISION,
                                       .precision = QNN_GPU_PRECISION_FP32};
    GPU_OK(graph_with(&w, "b", &v2, &g));
    GPU_LOGGED("graph 'b': precision FP32, memory optimizations on, node optimizations on");
    // Both: the later entry wins for what it names.
    QnnGraph_Config_t c1 = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v1};
    QnnGraph_Config_t c2 = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v2};
    const QnnGraph_Config_t *list[] = {&c1, &c2, NULL};
    GPU_OK(w.qnn.graphCreate(w.context, "c", list, &g));
    GPU_LOGGED("graph 'c': precision FP32, memory optimizations on, node optimizations off");
    GPU_OK(w.qnn.graphCreate(w.context, "d", NULL, &g));
    GPU_LOGGED("graph 'd': precision USER_PROVIDED, memory optimizations on, node");
    gpu_end(&w);
}

static void prc_04_precisions_out_of_range_are_rejected(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    Qnn_GraphHandle_t g;
    QnnGpuGraph_CustomConfig_t v1 = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
    v1.precision = (QnnGpu_Precision_t)4;
    GPU_FAILS(graph_with(&w, "a", &v1, &g), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    v1.precision = (QnnGpu_Precision_t)-1;
    GPU_FAILS(graph_with(&w, "a", &v1, &g), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    QnnGpuGraph_CustomConfigV2_t v2 = {.handshake = QNN_GPU_GRAPH_V2_HANDSHAKE_FLAG,
                                       .precision = QNN_GPU_PRECISION_UNDEFINED};
    GPU_FAILS(graph_with(&w, "a", &v2, &g), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    v2.option = QNN_GPU_GRAPH_CONFIG_OPTION_UNDEFINED;
    GPU_FAILS(graph_with(&w, "a", &v2, &g), QNN_GRAPH_ERROR_INVALID_ARGUMENT);
    gpu_end(&w);
}

static void prc_06_fp16_says_once_that_it_computes_in_fp32(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    Qnn_GraphHandle_t g;
    QnnGpuGraph_CustomConfig_t v1 = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
    v1.precision = QNN_GPU_PRECISION_FP16;
    GPU_OK(graph_with(&w, "a", &v1, &g));
    GPU_LOGGED("FP16 runs as HYBRID");
    gpu_lines[0] = 0;
    GPU_OK(graph_with(&w, "b", &v1, &g));
    GPU_NOT_LOGGED("FP16 runs as HYBRID");
    gpu_end(&w);
}

static void grf_05_options_change_until_the_graph_is_finalized(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph g;
    gpu_graph_build(&w, &g, "g", NULL);
    QnnGpuGraph_CustomConfig_t v1 = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
    QnnGraph_Config_t c = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v1};
    const QnnGraph_Config_t *list[] = {&c, NULL};
    GPU_OK(w.qnn.graphSetConfig(g.graph, list));
    GPU_OK(w.qnn.graphFinalize(g.graph, NULL, NULL));
    GPU_FAILS(w.qnn.graphSetConfig(g.graph, list), QNN_GRAPH_ERROR_GRAPH_FINALIZED);
    assert_int_equal(QNN_GRAPH_ERROR_GRAPH_FINALIZED, 6024);
    gpu_graph_check(&w, &g, 0.5f);
    gpu_end(&w);
}

// Flags and precisions change how, not what.
static void grf_02_03_04_flags_leave_results_as_they_are(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    for (unsigned bits = 0; bits < 32; bits++) {
        char name[16];
        gpu_graph g;
        snprintf(name, sizeof name, "g%u", bits);
        QnnGpuGraph_CustomConfig_t v1 = {(QnnGpu_Precision_t)(bits >> 3), bits & 1, bits >> 1 & 1,
                                         bits >> 2 & 1};
        QnnGraph_Config_t c = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v1};
        const QnnGraph_Config_t *list[] = {&c, NULL};
        gpu_graph_make(&w, &g, name, list);
        gpu_graph_check(&w, &g, 0.25f);
        gpu_graph_check(&w, &g, -1.5f);
    }
    gpu_end(&w);
}

static void api_04_capabilities_are_the_published_ones_raised(void **state) {
    (void)state;
    gpu_table qnn = gpu_open();
    static const struct {
        uint32_t key;
        bool supported;
    } rows[] = {
        {QNN_PROPERTY_GRAPH_SUPPORT_NULL_INPUTS, true},
        {QNN_PROPERTY_GRAPH_SUPPORT_CONFIG, true},
        {QNN_PROPERTY_CONTEXT_SUPPORT_CONFIGURATION, true},
        {QNN_PROPERTY_TENSOR_SUPPORT_CONTEXT_TENSORS, true},
        {QNN_PROPERTY_GROUP_DEVICE, true},
        {QNN_PROPERTY_PROFILE_SUPPORTS_EXTENDED_EVENT, true},
        {QNN_PROPERTY_ERROR_GET_VERBOSE_MESSAGE, true},
        {QNN_PROPERTY_DEVICE_SUPPORT_INFRASTRUCTURE, false},
        {QNN_PROPERTY_GRAPH_SUPPORT_ASYNC_EXECUTION, false},
        {QNN_PROPERTY_GRAPH_SUPPORT_SUBGRAPH, false},
        {QNN_PROPERTY_TENSOR_SUPPORT_DYNAMIC_DIMENSIONS, false},
        {QNN_PROPERTY_TENSOR_SUPPORT_SPARSITY, false},
        {QNN_PROPERTY_OP_PACKAGE_SUPPORTS_DUPLICATE_NAMES, false},
        {QNN_PROPERTY_GROUP_SIGNAL, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(qnn.propertyHasCapability(rows[i].key),
                         rows[i].supported ? QNN_PROPERTY_SUPPORTED : QNN_PROPERTY_NOT_SUPPORTED);
}

static void api_04_what_is_left_out_returns_1000(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph g;
    gpu_graph_build(&w, &g, "g", NULL);
    Qnn_GraphHandle_t sub;
    GPU_FAILS(w.qnn.graphCreateSubgraph(g.graph, "s", &sub), 1000);
    GPU_OK(w.qnn.graphFinalize(g.graph, NULL, NULL));
    float x[GPU_N] = {0}, y[GPU_N];
    set_buffer(&g.x, x, sizeof x);
    set_buffer(&g.y, y, sizeof y);
    GPU_FAILS(w.qnn.graphExecuteAsync(g.graph, &g.x, 1, &g.y, 1, NULL, NULL, NULL, NULL), 1000);
    QnnDevice_Infrastructure_t infra = NULL;
    GPU_FAILS(w.qnn.deviceGetInfrastructure((const QnnDevice_Infrastructure_t *)&infra), 1000);
    gpu_end(&w);
}

static void dev_01_02_devices_describe_the_opencl_devices(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    const QnnDevice_PlatformInfo_t *info = NULL;
    GPU_OK(w.qnn.deviceGetPlatformInfo(NULL, &info));
    assert_true(info->v1.numHwDevices >= 1);
    unsigned primary = 0;
    for (uint32_t i = 0; i < info->v1.numHwDevices; i++) {
        const QnnDevice_HardwareDeviceInfoV1_t *hw = &info->v1.hwDevices[i].v1;
        const QnnGpuDevice_DeviceInfoExtension_t *e =
            (const QnnGpuDevice_DeviceInfoExtension_t *)hw->deviceInfoExtension;
        primary += hw->deviceType == QNN_GPU_DEVICE_PRIMARY_GPU;
        assert_int_equal(hw->numCores, 1);
        assert_int_equal(e->option, QNN_GPU_DEVICE_INFO_EXTENSION_V1);
        assert_true(strlen(e->deviceInfoV1.adrenoTier) > 0);
    }
    assert_int_equal(primary, 1);
    // A device that is named by its description, with a context on it.
    QnnDevice_PlatformInfo_t one = *info;
    one.v1.numHwDevices = 1;
    QnnDevice_Config_t c = {.option = QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO, .hardwareInfo = &one};
    const QnnDevice_Config_t *list[] = {&c, NULL}, *empty[] = {NULL};
    Qnn_DeviceHandle_t d;
    Qnn_ContextHandle_t context;
    GPU_OK(w.qnn.deviceCreate(NULL, list, &d));
    GPU_OK(w.qnn.contextCreate(w.backend, d, NULL, &context));
    GPU_FAILS(w.qnn.deviceFree(d), 14003);
    GPU_OK(w.qnn.contextFree(context, NULL));
    GPU_OK(w.qnn.deviceFree(d));
    GPU_OK(w.qnn.deviceCreate(NULL, empty, &d));
    GPU_OK(w.qnn.deviceFree(d));
    QnnDevice_HardwareDeviceInfo_t wrong = info->v1.hwDevices[0];
    wrong.v1.deviceId = 1000;
    one.v1.hwDevices = &wrong;
    assert_int_not_equal(w.qnn.deviceCreate(NULL, list, &d), QNN_SUCCESS);
    GPU_OK(w.qnn.deviceFreePlatformInfo(NULL, info));
    gpu_end(&w);
}

static void api_09_the_log_says_what_people_ask_for(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    GPU_LOGGED("OpenCL library");
    GPU_LOGGED("GPU API 3.15");
    GPU_LOGGED("driver ");
    gpu_graph g;
    gpu_graph_make(&w, &g, "g", NULL);
    GPU_LOGGED("nodes add relu"); // one launch for both
    GPU_LOGGED("graph 'g' finalize: 1 launches");
    gpu_graph_check(&w, &g, 1.0f);
    GPU_LOGGED("graph 'g' execute: total host time");
    gpu_end(&w);
}

static void api_08_the_log_level_does_not_change_results(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    gpu_graph g;
    float first[GPU_N], out[GPU_N];
    gpu_graph_make(&w, &g, "g", NULL);
    for (int level = QNN_LOG_LEVEL_ERROR; level <= QNN_LOG_LEVEL_DEBUG; level++) {
        GPU_OK(w.qnn.logSetLogLevel(w.log, (QnnLog_Level_t)level));
        GPU_OK(gpu_graph_try(&w, &g, 0.3f, level == QNN_LOG_LEVEL_ERROR ? first : out, NULL));
        if (level != QNN_LOG_LEVEL_ERROR)
            assert_memory_equal(first, out, sizeof out);
    }
    gpu_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bke_01_null_and_empty_lists_are_accepted),
        cmocka_unit_test(bke_05_unknown_options_and_missing_texts_are_rejected),
        cmocka_unit_test(bke_05_two_backends_cannot_name_two_cache_folders),
        cmocka_unit_test(bke_05_backend_options_do_not_change_later),
        cmocka_unit_test(ctx_01_performance_hints_are_kept_within_their_range),
        cmocka_unit_test(ctx_02_gl_buffers_are_refused_in_words),
        cmocka_unit_test(grf_01_both_versions_of_graph_options_are_read),
        cmocka_unit_test(prc_04_precisions_out_of_range_are_rejected),
        cmocka_unit_test(prc_06_fp16_says_once_that_it_computes_in_fp32),
        cmocka_unit_test(grf_05_options_change_until_the_graph_is_finalized),
        cmocka_unit_test(grf_02_03_04_flags_leave_results_as_they_are),
        cmocka_unit_test(api_04_capabilities_are_the_published_ones_raised),
        cmocka_unit_test(api_04_what_is_left_out_returns_1000),
        cmocka_unit_test(dev_01_02_devices_describe_the_opencl_devices),
        cmocka_unit_test(api_09_the_log_says_what_people_ask_for),
        cmocka_unit_test(api_08_the_log_level_does_not_change_results),
    };
    return gpu_tests(tests);
}
