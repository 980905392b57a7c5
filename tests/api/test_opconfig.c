// SPDX-License-Identifier: MIT
//
// Op configurations: validateOpConfig and addNode look at the same op in the same way. Each case is
// given to both; they must agree on whether the op is good.
#include "build.h"

static Qnn_GraphHandle_t graph;
static uint32_t dims[4] = {1, 4, 4, 2}, pooled[4] = {1, 2, 2, 2}, two[1] = {2}, pads[2] = {2, 2};
static uint32_t filter[2] = {2, 2}, stride[2] = {2, 2}, pad[4] = {0, 0, 0, 0};

static int setup(void **state) {
    if (build_setup(state))
        return 1;
    return QnnGraph_create(context, "g", NULL, &graph) != QNN_SUCCESS;
}

#define VALIDATE(code, config)                                                                     \
    PAIR("QnnBackend_validateOpConfig", code, QnnBackend_validateOpConfig(backend, config))

// PoolAvg2d with its three tensor parameters.
typedef struct pool {
    Qnn_Tensor_t in, out;
    Qnn_Param_t params[4];
    Qnn_OpConfig_t config;
} pool;

static Qnn_Param_t tensor_param(const char *name, const char *tensor, uint32_t rank,
                                uint32_t *shape, const uint32_t *data, uint32_t bytes) {
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.paramType = QNN_PARAMTYPE_TENSOR;
    p.name = name;
    p.tensorParam = describe_static(tensor, QNN_DATATYPE_UINT_32, rank, shape, data, bytes);
    return p;
}

static void make_pool(pool *p) {
    p->in = describe("in", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 4, dims);
    p->out = describe("out", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 4, pooled);
    p->params[0] = tensor_param(QNN_OP_POOL_AVG_2D_PARAM_FILTER_SIZE, "f", 1, two, filter, 8);
    p->params[1] = tensor_param(QNN_OP_POOL_AVG_2D_PARAM_STRIDE, "s", 1, two, stride, 8);
    p->params[2] = tensor_param(QNN_OP_POOL_AVG_2D_PARAM_PAD_AMOUNT, "p", 2, pads, pad, 16);
    p->params[3] = (Qnn_Param_t)QNN_PARAM_INIT;
    p->params[3].paramType = QNN_PARAMTYPE_SCALAR;
    p->params[3].name = QNN_OP_POOL_AVG_2D_PARAM_ROUNDING_MODE;
    p->params[3].scalarParam.dataType = QNN_DATATYPE_UINT_32;
    p->params[3].scalarParam.uint32Value = QNN_OP_POOL_AVG_2D_ROUNDING_MODE_FLOOR;
    p->config = op("pool", QNN_OP_POOL_AVG_2D, &p->in, 1, &p->out, 1);
    p->config.v1.params = p->params;
    p->config.v1.numOfParams = 4;
}

// Makes the tensors, so that the same configuration can be added as a node.
static void create_pool(pool *p) {
    OK(QnnTensor_createGraphTensor(graph, &p->in));
    OK(QnnTensor_createGraphTensor(graph, &p->out));
    for (int i = 0; i < 3; i++)
        OK(QnnTensor_createGraphTensor(graph, &p->params[i].tensorParam));
}

static void a_good_op_passes_both_without_being_created_for_validation(void **state) {
    (void)state;
    pool p;
    make_pool(&p);
    OK(QnnBackend_validateOpConfig(backend, p.config)); // ids are 0 and not looked at
    p.in.v1.name = p.out.v1.name = NULL;                // nor are names
    OK(QnnBackend_validateOpConfig(backend, p.config));
    make_pool(&p);
    create_pool(&p);
    OK(QnnBackend_validateOpConfig(backend, p.config));
    OK(QnnGraph_addNode(graph, p.config));
}

