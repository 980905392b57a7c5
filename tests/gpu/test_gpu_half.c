// SPDX-License-Identifier: MIT
//
// FP16 mode on a device that adds and multiplies fp16 numbers. PoCL has no such arithmetic: between
// the library and OpenCL stands a driver that says it has, keeps every text, and builds it with
// floats in the place of HALF; clang, where it is installed, compiles the texts as they are.
// usage: test_gpu_half [CLANG]
#include "cl_shim.h"
#include "gpu_client.h"

#include "base/fp16.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define N 8u

static char texts[8][1 << 16]; // programs with HALF, as the library wrote them
static uint32_t n_texts;
static bool lacks_half; // the driver lists the extension, but does not build such programs

static cl_program take_source(cl_context c, cl_uint n, const char **t, const size_t *l,
                              cl_int *err) {
    static const char arithmetic[] = "#define HALF half\n",
                      pragma[] = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";
    static char changed[1 << 16];
    const char *at = strstr(t[0], pragma);
    if (!at)
        return shim_source(c, n, t, l, err);
    assert_true(n_texts < 8 && strlen(t[0]) < sizeof changed);
    strcpy(texts[n_texts++], t[0]);
    assert_memory_equal(at + sizeof pragma - 1, arithmetic, sizeof arithmetic - 1);
    snprintf(changed, sizeof changed, "%.*s#define HALF %s\n%s", (int)(at - t[0]), t[0],
             lacks_half ? "no_such_type" : "float", at + sizeof pragma + sizeof arithmetic - 2);
    const char *text = changed;
    return shim_source(c, 1, &text, NULL, err);
}

static gpu_world begin(bool lacks) {
    shim_begin(0);
    shim_announce("cl_khr_fp16", NULL);
    qrn_cl.clCreateProgramWithSource = take_source;
    lacks_half = lacks;
    n_texts = 0;
    return gpu_begin();
}

static void end(gpu_world *w) {
    gpu_end(w);
    assert_int_equal(shim_live, 0);
    shim_end();
}

static Qnn_Tensor_t half_tensor(const gpu_world *w, Qnn_GraphHandle_t g, const char *name,
                                Qnn_TensorType_t type, Qnn_DataType_t data) {
    static uint32_t dims[] = {N};
    Qnn_Tensor_t t = describe(name, type, data, 1, dims);
    GPU_OK(w->qnn.tensorCreateGraphTensor(g, &t));
    return t;
}

static void add(const gpu_world *w, Qnn_GraphHandle_t g, const char *name, const char *op,
                Qnn_Tensor_t a, Qnn_Tensor_t b, Qnn_Tensor_t y) {
    Qnn_Tensor_t in[] = {a, b};
    uint32_t n = strcmp(op, "ElementWiseExp") == 0 ? 1 : 2;
    GPU_OK(w->qnn.graphAddNode(g, op_config(name, QNN_OP_PACKAGE_NAME_QTI_AISW, op, in, n, &y, 1)));
}

