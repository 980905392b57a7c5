// SPDX-License-Identifier: MIT
//
// Context component: life, options, and everything about binaries as far as the API layer goes (the
// fault backend's binary is a fixed text that loads as one graph named "loaded").
#include "build.h"

#include "api/profile.h"
#include "api/signal.h"

#include <unistd.h>

typedef struct row {
    qrn_status status;
    Qnn_ErrorHandle_t code;
} row;

#define CREATE(code, ...) PAIR("QnnContext_create", code, QnnContext_create(__VA_ARGS__))

static void creation_checks_its_arguments(void **state) {
    (void)state;
    Qnn_ContextHandle_t c = NULL;
    Qnn_DeviceHandle_t device;
    OK(QnnDevice_create(NULL, NULL, &device));
    CREATE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, backend, NULL, NULL, NULL);
    CREATE(QNN_CONTEXT_ERROR_INVALID_HANDLE, NULL, NULL, NULL, &c);
    CREATE(QNN_CONTEXT_ERROR_INVALID_HANDLE, context, NULL, NULL, &c);
    CREATE(QNN_CONTEXT_ERROR_INVALID_HANDLE, backend, backend, NULL, &c);
    static const row rows[] = {{QRN_E_UNSUPPORTED, QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE},
                               {QRN_E_MEM, QNN_CONTEXT_ERROR_MEM_ALLOC},
                               {QRN_E_COMM, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION},
                               {QRN_E_COMM_FATAL, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL}};
    for (size_t i = 0; i < N_OF(rows); i++) {
        fault_status[FAULT_CONTEXT_CREATE] = rows[i].status;
        CREATE(rows[i].code, backend, NULL, NULL, &c);
    }
    fault_reset();
    assert_null(c);
    PAIR_MEM("QnnContext_create", QNN_CONTEXT_ERROR_MEM_ALLOC,
             QnnContext_create(backend, device, NULL, &c));
    assert_int_not_equal(QnnDevice_free(device), QNN_SUCCESS); // the context uses it
    OK(QnnContext_free(c, NULL));
    OK(QnnDevice_free(device));
}

static void freeing_ends_everything_inside(void **state) {
    (void)state;
    relu_graph r;
    relu_finalized(&r, "r", 4);
    Qnn_ContextHandle_t gone = context;
    Qnn_ProfileHandle_t p;
    OK(QnnProfile_create(backend, QNN_PROFILE_LEVEL_BASIC, &p));
    PAIR("QnnContext_free", QNN_CONTEXT_ERROR_SET_PROFILE, QnnContext_free(context, backend));
    static const row rows[] = {{QRN_E_MEM, QNN_CONTEXT_ERROR_MEM_ALLOC},
                               {QRN_E_COMM, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION},
                               {QRN_E_COMM_FATAL, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL}};
    for (size_t i = 0; i < N_OF(rows); i++) {
        fault_status[FAULT_CONTEXT_FREE] = rows[i].status;
        PAIR("QnnContext_free", rows[i].code, QnnContext_free(context, NULL));
    }
    fault_reset();
    float x[4] = {-1, 1, 0, 0}, y[4];
    relu_bind(&r, x, y);
    OK(RUN(&r, NULL, NULL)); // a context that could not be freed works on
    assert_int_not_equal(QnnBackend_free(backend), QNN_SUCCESS);
    OK(QnnContext_free(context, p));
    context = NULL;
    const QnnProfile_EventId_t *events = NULL;
    uint32_t n = 0;
    OK(QnnProfile_getEvents(p, &events, &n));
    assert_int_equal(n, 1);
    QnnProfile_EventData_t data;
    OK(QnnProfile_getEventData(events[0], &data));
    assert_int_equal(data.type, QNN_PROFILE_EVENTTYPE_DEINIT);
    PAIR("QnnContext_free", QNN_CONTEXT_ERROR_INVALID_HANDLE, QnnContext_free(gone, NULL));
    PAIR("QnnContext_free", QNN_CONTEXT_ERROR_INVALID_HANDLE, QnnContext_free(NULL, NULL));
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_INVALID_HANDLE, RUN(&r, NULL, NULL));
    OK(QnnProfile_free(p));
}

static Qnn_ErrorHandle_t create_with(QnnContext_Config_t option, Qnn_ContextHandle_t *c) {
    const QnnContext_Config_t *list[] = {&option, NULL};
    return QnnContext_create(backend, NULL, list, c);
}

static Qnn_ErrorHandle_t set(QnnContext_Config_t option) {
    const QnnContext_Config_t *list[] = {&option, NULL};
    return QnnContext_setConfig(context, list);
}

static const char *names[] = {"loaded", NULL}, *unknown_names[] = {"nobody", NULL};
static int custom;

static void options_are_checked(void **state) {
    (void)state;
    Qnn_ContextHandle_t c = NULL;
    const QnnContext_Config_t bad[] = {
        {.option = (QnnContext_ConfigOption_t)11},
        {.option = QNN_CONTEXT_CONFIG_UNDEFINED},
        {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = NULL},
        {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = (Qnn_Priority_t)7},
        {.option = QNN_CONTEXT_CONFIG_OPTION_ERROR_REPORTING,
         .errorConfig = {(Qnn_ErrorReportingLevel_t)5, 0}},
        {.option = QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH,
         .asyncExeQueueDepth = {QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC,
                                {.depth = 0}}},
        {.option = QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH,
         .asyncExeQueueDepth = QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_INIT},
        {.option = QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY,
         .binaryCompatibilityType = (QnnContext_BinaryCompatibilityType_t)2},
        // Only for contexts made from a binary.
        {.option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS, .enableGraphs = names},
        {.option = QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT, .isGraphInitDeferred = 1},
        {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = 1},
        {.option = QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER, .graphRetentionOrder = names},
    };
    for (size_t i = 0; i < N_OF(bad); i++) {
        PAIR("QnnContext_create", QNN_CONTEXT_ERROR_INVALID_CONFIG, create_with(bad[i], &c));
        PAIR("QnnContext_setConfig", QNN_CONTEXT_ERROR_INVALID_ARGUMENT, set(bad[i]));
    }
    PAIR("QnnContext_setConfig", QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
         QnnContext_setConfig(context, NULL));
    PAIR("QnnContext_setConfig", QNN_CONTEXT_ERROR_INVALID_HANDLE,
         QnnContext_setConfig(NULL, NULL));
    fault_backend.features = 0;
    fault_backend.context_config = NULL;
    fault_backend.binary_load = NULL;
    const QnnContext_Config_t unsupported[] = {
        {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &custom},
        {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_HIGH},
        {.option = QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH,
         .asyncExeQueueDepth = {QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC,
                                {.depth = 3}}},
        {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = 1},
    };
    for (size_t i = 0; i < N_OF(unsupported); i++)
        PAIR("QnnContext_create", QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE,
             create_with(unsupported[i], &c));
    PAIR("QnnContext_setConfig", QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, set(unsupported[1]));
    assert_null(c);
}

