// SPDX-License-Identifier: MIT
//
// The calls that ExecuTorch's Qualcomm backend makes for one model, in its order and with its
// structs: the library is opened three times (to ask for its build id, to compile, to run) and
// closed each time; options of the device come in the layout of older headers; weights have no data
// when ops are validated, from the last op to the first; the bytes of the context binary are gone
// after loading. Several models in one process.
//
// The net: Quantize, FullyConnected with a scale per channel, Relu, Dequantize. Expected values are
// computed here from the real values of the codes.
#include "HTP/QnnHtpDevice.h"
#include "HTP/QnnHtpGraph.h"
#include "QnnInterface.h"
#include "System/QnnSystemInterface.h"
#include "qnn_client.h"

#include <ctype.h>
#include <math.h>

#define SOC 57
#define N_IN 4u
#define N_OUT 3u
#define N_MODELS 3

#define OK(call) assert_int_equal((call), QNN_SUCCESS)

typedef struct net {
    uint32_t in_dims[2], out_dims[2], weight_dims[2], bias_dims[1];
    Qnn_ScaleOffset_t weight_scales[N_OUT], bias_scales[N_OUT];
    int8_t weights[N_OUT * N_IN];
    int32_t bias[N_OUT];
    Qnn_Tensor_t x, xq, w, b, fc, relu, y;
} net;

typedef struct session {
    void *lib;
    qnn_table qnn;
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device;
    const QnnHtpDevice_PerfInfrastructure_t *perf;
    uint32_t power;
} session;

static unsigned n_errors;
static char last_line[512];

static void hear(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args) {
    (void)time;
    n_errors += level == QNN_LOG_LEVEL_ERROR;
    int n = vsnprintf(last_line, sizeof last_line, fmt, args);
    // The client formats the text again, in 512 bytes.
    assert_true(n >= 0 && (size_t)n < sizeof last_line && !strchr(last_line, '%'));
}

// --- The library

// As the client opens it: one that is loaded already, else anew, for everybody to see.
static void open_htp(session *s) {
    const char *path = lib_path("libQnnHtp.so");
    s->lib = dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    assert_null(s->lib); // the last user has closed it
    s->lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!s->lib)
        fail_msg("%s", dlerror());
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnInterface_t ***, uint32_t *))dlsym(s->lib, "QnnInterface_getProviders");
    assert_null(dlsym(s->lib, "QnnSaver_initialize")); // it would be taken for a recorder
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    OK(get(&list, &n));
    assert_int_equal(n, 1);
    s->qnn = list[0]->QNN_INTERFACE_VER_NAME;
}

static void ask_for_the_build_id(void) {
    session s = {0};
    const char *id = NULL;
    open_htp(&s);
    OK(s.qnn.backendGetBuildId(&id));
    assert_true(id[0] == 'v' && isdigit(id[1]) && strchr(id, '.') && isdigit(strchr(id, '.')[1]));
    assert_int_equal(dlclose(s.lib), 0);
}

// Twelve bytes {option, value, 0} at the end of a block, so that a sanitizer sees reads behind
// them.
static Qnn_DeviceHandle_t make_device(const session *s) {
    uint32_t *words = malloc(12);
    assert_non_null(words);
    memcpy(words, (uint32_t[]){QNN_HTP_DEVICE_CONFIG_OPTION_SOC, SOC, 0}, 12);
    QnnDevice_CoreInfo_t core = {.version = QNN_DEVICE_CORE_INFO_VERSION_1};
    QnnHtpDevice_DeviceInfoExtension_t extension = {.devType = QNN_HTP_DEVICE_TYPE_ON_CHIP};
    extension.onChipDevice = (QnnHtpDevice_OnChipDeviceInfoExtension_t){
        .vtcmSize = 8, .socModel = SOC, .arch = QNN_HTP_DEVICE_ARCH_V75, .dlbcSupport = true};
    QnnDevice_HardwareDeviceInfo_t hardware = {.version =
                                                   QNN_DEVICE_HARDWARE_DEVICE_INFO_VERSION_1};
    hardware.v1 = (QnnDevice_HardwareDeviceInfoV1_t){
        .numCores = 1,
        .cores = &core,
        .deviceInfoExtension = (QnnDevice_DeviceInfoExtension_t)&extension};
    QnnDevice_PlatformInfo_t info = {.version = QNN_DEVICE_PLATFORM_INFO_VERSION_1};
    info.v1 = (QnnDevice_PlatformInfoV1_t){.numHwDevices = 1, .hwDevices = &hardware};
    QnnDevice_Config_t soc = {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = words};
    QnnDevice_Config_t platform = {.option = QNN_DEVICE_CONFIG_OPTION_PLATFORM_INFO,
                                   .hardwareInfo = &info};
    const QnnDevice_Config_t *list[] = {&soc, &platform, NULL};
    Qnn_DeviceHandle_t device = NULL;
    OK(s->qnn.deviceCreate(s->log, list, &device));
    free(words);
    return device;
}

