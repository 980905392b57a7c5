// SPDX-License-Identifier: MIT
//
// The calls of test_call_pairs: one row for each function of the table that uses an object. A row
// calls the function once, on the objects of the world, and returns what it returned; what it makes
// itself it also frees.
#include "pair_world.h"

#include "QnnProperty.h"

static void bind(caller *c, Qnn_Tensor_t *x, Qnn_Tensor_t *y) {
    *x = c->w->x;
    *y = c->w->y;
    set_buffer(x, c->in, sizeof c->in);
    set_buffer(y, c->out[c->round], sizeof c->out[0]);
}

#define ROW(function) static Qnn_ErrorHandle_t function(caller *c)

static void hear(const char *fmt, QnnLog_Level_t level, uint64_t t, va_list args) {
    char line[2048];
    (void)level, (void)t;
    vsnprintf(line, sizeof line, fmt, args);
}

static char *new_name(caller *c, char *text, size_t size) {
    snprintf(text, size, "n%d", atomic_fetch_add(&c->w->n_names, 1));
    return text;
}

// --- log, backend, device

ROW(log_create) {
    Qnn_LogHandle_t log;
    (void)c;
    Qnn_ErrorHandle_t e = qnn.logCreate(hear, QNN_LOG_LEVEL_ERROR, &log);
    if (e == QNN_SUCCESS)
        qnn.logFree(log);
    return e;
}
ROW(log_level) { return qnn.logSetLogLevel(c->w->log, QNN_LOG_LEVEL_WARN); }
ROW(log_free) { return qnn.logFree(c->w->log); }

ROW(backend_create) {
    Qnn_BackendHandle_t b;
    Qnn_ErrorHandle_t e = qnn.backendCreate(c->w->log, NULL, &b);
    if (e == QNN_SUCCESS)
        qnn.backendFree(b);
    return e;
}
ROW(backend_config) {
    QnnBackend_Config_t o = {.option = QNN_BACKEND_CONFIG_OPTION_ERROR_REPORTING,
                             .errorConfig = {QNN_ERROR_REPORTING_LEVEL_BRIEF, 1}};
    const QnnBackend_Config_t *list[] = {&o, NULL};
    return qnn.backendSetConfig(c->w->backend, list);
}
ROW(backend_package) {
    return qnn.backendRegisterOpPackage(c->w->backend, "/nowhere/lib.so", "provider", NULL);
}
ROW(backend_operations) {
    uint32_t n;
    const QnnBackend_OperationName_t *list;
    return qnn.backendGetSupportedOperations(c->w->backend, &n, &list);
}
ROW(backend_validate) {
    Qnn_Tensor_t in[2] = {c->w->x, c->w->x}, out = c->w->y;
    return qnn.backendValidateOpConfig(
        c->w->backend,
        op_config("v", QNN_OP_PACKAGE_NAME_QTI_AISW, QNN_OP_ELEMENT_WISE_ADD, in, 2, &out, 1));
}
ROW(backend_property) {
    QnnBackend_Property_t *none[] = {NULL};
    return qnn.backendGetProperty(c->w->backend, none);
}
ROW(backend_free) { return qnn.backendFree(c->w->backend); }

ROW(platform_info) {
    const QnnDevice_PlatformInfo_t *info;
    Qnn_ErrorHandle_t e = qnn.deviceGetPlatformInfo(c->w->log, &info);
    return e ? e : qnn.deviceFreePlatformInfo(NULL, info);
}
ROW(device_create) {
    Qnn_DeviceHandle_t d;
    Qnn_ErrorHandle_t e = qnn.deviceCreate(c->w->log, NULL, &d);
    if (e == QNN_SUCCESS)
        qnn.deviceFree(d);
    return e;
}
ROW(device_config) {
    const QnnDevice_Config_t *none[] = {NULL};
    return qnn.deviceSetConfig(c->w->device, none);
}
ROW(device_info) {
    const QnnDevice_PlatformInfo_t *info;
    return qnn.deviceGetInfo(c->w->device, &info);
}
ROW(device_free) { return qnn.deviceFree(c->w->device); }