static void good_options_arrive(void **state) {
    (void)state;
    QnnContext_Config_t options[] = {
        {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_LOW},
        {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_HIGH},
        {.option = QNN_CONTEXT_CONFIG_OPTION_ERROR_REPORTING,
         .errorConfig = {QNN_ERROR_REPORTING_LEVEL_DETAILED, 64}},
        {.option = QNN_CONTEXT_CONFIG_OPTION_OEM_STRING, .oemString = "obsolete"},
        {.option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT, .memoryLimitHint = 512},
        {.option = QNN_CONTEXT_CONFIG_ASYNC_EXECUTION_QUEUE_DEPTH,
         .asyncExeQueueDepth = {QNN_CONTEXT_ASYNC_EXECUTION_QUEUE_DEPTH_TYPE_NUMERIC,
                                {.depth = 3}}},
        {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &custom},
    };
    const QnnContext_Config_t *list[N_OF(options) + 1] = {0};
    for (size_t i = 0; i < N_OF(options); i++)
        list[i] = &options[i];
    Qnn_ContextHandle_t c;
    OK(QnnContext_create(backend, NULL, list, &c));
    const qrn_api_context *o = qrn_handle_get(QRN_KIND_CONTEXT, c);
    assert_int_equal(o->priority, QNN_PRIORITY_HIGH);
    assert_int_equal(o->queue_depth, 3);
    assert_int_equal(o->memory_limit_mb, 512);
    assert_int_equal(fault_calls[FAULT_CONTEXT_CONFIG], 1);
    Qnn_GraphHandle_t g;
    OK(QnnGraph_create(c, "g", NULL, &g));
    assert_int_equal(graph_object(g)->priority, QNN_PRIORITY_HIGH); // the default of its graphs
    OK(QnnContext_free(c, NULL));
    static const row rows[] = {{QRN_E_COMM, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION},
                               {QRN_E_COMM_FATAL, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL}};
    for (size_t i = 0; i < N_OF(rows); i++) {
        fault_status[FAULT_CONTEXT_CONFIG] = rows[i].status;
        PAIR("QnnContext_setConfig", rows[i].code, set(options[6]));
        PAIR("QnnContext_create", rows[i].code, create_with(options[6], &c));
    }
    fault_reset();
    const qrn_api_context *mine = qrn_handle_get(QRN_KIND_CONTEXT, context);
    OK(set(options[1]));
    assert_int_equal(mine->priority, QNN_PRIORITY_HIGH);
}

static void properties_come_from_the_backend(void **state) {
    (void)state;
    QnnContext_Property_t p = {.option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM}, *list[] = {&p, NULL};
    OK(QnnContext_getProperty(context, list));
    assert_int_equal(fault_calls[FAULT_CONTEXT_PROPERTY], 1);
#define PROPERTY(code, ...)                                                                        \
    PAIR("QnnContext_getProperty", code, QnnContext_getProperty(__VA_ARGS__))
    PROPERTY(QNN_CONTEXT_ERROR_INVALID_HANDLE, backend, list);
    PROPERTY(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, NULL);
    p.option = QNN_CONTEXT_PROPERTY_OPTION_UNDEFINED;
    PROPERTY(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, list);
    p.option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM;
    fault_backend.context_property = NULL;
    PROPERTY(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, context, list);
    PAIR("QnnContext_addToDlc", QNN_CONTEXT_ERROR_INVALID_HANDLE, QnnContext_addToDlc(NULL, NULL));
    PAIR("QnnContext_addToDlc", QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE,
         QnnContext_addToDlc(context, NULL));
}

static char bytes[] = "a binary of the fault backend";

static Qnn_ErrorHandle_t raw_give(Qnn_ContextBinaryDataRequest_t req,
                                  Qnn_ContextBinaryRawDataResponse_t *got, void *param) {
    int *count = param;
    (*count)++;
    assert_int_equal(req.offset, 0);
    *got = (Qnn_ContextBinaryRawDataResponse_t){bytes, 0, sizeof bytes};
    return *count < 0 ? 1 : QNN_SUCCESS;
}
static Qnn_ErrorHandle_t raw_take(Qnn_ContextBinaryRawDataMem_t mem, void *param) {
    assert_ptr_equal(mem.memPtr, bytes);
    *(int *)param += 100;
    return QNN_SUCCESS;
}
static _Alignas(4096) char page[4096];
static Qnn_ErrorHandle_t dma_give(Qnn_ContextBinaryDataRequest_t req,
                                  Qnn_ContextBinaryDmaDataResponse_t *got, void *param) {
    (void)req;
    ++*(int *)param;
    *got = (Qnn_ContextBinaryDmaDataResponse_t){{7, page}, 0, sizeof page};
    return QNN_SUCCESS;
}
static Qnn_ErrorHandle_t dma_take(Qnn_ContextBinaryDmaDataMem_t mem, void *param) {
    assert_ptr_equal(mem.dmaBuffer.data, page);
    *(int *)param += 100;
    return QNN_SUCCESS;
}

