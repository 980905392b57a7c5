// SPDX-License-Identifier: MIT
//
// Ops of packages that store tensors in forms of their own (GPU-OPP-03, -04), with kernels of every
// kind. Expected values are plain formulas of the inputs (form_package.c says which).
#include "cl_shim.h"
#include "gpu_client.h"

#include "GPU/QnnGpuOpPackage.h"
#include "base/mem.h"

#include <unistd.h>

#define PACKAGE "../tests/libFormGpuPackage.so"

static void *library; // the package, to reach its variables

static gpu_world begin(void) {
    gpu_world w = gpu_begin();
    GPU_OK(w.qnn.backendRegisterOpPackage(w.backend, lib_path(PACKAGE), "form_provider", NULL));
    if (!library)
        assert_non_null(library = dlopen(lib_path(PACKAGE), RTLD_NOW));
    return w;
}

static Qnn_Param_t number(const char *name, uint32_t v) {
    return (Qnn_Param_t){.paramType = QNN_PARAMTYPE_SCALAR,
                         .name = name,
                         .scalarParam = {.dataType = QNN_DATATYPE_UINT_32, .uint32Value = v}};
}

static size_t count_of(uint32_t rank, const uint32_t *dims) {
    size_t n = 1;
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    return n;
}

typedef struct chain {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, t, y;
    uint32_t rank, dims[5];
} chain;

// x -> op of the package -> t -> last -> y
static void build(const gpu_world *w, chain *c, const char *name, Qnn_OpConfig_t first,
                  const char *package, const char *last) {
    GPU_OK(w->qnn.graphCreate(w->context, name, NULL, &c->graph));
    c->x = tensor(&w->qnn, c->graph, "x", QNN_TENSOR_TYPE_APP_WRITE, c->rank, c->dims);
    c->t = tensor(&w->qnn, c->graph, "t", QNN_TENSOR_TYPE_NATIVE, c->rank, c->dims);
    c->y = tensor(&w->qnn, c->graph, "y", QNN_TENSOR_TYPE_APP_READ, c->rank, c->dims);
    first.v1.name = "first";
    first.v1.packageName = "forms";
    first.v1.numOfInputs = first.v1.numOfOutputs = 1;
    first.v1.inputTensors = &c->x;
    first.v1.outputTensors = &c->t;
    GPU_OK(w->qnn.graphAddNode(c->graph, first));
    GPU_OK(w->qnn.graphAddNode(c->graph, op_config("last", package, last, &c->t, 1, &c->y, 1)));
    gpu_lines[0] = 0;
    GPU_OK(w->qnn.graphFinalize(c->graph, NULL, NULL));
}

// y = factor * x + offset?
static void check(const gpu_world *w, chain *c, float factor, float offset) {
    float x[1024], y[1024];
    size_t n = count_of(c->rank, c->dims);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((i * 7) % 64) * 0.25f - 3; // exact in fp16, too
    set_buffer(&c->x, x, n * sizeof *x);
    set_buffer(&c->y, y, n * sizeof *y);
    GPU_OK(w->qnn.graphExecute(c->graph, &c->x, 1, &c->y, 1, NULL, NULL));
    for (size_t i = 0; i < n; i++)
        assert_float_equal(y[i], factor * x[i] + offset, 1e-6);
}

static void check_form(const gpu_world *w, uint32_t type, uint32_t layout, uint32_t half) {
    bool deep = layout >= QNN_GPU_MEM_LAYOUT_DHWC;
    bool plain = type == QNN_GPU_MEM_OBJ_TYPE_BUFFER && !half &&
                 (layout == QNN_GPU_MEM_LAYOUT_HWC || layout == QNN_GPU_MEM_LAYOUT_DHWC);
    Qnn_Param_t params[] = {number("type", type), number("layout", layout), number("half", half)};
    Qnn_OpConfig_t form = op_config("", "", "Form", NULL, 0, NULL, 0);
    form.v1.numOfParams = 3;
    form.v1.params = params;
    for (int direct = 0; direct < 2; direct++) {
        chain c = {.rank = deep ? 5 : 4, .dims = {2, 3, 2, 5}};
        char name[64];
        if (deep)
            memcpy(c.dims, (uint32_t[]){2, 2, 3, 2, 5}, sizeof c.dims);
        snprintf(name, sizeof name, "g%u_%u_%u_%d", type, layout, half, direct);
        build(w, &c, name, form, direct ? "forms" : QNN_OP_PACKAGE_NAME_QTI_AISW,
              direct ? "Unform" : "ElementWiseNeg");
        // An op of the package reads the form itself; built-in ones read a plain copy.
        GPU_LOGGED(direct || plain ? "finalize: 2 launches" : "finalize: 3 launches");
        check(w, &c, direct ? 2 : -2, direct ? 1.5f : -1);
    }
}