typedef void (*spoil)(pool *p);
static void s_version(pool *p) { p->config.version = (Qnn_OpConfigVersion_t)2; }
static void s_no_name(pool *p) { p->config.v1.name = NULL; }
static void s_no_package(pool *p) { p->config.v1.packageName = NULL; }
static void s_no_type(pool *p) { p->config.v1.typeName = NULL; }
static void s_no_inputs(pool *p) { p->config.v1.numOfInputs = 0; }
static void s_null_inputs(pool *p) { p->config.v1.inputTensors = NULL; }
static void s_null_outputs(pool *p) { p->config.v1.outputTensors = NULL; }
static void s_null_params(pool *p) { p->config.v1.params = NULL; }
static void s_missing_param(pool *p) { p->config.v1.params++, p->config.v1.numOfParams--; }
static void s_unknown_param(pool *p) { p->params[3].name = "colour"; }
static void s_unnamed_param(pool *p) { p->params[3].name = NULL; }
static void s_twice(pool *p) { p->params[2] = p->params[1]; }
static void s_kind(pool *p) { p->params[3].paramType = (Qnn_ParamType_t)7; }
static void s_scalar_type(pool *p) { p->params[3].scalarParam.dataType = QNN_DATATYPE_FLOAT_16; }
static void s_enumerator(pool *p) { p->params[3].scalarParam.uint32Value = 99; }
static void s_null_text(pool *p) {
    p->params[3].scalarParam.dataType = QNN_DATATYPE_STRING;
    p->params[3].scalarParam.stringValue = NULL;
}
static void s_tensor_for_scalar(pool *p) {
    p->params[3] = p->params[0];
    p->params[3].name = QNN_OP_POOL_AVG_2D_PARAM_ROUNDING_MODE;
}

static void both_refuse_what_is_wrong_with_the_configuration(void **state) {
    (void)state;
    static const spoil spoils[] = {s_version,       s_no_name,          s_no_package,
                                   s_no_type,       s_no_inputs,        s_null_inputs,
                                   s_null_outputs,  s_null_params,      s_missing_param,
                                   s_unknown_param, s_unnamed_param,    s_twice,
                                   s_kind,          s_scalar_type,      s_enumerator,
                                   s_null_text,     s_tensor_for_scalar};
    pool good;
    make_pool(&good);
    create_pool(&good);
    for (size_t i = 0; i < N_OF(spoils); i++) {
        pool p = good;
        p.config.v1.inputTensors = &p.in;
        p.config.v1.outputTensors = &p.out;
        p.config.v1.params = p.params;
        spoils[i](&p);
        VALIDATE(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, p.config);
        PAIR("QnnGraph_addNode", QNN_GRAPH_ERROR_INVALID_OP_CONFIG,
             QnnGraph_addNode(graph, p.config));
    }
    OK(QnnGraph_addNode(graph, good.config)); // the failures left no trace
    assert_int_equal(graph_object(graph)->ir->n_nodes, 1);
}

static void both_refuse_wrong_shapes_and_types(void **state) {
    (void)state;
    static uint32_t wrong[4] = {1, 3, 2, 2};
    pool p;
    make_pool(&p);
    p.out.v1.dimensions = wrong;
    VALIDATE(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, p.config);
    create_pool(&p);
    PAIR("QnnGraph_addNode", QNN_GRAPH_ERROR_INVALID_OP_CONFIG, QnnGraph_addNode(graph, p.config));

    Qnn_Tensor_t b = describe("b", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_BOOL_8, 4, pooled);
    p.config.v1.outputTensors = &b;
    VALIDATE(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, p.config);
    OK(QnnTensor_createGraphTensor(graph, &b));
    PAIR("QnnGraph_addNode", QNN_GRAPH_ERROR_INVALID_OP_CONFIG, QnnGraph_addNode(graph, p.config));
}

static void unknown_ops_and_packages_are_told_apart_from_bad_ones(void **state) {
    (void)state;
    pool p;
    make_pool(&p);
    create_pool(&p);
    p.config.v1.typeName = "PoolAvg7d";
    VALIDATE(QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND, p.config);
    PAIR("QnnGraph_addNode", QNN_GRAPH_ERROR_INVALID_OP_CONFIG, QnnGraph_addNode(graph, p.config));
    p.config.v1.packageName = "fault.package";
    VALIDATE(QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND, p.config);
    fault_backend.package_find = NULL;
    VALIDATE(QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND, p.config);
    Qnn_BackendHandle_t bad[] = {NULL, context, graph};
    for (size_t i = 0; i < N_OF(bad); i++)
        PAIR("QnnBackend_validateOpConfig", QNN_BACKEND_ERROR_INVALID_HANDLE,
             QnnBackend_validateOpConfig(bad[i], p.config));
}

