// SPDX-License-Identifier: MIT
//
// One session of onnxruntime's QNN provider, call by call; see provider_session.h.
#include "provider_session.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SM8650 57u
#define MAX_EVENTS 64u
#define TRY(call)                                                                                  \
    do {                                                                                           \
        Qnn_ErrorHandle_t error_ = (call);                                                         \
        if (error_ != QNN_SUCCESS) {                                                               \
            fprintf(stderr, "%s: error %u\n", #call, (unsigned)QNN_GET_ERROR_CODE(error_));        \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

typedef QnnHtpPerfInfrastructure_PowerConfig_t power_config;

static uint32_t x_dims[] = {1, 12, 12, 8}, y_dims[] = {1, 12, 12, 16};

// --- set-up

static void *open_library(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("QUERN_LIB_DIR"), name);
    void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!lib)
        fprintf(stderr, "%s\n", dlerror());
    return lib;
}

static bool open_tables(session *s) {
    s->lib = open_library("libQnnHtp.so");
    s->system_lib = open_library("libQnnSystem.so");
    if (!s->lib || !s->system_lib)
        return false;
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *);
    Qnn_ErrorHandle_t (*get_system)(const QnnSystemInterface_t ***, uint32_t *);
    *(void **)&get = dlsym(s->lib, "QnnInterface_getProviders");
    *(void **)&get_system = dlsym(s->system_lib, "QnnSystemInterface_getProviders");
    const QnnInterface_t **list;
    const QnnSystemInterface_t **system_list;
    uint32_t n;
    TRY(get(&list, &n));
    TRY(get_system(&system_list, &n));
    s->qnn = list[0]->QNN_INTERFACE_VER_NAME;
    s->system = system_list[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
    return true;
}

static void on_log(const char *format, QnnLog_Level_t level, uint64_t time, va_list args) {
    char line[512];
    (void)level, (void)time;
    vsnprintf(line, sizeof line, format, args);
}

static bool make_device(session *s) {
    QnnHtpDevice_CustomConfig_t soc = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC,
                                       .socModel = SM8650};
    QnnHtpDevice_CustomConfig_t arch = {.option = QNN_HTP_DEVICE_CONFIG_OPTION_ARCH};
    arch.arch.arch = QNN_HTP_DEVICE_ARCH_V75;
    QnnDevice_Config_t a = {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &soc};
    QnnDevice_Config_t b = {.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &arch};
    const QnnDevice_Config_t *configs[] = {&a, &b, NULL};
    TRY(s->qnn.deviceCreate(s->log, configs, &s->device));
    return true;
}

static bool infrastructure(const session *s, QnnHtpDevice_PerfInfrastructure_t *perf) {
    QnnDevice_Infrastructure_t infra = NULL;
    TRY(s->qnn.deviceGetInfrastructure(&infra));
    *perf = infra->perfInfra;
    return infra->infraType == QNN_HTP_DEVICE_INFRASTRUCTURE_TYPE_PERF;
}

// As the modes burst and low_balanced vote.
static bool vote(const session *s, bool burst) {
    QnnHtpDevice_PerfInfrastructure_t perf;
    QnnHtpPerfInfrastructure_VoltageCorner_t corner =
        burst ? DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER : DCVS_VOLTAGE_VCORNER_NOM;
    power_config clock = {.option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3};
    clock.dcvsV3Config = (QnnHtpPerfInfrastructure_DcvsV3_t){
        .contextId = s->power_id,
        .setDcvsEnable = 1,
        .dcvsEnable = !burst,
        .powerMode = QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_PERFORMANCE_MODE,
        .setSleepLatency = 1,
        .sleepLatency = burst ? 40 : 1000,
        .setBusParams = 1,
        .busVoltageCornerMin = corner,
        .busVoltageCornerTarget = corner,
        .busVoltageCornerMax = corner,
        .setCoreParams = 1,
        .coreVoltageCornerMin = corner,
        .coreVoltageCornerTarget = corner,
        .coreVoltageCornerMax = corner};
    power_config polling = {.option =
                                QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_RPC_POLLING_TIME};
    polling.rpcPollingTimeConfig = burst ? 9999 : 0;
    const power_config *configs[] = {&polling, &clock, NULL};
    if (!infrastructure(s, &perf))
        return false;
    TRY(perf.setPowerConfig(s->power_id, configs));
    return true;
}

