// SPDX-License-Identifier: MIT
//
// Op packages of the GPU backend (GPU-OPP): the example package runs between built-in ops, in every
// precision; super nodes are found where they may be; wrong packages are rejected in words.
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

// -(s * s + 0.75), where s is the swish of a relu.
static void check_example(const gpu_world *w, Qnn_GraphHandle_t g, Qnn_Tensor_t tx, Qnn_Tensor_t ty,
                          double tolerance) {
    float x[30], y[30];
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

// relu -> ScaledSwish -> BiasedSquare -> neg
static void run_example(const gpu_world *w, QnnGpu_Precision_t precision, bool apart,
                        double tolerance) {
    Qnn_GraphHandle_t g;
    uint32_t dims[] = {2, 3, 5}, one[] = {1};
    float bias = 0.75f;
    QnnGpuGraph_CustomConfig_t v1 = {.precision = precision, .disableNodeOptimizations = apart};
    QnnGraph_Config_t c = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v1};
    const QnnGraph_Config_t *list[] = {&c, NULL};
    char name[16];
    snprintf(name, sizeof name, "g%d%d", (int)precision, apart);
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
    check_example(w, g, tx, ty, tolerance);
}

static void opp_03_the_example_runs_between_built_in_ops(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    GPU_OK(try_package(&w, EXAMPLE, PROVIDER, NULL));
    for (int apart = 0; apart < 2; apart++) {
        run_example(&w, QNN_GPU_PRECISION_FP32, apart, 1e-4);
        run_example(&w, QNN_GPU_PRECISION_FP16, apart, 0.1);
        run_example(&w, QNN_GPU_PRECISION_HYBRID, apart, 0.1);
        run_example(&w, QNN_GPU_PRECISION_USER_PROVIDED, apart, 1e-4);
    }
    gpu_end(&w);
}

static void ops_of_packages_are_stored_by_name(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    GPU_OK(try_package(&w, EXAMPLE, PROVIDER, NULL));
    run_example(&w, QNN_GPU_PRECISION_FP32, false, 1e-4);
    Qnn_ContextBinarySize_t size, written;
    GPU_OK(w.qnn.contextGetBinarySize(w.context, &size));
    void *bytes = malloc(size);
    assert_non_null(bytes);
    GPU_OK(w.qnn.contextGetBinary(w.context, bytes, size, &written));
    gpu_end(&w);
    w = gpu_begin();
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    gpu_lines[0] = 0;
    GPU_FAILS(w.qnn.contextCreateFromBinary(w.backend, NULL, NULL, bytes, size, &c, NULL), 5005);
    GPU_LOGGED("op 'ScaledSwish' of package 'example.gpu' is not registered");
    GPU_OK(try_package(&w, EXAMPLE, PROVIDER, NULL));
    GPU_OK(w.qnn.contextCreateFromBinary(w.backend, NULL, NULL, bytes, size, &c, NULL));
    char name[16];
    snprintf(name, sizeof name, "g%d0", (int)QNN_GPU_PRECISION_FP32);
    GPU_OK(w.qnn.graphRetrieve(c, name, &g));
    uint32_t dims[] = {2, 3, 5};
    Qnn_Tensor_t x = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 3, dims);
    Qnn_Tensor_t y = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 3, dims);
    x.v1.id = 1;
    y.v1.id = 5;
    check_example(&w, g, x, y, 1e-4);
    GPU_OK(w.qnn.contextFree(c, NULL));
    gpu_end(&w);
    free(bytes);
}

