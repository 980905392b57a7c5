// SPDX-License-Identifier: MIT
//
// The calls behind qai_appbuilder's QNNContext: one context binary with two graphs, a profile that
// is handed to every call, power votes around executions, and two models at once in one process,
// each with a log, a backend and a device of its own from the same library. The binary is float,
// as it is in the client's default mode.
#include "HTP/QnnHtpDevice.h"
#include "System/QnnSystemInterface.h"
#include "conv_net.h"

#define N_GRAPHS 2

static const char *const graph_names[N_GRAPHS] = {"first", "second"};

typedef struct model {
    void *lib;
    qnn_table qnn;
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device;
    Qnn_ProfileHandle_t profile;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graphs[N_GRAPHS];
    uint32_t in_ids[N_GRAPHS], out_ids[N_GRAPHS];
    uint32_t power;
} model;

static void hear(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args) {
    char line[1024];
    (void)time;
    vsnprintf(line, sizeof line, fmt, args);
    if (level == QNN_LOG_LEVEL_ERROR)
        fail_msg("%s", line);
}

static model begin(void) {
    model m = {0};
    const char *id = NULL;
    m.lib = open_named("libQnnHtp.so", &m.qnn);
    OK(m.qnn.backendGetBuildId(&id));
    OK(m.qnn.logCreate(hear, QNN_LOG_LEVEL_ERROR, &m.log));
    OK(m.qnn.backendCreate(m.log, NULL, &m.backend));
    assert_int_equal(m.qnn.propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE),
                     QNN_PROPERTY_SUPPORTED);
    OK(m.qnn.deviceCreate(m.log, NULL, &m.device));
    OK(m.qnn.profileCreate(m.backend, QNN_PROFILE_LEVEL_BASIC, &m.profile));
    return m;
}

static void end(model *m) {
    OK(m->qnn.contextFree(m->context, m->profile));
    OK(m->qnn.profileFree(m->profile));
    OK(m->qnn.deviceFree(m->device));
    OK(m->qnn.backendFree(m->backend));
    OK(m->qnn.logFree(m->log));
    assert_int_equal(dlclose(m->lib), 0);
}

// --- The context binary: the net with Relu, and without it

static void build(const model *m, const char *name, bool relu) {
    uint32_t x_dims[] = {1, SIDE, SIDE, N_IN}, y_dims[] = {1, SIDE, SIDE, N_OUT};
    uint32_t w_dims[] = { KERNEL, KERNEL, N_IN, N_OUT }, b_dims[] = {N_OUT};
    float weights[N_W], bias[N_OUT];
    const Qnn_DataType_t f32 = QNN_DATATYPE_FLOAT_32;
    conv_params params;
    Qnn_GraphHandle_t g = NULL;
    for (int i = 0; i < N_W; i++)
        weights[i] = (float)conv_weight(i) / 8;
    for (int i = 0; i < N_OUT; i++)
        bias[i] = (float)conv_bias(i) / 64;
    OK(m->qnn.graphCreate(m->context, name, NULL, &g));
    Qnn_Tensor_t in[3] = {tensor(&m->qnn, g, "x", QNN_TENSOR_TYPE_APP_WRITE, 4, x_dims),
                          describe("w", QNN_TENSOR_TYPE_STATIC, f32, 4, w_dims),
                          describe("b", QNN_TENSOR_TYPE_STATIC, f32, 1, b_dims)};
    set_buffer(&in[1], weights, sizeof weights);
    set_buffer(&in[2], bias, sizeof bias);
    OK(m->qnn.tensorCreateGraphTensor(g, &in[1]));
    OK(m->qnn.tensorCreateGraphTensor(g, &in[2]));
    make_params(&m->qnn, g, &params);
    Qnn_Tensor_t y = tensor(&m->qnn, g, "y", QNN_TENSOR_TYPE_APP_READ, 4, y_dims), conv = y;
    if (relu)
        conv = tensor(&m->qnn, g, "conv", QNN_TENSOR_TYPE_NATIVE, 4, y_dims);
    Qnn_OpConfig_t op = op_config("conv", QNN_OP_PACKAGE_NAME_QTI_AISW, "Conv2d", in, 3, &conv, 1);
    op.v1.params = params.list;
    op.v1.numOfParams = 4;
    add_node(&m->qnn, m->backend, g, op);
    if (relu)
        node(&m->qnn, g, "relu", "Relu", &conv, &y);
    OK(m->qnn.graphFinalize(g, m->profile, NULL));
}

static void *compile(uint64_t *size) {
    model m = begin();
    OK(m.qnn.contextCreate(m.backend, m.device, NULL, &m.context));
    build(&m, graph_names[0], false);
    build(&m, graph_names[1], true);
    void *bytes = binary_of(&m.qnn, m.context, size);
    end(&m);
    return bytes;
}

// --- Loading and running