static void vote(session *s) {
    QnnDevice_Infrastructure_t infra = NULL;
    OK(s->qnn.deviceGetInfrastructure(&infra));
    assert_int_equal(infra->infraType, QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_PERF);
    s->perf = &infra->perfInfra;
    OK(s->perf->createPowerConfigId(0, 0, &s->power));
    assert_int_not_equal(s->power, 0); // 0 means "none" to the client
    QnnHtpPerfInfrastructure_PowerConfig_t p = {
        .option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_CONTROL_LATENCY};
    p.rpcControlLatencyConfig = 100;
    const QnnHtpPerfInfrastructure_PowerConfig_t *list[] = {&p, NULL};
    OK(s->perf->setPowerConfig(s->power, list));
}

static session begin(void) {
    session s = {0};
    Qnn_ApiVersion_t version = QNN_API_VERSION_INIT;
    open_htp(&s);
    OK(s.qnn.logCreate(hear, QNN_LOG_LEVEL_ERROR, &s.log));
    OK(s.qnn.backendCreate(s.log, NULL, &s.backend));
    s.device = make_device(&s);
    vote(&s);
    OK(s.qnn.backendGetApiVersion(&version));
    assert_int_equal(version.coreApiVersion.major, 2);
    assert_true(version.coreApiVersion.minor >= 27);
    assert_int_equal(version.backendApiVersion.major, 5);
    return s;
}

static void end(session *s) {
    OK(s->perf->destroyPowerConfigId(s->power));
    OK(s->qnn.deviceFree(s->device));
    OK(s->qnn.backendFree(s->backend));
    OK(s->qnn.logFree(s->log));
    assert_int_equal(dlclose(s->lib), 0);
}

// --- The net

// Tensors of version 2, as this client makes them all.
static Qnn_Tensor_t make_tensor(const char *name, Qnn_TensorType_t type, Qnn_DataType_t dtype,
                                uint32_t rank, uint32_t *dims, float scale, int32_t offset) {
    Qnn_Tensor_t t = {.version = QNN_TENSOR_VERSION_2};
    t.v2 = (Qnn_TensorV2_t)QNN_TENSOR_V2_INIT;
    t.v2.name = name;
    t.v2.type = type;
    t.v2.dataType = dtype;
    t.v2.rank = rank;
    t.v2.dimensions = dims;
    t.v2.memType = QNN_TENSORMEMTYPE_RAW;
    if (scale > 0) {
        t.v2.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
        t.v2.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        t.v2.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){scale, offset};
    }
    return t;
}

static void per_channel(Qnn_Tensor_t *t, Qnn_ScaleOffset_t *scales) {
    t->v2.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t->v2.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
    t->v2.quantizeParams.axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){0, N_OUT, scales};
}

#define X_SCALE 0.05f
#define X_OFFSET (-100)
#define Y_SCALE 0.04f
#define Y_OFFSET (-20)

