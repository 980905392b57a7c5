// SPDX-License-Identifier: MIT
//
// Op packages on the HTP backend: which targets are supported, a graph of the example package's ops
// and built-in ones, and that graph in a context binary. The library is opened the way clients do
// it.
#include "../client/qnn_client.h"

#include "HTP/QnnHtpDevice.h"

#define PROVIDER "ExampleOpPackage_provider"

typedef struct fixture {
    void *lib;
    qnn_table qnn;
    Qnn_BackendHandle_t backend;
} fixture;

static int set_up(void **state) {
    static fixture f;
    f.lib = dlopen(lib_path("libQnnHtp.so"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(f.lib);
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnInterface_t ***, uint32_t *))dlsym(f.lib, "QnnInterface_getProviders");
    const QnnInterface_t **list;
    uint32_t n;
    assert_int_equal(get(&list, &n), QNN_SUCCESS);
    f.qnn = list[0]->QNN_INTERFACE_VER_NAME;
    assert_int_equal(f.qnn.backendCreate(NULL, NULL, &f.backend), QNN_SUCCESS);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    assert_int_equal(f->qnn.backendFree(f->backend), QNN_SUCCESS);
    dlclose(f->lib);
    return 0;
}

static Qnn_ErrorHandle_t register_for(const fixture *f, const char *file, const char *target) {
    return QNN_GET_ERROR_CODE(
        f->qnn.backendRegisterOpPackage(f->backend, lib_path(file), PROVIDER, target));
}

static void htp_api_02_targets_of_packages(void **state) {
    static const char *const good[] = {NULL, "CPU", "HTP", ""}; // "": none, as onnxruntime's has it
    static const char *const bad[] = {"cpu", "GPU", "HTP "};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(register_for(*state, "libExampleOpPackage.so", good[i]), QNN_SUCCESS);
        // What a target lists is what it was registered for.
        const fixture *f = *state;
        const QnnBackend_OperationName_t *ops;
        uint32_t n, found = 0;
        assert_int_equal(f->qnn.backendGetSupportedOperations(f->backend, &n, &ops), QNN_SUCCESS);
        for (uint32_t k = 0; k < n; k++)
            if (strcmp(ops[k].packageName, "example") == 0) {
                found++;
                bool named = good[i] && *good[i];
                assert_int_equal(ops[k].target != NULL, named);
                if (named)
                    assert_string_equal(ops[k].target, good[i]);
            }
        assert_int_equal(found, 2);
        tear_down(state);
        set_up(state);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(register_for(*state, "libExampleOpPackage.so", bad[i]),
                         QNN_BACKEND_ERROR_INVALID_ARGUMENT);
    assert_int_equal(QNN_BACKEND_ERROR_INVALID_ARGUMENT, 4004);
}

// A package for the accelerator's own processor is no library of this host.
static void a_package_that_does_not_load(void **state) {
    assert_int_equal(register_for(*state, "libNoSuchPackage.so", "HTP"),
                     QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND);
}

// y = relu(cube(x)).
static void ops_of_a_package_run_beside_built_in_ones(void **state) {
    fixture *f = *state;
    assert_int_equal(register_for(f, "libExampleOpPackage.so", NULL), QNN_SUCCESS);
    uint32_t dims[] = {2, 3};
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t g;
    assert_int_equal(f->qnn.contextCreate(f->backend, NULL, NULL, &context), QNN_SUCCESS);
    assert_int_equal(f->qnn.graphCreate(context, "g", NULL, &g), QNN_SUCCESS);
    Qnn_Tensor_t x = tensor(&f->qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, dims);
    Qnn_Tensor_t c = tensor(&f->qnn, g, "c", QNN_TENSOR_TYPE_NATIVE, 2, dims);
    Qnn_Tensor_t y = tensor(&f->qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 2, dims);
    Qnn_OpConfig_t cube = op_config("cube", "example", "Cube", &x, 1, &c, 1);
    assert_int_equal(f->qnn.backendValidateOpConfig(f->backend, cube), QNN_SUCCESS);
    assert_int_equal(f->qnn.graphAddNode(g, cube), QNN_SUCCESS);
    node(&f->qnn, g, "relu", QNN_OP_RELU, &c, &y);
    assert_int_equal(f->qnn.graphFinalize(g, NULL, NULL), QNN_SUCCESS);
    float in[6] = {-2, -1, 0, 1, 2, 3}, out[6];
    set_buffer(&x, in, sizeof in);
    set_buffer(&y, out, sizeof out);
    assert_int_equal(f->qnn.graphExecute(g, &x, 1, &y, 1, NULL, NULL), QNN_SUCCESS);
    for (int i = 0; i < 6; i++)
        assert_true(out[i] == (in[i] > 0 ? in[i] * in[i] * in[i] : 0));
    assert_int_equal(f->qnn.contextFree(context, NULL), QNN_SUCCESS);
}