static void opp_04_every_layout_of_every_object_is_converted(void **state) {
    (void)state;
    static const uint32_t types[] = {
        QNN_GPU_MEM_OBJ_TYPE_HOST, QNN_GPU_MEM_OBJ_TYPE_BUFFER, QNN_GPU_MEM_OBJ_TYPE_IMAGE2D,
        QNN_GPU_MEM_OBJ_TYPE_IMAGE2D_ARRAY, QNN_GPU_MEM_OBJ_TYPE_IMAGE1D_BUFFER};
    gpu_world w = begin();
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        for (uint32_t layout = 0; layout <= QNN_GPU_MEM_LAYOUT_CDHW; layout++)
            check_form(&w, types[i], layout, 0);
    check_form(&w, QNN_GPU_MEM_OBJ_TYPE_BUFFER, QNN_GPU_MEM_LAYOUT_HWC, 1);
    check_form(&w, QNN_GPU_MEM_OBJ_TYPE_HOST, QNN_GPU_MEM_LAYOUT_CHW, 1);
    gpu_end(&w);
}

static void opp_03_aggregated_images_are_tiles_of_a_tensor(void **state) {
    (void)state;
    gpu_world w = begin();
    chain c = {.rank = 4, .dims = {1, 4, 6, 5}};
    build(&w, &c, "tiled", op_config("", "", "Tiled", NULL, 0, NULL, 0),
          QNN_OP_PACKAGE_NAME_QTI_AISW, "ElementWiseNeg");
    check(&w, &c, -2, -1);
    gpu_end(&w);
}

static void opp_03_objects_may_share_memory(void **state) {
    (void)state;
    gpu_world w = begin();
    chain c = {.rank = 1, .dims = {8}};
    build(&w, &c, "alias", op_config("", "", "Alias", NULL, 0, NULL, 0),
          QNN_OP_PACKAGE_NAME_QTI_AISW, "ElementWiseNeg");
    check(&w, &c, -3, -1);
    gpu_end(&w);
}

// x -> InPlace -> a; a + x -> y: x is not changed for the other reader.
static void opp_03_an_input_that_is_written_to_is_copied(void **state) {
    (void)state;
    gpu_world w = begin();
    chain c = {.rank = 1, .dims = {8}};
    GPU_OK(w.qnn.graphCreate(w.context, "in_place", NULL, &c.graph));
    c.x = tensor(&w.qnn, c.graph, "x", QNN_TENSOR_TYPE_APP_WRITE, 1, c.dims);
    Qnn_Tensor_t r = tensor(&w.qnn, c.graph, "r", QNN_TENSOR_TYPE_NATIVE, 1, c.dims);
    Qnn_Tensor_t a = tensor(&w.qnn, c.graph, "a", QNN_TENSOR_TYPE_NATIVE, 1, c.dims);
    c.y = tensor(&w.qnn, c.graph, "y", QNN_TENSOR_TYPE_APP_READ, 1, c.dims);
    node(&w.qnn, c.graph, "neg", "ElementWiseNeg", &c.x, &r);
    GPU_OK(w.qnn.graphAddNode(c.graph, op_config("n", "forms", "InPlace", &r, 1, &a, 1)));
    Qnn_Tensor_t both[] = {a, r};
    GPU_OK(w.qnn.graphAddNode(c.graph, op_config("add", QNN_OP_PACKAGE_NAME_QTI_AISW,
                                                 "ElementWiseAdd", both, 2, &c.y, 1)));
    GPU_OK(w.qnn.graphFinalize(c.graph, NULL, NULL));
    check(&w, &c, -6, 0);
    check(&w, &c, -6, 0);
    gpu_end(&w);
}

