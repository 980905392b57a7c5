// SPDX-License-Identifier: MIT
//
// Host steps (GPU-OPS-05): with QUERN_GPU_HOST_STEPS=1 ops that the GPU backend has no kernel for
// run on the CPU inside of a GPU graph; with the argument `off`, and without the variable, the same
// node is rejected.
#include "gpu_client.h"

#include "QnnProfile.h"

#define N 8u
#define SCALE 0.5f
#define OFFSET (-3)

static uint32_t dims[] = {N}, one[] = {1};

static Qnn_Tensor_t quantized(const gpu_world *w, Qnn_GraphHandle_t g, const char *name,
                              uint32_t *shape) {
    Qnn_Tensor_t t = describe(name, QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_UFIXED_POINT_8, 1, shape);
    t.v1.quantizeParams =
        (Qnn_QuantizeParams_t){.encodingDefinition = QNN_DEFINITION_DEFINED,
                               .quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET,
                               .scaleOffsetEncoding = {SCALE, OFFSET}};
    GPU_OK(w->qnn.tensorCreateGraphTensor(g, &t));
    return t;
}

static Qnn_ErrorHandle_t add(const gpu_world *w, Qnn_GraphHandle_t g, const char *name,
                             const char *type, Qnn_Tensor_t *in, uint32_t n_in, Qnn_Tensor_t *out) {
    return w->qnn.graphAddNode(
        g, op_config(name, QNN_OP_PACKAGE_NAME_QTI_AISW, type, in, n_in, out, 1));
}

// ReduceMax over the only dimension.
static Qnn_OpConfig_t largest(const gpu_world *w, Qnn_GraphHandle_t g, Qnn_Tensor_t *in,
                              Qnn_Tensor_t *out) {
    static uint32_t zero[] = {0};
    static Qnn_Param_t params[2];
    Qnn_Tensor_t axes = describe("axes", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UINT_32, 1, one);
    set_buffer(&axes, zero, sizeof zero);
    GPU_OK(w->qnn.tensorCreateGraphTensor(g, &axes));
    params[0] =
        (Qnn_Param_t){.paramType = QNN_PARAMTYPE_TENSOR, .name = "axes", .tensorParam = axes};
    params[1] = (Qnn_Param_t){.paramType = QNN_PARAMTYPE_SCALAR,
                              .name = "keep_dims",
                              .scalarParam = {QNN_DATATYPE_BOOL_8, {.bool8Value = 1}}};
    Qnn_OpConfig_t c =
        op_config("largest", QNN_OP_PACKAGE_NAME_QTI_AISW, "ReduceMax", in, 1, out, 1);
    c.v1.numOfParams = 2;
    c.v1.params = params;
    return c;
}

// y = dequantize(max(q)) + x with q = quantize(relu(x)): quantized activations in the middle.
static Qnn_GraphHandle_t make(const gpu_world *w, QnnGpu_Precision_t precision) {
    QnnGpuGraph_CustomConfig_t v1 = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
    QnnGraph_Config_t c = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v1};
    const QnnGraph_Config_t *list[] = {&c, NULL};
    Qnn_GraphHandle_t g;
    v1.precision = precision;
    GPU_OK(w->qnn.graphCreate(w->context, "g", list, &g));
    Qnn_Tensor_t x = gpu_tensor(w, g, "x", QNN_TENSOR_TYPE_APP_WRITE, dims);
    Qnn_Tensor_t y = gpu_tensor(w, g, "y", QNN_TENSOR_TYPE_APP_READ, dims);
    Qnn_Tensor_t r = gpu_tensor(w, g, "r", QNN_TENSOR_TYPE_NATIVE, dims);
    Qnn_Tensor_t q = quantized(w, g, "q", dims), s = quantized(w, g, "s", one);
    Qnn_Tensor_t f = gpu_tensor(w, g, "f", QNN_TENSOR_TYPE_NATIVE, one);
    GPU_OK(add(w, g, "relu", "Relu", &x, 1, &r));
    GPU_OK(add(w, g, "quantize", "Quantize", &r, 1, &q));
    GPU_OK(w->qnn.graphAddNode(g, largest(w, g, &q, &s)));
    GPU_OK(add(w, g, "back", "Dequantize", &s, 1, &f));
    GPU_OK(add(w, g, "sum", "ElementWiseAdd", (Qnn_Tensor_t[]){f, x}, 2, &y));
    GPU_OK(w->qnn.graphFinalize(g, NULL, NULL));
    return g;
}

static void run(const gpu_world *w, Qnn_GraphHandle_t g, Qnn_ProfileHandle_t profile) {
    static const float given[N] = {-4, -0.25f, 0, 0.5f, 20.25f, 3, 1.5f, -200};
    float out[N];
    Qnn_Tensor_t x = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 1, dims);
    Qnn_Tensor_t y = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 1, dims);
    x.v1.id = 1; // in order of creation
    y.v1.id = 2;
    set_buffer(&x, (void *)(uintptr_t)given, sizeof given);
    set_buffer(&y, out, sizeof out);
    GPU_OK(w->qnn.graphExecute(g, &x, 1, &y, 1, profile, NULL));
    for (uint32_t i = 0; i < N; i++) // 20.25 / SCALE is 40.5, which is rounded up
        assert_float_equal(out[i], 20.5f + given[i], 0);
}

