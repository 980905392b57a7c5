// SPDX-License-Identifier: MIT
//
// Graph component up to finalize: names, options, connections, subgraphs, validation of whole
// graphs.
#include "build.h"

#include "core/profile.h"
#include "core/signal.h"

#define CREATE(code, ...) PAIR("QnnGraph_create", code, QnnGraph_create(__VA_ARGS__))

static void names_are_unique_in_a_context(void **state) {
    (void)state;
    Qnn_GraphHandle_t g = NULL, other = NULL, found = NULL;
    OK(QnnGraph_create(context, "a", NULL, &g));
    CREATE(QNN_GRAPH_ERROR_INVALID_NAME, context, "a", NULL, &other);
    CREATE(QNN_GRAPH_ERROR_INVALID_NAME, context, NULL, NULL, &other);
    CREATE(QNN_GRAPH_ERROR_INVALID_NAME, context, "", NULL, &other);
    CREATE(QNN_GRAPH_ERROR_INVALID_ARGUMENT, context, "b", NULL, NULL);
    assert_null(other);
    Qnn_ContextHandle_t bad[] = {NULL, FOREIGN, g, stale_context()};
    for (size_t i = 0; i < N_OF(bad); i++) {
        CREATE(QNN_GRAPH_ERROR_INVALID_HANDLE, bad[i], "b", NULL, &other);
        PAIR("QnnGraph_retrieve", QNN_GRAPH_ERROR_INVALID_HANDLE,
             QnnGraph_retrieve(bad[i], "a", &found));
    }
    OK(QnnGraph_create(context, "b", NULL, &other)); // the failures did not take the name
    OK(QnnGraph_retrieve(context, "a", &found));
    assert_ptr_equal(found, g);
    PAIR("QnnGraph_retrieve", QNN_GRAPH_ERROR_GRAPH_DOES_NOT_EXIST,
         QnnGraph_retrieve(context, "c", &found));
    PAIR("QnnGraph_retrieve", QNN_GRAPH_ERROR_INVALID_NAME,
         QnnGraph_retrieve(context, NULL, &found));
    PAIR("QnnGraph_retrieve", QNN_GRAPH_ERROR_INVALID_HANDLE,
         QnnGraph_retrieve(context, "a", NULL));
    assert_ptr_equal(found, g);
}

static void creation_fails_as_the_backend_says(void **state) {
    (void)state;
    Qnn_GraphHandle_t g = NULL;
    static const struct {
        qrn_status status;
        Qnn_ErrorHandle_t code;
    } rows[] = {{QRN_E_CREATE, QNN_GRAPH_ERROR_CREATE_FAILED},
                {QRN_E_UNSUPPORTED, QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE},
                {QRN_E_MEM, QNN_GRAPH_ERROR_MEM_ALLOC}};
    for (size_t i = 0; i < N_OF(rows); i++) {
        fault_status[FAULT_GRAPH_CREATE] = rows[i].status;
        CREATE(rows[i].code, context, "g", NULL, &g);
    }
    fault_reset();
    PAIR_MEM("QnnGraph_create", QNN_GRAPH_ERROR_MEM_ALLOC, QnnGraph_create(context, "g", NULL, &g));
    Qnn_GraphHandle_t sub = NULL;
    fault_status[FAULT_GRAPH_CREATE] = QRN_E_CREATE;
    PAIR("QnnGraph_createSubgraph", QNN_GRAPH_ERROR_CREATE_FAILED,
         QnnGraph_createSubgraph(g, "s", &sub));
    fault_reset();
    unsigned n = 1;
    for (Qnn_ErrorHandle_t code = 1; code != QNN_SUCCESS; n++) {
        qrn_alloc_fail_at(n, false);
        code = QnnGraph_createSubgraph(g, "s", &sub);
        qrn_alloc_fail_at(0, false);
        if (code != QNN_SUCCESS)
            PAIR("QnnGraph_createSubgraph", QNN_GRAPH_ERROR_MEM_ALLOC, code);
    }
    assert_true(n > 2);
    assert_int_equal(graph_object(g)->ir->n_subgraphs, 1);
}

static void contexts_from_binaries_take_no_graphs(void **state) {
    (void)state;
    Qnn_ContextHandle_t c = NULL;
    Qnn_GraphHandle_t g = NULL;
    OK(QnnContext_createFromBinary(backend, NULL, NULL, "binary", 6, &c, NULL));
    CREATE(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, c, "g", NULL, &g);
    OK(QnnGraph_retrieve(c, "loaded", &g));
    PAIR("QnnGraph_createSubgraph", QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED,
         QnnGraph_createSubgraph(g, "s", &g));
    OK(QnnContext_free(c, NULL));
}

