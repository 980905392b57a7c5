// SPDX-License-Identifier: MIT
//
// The QNN client: opening libraries, building graphs, and what its errors say. Expected values are
// small enough to be worked out by hand.
#include "frontend/client/client.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char library[4096];

static qc_client *open_cpu(void) {
    qc_client *c = NULL;
    if (qc_open(library, NULL, &c) != QRN_OK)
        fail_msg("%s", qrn_message());
    return c;
}

static qc_tensor *tensor(qc_graph *g, const char *name, Qnn_TensorType_t type, uint32_t rank,
                         const uint32_t *dims, const float *data) {
    qc_tensor *t = NULL;
    size_t bytes = sizeof(float);
    for (uint32_t i = 0; i < rank; i++)
        bytes *= dims[i];
    qrn_status s = qc_tensor_create(g, name, type, QNN_DATATYPE_FLOAT_32, rank, dims, NULL, data,
                                    data ? bytes : 0, &t);
    if (s != QRN_OK)
        fail_msg("%s", qrn_message());
    return t;
}

// y[j, i] = relu(x[i, j] + b[j]), written as Add, Relu, Transpose; all names collide on purpose.
static qc_graph *build(qc_client *c, const char *name) {
    qc_graph *g = NULL;
    assert_int_equal(qc_graph_create(c, name, NULL, &g), QRN_OK);
    const uint32_t xy[] = {2, 3}, yx[] = {3, 2}, row[] = {3}, perm[] = {1, 0};
    const float b[] = {10, 20, -30};
    qc_tensor *x = tensor(g, "t", QNN_TENSOR_TYPE_APP_WRITE, 2, xy, NULL);
    qc_tensor *bias = tensor(g, "t", QNN_TENSOR_TYPE_STATIC, 1, row, b);
    qc_tensor *sum = tensor(g, "t", QNN_TENSOR_TYPE_NATIVE, 2, xy, NULL);
    qc_tensor *relu = tensor(g, "t", QNN_TENSOR_TYPE_NATIVE, 2, xy, NULL);
    qc_tensor *y = tensor(g, "t", QNN_TENSOR_TYPE_APP_READ, 2, yx, NULL);
    qc_op op;
    qc_op_begin(&op, g, "node", QNN_OP_ELEMENT_WISE_BINARY);
    qc_in(&op, x);
    qc_in(&op, bias);
    qc_out(&op, sum);
    qc_u32(&op, QNN_OP_ELEMENT_WISE_BINARY_PARAM_OPERATION,
           QNN_OP_ELEMENT_WISE_BINARY_OPERATION_ADD);
    assert_int_equal(qc_op_validate(&op), QRN_OK);
    assert_int_equal(qc_op_end(&op), QRN_OK);
    qc_op_begin(&op, g, "node", QNN_OP_RELU);
    qc_in(&op, sum);
    qc_out(&op, relu);
    assert_int_equal(qc_op_end(&op), QRN_OK);
    qc_op_begin(&op, g, "node", QNN_OP_TRANSPOSE);
    qc_in(&op, relu);
    qc_out(&op, y);
    qc_u32s(&op, QNN_OP_TRANSPOSE_PARAM_PERM, perm, 2);
    assert_int_equal(qc_op_validate(&op), QRN_OK);
    assert_int_equal(qc_op_end(&op), QRN_OK);
    assert_int_equal(g->n_nodes, 3);
    return g;
}

static const float graph_in[] = {1, 2, 3, 4, -50, 60};
static const float graph_out[] = {11, 14, 22, 0, 0, 30};

static void a_graph_built_node_by_node_computes(void **state) {
    (void)state;
    qc_client *c = open_cpu();
    assert_true(c->is_quern);
    qc_graph *g = build(c, "g");
    assert_int_equal(g->n_inputs, 1);
    assert_int_equal(g->n_outputs, 1);
    assert_int_equal(qc_tensor_bytes(g->inputs[0]), sizeof graph_in);
    assert_string_not_equal(g->inputs[0]->t.v1.name, g->outputs[0]->t.v1.name);
    assert_int_equal(qc_graph_finalize(g), QRN_OK);
    float y[6] = {0};
    assert_int_equal(qc_graph_execute(g, (const void *[]){graph_in}, (void *[]){y}), QRN_OK);
    assert_memory_equal(y, graph_out, sizeof y);
    qc_graph_destroy(g);
    qc_close(c);
}

static void *run_often(void *arg) {
    for (int i = 0; i < 100; i++) {
        float y[6] = {0};
        if (qc_graph_execute(arg, (const void *[]){graph_in}, (void *[]){y}) != QRN_OK ||
            memcmp(y, graph_out, sizeof y) != 0)
            return "wrong";
    }
    return NULL;
}

static void a_finalized_graph_runs_from_several_threads(void **state) {
    (void)state;
    qc_client *c = open_cpu();
    qc_graph *g = build(c, "g");
    assert_int_equal(qc_graph_finalize(g), QRN_OK);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, g), 0);
    for (int i = 0; i < 3; i++) {
        void *result = "not joined";
        pthread_join(threads[i], &result);
        assert_null(result);
    }
    qc_graph_destroy(g);
    qc_close(c);
}

