// SPDX-License-Identifier: MIT
//
// The calls that MNN's QNN backend makes, in its order and with its structs. It opens libraries by
// their bare names, reads the chip from the platform info without a check, leaves ids of tensors
// uninitialised, casts to fp16 at the borders of a graph, makes a context anew for every resize,
// and in its dump mode reads what other nodes consume. Compiled models hold their state in shared
// memory, with handles in the place of buffers already when the tensors are made.
#include "HTP/QnnHtpDevice.h"
#include "HTP/QnnHtpGraph.h"
#include "System/QnnSystemInterface.h"
#include "conv_net.h"

#define GRAPH "MNN_QNN_GRAPH"

typedef struct mnn {
    void *lib;
    qnn_table qnn;
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device;
    const QnnDevice_PlatformInfo_t *platform;
    QnnHtpDevice_PerfInfrastructure_t perf;
    uint32_t power;
} mnn;

typedef struct net {
    uint32_t x_dims[4], y_dims[4], w_dims[4], b_dims[1];
    uint16_t weights[N_W], bias[N_OUT];
    conv_params params;
    Qnn_Tensor_t x, x_half, w, b, conv, state, relu, sum, y;
} net;

// --- Starting

static void choose_interface(mnn *m) {
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnInterface_t ***, uint32_t *))dlsym(m->lib, "QnnInterface_getProviders");
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    OK(get(&list, &n));
    assert_true(n >= 1 && list[0]->apiVersion.coreApiVersion.major == QNN_API_VERSION_MAJOR &&
                list[0]->apiVersion.coreApiVersion.minor >= QNN_API_VERSION_MINOR);
    m->qnn = list[0]->QNN_INTERFACE_VER_NAME;
}

static void vote(mnn *m, QnnHtpPerfInfrastructure_PowerConfig_t c) {
    const QnnHtpPerfInfrastructure_PowerConfig_t *list[] = {&c, NULL};
    OK(m->perf.setPowerConfig(m->power, list));
}

static void vote_corner(mnn *m, bool burst, QnnHtpPerfInfrastructure_VoltageCorner_t corner) {
    QnnHtpPerfInfrastructure_PowerConfig_t c = {
        .option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3};
    c.dcvsV3Config = (QnnHtpPerfInfrastructure_DcvsV3_t){
        .contextId = m->power,
        .setDcvsEnable = 1,
        .dcvsEnable = !burst,
        .powerMode = burst ? QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_PERFORMANCE_MODE
                           : QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_ADJUST_UP_DOWN,
        .setSleepLatency = 1,
        .sleepLatency = burst ? 40 : 1000,
        .setSleepDisable = 1,
        .sleepDisable = burst,
        .setBusParams = 1,
        .busVoltageCornerMin = corner,
        .busVoltageCornerTarget = corner,
        .busVoltageCornerMax = corner,
        .setCoreParams = 1,
        .coreVoltageCornerMin = corner,
        .coreVoltageCornerTarget = corner,
        .coreVoltageCornerMax = corner,
    };
    vote(m, c);
}

static void vote_burst(mnn *m) {
    QnnHtpPerfInfrastructure_PowerConfig_t c = {0};
    vote_corner(m, true, DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER);
    c.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_CONTROL_LATENCY;
    c.rpcControlLatencyConfig = 100;
    vote(m, c);
    c.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_POLLING_TIME;
    c.rpcPollingTimeConfig = 9999;
    vote(m, c);
}

static mnn begin(void) {
    mnn m = {.lib = dlopen("libQnnHtp.so", RTLD_NOW | RTLD_LOCAL)};
    QnnDevice_Infrastructure_t infra = NULL;
    if (!m.lib)
        fail_msg("%s", dlerror());
    choose_interface(&m);
    OK(m.qnn.logCreate(NULL, QNN_LOG_LEVEL_ERROR, &m.log));
    OK(m.qnn.backendCreate(m.log, NULL, &m.backend));
    assert_int_equal(m.qnn.propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE),
                     QNN_PROPERTY_SUPPORTED);
    OK(m.qnn.deviceCreate(m.log, NULL, &m.device));
    OK(m.qnn.deviceGetPlatformInfo(m.log, &m.platform));
    const QnnHtpDevice_DeviceInfoExtension_t *chip =
        m.platform->v1.hwDevices->v1.deviceInfoExtension;
    assert_true(chip->onChipDevice.arch >= 68 && chip->onChipDevice.socModel > 0);
    OK(m.qnn.deviceGetInfrastructure(&infra));
    m.perf = infra->perfInfra;
    OK(m.perf.createPowerConfigId(0, 0, &m.power));
    vote_burst(&m);
    return m;
}