static int callback_count;
static Qnn_ContextBinaryCallback_t raw_callback = {
    QNN_CONTEXT_CALLBACK_RAW_BUFFER,
    {.rawBufferCallback = {QNN_CONTEXT_CALLBACK_RAW_BUFFER_VERSION_1,
                           {.v1 = {raw_give, raw_take, &callback_count}}}}};

typedef struct notes {
    unsigned graphs, contexts;
    Qnn_ContextHandle_t context;
    Qnn_ErrorHandle_t status;
} notes;

static void list_notify(Qnn_ContextHandle_t c, Qnn_GraphHandle_t g, const char *name,
                        QnnContext_createFromBinaryAsyncNotifyType_t type, void *param,
                        Qnn_ErrorHandle_t status) {
    notes *n = param;
    if (type == QNN_CONTEXT_NOTIFY_TYPE_GRAPH_INIT) {
        assert_string_equal(name, "loaded");
        assert_non_null(graph_object(g));
        n->graphs++;
    } else {
        n->contexts++;
        n->context = c;
        n->status = status;
    }
}

// One way to load a binary with everything that can be given to it.
typedef struct load {
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device;
    const QnnContext_Config_t **config;
    const void *data;
    Qnn_ContextBinarySize_t size;
    Qnn_ContextHandle_t *out;
    Qnn_ProfileHandle_t profile;
    Qnn_SignalHandle_t signal;
} load;

static Qnn_ErrorHandle_t plain(const load *l) {
    return QnnContext_createFromBinary(l->backend, l->device, l->config, l->data, l->size, l->out,
                                       l->profile);
}
static Qnn_ErrorHandle_t signalled(const load *l) {
    return QnnContext_createFromBinaryWithSignal(l->backend, l->device, l->config, l->data, l->size,
                                                 l->out, l->profile, l->signal);
}
static Qnn_ErrorHandle_t called_back(const load *l) {
    return QnnContext_createFromBinaryWithCallback(l->backend, l->device, l->config, &raw_callback,
                                                   l->data, l->size, l->out, l->profile, l->signal);
}
static Qnn_ErrorHandle_t listed(const load *l) {
    notes n = {0};
    QnnContext_Params_t p = {
        QNN_CONTEXT_PARAMS_VERSION_1,
        {.v1 = {NULL, l->data, l->size, l->profile, l->out ? list_notify : NULL, &n}}};
    const QnnContext_Params_t *list[] = {&p, NULL};
    Qnn_ErrorHandle_t code =
        QnnContext_createFromBinaryListAsync(l->backend, l->device, list, l->config, l->signal);
    if (n.contexts) {
        assert_int_equal(n.status == QNN_SUCCESS, code == QNN_SUCCESS);
        if (code == QNN_SUCCESS)
            *l->out = n.context;
    }
    return code;
}

static const struct {
    const char *function;
    Qnn_ErrorHandle_t (*call)(const load *l);
    bool has_signal;
} loaders[] = {{"QnnContext_createFromBinary", plain, false},
               {"QnnContext_createFromBinaryWithSignal", signalled, true},
               {"QnnContext_createFromBinaryWithCallback", called_back, true},
               {"QnnContext_createFromBinaryListAsync", listed, true}};

static const row load_rows[] = {{QRN_E_BINARY, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY},
                                {QRN_E_GENERAL, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY},
                                {QRN_E_BINARY_VERSION, QNN_CONTEXT_ERROR_BINARY_VERSION},
                                {QRN_E_BINARY_CONFIG, QNN_CONTEXT_ERROR_BINARY_CONFIGURATION},
                                {QRN_E_BINARY_SUBOPTIMAL, QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL},
                                {QRN_E_MEM, QNN_CONTEXT_ERROR_MEM_ALLOC},
                                {QRN_E_COMM, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION},
                                {QRN_E_COMM_FATAL, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL}};

static Qnn_SignalHandle_t make_signal(QnnSignal_Config_t option) {
    const QnnSignal_Config_t *list[] = {&option, NULL};
    Qnn_SignalHandle_t s;
    OK(QnnSignal_create(backend, list, &s));
    return s;
}

// A load that is aborted by the signal's owner while it runs.
static Qnn_SignalHandle_t abort_signal;
static qrn_status load_and_abort(qrn_api_context *c, const qrn_binary_source *source) {
    (void)c, (void)source;
    OK(QnnSignal_trigger(abort_signal)); // from the calling thread: does not wait for itself
    return QRN_OK;
}