bool session_open(session *s, const char *folder, unsigned number) {
    *s = (session){.profile_folder = folder};
    snprintf(s->profile_name, sizeof s->profile_name, "%u_qnn.log", number);
    const char *build = NULL;
    if (!open_tables(s))
        return false;
    TRY(s->qnn.backendGetBuildId(&build));
    TRY(s->qnn.logCreate(on_log, QNN_LOG_LEVEL_WARN, &s->log));
    TRY(s->qnn.backendCreate(s->log, NULL, &s->backend));
    if (s->qnn.propertyHasCapability(QNN_PROPERTY_GROUP_DEVICE) != QNN_PROPERTY_SUPPORTED ||
        !make_device(s))
        return false;
    if (folder)
        TRY(s->qnn.profileCreate(s->backend, QNN_PROFILE_LEVEL_DETAILED, &s->profile));
    QnnHtpDevice_PerfInfrastructure_t perf;
    if (!infrastructure(s, &perf))
        return false;
    TRY(perf.createPowerConfigId(0, 0, &s->power_id));
    return vote(s, true);
}

// --- profiles

// Every event with those below it, and into the file, whose target is freed twice.
static bool read_events(session *s, const QnnProfile_EventId_t *ids, uint32_t n,
                        QnnSystemProfile_ProfileEventV1_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        const QnnProfile_EventId_t *below = NULL;
        uint32_t n_below = 0;
        out[i] =
            (QnnSystemProfile_ProfileEventV1_t){.type = QNN_SYSTEM_PROFILE_EXTENDED_EVENT_DATA};
        TRY(s->qnn.profileGetExtendedEventData(ids[i], &out[i].extendedEventData));
        TRY(s->qnn.profileGetSubEvents(ids[i], &below, &n_below));
        if (n_below == 0 || n_below > MAX_EVENTS)
            continue;
        out[i].profileSubEventData = calloc(n_below, sizeof *out);
        out[i].numSubEvents = n_below;
        if (!out[i].profileSubEventData ||
            !read_events(s, below, n_below, out[i].profileSubEventData))
            return false;
    }
    return true;
}

static void free_events(QnnSystemProfile_ProfileEventV1_t *events, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        free_events(events[i].profileSubEventData, events[i].numSubEvents);
        free(events[i].profileSubEventData);
    }
}

static bool write_events(session *s, QnnSystemProfile_ProfileEventV1_t *events, uint32_t n,
                         QnnSystemProfile_MethodType_t method) {
    QnnSystemProfile_SerializationTarget_t target = {
        .type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_FILE,
        .file = {s->profile_name, s->profile_folder}};
    QnnSystemProfile_SerializationTargetConfig_t header = {
        .type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_SERIALIZATION_HEADER,
        .serializationHeader = {"OnnxRuntime", "24", "2.40.0"}};
    QnnSystemProfile_ProfileData_t data = {
        QNN_SYSTEM_PROFILE_DATA_VERSION_1,
        {{{.methodType = method, .graphName = "graph"}, events, n}}};
    const QnnSystemProfile_ProfileData_t *list[] = {&data};
    QnnSystemProfile_SerializationTargetHandle_t handle = NULL;
    TRY(s->system.systemProfileCreateSerializationTarget(target, &header, 1, &handle));
    TRY(s->system.systemProfileSerializeEventData(handle, list, 1));
    TRY(s->system.systemProfileFreeSerializationTarget(handle));
    (void)s->system.systemProfileFreeSerializationTarget(handle);
    return true;
}

static bool take_profile(session *s, QnnSystemProfile_MethodType_t method) {
    if (!s->profile)
        return true;
    const QnnProfile_EventId_t *ids = NULL;
    QnnSystemProfile_ProfileEventV1_t events[MAX_EVENTS] = {0};
    uint32_t n = 0;
    TRY(s->qnn.profileGetEvents(s->profile, &ids, &n));
    if (n == 0 || n > MAX_EVENTS)
        return n == 0;
    bool done = read_events(s, ids, n, events) && write_events(s, events, n, method);
    free_events(events, n);
    return done;
}

// --- graphs

static Qnn_Tensor_t tensor(const char *name, Qnn_TensorType_t type, Qnn_DataType_t data_type,
                           uint32_t rank, uint32_t *dims) {
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = data_type;
    t.v1.rank = rank;
    t.v1.dimensions = dims;
    t.v1.memType = QNN_TENSORMEMTYPE_RAW;
    return t;
}

static Qnn_Tensor_t codes(const char *name, Qnn_TensorType_t type, uint32_t *dims, float scale) {
    Qnn_Tensor_t t = tensor(name, type, QNN_DATATYPE_UFIXED_POINT_8, 4, dims);
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    t.v1.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){scale, -128};
    return t;
}