// The client keeps its handles until the process ends; here they go, so that leaks show.
static void end(mnn *m) {
    vote_corner(m, false, DCVS_VOLTAGE_VCORNER_TURBO);
    OK(m->perf.destroyPowerConfigId(m->power));
    OK(m->qnn.deviceFreePlatformInfo(m->log, m->platform));
    OK(m->qnn.deviceFree(m->device));
    OK(m->qnn.backendFree(m->backend));
    OK(m->qnn.logFree(m->log));
    assert_int_equal(dlclose(m->lib), 0);
}

// --- The graph

static Qnn_Tensor_t make(const mnn *m, Qnn_GraphHandle_t g, const char *name, Qnn_TensorType_t type,
                         Qnn_DataType_t dtype, uint32_t *dims) {
    Qnn_Tensor_t t = describe(name, type, dtype, 4, dims);
    t.v1.id = 0x5a5a5a5a; // what the stack held
    OK(m->qnn.tensorCreateGraphTensor(g, &t));
    return t;
}

static Qnn_Tensor_t make_constant(const mnn *m, Qnn_GraphHandle_t g, const char *name,
                                  uint32_t rank, uint32_t *dims, uint16_t *data, size_t bytes) {
    Qnn_Tensor_t t = describe(name, QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_FLOAT_16, rank, dims);
    set_buffer(&t, data, bytes);
    OK(m->qnn.tensorCreateGraphTensor(g, &t));
    return t;
}

static void make_shapes(net *n) {
    *n = (net){.x_dims = {1, SIDE, SIDE, N_IN},
               .y_dims = {1, SIDE, SIDE, N_OUT},
               .w_dims = {KERNEL, KERNEL, N_IN, N_OUT},
               .b_dims = {N_OUT}};
    for (int i = 0; i < N_W; i++)
        n->weights[i] = half_bits(conv_weight(i) / 8.0);
    for (int i = 0; i < N_OUT; i++)
        n->bias[i] = half_bits(conv_bias(i) / 64.0);
}

static void node_of(const mnn *m, Qnn_GraphHandle_t g, const char *name, const char *type,
                    Qnn_Tensor_t *in, uint32_t n_in, Qnn_Tensor_t *out) {
    add_node(&m->qnn, m->backend, g, op_config(name, "qti.aisw", type, in, n_in, out, 1));
}

static Qnn_GraphHandle_t make_graph(const mnn *m, Qnn_ContextHandle_t context) {
    QnnHtpGraph_CustomConfig_t precision = {.option = QNN_HTP_GRAPH_CONFIG_OPTION_PRECISION,
                                            .precision = QNN_PRECISION_FLOAT16};
    QnnGraph_Config_t config = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM,
                                .customConfig = &precision};
    const QnnGraph_Config_t *configs[] = {&config, NULL};
    Qnn_GraphHandle_t g = NULL;
    OK(m->qnn.graphCreate(context, GRAPH, configs, &g));
    return g;
}

static void build_conv(const mnn *m, Qnn_GraphHandle_t g, net *n, bool dump) {
    const Qnn_TensorType_t inner = dump ? QNN_TENSOR_TYPE_APP_READ : QNN_TENSOR_TYPE_NATIVE;
    const Qnn_DataType_t f16 = QNN_DATATYPE_FLOAT_16, f32 = QNN_DATATYPE_FLOAT_32;
    n->x_half = make(m, g, "t0_cast", QNN_TENSOR_TYPE_NATIVE, f16, n->x_dims);
    n->x = make(m, g, "t0", QNN_TENSOR_TYPE_APP_WRITE, f32, n->x_dims);
    node_of(m, g, "Cast_I_1_O_0", "Cast", &n->x, 1, &n->x_half);
    n->relu = make(m, g, "t1_cast", inner, f16, n->y_dims);
    make_params(&m->qnn, g, &n->params);
    n->w = make_constant(m, g, "conv_weight", 4, n->w_dims, n->weights, sizeof n->weights);
    n->b = make_constant(m, g, "conv_bias", 1, n->b_dims, n->bias, sizeof n->bias);
    n->conv = make(m, g, "conv_ReluTensor", QNN_TENSOR_TYPE_NATIVE, f16, n->y_dims);
    Qnn_Tensor_t in[3] = {n->x_half, n->w, n->b};
    Qnn_OpConfig_t op = op_config("conv_conv", "qti.aisw", "Conv2d", in, 3, &n->conv, 1);
    op.v1.params = n->params.list;
    op.v1.numOfParams = 4;
    add_node(&m->qnn, m->backend, g, op);
    node_of(m, g, "conv_relu", "Relu", &n->conv, 1, &n->relu);
    n->y = make(m, g, "t1", QNN_TENSOR_TYPE_APP_READ, f32, n->y_dims);
}