static void all_ways_of_loading_fail_as_documented(void **state) {
    (void)state;
    QnnContext_Config_t bad_option = {.option = QNN_CONTEXT_CONFIG_UNDEFINED};
    QnnContext_Config_t bad_names = {.option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS,
                                     .enableGraphs = unknown_names};
    const QnnContext_Config_t *bad_list[] = {&bad_option, NULL}, *bad_graphs[] = {&bad_names, NULL};
    Qnn_SignalHandle_t at_once = make_signal(
        (QnnSignal_Config_t){.option = QNN_SIGNAL_CONFIG_OPTION_TIMEOUT, .timeoutDurationUs = 0});
    abort_signal = make_signal((QnnSignal_Config_t){.option = QNN_SIGNAL_CONFIG_OPTION_ABORT});
    for (size_t i = 0; i < N_OF(loaders); i++) {
        Qnn_ContextHandle_t c = NULL;
        const load good = {backend, NULL, NULL, bytes, sizeof bytes, &c, NULL, NULL};
        load l;
#define LOAD(code, change) l = good, change, PAIR(loaders[i].function, code, loaders[i].call(&l))
        LOAD(QNN_CONTEXT_ERROR_INVALID_HANDLE, l.backend = context);
        LOAD(QNN_CONTEXT_ERROR_INVALID_HANDLE, l.device = context);
        LOAD(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, l.data = NULL);
        LOAD(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, l.size = 0);
        LOAD(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, l.out = NULL);
        LOAD(QNN_CONTEXT_ERROR_INVALID_CONFIG, l.config = bad_list);
        LOAD(QNN_CONTEXT_ERROR_INVALID_CONFIG, l.config = bad_graphs);
        LOAD(QNN_CONTEXT_ERROR_SET_PROFILE, l.profile = context);
        for (size_t k = 0; k < N_OF(load_rows); k++) {
            fault_status[FAULT_BINARY_LOAD] = load_rows[k].status;
            LOAD(load_rows[k].code, (void)0);
        }
        fault_reset();
        if (loaders[i].has_signal) {
            LOAD(QNN_CONTEXT_ERROR_TIMED_OUT, l.signal = at_once);
            LOAD(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, l.signal = context);
            fault_backend.binary_load = load_and_abort;
            LOAD(QNN_CONTEXT_ERROR_ABORTED, l.signal = abort_signal);
        }
        fault_backend.binary_load = NULL;
        LOAD(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, (void)0);
        fault_reset();
        assert_null(c);
        PAIR_MEM(loaders[i].function, QNN_CONTEXT_ERROR_MEM_ALLOC, loaders[i].call(&good));
        Qnn_GraphHandle_t g = NULL;
        OK(QnnGraph_retrieve(c, "loaded", &g));
        OK(QnnContext_free(c, NULL));
    }
    OK(QnnSignal_free(at_once));
    OK(QnnSignal_free(abort_signal));
}

static void data_callbacks_bring_the_bytes_and_get_them_back(void **state) {
    (void)state;
    Qnn_ContextHandle_t c = NULL;
    Qnn_ContextBinaryCallback_t cb = raw_callback;
#define WITH_CALLBACK(cb)                                                                          \
    QnnContext_createFromBinaryWithCallback(backend, NULL, NULL, cb, bytes, sizeof bytes, &c,      \
                                            NULL, NULL)
#define BAD_CALLBACK(code, cb)                                                                     \
    PAIR("QnnContext_createFromBinaryWithCallback", code, WITH_CALLBACK(cb))
    callback_count = 0;
    OK(WITH_CALLBACK(&cb));
    assert_int_equal(callback_count, 1); // given once
    OK(QnnContext_free(c, NULL));
    assert_int_equal(callback_count, 101); // taken back once
    callback_count = 0;
    fault_status[FAULT_BINARY_LOAD] = QRN_E_BINARY;
    BAD_CALLBACK(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, &cb);
    assert_int_equal(callback_count, 101);
    fault_reset();
    callback_count = -10; // the callback fails
    BAD_CALLBACK(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, &cb);
    assert_int_equal(callback_count, -9);
    callback_count = 0;
    Qnn_ContextBinaryCallback_t dma = {
        QNN_CONTEXT_CALLBACK_DMA_BUFFER,
        {.dmaBufferCallback = {QNN_CONTEXT_CALLBACK_DMA_BUFFER_VERSION_1,
                               {.v1 = {dma_give, dma_take, &callback_count}}}}};
    OK(WITH_CALLBACK(&dma));
    OK(QnnContext_free(c, NULL));
    assert_int_equal(callback_count, 101);
    BAD_CALLBACK(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, NULL);
    cb.rawBufferCallback.v1.dataRelease = NULL;
    BAD_CALLBACK(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, &cb);
    cb.type = QNN_CONTEXT_CALLBACK_UNDEFINED;
    BAD_CALLBACK(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, &cb);
}

// A list is refused as a whole, whoever refuses: the last word is the backend's.
static void the_backend_knows_the_phase_and_may_refuse_the_list(void **state) {
    (void)state;
    Qnn_ContextHandle_t c;
    QnnContext_Config_t own = {.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &custom};
    QnnContext_Config_t high = {.option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY,
                                .priority = QNN_PRIORITY_HIGH};
    const QnnContext_Config_t *list[] = {&high, &own, NULL};
    load l = {backend, NULL, list, bytes, sizeof bytes, &c, NULL, NULL};
    OK(create_with(own, &c));
    assert_int_equal(fault_phase, QRN_CONFIG_CREATE);
    OK(QnnContext_free(c, NULL));
    OK(plain(&l));
    assert_int_equal(fault_phase, QRN_CONFIG_BINARY);
    const qrn_api_context *o = qrn_handle_get(QRN_KIND_CONTEXT, c);
    OK(QnnContext_setConfig(c, list));
    assert_int_equal(fault_phase, QRN_CONFIG_SET);
    assert_int_equal(o->graphs[0]->priority, QNN_PRIORITY_HIGH);
    high.priority = QNN_PRIORITY_LOW;
    fault_status[FAULT_CONTEXT_CONFIG] = QRN_E_NOT_PERMITTED;
    assert_int_equal(QnnContext_setConfig(c, list), QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED);
    assert_int_equal(o->priority, QNN_PRIORITY_HIGH);
    assert_int_equal(o->graphs[0]->priority, QNN_PRIORITY_HIGH);
    fault_reset();
    OK(QnnContext_free(c, NULL));
    OK(listed(&l));
    assert_int_equal(fault_phase, QRN_CONFIG_GROUP);
    OK(QnnContext_free(c, NULL));
}

static void retention_order_may_be_replaced(void **state) {
    (void)state;
    Qnn_ContextHandle_t c;
    const char *first[] = {"loaded", "b", NULL}, *second[] = {"b", NULL};
    QnnContext_Config_t order = {.option = QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER,
                                 .graphRetentionOrder = first};
    const QnnContext_Config_t *list[] = {&order, NULL};
    load l = {backend, NULL, list, bytes, sizeof bytes, &c, NULL, NULL};
    OK(plain(&l));
    const qrn_api_context *o = qrn_handle_get(QRN_KIND_CONTEXT, c);
    assert_string_equal(o->retention_order[1], "b");
    assert_null(o->retention_order[2]);
    order.graphRetentionOrder = second;
    OK(QnnContext_setConfig(c, list));
    assert_string_equal(o->retention_order[0], "b");
    assert_null(o->retention_order[1]);
    OK(QnnContext_free(c, NULL));
}