static void opp_03_dynamic_kernels_are_read_again_at_each_execution(void **state) {
    (void)state;
    gpu_world w = begin();
    chain c = {.rank = 1, .dims = {8}};
    build(&w, &c, "dynamic", op_config("", "", "Dynamic", NULL, 0, NULL, 0),
          QNN_OP_PACKAGE_NAME_QTI_AISW, "ElementWiseNeg");
    check(&w, &c, -1, -108);
    QnnGpu_Kernel_t *k = *(QnnGpu_Kernel_t **)dlsym(library, "form_dynamic");
    k->globalWorkSizes[0] = 4;
    k->args[2]->data.qnnInt = 20;
    check(&w, &c, -1, -24);
    k->globalWorkSizes[0] = 0;
    float x[8] = {0}, y[8];
    set_buffer(&c.x, x, sizeof x);
    set_buffer(&c.y, y, sizeof y);
    assert_int_not_equal(w.qnn.graphExecute(c.graph, &c.x, 1, &c.y, 1, NULL, NULL), QNN_SUCCESS);
    GPU_LOGGED("a work size of 0");
    k->globalWorkSizes[0] = 8;
    check(&w, &c, -1, -28);
    gpu_end(&w);
}

static void opp_03_arguments_have_every_type(void **state) {
    (void)state;
    gpu_world w = begin();
    chain c = {.rank = 1, .dims = {8}};
    build(&w, &c, "args", op_config("", "", "Args", NULL, 0, NULL, 0), QNN_OP_PACKAGE_NAME_QTI_AISW,
          "ElementWiseNeg");
    check(&w, &c, 0, -(-1 + 200 - 300 + 40000 - 70000 + 100000 - 7 + 9 + 0.25f + 2.5f));
    gpu_end(&w);
}

// What the driver makes of a text; to be freed.
static unsigned char *build_binary(const char *text, size_t *n) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int err;
    unsigned char *bytes;
    assert_int_equal(qrn_cl.clGetPlatformIDs(1, &platform, NULL), 0);
    assert_int_equal(qrn_cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), 0);
    cl_context context = qrn_cl.clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    cl_program p = qrn_cl.clCreateProgramWithSource(context, 1, &text, NULL, &err);
    assert_int_equal(qrn_cl.clBuildProgram(p, 1, &device, "", NULL, NULL), 0);
    assert_int_equal(qrn_cl.clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof *n, n, NULL), 0);
    assert_non_null(bytes = malloc(*n));
    assert_int_equal(qrn_cl.clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL),
                     0);
    qrn_cl.clReleaseProgram(p);
    qrn_cl.clReleaseContext(context);
    return bytes;
}

static void opp_03_kernels_may_be_binaries(void **state) {
    (void)state;
    gpu_world w = begin();
    chain c = {.rank = 1, .dims = {8}};
    size_t *n = dlsym(library, "form_binary_bytes");
    const void **binary = dlsym(library, "form_binary");
    unsigned char *bytes = build_binary(dlsym(library, "form_text"), n);
    *binary = bytes;
    build(&w, &c, "binary", op_config("", "", "Binary", NULL, 0, NULL, 0),
          QNN_OP_PACKAGE_NAME_QTI_AISW, "ElementWiseNeg");
    check(&w, &c, -1, -1);
    chain bad = {.rank = 1, .dims = {8}};
    *binary = "this is not a program";
    *n = 18;
    GPU_OK(w.qnn.graphCreate(w.context, "bad", NULL, &bad.graph));
    bad.x = tensor(&w.qnn, bad.graph, "x", QNN_TENSOR_TYPE_APP_WRITE, 1, bad.dims);
    bad.y = tensor(&w.qnn, bad.graph, "y", QNN_TENSOR_TYPE_APP_READ, 1, bad.dims);
    GPU_OK(w.qnn.graphAddNode(bad.graph, op_config("n", "forms", "Binary", &bad.x, 1, &bad.y, 1)));
    GPU_FAILS(w.qnn.graphFinalize(bad.graph, NULL, NULL), QNN_GRAPH_ERROR_OPTIMIZATION_FAILED);
    GPU_LOGGED("rejects a kernel that is a binary of 18 bytes");
    check(&w, &c, -1, -1);
    *binary = NULL;
    free(bytes);
    gpu_end(&w);
}

