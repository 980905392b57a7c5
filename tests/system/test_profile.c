// SPDX-License-Identifier: MIT
//
// Profile logs: what is written, that files are continued, limits, and hostile use.
#include "pairs.h"
#include "system/system.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "test_profile.log"

static QnnSystemProfile_SerializationTarget_t file_target(const char *name, const char *dir) {
    return (QnnSystemProfile_SerializationTarget_t){
        .type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_FILE, .file = {name, dir}};
}

static void *open_target(QnnSystemProfile_SerializationTargetConfig_t *configs, uint32_t n) {
    void *h = NULL;
    OK(QnnSystemProfile_createSerializationTarget(file_target(NAME, "."), configs, n, &h));
    return h;
}

static char *read_all(void) {
    static char text[8192];
    FILE *f = fopen(NAME, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

static QnnSystemProfile_ProfileEventV1_t event(uint32_t type, uint64_t value, const char *id) {
    return (QnnSystemProfile_ProfileEventV1_t){
        .type = QNN_SYSTEM_PROFILE_EVENT_DATA,
        .eventData = {type, QNN_PROFILE_EVENTUNIT_MICROSEC, value, id}};
}

static QnnSystemProfile_ProfileData_t call_of(QnnSystemProfile_ProfileEventV1_t *events,
                                              uint32_t n) {
    return (QnnSystemProfile_ProfileData_t){
        .version = QNN_SYSTEM_PROFILE_DATA_VERSION_1,
        .v1 = {.header = {.startTime = 10,
                          .stopTime = 30,
                          .methodType = QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE,
                          .graphName = "g\"\n\xff"},
               .profilingEvents = events,
               .numProfilingEvents = n}};
}

static void writes_a_line_a_message_and_continues(void **state) {
    (void)state;
    remove(NAME);
    QnnSystemProfile_SerializationTargetConfig_t head = {
        .type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_SERIALIZATION_HEADER,
        .serializationHeader = {"app", "1.2", NULL}};
    QnnSystemProfile_ProfileEventV1_t sub[] = {event(404, 7, "node"), event(404, 8, NULL)};
    QnnSystemProfile_ProfileEventV1_t top = event(400, 20, "all");
    top.profileSubEventData = sub;
    top.numSubEvents = 2;
    QnnSystemProfile_ProfileData_t data = call_of(&top, 1);
    const QnnSystemProfile_ProfileData_t *list[] = {&data};
    for (int i = 0; i < 2; i++) { // as a client does: a new target for every call
        void *h = open_target(&head, 1);
        OK(QnnSystemProfile_serializeEventData(h, list, 1));
        OK(QnnSystemProfile_freeSerializationTarget(h));
        // A second free does no harm.
        assert_int_equal(QnnSystemProfile_freeSerializationTarget(h),
                         QNN_SYSTEM_PROFILE_ERROR_INVALID_HANDLE);
    }
    static const char line[] =
        "{\"method\": \"BACKEND_EXECUTE\", \"start\": 10, \"stop\": 30, \"start_memory\": 0, "
        "\"stop_memory\": 0, \"public\": true, \"graph\": \"g\\\"\\u000a?\", \"events\": "
        "[{\"type\": 400, \"unit\": \"microseconds\", \"identifier\": \"all\", \"value\": 20, "
        "\"events\": [{\"type\": 404, \"unit\": \"microseconds\", \"identifier\": \"node\", "
        "\"value\": 7}, {\"type\": 404, \"unit\": \"microseconds\", \"identifier\": null, "
        "\"value\": 8}]}]}\n";
    char want[4096];
    snprintf(want, sizeof want,
             "{\"quern_profile_log\": 1, \"app\": \"app\", \"app_version\": \"1.2\", "
             "\"backend_version\": null}\n%s%s",
             line, line);
    assert_string_equal(read_all(), want);
}

static void replaces_other_files_and_keeps_the_limit(void **state) {
    (void)state;
    FILE *f = fopen(NAME, "w");
    assert_non_null(f);
    fputs("something else that is longer than the head of a log file of ours\n", f);
    fclose(f);
    QnnSystemProfile_SerializationTargetConfig_t limit = {
        .type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_MAX_NUM_MESSAGES,
        .maxNumMessages = 2};
    void *h = open_target(&limit, 1);
    QnnSystemProfile_ProfileData_t data = call_of(NULL, 0);
    const QnnSystemProfile_ProfileData_t *list[] = {&data, &data, &data};
    OK(QnnSystemProfile_serializeEventData(h, list, 3));
    OK(QnnSystemProfile_freeSerializationTarget(h));
    const char *text = read_all();
    unsigned lines = 0;
    for (const char *p = text; (p = strchr(p, '\n')); p++)
        lines++;
    assert_int_equal(lines, 3); // the head and two messages
    assert_null(strstr(text, "something"));
}

static void typed_values_and_objects(void **state) {
    (void)state;
    remove(NAME);
    static unsigned char object[] = {0x00, 0xab, 0x7f};
    QnnProfile_ExtendedEventData_t ext = {
        .version = QNN_PROFILE_DATA_VERSION_1,
        .v1 = {
            .type = 3001, .unit = QNN_PROFILE_EVENTUNIT_COUNT, .timestamp = 99, .identifier = "e"}};
    QnnSystemProfile_ProfileEventV1_t list[4];
    for (int i = 0; i < 4; i++)
        list[i] = (QnnSystemProfile_ProfileEventV1_t){
            .type = QNN_SYSTEM_PROFILE_EXTENDED_EVENT_DATA, .extendedEventData = ext};
    list[0].extendedEventData.v1.value =
        (Qnn_Scalar_t){.dataType = QNN_DATATYPE_INT_64, .int64Value = -5};
    list[1].extendedEventData.v1.value =
        (Qnn_Scalar_t){.dataType = QNN_DATATYPE_FLOAT_32, .floatValue = 0.5f};
    list[2].extendedEventData.v1.value =
        (Qnn_Scalar_t){.dataType = QNN_DATATYPE_STRING, .stringValue = "\xc3\xa4"};
    list[3].extendedEventData.v1.unit = QNN_PROFILE_EVENTUNIT_OBJECT;
    list[3].extendedEventData.v1.backendOpaqueObject =
        (QnnProfile_BackendOpaqueObject_t){{object, sizeof object}, "trace.bin"};
    void *h = open_target(NULL, 0);
    QnnSystemProfile_ProfileData_t data = call_of(list, 4);
    const QnnSystemProfile_ProfileData_t *all[] = {&data};
    OK(QnnSystemProfile_serializeEventData(h, all, 1));
    OK(QnnSystemProfile_freeSerializationTarget(h));
    const char *text = read_all();
    assert_non_null(strstr(text, "\"value\": -5, \"timestamp\": 99"));
    assert_non_null(strstr(text, "\"value\": 0.5,"));
    assert_non_null(strstr(text, "\"value\": \"\xc3\xa4\""));
    assert_non_null(strstr(text, "\"unit\": \"object\""));
    assert_non_null(strstr(text, "\"file\": \"trace.bin\", \"hex\": \"00ab7f\""));
}

static void expect_no_target(QnnSystemProfile_SerializationTarget_t t) {
    void *h = NULL;
    assert_int_equal(QnnSystemProfile_createSerializationTarget(t, NULL, 0, &h),
                     QNN_SYSTEM_PROFILE_ERROR_INVALID_ARGUMENT);
    assert_null(h);
}

static void bad_use(void **state) {
    (void)state;
    expect_no_target(file_target(NULL, "."));
    expect_no_target(file_target("", "."));
    expect_no_target(file_target("x", "no/such/folder"));
    QnnSystemProfile_SerializationTarget_t t = file_target(NAME, ".");
    assert_int_equal(QnnSystemProfile_createSerializationTarget(t, NULL, 0, NULL), 30001);
    t.type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_UNDEFINED;
    expect_no_target(t);
    void *h = NULL;
    t = file_target(NAME, NULL); // the current folder
    assert_int_equal(QnnSystemProfile_createSerializationTarget(t, NULL, 2, &h), 30001);
    QnnSystemProfile_SerializationTargetConfig_t odd = {
        .type = (QnnSystemProfile_SerializationTargetConfigType_t)7};
    assert_int_equal(QnnSystemProfile_createSerializationTarget(t, &odd, 1, &h), 30001);
    h = open_target(NULL, 0);
    const QnnSystemProfile_ProfileData_t *none[] = {NULL};
    assert_int_equal(QnnSystemProfile_serializeEventData(h, NULL, 1), 30001);
    assert_int_equal(QnnSystemProfile_serializeEventData(h, none, 1), 30001);
    assert_int_equal(QnnSystemProfile_serializeEventData(NULL, none, 0), 30000);
    QnnSystemProfile_ProfileData_t data = call_of(NULL, 3);
    const QnnSystemProfile_ProfileData_t *list[] = {&data};
    assert_int_equal(QnnSystemProfile_serializeEventData(h, list, 1), 30001);
    // A tree that contains itself.
    QnnSystemProfile_ProfileEventV1_t loop = event(400, 1, "loop");
    loop.profileSubEventData = &loop;
    loop.numSubEvents = 1;
    data = call_of(&loop, 1);
    assert_int_equal(QnnSystemProfile_serializeEventData(h, list, 1), 30001);
    loop.type = (QnnSystemProfile_EventDataType_t)9;
    assert_int_equal(QnnSystemProfile_serializeEventData(h, list, 1), 30001);
    data.version = QNN_SYSTEM_PROFILE_DATA_VERSION_UNDEFINED;
    assert_int_equal(QnnSystemProfile_serializeEventData(h, list, 1), 30001);
    OK(QnnSystemProfile_freeSerializationTarget(h));
    assert_int_equal(QnnSystemProfile_freeSerializationTarget(NULL), 30000);
}

static void memory_may_end(void **state) {
    (void)state;
    void *h = NULL;
    QnnSystemProfile_SerializationTarget_t t = file_target(NAME, ".");
    PAIR_MEM("QnnSystemProfile_createSerializationTarget", QNN_SYSTEM_PROFILE_ERROR_MEM_ALLOC,
             QnnSystemProfile_createSerializationTarget(t, NULL, 0, &h));
    OK(QnnSystemProfile_freeSerializationTarget(h));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_a_line_a_message_and_continues),
        cmocka_unit_test(replaces_other_files_and_keeps_the_limit),
        cmocka_unit_test(typed_values_and_objects),
        cmocka_unit_test(bad_use),
        cmocka_unit_test(memory_may_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