static void lists_notify_per_graph_and_per_context(void **state) {
    (void)state;
    notes n[3] = {{0}};
    QnnContext_ParamsV2_t v2 = {NULL, bytes, sizeof bytes, NULL, list_notify, &n[1], &raw_callback};
    QnnContext_Params_t first = {QNN_CONTEXT_PARAMS_VERSION_1,
                                 {.v1 = {NULL, bytes, sizeof bytes, NULL, list_notify, &n[0]}}},
                        second = {QNN_CONTEXT_PARAMS_VERSION_2, {.v2 = &v2}},
                        wrong = {QNN_CONTEXT_PARAMS_VERSION_UNDEFINED, {.v2 = NULL}};
    const QnnContext_Params_t *list[] = {&first, &second, NULL}, *bad[] = {&first, &wrong, NULL};
    OK(QnnContext_createFromBinaryListAsync(backend, NULL, list, NULL, NULL));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(n[i].graphs, 1);
        assert_int_equal(n[i].contexts, 1);
        assert_int_equal(n[i].status, QNN_SUCCESS);
        OK(QnnContext_free(n[i].context, NULL));
    }
#define LIST(code, list)                                                                           \
    PAIR("QnnContext_createFromBinaryListAsync", code,                                             \
         QnnContext_createFromBinaryListAsync(backend, NULL, list, NULL, NULL))
    LIST(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, bad);
    LIST(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, NULL);
    LIST(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, list + 2);
    assert_int_equal(n[0].contexts, 1); // a bad entry is seen before anything is loaded
    first.v1.profile = backend;         // one that cannot be loaded does not stop the others
    LIST(QNN_CONTEXT_ERROR_SET_PROFILE, list);
    assert_int_equal(n[0].status, QNN_CONTEXT_ERROR_SET_PROFILE);
    assert_int_equal(n[1].contexts, 2);
    assert_int_equal(n[1].status, QNN_SUCCESS);
    OK(QnnContext_free(n[1].context, NULL));
}

static void enabled_graphs_run_and_the_others_do_not(void **state) {
    (void)state;
    static const char *nobody[] = {NULL};
    QnnContext_Config_t only = {.option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS, .enableGraphs = nobody};
    const QnnContext_Config_t *list[] = {&only, NULL};
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    OK(QnnContext_createFromBinary(backend, NULL, list, bytes, sizeof bytes, &c, NULL));
    OK(QnnGraph_retrieve(c, "loaded", &g));
    PAIR("QnnGraph_execute", QNN_GRAPH_ERROR_DISABLED,
         QnnGraph_execute(g, NULL, 0, NULL, 0, NULL, NULL));
    OK(QnnContext_free(c, NULL));
    only.enableGraphs = names;
    OK(QnnContext_createFromBinary(backend, NULL, list, bytes, sizeof bytes, &c, NULL));
    OK(QnnGraph_retrieve(c, "loaded", &g));
    assert_false(graph_object(g)->disabled);
    OK(QnnContext_free(c, NULL));
}

static void deferred_graphs_are_made_when_asked_for(void **state) {
    (void)state;
    QnnContext_Config_t defer = {.option = QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT,
                                 .isGraphInitDeferred = 1};
    QnnContext_Config_t keep = {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY,
                                .isPersistentBinary = 1};
    QnnContext_Config_t who = {.option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS,
                               .enableGraphs = unknown_names};
    const QnnContext_Config_t *list[] = {&defer, NULL}, *kept[] = {&defer, &keep, NULL},
                              *named[] = {&defer, &who, NULL};
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    OK(QnnContext_createFromBinary(backend, NULL, list, bytes, sizeof bytes, &c, NULL));
    assert_int_equal(fault_calls[FAULT_BINARY_LOAD], 0);
    assert_int_equal(fault_calls[FAULT_BINARY_VALIDATE], 1);
#define FINALIZE(code, ...) PAIR("QnnContext_finalize", code, QnnContext_finalize(__VA_ARGS__))
    FINALIZE(QNN_CONTEXT_ERROR_INVALID_HANDLE, backend, NULL);
    FINALIZE(QNN_CONTEXT_ERROR_SET_PROFILE, c, backend);
    for (size_t k = 0; k < N_OF(load_rows); k++) {
        fault_status[FAULT_BINARY_LOAD] = load_rows[k].status;
        FINALIZE(load_rows[k].code, c, NULL);
    }
    fault_status[FAULT_BINARY_LOAD] = QRN_OK;
    OK(QnnContext_finalize(c, NULL));
    FINALIZE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, c, NULL); // done
    OK(QnnGraph_retrieve(c, "loaded", &g));
    OK(QnnContext_free(c, NULL));

    OK(QnnContext_createFromBinary(backend, NULL, kept, bytes, sizeof bytes, &c, NULL));
    const qrn_api_context *o = qrn_handle_get(QRN_KIND_CONTEXT, c);
    assert_ptr_equal(o->deferred.data, bytes); // used where it lies
    OK(QnnGraph_retrieve(c, "loaded", &g));    // makes the graphs too
    assert_null(o->deferred.data);
    OK(QnnContext_free(c, NULL));

    OK(QnnContext_createFromBinary(backend, NULL, named, bytes, sizeof bytes, &c, NULL));
    FINALIZE(QNN_CONTEXT_ERROR_INVALID_CONFIG, c, NULL);
    fault_backend.binary_load = NULL;
    FINALIZE(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, c, NULL);
    fault_reset();
    OK(QnnContext_free(c, NULL));
    fault_status[FAULT_BINARY_VALIDATE] = QRN_E_BINARY_VERSION;
    PAIR("QnnContext_createFromBinary", QNN_CONTEXT_ERROR_BINARY_VERSION,
         QnnContext_createFromBinary(backend, NULL, list, bytes, sizeof bytes, &c, NULL));
}