static void fill(float *x, int round) {
    for (int i = 0; i < N_X; i++)
        x[i] = (float)conv_input(i, round) / 8;
}

// --- Online: the graph is built in the process that runs it

static void run(const mnn *m, Qnn_GraphHandle_t g, net *n, bool dump, int round) {
    float x[N_X], y[N_Y];
    uint16_t inner[N_Y];
    fill(x, round);
    set_buffer(&n->x, x, sizeof x);
    set_buffer(&n->y, y, sizeof y);
    set_buffer(&n->relu, inner, sizeof inner);
    Qnn_Tensor_t out[2] = {n->y, n->relu};
    OK(m->qnn.graphExecute(g, &n->x, 1, out, dump ? 2 : 1, NULL, NULL));
    for (int i = 0; i < N_Y; i++) {
        assert_true((double)y[i] == conv_output(i, round) / 64.0);
        if (dump)
            assert_int_equal(inner[i], half_bits(conv_output(i, round) / 64.0));
    }
}

static void a_model_is_built_for_every_resize(void **state) {
    (void)state;
    mnn m = begin();
    for (int resize = 0; resize < 3; resize++) {
        const bool dump = resize == 2;
        Qnn_ContextHandle_t context = NULL;
        net n;
        make_shapes(&n);
        OK(m.qnn.contextCreate(m.backend, m.device, NULL, &context));
        Qnn_GraphHandle_t g = make_graph(&m, context);
        build_conv(&m, g, &n, dump);
        node_of(&m, g, "Cast_I_2_O_3", "Cast", &n.relu, 1, &n.y);
        OK(m.qnn.graphFinalize(g, NULL, NULL));
        for (int round = 0; round < 3; round++)
            run(&m, g, &n, dump, round);
        OK(m.qnn.contextFree(context, NULL));
    }
    end(&m);
}

// --- Offline: a context binary, with a state in shared memory

static void *compile(const mnn *m, uint64_t *size) {
    Qnn_ContextHandle_t context = NULL;
    net n;
    make_shapes(&n);
    OK(m->qnn.contextCreate(m->backend, m->device, NULL, &context));
    Qnn_GraphHandle_t g = make_graph(m, context);
    build_conv(m, g, &n, false);
    n.state = describe("_mnn_i0", QNN_TENSOR_TYPE_APP_WRITE, QNN_DATATYPE_FLOAT_16, 4, n.y_dims);
    n.state.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    n.state.v1.memHandle = NULL;
    OK(m->qnn.tensorCreateGraphTensor(g, &n.state));
    n.sum = make(m, g, "sum", QNN_TENSOR_TYPE_NATIVE, QNN_DATATYPE_FLOAT_16, n.y_dims);
    Qnn_Tensor_t in[2] = {n.relu, n.state};
    node_of(m, g, "add", "ElementWiseAdd", in, 2, &n.sum);
    node_of(m, g, "Cast_I_2_O_3", "Cast", &n.sum, 1, &n.y);
    OK(m->qnn.graphFinalize(g, NULL, NULL));
    void *bytes = binary_of(&m->qnn, context, size);
    OK(m->qnn.contextFree(context, NULL));
    return bytes;
}

typedef struct state_memory {
    void *lib;
    void *(*alloc)(int, uint32_t, int);
    int (*to_fd)(void *);
    void (*free)(void *);
    uint16_t *data;
    Qnn_MemHandle_t handle;
} state_memory;