static void more_ports_than_the_stack_holds_are_bound(void **state) {
    (void)state;
    qc_client *c = open_cpu();
    qc_graph *g = NULL;
    assert_int_equal(qc_graph_create(c, "wide", NULL, &g), QRN_OK);
    const uint32_t one[] = {1}, all[] = {40};
    float values[40], y[40] = {0};
    const void *in[40];
    qc_op op;
    qc_op_begin(&op, g, "join", QNN_OP_CONCAT);
    for (uint32_t i = 0; i < 40; i++) {
        qc_in(&op, tensor(g, "x", QNN_TENSOR_TYPE_APP_WRITE, 1, one, NULL));
        values[i] = (float)i;
        in[i] = &values[i];
    }
    qc_out(&op, tensor(g, "y", QNN_TENSOR_TYPE_APP_READ, 1, all, NULL));
    qc_u32(&op, QNN_OP_CONCAT_PARAM_AXIS, 0);
    assert_int_equal(qc_op_end(&op), QRN_OK);
    assert_int_equal(qc_graph_finalize(g), QRN_OK);
    assert_int_equal(qc_graph_execute(g, in, (void *[]){y}), QRN_OK);
    assert_memory_equal(y, values, sizeof y);
    qc_graph_destroy(g);
    qc_close(c);
}

static void an_op_keeps_its_first_failure(void **state) {
    (void)state;
    qc_client *c = open_cpu();
    qc_graph *g = NULL;
    assert_int_equal(qc_graph_create(c, "g", NULL, &g), QRN_OK);
    const uint32_t dims[] = {2};
    qc_tensor *x = tensor(g, "x", QNN_TENSOR_TYPE_APP_WRITE, 1, dims, NULL);
    qc_op op;
    qc_op_begin(&op, g, "wide", QNN_OP_CONCAT);
    for (int i = 0; i <= QC_MAX_OPERANDS; i++)
        qc_in(&op, x);
    qc_u32(&op, QNN_OP_CONCAT_PARAM_AXIS, 0);
    assert_int_equal(qc_op_validate(&op), QRN_E_UNSUPPORTED);
    assert_int_equal(qc_op_end(&op), QRN_E_UNSUPPORTED);
    assert_non_null(strstr(qrn_message(), "node 'wide' (Concat): more than 64 inputs"));
    assert_int_equal(op.n_params, 0);
    qc_graph_destroy(g);
    qc_close(c);
}

static void errors_carry_the_librarys_words(void **state) {
    (void)state;
    qc_client *c = open_cpu();
    qc_graph *g = NULL;
    assert_int_equal(qc_graph_create(c, "g", NULL, &g), QRN_OK);
    const uint32_t dims[] = {2}, perm[] = {5};
    qc_tensor *x = tensor(g, "x", QNN_TENSOR_TYPE_APP_WRITE, 1, dims, NULL);
    qc_tensor *y = tensor(g, "y", QNN_TENSOR_TYPE_APP_READ, 1, dims, NULL);
    qc_op op;
    qc_op_begin(&op, g, "turn", QNN_OP_TRANSPOSE);
    qc_in(&op, x);
    qc_out(&op, y);
    qc_u32s(&op, QNN_OP_TRANSPOSE_PARAM_PERM, perm, 1);
    assert_int_not_equal(qc_op_validate(&op), QRN_OK);
    assert_non_null(strstr(qrn_message(), "backendValidateOpConfig: error"));
    assert_non_null(strstr(qrn_message(), "perm"));
    assert_int_not_equal(qc_op_end(&op), QRN_OK);
    assert_non_null(strstr(qrn_message(), "graphAddNode: error"));
    assert_non_null(strstr(qrn_message(), "turn"));
    assert_int_equal(g->n_nodes, 0);
    const void *in[] = {graph_in};
    float out[2];
    assert_int_equal(qc_graph_execute(g, in, (void *[]){out}), QRN_E_NOT_FINALIZED);
    qc_graph_destroy(g);
    qc_close(c);
}

