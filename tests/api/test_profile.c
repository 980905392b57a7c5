// SPDX-License-Identifier: MIT
//
// Profile component: the tree of events, its limits, ids that die with their record.
#include "core/profile.h"
#include "fault_backend.h"
#include "pairs.h"

#include <stdio.h>
#include <string.h>

static Qnn_BackendHandle_t backend;

static int setup(void **state) {
    (void)state;
    fault_reset();
    return QnnBackend_create(NULL, NULL, &backend) != QNN_SUCCESS;
}

static int teardown(void **state) {
    (void)state;
    fault_reset();
    return QnnBackend_free(backend) != QNN_SUCCESS;
}

static qrn_api_profile *object(Qnn_ProfileHandle_t h) {
    QRN_API_CALL;
    qrn_api_profile *p = NULL;
    assert_int_equal(qrn_profile_get(h, qrn_handle_get(QRN_KIND_BACKEND, backend), &p), QRN_OK);
    return p;
}

// An execution of n nodes, node k taking 10 k microseconds.
static void record(Qnn_ProfileHandle_t h, unsigned n) {
    qrn_api_profile *p = object(h);
    assert_int_equal(qrn_profile_open(p, NULL), QRN_OK);
    uint32_t top = qrn_profile_add(p, QRN_PROFILE_TOP, QNN_PROFILE_EVENTTYPE_EXECUTE,
                                   QNN_PROFILE_EVENTUNIT_MICROSEC, 1000, "graph");
    for (unsigned k = 0; k < n; k++) {
        char name[32];
        snprintf(name, sizeof name, "node %u", k);
        qrn_profile_add(p, top, QNN_PROFILE_EVENTTYPE_NODE, QNN_PROFILE_EVENTUNIT_MICROSEC, 10 * k,
                        name);
    }
    qrn_profile_add(p, QRN_PROFILE_TOP, QNN_PROFILE_EVENTTYPE_DEINIT, QNN_PROFILE_EVENTUNIT_COUNT,
                    7, NULL);
    qrn_profile_close(p);
}

static void events_come_back_as_the_tree_that_was_recorded(void **state) {
    (void)state;
    Qnn_ProfileHandle_t h;
    const QnnProfile_EventId_t *ids = NULL, *sub = NULL;
    uint32_t n = 99, n_sub = 99;
    OK(QnnProfile_create(backend, QNN_PROFILE_LEVEL_DETAILED, &h));
    OK(QnnProfile_getEvents(h, &ids, &n)); // nothing recorded yet
    assert_int_equal(n, 0);
    record(h, 200);
    OK(QnnProfile_getEvents(h, &ids, &n));
    assert_int_equal(n, 2);
    OK(QnnProfile_getSubEvents(ids[1], &sub, &n_sub));
    assert_int_equal(n_sub, 0);
    OK(QnnProfile_getSubEvents(ids[0], &sub, &n_sub));
    assert_int_equal(n_sub, 200);
    QnnProfile_EventData_t data;
    OK(QnnProfile_getEventData(ids[0], &data));
    assert_int_equal(data.type, QNN_PROFILE_EVENTTYPE_EXECUTE);
    assert_int_equal(data.unit, QNN_PROFILE_EVENTUNIT_MICROSEC);
    assert_int_equal(data.value, 1000);
    assert_string_equal(data.identifier, "graph");
    OK(QnnProfile_getEventData(ids[1], &data));
    assert_string_equal(data.identifier, "");
    for (uint32_t k = 0; k < n_sub; k++) {
        char name[32];
        snprintf(name, sizeof name, "node %u", k);
        OK(QnnProfile_getEventData(sub[k], &data));
        assert_int_equal(data.type, QNN_PROFILE_EVENTTYPE_NODE);
        assert_int_equal(data.value, 10 * k);
        assert_string_equal(data.identifier, name);
        QnnProfile_ExtendedEventData_t more;
        OK(QnnProfile_getExtendedEventData(sub[k], &more));
        assert_int_equal(more.version, QNN_PROFILE_DATA_VERSION_1);
        assert_int_equal(more.v1.value.dataType, QNN_DATATYPE_UINT_64);
        assert_int_equal(more.v1.value.uint64Value, 10 * k);
        assert_true(more.v1.timestamp > 0);
        assert_ptr_equal(more.v1.identifier, data.identifier);
    }
    OK(QnnProfile_free(h));
}