static void make_net(net *n, int seed) {
    *n = (net){.in_dims = {1, N_IN},
               .out_dims = {1, N_OUT},
               .weight_dims = {N_OUT, N_IN},
               .bias_dims = {N_OUT}};
    for (uint32_t o = 0; o < N_OUT; o++) {
        n->weight_scales[o] = (Qnn_ScaleOffset_t){0.01f * (float)(o + 1), 0};
        n->bias_scales[o] = (Qnn_ScaleOffset_t){X_SCALE * n->weight_scales[o].scale, 0};
        n->bias[o] = 137 * (int32_t)o - 90 + seed;
        for (uint32_t i = 0; i < N_IN; i++)
            n->weights[o * N_IN + i] = (int8_t)(31 * (int)(o + seed) + 53 * (int)i - 70);
    }
    const Qnn_DataType_t u8 = QNN_DATATYPE_UFIXED_POINT_8, f32 = QNN_DATATYPE_FLOAT_32;
    n->x = make_tensor("input_0_x@0", QNN_TENSOR_TYPE_APP_WRITE, f32, 2, n->in_dims, 0, 0);
    n->xq = make_tensor("x_q@0", QNN_TENSOR_TYPE_NATIVE, u8, 2, n->in_dims, X_SCALE, X_OFFSET);
    n->w = make_tensor("w@0", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_8, 2,
                       n->weight_dims, 0, 0);
    n->b = make_tensor("b@0", QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_32, 1, n->bias_dims,
                       0, 0);
    per_channel(&n->w, n->weight_scales);
    per_channel(&n->b, n->bias_scales);
    n->fc = make_tensor("fc@0", QNN_TENSOR_TYPE_NATIVE, u8, 2, n->out_dims, Y_SCALE, Y_OFFSET);
    n->relu = make_tensor("relu@0", QNN_TENSOR_TYPE_NATIVE, u8, 2, n->out_dims, Y_SCALE, Y_OFFSET);
    n->y = make_tensor("output_y@0", QNN_TENSOR_TYPE_APP_READ, f32, 2, n->out_dims, 0, 0);
}

static Qnn_OpConfig_t op_of(const char *type, Qnn_Tensor_t *in, uint32_t n_in, Qnn_Tensor_t *out) {
    return op_config(type, QNN_OP_PACKAGE_NAME_QTI_AISW, type, in, n_in, out, 1);
}

// Weights without data, ends of the graph quantized, from the last op to the first; a tensor may
// have had other dimensions in the call before.
static void validate(const session *s, const net *n) {
    uint32_t other_dims[3] = {1, 1, N_OUT};
    Qnn_Tensor_t relu_out = n->relu, fc_in[3] = {n->xq, n->w, n->b}, fc_out = n->fc, fc = n->fc;
    relu_out.v2.type = QNN_TENSOR_TYPE_APP_READ;
    fc_in[0].v2.type = QNN_TENSOR_TYPE_APP_WRITE;
    relu_out.v2.rank = fc.v2.rank = 3;
    relu_out.v2.dimensions = fc.v2.dimensions = other_dims;
    n_errors = 0;
    OK(s->qnn.backendValidateOpConfig(s->backend, op_of("Relu", &fc, 1, &relu_out)));
    OK(s->qnn.backendValidateOpConfig(s->backend, op_of("FullyConnected", fc_in, 3, &fc_out)));
    assert_int_equal(n_errors, 0);
}

static void add(const session *s, Qnn_GraphHandle_t g, Qnn_Tensor_t *t, void *data, size_t bytes) {
    t->v2.clientBuf = (Qnn_ClientBuffer_t){data, (uint32_t)bytes};
    OK(s->qnn.tensorCreateGraphTensor(g, t));
    assert_int_not_equal(t->v2.id, 0);
}

static void build(const session *s, Qnn_GraphHandle_t g, net *n) {
    add(s, g, &n->x, NULL, 0);
    add(s, g, &n->xq, NULL, 0);
    OK(s->qnn.graphAddNode(g, op_of("Quantize", &n->x, 1, &n->xq)));
    add(s, g, &n->w, n->weights, sizeof n->weights);
    add(s, g, &n->b, n->bias, sizeof n->bias);
    add(s, g, &n->fc, NULL, 0);
    Qnn_Tensor_t fc_in[3] = {n->xq, n->w, n->b};
    OK(s->qnn.graphAddNode(g, op_of("FullyConnected", fc_in, 3, &n->fc)));
    add(s, g, &n->relu, NULL, 0);
    OK(s->qnn.graphAddNode(g, op_of("Relu", &n->fc, 1, &n->relu)));
    add(s, g, &n->y, NULL, 0);
    OK(s->qnn.graphAddNode(g, op_of("Dequantize", &n->relu, 1, &n->y)));
    OK(s->qnn.graphFinalize(g, NULL, NULL));
}