// --- contexts

ROW(context_create) {
    Qnn_ContextHandle_t made;
    Qnn_ErrorHandle_t e = qnn.contextCreate(c->w->backend, c->w->device, NULL, &made);
    if (e == QNN_SUCCESS)
        qnn.contextFree(made, NULL);
    return e;
}
ROW(context_config) {
    QnnContext_Config_t o = {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY,
                             .priority = QNN_PRIORITY_NORMAL};
    const QnnContext_Config_t *list[] = {&o, NULL};
    return qnn.contextSetConfig(c->w->built, list);
}
ROW(context_property) {
    QnnContext_Property_t *none[] = {NULL};
    return qnn.contextGetProperty(c->w->built, none);
}
ROW(binary_size) {
    Qnn_ContextBinarySize_t n;
    return qnn.contextGetBinarySize(c->w->built, &n);
}
ROW(binary_get) {
    Qnn_ContextBinarySize_t n = binary_bytes + 4096, written;
    void *bytes = malloc(n);
    Qnn_ErrorHandle_t e = qnn.contextGetBinary(c->w->built, bytes, n, &written);
    free(bytes);
    return e;
}
ROW(binary_piece) {
    const void *bytes = NULL;
    Qnn_ContextBinarySize_t start, written;
    Qnn_ErrorHandle_t e = qnn.contextGetIncrementalBinary(c->w->built, &bytes, &start, &written);
    if (e == QNN_SUCCESS && bytes)
        qnn.contextReleaseIncrementalBinary(c->w->built, bytes, start);
    return e;
}
ROW(binary_load) {
    Qnn_ContextHandle_t made;
    Qnn_ErrorHandle_t e =
        qnn.contextCreateFromBinary(c->w->backend, c->w->device, NULL, binary ? binary : "none",
                                    binary ? binary_bytes : 4, &made, c->w->profile);
    if (e == QNN_SUCCESS)
        qnn.contextFree(made, NULL);
    return e;
}
ROW(binary_load_signal) {
    Qnn_ContextHandle_t made;
    Qnn_ErrorHandle_t e = qnn.contextCreateFromBinaryWithSignal(
        c->w->backend, c->w->device, NULL, binary ? binary : "none", binary ? binary_bytes : 4,
        &made, NULL, c->w->signal);
    if (e == QNN_SUCCESS)
        qnn.contextFree(made, NULL);
    return e;
}
// A context may be freed by the notification that names it.
static void free_at_once(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                         QnnContext_createFromBinaryAsyncNotifyType_t type, void *param,
                         Qnn_ErrorHandle_t status) {
    (void)graph, (void)name, (void)type, (void)param;
    if (context && status == QNN_SUCCESS)
        qnn.contextFree(context, NULL);
}
ROW(binary_list) {
    QnnContext_Params_t p = {.version = QNN_CONTEXT_PARAMS_VERSION_1,
                             .v1 = {.binaryBuffer = binary ? binary : "none",
                                    .binaryBufferSize = binary ? binary_bytes : 4,
                                    .notifyFunc = free_at_once}};
    const QnnContext_Params_t *list[] = {&p, &p, NULL};
    return qnn.contextCreateFromBinaryListAsync(c->w->backend, c->w->device, list, NULL, NULL);
}
ROW(binary_validate) {
    return qnn.contextValidateBinary(c->w->backend, c->w->device, NULL, binary ? binary : "none",
                                     binary ? binary_bytes : 4);
}
ROW(context_finalize) { return qnn.contextFinalize(c->w->built, NULL); }
ROW(section_size) {
    Qnn_ContextBinarySize_t n;
    return qnn.contextGetBinarySectionSize(c->w->built, c->w->done, QNN_CONTEXT_SECTION_UPDATABLE,
                                           &n);
}
static _Thread_local char section[65536];
ROW(section_get) {
    QnnContext_Buffer_t b = {
        .version = QNN_CONTEXT_BUFFER_VERSION_1,
        .v1 = {.memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = {section, sizeof section}}};
    Qnn_ContextBinarySize_t written;
    return qnn.contextGetBinarySection(c->w->built, c->w->done, QNN_CONTEXT_SECTION_UPDATABLE, &b,
                                       &written, c->w->profile, c->w->signal);
}
ROW(section_apply) {
    QnnContext_Buffer_t b = {
        .version = QNN_CONTEXT_BUFFER_VERSION_1,
        .v1 = {.memType = QNN_CONTEXTMEMTYPE_RAW, .binaryBuf = {section, sizeof section}}};
    return qnn.contextApplyBinarySection(c->w->built, c->w->done, QNN_CONTEXT_SECTION_UPDATABLE, &b,
                                         c->w->profile, c->w->signal);
}
ROW(context_dlc) { return qnn.contextAddToDlc(c->w->built, NULL); }
ROW(context_free) { return qnn.contextFree(c->w->built, c->w->profile); }
ROW(context_free_open) { return qnn.contextFree(c->w->open, NULL); }