static void read_info(model *m, void *bytes, uint64_t size) {
    void *lib = dlopen(lib_path("libQnnSystem.so"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(lib);
    Qnn_ErrorHandle_t (*get)(const QnnSystemInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnSystemInterface_t ***, uint32_t *))dlsym(lib, "QnnSystemInterface_getProviders");
    const QnnSystemInterface_t **list = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    QnnSystemContext_Handle_t reader = NULL;
    Qnn_ContextBinarySize_t info_size = 0;
    uint32_t n = 0;
    OK(get(&list, &n));
    OK(list[0]->QNN_SYSTEM_INTERFACE_VER_NAME.systemContextCreate(&reader));
    OK(list[0]->QNN_SYSTEM_INTERFACE_VER_NAME.systemContextGetBinaryInfo(reader, bytes, size, &info,
                                                                         &info_size));
    assert_int_equal(info->contextBinaryInfoV3.numGraphs, N_GRAPHS);
    for (int i = 0; i < N_GRAPHS; i++) {
        const QnnSystemContext_GraphInfoV3_t *g = &info->contextBinaryInfoV3.graphs[i].graphInfoV3;
        assert_string_equal(g->graphName, graph_names[i]);
        m->in_ids[i] = g->graphInputs[0].v1.id;
        m->out_ids[i] = g->graphOutputs[0].v1.id;
    }
    OK(list[0]->QNN_SYSTEM_INTERFACE_VER_NAME.systemContextFree(reader));
    assert_int_equal(dlclose(lib), 0);
}

static QnnHtpDevice_PerfInfrastructure_t perf_of(const model *m) {
    QnnDevice_Infrastructure_t infra = NULL;
    OK(m->qnn.deviceGetInfrastructure(&infra));
    return infra->perfInfra;
}

static model load(void *bytes, uint64_t size) {
    model m = begin();
    read_info(&m, bytes, size);
    OK(m.qnn.contextCreateFromBinary(m.backend, m.device, NULL, bytes, size, &m.context,
                                     m.profile));
    for (int i = 0; i < N_GRAPHS; i++)
        OK(m.qnn.graphRetrieve(m.context, graph_names[i], &m.graphs[i]));
    OK(perf_of(&m).createPowerConfigId(0, 0, &m.power));
    return m;
}

static void vote(const model *m, QnnHtpPerfInfrastructure_VoltageCorner_t corner) {
    QnnHtpPerfInfrastructure_PowerConfig_t c = {
        .option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3};
    c.dcvsV3Config.contextId = m->power;
    c.dcvsV3Config.setBusParams = c.dcvsV3Config.setCoreParams = 1;
    c.dcvsV3Config.busVoltageCornerMin = c.dcvsV3Config.busVoltageCornerTarget = corner;
    c.dcvsV3Config.busVoltageCornerMax = c.dcvsV3Config.coreVoltageCornerMin = corner;
    c.dcvsV3Config.coreVoltageCornerTarget = c.dcvsV3Config.coreVoltageCornerMax = corner;
    const QnnHtpPerfInfrastructure_PowerConfig_t *list[] = {&c, NULL};
    OK(perf_of(m).setPowerConfig(m->power, list));
}

// What the profile says took place; the client looks one event up by its type.
static bool has_event(const model *m, QnnProfile_EventType_t type) {
    const QnnProfile_EventId_t *events = NULL;
    uint32_t n = 0;
    bool found = false;
    OK(m->qnn.profileGetEvents(m->profile, &events, &n));
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_EventData_t data = QNN_PROFILE_EVENT_DATA_INIT;
        OK(m->qnn.profileGetEventData(events[i], &data));
        found |= data.type == type;
    }
    return found;
}

static void run(const model *m, int graph, int round) {
    uint32_t x_dims[] = {1, SIDE, SIDE, N_IN}, y_dims[] = {1, SIDE, SIDE, N_OUT};
    const Qnn_DataType_t f32 = QNN_DATATYPE_FLOAT_32;
    Qnn_Tensor_t in = describe("x", QNN_TENSOR_TYPE_APP_WRITE, f32, 4, x_dims);
    Qnn_Tensor_t out = describe("y", QNN_TENSOR_TYPE_APP_READ, f32, 4, y_dims);
    float x[N_X], y[N_Y];
    in.v1.id = m->in_ids[graph];
    out.v1.id = m->out_ids[graph];
    for (int i = 0; i < N_X; i++)
        x[i] = (float)conv_input(i, round) / 8;
    set_buffer(&in, x, sizeof x);
    set_buffer(&out, y, sizeof y);
    vote(m, DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER);
    OK(m->qnn.graphExecute(m->graphs[graph], &in, 1, &out, 1, m->profile, NULL));
    vote(m, DCVS_VOLTAGE_VCORNER_NOM);
    assert_true(has_event(m, QNN_PROFILE_EVENTTYPE_EXECUTE));
    for (int i = 0; i < N_Y; i++) {
        int wanted = graph == 0 ? conv_sum(i, round) : conv_output(i, round);
        assert_true((double)y[i] == wanted / 64.0);
    }
}

static void two_models_with_two_graphs_run_at_once(void **state) {
    (void)state;
    uint64_t size = 0;
    void *bytes = compile(&size);
    model a = load(bytes, size), b = load(bytes, size);
    for (int round = 0; round < 4; round++) {
        run(&a, round % N_GRAPHS, round);
        run(&b, (round + 1) % N_GRAPHS, round);
    }
    OK(perf_of(&a).destroyPowerConfigId(a.power));
    end(&a);
    run(&b, 1, 4); // one of them goes, the other stays
    OK(perf_of(&b).destroyPowerConfigId(b.power));
    end(&b);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_models_with_two_graphs_run_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
