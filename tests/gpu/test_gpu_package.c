// SPDX-License-Identifier: MIT
//
// Op packages of the GPU backend (GPU-OPP): the example package runs between built-in ops, in every
// precision; packages that ask for something else are rejected in words.
#include "gpu_client.h"

#include <math.h>
#include <unistd.h>

static Qnn_ErrorHandle_t try_package(const gpu_world *w, const char *file, const char *provider,
                                     const char *target) {
    return w->qnn.backendRegisterOpPackage(w->backend, lib_path(file), provider, target);
}

#define EXAMPLE "libExampleGpuOpPackage.so"
#define PROVIDER "ExampleGpuOpPackage_provider"

static void opp_01_packages_are_registered_once_for_the_gpu(void **state) {
    (void)state;
    static const char *const good[] = {NULL, "", "GPU"};
    for (int i = 0; i < 3; i++)
        for (int old = 0; old < 2; old++) {
            gpu_world w = gpu_begin();
            GPU_OK(try_package(&w, EXAMPLE, old ? PROVIDER "_1_4" : PROVIDER, good[i]));
            GPU_FAILS(try_package(&w, EXAMPLE, PROVIDER, good[i]), 4009);
            gpu_end(&w);
        }
    gpu_world w = gpu_begin();
    GPU_FAILS(try_package(&w, EXAMPLE, PROVIDER, "CPU"), 4004);
    GPU_FAILS(try_package(&w, "libNoSuchPackage.so", PROVIDER, NULL), 4005);
    GPU_FAILS(try_package(&w, EXAMPLE, "no_such_function", NULL), 4006);
    GPU_FAILS(try_package(&w, "../tests/libOddGpuPackage.so", "odd_old_provider", NULL), 4008);
    gpu_end(&w);
}

// relu -> ScaledSwish -> BiasedSquare -> neg
static void run_example(const gpu_world *w, QnnGpu_Precision_t precision, double tolerance) {
    Qnn_GraphHandle_t g;
    uint32_t dims[] = {2, 3, 5}, one[] = {1};
    float bias = 0.75f, x[30], y[30];
    QnnGpuGraph_CustomConfig_t v1 = {.precision = precision};
    QnnGraph_Config_t c = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v1};
    const QnnGraph_Config_t *list[] = {&c, NULL};
    char name[16];
    snprintf(name, sizeof name, "g%d", (int)precision);
    GPU_OK(w->qnn.graphCreate(w->context, name, list, &g));
    Qnn_Tensor_t tx = tensor(&w->qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 3, dims);
    Qnn_Tensor_t a = tensor(&w->qnn, g, "a", QNN_TENSOR_TYPE_NATIVE, 3, dims);
    Qnn_Tensor_t b = tensor(&w->qnn, g, "b", QNN_TENSOR_TYPE_NATIVE, 3, dims);
    Qnn_Tensor_t d = tensor(&w->qnn, g, "d", QNN_TENSOR_TYPE_NATIVE, 3, dims);
    Qnn_Tensor_t ty = tensor(&w->qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 3, dims);
    Qnn_Tensor_t tb = describe("bias", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 1, one);
    set_buffer(&tb, &bias, sizeof bias);
    GPU_OK(w->qnn.tensorCreateGraphTensor(g, &tb));
    node(&w->qnn, g, "relu", "Relu", &tx, &a);
    Qnn_OpConfig_t swish = op_config("swish", "example.gpu", "ScaledSwish", &a, 1, &b, 1);
    Qnn_Param_t params[] = {
        {.paramType = QNN_PARAMTYPE_SCALAR,
         .name = "scale",
         .scalarParam = {.dataType = QNN_DATATYPE_FLOAT_32, .floatValue = 2}},
        {.paramType = QNN_PARAMTYPE_SCALAR,
         .name = "beta",
         .scalarParam = {.dataType = QNN_DATATYPE_FLOAT_32, .floatValue = 0.5f}}};
    swish.v1.numOfParams = 2;
    swish.v1.params = params;
    GPU_OK(w->qnn.backendValidateOpConfig(w->backend, swish));
    GPU_OK(w->qnn.graphAddNode(g, swish));
    Qnn_OpConfig_t square = op_config("square", "example.gpu", "BiasedSquare", &b, 1, &d, 1);
    Qnn_Param_t bias_param = {.paramType = QNN_PARAMTYPE_TENSOR, .name = "bias", .tensorParam = tb};
    GPU_FAILS(w->qnn.backendValidateOpConfig(w->backend, square), 3110); // without its bias
    square.v1.numOfParams = 1;
    square.v1.params = &bias_param;
    GPU_OK(w->qnn.graphAddNode(g, square));
    node(&w->qnn, g, "neg", "ElementWiseNeg", &d, &ty);
    GPU_OK(w->qnn.graphFinalize(g, NULL, NULL));
    for (int i = 0; i < 30; i++)
        x[i] = (float)(i - 12) * 0.3f;
    set_buffer(&tx, x, sizeof x);
    set_buffer(&ty, y, sizeof y);
    for (int again = 0; again < 2; again++) {
        GPU_OK(w->qnn.graphExecute(g, &tx, 1, &ty, 1, NULL, NULL));
        for (int i = 0; i < 30; i++) {
            double r = x[i] > 0 ? (double)x[i] : 0, s = 2 * r / (1 + exp(-0.5 * r));
            assert_float_equal(y[i], -(s * s + 0.75), tolerance);
        }
    }
}