static Qnn_ErrorHandle_t with_option(QnnGraph_Config_t option, Qnn_GraphHandle_t *g) {
    const QnnGraph_Config_t *list[] = {&option, NULL};
    return QnnGraph_create(context, "options", list, g);
}

static Qnn_ErrorHandle_t set_option(Qnn_GraphHandle_t g, QnnGraph_Config_t option) {
    const QnnGraph_Config_t *list[] = {&option, NULL};
    return QnnGraph_setConfig(g, list);
}

#define OPTION(o, ...) ((QnnGraph_Config_t){.option = QNN_GRAPH_CONFIG_OPTION_##o, __VA_ARGS__})

static void options_are_checked(void **state) {
    (void)state;
    Qnn_GraphHandle_t g = NULL;
    int custom = 0;
    const QnnGraph_Config_t bad[] = {
        {.option = (QnnGraph_ConfigOption_t)1},
        {.option = QNN_GRAPH_CONFIG_OPTION_UNDEFINED},
        OPTION(CUSTOM, .customConfig = NULL),
        OPTION(PRIORITY, .priority = (Qnn_Priority_t)42),
        OPTION(SET_PROFILING_STATE, .profilingState = (QnnGraph_ProfilingState_t)0),
        OPTION(PROFILE_HANDLE, .profileHandle = context),
    };
    for (size_t i = 0; i < N_OF(bad); i++)
        PAIR("QnnGraph_create", QNN_GRAPH_ERROR_INVALID_ARGUMENT, with_option(bad[i], &g));
    fault_backend.features = 0;
    fault_backend.graph_config = NULL;
    fault_backend.section_write = NULL;
    const QnnGraph_Config_t unsupported[] = {
        OPTION(CUSTOM, .customConfig = &custom),
        OPTION(PRIORITY, .priority = QNN_PRIORITY_HIGH),
        OPTION(SET_PROFILING_STATE, .profilingState = QNN_GRAPH_PROFILING_STATE_ENABLED),
        OPTION(SET_PROFILING_NUM_EXECUTIONS, .numProfilingExecutions = 2),
        OPTION(PROFILE_HANDLE, .profileHandle = NULL),
        OPTION(ENABLE_BINARY_SECTION_WEIGHTS_UPDATES, .enableBinarySectionWeightsUpdates = 1),
    };
    for (size_t i = 0; i < N_OF(unsupported); i++)
        PAIR("QnnGraph_create", QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE,
             with_option(unsupported[i], &g));
    assert_null(g);
    OK(with_option(OPTION(PRIORITY, .priority = QNN_PRIORITY_DEFAULT), &g));
    PAIR("QnnGraph_setConfig", QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE,
         set_option(g, OPTION(PRIORITY, .priority = QNN_PRIORITY_DEFAULT)));
    fault_reset();
    OK(set_option(g, OPTION(PRIORITY, .priority = QNN_PRIORITY_HIGH)));
    assert_int_equal(graph_object(g)->priority, QNN_PRIORITY_HIGH);
    PAIR("QnnGraph_setConfig", QNN_GRAPH_ERROR_INVALID_ARGUMENT, QnnGraph_setConfig(g, NULL));
    PAIR("QnnGraph_setConfig", QNN_GRAPH_ERROR_INVALID_ARGUMENT, set_option(g, bad[0]));
    PAIR("QnnGraph_setConfig", QNN_GRAPH_ERROR_INVALID_HANDLE, set_option(context, bad[0]));
}

static void the_last_option_wins_and_a_bad_one_changes_nothing(void **state) {
    (void)state;
    QnnGraph_Config_t high = OPTION(PRIORITY, .priority = QNN_PRIORITY_HIGH),
                      low = OPTION(PRIORITY, .priority = QNN_PRIORITY_LOW),
                      bad = OPTION(PRIORITY, .priority = (Qnn_Priority_t)1);
    const QnnGraph_Config_t *list[] = {&high, &low, NULL}, *spoiled[] = {&high, &bad, NULL};
    Qnn_GraphHandle_t g;
    OK(QnnGraph_create(context, "g", list, &g));
    assert_int_equal(graph_object(g)->priority, QNN_PRIORITY_LOW);
    PAIR("QnnGraph_setConfig", QNN_GRAPH_ERROR_INVALID_ARGUMENT, QnnGraph_setConfig(g, spoiled));
    assert_int_equal(graph_object(g)->priority, QNN_PRIORITY_LOW);
}