static void ids_of_an_earlier_record_are_found_out(void **state) {
    (void)state;
    Qnn_ProfileHandle_t h, other;
    const QnnProfile_EventId_t *ids = NULL, *sub = NULL;
    QnnProfile_EventData_t data;
    uint32_t n;
    OK(QnnProfile_create(backend, QNN_PROFILE_LEVEL_BASIC, &h));
    record(h, 3);
    OK(QnnProfile_getEvents(h, &ids, &n));
    QnnProfile_EventId_t old = ids[0];
    OK(QnnProfile_getSubEvents(old, &sub, &n));
    record(h, 1); // reuse clears the handle
    PAIR("QnnProfile_getEventData", QNN_PROFILE_ERROR_INVALID_HANDLE,
         QnnProfile_getEventData(old, &data));
    OK(QnnProfile_getEvents(h, &ids, &n));
    old = ids[0];
    OK(QnnProfile_getSubEvents(old, &sub, &n));
    assert_int_equal(n, 1);
    PAIR("QnnProfile_getEventData", QNN_PROFILE_ERROR_INVALID_HANDLE,
         QnnProfile_getEventData(old + 3, &data)); // behind the last event
    OK(QnnProfile_free(h));
    OK(QnnProfile_create(backend, QNN_PROFILE_LEVEL_BASIC, &other)); // takes the same slot
    record(other, 1);
    PAIR("QnnProfile_getSubEvents", QNN_PROFILE_ERROR_INVALID_HANDLE,
         QnnProfile_getSubEvents(old, &sub, &n));
    PAIR("QnnProfile_getExtendedEventData", QNN_PROFILE_ERROR_INVALID_HANDLE,
         QnnProfile_getExtendedEventData(0, NULL));
    OK(QnnProfile_free(other));
}

static void repeated_records_reuse_their_memory(void **state) {
    (void)state;
    Qnn_ProfileHandle_t h;
    OK(QnnProfile_create(backend, QNN_PROFILE_LEVEL_BASIC, &h));
    record(h, 500);
    size_t live = qrn_alloc_live();
    for (unsigned i = 0; i < 5; i++)
        record(h, 500);
    assert_int_equal(qrn_alloc_live(), live);
    OK(QnnProfile_free(h));
}

static void at_most_max_events_are_kept(void **state) {
    (void)state;
    Qnn_ProfileHandle_t h;
    const QnnProfile_EventId_t *ids = NULL, *sub = NULL;
    uint32_t n;
    QnnProfile_Config_t many = {.option = QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS,
                                .numMaxEvents = UINT64_MAX},
                        max = {.option = QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS, .numMaxEvents = 4};
    const QnnProfile_Config_t *list[] = {&many, &max, NULL}, *none[] = {NULL}; // the last one wins
    OK(QnnProfile_create(backend, QNN_PROFILE_LEVEL_BASIC, &h));
    OK(QnnProfile_setConfig(h, none));
    OK(QnnProfile_setConfig(h, list));
    record(h, 10);
    OK(QnnProfile_getEvents(h, &ids, &n));
    assert_int_equal(n, 1);
    OK(QnnProfile_getSubEvents(ids[0], &sub, &n));
    assert_int_equal(n, 3);
    // Children of an event that was not taken are not taken either.
    qrn_api_profile *p = object(h);
    assert_int_equal(qrn_profile_add(p, QRN_PROFILE_NONE, 1, 1, 1, ""), QRN_PROFILE_NONE);
    assert_int_equal(qrn_profile_add(NULL, QRN_PROFILE_TOP, 1, 1, 1, ""), QRN_PROFILE_NONE);
    OK(QnnProfile_free(h));
}