static void opp_03_an_output_that_no_kernel_writes_is_rejected(void **state) {
    (void)state;
    gpu_world w = begin();
    Qnn_GraphHandle_t g;
    uint32_t dims[] = {8};
    GPU_OK(w.qnn.graphCreate(w.context, "fails", NULL, &g));
    Qnn_Tensor_t x = gpu_tensor(&w, g, "x", QNN_TENSOR_TYPE_APP_WRITE, dims);
    Qnn_Tensor_t y = gpu_tensor(&w, g, "y", QNN_TENSOR_TYPE_APP_READ, dims);
    GPU_OK(w.qnn.graphAddNode(g, op_config("n", "forms", "Fails", &x, 1, &y, 1)));
    GPU_FAILS(w.qnn.graphFinalize(g, NULL, NULL), QNN_GRAPH_ERROR_FINALIZE_FAILED);
    GPU_LOGGED("none of its kernels writes");
    gpu_end(&w);
}

// x of [2, columns] -> relu -> neg -> y
static void run_pair(const gpu_world *w, const char *name, uint32_t columns, Qnn_TensorType_t role,
                     bool joined) {
    Qnn_GraphHandle_t g;
    uint32_t dims[] = {2, columns};
    float in[16], out[16];
    GPU_OK(w->qnn.graphCreate(w->context, name, NULL, &g));
    Qnn_Tensor_t x = tensor(&w->qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, dims);
    Qnn_Tensor_t a = tensor(&w->qnn, g, "a", QNN_TENSOR_TYPE_NATIVE, 2, dims);
    Qnn_Tensor_t b = tensor(&w->qnn, g, "b", role, 2, dims), y = b;
    node(&w->qnn, g, "relu", "Relu", &x, &a);
    node(&w->qnn, g, "neg", "ElementWiseNeg", &a, &b);
    if (role == QNN_TENSOR_TYPE_NATIVE) {
        y = tensor(&w->qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 2, dims);
        node(&w->qnn, g, "abs", "ElementWiseAbs", &b, &y);
    }
    gpu_lines[0] = 0;
    GPU_OK(w->qnn.graphFinalize(g, NULL, NULL));
    assert_int_equal(strstr(gpu_lines, "relu+neg are one super node") != NULL, joined);
    for (uint32_t i = 0; i < 2 * columns; i++)
        in[i] = (float)i - 2;
    set_buffer(&x, in, 2 * columns * sizeof *in);
    set_buffer(&y, out, 2 * columns * sizeof *out);
    GPU_OK(w->qnn.graphExecute(g, &x, 1, &y, 1, NULL, NULL));
    for (uint32_t i = 0; i < 2 * columns; i++) {
        float r = in[i] > 0 ? in[i] : 0;
        assert_float_equal(out[i], role == QNN_TENSOR_TYPE_NATIVE ? r : -r, 1e-6);
    }
}

static void opp_05_patterns_of_built_in_ops_have_constraints(void **state) {
    (void)state;
    gpu_world w = begin();
    run_pair(&w, "fits", 3, QNN_TENSOR_TYPE_APP_READ, true);
    run_pair(&w, "size", 4, QNN_TENSOR_TYPE_APP_READ, false);
    run_pair(&w, "role", 3, QNN_TENSOR_TYPE_NATIVE, false);
    gpu_end(&w);
}