static Qnn_GraphHandle_t make_graph(const session *s, Qnn_ContextHandle_t context) {
    QnnHtpGraph_CustomConfig_t custom[] = {
        {.option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
         .optimizationOption = {QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG, 3}},
        {.option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_MB, .vtcmSizeInMB = 8},
        {.option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
         .optimizationOption = {QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_DLBC, 0}},
        {.option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION,
         .optimizationOption = {QNN_HTP_GRAPH_OPTIMIZATION_TYPE_ENABLE_SLC_ALLOCATOR, 0}},
    };
    enum { N = sizeof custom / sizeof custom[0] };
    QnnGraph_Config_t list[N];
    const QnnGraph_Config_t *configs[N + 1] = {NULL};
    for (int i = 0; i < N; i++) {
        list[i] = (QnnGraph_Config_t){.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM,
                                      .customConfig = &custom[i]};
        configs[i] = &list[i];
    }
    Qnn_GraphHandle_t g = NULL;
    OK(s->qnn.graphCreate(context, "forward", configs, &g));
    return g;
}

// The context binary; the size is exact, because the client writes it into its file.
static void *compile(net *n, uint64_t *n_bytes) {
    session s = begin();
    const QnnContext_Config_t *none[] = {NULL};
    Qnn_ContextHandle_t context = NULL;
    validate(&s, n);
    OK(s.qnn.contextCreate(s.backend, s.device, none, &context));
    build(&s, make_graph(&s, context), n);
    OK(s.qnn.contextGetBinarySize(context, n_bytes));
    void *bytes = malloc(*n_bytes);
    assert_non_null(bytes);
    Qnn_ContextBinarySize_t written = 0;
    OK(s.qnn.contextGetBinary(context, bytes, *n_bytes, &written));
    assert_int_equal(written, *n_bytes);
    OK(s.qnn.contextFree(context, NULL));
    end(&s);
    return bytes;
}

// --- Running