static void options_of_the_backend_are_handed_on(void **state) {
    (void)state;
    Qnn_GraphHandle_t g;
    int custom = 0;
    QnnGraph_Config_t option = OPTION(CUSTOM, .customConfig = &custom);
    OK(with_option(option, &g));
    assert_int_equal(fault_calls[FAULT_GRAPH_CONFIG], 1);
    fault_status[FAULT_GRAPH_CONFIG] = QRN_E_COMM;
    PAIR("QnnGraph_setConfig", QNN_COMMON_ERROR_SYSTEM_COMMUNICATION, set_option(g, option));
    fault_status[FAULT_GRAPH_CONFIG] = QRN_E_COMM_FATAL;
    PAIR("QnnGraph_setConfig", QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL, set_option(g, option));
    fault_reset();
    relu_graph r;
    relu_finalized(&r, "r", 4);
    PAIR("QnnGraph_setConfig", QNN_GRAPH_ERROR_GRAPH_FINALIZED, set_option(r.handle, option));
    OK(set_option(r.handle, OPTION(PRIORITY, .priority = QNN_PRIORITY_LOW))); // may change any time
}

static void a_profile_is_bound_to_one_graph(void **state) {
    (void)state;
    Qnn_ProfileHandle_t p;
    OK(QnnProfile_create(backend, QNN_PROFILE_LEVEL_BASIC, &p));
    Qnn_GraphHandle_t g, other = NULL;
    QnnGraph_Config_t bind = OPTION(PROFILE_HANDLE, .profileHandle = p);
    OK(with_option(bind, &g));
    const QnnGraph_Config_t *list[] = {&bind, NULL};
    PAIR("QnnGraph_create", QNN_GRAPH_ERROR_PROFILE_IN_USE,
         QnnGraph_create(context, "other", list, &other));
    OK(QnnGraph_create(context, "other", NULL, &other));
    PAIR("QnnGraph_setConfig", QNN_GRAPH_ERROR_PROFILE_IN_USE, set_option(other, bind));
    OK(set_option(g, bind)); // once more the same
    PAIR("QnnGraph_finalize", QNN_GRAPH_ERROR_INVALID_ARGUMENT, QnnGraph_finalize(g, p, NULL));
    PAIR("QnnGraph_finalize", QNN_GRAPH_ERROR_SET_PROFILE, QnnGraph_finalize(other, context, NULL));
    relu_graph r;
    relu_build(&r, "r", 4);
    PAIR("QnnGraph_finalize", QNN_GRAPH_ERROR_SET_PROFILE, QnnGraph_finalize(r.handle, p, NULL));
    assert_int_not_equal(QnnProfile_free(p), QNN_SUCCESS); // still bound
    OK(QnnContext_free(context, NULL));
    context = NULL;
    OK(QnnProfile_free(p));
}

static void properties_come_from_the_backend(void **state) {
    (void)state;
    Qnn_GraphHandle_t g;
    OK(QnnGraph_create(context, "g", NULL, &g));
    QnnGraph_Property_t p = {.option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM}, *list[] = {&p, NULL};
    OK(QnnGraph_getProperty(g, list));
    assert_int_equal(fault_calls[FAULT_GRAPH_PROPERTY], 1);
    PAIR("QnnGraph_getProperty", QNN_GRAPH_ERROR_INVALID_HANDLE, QnnGraph_getProperty(NULL, list));
    PAIR("QnnGraph_getProperty", QNN_GRAPH_ERROR_INVALID_ARGUMENT, QnnGraph_getProperty(g, NULL));
    p.option = QNN_GRAPH_PROPERTY_OPTION_UNDEFINED;
    PAIR("QnnGraph_getProperty", QNN_GRAPH_ERROR_INVALID_ARGUMENT, QnnGraph_getProperty(g, list));
    p.option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM;
    fault_backend.graph_property = NULL;
    PAIR("QnnGraph_getProperty", QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE,
         QnnGraph_getProperty(g, list));
}

static uint32_t dims[1] = {4}, one_dim[1] = {1};

static Qnn_Tensor_t made(Qnn_GraphHandle_t g, const char *name, Qnn_TensorType_t type) {
    Qnn_Tensor_t t = describe(name, type, QNN_DATATYPE_FLOAT_32, 1, dims);
    OK(QnnTensor_createGraphTensor(g, &t));
    return t;
}