static void ops_05_ops_without_a_kernel_run_on_the_cpu(void **state) {
    (void)state;
    const QnnGpu_Precision_t modes[] = {QNN_GPU_PRECISION_FP32, QNN_GPU_PRECISION_HYBRID,
                                        QNN_GPU_PRECISION_USER_PROVIDED};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        gpu_world w = gpu_begin();
        Qnn_GraphHandle_t g = make(&w, modes[i]);
        GPU_LOGGED("host steps, which run on the CPU: 'largest' (ReduceMax)");
        run(&w, g, NULL);
        run(&w, g, NULL);
        gpu_end(&w);
    }
}

static void ops_05_binaries_hold_graphs_with_host_steps(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    Qnn_ContextBinarySize_t size, written;
    make(&w, QNN_GPU_PRECISION_HYBRID);
    GPU_OK(w.qnn.contextGetBinarySize(w.context, &size));
    void *bytes = malloc(size);
    GPU_OK(w.qnn.contextGetBinary(w.context, bytes, size, &written));
    GPU_OK(w.qnn.contextFree(w.context, NULL));
    gpu_lines[0] = 0;
    GPU_OK(w.qnn.contextCreateFromBinary(w.backend, NULL, NULL, bytes, size, &w.context, NULL));
    GPU_LOGGED("the compiled graph of the binary");
    GPU_LOGGED("host steps, which run on the CPU");
    Qnn_GraphHandle_t g;
    GPU_OK(w.qnn.graphRetrieve(w.context, "g", &g));
    run(&w, g, NULL);
    free(bytes);
    gpu_end(&w);
}

// Is there an event whose identifier ends with the text, here or below?
static bool has_event(const gpu_world *w, const QnnProfile_EventId_t *ids, uint32_t n,
                      const char *text) {
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_EventData_t d;
        const QnnProfile_EventId_t *below = NULL;
        uint32_t n_below = 0;
        GPU_OK(w->qnn.profileGetEventData(ids[i], &d));
        if (d.identifier && strstr(d.identifier, text))
            return true;
        if (w->qnn.profileGetSubEvents(ids[i], &below, &n_below) == QNN_SUCCESS &&
            has_event(w, below, n_below, text))
            return true;
    }
    return false;
}

static void ops_05_profiles_show_host_steps(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    Qnn_GraphHandle_t g = make(&w, QNN_GPU_PRECISION_FP32);
    Qnn_ProfileHandle_t profile;
    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n = 0;
    GPU_OK(w.qnn.profileCreate(w.backend, QNN_PROFILE_LEVEL_DETAILED, &profile));
    run(&w, g, profile);
    GPU_OK(w.qnn.profileGetEvents(profile, &ids, &n));
    assert_true(has_event(&w, ids, n, "largest (host step)"));
    assert_false(has_event(&w, ids, n, "relu (host step)"));
    GPU_OK(w.qnn.profileFree(profile));
    gpu_end(&w);
}

// Of quantized numbers: the device has a kernel for others.
static void ops_05_shapes_that_depend_on_data_are_still_rejected(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    Qnn_GraphHandle_t g;
    uint32_t out_dims[] = {N, 1};
    GPU_OK(w.qnn.graphCreate(w.context, "g", NULL, &g));
    Qnn_Tensor_t x = gpu_tensor(&w, g, "x", QNN_TENSOR_TYPE_APP_WRITE, dims);
    Qnn_Tensor_t q = quantized(&w, g, "q", dims);
    Qnn_Tensor_t y = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_INT_32, 2, out_dims);
    GPU_OK(w.qnn.tensorCreateGraphTensor(g, &y));
    GPU_OK(add(&w, g, "quantize", "Quantize", &x, 1, &q));
    if (add(&w, g, "n", "NonZero", &q, 1, &y) == QNN_SUCCESS) {
        GPU_FAILS(w.qnn.graphFinalize(g, NULL, NULL), QNN_GRAPH_ERROR_FINALIZE_FAILED);
        GPU_LOGGED("shapes depend on data");
    }
    gpu_end(&w);
}

static void ops_05_without_the_variable_validation_rejects_them(void **state) {
    (void)state;
    gpu_world w = gpu_begin();
    Qnn_GraphHandle_t g;
    GPU_OK(w.qnn.graphCreate(w.context, "g", NULL, &g));
    Qnn_Tensor_t q = quantized(&w, g, "q", dims), s = quantized(&w, g, "s", one);
    GPU_FAILS(w.qnn.backendValidateOpConfig(w.backend, largest(&w, g, &q, &s)), 3110);
    gpu_end(&w);
}

int main(int argc, char **argv) {
    const struct CMUnitTest on[] = {
        cmocka_unit_test(ops_05_ops_without_a_kernel_run_on_the_cpu),
        cmocka_unit_test(ops_05_binaries_hold_graphs_with_host_steps),
        cmocka_unit_test(ops_05_profiles_show_host_steps),
        cmocka_unit_test(ops_05_shapes_that_depend_on_data_are_still_rejected),
    };
    const struct CMUnitTest off[] = {
        cmocka_unit_test(ops_05_without_the_variable_validation_rejects_them),
    };
    return argc > 1 && strcmp(argv[1], "off") == 0 ? gpu_tests(off) : gpu_tests(on);
}