static void object_events_need_extended_data(void **state) {
    (void)state;
    Qnn_ProfileHandle_t h;
    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n;
    OK(QnnProfile_create(backend, QNN_PROFILE_LEVEL_DETAILED, &h));
    qrn_api_profile *p = object(h);
    assert_int_equal(qrn_profile_open(p, NULL), QRN_OK);
    assert_int_equal(qrn_profile_add_object(p, QRN_PROFILE_TOP, QNN_PROFILE_EVENTTYPE_TRACE,
                                            "bytes", 6, "trace.bin", "trace"),
                     0);
    qrn_profile_close(p);
    OK(QnnProfile_getEvents(h, &ids, &n));
    QnnProfile_EventData_t data;
    PAIR("QnnProfile_getEventData", QNN_PROFILE_ERROR_INCOMPATIBLE_EVENT,
         QnnProfile_getEventData(ids[0], &data));
    QnnProfile_ExtendedEventData_t more;
    OK(QnnProfile_getExtendedEventData(ids[0], &more));
    assert_int_equal(more.v1.unit, QNN_PROFILE_EVENTUNIT_OBJECT);
    assert_int_equal(more.v1.backendOpaqueObject.opaqueObject.len, 6);
    assert_string_equal(more.v1.backendOpaqueObject.opaqueObject.data, "bytes");
    assert_string_equal(more.v1.backendOpaqueObject.fileName, "trace.bin");
    PAIR("QnnProfile_getEventData", QNN_PROFILE_ERROR_INVALID_ARGUMENT,
         QnnProfile_getEventData(ids[0], NULL));
    PAIR("QnnProfile_getExtendedEventData", QNN_PROFILE_ERROR_INVALID_ARGUMENT,
         QnnProfile_getExtendedEventData(ids[0], NULL));
    fault_backend.features &= ~(uint32_t)QRN_FEATURE_PROFILE_EXTENDED;
    PAIR("QnnProfile_getExtendedEventData", QNN_PROFILE_ERROR_UNSUPPORTED,
         QnnProfile_getExtendedEventData(ids[0], &more));
    OK(QnnProfile_free(h));
}

static void a_profile_in_use_is_left_alone(void **state) {
    (void)state;
    Qnn_ProfileHandle_t h;
    struct qrn_api_graph *graph = (void *)&h, *another = (void *)&backend; // never looked into
    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n;
    QnnProfile_Config_t max = {.option = QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS, .numMaxEvents = 4};
    const QnnProfile_Config_t *list[] = {&max, NULL};
    OK(QnnProfile_create(backend, QNN_PROFILE_LEVEL_BASIC, &h));
    qrn_api_profile *p = object(h);
    assert_false(qrn_profile_detailed(p));
    assert_false(qrn_profile_detailed(NULL));

    assert_int_equal(qrn_profile_open(p, NULL), QRN_OK);
    assert_int_equal(qrn_profile_open(p, NULL), QRN_E_PROFILE);
    PAIR("QnnProfile_free", QNN_PROFILE_ERROR_HANDLE_IN_USE, QnnProfile_free(h));
    PAIR("QnnProfile_setConfig", QNN_PROFILE_ERROR_HANDLE_IN_USE, QnnProfile_setConfig(h, list));
    qrn_profile_close(p);

    assert_int_equal(qrn_profile_bind(p, graph), QRN_OK);
    assert_int_equal(qrn_profile_bind(p, graph), QRN_OK);
    assert_int_equal(qrn_profile_bind(p, another), QRN_E_ALREADY);
    PAIR("QnnProfile_free", QNN_PROFILE_ERROR_HANDLE_IN_USE, QnnProfile_free(h));
    assert_int_equal(qrn_profile_open(p, NULL), QRN_E_PROFILE);
    assert_int_equal(qrn_profile_open(p, another), QRN_E_PROFILE);
    for (unsigned i = 0; i < 3; i++) { // executions of its graph add up
        assert_int_equal(qrn_profile_open(p, graph), QRN_OK);
        qrn_profile_add(p, QRN_PROFILE_TOP, QNN_PROFILE_EVENTTYPE_EXECUTE, 1, i, "run");
        qrn_profile_close(p);
        OK(QnnProfile_getEvents(h, &ids, &n));
        assert_int_equal(n, i + 1);
    }
    qrn_profile_unbind(p);
    OK(QnnProfile_free(h));
}