#define ADD(code, g, ...) PAIR("QnnGraph_addNode", code, QnnGraph_addNode(g, op(__VA_ARGS__)))

static void nodes_come_after_their_producers(void **state) {
    (void)state;
    Qnn_GraphHandle_t g;
    OK(QnnGraph_create(context, "g", NULL, &g));
    Qnn_Tensor_t x = made(g, "x", QNN_TENSOR_TYPE_APP_WRITE),
                 m = made(g, "m", QNN_TENSOR_TYPE_NATIVE),
                 y = made(g, "y", QNN_TENSOR_TYPE_APP_READ),
                 z = made(g, "z", QNN_TENSOR_TYPE_APP_READ);
    ADD(QNN_GRAPH_ERROR_UNCONNECTED_NODE, g, "late", QNN_OP_RELU, &m, 1, &y, 1);
    ADD(QNN_GRAPH_ERROR_UNCONNECTED_NODE, g, "late", QNN_OP_RELU, &y, 1, &z, 1);
    OK(QnnGraph_addNode(g, op("first", QNN_OP_RELU, &x, 1, &m, 1)));
    OK(QnnGraph_addNode(g, op("second", QNN_OP_RELU, &m, 1, &y, 1)));
    OK(QnnGraph_addNode(g, op("third", QNN_OP_RELU, &y, 1, &z, 1))); // an output may be read
    ADD(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, g, "twice", QNN_OP_RELU, &x, 1, &m, 1);
    ADD(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, g, "to input", QNN_OP_RELU, &m, 1, &x, 1);
    PAIR("QnnGraph_addNode", QNN_GRAPH_ERROR_INVALID_HANDLE,
         QnnGraph_addNode(context, op("n", QNN_OP_RELU, &x, 1, &m, 1)));
    OK(QnnGraph_finalize(g, NULL, NULL));
    ADD(QNN_GRAPH_ERROR_GRAPH_FINALIZED, g, "late", QNN_OP_RELU, &x, 1, &m, 1);
}

// y = cond ? relu(x) : -x, with both branches writing the parent's y.
typedef struct if_graph {
    Qnn_GraphHandle_t g, then_g, else_g;
    Qnn_Tensor_t x, cond, y, z;
    Qnn_Param_t params[2];
    Qnn_OpConfig_t config;
} if_graph;

static void make_if(if_graph *f) {
    OK(QnnGraph_create(context, "main", NULL, &f->g));
    OK(QnnGraph_createSubgraph(f->g, "then", &f->then_g));
    OK(QnnGraph_createSubgraph(f->g, "else", &f->else_g));
    f->x = made(f->g, "x", QNN_TENSOR_TYPE_APP_WRITE);
    f->cond = describe("cond", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_BOOL_8, 1, one_dim);
    OK(QnnTensor_createGraphTensor(f->g, &f->cond));
    f->y = made(f->g, "y", QNN_TENSOR_TYPE_NATIVE);
    f->z = made(f->g, "z", QNN_TENSOR_TYPE_APP_READ);
    const char *names[2] = {"then", "else"};
    for (int i = 0; i < 2; i++) {
        f->params[i] = (Qnn_Param_t)QNN_PARAM_INIT;
        f->params[i].paramType = QNN_PARAMTYPE_SCALAR;
        f->params[i].name = i ? QNN_OP_IF_PARAM_ELSE_GRAPH : QNN_OP_IF_PARAM_THEN_GRAPH;
        f->params[i].scalarParam.dataType = QNN_DATATYPE_STRING;
        f->params[i].scalarParam.stringValue = names[i];
    }
    f->config = op("if", QNN_OP_IF, &f->cond, 1, NULL, 0);
    f->config.v1.params = f->params;
    f->config.v1.numOfParams = 2;
}

static void run_if(if_graph *f, bool cond, float want) {
    uint8_t flag = cond;
    float x[4] = {-2, -2, -2, -2}, z[4] = {9, 9, 9, 9};
    Qnn_Tensor_t in[2] = {f->cond, f->x};
    in[0].v1.clientBuf = (Qnn_ClientBuffer_t){&flag, 1};
    in[1].v1.clientBuf = (Qnn_ClientBuffer_t){x, sizeof x};
    f->z.v1.clientBuf = (Qnn_ClientBuffer_t){z, sizeof z};
    OK(QnnGraph_execute(f->g, in, 2, &f->z, 1, NULL, NULL));
    assert_true(z[0] == want && z[3] == want);
}