static void the_backend_has_the_last_word_on_types(void **state) {
    (void)state;
    static const qrn_support_operand only_u8[] = {{false, 0, QRN_SUPPORT_LAST, QRN_T(UQ8)}};
    static const qrn_support_alt alt = {only_u8, 1};
    static const qrn_support_row row = {.op = QNN_OP_POOL_AVG_2D,
                                        .config = "int8",
                                        .answer = QRN_ANSWER_YES,
                                        .alts = &alt,
                                        .n_alts = 1};
    static const qrn_support_table table = {
        .backend = "NARROW", .mode = QRN_SUPPORT_UNION, .rows = &row, .n_rows = 1};
    fault_backend.support = &table;
    pool p;
    make_pool(&p);
    create_pool(&p);
    VALIDATE(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, p.config);
    PAIR("QnnGraph_addNode", QNN_GRAPH_ERROR_INVALID_OP_CONFIG, QnnGraph_addNode(graph, p.config));
    Qnn_Tensor_t y = describe("y", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 4, dims);
    Qnn_OpConfig_t relu = op("r", QNN_OP_RELU, &p.in, 1, &y, 1);
    VALIDATE(QNN_BACKEND_ERROR_OP_PACKAGE_NOT_FOUND, relu); // not in the table at all
}

static void ops_of_user_packages_ask_the_package(void **state) {
    (void)state;
    OK(QnnBackend_registerOpPackage(backend, "lib.so", "provider", NULL));
    pool p;
    make_pool(&p);
    create_pool(&p);
    p.config.v1.packageName = "fault.package";
    p.config.v1.typeName = "FaultOp";
    p.params[3].name = "colour"; // parameters are the package's own business
    p.params[3].scalarParam.dataType = QNN_DATATYPE_STRING;
    p.params[3].scalarParam.stringValue = "red";
    OK(QnnBackend_validateOpConfig(backend, p.config));
    fault_status[FAULT_PACKAGE_VALIDATE] = QRN_E_OP_CONFIG;
    VALIDATE(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, p.config);
    PAIR("QnnGraph_addNode", QNN_GRAPH_ERROR_INVALID_OP_CONFIG, QnnGraph_addNode(graph, p.config));
    fault_status[FAULT_PACKAGE_VALIDATE] = QRN_E_UNSUPPORTED;
    VALIDATE(QNN_BACKEND_ERROR_NOT_SUPPORTED, p.config);
    PAIR("QnnGraph_addNode", QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE,
         QnnGraph_addNode(graph, p.config));
    fault_status[FAULT_PACKAGE_VALIDATE] = QRN_OK;
    p.params[3].name = NULL;
    VALIDATE(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, p.config);
    p.params[3].name = "colour";
    OK(QnnGraph_addNode(graph, p.config));
    const qrn_node *n = graph_object(graph)->ir->nodes[0];
    assert_null(n->op);
    assert_ptr_equal(n->user_op, &fault_backend);
    assert_int_equal(n->n_params, 4);
    assert_string_equal(n->param_names[3], "colour");
    assert_string_equal(n->params[3].value.s, "red");
    assert_int_equal(((const uint32_t *)n->params[0].tensor->data)[1], 2);
}

// Every scalar type arrives with its value; an op of a package keeps them as given.
static void scalars_of_all_types_are_read(void **state) {
    (void)state;
    OK(QnnBackend_registerOpPackage(backend, "lib.so", "provider", NULL));
    Qnn_Scalar_t s[] = {
        {QNN_DATATYPE_INT_8, {.int8Value = -3}},
        {QNN_DATATYPE_INT_16, {.int16Value = -300}},
        {QNN_DATATYPE_INT_32, {.int32Value = -70000}},
        {QNN_DATATYPE_INT_64, {.int64Value = INT64_MIN}},
        {QNN_DATATYPE_UINT_8, {.uint8Value = 200}},
        {QNN_DATATYPE_UINT_16, {.uint16Value = 65535}},
        {QNN_DATATYPE_UINT_32, {.uint32Value = 4000000000u}},
        {QNN_DATATYPE_UINT_64, {.uint64Value = UINT64_MAX}},
        {QNN_DATATYPE_BOOL_8, {.bool8Value = 7}},
        {QNN_DATATYPE_FLOAT_32, {.floatValue = 0.5f}},
        {QNN_DATATYPE_FLOAT_64, {.doubleValue = 1e300}},
        {QNN_DATATYPE_BFLOAT_16, {.bfloat16Value = (int16_t)0xC040}}, // -3
    };
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    Qnn_Param_t params[N_OF(s)];
    for (size_t i = 0; i < N_OF(s); i++) {
        params[i] = (Qnn_Param_t)QNN_PARAM_INIT;
        params[i].paramType = QNN_PARAMTYPE_SCALAR;
        params[i].name = names[i];
        params[i].scalarParam = s[i];
    }
    Qnn_OpConfig_t c = op("n", "FaultOp", NULL, 0, NULL, 0);
    c.v1.packageName = "fault.package";
    c.v1.params = params;
    c.v1.numOfParams = N_OF(s);
    OK(QnnGraph_addNode(graph, c));
    const qrn_param *p = graph_object(graph)->ir->nodes[0]->params;
    assert_true(p[0].value.i == -3 && p[1].value.i == -300 && p[2].value.i == -70000);
    assert_true(p[3].value.i == INT64_MIN && p[4].value.u == 200 && p[5].value.u == 65535);
    assert_true(p[6].value.u == 4000000000u && p[7].value.u == UINT64_MAX && p[8].value.u == 1);
    assert_true(p[9].value.f == 0.5 && p[10].value.f == 1e300 && p[11].value.f == -3.0);
}