static void binaries_can_be_validated_without_loading(void **state) {
    (void)state;
#define VALIDATE(code, ...)                                                                        \
    PAIR("QnnContext_validateBinary", code, QnnContext_validateBinary(__VA_ARGS__))
    OK(QnnContext_validateBinary(backend, NULL, NULL, bytes, sizeof bytes));
    VALIDATE(QNN_CONTEXT_ERROR_INVALID_HANDLE, context, NULL, NULL, bytes, sizeof bytes);
    VALIDATE(QNN_CONTEXT_ERROR_INVALID_HANDLE, backend, context, NULL, bytes, sizeof bytes);
    VALIDATE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, backend, NULL, NULL, NULL, sizeof bytes);
    VALIDATE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, backend, NULL, NULL, bytes, 0);
    QnnContext_Config_t bad = {.option = QNN_CONTEXT_CONFIG_UNDEFINED};
    const QnnContext_Config_t *list[] = {&bad, NULL};
    VALIDATE(QNN_CONTEXT_ERROR_INVALID_CONFIG, backend, NULL, list, bytes, sizeof bytes);
    for (size_t k = 0; k < 6; k++) {
        fault_status[FAULT_BINARY_VALIDATE] = load_rows[k].status;
        VALIDATE(load_rows[k].code, backend, NULL, NULL, bytes, sizeof bytes);
    }
    fault_backend.binary_validate = NULL;
    VALIDATE(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, backend, NULL, NULL, bytes, sizeof bytes);
    assert_int_equal(fault_calls[FAULT_BINARY_LOAD], 0);
}

static void binaries_are_written_into_client_buffers(void **state) {
    (void)state;
    Qnn_ContextBinarySize_t size = 77, written = 77;
    char buffer[64] = {0};
#define SIZE(code, ...)                                                                            \
    PAIR("QnnContext_getBinarySize", code, QnnContext_getBinarySize(__VA_ARGS__))
#define GET(code, ...) PAIR("QnnContext_getBinary", code, QnnContext_getBinary(__VA_ARGS__))
    SIZE(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, &size); // no graphs at all
    relu_graph r;
    relu_build(&r, "r", 4);
    SIZE(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, &size);
    GET(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, buffer, 64, &written);
    OK(QnnGraph_finalize(r.handle, NULL, NULL));
    SIZE(QNN_CONTEXT_ERROR_INVALID_HANDLE, backend, &size);
    SIZE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, NULL);
    GET(QNN_CONTEXT_ERROR_INVALID_HANDLE, NULL, buffer, 64, &written);
    GET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, NULL, 64, &written);
    GET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, buffer, 0, &written);
    GET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, buffer, 64, NULL);
    GET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, buffer, 3, &written); // too small
    static const row rows[] = {{QRN_E_BINARY, 0}, {QRN_E_GENERAL, 0}, {QRN_E_HARDWARE, 0}};
    for (size_t i = 0; i < N_OF(rows); i++) {
        fault_status[FAULT_BINARY_SIZE] = fault_status[FAULT_BINARY_WRITE] = rows[i].status;
        SIZE(QNN_CONTEXT_ERROR_GET_BINARY_SIZE_FAILED, context, &size);
        GET(QNN_CONTEXT_ERROR_GET_BINARY_FAILED, context, buffer, 64, &written);
    }
    fault_status[FAULT_BINARY_SIZE] = fault_status[FAULT_BINARY_WRITE] = QRN_E_MEM;
    SIZE(QNN_CONTEXT_ERROR_MEM_ALLOC, context, &size);
    GET(QNN_CONTEXT_ERROR_MEM_ALLOC, context, buffer, 64, &written);
    fault_reset();
    assert_true(size == 77 && written == 77); // written only on success
    OK(QnnContext_getBinarySize(context, &size));
    OK(QnnContext_getBinary(context, buffer, 64, &written));
    assert_true(size == 16 && written == 16);
    assert_string_equal(buffer, "fault binary");
    Qnn_ContextHandle_t c;
    OK(QnnContext_createFromBinary(backend, NULL, NULL, buffer, written, &c, NULL));
    SIZE(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, c, &size);
    GET(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, c, buffer, 64, &written);
    OK(QnnContext_free(c, NULL));
    fault_backend.binary_size = NULL;
    fault_backend.binary_write = NULL;
    SIZE(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, context, &size);
    GET(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, context, buffer, 64, &written);
}