static void branches_write_tensors_of_the_parent(void **state) {
    (void)state;
    for (int late = 0; late < 2; late++) { // the If before or after the nodes of its branches
        if_graph f;
        make_if(&f);
        if (late)
            OK(QnnGraph_addNode(f.g, f.config));
        OK(QnnGraph_addNode(f.then_g, op("relu", QNN_OP_RELU, &f.x, 1, &f.y, 1)));
        if (!late) // written, but only inside a branch that nobody runs yet
            ADD(QNN_GRAPH_ERROR_UNCONNECTED_NODE, f.g, "early", QNN_OP_RELU, &f.y, 1, &f.z, 1);
        OK(QnnGraph_addNode(f.else_g, op("neg", QNN_OP_ELEMENT_WISE_NEG, &f.x, 1, &f.y, 1)));
        if (!late)
            OK(QnnGraph_addNode(f.g, f.config));
        assert_string_equal(tensor_object(f.y.v1.id)->producer->name, "if");
        ADD(QNN_GRAPH_ERROR_INVALID_OP_CONFIG, f.g, "again", QNN_OP_RELU, &f.x, 1, &f.y, 1);
        OK(QnnGraph_addNode(f.g, op("neg", QNN_OP_ELEMENT_WISE_NEG, &f.y, 1, &f.z, 1)));
        OK(QnnGraph_finalize(f.g, NULL, NULL));
        run_if(&f, true, 0.0f);
        run_if(&f, false, -2.0f);
        OK(QnnContext_free(context, NULL));
        OK(QnnContext_create(backend, NULL, NULL, &context));
    }
}

static void a_branch_sees_its_own_tensors_and_those_around_it(void **state) {
    (void)state;
    if_graph f;
    make_if(&f);
    Qnn_Tensor_t in_then = made(f.then_g, "t", QNN_TENSOR_TYPE_NATIVE),
                 in_else = made(f.else_g, "t", QNN_TENSOR_TYPE_NATIVE);
    OK(QnnGraph_addNode(f.then_g, op("a", QNN_OP_RELU, &f.x, 1, &in_then, 1)));
    OK(QnnGraph_addNode(f.then_g, op("b", QNN_OP_RELU, &in_then, 1, &f.y, 1)));
    ADD(QNN_GRAPH_ERROR_INVALID_TENSOR, f.else_g, "c", QNN_OP_RELU, &in_then, 1, &f.y, 1);
    ADD(QNN_GRAPH_ERROR_UNCONNECTED_NODE, f.else_g, "d", QNN_OP_RELU, &f.y, 1, &in_else, 1);
    OK(QnnGraph_addNode(f.else_g, op("e", QNN_OP_RELU, &f.x, 1, &f.y, 1)));
    OK(QnnGraph_addNode(f.else_g, op("g", QNN_OP_RELU, &f.y, 1, &in_else, 1)));
    // The then-branch still reads its own y, although the else-branch wrote last.
    Qnn_Tensor_t more = made(f.then_g, "more", QNN_TENSOR_TYPE_NATIVE);
    OK(QnnGraph_addNode(f.then_g, op("h", QNN_OP_RELU, &f.y, 1, &more, 1)));
    f.params[0].scalarParam.stringValue = "nowhere";
    PAIR("QnnGraph_addNode", QNN_GRAPH_ERROR_INVALID_OP_CONFIG, QnnGraph_addNode(f.g, f.config));
    // What the parent wrote before is not written again in a branch.
    Qnn_Tensor_t q = made(f.g, "q", QNN_TENSOR_TYPE_NATIVE);
    OK(QnnGraph_addNode(f.g, op("q", QNN_OP_RELU, &f.x, 1, &q, 1)));
    ADD(QNN_GRAPH_ERROR_INVALID_TENSOR, f.then_g, "i", QNN_OP_RELU, &f.x, 1, &q, 1);
}