static void opp_03_the_example_runs_between_built_in_ops(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    GPU_OK(try_package(&w, EXAMPLE, PROVIDER, NULL));
    run_example(&w, QNN_GPU_PRECISION_FP32, 1e-4);
    run_example(&w, QNN_GPU_PRECISION_FP16, 0.1);
    run_example(&w, QNN_GPU_PRECISION_HYBRID, 0.1);
    run_example(&w, QNN_GPU_PRECISION_USER_PROVIDED, 1e-4);
    Qnn_ContextBinarySize_t size;
    GPU_FAILS(w.qnn.contextGetBinarySize(w.context, &size), 1000); // ops of packages: not stored
    gpu_end(&w);
}

static void tun_04_kernels_of_packages_are_tuned_within_their_ranges(void **state) {
    (void)state;
    char folder[] = "/tmp/quern-tune-XXXXXX", path[64], line[512];
    assert_non_null(mkdtemp(folder));
    QnnGpuBackend_CustomConfig_t custom[] = {
        {.option = QNN_GPU_BACKEND_CONFIG_OPTION_ENABLE_TUNING_MODE, .enableTuningMode = 1},
        {.option = QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR,
         .performanceCacheDir = folder}};
    QnnBackend_Config_t c[] = {
        {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &custom[0]},
        {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &custom[1]}};
    const QnnBackend_Config_t *list[] = {&c[0], &c[1], NULL};
    gpu_world w = {.qnn = gpu_open()};
    GPU_OK(w.qnn.logCreate(gpu_log_line, QNN_LOG_LEVEL_DEBUG, &w.log));
    GPU_OK(w.qnn.backendCreate(w.log, list, &w.backend));
    GPU_OK(w.qnn.contextCreate(w.backend, NULL, NULL, &w.context));
    GPU_OK(try_package(&w, EXAMPLE, PROVIDER, NULL));
    run_example(&w, QNN_GPU_PRECISION_FP32, 1e-4);
    gpu_end(&w);
    snprintf(path, sizeof path, "%s/tuning.jsonl", folder);
    FILE *f = fopen(path, "r");
    bool found = false;
    while (f && fgets(line, sizeof line, f))
        found |= strstr(line, "local,scaled_swish,") != NULL;
    assert_true(found);
    fclose(f);
    unlink(path);
    rmdir(folder);
}

static void opp_03_what_is_not_done_is_rejected_in_words(void **state) {
    (void)state;
    static const char *const rows[][2] = {{"Image", "not a BUFFER"},
                                          {"Layout", "layout other than HWC"},
                                          {"Binary", "not OpenCL text"},
                                          {"Dynamic", "changes between executions"},
                                          {"NoKernels", "has no kernels"},
                                          {"BadInput", "input that the node lacks"},
                                          {"BadInternal", "memory object that it did not list"},
                                          {"BadText", "cannot build a kernel"},
                                          {"NoSizes", "work sizes"},
                                          {"Fails", "cannot create its op"}};
    gpu_world w = gpu_begin();
    GPU_OK(try_package(&w, "../tests/libOddGpuPackage.so", "odd_provider", NULL));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        Qnn_GraphHandle_t g;
        uint32_t dims[] = {8};
        gpu_lines[0] = 0;
        GPU_OK(w.qnn.graphCreate(w.context, rows[i][0], NULL, &g));
        Qnn_Tensor_t x = gpu_tensor(&w, g, "x", QNN_TENSOR_TYPE_APP_WRITE, dims);
        Qnn_Tensor_t y = gpu_tensor(&w, g, "y", QNN_TENSOR_TYPE_APP_READ, dims);
        GPU_OK(w.qnn.graphAddNode(g, op_config("n", "odd", rows[i][0], &x, 1, &y, 1)));
        bool no_build = strcmp(rows[i][0], "BadText") == 0;
        GPU_FAILS(w.qnn.graphFinalize(g, NULL, NULL),
                  no_build ? QNN_GRAPH_ERROR_OPTIMIZATION_FAILED : QNN_GRAPH_ERROR_FINALIZE_FAILED);
        GPU_LOGGED(rows[i][1]);
    }
    gpu_graph good;
    gpu_graph_make(&w, &good, "good", NULL);
    gpu_graph_check(&w, &good, 1);
    gpu_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opp_01_packages_are_registered_once_for_the_gpu),
        cmocka_unit_test(opp_03_the_example_runs_between_built_in_ops),
        cmocka_unit_test(tun_04_kernels_of_packages_are_tuned_within_their_ranges),
        cmocka_unit_test(opp_03_what_is_not_done_is_rejected_in_words),
    };
    return gpu_tests(tests);
}