static void documented_errors(void **state) {
    (void)state;
    Qnn_ProfileHandle_t h = (void *)7;
    const QnnProfile_EventId_t *ids = NULL, *sub = NULL;
    uint32_t n;
    PAIR("QnnProfile_create", QNN_PROFILE_ERROR_INVALID_HANDLE, QnnProfile_create(NULL, 1, &h));
    PAIR("QnnProfile_create", QNN_PROFILE_ERROR_INVALID_ARGUMENT,
         QnnProfile_create(backend, 1, NULL));
    PAIR("QnnProfile_create", QNN_PROFILE_ERROR_INVALID_ARGUMENT,
         QnnProfile_create(backend, 0, &h));
    PAIR("QnnProfile_create", QNN_PROFILE_ERROR_INVALID_ARGUMENT,
         QnnProfile_create(backend, 3, &h));
    PAIR("QnnProfile_create", QNN_PROFILE_ERROR_UNSUPPORTED, QnnProfile_create(backend, 7001, &h));
    assert_ptr_equal(h, (void *)7);
    PAIR_MEM("QnnProfile_create", QNN_PROFILE_ERROR_MEM_ALLOC, QnnProfile_create(backend, 1, &h));

    QnnProfile_Config_t zero = {.option = QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS},
                        max = {.option = QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS, .numMaxEvents = 5},
                        trace = {.option = QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE,
                                 .enableOptrace = 1},
                        custom = {.option = QNN_PROFILE_CONFIG_OPTION_CUSTOM},
                        unknown = QNN_PROFILE_CONFIG_INIT;
    QnnProfile_Config_t *bad[] = {&zero, &trace, &unknown};
    for (unsigned i = 0; i < 3; i++) {
        const QnnProfile_Config_t *list[] = {&max, bad[i], NULL};
        PAIR("QnnProfile_setConfig", QNN_PROFILE_ERROR_INVALID_ARGUMENT,
             QnnProfile_setConfig(h, list));
    }
    const QnnProfile_Config_t *own[] = {&custom, NULL}, *good[] = {&max, NULL};
    PAIR("QnnProfile_setConfig", QNN_PROFILE_ERROR_INVALID_ARGUMENT, QnnProfile_setConfig(h, NULL));
    PAIR("QnnProfile_setConfig", QNN_PROFILE_ERROR_INVALID_HANDLE,
         QnnProfile_setConfig(backend, good));
    PAIR("QnnProfile_setConfig", QNN_PROFILE_ERROR_UNSUPPORTED, QnnProfile_setConfig(h, own));
    fault_backend.features = 0;
    PAIR("QnnProfile_setConfig", QNN_PROFILE_ERROR_UNSUPPORTED, QnnProfile_setConfig(h, good));
    assert_true(object(h)->max_events > 5);

    record(h, 2);
    PAIR("QnnProfile_getEvents", QNN_PROFILE_ERROR_INVALID_HANDLE,
         QnnProfile_getEvents(NULL, &ids, &n));
    PAIR("QnnProfile_getEvents", QNN_PROFILE_ERROR_INVALID_ARGUMENT,
         QnnProfile_getEvents(h, NULL, &n));
    PAIR("QnnProfile_getEvents", QNN_PROFILE_ERROR_INVALID_ARGUMENT,
         QnnProfile_getEvents(h, &ids, NULL));
    PAIR_MEM("QnnProfile_getEvents", QNN_PROFILE_ERROR_MEM_ALLOC,
             QnnProfile_getEvents(h, &ids, &n));
    PAIR("QnnProfile_getSubEvents", QNN_PROFILE_ERROR_INVALID_ARGUMENT,
         QnnProfile_getSubEvents(ids[0], NULL, &n));
    PAIR("QnnProfile_getSubEvents", QNN_PROFILE_ERROR_INVALID_ARGUMENT,
         QnnProfile_getSubEvents(ids[0], &sub, NULL));
    PAIR_MEM("QnnProfile_getSubEvents", QNN_PROFILE_ERROR_MEM_ALLOC,
             QnnProfile_getSubEvents(ids[0], &sub, &n));
    OK(QnnProfile_free(h));
    PAIR("QnnProfile_free", QNN_PROFILE_ERROR_INVALID_HANDLE, QnnProfile_free(h));
}

static void look_up(Qnn_ProfileHandle_t h) {
    QRN_API_CALL;
    qrn_api_profile *p = (void *)7;
    qrn_api_backend *b = qrn_handle_get(QRN_KIND_BACKEND, backend);
    assert_int_equal(qrn_profile_get(NULL, b, &p), QRN_OK);
    assert_null(p);
    assert_int_equal(qrn_profile_get(h, b, &p), QRN_E_PROFILE);
    assert_int_equal(qrn_profile_get(&p, b, &p), QRN_E_PROFILE);
    assert_int_equal(qrn_profile_open(NULL, NULL), QRN_OK);
    qrn_profile_close(NULL);
}

static void calls_look_their_profile_up(void **state) {
    (void)state;
    Qnn_BackendHandle_t other;
    Qnn_ProfileHandle_t h;
    OK(QnnBackend_create(NULL, NULL, &other));
    OK(QnnProfile_create(other, QNN_PROFILE_LEVEL_BASIC, &h));
    look_up(h);
    OK(QnnBackend_free(other));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(events_come_back_as_the_tree_that_was_recorded),
        TEST(ids_of_an_earlier_record_are_found_out),
        TEST(repeated_records_reuse_their_memory),
        TEST(at_most_max_events_are_kept),
        TEST(object_events_need_extended_data),
        TEST(a_profile_in_use_is_left_alone),
        TEST(documented_errors),
        TEST(calls_look_their_profile_up),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
