// SPDX-License-Identifier: MIT
#include "tools/sdk/profile_writer.h"

#include "tools/quern/flags.h"
#include "tools/quern/output.h"

#include "QnnProperty.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOG_NAME "qnn-profiling-data_0.log"
#define LOG_ALIAS "qnn-profiling-data.log"

typedef QnnSystemProfile_ProfileEventV1_t event;

uint64_t qs_now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static int failed(void) {
    qt_error("%s", qrn_message());
    return QT_EXIT_FAILURE;
}

static int choose_level(const qs_profile_options *o, qs_profile *p, bool *backend) {
    *backend = strcmp(o->level, "client") != 0;
    p->level =
        strcmp(o->level, "detailed") == 0 ? QNN_PROFILE_LEVEL_DETAILED : QNN_PROFILE_LEVEL_BASIC;
    if (strcmp(o->level, "backend") == 0) {
        if (!o->backend_level) {
            qt_error("--profiling_level backend needs a 'profiling_level' in 'devices' of the "
                     "backend's file (linting)");
            return QT_EXIT_USAGE;
        }
        p->level = o->backend_level;
    }
    if (o->option && p->level != QNN_PROFILE_LEVEL_DETAILED) {
        qt_error("--profiling_option %s needs --profiling_level detailed", o->option);
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

static qrn_status make_handle(const qs_profile_options *o, qs_profile *p) {
    const qc_client *c = p->client;
    const QnnProfile_Config_t most = {.option = QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS,
                                      .numMaxEvents = o->max_events};
    const QnnProfile_Config_t trace = {.option = QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE,
                                       .enableOptrace = 1};
    const QnnProfile_Config_t *list[3] = {NULL};
    size_t n = 0;
    if (o->max_events)
        list[n++] = &most;
    if (o->option)
        list[n++] = &trace;
    if (!c->qnn.profileCreate)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "--profiling_level: %s has no profiles", c->path);
    QRN_TRY(qc_check(c, c->qnn.profileCreate(c->backend, p->level, &p->handle), "profileCreate"));
    p->extended = qc_has(c, QNN_PROPERTY_PROFILE_SUPPORTS_EXTENDED_EVENT);
    return n ? qc_check(c, c->qnn.profileSetConfig(p->handle, list), "profileSetConfig") : QRN_OK;
}

static int open_log(const qs_profile_options *o, qs_profile *p) {
    char path[PATH_MAX], version[32];
    const Qnn_Version_t v = p->client->version.coreApiVersion;
    if (!qt_make_dir(o->dir))
        return QT_EXIT_FAILURE;
    int n = snprintf(path, sizeof path, "%s/" LOG_NAME, o->dir);
    if (n < 0 || (size_t)n >= sizeof path || (unlink(path) != 0 && errno != ENOENT)) {
        qt_error("%.200s/" LOG_NAME ": cannot be written: %s", o->dir, strerror(errno));
        return QT_EXIT_FAILURE;
    }
    snprintf(version, sizeof version, "%u.%u.%u", v.major, v.minor, v.patch);
    const QnnSystemProfile_SerializationTarget_t target = {
        .type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_FILE, .file = {LOG_NAME, o->dir}};
    QnnSystemProfile_SerializationTargetConfig_t head = {
        .type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_SERIALIZATION_HEADER,
        .serializationHeader = {o->program, QUERN_VERSION, version}};
    if (qc_system_open(p->client->path, &p->system) != QRN_OK)
        return failed();
    const QNN_SYSTEM_INTERFACE_VER_TYPE *fn = &p->system->fn;
    if (!fn->systemProfileCreateSerializationTarget ||
        fn->systemProfileCreateSerializationTarget(target, &head, 1, &p->target) != QNN_SUCCESS) {
        qt_error("%s: the System library cannot write a profile log there", path);
        return QT_EXIT_FAILURE;
    }
    snprintf(path, sizeof path, "%s/" LOG_ALIAS, o->dir);
    (void)unlink(path);
    if (symlink(LOG_NAME, path) != 0)
        qt_warn("%s: %s", path, strerror(errno));
    return QT_EXIT_OK;
}

int qs_profile_open(const qc_client *c, const qs_profile_options *o, qs_profile *out) {
    qs_profile p = {.client = c};
    bool backend = false;
    *out = p;
    if (!o->level)
        return QT_EXIT_OK;
    int code = choose_level(o, &p, &backend);
    if (code == QT_EXIT_OK && backend && make_handle(o, &p) != QRN_OK)
        code = failed();
    if (code == QT_EXIT_OK)
        code = open_log(o, &p);
    if (code == QT_EXIT_OK)
        *out = p;
    else
        qs_profile_close(&p);
    return code;
}

void qs_profile_close(qs_profile *p) {
    if (p->target)
        p->system->fn.systemProfileFreeSerializationTarget(p->target);
    if (p->handle)
        p->client->qnn.profileFree(p->handle);
    qc_system_close(p->system);
    *p = (qs_profile){0};
}

static event own_event(const char *name, uint32_t unit, uint64_t value) {
    return (event){
        .type = QNN_SYSTEM_PROFILE_EVENT_DATA,
        .eventData = {.type = QS_EVENT_NETRUN, .unit = unit, .value = value, .identifier = name}};
}

static int write_call(const qs_profile *p, const QnnSystemProfile_HeaderV1_t *head, event *events,
                      uint32_t n) {
    const QnnSystemProfile_ProfileData_t data = {
        .version = QNN_SYSTEM_PROFILE_DATA_VERSION_1,
        .v1 = {.header = *head, .profilingEvents = events, .numProfilingEvents = n}};
    const QnnSystemProfile_ProfileData_t *list = &data;
    Qnn_ErrorHandle_t code = p->system->fn.systemProfileSerializeEventData(p->target, &list, 1);
    if (code == QNN_SUCCESS)
        return QT_EXIT_OK;
    qt_error("profile log: systemProfileSerializeEventData: error %llu",
             (unsigned long long)QNN_GET_ERROR_CODE(code));
    return QT_EXIT_FAILURE;
}

int qs_profile_take(const qs_profile *p, QnnSystemProfile_MethodType_t method, const char *graph,
                    uint64_t start_us, Qnn_ProfileHandle_t handle) {
    uint64_t stop_us = qs_now_us();
    if (!p->target)
        return QT_EXIT_OK;
    const QnnSystemProfile_HeaderV1_t head = {
        .startTime = start_us, .stopTime = stop_us, .methodType = method, .graphName = graph};
    qrn_arena *arena = qrn_arena_create();
    event *found = NULL, *all = NULL;
    uint32_t n = 0;
    qrn_status s = arena ? QRN_OK : QRN_FAIL(QRN_E_MEM, "profile: out of memory");
    if (s == QRN_OK && handle)
        s = qc_profile_events(p->client, handle, p->extended, arena, &found, &n);
    if (s == QRN_OK && !(all = qrn_arena_alloc(arena, (n + 1) * sizeof *all)))
        s = QRN_FAIL(QRN_E_MEM, "profile: out of memory");
    int code = QT_EXIT_FAILURE;
    if (s == QRN_OK) {
        all[0] = own_event("NetRun", QNN_PROFILE_EVENTUNIT_MICROSEC, stop_us - start_us);
        if (n)
            memcpy(all + 1, found, n * sizeof *all);
        code = write_call(p, &head, all, n + 1);
    } else {
        failed();
    }
    qrn_arena_destroy(arena);
    return code;
}

int qs_profile_rate(const qs_profile *p, const char *graph, uint64_t n, uint64_t start_us,
                    uint64_t stop_us) {
    if (!p->target)
        return QT_EXIT_OK;
    const QnnSystemProfile_HeaderV1_t head = {.startTime = start_us,
                                              .stopTime = stop_us,
                                              .methodType =
                                                  QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_EXECUTE_IPS,
                                              .graphName = graph};
    event e = own_event("NetRun inferences", QNN_PROFILE_EVENTUNIT_COUNT, n);
    return write_call(p, &head, &e, 1);
}