static void binaries_can_be_read_in_pieces(void **state) {
    (void)state;
    const void *piece = NULL, *end = &piece;
    Qnn_ContextBinarySize_t start = 9, written = 9;
#define PIECE(code, ...)                                                                           \
    PAIR("QnnContext_getIncrementalBinary", code, QnnContext_getIncrementalBinary(__VA_ARGS__))
#define RELEASE(code, ...)                                                                         \
    PAIR("QnnContext_releaseIncrementalBinary", code,                                              \
         QnnContext_releaseIncrementalBinary(__VA_ARGS__))
    PIECE(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, &piece, &start, &written);
    RELEASE(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, bytes, 0);
    relu_graph r;
    relu_finalized(&r, "r", 4);
    PIECE(QNN_CONTEXT_ERROR_INVALID_HANDLE, NULL, &piece, &start, &written);
    PIECE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, NULL, &start, &written);
    PIECE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, &piece, NULL, &written);
    PIECE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, &piece, &start, NULL);
    fault_status[FAULT_BINARY_WRITE] = QRN_E_GENERAL;
    PIECE(QNN_CONTEXT_ERROR_GET_BINARY_FAILED, context, &piece, &start, &written);
    fault_reset();
    PAIR_MEM("QnnContext_getIncrementalBinary", QNN_CONTEXT_ERROR_MEM_ALLOC,
             QnnContext_getIncrementalBinary(context, &piece, &start, &written));
    assert_true(start == 0 && written == 16);
    assert_string_equal(piece, "fault binary");
    OK(QnnContext_getIncrementalBinary(context, &end, &start, &written));
    assert_null(end);
    assert_int_equal(written, 0);
    PIECE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, &end, &start, &written); // not released yet
    RELEASE(QNN_CONTEXT_ERROR_INVALID_HANDLE, NULL, piece, 0);
    RELEASE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, NULL, 0);
    RELEASE(QNN_CONTEXT_ERROR_INCREMENT_INVALID_BUFFER, context, bytes, 0);
    RELEASE(QNN_CONTEXT_ERROR_INCREMENT_INVALID_BUFFER, context, piece, 1);
    OK(QnnContext_releaseIncrementalBinary(context, piece, 0));
    RELEASE(QNN_CONTEXT_ERROR_INCREMENT_INVALID_BUFFER, context, piece, 0);
    OK(QnnContext_getIncrementalBinary(context, &piece, &start,
                                       &written)); // once more from the start
    Qnn_ContextHandle_t c;
    OK(QnnContext_createFromBinary(backend, NULL, NULL, bytes, sizeof bytes, &c, NULL));
    PIECE(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, c, &piece, &start, &written);
    RELEASE(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, c, piece, 0);
    OK(QnnContext_free(c, NULL));
    fault_backend.binary_write = NULL;
    PIECE(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, context, &piece, &start, &written);
    RELEASE(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, context, piece, 0);
}

static QnnContext_Buffer_t raw_buffer(void *data, uint64_t size) {
    return (QnnContext_Buffer_t){QNN_CONTEXT_BUFFER_VERSION_1,
                                 {.v1 = {QNN_CONTEXTMEMTYPE_RAW, {.binaryBuf = {data, size}}}}};
}

#define SECTION QNN_CONTEXT_SECTION_UPDATABLE

static void sections_are_written(void **state) {
    (void)state;
    Qnn_ContextBinarySize_t size = 7, written = 7;
    char data[32] = {0};
    QnnContext_Buffer_t buffer = raw_buffer(data, sizeof data), bad = raw_buffer(NULL, 4);
    relu_graph r;
    relu_build(&r, "r", 4);
#define SSIZE(code, ...)                                                                           \
    PAIR("QnnContext_getBinarySectionSize", code, QnnContext_getBinarySectionSize(__VA_ARGS__))
#define SGET(code, ...)                                                                            \
    PAIR("QnnContext_getBinarySection", code, QnnContext_getBinarySection(__VA_ARGS__))
    SSIZE(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, r.handle, SECTION, &size);
    SGET(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, r.handle, SECTION, &buffer, &written, NULL,
         NULL);
    SSIZE(QNN_CONTEXT_ERROR_NOT_FINALIZED, context, NULL, SECTION, &size);
    OK(QnnGraph_finalize(r.handle, NULL, NULL));
    SSIZE(QNN_CONTEXT_ERROR_INVALID_HANDLE, NULL, r.handle, SECTION, &size);
    SSIZE(QNN_CONTEXT_ERROR_INVALID_HANDLE, context, backend, SECTION, &size);
    SSIZE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, (QnnContext_SectionType_t)0,
          &size);
    SSIZE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, NULL);
    SGET(QNN_CONTEXT_ERROR_INVALID_HANDLE, NULL, r.handle, SECTION, &buffer, &written, NULL, NULL);
    SGET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, NULL, &written, NULL,
         NULL);
    SGET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, &bad, &written, NULL,
         NULL);
    SGET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, &buffer, NULL, NULL, NULL);
    SGET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, &buffer, &written, context,
         NULL);
    bad.v1.memType = QNN_CONTEXTMEMTYPE_MEMHANDLE;
    bad.v1.memHandle = context;
    SGET(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, &bad, &written, NULL,
         NULL);
    fault_status[FAULT_SECTION_SIZE] = fault_status[FAULT_SECTION_WRITE] = QRN_E_GENERAL;
    SSIZE(QNN_CONTEXT_ERROR_GET_BINARY_SIZE_FAILED, context, r.handle, SECTION, &size);
    SGET(QNN_CONTEXT_ERROR_GET_BINARY_FAILED, context, r.handle, SECTION, &buffer, &written, NULL,
         NULL);
    fault_status[FAULT_SECTION_SIZE] = fault_status[FAULT_SECTION_WRITE] = QRN_E_MEM;
    SSIZE(QNN_CONTEXT_ERROR_MEM_ALLOC, context, r.handle, SECTION, &size);
    SGET(QNN_CONTEXT_ERROR_MEM_ALLOC, context, r.handle, SECTION, &buffer, &written, NULL, NULL);
    fault_reset();
    assert_true(size == 7 && written == 7);
    OK(QnnContext_getBinarySectionSize(context, NULL, SECTION, &size)); // the whole context
    OK(QnnContext_getBinarySection(context, r.handle, SECTION, &buffer, &written, NULL, NULL));
    assert_true(size == 16 && written == 16);
    assert_string_equal(data, "fault binary");
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    OK(QnnContext_createFromBinary(backend, NULL, NULL, bytes, sizeof bytes, &c, NULL));
    OK(QnnGraph_retrieve(c, "loaded", &g));
    SSIZE(QNN_CONTEXT_ERROR_INVALID_HANDLE, context, g, SECTION, &size); // of another context
    SSIZE(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, c, g, SECTION, &size);
    SGET(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, c, g, SECTION, &buffer, &written, NULL, NULL);
    OK(QnnContext_free(c, NULL));
    fault_backend.section_size = NULL;
    fault_backend.section_write = NULL;
    SSIZE(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, context, r.handle, SECTION, &size);
    SGET(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, context, r.handle, SECTION, &buffer, &written, NULL,
         NULL);
}