static void a_branch_inside_a_branch_reaches_the_outermost_graph(void **state) {
    (void)state;
    if_graph f;
    make_if(&f);
    Qnn_GraphHandle_t inner;
    OK(QnnGraph_createSubgraph(f.then_g, "inner", &inner));
    OK(QnnGraph_addNode(inner, op("relu", QNN_OP_RELU, &f.x, 1, &f.y, 1)));
    OK(QnnGraph_addNode(f.else_g, op("neg", QNN_OP_ELEMENT_WISE_NEG, &f.x, 1, &f.y, 1)));
    Qnn_OpConfig_t nested = f.config;
    Qnn_Param_t only = f.params[0];
    only.scalarParam.stringValue = "inner";
    nested.v1.name = "inner if";
    nested.v1.params = &only;
    nested.v1.numOfParams = 1;
    OK(QnnGraph_addNode(f.then_g, nested));
    OK(QnnGraph_addNode(f.g, f.config));
    assert_string_equal(tensor_object(f.y.v1.id)->producer->name, "if");
    OK(QnnGraph_addNode(f.g, op("copy", QNN_OP_ELEMENT_WISE_NEG, &f.y, 1, &f.z, 1)));
    OK(QnnGraph_finalize(f.g, NULL, NULL));
    run_if(&f, true, 0.0f);
    run_if(&f, false, -2.0f);
}

static void subgraphs_are_not_graphs_by_themselves(void **state) {
    (void)state;
    if_graph f;
    make_if(&f);
    Qnn_GraphHandle_t h = NULL;
#define SUB(function, call) PAIR(function, QNN_GRAPH_ERROR_SUBGRAPH, call)
    SUB("QnnGraph_finalize", QnnGraph_finalize(f.then_g, NULL, NULL));
    SUB("QnnGraph_retrieve", QnnGraph_retrieve(context, "then", &h));
    SUB("QnnGraph_setConfig", set_option(f.then_g, OPTION(PRIORITY, .priority = QNN_PRIORITY_LOW)));
    SUB("QnnGraph_execute", QnnGraph_execute(f.then_g, NULL, 0, NULL, 0, NULL, NULL));
    SUB("QnnGraph_executeAsync",
        QnnGraph_executeAsync(f.then_g, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL));
    Qnn_Tensor_t app = describe("a", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_32, 1, dims);
    PAIR("QnnTensor_createGraphTensor", QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM,
         QnnTensor_createGraphTensor(f.then_g, &app));
#define MAKE(code, ...) PAIR("QnnGraph_createSubgraph", code, QnnGraph_createSubgraph(__VA_ARGS__))
    MAKE(QNN_GRAPH_ERROR_INVALID_NAME, f.g, "then", &h);
    MAKE(QNN_GRAPH_ERROR_INVALID_NAME, f.g, "main", &h);
    MAKE(QNN_GRAPH_ERROR_INVALID_NAME, f.g, NULL, &h);
    MAKE(QNN_GRAPH_ERROR_INVALID_ARGUMENT, f.g, "s", NULL);
    MAKE(QNN_GRAPH_ERROR_INVALID_HANDLE, context, "s", &h);
    fault_backend.features = 0;
    MAKE(QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE, f.g, "s", &h);
    assert_null(h);
}

static void validate_tells_about_each_node(void **state) {
    (void)state;
    relu_graph r;
    relu_build(&r, "r", 4);
    QnnGraph_ValidationResult_t *v = NULL;
    OK(QnnGraph_validate(r.handle, NULL, &v));
    assert_int_equal(v->numResults, 1);
    assert_int_equal(v->overallStatus, QNN_SUCCESS);
    assert_string_equal(v->results[0].nodeName, "relu");
    assert_int_equal(v->results[0].status, QNN_GRAPH_NODE_VALIDATION_STATUS_SUPPORTED);
    OK(QnnGraph_freeValidationResult(v));
    // The same graph on a backend that lacks the op.
    static const qrn_support_table none = {.backend = "NONE", .mode = QRN_SUPPORT_UNION};
    fault_backend.support = &none;
    OK(QnnGraph_validate(r.handle, NULL, &v));
    assert_int_equal(v->results[0].status, QNN_GRAPH_NODE_VALIDATION_STATUS_UNSUPPORTED);
    assert_int_equal(v->results[0].errorCode, QNN_GRAPH_ERROR_INVALID_OP_CONFIG);
    assert_int_equal(v->overallStatus, QNN_GRAPH_ERROR_INVALID_OP_CONFIG);
    assert_non_null(strstr(v->results[0].errorMessage, "relu"));
    QnnGraph_ValidationResult_t copy = *v;
    PAIR("QnnGraph_freeValidationResult", QNN_GRAPH_ERROR_INVALID_ARGUMENT,
         QnnGraph_freeValidationResult(&copy));
    OK(QnnGraph_freeValidationResult(v));
    PAIR("QnnGraph_freeValidationResult", QNN_GRAPH_ERROR_INVALID_ARGUMENT,
         QnnGraph_freeValidationResult(v)); // once is enough
    PAIR("QnnGraph_freeValidationResult", QNN_GRAPH_ERROR_INVALID_ARGUMENT,
         QnnGraph_freeValidationResult(NULL));
}