static bool add_words(session *s, Qnn_GraphHandle_t g, Qnn_Param_t *p, const char *name,
                      uint32_t rank, uint32_t *dims, uint32_t *data, uint32_t n) {
    *p = (Qnn_Param_t){.paramType = QNN_PARAMTYPE_TENSOR, .name = name};
    p->tensorParam = tensor(name, QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UINT_32, rank, dims);
    p->tensorParam.v1.clientBuf = (Qnn_ClientBuffer_t){data, n * 4};
    if (g)
        TRY(s->qnn.tensorCreateGraphTensor(g, &p->tensorParam));
    return true;
}

// A convolution, added to a graph or (without one) only validated. Weights differ by the number.
static bool add_conv(session *s, Qnn_GraphHandle_t g, uint32_t number, Qnn_Tensor_t *x,
                     Qnn_Tensor_t *y) {
    uint32_t w_dims[] = {3, 3, 8, 16}, two[] = {2}, four[] = {2, 2}, stride[] = {1, 1},
             pad[] = {1, 1, 1, 1};
    uint8_t weights[3 * 3 * 8 * 16];
    for (size_t i = 0; i < sizeof weights; i++)
        weights[i] = (uint8_t)((i + 1) * (2654435761u + 40503u * number) >> 24);
    Qnn_Tensor_t in[2] = {*x, codes("w", QNN_TENSOR_TYPE_STATIC, w_dims, 0.01f)};
    in[1].v1.clientBuf = (Qnn_ClientBuffer_t){weights, sizeof weights};
    if (g)
        TRY(s->qnn.tensorCreateGraphTensor(g, &in[1]));
    Qnn_Param_t params[2];
    if (!add_words(s, g, &params[0], "stride", 1, two, stride, 2) ||
        !add_words(s, g, &params[1], "pad_amount", 2, four, pad, 4))
        return false;
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = "conv";
    op.v1.packageName = "qti.aisw";
    op.v1.typeName = "Conv2d";
    op.v1.numOfParams = op.v1.numOfInputs = 2;
    op.v1.params = params;
    op.v1.inputTensors = in;
    op.v1.numOfOutputs = 1;
    op.v1.outputTensors = y;
    if (g)
        TRY(s->qnn.graphAddNode(g, op));
    else
        TRY(s->qnn.backendValidateOpConfig(s->backend, op));
    return true;
}

static bool compile_graph(session *s, uint32_t i) {
    QnnHtpGraph_CustomConfig_t level = {.option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION};
    level.optimizationOption.type = QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG;
    level.optimizationOption.floatValue = 3;
    QnnHtpGraph_CustomConfig_t vtcm = {.option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE,
                                       .vtcmSizeInMB = 4};
    QnnGraph_Config_t a = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &level};
    QnnGraph_Config_t b = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &vtcm};
    const QnnGraph_Config_t *configs[] = {&a, &b, NULL};
    char name[32];
    snprintf(name, sizeof name, "graph_%u", i);
    Qnn_Tensor_t x = codes("x", QNN_TENSOR_TYPE_APP_WRITE, x_dims, 0.02f);
    Qnn_Tensor_t mid = codes("mid", QNN_TENSOR_TYPE_NATIVE, y_dims, 0.05f);
    Qnn_Tensor_t y = codes("y", QNN_TENSOR_TYPE_APP_READ, y_dims, 0.05f);
    if (!add_conv(s, NULL, i, &x, &mid))
        return false;
    Qnn_GraphHandle_t g;
    TRY(s->qnn.graphCreate(s->context, name, configs, &g));
    TRY(s->qnn.tensorCreateGraphTensor(g, &x));
    TRY(s->qnn.tensorCreateGraphTensor(g, &y));
    TRY(s->qnn.tensorCreateGraphTensor(g, &mid));
    if (!add_conv(s, g, i, &x, &mid))
        return false;
    Qnn_OpConfig_t relu = QNN_OPCONFIG_INIT;
    relu.v1.name = "relu";
    relu.v1.packageName = "qti.aisw";
    relu.v1.typeName = "Relu";
    relu.v1.numOfInputs = relu.v1.numOfOutputs = 1;
    relu.v1.inputTensors = &mid;
    relu.v1.outputTensors = &y;
    TRY(s->qnn.graphAddNode(g, relu));
    TRY(s->qnn.graphFinalize(g, s->profile, NULL));
    s->graphs[i].handle = g;
    s->graphs[i].x_id = x.v1.id;
    s->graphs[i].y_id = y.v1.id;
    return take_profile(s, QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_FINALIZE);
}