static const QNN_SYSTEM_INTERFACE_VER_TYPE *system_library(void) {
    static QNN_SYSTEM_INTERFACE_VER_TYPE fn; // the client never closes this one
    void *lib = dlopen(lib_path("libQnnSystem.so"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(lib);
    Qnn_ErrorHandle_t (*get)(const QnnSystemInterface_t ***, uint32_t *) = (Qnn_ErrorHandle_t(*)(
        const QnnSystemInterface_t ***, uint32_t *))dlsym(lib, "QnnSystemInterface_getProviders");
    const QnnSystemInterface_t **list = NULL;
    uint32_t n = 0;
    OK(get(&list, &n));
    assert_int_equal(n, 1);
    fn = list[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
    return &fn;
}

static double clamp(double v) { return v < 0 ? 0 : v > 255 ? 255 : v; }

// Output o of the net, and how far the library may be from it: a step where a sum lies on the edge.
static double expected(const net *n, const float *x, uint32_t o) {
    double sum = n->bias[o];
    for (uint32_t i = 0; i < N_IN; i++) {
        double code = clamp(floor((double)x[i] / (double)X_SCALE + 0.5) - X_OFFSET);
        sum += (code + X_OFFSET) * n->weights[o * N_IN + i];
    }
    double real = sum * (double)X_SCALE * (double)n->weight_scales[o].scale;
    double code = clamp(floor(real / (double)Y_SCALE + 0.5) - Y_OFFSET);
    return (double)Y_SCALE * fmax(code + Y_OFFSET, 0);
}

static void run(const net *n, void *bytes, uint64_t n_bytes) {
    session s = begin();
    const QNN_SYSTEM_INTERFACE_VER_TYPE *sys = system_library();
    QnnSystemContext_Handle_t reader = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    const QnnContext_Config_t *none[] = {NULL};
    Qnn_ContextHandle_t context = NULL;
    Qnn_GraphHandle_t g = NULL;
    OK(sys->systemContextCreate(&reader));
    OK(sys->systemContextGetMetaData(reader, bytes, n_bytes, &info));
    OK(s.qnn.contextCreateFromBinary(s.backend, s.device, none, bytes, n_bytes, &context, NULL));
    memset(bytes, 0xee, n_bytes);
    OK(s.qnn.graphRetrieve(context, "forward", &g));
    const QnnSystemContext_GraphInfoV3_t *d = &info->contextBinaryInfoV3.graphs[0].graphInfoV3;
    Qnn_Tensor_t in = d->graphInputs[0], out = d->graphOutputs[0];
    assert_string_equal(in.v1.name, "input_0_x@0");
    assert_string_equal(out.v1.name, "output_y@0");
    for (int round = 0; round < 5; round++) {
        float x[N_IN], y[N_OUT];
        for (uint32_t i = 0; i < N_IN; i++)
            x[i] = 0.37f * (float)((int)(7 * i + 3 * (uint32_t)round) % 11 - 5);
        in.v1.clientBuf = (Qnn_ClientBuffer_t){x, sizeof x};
        out.v1.clientBuf = (Qnn_ClientBuffer_t){y, sizeof y};
        OK(s.qnn.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
        for (uint32_t o = 0; o < N_OUT; o++)
            assert_true(fabs((double)y[o] - expected(n, x, o)) < 1.01 * (double)Y_SCALE);
    }
    OK(sys->systemContextFree(reader));
    OK(s.qnn.contextFree(context, NULL));
    end(&s);
}

static void models_are_compiled_and_run_in_one_process(void **state) {
    (void)state;
    for (int i = 0; i < N_MODELS; i++) {
        net n;
        uint64_t n_bytes = 0;
        make_net(&n, i);
        ask_for_the_build_id();
        void *bytes = compile(&n, &n_bytes);
        run(&n, bytes, n_bytes);
        free(bytes);
    }
}

// When a graph is built, weights must be there; the message names the tensor.
static void weights_without_data_are_refused_in_a_graph(void **state) {
    (void)state;
    session s = begin();
    net n;
    Qnn_ContextHandle_t context = NULL;
    make_net(&n, 0);
    OK(s.qnn.contextCreate(s.backend, s.device, NULL, &context));
    Qnn_GraphHandle_t g = make_graph(&s, context);
    n_errors = 0;
    assert_int_not_equal(s.qnn.tensorCreateGraphTensor(g, &n.w), QNN_SUCCESS);
    assert_int_equal(n_errors, 1);
    assert_non_null(strstr(last_line, "w@0"));
    OK(s.qnn.contextFree(context, NULL));
    end(&s);
}

// Online prepare: the payload is a DLC. It is no context binary, and a damaged one is refused in
// words; tests/client/test_dlc.c runs whole ones.
static void a_damaged_dlc_is_refused(void **state) {
    (void)state;
    session s = begin();
    const QNN_SYSTEM_INTERFACE_VER_TYPE *sys = system_library();
    uint8_t dlc[256] = {'P', 'K', 3, 4};
    QnnSystemContext_Handle_t reader = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    Qnn_ContextHandle_t context = NULL;
    Qnn_LogHandle_t second = NULL, log = NULL;
    QnnSystemDlc_Handle_t handle = NULL;
    n_errors = 0;
    OK(sys->systemContextCreate(&reader));
    assert_int_equal(
        QNN_GET_ERROR_CODE(sys->systemContextGetMetaData(reader, dlc, sizeof dlc, &info)),
        QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY);
    assert_int_equal(n_errors, 0); // the client only finds out what it has
    OK(s.qnn.contextCreate(s.backend, s.device, NULL, &context));
    OK(s.qnn.logCreate(hear, QNN_LOG_LEVEL_ERROR, &second)); // of the other library
    OK(sys->systemLogCreate(hear, QNN_LOG_LEVEL_ERROR, &log));
    assert_int_equal(
        QNN_GET_ERROR_CODE(sys->systemDlcCreateFromBinary(second, dlc, sizeof dlc, &handle)),
        QNN_SYSTEM_DLC_ERROR_MALFORMED_BINARY);
    assert_null(handle);
    assert_int_equal(n_errors, 1);
    assert_non_null(strstr(last_line, "DLC"));
    OK(sys->systemLogFree(log));
    OK(sys->systemContextFree(reader));
    OK(s.qnn.logFree(second));
    OK(s.qnn.contextFree(context, NULL));
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_compiled_and_run_in_one_process),
        cmocka_unit_test(weights_without_data_are_refused_in_a_graph),
        cmocka_unit_test(a_damaged_dlc_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