static void bad_operands_are_bad_tensors_for_a_graph(void **state) {
    (void)state;
    pool p;
    make_pool(&p);
    create_pool(&p);
    Qnn_Tensor_t kept = p.in;
#define ADD_BAD()                                                                                  \
    PAIR("QnnGraph_addNode", QNN_GRAPH_ERROR_INVALID_TENSOR, QnnGraph_addNode(graph, p.config))
    p.in.v1.id = 0;
    ADD_BAD();
    p.in.v1.id = 99;
    ADD_BAD();
    p.in = kept;
    p.in.version = (Qnn_TensorVersion_t)9;
    ADD_BAD();
    VALIDATE(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, p.config);
    p.in = kept;
    p.params[0].tensorParam = p.in; // not static
    ADD_BAD();
    VALIDATE(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, p.config);
}

// Conv2d without bias, in the two ways of saying so.
static void absent_operands_are_null_tensors_or_left_off(void **state) {
    (void)state;
    static uint32_t id[4] = {1, 3, 3, 2}, fd[4] = {1, 1, 2, 3}, od[4] = {1, 3, 3, 3};
    static uint32_t one[2] = {1, 1}, zero[4] = {0};
    float w[6] = {0};
    Qnn_Tensor_t in[3] = {describe("x", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 4, id),
                          describe_static("w", QNN_DATATYPE_FLOAT_32, 4, fd, w, sizeof w),
                          describe(NULL, QNN_TENSOR_TYPE_NULL, QNN_DATATYPE_UNDEFINED, 0, NULL)};
    Qnn_Tensor_t out = describe("y", QNN_TENSOR_TYPE_APP_READ, QNN_DATATYPE_FLOAT_32, 4, od);
    Qnn_Param_t params[2] = {tensor_param(QNN_OP_CONV_2D_PARAM_STRIDE, "s", 1, two, one, 8),
                             tensor_param(QNN_OP_CONV_2D_PARAM_PAD_AMOUNT, "p", 2, pads, zero, 16)};
    for (uint32_t n_in = 2; n_in <= 3; n_in++) {
        Qnn_OpConfig_t c = op("conv", QNN_OP_CONV_2D, in, n_in, &out, 1);
        c.v1.params = params;
        c.v1.numOfParams = 2;
        OK(QnnBackend_validateOpConfig(backend, c));
    }
    for (int i = 0; i < 2; i++) {
        OK(QnnTensor_createGraphTensor(graph, &in[i]));
        OK(QnnTensor_createGraphTensor(graph, &params[i].tensorParam));
    }
    OK(QnnTensor_createGraphTensor(graph, &out));
    Qnn_OpConfig_t c = op("conv", QNN_OP_CONV_2D, in, 3, &out, 1);
    c.v1.params = params;
    c.v1.numOfParams = 2;
    OK(QnnGraph_addNode(graph, c)); // the placeholder was never created
    assert_null(graph_object(graph)->ir->nodes[0]->in[2]);
}

static void running_out_of_memory_is_reported(void **state) {
    (void)state;
    pool p;
    make_pool(&p);
    PAIR_MEM("QnnBackend_validateOpConfig", QNN_COMMON_ERROR_MEM_ALLOC,
             QnnBackend_validateOpConfig(backend, p.config));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, build_teardown)
        T(a_good_op_passes_both_without_being_created_for_validation),
        T(both_refuse_what_is_wrong_with_the_configuration),
        T(both_refuse_wrong_shapes_and_types),
        T(unknown_ops_and_packages_are_told_apart_from_bad_ones),
        T(the_backend_has_the_last_word_on_types),
        T(ops_of_user_packages_ask_the_package),
        T(scalars_of_all_types_are_read),
        T(bad_operands_are_bad_tensors_for_a_graph),
        T(absent_operands_are_null_tensors_or_left_off),
        T(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