static void wrong_data_sizes_are_refused_before_the_library_reads(void **state) {
    (void)state;
    qc_client *c = open_cpu();
    qc_graph *g = NULL;
    assert_int_equal(qc_graph_create(c, "g", NULL, &g), QRN_OK);
    const uint32_t dims[] = {4}, many[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const float one[1] = {1};
    qc_tensor *t = NULL;
    assert_int_equal(qc_tensor_create(g, "w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 1,
                                      dims, NULL, one, sizeof one, &t),
                     QRN_E_ARGUMENT);
    assert_non_null(strstr(qrn_message(), "tensor 'w': 4 bytes of data, expected 16"));
    assert_int_equal(qc_tensor_create(g, "w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_32, 9,
                                      many, NULL, one, sizeof one, &t),
                     QRN_E_UNSUPPORTED);
    assert_null(t);
    qc_graph_destroy(g);
    qc_close(c);
}

// Per-axis weights whose encoding was on the caller's stack: the values must be those of the copy.
static void encodings_are_copied(void **state) {
    (void)state;
    qc_client *c = open_cpu();
    qc_graph *g = NULL;
    assert_int_equal(qc_graph_create(c, "g", NULL, &g), QRN_OK);
    const uint32_t dims[] = {2, 2};
    const int8_t data[] = {1, 2, 3, 4};
    Qnn_ScaleOffset_t pairs[] = {{0.5f, 0}, {0.25f, 0}};
    Qnn_QuantizeParams_t q = QNN_QUANTIZE_PARAMS_INIT;
    q.encodingDefinition = QNN_DEFINITION_DEFINED;
    q.quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
    q.axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){0, 2, pairs};
    qc_tensor *w = NULL;
    assert_int_equal(qc_tensor_create(g, "w", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_8,
                                      2, dims, &q, data, sizeof data, &w),
                     QRN_OK);
    pairs[0].scale = pairs[1].scale = 99;
    const Qnn_AxisScaleOffset_t *kept = &w->t.v1.quantizeParams.axisScaleOffsetEncoding;
    assert_ptr_not_equal(kept->scaleOffset, pairs);
    assert_true(kept->scaleOffset[0].scale == 0.5f && kept->scaleOffset[1].scale == 0.25f);
    assert_null(w->t.v1.clientBuf.data);
    qc_graph_destroy(g);
    qc_close(c);
}

static void what_cannot_be_opened_is_named(void **state) {
    (void)state;
    qc_client *c = NULL;
    assert_int_equal(qc_open("npu", NULL, &c), QRN_E_ARGUMENT);
    assert_non_null(strstr(qrn_message(), "backend 'npu': expected cpu, htp, gpu"));
    assert_int_equal(qc_open("./no/such/library.so", NULL, &c), QRN_E_NOT_FOUND);
    assert_non_null(strstr(qrn_message(), "no/such/library.so"));
    // A library, but not of this kind.
    Dl_info cmocka;
    assert_int_not_equal(dladdr((void *)(uintptr_t)&_fail, &cmocka), 0);
    assert_int_equal(qc_open(cmocka.dli_fname, NULL, &c), QRN_E_INCOMPATIBLE);
    assert_non_null(strstr(qrn_message(), "QnnInterface_getProviders"));
    assert_null(c);
    qc_close(NULL);
    qc_graph_destroy(NULL);
}

static void the_thread_option_reaches_the_library(void **state) {
    (void)state;
    qc_client *c = NULL;
    assert_int_equal(qc_open(library, &(qc_options){.n_threads = 2}, &c), QRN_OK);
    qc_close(c);
    c = NULL;
    assert_int_not_equal(qc_open(library, &(qc_options){.n_threads = 100000}, &c), QRN_OK);
    assert_non_null(strstr(qrn_message(), "backendCreate: error"));
    assert_null(c);
}

static int n_logged;
static void count_lines(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    (void)fmt, (void)level, (void)timestamp, (void)args;
    n_logged++;
}

static void the_log_callback_hears_failures(void **state) {
    (void)state;
    qc_client *c = NULL;
    qc_options opt = {.log = count_lines, .log_level = QNN_LOG_LEVEL_ERROR};
    assert_int_equal(qc_open(library, &opt, &c), QRN_OK);
    qc_graph *g = NULL;
    assert_int_not_equal(qc_graph_create(c, NULL, NULL, &g), QRN_OK);
    assert_true(n_logged > 0);
    assert_null(g);
    qc_close(c);
}

static void sizes_follow_the_type(void **state) {
    (void)state;
    qc_tensor t = {.rank = 2, .dims = {3, 3}};
    const struct {
        Qnn_DataType_t type;
        size_t bytes;
    } rows[] = {{QNN_DATATYPE_FLOAT_32, 36},      {QNN_DATATYPE_INT_64, 72},
                {QNN_DATATYPE_FLOAT_16, 18},      {QNN_DATATYPE_BFLOAT_16, 18},
                {QNN_DATATYPE_SFIXED_POINT_4, 5}, {QNN_DATATYPE_BOOL_8, 9}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        t.t.v1.dataType = rows[i].type;
        assert_int_equal(qc_tensor_bytes(&t), rows[i].bytes);
    }
    t.rank = 0;
    assert_int_equal(qc_tensor_count(&t), 1);
}

int main(void) {
    const char *dir = getenv("QUERN_LIB_DIR");
    snprintf(library, sizeof library, "%s/libQnnCpu.so", dir ? dir : ".");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_built_node_by_node_computes),
        cmocka_unit_test(a_finalized_graph_runs_from_several_threads),
        cmocka_unit_test(more_ports_than_the_stack_holds_are_bound),
        cmocka_unit_test(an_op_keeps_its_first_failure),
        cmocka_unit_test(errors_carry_the_librarys_words),
        cmocka_unit_test(wrong_data_sizes_are_refused_before_the_library_reads),
        cmocka_unit_test(encodings_are_copied),
        cmocka_unit_test(what_cannot_be_opened_is_named),
        cmocka_unit_test(the_thread_option_reaches_the_library),
        cmocka_unit_test(the_log_callback_hears_failures),
        cmocka_unit_test(sizes_follow_the_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