// y = cube(cube(x)) on a chip that computes in halves: the package sees floats, and what it gives
// is rounded like any other result.
static void results_of_a_package_are_halves(void **state) {
    fixture *f = *state;
    enum { SM8750 = 69 };
    assert_int_equal(register_for(f, "libExampleOpPackage.so", NULL), QNN_SUCCESS);
    QnnHtpDevice_CustomConfig_t chip = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC,
                                        .socModel = SM8750};
    QnnDevice_Config_t config = {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &chip};
    const QnnDevice_Config_t *configs[] = {&config, NULL};
    uint32_t dims[] = {2, 3};
    Qnn_DeviceHandle_t device;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t g;
    assert_int_equal(f->qnn.deviceCreate(NULL, configs, &device), QNN_SUCCESS);
    assert_int_equal(f->qnn.contextCreate(f->backend, device, NULL, &context), QNN_SUCCESS);
    assert_int_equal(f->qnn.graphCreate(context, "g", NULL, &g), QNN_SUCCESS);
    Qnn_Tensor_t x = tensor(&f->qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, dims);
    Qnn_Tensor_t c = tensor(&f->qnn, g, "c", QNN_TENSOR_TYPE_NATIVE, 2, dims);
    Qnn_Tensor_t y = tensor(&f->qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 2, dims);
    Qnn_OpConfig_t first = op_config("first", "example", "Cube", &x, 1, &c, 1);
    Qnn_OpConfig_t second = op_config("second", "example", "Cube", &c, 1, &y, 1);
    assert_int_equal(f->qnn.graphAddNode(g, first), QNN_SUCCESS);
    assert_int_equal(f->qnn.graphAddNode(g, second), QNN_SUCCESS);
    assert_int_equal(f->qnn.graphFinalize(g, NULL, NULL), QNN_SUCCESS);
    float in[6] = {-2.3456789f, -1.1f, 0.1f, 1.2345678f, 2.71f, 0.7f}, out[6];
    set_buffer(&x, in, sizeof in);
    set_buffer(&y, out, sizeof out);
    assert_int_equal(f->qnn.graphExecute(g, &x, 1, &y, 1, NULL, NULL), QNN_SUCCESS);
    for (int i = 0; i < 6; i++) {
        float once = (float)(_Float16)in[i], cube = (float)(_Float16)(once * once * once);
        assert_true(out[i] == (float)(_Float16)(cube * cube * cube));
    }
    assert_int_equal(f->qnn.contextFree(context, NULL), QNN_SUCCESS);
    assert_int_equal(f->qnn.deviceFree(device), QNN_SUCCESS);
}

// y = relu(2 * cube(x) - 5), where 2 and -5 are parameters of the package's op.
static void *make_binary(fixture *f, Qnn_ContextBinarySize_t *size) {
    uint32_t dims[] = {2, 3};
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t g;
    assert_int_equal(register_for(f, "libExampleOpPackage.so", NULL), QNN_SUCCESS);
    assert_int_equal(f->qnn.contextCreate(f->backend, NULL, NULL, &context), QNN_SUCCESS);
    assert_int_equal(f->qnn.graphCreate(context, "g", NULL, &g), QNN_SUCCESS);
    Qnn_Tensor_t x = tensor(&f->qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, dims);
    Qnn_Tensor_t c = tensor(&f->qnn, g, "c", QNN_TENSOR_TYPE_NATIVE, 2, dims);
    Qnn_Tensor_t a = tensor(&f->qnn, g, "a", QNN_TENSOR_TYPE_NATIVE, 2, dims);
    Qnn_Tensor_t y = tensor(&f->qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 2, dims);
    Qnn_OpConfig_t affine = op_config("affine", "example", "Affine", &c, 1, &a, 1);
    Qnn_Param_t params[2] = {
        {.paramType = QNN_PARAMTYPE_SCALAR,
         .name = "offset",
         .scalarParam = {.dataType = QNN_DATATYPE_FLOAT_32, .floatValue = -5}},
        {.paramType = QNN_PARAMTYPE_SCALAR,
         .name = "scale",
         .scalarParam = {.dataType = QNN_DATATYPE_INT_32, .int32Value = 2}},
    };
    affine.v1.params = params;
    affine.v1.numOfParams = 2;
    assert_int_equal(f->qnn.graphAddNode(g, op_config("cube", "example", "Cube", &x, 1, &c, 1)),
                     QNN_SUCCESS);
    assert_int_equal(f->qnn.graphAddNode(g, affine), QNN_SUCCESS);
    node(&f->qnn, g, "relu", QNN_OP_RELU, &a, &y);
    assert_int_equal(f->qnn.graphFinalize(g, NULL, NULL), QNN_SUCCESS);
    assert_int_equal(f->qnn.contextGetBinarySize(context, size), QNN_SUCCESS);
    void *bytes = malloc(*size);
    assert_non_null(bytes);
    Qnn_ContextBinarySize_t written = 0;
    assert_int_equal(f->qnn.contextGetBinary(context, bytes, *size, &written), QNN_SUCCESS);
    assert_int_equal(written, *size);
    assert_int_equal(f->qnn.contextFree(context, NULL), QNN_SUCCESS);
    return bytes;
}

