// SPDX-License-Identifier: MIT
//
// Context component: loading binaries, as far as the API layer goes (the fault backend's binary is
// a fixed text that loads as one graph named "loaded").
#include "build.h"

#include "core/signal.h"

static const char *names[] = {"loaded", NULL}, *unknown_names[] = {"nobody", NULL};
static int custom;

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

static const status_row load_rows[] = {
    {QRN_E_BINARY, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY},
    {QRN_E_GENERAL, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY},
    {QRN_E_BINARY_VERSION, QNN_CONTEXT_ERROR_BINARY_VERSION},
    {QRN_E_BINARY_CONFIG, QNN_CONTEXT_ERROR_BINARY_CONFIGURATION},
    {QRN_E_BINARY_SUBOPTIMAL, QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL},
    {QRN_E_MEM, QNN_CONTEXT_ERROR_MEM_ALLOC},
    {QRN_E_COMM, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION},
    {QRN_E_COMM_FATAL, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL}};

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
    const QnnContext_Config_t *alone[] = {&own, NULL};
    OK(QnnContext_create(backend, NULL, alone, &c));
    assert_int_equal(fault_phase, QRN_CONFIG_CREATE);
    OK(QnnContext_free(c, NULL));
    OK(plain(&l));
    assert_int_equal(fault_phase, QRN_CONFIG_BINARY);
    const qrn_api_context *o = qrn_handle_get(QRN_KIND_CONTEXT, c);
    OK(QnnContext_setConfig(c, list));
    assert_int_equal(fault_phase, QRN_CONFIG_SET);
    assert_int_equal(o->own->graphs[0]->priority, QNN_PRIORITY_HIGH);
    high.priority = QNN_PRIORITY_LOW;
    fault_status[FAULT_CONTEXT_CONFIG] = QRN_E_NOT_PERMITTED;
    assert_int_equal(QnnContext_setConfig(c, list), QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED);
    assert_int_equal(o->priority, QNN_PRIORITY_HIGH);
    assert_int_equal(o->own->graphs[0]->priority, QNN_PRIORITY_HIGH);
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
    assert_ptr_equal(o->own->deferred.data, bytes); // used where it lies
    OK(QnnGraph_retrieve(c, "loaded", &g));         // makes the graphs too
    assert_null(o->own->deferred.data);
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

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, build_setup, build_teardown)
        T(all_ways_of_loading_fail_as_documented),
        T(data_callbacks_bring_the_bytes_and_get_them_back),
        T(the_backend_knows_the_phase_and_may_refuse_the_list),
        T(retention_order_may_be_replaced),
        T(lists_notify_per_graph_and_per_context),
        T(enabled_graphs_run_and_the_others_do_not),
        T(deferred_graphs_are_made_when_asked_for),
        T(binaries_can_be_validated_without_loading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