// --- graphs and tensors

ROW(graph_create) {
    char name[16];
    Qnn_GraphHandle_t g;
    return qnn.graphCreate(c->w->open, new_name(c, name, sizeof name), NULL, &g);
}
ROW(graph_subgraph) {
    char name[16];
    Qnn_GraphHandle_t g;
    return qnn.graphCreateSubgraph(c->w->raw, new_name(c, name, sizeof name), &g);
}
static Qnn_ErrorHandle_t set_priority(Qnn_GraphHandle_t g) {
    QnnGraph_Config_t o = {.option = QNN_GRAPH_CONFIG_OPTION_PRIORITY,
                           .priority = QNN_PRIORITY_NORMAL};
    const QnnGraph_Config_t *list[] = {&o, NULL};
    return qnn.graphSetConfig(g, list);
}
ROW(graph_config) { return set_priority(c->w->done); }
ROW(graph_config_raw) { return set_priority(c->w->raw); }
ROW(graph_profiling) {
    QnnGraph_Config_t o = {.option = QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_STATE,
                           .profilingState = QNN_GRAPH_PROFILING_STATE_ENABLED};
    QnnGraph_Config_t n = {.option = QNN_GRAPH_CONFIG_OPTION_SET_PROFILING_NUM_EXECUTIONS,
                           .numProfilingExecutions = 2};
    const QnnGraph_Config_t *list[] = {&o, &n, NULL};
    return qnn.graphSetConfig(c->w->done, list);
}
ROW(graph_property) {
    QnnGraph_Property_t *none[] = {NULL};
    return qnn.graphGetProperty(c->w->done, none);
}
ROW(graph_tensor) {
    char name[16];
    Qnn_Tensor_t t = pair_tensor(QNN_TENSOR_TYPE_NATIVE, new_name(c, name, sizeof name));
    return qnn.tensorCreateGraphTensor(c->w->raw, &t);
}
ROW(graph_node) {
    char name[3][16];
    Qnn_Tensor_t in = pair_tensor(QNN_TENSOR_TYPE_APP_WRITE, new_name(c, name[0], 16));
    Qnn_Tensor_t out = pair_tensor(QNN_TENSOR_TYPE_APP_READ, new_name(c, name[1], 16));
    qnn.tensorCreateGraphTensor(c->w->raw, &in);
    qnn.tensorCreateGraphTensor(c->w->raw, &out);
    return qnn.graphAddNode(c->w->raw,
                            op_config(new_name(c, name[2], 16), QNN_OP_PACKAGE_NAME_QTI_AISW,
                                      QNN_OP_RELU, &in, 1, &out, 1));
}
ROW(graph_validate) {
    QnnGraph_ValidationResult_t *result;
    Qnn_ErrorHandle_t e = qnn.graphValidate(c->w->raw, NULL, &result);
    if (e == QNN_SUCCESS)
        qnn.graphFreeValidationResult(result);
    return e;
}
ROW(graph_finalize) { return qnn.graphFinalize(c->w->raw, c->w->profile, NULL); }
ROW(graph_finalize_again) { return qnn.graphFinalize(c->w->done, NULL, NULL); }
ROW(graph_retrieve) {
    Qnn_GraphHandle_t g;
    return qnn.graphRetrieve(c->w->built, "g", &g);
}
ROW(tensor_update) {
    Qnn_Tensor_t t = c->w->w;
    const Qnn_Tensor_t *list[] = {&t};
    set_buffer(&t, c->in, sizeof c->in);
    return qnn.tensorUpdateGraphTensors(c->w->done, list, 1);
}
ROW(context_tensor) {
    char name[16];
    Qnn_Tensor_t t = pair_tensor(QNN_TENSOR_TYPE_APP_READWRITE, new_name(c, name, sizeof name));
    return qnn.tensorCreateContextTensor(c->w->open, &t);
}
ROW(context_tensor_update) {
    Qnn_Tensor_t t = c->w->w;
    const Qnn_Tensor_t *list[] = {&t};
    set_buffer(&t, c->in, sizeof c->in);
    return qnn.tensorUpdateContextTensors(c->w->built, list, 1);
}