static void share_state(const mnn *m, Qnn_ContextHandle_t context, Qnn_Tensor_t *t,
                        state_memory *s) {
    s->lib = dlopen("libcdsprpc.so", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(s->lib);
    s->alloc = (void *(*)(int, uint32_t, int))dlsym(s->lib, "rpcmem_alloc");
    s->to_fd = (int (*)(void *))dlsym(s->lib, "rpcmem_to_fd");
    s->free = (void (*)(void *))dlsym(s->lib, "rpcmem_free");
    s->data = s->alloc(25, 0, N_Y * 2);
    assert_non_null(s->data);
    Qnn_MemDescriptor_t d = {.memShape = {t->v1.rank, t->v1.dimensions, NULL},
                             .dataType = t->v1.dataType,
                             .memType = QNN_MEM_TYPE_ION};
    d.ionInfo.fd = s->to_fd(s->data);
    assert_true(d.ionInfo.fd >= 0);
    OK(m->qnn.memRegister(context, &d, 1, &s->handle));
    t->v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    t->v1.memHandle = s->handle;
}

static void unshare_state(const mnn *m, state_memory *s) {
    OK(m->qnn.memDeRegister(&s->handle, 1));
    s->free(s->data);
    assert_int_equal(dlclose(s->lib), 0);
}

// The client knows graph infos of versions 1 and 3 only, and writes through v1 whatever version a
// tensor has.
static const QnnSystemContext_GraphInfoV3_t *read_binary(QnnSystemContext_Handle_t *reader,
                                                         void **lib, void *bytes, uint64_t size) {
    *lib = dlopen("libQnnSystem.so", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(*lib);
    Qnn_ErrorHandle_t (*get)(const QnnSystemInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnSystemInterface_t ***, uint32_t *))dlsym(*lib, "QnnSystemInterface_getProviders");
    const QnnSystemInterface_t **list = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    Qnn_ContextBinarySize_t info_size = 0;
    uint32_t n = 0;
    OK(get(&list, &n));
    assert_true(n >= 1 && list[0]->systemApiVersion.major == QNN_SYSTEM_API_VERSION_MAJOR &&
                list[0]->systemApiVersion.minor >= QNN_SYSTEM_API_VERSION_MINOR);
    OK(list[0]->QNN_SYSTEM_INTERFACE_VER_NAME.systemContextCreate(reader));
    OK(list[0]->QNN_SYSTEM_INTERFACE_VER_NAME.systemContextGetBinaryInfo(*reader, bytes, size,
                                                                         &info, &info_size));
    assert_int_equal(info->version, QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3);
    assert_int_equal(info->contextBinaryInfoV3.graphs[0].version,
                     QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3);
    return &info->contextBinaryInfoV3.graphs[0].graphInfoV3;
}

static void free_reader(void *lib, QnnSystemContext_Handle_t reader) {
    Qnn_ErrorHandle_t (*get)(const QnnSystemInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnSystemInterface_t ***, uint32_t *))dlsym(lib, "QnnSystemInterface_getProviders");
    const QnnSystemInterface_t **list = NULL;
    uint32_t n = 0;
    OK(get(&list, &n));
    OK(list[0]->QNN_SYSTEM_INTERFACE_VER_NAME.systemContextFree(reader));
    assert_int_equal(dlclose(lib), 0);
}

static void a_compiled_model_runs_with_its_state_in_shared_memory(void **state) {
    (void)state;
    mnn m = begin();
    uint64_t size = 0;
    void *bytes = compile(&m, &size), *system = NULL;
    QnnSystemContext_Handle_t reader = NULL;
    Qnn_ContextHandle_t context = NULL;
    Qnn_GraphHandle_t g = NULL;
    const QnnSystemContext_GraphInfoV3_t *info = read_binary(&reader, &system, bytes, size);
    assert_string_equal(info->graphName, GRAPH);
    assert_int_equal(info->numGraphInputs, 2);
    Qnn_Tensor_t in[2] = {info->graphInputs[0], info->graphInputs[1]}, out = info->graphOutputs[0];
    Qnn_Tensor_t *x = strcmp(in[0].v1.name, "t0") == 0 ? &in[0] : &in[1];
    Qnn_Tensor_t *kept = x == &in[0] ? &in[1] : &in[0];
    assert_string_equal(kept->v1.name, "_mnn_i0");
    OK(m.qnn.contextValidateBinary(m.backend, m.device, NULL, bytes, size));
    OK(m.qnn.contextCreateFromBinary(m.backend, m.device, NULL, bytes, size, &context, NULL));
    OK(m.qnn.graphRetrieve(context, GRAPH, &g));
    state_memory shared;
    share_state(&m, context, kept, &shared);
    x->v1.memType = out.v1.memType = QNN_TENSORMEMTYPE_RAW;
    for (int round = 0; round < 3; round++) {
        float values[N_X], y[N_Y];
        fill(values, round);
        for (int i = 0; i < N_Y; i++)
            shared.data[i] = half_bits(i % 5 + round);
        set_buffer(x, values, sizeof values);
        set_buffer(&out, y, sizeof y);
        OK(m.qnn.graphExecute(g, in, 2, &out, 1, NULL, NULL));
        for (int i = 0; i < N_Y; i++)
            assert_true(fabs((double)y[i] - conv_output(i, round) / 64.0 - i % 5 - round) <
                        1 / 64.0);
    }
    unshare_state(&m, &shared);
    OK(m.qnn.contextFree(context, NULL));
    free_reader(system, reader);
    free(bytes);
    end(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_built_for_every_resize),
        cmocka_unit_test(a_compiled_model_runs_with_its_state_in_shared_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