static void opp_03_an_image_that_the_device_cannot_make_is_an_error(void **state) {
    (void)state;
    gpu_world w = begin();
    Qnn_GraphHandle_t g;
    uint32_t dims[] = {1, 1, 1 << 20, 4};
    Qnn_Param_t type = number("type", QNN_GPU_MEM_OBJ_TYPE_IMAGE2D);
    GPU_OK(w.qnn.graphCreate(w.context, "large", NULL, &g));
    Qnn_Tensor_t x = tensor(&w.qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 4, dims);
    Qnn_Tensor_t y = tensor(&w.qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 4, dims);
    Qnn_OpConfig_t form = op_config("n", "forms", "Form", &x, 1, &y, 1);
    form.v1.numOfParams = 1;
    form.v1.params = &type;
    GPU_OK(w.qnn.graphAddNode(g, form));
    GPU_FAILS(w.qnn.graphFinalize(g, NULL, NULL), QNN_GRAPH_ERROR_OPTIMIZATION_FAILED);
    GPU_LOGGED("image, 1048576 x 1 x 1");
    gpu_end(&w);
}

// --- everything that can fail fails once

// A life with an image over a buffer, a super node, and a second op; false: something failed.
static bool live(const gpu_table *qnn) {
    static uint32_t dims[] = {2, 3};
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c = NULL;
    Qnn_GraphHandle_t g;
    float in[6] = {1, -2, 3, -4, 5, -6}, out[2][6];
    Qnn_Param_t type = number("type", QNN_GPU_MEM_OBJ_TYPE_IMAGE1D_BUFFER);
    Qnn_Tensor_t t[5];
    static const char *const names[] = {"x", "a", "y", "r", "z"};
    bool ok = qnn->backendCreate(NULL, NULL, &b) == QNN_SUCCESS;
    if (!ok)
        return false;
    ok =
        qnn->backendRegisterOpPackage(b, lib_path(PACKAGE), "form_provider", NULL) == QNN_SUCCESS &&
        qnn->contextCreate(b, NULL, NULL, &c) == QNN_SUCCESS &&
        qnn->graphCreate(c, "g", NULL, &g) == QNN_SUCCESS;
    for (int i = 0; i < 5 && ok; i++) {
        t[i] = describe(names[i],
                        i == 0       ? QNN_TENSOR_TYPE_APP_WRITE
                        : i % 2 == 0 ? QNN_TENSOR_TYPE_APP_READ
                                     : QNN_TENSOR_TYPE_NATIVE,
                        QNN_DATATYPE_FLOAT_32, 2, dims);
        ok = qnn->tensorCreateGraphTensor(g, &t[i]) == QNN_SUCCESS;
    }
    Qnn_OpConfig_t form = op_config("form", "forms", "Form", &t[0], 1, &t[1], 1);
    form.v1.numOfParams = 1;
    form.v1.params = &type;
    const char *own = QNN_OP_PACKAGE_NAME_QTI_AISW;
    ok = ok && qnn->graphAddNode(g, form) == QNN_SUCCESS &&
         qnn->graphAddNode(g, op_config("abs", own, "ElementWiseAbs", &t[1], 1, &t[2], 1)) ==
             QNN_SUCCESS &&
         qnn->graphAddNode(g, op_config("relu", own, "Relu", &t[0], 1, &t[3], 1)) == QNN_SUCCESS &&
         qnn->graphAddNode(g, op_config("neg", own, "ElementWiseNeg", &t[3], 1, &t[4], 1)) ==
             QNN_SUCCESS &&
         qnn->graphFinalize(g, NULL, NULL) == QNN_SUCCESS;
    if (ok) {
        Qnn_Tensor_t y[] = {t[2], t[4]};
        set_buffer(&t[0], in, sizeof in);
        set_buffer(&y[0], out[0], sizeof out[0]);
        set_buffer(&y[1], out[1], sizeof out[1]);
        ok = qnn->graphExecute(g, &t[0], 1, y, 2, NULL, NULL) == QNN_SUCCESS;
    }
    for (int i = 0; ok && i < 6; i++) {
        float v = 2 * in[i] + 1;
        assert_float_equal(out[0][i], v > 0 ? v : -v, 1e-6);
        assert_float_equal(out[1][i], in[i] > 0 ? -in[i] : 0, 1e-6);
    }
    if (c)
        GPU_OK(qnn->contextFree(c, NULL));
    GPU_OK(qnn->backendFree(b));
    return ok;
}