static void sections_are_applied(void **state) {
    (void)state;
    QnnContext_Buffer_t buffer = raw_buffer(bytes, sizeof bytes), bad = buffer;
    relu_graph r;
    relu_finalized(&r, "r", 4);
#define APPLY(code, ...)                                                                           \
    PAIR("QnnContext_applyBinarySection", code, QnnContext_applyBinarySection(__VA_ARGS__))
    OK(QnnContext_applyBinarySection(context, r.handle, SECTION, &buffer, NULL, NULL));
    assert_int_equal(fault_calls[FAULT_SECTION_APPLY], 1);
    APPLY(QNN_CONTEXT_ERROR_INVALID_HANDLE, NULL, r.handle, SECTION, &buffer, NULL, NULL);
    APPLY(QNN_CONTEXT_ERROR_INVALID_HANDLE, context, context, SECTION, &buffer, NULL, NULL);
    APPLY(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, NULL, NULL, NULL);
    bad.version = QNN_CONTEXT_BUFFER_VERSION_UNDEFINED;
    APPLY(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, &bad, NULL, NULL);
    APPLY(QNN_CONTEXT_ERROR_SET_PROFILE, context, r.handle, SECTION, &buffer, context, NULL);
    fault_status[FAULT_SECTION_APPLY] = QRN_E_MEM;
    APPLY(QNN_CONTEXT_ERROR_MEM_ALLOC, context, r.handle, SECTION, &buffer, NULL, NULL);
    fault_status[FAULT_SECTION_APPLY] = QRN_E_BINARY;
    APPLY(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, context, r.handle, SECTION, &buffer, NULL, NULL);
    fault_backend.section_apply = NULL;
    APPLY(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, context, r.handle, SECTION, &buffer, NULL, NULL);
}

static void quiet(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args) {
    (void)fmt, (void)level, (void)timestamp, (void)args;
}

static void sections_are_edited_without_a_context(void **state) {
    (void)state;
    QnnContext_Buffer_t buffer = raw_buffer(bytes, sizeof bytes), bad = raw_buffer(NULL, 0),
                        out = bad;
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    const Qnn_Tensor_t *list[] = {&t}, *null_list[] = {NULL};
    Qnn_LogHandle_t log;
    OK(QnnLog_create(quiet, QNN_LOG_LEVEL_ERROR, &log));
#define EDIT(code, ...)                                                                            \
    PAIR("QnnContext_getBinarySectionUpdate", code, QnnContext_getBinarySectionUpdate(__VA_ARGS__))
#define FREE(code, ...)                                                                            \
    PAIR("QnnContext_freeBinarySectionUpdate", code,                                               \
         QnnContext_freeBinarySectionUpdate(__VA_ARGS__))
    EDIT(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, NULL, NULL, list, 1, 0, NULL, NULL, NULL, &out);
    EDIT(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, &bad, NULL, list, 1, 0, NULL, NULL, NULL, &out);
    EDIT(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, &buffer, &buffer, list, 1, 0, NULL, NULL, NULL, &out);
    EDIT(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, &buffer, NULL, NULL, 1, 0, NULL, NULL, NULL, &out);
    EDIT(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, &buffer, NULL, null_list, 1, 0, NULL, NULL, NULL,
         &out);
    EDIT(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, &buffer, NULL, list, 1, 0, NULL, NULL, NULL, NULL);
    EDIT(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, &buffer, NULL, list, 1, 0, context, NULL, NULL, &out);
    static const row rows[] = {{QRN_E_NOT_FOUND, QNN_TENSOR_ERROR_DOES_NOT_EXIST},
                               {QRN_E_TENSOR_UPDATE, QNN_TENSOR_ERROR_INCOMPATIBLE_TENSOR_UPDATE},
                               {QRN_E_BINARY, QNN_CONTEXT_ERROR_INVALID_ARGUMENT}};
    for (size_t i = 0; i < N_OF(rows); i++) {
        fault_status[FAULT_SECTION_UPDATE] = rows[i].status;
        EDIT(rows[i].code, &buffer, NULL, list, 1, 0, NULL, NULL, NULL, &out);
    }
    fault_status[FAULT_SECTION_UPDATE] = QRN_OK;
    PAIR_MEM("QnnContext_getBinarySectionUpdate", QNN_CONTEXT_ERROR_MEM_ALLOC,
             QnnContext_getBinarySectionUpdate(&buffer, NULL, list, 1, 1, log, NULL, NULL, &out));
    assert_string_equal(out.v1.binaryBuf.data, "fault binary");
    FREE(QNN_CONTEXT_ERROR_INVALID_HANDLE, out, context);
    FREE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, buffer, NULL); // not one of ours
    FREE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, bad, log);
    OK(QnnContext_freeBinarySectionUpdate(out, log));
    FREE(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, out, log); // once is enough
    fault_backend.section_update = NULL;
    EDIT(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, &buffer, NULL, list, 1, 0, NULL, NULL, NULL, &out);
    FREE(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, buffer, NULL);
    OK(QnnLog_free(log));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, build_setup, build_teardown)
        T(creation_checks_its_arguments),
        T(freeing_ends_everything_inside),
        T(options_are_checked),
        T(good_options_arrive),
        T(properties_come_from_the_backend),
        T(all_ways_of_loading_fail_as_documented),
        T(data_callbacks_bring_the_bytes_and_get_them_back),
        T(the_backend_knows_the_phase_and_may_refuse_the_list),
        T(retention_order_may_be_replaced),
        T(lists_notify_per_graph_and_per_context),
        T(enabled_graphs_run_and_the_others_do_not),
        T(deferred_graphs_are_made_when_asked_for),
        T(binaries_can_be_validated_without_loading),
        T(binaries_are_written_into_client_buffers),
        T(binaries_can_be_read_in_pieces),
        T(sections_are_written),
        T(sections_are_applied),
        T(sections_are_edited_without_a_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
