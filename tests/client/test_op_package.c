// SPDX-License-Identifier: MIT
//
// Op packages through the public API: the example package is registered from a file and from
// memory, validates, runs beside built-in ops, and every way of registering it wrongly has its
// code.
#include "qnn_client.h"

#define PROVIDER "ExampleOpPackage_provider"

typedef struct fixture {
    qnn_table qnn;
    void *lib;
    Qnn_BackendHandle_t backend;
} fixture;

static int set_up(void **state) {
    static fixture f;
    f.lib = open_library(&f.qnn);
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

static Qnn_ErrorHandle_t register_example(fixture *f) {
    return f->qnn.backendRegisterOpPackage(f->backend, lib_path("libExampleOpPackage.so"), PROVIDER,
                                           "CPU");
}

// y = relu(affine(cube(x))) with scale 2 and offset -3.
static void run_graph(fixture *f, const char *graph_name) {
    uint32_t dims[] = {2, 3};
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t g;
    assert_int_equal(f->qnn.contextCreate(f->backend, NULL, NULL, &context), QNN_SUCCESS);
    assert_int_equal(f->qnn.graphCreate(context, graph_name, NULL, &g), QNN_SUCCESS);
    Qnn_Tensor_t x = tensor(&f->qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, dims);
    Qnn_Tensor_t c = tensor(&f->qnn, g, "c", QNN_TENSOR_TYPE_NATIVE, 2, dims);
    Qnn_Tensor_t a = tensor(&f->qnn, g, "a", QNN_TENSOR_TYPE_NATIVE, 2, dims);
    Qnn_Tensor_t y = tensor(&f->qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 2, dims);
    Qnn_Param_t params[2] = {QNN_PARAM_INIT, QNN_PARAM_INIT};
    const char *names[2] = {"scale", "offset"};
    const float values[2] = {2.0f, -3.0f};
    for (int i = 0; i < 2; i++) {
        params[i].paramType = QNN_PARAMTYPE_SCALAR;
        params[i].name = names[i];
        params[i].scalarParam.dataType = QNN_DATATYPE_FLOAT_32;
        params[i].scalarParam.floatValue = values[i];
    }
    Qnn_OpConfig_t affine = op_config("affine", "example", "Affine", &c, 1, &a, 1);
    affine.v1.numOfParams = 2;
    affine.v1.params = params;
    Qnn_OpConfig_t cube = op_config("cube", "example", "Cube", &x, 1, &c, 1);
    assert_int_equal(f->qnn.backendValidateOpConfig(f->backend, cube), QNN_SUCCESS);
    assert_int_equal(f->qnn.graphAddNode(g, cube), QNN_SUCCESS);
    assert_int_equal(f->qnn.graphAddNode(g, affine), QNN_SUCCESS);
    node(&f->qnn, g, "relu", QNN_OP_RELU, &a, &y);
    assert_int_equal(f->qnn.graphFinalize(g, NULL, NULL), QNN_SUCCESS);
    float in[6] = {-2, -1, 0, 1, 2, 3}, out[6];
    set_buffer(&x, in, sizeof in);
    set_buffer(&y, out, sizeof out);
    for (int round = 0; round < 3; round++, in[0] += 1) {
        assert_int_equal(f->qnn.graphExecute(g, &x, 1, &y, 1, NULL, NULL), QNN_SUCCESS);
        for (int i = 0; i < 6; i++) {
            float want = 2 * in[i] * in[i] * in[i] - 3;
            assert_true(out[i] == (want > 0 ? want : 0));
        }
    }
    assert_int_equal(f->qnn.contextFree(context, NULL), QNN_SUCCESS);
}

static void a_package_from_a_file_runs(void **state) {
    fixture *f = *state;
    assert_int_equal(register_example(f), QNN_SUCCESS);
    run_graph(f, "from_file");
    assert_int_equal(register_example(f), QNN_BACKEND_ERROR_OP_PACKAGE_DUPLICATE);
    run_graph(f, "after_duplicate");
}

static void a_package_from_memory_runs(void **state) {
    fixture *f = *state;
    FILE *file = fopen(lib_path("libExampleOpPackage.so"), "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *image = malloc(size);
    assert_int_equal(fread(image, 1, size, file), size);
    fclose(file);
    assert_int_equal(
        f->qnn.backendRegisterOpPackageFromBinary(f->backend, image, size, PROVIDER, "CPU"),
        QNN_SUCCESS);
    memset(image, 0, size); // the buffer may go away
    free(image);
    run_graph(f, "from_memory");
}

static void two_backends_may_use_one_package(void **state) {
    fixture *f = *state, second = *f;
    assert_int_equal(register_example(f), QNN_SUCCESS);
    assert_int_equal(f->qnn.backendCreate(NULL, NULL, &second.backend), QNN_SUCCESS);
    assert_int_equal(register_example(&second), QNN_SUCCESS);
    run_graph(&second, "second");
    assert_int_equal(f->qnn.backendFree(second.backend), QNN_SUCCESS);
    run_graph(f, "first");
}

static void its_ops_are_listed(void **state) {
    fixture *f = *state;
    assert_int_equal(register_example(f), QNN_SUCCESS);
    uint32_t n = 0;
    const QnnBackend_OperationName_t *ops = NULL;
    assert_int_equal(f->qnn.backendGetSupportedOperations(f->backend, &n, &ops), QNN_SUCCESS);
    int found = 0;
    for (uint32_t i = 0; i < n; i++)
        found += strcmp(ops[i].packageName, "example") == 0 && ops[i].name[0] != '\0';
    assert_int_equal(found, 2);
    assert_true(n > 150);
}

static void what_is_wrong_is_refused(void **state) {
    fixture *f = *state;
    const char *path = lib_path("libExampleOpPackage.so");
    uint32_t dims[] = {4};
    Qnn_Tensor_t x = describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_INT_32, 1, dims);
    Qnn_Tensor_t y = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_INT_32, 1, dims);
    Qnn_OpConfig_t cube = op_config("cube", "example", "Cube", &x, 1, &y, 1);
    assert_int_equal(f->qnn.backendValidateOpConfig(f->backend, cube),
                     QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND);
    assert_int_equal(f->qnn.backendRegisterOpPackage(f->backend, path, "no_such_function", "CPU"),
                     QNN_BACKEND_ERROR_OP_PACKAGE_IF_PROVIDER_NOT_FOUND);
    assert_int_equal(f->qnn.backendRegisterOpPackage(f->backend, "/nowhere.so", PROVIDER, "CPU"),
                     QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND);
    assert_int_equal(
        f->qnn.backendRegisterOpPackageFromBinary(f->backend, dims, sizeof dims, PROVIDER, "CPU"),
        QNN_BACKEND_ERROR_OP_PACKAGE_LOAD_FROM_BUFFER_FAILED);
    assert_int_equal(register_example(f), QNN_SUCCESS);
    assert_int_equal(f->qnn.backendValidateOpConfig(f->backend, cube),
                     QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE); // its own check: floats only
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_package_from_a_file_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_package_from_memory_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_backends_may_use_one_package, set_up, tear_down),
        cmocka_unit_test_setup_teardown(its_ops_are_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