// x [2, 3, 5] -> ImageScale -> ImageShift -> y, and without the first.
static void opp_03_images_go_from_one_op_of_a_package_to_the_next(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    GPU_OK(try_package(&w, EXAMPLE, PROVIDER, NULL));
    for (int image = 0; image < 2; image++) {
        Qnn_GraphHandle_t g;
        uint32_t dims[] = {2, 3, 5};
        float in[30], out[30];
        GPU_OK(w.qnn.graphCreate(w.context, image ? "image" : "buffer", NULL, &g));
        Qnn_Tensor_t x = tensor(&w.qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 3, dims);
        Qnn_Tensor_t t = tensor(&w.qnn, g, "t", QNN_TENSOR_TYPE_NATIVE, 3, dims);
        Qnn_Tensor_t y = tensor(&w.qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 3, dims);
        Qnn_OpConfig_t scale = op_config("scale", "example.gpu", "ImageScale", &x, 1, &t, 1);
        Qnn_Param_t three = {.paramType = QNN_PARAMTYPE_SCALAR,
                             .name = "scale",
                             .scalarParam = {.dataType = QNN_DATATYPE_FLOAT_32, .floatValue = 3}};
        scale.v1.numOfParams = 1;
        scale.v1.params = &three;
        if (image)
            GPU_OK(w.qnn.graphAddNode(g, scale));
        else
            node(&w.qnn, g, "neg", "ElementWiseNeg", &x, &t);
        GPU_OK(
            w.qnn.graphAddNode(g, op_config("shift", "example.gpu", "ImageShift", &t, 1, &y, 1)));
        gpu_lines[0] = 0;
        GPU_OK(w.qnn.graphFinalize(g, NULL, NULL));
        GPU_LOGGED("finalize: 2 launches");
        for (int i = 0; i < 30; i++)
            in[i] = (float)i * 0.5f;
        set_buffer(&x, in, sizeof in);
        set_buffer(&y, out, sizeof out);
        GPU_OK(w.qnn.graphExecute(g, &x, 1, &y, 1, NULL, NULL));
        for (int i = 0; i < 30; i++)
            assert_float_equal(out[i], (image ? 3 : -1) * in[i] + 1, 1e-6);
    }
    gpu_end(&w);
}

// swish and square of the example, a tensor of `type` between them, which a third node may read.
typedef struct pair_case {
    const char *name;
    QnnGraph_Config_t *config;
    Qnn_TensorType_t middle;
    bool read_twice, joined;
} pair_case;

static void check_pair(const gpu_world *w, const pair_case *c) {
    Qnn_GraphHandle_t g;
    uint32_t dims[] = {8}, one[] = {1};
    float bias = 0.5f, in[8], out[3][8];
    const QnnGraph_Config_t *list[] = {c->config, NULL};
    GPU_OK(w->qnn.graphCreate(w->context, c->name, list, &g));
    Qnn_Tensor_t x = gpu_tensor(w, g, "x", QNN_TENSOR_TYPE_APP_WRITE, dims);
    Qnn_Tensor_t s = gpu_tensor(w, g, "s", c->middle, dims);
    Qnn_Tensor_t y[] = {gpu_tensor(w, g, "y", QNN_TENSOR_TYPE_APP_READ, dims), s, s};
    Qnn_Tensor_t b = describe("bias", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 1, one);
    set_buffer(&b, &bias, sizeof bias);
    GPU_OK(w->qnn.tensorCreateGraphTensor(g, &b));
    GPU_OK(w->qnn.graphAddNode(g, op_config("swish", "example.gpu", "ScaledSwish", &x, 1, &s, 1)));
    uint32_t n = 1 + (c->middle == QNN_TENSOR_TYPE_APP_READ);
    if (c->read_twice) {
        y[n] = gpu_tensor(w, g, "z", QNN_TENSOR_TYPE_APP_READ, dims);
        node(&w->qnn, g, "neg", "ElementWiseNeg", &s, &y[n++]);
    }
    Qnn_Param_t param = {.paramType = QNN_PARAMTYPE_TENSOR, .name = "bias", .tensorParam = b};
    Qnn_OpConfig_t square = op_config("square", "example.gpu", "BiasedSquare", &s, 1, y, 1);
    square.v1.numOfParams = 1;
    square.v1.params = &param;
    GPU_OK(w->qnn.graphAddNode(g, square));
    gpu_lines[0] = 0;
    GPU_OK(w->qnn.graphFinalize(g, NULL, NULL));
    assert_int_equal(strstr(gpu_lines, "nodes swish+square are one super node") != NULL, c->joined);
    for (int i = 0; i < 8; i++)
        in[i] = (float)(i - 3);
    set_buffer(&x, in, sizeof in);
    for (uint32_t i = 0; i < n; i++)
        set_buffer(&y[i], out[i], sizeof out[i]);
    GPU_OK(w->qnn.graphExecute(g, &x, 1, y, n, NULL, NULL));
    for (int i = 0; i < 8; i++) {
        double v = (double)in[i] / (1 + exp(-(double)in[i]));
        assert_float_equal(out[0][i], v * v + 0.5, 1e-5);
        for (uint32_t k = 1; k < n; k++)
            assert_float_equal(out[k][i], k == n - 1 && c->read_twice ? -v : v, 1e-5);
    }
}