static void validate_refuses_what_it_cannot_look_at(void **state) {
    (void)state;
    relu_graph r;
    QnnGraph_ValidationResult_t *v = NULL;
    Qnn_GraphHandle_t empty;
    OK(QnnGraph_create(context, "empty", NULL, &empty));
#define VALIDATE(code, ...) PAIR("QnnGraph_validate", code, QnnGraph_validate(__VA_ARGS__))
    VALIDATE(QNN_GRAPH_ERROR_INVALID_ARGUMENT, empty, NULL, &v);
    VALIDATE(QNN_GRAPH_ERROR_INVALID_HANDLE, context, NULL, &v);
    relu_build(&r, "r", 4);
    VALIDATE(QNN_GRAPH_ERROR_INVALID_ARGUMENT, r.handle, NULL, NULL);
    QnnGraph_ValidateConfig_t option = {.option = QNN_GRAPH_VALIDATE_OPTION_UNDEFINED};
    const QnnGraph_ValidateConfig_t *list[] = {&option, NULL};
    VALIDATE(QNN_GRAPH_ERROR_INVALID_ARGUMENT, r.handle, list, &v);
    option.option = QNN_GRAPH_VALIDATE_OPTION_CUSTOM;
    VALIDATE(QNN_GRAPH_ERROR_INVALID_ARGUMENT, r.handle, list, &v);
    option.customConfig = &option;
    VALIDATE(QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE, r.handle, list, &v);
    PAIR_MEM("QnnGraph_validate", QNN_COMMON_ERROR_MEM_ALLOC,
             QnnGraph_validate(r.handle, NULL, &v));
    OK(QnnGraph_freeValidationResult(v));
    Qnn_Tensor_t idle = made(r.handle, "idle", QNN_TENSOR_TYPE_APP_READ);
    VALIDATE(QNN_GRAPH_ERROR_UNCONNECTED_NODE, r.handle, NULL, &v); // nobody writes "idle"
    PAIR("QnnGraph_finalize", QNN_GRAPH_ERROR_FINALIZE_FAILED,
         QnnGraph_finalize(r.handle, NULL, NULL));
    OK(QnnGraph_addNode(r.handle, op("n", QNN_OP_RELU, &r.x, 1, &idle, 1)));
    OK(QnnGraph_finalize(r.handle, NULL, NULL));
    VALIDATE(QNN_GRAPH_ERROR_GRAPH_FINALIZED, r.handle, NULL, &v);
    fault_backend.features = 0;
    VALIDATE(QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE, empty, NULL, &v);
}

static Qnn_SignalHandle_t timeout_signal(uint64_t us) {
    QnnSignal_Config_t option = {.option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT,
                                 .timeoutDurationUs = us};
    const QnnSignal_Config_t *list[] = {&option, NULL};
    Qnn_SignalHandle_t s;
    OK(QnnSignal_create(backend, list, &s));
    return s;
}

#define FINALIZE(code, ...) PAIR("QnnGraph_finalize", code, QnnGraph_finalize(__VA_ARGS__))

