// SPDX-License-Identifier: MIT
//
// Contexts for trials: they take and refuse nodes like others, keep no weights, and say so when
// somebody wants to finalize.
#include "qnn_client.h"

#include "Quern/QuernBackend.h"

#include <stdbool.h>
#include <unistd.h>

#define OK(call) assert_int_equal(call, QNN_SUCCESS)

enum { IN = 4096, OUT = 2048, MB = 1 << 20 };

static qnn_table qnn;
static Qnn_BackendHandle_t backend;

static Qnn_ErrorHandle_t set_trials(uint32_t value) {
    QuernBackend_CustomConfig_t trials = {QUERN_BACKEND_CONFIG_MAGIC, QUERN_BACKEND_OPTION_TRIALS,
                                          value};
    QnnBackend_Config_t c = {.option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &trials};
    const QnnBackend_Config_t *list[] = {&c, NULL};
    return qnn.backendSetConfig(backend, list);
}

static Qnn_ContextHandle_t new_context(bool trial) {
    Qnn_ContextHandle_t c;
    OK(set_trials(trial));
    OK(qnn.contextCreate(backend, NULL, NULL, &c));
    OK(set_trials(0));
    return c;
}

static int setup(void **state) {
    (void)state;
    return qnn.backendCreate(NULL, NULL, &backend) != QNN_SUCCESS;
}

static int teardown(void **state) {
    (void)state;
    return qnn.backendFree(backend) != QNN_SUCCESS;
}

static long resident(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*d %ld", &pages), 1);
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

// x times 32 MB of weights; the result has `width` columns where OUT would be right.
static Qnn_ErrorHandle_t product(Qnn_GraphHandle_t g, const char *name, float *weights,
                                 uint32_t width) {
    uint32_t x_dims[] = {1, IN}, w_dims[] = {OUT, IN}, y_dims[] = {1, width};
    char names[3][32];
    for (int i = 0; i < 3; i++)
        snprintf(names[i], sizeof names[i], "%s%c", name, "xwy"[i]);
    Qnn_Tensor_t in[2] = {
        tensor(&qnn, g, names[0], QNN_TENSOR_TYPE_APP_WRITE, 2, x_dims),
        describe(names[1], QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 2, w_dims)};
    set_buffer(&in[1], weights, sizeof(float) * IN * OUT);
    OK(qnn.tensorCreateGraphTensor(g, &in[1]));
    Qnn_Tensor_t y = tensor(&qnn, g, names[2], QNN_TENSOR_TYPE_APP_READ, 2, y_dims);
    return qnn.graphAddNode(
        g, op_config(name, QNN_OP_PACKAGE_NAME_QTI_AISW, QNN_OP_FULLY_CONNECTED, in, 2, &y, 1));
}

static float *make_weights(void) {
    float *w = malloc(sizeof(float) * IN * OUT);
    assert_non_null(w);
    for (int i = 0; i < IN * OUT; i++)
        w[i] = (float)(i % 7);
    return w;
}

static void a_trial_copies_no_weights(void **state) {
    (void)state;
    float *w = make_weights();
    for (int trial = 0; trial < 2; trial++) {
        Qnn_ContextHandle_t c = new_context(trial);
        Qnn_GraphHandle_t g;
        OK(qnn.graphCreate(c, "g", NULL, &g));
        long before = resident();
        OK(product(g, "p", w, OUT));
        long grown = resident() - before;
        assert_true(trial ? grown < 4 * MB : grown > 28 * MB);
        assert_int_equal(qnn.graphFinalize(g, NULL, NULL),
                         trial ? QNN_GRAPH_ERROR_FINALIZE_FAILED : QNN_SUCCESS);
        OK(qnn.contextFree(c, NULL));
    }
    free(w);
}

static void a_trial_refuses_what_others_refuse(void **state) {
    (void)state;
    float *w = make_weights();
    Qnn_ErrorHandle_t answer[2];
    for (int trial = 0; trial < 2; trial++) {
        Qnn_ContextHandle_t c = new_context(trial);
        Qnn_GraphHandle_t g;
        OK(qnn.graphCreate(c, "g", NULL, &g));
        answer[trial] = product(g, "wrong", w, OUT - 1);
        OK(product(g, "right", w, OUT));
        OK(qnn.contextFree(c, NULL));
    }
    assert_int_not_equal(answer[0], QNN_SUCCESS);
    assert_int_equal(answer[0], answer[1]);
    free(w);
}

// Row 2000 of 4: the check of the op reads the indices, of which there are more than 4 KiB.
static void a_trial_looks_at_integers(void **state) {
    (void)state;
    static int32_t rows[2048] = {[2000] = 2000};
    uint32_t x_dims[] = {4, 2}, n[] = {2048}, y_dims[] = {2048, 2};
    for (int trial = 0; trial < 2; trial++) {
        Qnn_ContextHandle_t c = new_context(trial);
        Qnn_GraphHandle_t g;
        OK(qnn.graphCreate(c, "g", NULL, &g));
        Qnn_Tensor_t in[2] = {tensor(&qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 2, x_dims),
                              describe("rows", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_INT_32, 1, n)};
        set_buffer(&in[1], rows, sizeof rows);
        OK(qnn.tensorCreateGraphTensor(g, &in[1]));
        Qnn_Tensor_t y = tensor(&qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 2, y_dims);
        assert_int_not_equal(qnn.graphAddNode(g, op_config("gather", QNN_OP_PACKAGE_NAME_QTI_AISW,
                                                           QNN_OP_GATHER, in, 2, &y, 1)),
                             QNN_SUCCESS);
        OK(qnn.contextFree(c, NULL));
    }
}

static void the_option_is_0_or_1(void **state) {
    (void)state;
    assert_int_not_equal(set_trials(2), QNN_SUCCESS);
    float *w = make_weights();
    Qnn_ContextHandle_t c = new_context(false);
    Qnn_GraphHandle_t g;
    OK(qnn.graphCreate(c, "g", NULL, &g));
    OK(set_trials(1)); // comes too late for this one
    OK(product(g, "p", w, OUT));
    OK(qnn.graphFinalize(g, NULL, NULL));
    OK(qnn.contextFree(c, NULL));
    free(w);
}

int main(void) {
    void *lib = open_library(&qnn);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_trial_copies_no_weights, setup, teardown),
        cmocka_unit_test_setup_teardown(a_trial_refuses_what_others_refuse, setup, teardown),
        cmocka_unit_test_setup_teardown(a_trial_looks_at_integers, setup, teardown),
        cmocka_unit_test_setup_teardown(the_option_is_0_or_1, setup, teardown),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    dlclose(lib);
    return failed;
}