// --- executing

ROW(execute) {
    Qnn_Tensor_t x, y;
    bind(c, &x, &y);
    return qnn.graphExecute(c->w->done, &x, 1, &y, 1, NULL, NULL);
}
ROW(execute_profile) {
    Qnn_Tensor_t x, y;
    bind(c, &x, &y);
    return qnn.graphExecute(c->w->done, &x, 1, &y, 1, c->w->profile, NULL);
}
ROW(execute_signal) {
    Qnn_Tensor_t x, y;
    bind(c, &x, &y);
    return qnn.graphExecute(c->w->done, &x, 1, &y, 1, NULL, c->w->signal);
}
static void bind_memory(caller *c, Qnn_Tensor_t *x) {
    x->v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    x->v1.memHandle = c->w->memory;
}
ROW(execute_memory) {
    Qnn_Tensor_t x, y;
    bind(c, &x, &y);
    bind_memory(c, &x);
    return qnn.graphExecute(c->w->done, &x, 1, &y, 1, NULL, NULL);
}
static void notified(void *param, Qnn_NotifyStatus_t status) {
    world *w = param;
    (void)status;
    const char *text;
    qnn.errorGetMessage(QNN_COMMON_ERROR_MEM_ALLOC, &text);
    qnn.graphRetrieve(w->built, "g", &(Qnn_GraphHandle_t){NULL}); // never waits
    atomic_fetch_add(&w->n_notified, 1);
}
static Qnn_ErrorHandle_t queue(caller *c, bool memory, Qnn_ProfileHandle_t p,
                               Qnn_SignalHandle_t s) {
    Qnn_Tensor_t *x = &c->x[c->round], *y = &c->y[c->round];
    bind(c, x, y);
    if (memory)
        bind_memory(c, x);
    atomic_fetch_add(&c->w->n_queued, 1);
    Qnn_ErrorHandle_t e = qnn.graphExecuteAsync(c->w->done, x, 1, y, 1, p, s, notified, c->w);
    if (e != QNN_SUCCESS)
        atomic_fetch_sub(&c->w->n_queued, 1);
    return e;
}
ROW(async) { return queue(c, false, NULL, NULL); }
ROW(async_memory) { return queue(c, true, NULL, NULL); }
ROW(async_profile_signal) { return queue(c, false, c->w->profile, c->w->signal); }
ROW(environment) {
    Qnn_Tensor_t x = c->w->x;
    QnnGraph_ExecuteEnvironment_t env = {
        .option = QNN_GRAPH_EXECUTE_ENVIRONMENT_OPTION_POPULATE_CLIENT_BUFS,
        .tensorSet = {.version = QNN_TENSOR_SET_VERSION_1, .v1 = {.inputs = &x, .numInputs = 1}}};
    QnnGraph_ExecuteEnvironment_t *list[] = {&env};
    Qnn_ErrorHandle_t e = qnn.graphPrepareExecutionEnvironment(c->w->done, list, 1);
    if (e == QNN_SUCCESS)
        qnn.graphReleaseExecutionEnvironment(c->w->done,
                                             (const QnnGraph_ExecuteEnvironment_t **)list, 1);
    return e;
}