static void finalize_fails_as_documented_and_can_be_tried_again(void **state) {
    (void)state;
    Qnn_GraphHandle_t empty;
    OK(QnnGraph_create(context, "empty", NULL, &empty));
    FINALIZE(QNN_GRAPH_ERROR_FINALIZE_FAILED, empty, NULL, NULL);
    FINALIZE(QNN_GRAPH_ERROR_INVALID_HANDLE, NULL, NULL, NULL);
    relu_graph r;
    relu_build(&r, "r", 4);
    static const struct {
        qrn_status status;
        Qnn_ErrorHandle_t code;
    } rows[] = {{QRN_E_CREATE, QNN_GRAPH_ERROR_CREATE_FAILED},
                {QRN_E_OPTIMIZE, QNN_GRAPH_ERROR_OPTIMIZATION_FAILED},
                {QRN_E_FINALIZE, QNN_GRAPH_ERROR_FINALIZE_FAILED},
                {QRN_E_SHAPE, QNN_GRAPH_ERROR_FINALIZE_FAILED},
                {QRN_E_GENERAL, QNN_GRAPH_ERROR_FINALIZE_FAILED},
                {QRN_E_ABORTED, QNN_GRAPH_ERROR_ABORTED},
                {QRN_E_COMM, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION},
                {QRN_E_COMM_FATAL, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL}};
    for (size_t i = 0; i < N_OF(rows); i++) {
        fault_status[FAULT_GRAPH_FINALIZE] = rows[i].status;
        FINALIZE(rows[i].code, r.handle, NULL, NULL);
    }
    fault_reset();
    FINALIZE(QNN_GRAPH_ERROR_INVALID_ARGUMENT, r.handle, NULL, context); // no signal
    Qnn_SignalHandle_t s = timeout_signal(0);
    FINALIZE(QNN_GRAPH_ERROR_TIMED_OUT, r.handle, NULL, s);
    qrn_api_signal *taken = qrn_handle_get(QRN_KIND_SIGNAL, s);
    assert_int_equal(qrn_signal_begin(taken), QRN_OK);
    FINALIZE(QNN_GRAPH_ERROR_SIGNAL_IN_USE, r.handle, NULL, s);
    qrn_signal_end(taken);
    fault_backend.graph_finalize = NULL;
    FINALIZE(QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE, r.handle, NULL, NULL);
    fault_reset();
    PAIR_MEM("QnnGraph_finalize", QNN_COMMON_ERROR_MEM_ALLOC,
             QnnGraph_finalize(r.handle, NULL, NULL));
    FINALIZE(QNN_GRAPH_ERROR_FINALIZE_FAILED, r.handle, NULL, NULL); // once is enough
    OK(QnnSignal_free(s));
}

static void finalize_reports_its_time(void **state) {
    (void)state;
    Qnn_ProfileHandle_t p;
    OK(QnnProfile_create(backend, QNN_PROFILE_LEVEL_BASIC, &p));
    relu_graph r;
    relu_build(&r, "r", 4);
    OK(QnnGraph_finalize(r.handle, p, NULL));
    const QnnProfile_EventId_t *events = NULL;
    uint32_t n = 0;
    OK(QnnProfile_getEvents(p, &events, &n));
    assert_int_equal(n, 1);
    QnnProfile_EventData_t data;
    OK(QnnProfile_getEventData(events[0], &data));
    assert_int_equal(data.type, QNN_PROFILE_EVENTTYPE_FINALIZE);
    assert_int_equal(data.unit, QNN_PROFILE_EVENTUNIT_MICROSEC);
    OK(QnnProfile_free(p));
}

// The line behind an error names the graph, the node and what was found.
static void messages_name_the_culprit(void **state) {
    (void)state;
    relu_graph r;
    relu_build(&r, "my graph", 4);
    static uint32_t wrong[1] = {5};
    Qnn_Tensor_t z = describe("zed", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_32, 1, wrong);
    OK(QnnTensor_createGraphTensor(r.handle, &z));
    Qnn_ErrorHandle_t code = QnnGraph_addNode(r.handle, op("my node", QNN_OP_RELU, &r.x, 1, &z, 1));
    assert_int_equal(code, QNN_GRAPH_ERROR_INVALID_OP_CONFIG);
    const char *text = NULL;
    OK(QnnError_getVerboseMessage(code, &text));
    assert_non_null(strstr(text, "my graph"));
    assert_non_null(strstr(text, "my node"));
    assert_non_null(strstr(text, "zed"));
    assert_non_null(strstr(text, "5"));
    OK(QnnError_freeVerboseMessage(text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, build_setup, build_teardown)
        T(names_are_unique_in_a_context),
        T(creation_fails_as_the_backend_says),
        T(contexts_from_binaries_take_no_graphs),
        T(options_are_checked),
        T(the_last_option_wins_and_a_bad_one_changes_nothing),
        T(options_of_the_backend_are_handed_on),
        T(a_profile_is_bound_to_one_graph),
        T(properties_come_from_the_backend),
        T(nodes_come_after_their_producers),
        T(branches_write_tensors_of_the_parent),
        T(a_branch_sees_its_own_tensors_and_those_around_it),
        T(a_branch_inside_a_branch_reaches_the_outermost_graph),
        T(subgraphs_are_not_graphs_by_themselves),
        T(validate_tells_about_each_node),
        T(validate_refuses_what_it_cannot_look_at),
        T(finalize_fails_as_documented_and_can_be_tried_again),
        T(finalize_reports_its_time),
        T(messages_name_the_culprit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