static char heard[4096]; // lines of the log

static void hear(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args) {
    (void)level, (void)time;
    size_t n = strlen(heard);
    vsnprintf(heard + n, sizeof heard - n, fmt, args);
}

// A new backend whose lines are heard.
static Qnn_BackendHandle_t fresh_backend(fixture *f, Qnn_LogHandle_t *log) {
    Qnn_BackendHandle_t b;
    heard[0] = 0;
    assert_int_equal(f->qnn.logCreate(hear, QNN_LOG_LEVEL_ERROR, log), QNN_SUCCESS);
    assert_int_equal(f->qnn.backendCreate(*log, NULL, &b), QNN_SUCCESS);
    return b;
}

static void a_binary_of_package_ops_runs_where_the_package_is_registered(void **state) {
    fixture *f = *state;
    Qnn_ContextBinarySize_t size = 0;
    void *bytes = make_binary(f, &size);
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t b = fresh_backend(f, &log);
    assert_int_equal(
        f->qnn.backendRegisterOpPackage(b, lib_path("libExampleOpPackage.so"), PROVIDER, NULL),
        QNN_SUCCESS);
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t g;
    assert_int_equal(f->qnn.contextCreateFromBinary(b, NULL, NULL, bytes, size, &context, NULL),
                     QNN_SUCCESS);
    assert_int_equal(f->qnn.graphRetrieve(context, "g", &g), QNN_SUCCESS);
    uint32_t dims[] = {2, 3};
    Qnn_Tensor_t x = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 2, dims);
    Qnn_Tensor_t y = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 2, dims);
    float in[6] = {-2, -1, 0, 1, 2, 3}, out[6];
    x.v1.id = 1;
    y.v1.id = 4;
    set_buffer(&x, in, sizeof in);
    set_buffer(&y, out, sizeof out);
    assert_int_equal(f->qnn.graphExecute(g, &x, 1, &y, 1, NULL, NULL), QNN_SUCCESS);
    for (int i = 0; i < 6; i++) {
        float want = 2 * in[i] * in[i] * in[i] - 5;
        assert_true(out[i] == (want > 0 ? want : 0));
    }
    assert_int_equal(f->qnn.contextFree(context, NULL), QNN_SUCCESS);
    assert_int_equal(f->qnn.backendFree(b), QNN_SUCCESS);
    assert_int_equal(f->qnn.logFree(log), QNN_SUCCESS);
    free(bytes);
}

static void expect_rejected(fixture *f, const char *package, const char *words) {
    Qnn_ContextBinarySize_t size = 0;
    void *bytes = make_binary(f, &size);
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t b = fresh_backend(f, &log);
    if (package)
        assert_int_equal(f->qnn.backendRegisterOpPackage(b, package, PROVIDER, NULL), QNN_SUCCESS);
    Qnn_ContextHandle_t context = NULL;
    assert_int_equal(QNN_GET_ERROR_CODE(f->qnn.contextCreateFromBinary(b, NULL, NULL, bytes, size,
                                                                       &context, NULL)),
                     QNN_CONTEXT_ERROR_CREATE_FROM_BINARY);
    assert_null(context);
    if (!strstr(heard, words))
        fail_msg("'%s' is not in the log: %s", words, heard);
    assert_int_equal(f->qnn.backendFree(b), QNN_SUCCESS);
    assert_int_equal(f->qnn.logFree(log), QNN_SUCCESS);
    free(bytes);
}

static void a_binary_names_the_package_that_is_missing(void **state) {
    expect_rejected(*state, NULL, "node 'cube': op 'Cube' of package 'example' is not registered");
}

static void a_package_validates_its_ops_of_a_binary(void **state) {
    expect_rejected(*state, getenv("QUERN_PICKY_PACKAGE"),
                    "node 'cube': op package 'example' rejects its op 'Cube'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(htp_api_02_targets_of_packages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_package_that_does_not_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ops_of_a_package_run_beside_built_in_ones, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(results_of_a_package_are_halves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_binary_of_package_ops_runs_where_the_package_is_registered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_binary_names_the_package_that_is_missing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_package_validates_its_ops_of_a_binary, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