// --- profiles, signals, memory

ROW(profile_create) {
    Qnn_ProfileHandle_t p;
    Qnn_ErrorHandle_t e = qnn.profileCreate(c->w->backend, QNN_PROFILE_LEVEL_BASIC, &p);
    if (e == QNN_SUCCESS)
        qnn.profileFree(p);
    return e;
}
ROW(profile_config) {
    QnnProfile_Config_t o = {.option = QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS, .numMaxEvents = 100};
    const QnnProfile_Config_t *list[] = {&o, NULL};
    return qnn.profileSetConfig(c->w->profile, list);
}
ROW(profile_events) {
    const QnnProfile_EventId_t *ids;
    uint32_t n;
    return qnn.profileGetEvents(c->w->profile, &ids, &n);
}
ROW(profile_sub_events) {
    const QnnProfile_EventId_t *ids;
    uint32_t n;
    return qnn.profileGetSubEvents(c->w->event, &ids, &n);
}
ROW(profile_data) {
    QnnProfile_EventData_t data;
    return qnn.profileGetEventData(c->w->event, &data);
}
ROW(profile_extended) {
    QnnProfile_ExtendedEventData_t data;
    return qnn.profileGetExtendedEventData(c->w->event, &data);
}
ROW(profile_free) { return qnn.profileFree(c->w->profile); }

ROW(signal_create) {
    Qnn_SignalHandle_t s;
    Qnn_ErrorHandle_t e = qnn.signalCreate(c->w->backend, NULL, &s);
    if (e == QNN_SUCCESS)
        qnn.signalFree(s);
    return e;
}
ROW(signal_config) {
    QnnSignal_Config_t o = {.option = QNN_SIGNAL_CONFIG_OPTION_ABORT};
    const QnnSignal_Config_t *list[] = {&o, NULL};
    return qnn.signalSetConfig(c->w->signal, list);
}
ROW(signal_trigger) { return qnn.signalTrigger(c->w->signal); }
ROW(signal_free) { return qnn.signalFree(c->w->signal); }

ROW(memory_register) {
    uint32_t n = SIZE;
    Qnn_MemHandle_t m;
    Qnn_MemDescriptor_t d = {.memShape = {1, &n, NULL},
                             .dataType = QNN_DATATYPE_FLOAT_32,
                             .memType = QNN_MEM_TYPE_ION,
                             .ionInfo = {c->w->fd}};
    Qnn_ErrorHandle_t e = qnn.memRegister(c->w->built, &d, 1, &m);
    if (e == QNN_SUCCESS)
        qnn.memDeRegister(&m, 1);
    return e;
}
ROW(memory_free) { return qnn.memDeRegister(&c->w->memory, 1); }

// --- what has no object

ROW(capability) {
    (void)c;
    qnn.propertyHasCapability(QNN_PROPERTY_GRAPH_SUPPORT_SUBGRAPH);
    return QNN_SUCCESS;
}
ROW(verbose) {
    const char *text;
    (void)c;
    Qnn_ErrorHandle_t e = qnn.errorGetVerboseMessage(QNN_COMMON_ERROR_MEM_ALLOC, &text);
    return e ? e : qnn.errorFreeVerboseMessage(text);
}
ROW(global_config) {
    (void)c;
    return qnn.globalConfigSet(NULL);
}