bool session_compile(session *s) {
    QnnHtpContext_CustomConfig_t sharing = {
        .option = QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED,
        .weightSharingEnabled = true};
    QnnContext_Config_t a = {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY,
                             .priority = QNN_PRIORITY_NORMAL};
    QnnContext_Config_t b = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &sharing};
    const QnnContext_Config_t *configs[] = {&a, &b, NULL};
    TRY(s->qnn.contextCreate(s->backend, s->device, configs, &s->context));
    for (uint32_t i = 0; i < SESSION_GRAPHS; i++)
        if (!compile_graph(s, i))
            return false;
    return true;
}

// --- context binaries

bool session_binary_of(session *s, session_binary *b) {
    Qnn_ContextBinarySize_t size, written;
    TRY(s->qnn.contextGetBinarySize(s->context, &size));
    b->data = malloc(size);
    if (!b->data)
        return false;
    TRY(s->qnn.contextGetBinary(s->context, b->data, size, &written));
    b->size = written;
    return true;
}

static bool retrieve(session *s, const QnnSystemContext_GraphInfoV3_t *info, uint32_t i) {
    if (info->numGraphInputs != 1 || info->numGraphOutputs != 1)
        return false;
    TRY(s->qnn.graphRetrieve(s->context, info->graphName, &s->graphs[i].handle));
    s->graphs[i].x_id = info->graphInputs[0].v1.id;
    s->graphs[i].y_id = info->graphOutputs[0].v1.id;
    return true;
}

bool session_load(session *s, const session_binary *b) {
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    Qnn_ContextBinarySize_t info_size = 0;
    TRY(s->system.systemContextCreate(&reader));
    TRY(s->system.systemContextGetBinaryInfo(reader, b->data, b->size, &info, &info_size));
    if (info->version != QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3 ||
        info->contextBinaryInfoV3.numGraphs != SESSION_GRAPHS)
        return false;
    QnnContext_Config_t priority = {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY,
                                    .priority = QNN_PRIORITY_NORMAL};
    const QnnContext_Config_t *configs[] = {&priority, NULL, NULL};
    TRY(s->qnn.contextCreateFromBinary(s->backend, s->device, configs, b->data, b->size,
                                       &s->context, s->profile));
    if (!take_profile(s, QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_CREATE_FROM_BINARY))
        return false;
    for (uint32_t i = 0; i < SESSION_GRAPHS; i++)
        if (!retrieve(s, &info->contextBinaryInfoV3.graphs[i].graphInfoV3, i))
            return false;
    TRY(s->system.systemContextFree(reader));
    return true;
}

// --- the rest

bool session_run(session *s, uint32_t i, uint8_t *in, uint8_t *out) {
    Qnn_Tensor_t x = codes("x", QNN_TENSOR_TYPE_APP_WRITE, x_dims, 0.02f);
    Qnn_Tensor_t y = codes("y", QNN_TENSOR_TYPE_APP_READ, y_dims, 0.05f);
    x.v1.id = s->graphs[i].x_id;
    y.v1.id = s->graphs[i].y_id;
    x.v1.clientBuf = (Qnn_ClientBuffer_t){in, SESSION_IN_BYTES};
    y.v1.clientBuf = (Qnn_ClientBuffer_t){out, SESSION_OUT_BYTES};
    if (!vote(s, true))
        return false;
    TRY(s->qnn.graphExecute(s->graphs[i].handle, &x, 1, &y, 1, s->profile, NULL));
    return vote(s, false) && take_profile(s, QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE);
}

bool session_set_priority(session *s, Qnn_Priority_t priority) {
    QnnContext_Config_t config = {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY,
                                  .priority = priority};
    const QnnContext_Config_t *configs[] = {&config, NULL};
    TRY(s->qnn.contextSetConfig(s->context, configs));
    return true;
}

bool session_close(session *s) {
    QnnHtpDevice_PerfInfrastructure_t perf;
    if (!infrastructure(s, &perf))
        return false;
    TRY(perf.destroyPowerConfigId(s->power_id));
    if (s->context)
        TRY(s->qnn.contextFree(s->context, NULL));
    if (s->profile)
        TRY(s->qnn.profileFree(s->profile));
    TRY(s->qnn.deviceFree(s->device));
    TRY(s->qnn.backendFree(s->backend));
    TRY(s->qnn.logFree(s->log));
    return dlclose(s->system_lib) == 0 && dlclose(s->lib) == 0;
}