// y = exp(x * w - x) / w + z, where x and w are fp16 numbers and z is an fp32 one: some steps are
// exact in fp16, some are not.
static void run_graph(const gpu_world *w, Qnn_DataType_t native, double limit) {
    static uint16_t x16[N], w16[N], y16[N];
    static float z[N];
    Qnn_GraphHandle_t g;
    QnnGpuGraph_CustomConfig_t v1 = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
    v1.precision = QNN_GPU_PRECISION_FP16;
    QnnGraph_Config_t c = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &v1};
    const QnnGraph_Config_t *list[] = {&c, NULL};
    for (uint32_t i = 0; i < N; i++) {
        x16[i] = qrn_f16_from_f64((double)i / 8.0 - 0.4);
        w16[i] = qrn_f16_from_f64(1.0 + (double)i / 4.0);
        z[i] = (float)i / 3.0f;
    }
    GPU_OK(w->qnn.graphCreate(w->context, "half", list, &g));
    uint32_t dims[] = {N};
    Qnn_DataType_t f16 = QNN_DATATYPE_FLOAT_16;
    Qnn_Tensor_t x = half_tensor(w, g, "x", QNN_TENSOR_TYPE_APP_WRITE, f16);
    Qnn_Tensor_t k = half_tensor(w, g, "w", QNN_TENSOR_TYPE_APP_WRITE, f16);
    Qnn_Tensor_t zt = describe("z", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 1, dims);
    GPU_OK(w->qnn.tensorCreateGraphTensor(g, &zt));
    Qnn_Tensor_t y = half_tensor(w, g, "y", QNN_TENSOR_TYPE_APP_READ, f16), t[4];
    for (int i = 0; i < 4; i++) {
        const char *names[] = {"t0", "t1", "t2", "t3"};
        t[i] = half_tensor(w, g, names[i], QNN_TENSOR_TYPE_NATIVE, native);
    }
    add(w, g, "mul", "ElementWiseMultiply", x, k, t[0]);
    add(w, g, "sub", "ElementWiseSubtract", t[0], x, t[1]);
    add(w, g, "exp", "ElementWiseExp", t[1], t[1], t[2]);
    add(w, g, "div", "ElementWiseDivide", t[2], k, t[3]);
    add(w, g, "add", "ElementWiseAdd", t[3], zt, y);
    GPU_OK(w->qnn.graphFinalize(g, NULL, NULL));
    set_buffer(&x, x16, sizeof x16);
    set_buffer(&zt, z, sizeof z);
    set_buffer(&y, y16, sizeof y16);
    set_buffer(&k, w16, sizeof w16);
    Qnn_Tensor_t in[] = {x, k, zt};
    GPU_OK(w->qnn.graphExecute(g, in, 3, &y, 1, NULL, NULL));
    for (uint32_t i = 0; i < N; i++) {
        double a = (double)qrn_f16_to_f32(x16[i]), b = (double)qrn_f16_to_f32(w16[i]);
        double want = exp(a * b - a) / b + (double)z[i];
        assert_float_equal(qrn_f16_to_f32(y16[i]), want, limit);
    }
}

// The type of x in the line of the kernel that has this formula.
static const char *type_of(const char *formula) {
    static char type[16];
    char *line = strstr(texts[1], formula);
    assert_non_null(line);
    while (line > texts[1] && line[-1] != '{')
        line--;
    assert_int_equal(sscanf(line, "%15s x", type), 1);
    return type;
}

static void prc_02_sums_and_products_are_computed_in_fp16(void **state) {
    (void)state;
    gpu_world w = begin(false);
    run_graph(&w, QNN_DATATYPE_FLOAT_32, 5e-3); // 2e-3 of the largest magnitude
    GPU_LOGGED("precision FP16: element-wise sums and products are computed in fp16");
    GPU_NOT_LOGGED("runs as HYBRID");
    assert_int_equal(n_texts, 2); // the probe, and the one kernel of the graph
    assert_string_equal(type_of("= x * y;"), "HALF");
    assert_string_equal(type_of("= x - y;"), "HALF");
    assert_string_equal(type_of("= exp(x);"), "float");
    assert_string_equal(type_of("= x / y;"), "float");
    assert_string_equal(type_of("= x + y;"), "float"); // z is an fp32 number
    end(&w);
}

static void prc_06_a_driver_that_cannot_build_it_runs_hybrid(void **state) {
    (void)state;
    gpu_world w = begin(true);
    run_graph(&w, QNN_DATATYPE_FLOAT_16, 5e-3);
    GPU_LOGGED("FP16 runs as HYBRID");
    assert_int_equal(n_texts, 1); // the probe alone
    end(&w);
}

static const char *clang;

static void prc_02_the_texts_are_opencl_with_fp16(void **state) {
    (void)state;
    if (!clang)
        skip();
    gpu_world w = begin(false);
    run_graph(&w, QNN_DATATYPE_FLOAT_32, 5e-3);
    end(&w);
    for (uint32_t i = 0; i < n_texts; i++) {
        char path[] = "/tmp/quern_half_XXXXXX", command[512];
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, texts[i], strlen(texts[i])), strlen(texts[i]));
        close(fd);
        snprintf(command, sizeof command,
                 "'%s' -x cl -cl-std=CL1.2 -target spir64 -Xclang -finclude-default-header "
                 "-Xclang -cl-ext=+cl_khr_fp16 -Werror=implicit-function-declaration "
                 "-fsyntax-only %s",
                 clang, path);
        int status = system(command);
        unlink(path);
        assert_int_equal(status, 0);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        SHIM_TEST(prc_02_sums_and_products_are_computed_in_fp16),
        SHIM_TEST(prc_06_a_driver_that_cannot_build_it_runs_hybrid),
        SHIM_TEST(prc_02_the_texts_are_opencl_with_fp16),
    };
    clang = argc > 1 && argv[1][0] ? argv[1] : NULL;
    return gpu_tests(tests);
}
