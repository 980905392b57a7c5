// SPDX-License-Identifier: MIT
//
// Context component: life, options, properties.
#include "build.h"

#include "core/profile.h"

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
    static const status_row rows[] = {
        {QRN_E_UNSUPPORTED, QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE},
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
    static const status_row rows[] = {
        {QRN_E_MEM, QNN_CONTEXT_ERROR_MEM_ALLOC},
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

static const char *names[] = {"loaded", NULL};
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
    assert_int_equal(o->own->queue_depth, 3);
    assert_int_equal(o->memory_limit_mb, 512);
    assert_int_equal(fault_calls[FAULT_CONTEXT_CONFIG], 1);
    Qnn_GraphHandle_t g;
    OK(QnnGraph_create(c, "g", NULL, &g));
    assert_int_equal(graph_object(g)->priority, QNN_PRIORITY_HIGH); // the default of its graphs
    OK(QnnContext_free(c, NULL));
    static const status_row rows[] = {
        {QRN_E_COMM, QNN_COMMON_ERROR_SYSTEM_COMMUNICATION},
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

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, build_setup, build_teardown)
        T(creation_checks_its_arguments),
        T(freeing_ends_everything_inside),
        T(options_are_checked),
        T(good_options_arrive),
        T(properties_come_from_the_backend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