static void opp_05_super_nodes_replace_nodes_that_nothing_else_reads(void **state) {
    (void)state;
    QnnGpuGraph_CustomConfig_t apart = {.precision = QNN_GPU_PRECISION_FP32,
                                        .disableNodeOptimizations = 1};
    QnnGpuGraph_CustomConfig_t plain = {.precision = QNN_GPU_PRECISION_FP32};
    QnnGraph_Config_t off = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &apart};
    QnnGraph_Config_t on = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &plain};
    const pair_case cases[] = {
        {"joined", &on, QNN_TENSOR_TYPE_NATIVE, false, true},
        {"apart", &off, QNN_TENSOR_TYPE_NATIVE, false, false},
        {"output", &on, QNN_TENSOR_TYPE_APP_READ, false, false},
        {"read", &on, QNN_TENSOR_TYPE_NATIVE, true, false},
        {"both", &on, QNN_TENSOR_TYPE_APP_READ, true, false},
    };
    gpu_world w = gpu_begin();
    GPU_OK(try_package(&w, EXAMPLE, PROVIDER, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_pair(&w, &cases[i]);
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
    run_example(&w, QNN_GPU_PRECISION_FP32, true, 1e-4);
    gpu_end(&w);
    snprintf(path, sizeof path, "%s/tuning.jsonl", folder);
    FILE *f = fopen(path, "r");
    bool found = false;
    while (f && fgets(line, sizeof line, f))
        found |= strstr(line, "\"local\",\"shape\":\"scaled_swish ") != NULL;
    assert_true(found);
    fclose(f);
    unlink(path);
    rmdir(folder);
}

static void opp_03_what_is_wrong_is_rejected_in_words(void **state) {
    (void)state;
    static const char *const rows[][2] = {{"Image", "data type that images cannot have"},
                                          {"Layout", "unknown layout"},
                                          {"Source", "neither OpenCL text"},
                                          {"Tiles", "is not aggregated, or none for one"},
                                          {"Alias", "comes later or does not exist"},
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
    gpu_lines[0] = 0;
    gpu_graph_make(&w, &good, "good", NULL);
    GPU_LOGGED("optimization 'kind' of package 'odd' is not used: it is not a super node");
    GPU_LOGGED("optimization 'alone' of package 'odd' is not used: it has less than two ops");
    GPU_LOGGED("optimization 'edge' of package 'odd' is not used: it connects ops that it does");
    GPU_LOGGED("optimization 'loose' of package 'odd' is not used: an op of it is not connected");
    GPU_LOGGED("optimization '(no name)' of package 'odd' is not used: it has no name");
    gpu_graph_check(&w, &good, 1);
    gpu_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opp_01_packages_are_registered_once_for_the_gpu),
        cmocka_unit_test(opp_03_the_example_runs_between_built_in_ops),
        cmocka_unit_test(ops_of_packages_are_stored_by_name),
        cmocka_unit_test(opp_03_images_go_from_one_op_of_a_package_to_the_next),
        cmocka_unit_test(opp_05_super_nodes_replace_nodes_that_nothing_else_reads),
        cmocka_unit_test(tun_04_kernels_of_packages_are_tuned_within_their_ranges),
        cmocka_unit_test(opp_03_what_is_wrong_is_rejected_in_words),
    };
    return gpu_tests(tests);
}