// clang-format off
const call pair_calls[] = {
    {"QnnLog_create", log_create, false},
    {"QnnLog_setLogLevel", log_level, false},
    {"QnnLog_free", log_free, true},
    {"QnnBackend_create", backend_create, false},
    {"QnnBackend_setConfig", backend_config, false},
    {"QnnBackend_registerOpPackage", backend_package, false},
    {"QnnBackend_getSupportedOperations", backend_operations, false},
    {"QnnBackend_validateOpConfig", backend_validate, false},
    {"QnnBackend_getProperty", backend_property, false},
    {"QnnBackend_free", backend_free, true},
    {"QnnDevice_getPlatformInfo", platform_info, false},
    {"QnnDevice_create", device_create, false},
    {"QnnDevice_setConfig", device_config, false},
    {"QnnDevice_getInfo", device_info, false},
    {"QnnDevice_free", device_free, true},
    {"QnnContext_create", context_create, false},
    {"QnnContext_setConfig", context_config, false},
    {"QnnContext_getProperty", context_property, false},
    {"QnnContext_getBinarySize", binary_size, false},
    {"QnnContext_getBinary", binary_get, false},
    {"QnnContext_getIncrementalBinary", binary_piece, false},
    {"QnnContext_createFromBinary", binary_load, false},
    {"QnnContext_createFromBinaryWithSignal", binary_load_signal, false},
    {"QnnContext_createFromBinaryListAsync", binary_list, false},
    {"QnnContext_validateBinary", binary_validate, false},
    {"QnnContext_finalize", context_finalize, false},
    {"QnnContext_getBinarySectionSize", section_size, false},
    {"QnnContext_getBinarySection", section_get, false},
    {"QnnContext_applyBinarySection", section_apply, false},
    {"QnnContext_addToDlc", context_dlc, false},
    {"QnnContext_free", context_free, true},
    {"QnnContext_free", context_free_open, true},
    {"QnnGraph_create", graph_create, false},
    {"QnnGraph_createSubgraph", graph_subgraph, false},
    {"QnnGraph_setConfig", graph_config, false},
    {"QnnGraph_setConfig", graph_config_raw, false},
    {"QnnGraph_setConfig", graph_profiling, false},
    {"QnnGraph_getProperty", graph_property, false},
    {"QnnTensor_createGraphTensor", graph_tensor, false},
    {"QnnGraph_addNode", graph_node, false},
    {"QnnGraph_validate", graph_validate, false},
    {"QnnGraph_finalize", graph_finalize, false},
    {"QnnGraph_finalize", graph_finalize_again, false},
    {"QnnGraph_retrieve", graph_retrieve, false},
    {"QnnTensor_updateGraphTensors", tensor_update, false},
    {"QnnTensor_createContextTensor", context_tensor, false},
    {"QnnTensor_updateContextTensors", context_tensor_update, false},
    {"QnnGraph_execute", execute, false},
    {"QnnGraph_execute", execute_profile, false},
    {"QnnGraph_execute", execute_signal, false},
    {"QnnGraph_execute", execute_memory, false},
    {"QnnGraph_executeAsync", async, false},
    {"QnnGraph_executeAsync", async_memory, false},
    {"QnnGraph_executeAsync", async_profile_signal, false},
    {"QnnGraph_prepareExecutionEnvironment", environment, false},
    {"QnnProfile_create", profile_create, false},
    {"QnnProfile_setConfig", profile_config, false},
    {"QnnProfile_getEvents", profile_events, false},
    {"QnnProfile_getSubEvents", profile_sub_events, false},
    {"QnnProfile_getEventData", profile_data, false},
    {"QnnProfile_getExtendedEventData", profile_extended, false},
    {"QnnProfile_free", profile_free, true},
    {"QnnSignal_create", signal_create, false},
    {"QnnSignal_setConfig", signal_config, false},
    {"QnnSignal_trigger", signal_trigger, false},
    {"QnnSignal_free", signal_free, true},
    {"QnnMem_register", memory_register, false},
    {"QnnMem_deRegister", memory_free, true},
    {"QnnProperty_hasCapability", capability, false},
    {"QnnError_getVerboseMessage", verbose, false},
    {"QnnGlobalConfig_Set", global_config, false},
};
// clang-format on
const size_t n_pair_calls = sizeof pair_calls / sizeof *pair_calls;