static void every_call_of_opencl_and_allocation_that_fails_leaves_nothing(void **state) {
    (void)state;
    gpu_table qnn = gpu_open();
    assert_true(live(&qnn));
    assert_true(live(&qnn));
    size_t before = qrn_alloc_live();
    unsigned n = 1, failed = 0;
    for (bool over = false; !over && n < 500; n++) {
        shim_begin(n);
        shim_announce("", NULL);
        failed += !live(&qnn);
        over = shim_left > 0;
        assert_int_equal(shim_live, 0);
        assert_int_equal(qrn_alloc_live(), before);
        shim_end();
    }
    assert_true(failed > 20 && n < 500);
    failed = 0;
    for (n = 1; n < 300; n += 5) { // a sample: each is a life of a backend
        qrn_alloc_fail_at(n, false);
        failed += !live(&qnn);
        qrn_alloc_fail_at(0, false);
        assert_int_equal(qrn_alloc_live(), before);
    }
    assert_true(failed > 10);
    assert_true(live(&qnn));
}

// --- the cache of programs

static const char *watched;
static unsigned n_built;

static cl_program count_text(cl_context c, cl_uint n, const char **text, const size_t *len,
                             cl_int *err) {
    n_built += strcmp(text[0], watched) == 0;
    return real.clCreateProgramWithSource(c, n, text, len, err);
}

static void run_in(const char *folder, const char *hash, unsigned built) {
    gpu_world w = begin();
    ((QnnGpuOpPackage_PackageInfo_t *)dlsym(library, "form_package_info"))->kernelRepoHash = hash;
    watched = dlsym(library, "form_text");
    QnnGpuContext_CustomConfig_t dir = {.option = QNN_GPU_CONTEXT_CONFIG_OPTION_KERNEL_REPO_DIR,
                                        .kernelRepoDir = folder};
    QnnContext_Config_t one = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &dir};
    const QnnContext_Config_t *list[] = {&one, NULL};
    GPU_OK(w.qnn.contextFree(w.context, NULL));
    GPU_OK(w.qnn.contextCreate(w.backend, NULL, list, &w.context));
    real = qrn_cl;
    n_built = 0;
    qrn_cl.clCreateProgramWithSource = count_text;
    chain c = {.rank = 1, .dims = {8}};
    build(&w, &c, "repo", op_config("", "", "Binary", NULL, 0, NULL, 0),
          QNN_OP_PACKAGE_NAME_QTI_AISW, "ElementWiseNeg");
    qrn_cl = real;
    check(&w, &c, -1, -1);
    assert_int_equal(n_built, built);
    gpu_end(&w);
}

static void krp_04_another_hash_of_a_package_is_another_program(void **state) {
    (void)state;
    char folder[] = "/tmp/quern-forms-XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    run_in(folder, "first", 1);
    run_in(folder, "first", 0);
    run_in(folder, "second", 1);
    run_in(folder, "second", 0);
    run_in(folder, NULL, 1);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SHIM_TEST(opp_04_every_layout_of_every_object_is_converted),
        SHIM_TEST(opp_03_aggregated_images_are_tiles_of_a_tensor),
        SHIM_TEST(opp_03_objects_may_share_memory),
        SHIM_TEST(opp_03_an_input_that_is_written_to_is_copied),
        SHIM_TEST(opp_03_dynamic_kernels_are_read_again_at_each_execution),
        SHIM_TEST(opp_03_arguments_have_every_type),
        SHIM_TEST(opp_03_kernels_may_be_binaries),
        SHIM_TEST(opp_03_an_output_that_no_kernel_writes_is_rejected),
        SHIM_TEST(opp_03_an_image_that_the_device_cannot_make_is_an_error),
        SHIM_TEST(every_call_of_opencl_and_allocation_that_fails_leaves_nothing),
        SHIM_TEST(opp_05_patterns_of_built_in_ops_have_constraints),
        SHIM_TEST(krp_04_another_hash_of_a_package_is_another_program),
    };
    return gpu_tests(tests);
}
