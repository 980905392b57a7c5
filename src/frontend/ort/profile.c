// SPDX-License-Identifier: MIT
//
// Profiles: after each call the events of the session's handle go to a table (CSV) with the public
// provider's columns, and to a log of the System library beside it. A handle describes one call, so
// runs of a session that is profiled take turns.
#include "frontend/ort/record.h"
#include "frontend/ort/timeline.h"

#include "base/mem.h"
#include "base/outfile.h"
#include "base/report_text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef QnnSystemProfile_ProfileEventV1_t event;

uint64_t qe_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t qe_now_us(void) { return qe_now_ns() / 1000; }

// --- the table

static const struct {
    uint32_t number;
    const char *word;
} types[] = {{QNN_PROFILE_EVENTTYPE_INIT, "INIT"},
             {QNN_PROFILE_EVENTTYPE_FINALIZE, "FINALIZE"},
             {QNN_PROFILE_EVENTTYPE_EXECUTE, "EXECUTE"},
             {QNN_PROFILE_EVENTTYPE_NODE, "NODE"},
             {QNN_PROFILE_EVENTTYPE_EXECUTE_QUEUE_WAIT, "EXECUTE QUEUE WAIT"},
             {QNN_PROFILE_EVENTTYPE_EXECUTE_PREPROCESS, "EXECUTE PREPROCESS"},
             {QNN_PROFILE_EVENTTYPE_EXECUTE_DEVICE, "EXECUTE DEVICE"},
             {QNN_PROFILE_EVENTTYPE_EXECUTE_POSTPROCESS, "EXECUTE POSTPROCESS"},
             {QNN_PROFILE_EVENTTYPE_DEINIT, "DE-INIT"}};
static const char *const units[] = {NULL, "US", "BYTES", "CYCLES", "COUNT", "OBJECT"};

static const char *type_word(uint32_t type) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].number == type)
            return types[i].word;
    return type >= QNN_PROFILE_EVENTTYPE_BACKEND ? "BACKEND" : "UNKNOWN";
}

static const char *unit_word(uint32_t unit) {
    if (unit >= 1 && unit < sizeof units / sizeof units[0])
        return units[unit];
    return unit >= QNN_PROFILE_EVENTUNIT_BACKEND ? "BACKEND" : "UNKNOWN";
}

static uint64_t scalar(const Qnn_Scalar_t *s) {
    switch (s->dataType) {
    case QNN_DATATYPE_UINT_64:
        return s->uint64Value;
    case QNN_DATATYPE_INT_64:
        return (uint64_t)s->int64Value;
    case QNN_DATATYPE_INT_32:
        return (uint64_t)s->int32Value;
    case QNN_DATATYPE_FLOAT_32:
        return (uint64_t)s->floatValue;
    default:
        return s->uint32Value;
    }
}

static bool is_extended(const event *e) {
    return e->type == QNN_SYSTEM_PROFILE_EXTENDED_EVENT_DATA;
}

static uint32_t type_of(const event *e) {
    return is_extended(e) ? e->extendedEventData.v1.type : e->eventData.type;
}

static uint32_t unit_of(const event *e) {
    return is_extended(e) ? e->extendedEventData.v1.unit : e->eventData.unit;
}

static const char *name_of(const event *e) {
    return is_extended(e) ? e->extendedEventData.v1.identifier : e->eventData.identifier;
}

static uint64_t value_of(const event *e) {
    const QnnProfile_ExtendedEventDataV1_t *x = &e->extendedEventData.v1;
    return !is_extended(e)                           ? e->eventData.value
           : x->unit == QNN_PROFILE_EVENTUNIT_OBJECT ? x->backendOpaqueObject.opaqueObject.len
                                                     : scalar(&x->value);
}

static void write_rows(const qe_ep *ep, FILE *f, const event *list, uint32_t n, bool root) {
    for (uint32_t i = 0; i < n; i++) {
        const event *e = &list[i];
        const char *id = name_of(e);
        if (is_extended(e))
            fprintf(f, "%llu", (unsigned long long)e->extendedEventData.v1.timestamp);
        else
            fputs("UNKNOWN", f);
        fprintf(f, ",%s,%llu,%s,BACKEND,%s,", type_word(type_of(e)),
                (unsigned long long)value_of(e), unit_word(unit_of(e)),
                root ? "ROOT" : "SUB-EVENT");
        qrn_csv_text(f, id ? id : "NULL");
        if (ep->opt.op_trace) {
            const char *type, *source = qe_trace_source(ep, id, &type);
            fputc(',', f);
            qrn_csv_text(f, source ? source : "");
        }
        fputc('\n', f);
        write_rows(ep, f, e->profileSubEventData, e->numSubEvents, false);
    }
}

static qrn_status write_table(const qe_ep *ep, const event *list, uint32_t n) {
    const char *path = ep->opt.profile_path;
    char *text = NULL;
    size_t bytes = 0;
    struct stat st = {0};
    int fd = qrn_outfile_open_append(path);
    if (fd < 0)
        return QRN_FAIL(QRN_E_PROFILE, "profiling_file_path %s: %s", path, strerror(errno));
    FILE *f = open_memstream(&text, &bytes);
    if (f && fstat(fd, &st) == 0 && st.st_size == 0)
        fprintf(f,
                "Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,"
                "Event Identifier%s\n",
                ep->opt.op_trace ? ",ONNX Source Ops" : "");
    if (f)
        write_rows(ep, f, list, n, true);
    bool made = f && !ferror(f);
    made = f && fclose(f) == 0 && made;
    int error = made ? qrn_outfile_append(fd, text, bytes) : ENOMEM;
    free(text);
    if (close(fd) != 0 && !error)
        error = errno;
    return error ? QRN_FAIL(QRN_E_PROFILE, "profiling_file_path %s: %s", path, strerror(error))
                 : QRN_OK;
}

// --- the log

static qrn_status write_log(const qe_ep *ep, const QnnSystemProfile_ProfileData_t *data) {
    const QNN_SYSTEM_INTERFACE_VER_TYPE *fn = &ep->profile.system->fn;
    char folder[PATH_MAX], name[PATH_MAX], version[32];
    const char *path = ep->opt.profile_path, *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t n = strlen(base);
    if (n > 4 && strcmp(base + n - 4, ".csv") == 0)
        n -= 4;
    if (!fn->systemProfileCreateSerializationTarget || !fn->systemProfileSerializeEventData)
        return QRN_OK; // an older System library: the table must do
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    snprintf(name, sizeof name, "%.*s_qnn.log", (int)n, base);
    snprintf(version, sizeof version, "%u.%u.%u", ep->client->version.coreApiVersion.major,
             ep->client->version.coreApiVersion.minor, ep->client->version.coreApiVersion.patch);
    QnnSystemProfile_SerializationTarget_t target = {
        .type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_FILE, .file = {name, folder}};
    QnnSystemProfile_SerializationTargetConfig_t config = {
        .type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_SERIALIZATION_HEADER,
        .serializationHeader = {"OnnxRuntime", "24", version}};
    QnnSystemProfile_SerializationTargetHandle_t handle = NULL;
    Qnn_ErrorHandle_t code =
        fn->systemProfileCreateSerializationTarget(target, &config, 1, &handle);
    if (code == QNN_SUCCESS) {
        code = fn->systemProfileSerializeEventData(handle, &data, 1);
        fn->systemProfileFreeSerializationTarget(handle);
    }
    if (code == QNN_SYSTEM_PROFILE_ERROR_MEM_ALLOC)
        return QRN_FAIL(QRN_E_MEM, "profile log %s in %s: out of memory", name, folder);
    return code == QNN_SUCCESS ? QRN_OK
                               : QRN_FAIL(QRN_E_PROFILE, "profile log %s in %s: error %llu", name,
                                          folder, (unsigned long long)QNN_GET_ERROR_CODE(code));
}

// --- ops in the host's own profile

// Ops of a run, in their order: what a backend measures of each is how long it took. It is reported
// in microseconds or, by backends that only count them, in cycles.
typedef struct ops {
    uint64_t us, cycles; // of all
    bool timed;          // one is reported in microseconds
} ops;

static void sum_ops(const event *list, uint32_t n, ops *out) {
    for (uint32_t i = 0; i < n; i++) {
        const event *e = &list[i];
        bool op = type_of(e) == QNN_PROFILE_EVENTTYPE_NODE;
        bool us = unit_of(e) == QNN_PROFILE_EVENTUNIT_MICROSEC;
        out->timed |= op && us;
        out->us += op && us ? value_of(e) : 0;
        out->cycles += op && unit_of(e) == QNN_PROFILE_EVENTUNIT_CYCLES ? value_of(e) : 0;
        sum_ops(e->profileSubEventData, e->numSubEvents, out);
    }
}

// Where the ops of a run are put: one behind the other from its start, none behind its end.
typedef struct placing {
    qe_ep *ep;
    const char *graph;
    ops all;
    uint64_t at_ns, end_ns, run_ns;
} placing;

static void place_ops(placing *p, const event *list, uint32_t n) {
    uint32_t wanted = p->all.timed ? QNN_PROFILE_EVENTUNIT_MICROSEC : QNN_PROFILE_EVENTUNIT_CYCLES;
    for (uint32_t i = 0; i < n; i++) {
        const event *e = &list[i];
        if (type_of(e) == QNN_PROFILE_EVENTTYPE_NODE && unit_of(e) == wanted) {
            const char *id = name_of(e);
            const char *type, *source = qe_trace_source(p->ep, id, &type);
            double share = p->all.cycles ? (double)value_of(e) / (double)p->all.cycles : 0;
            uint64_t ns = p->all.timed ? 1000 * value_of(e) : (uint64_t)(share * (double)p->run_ns);
            uint64_t end = p->at_ns + ns < p->end_ns ? p->at_ns + ns : p->end_ns;
            qe_timeline_op(p->ep, p->graph, id ? id : "?", type, source,
                           p->all.timed ? 0 : value_of(e), p->at_ns, end);
            p->at_ns = end;
        }
        place_ops(p, e->profileSubEventData, e->numSubEvents);
    }
}

static void report_ops(qe_ep *ep, const char *graph, uint64_t start_us, uint64_t stop_us,
                       const event *list, uint32_t n) {
    placing p = {.ep = ep,
                 .graph = graph,
                 .at_ns = 1000 * start_us,
                 .end_ns = 1000 * stop_us,
                 .run_ns = 1000 * (stop_us - start_us)};
    if (!qe_timeline_listens(ep))
        return;
    sum_ops(list, n, &p.all);
    place_ops(&p, list, n);
}

// --- the handle

static qrn_status take(qe_ep *ep, qrn_arena *arena, QnnSystemProfile_MethodType_t method,
                       const char *graph, uint64_t start_us) {
    const qc_client *c = ep->client;
    uint32_t n = 0;
    uint64_t stop_us = qe_now_us();
    event *list = NULL;
    QRN_TRY(qc_profile_events(c, ep->profile.handle, ep->profile.extended, arena, &list, &n));
    if (n == 0)
        return QRN_OK;
    QRN_TRY(write_table(ep, list, n));
    if (method == QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE)
        report_ops(ep, graph, start_us, stop_us, list, n);
    const QnnSystemProfile_ProfileData_t data = {.version = QNN_SYSTEM_PROFILE_DATA_VERSION_1,
                                                 .v1 = {.header = {.startTime = start_us,
                                                                   .stopTime = stop_us,
                                                                   .methodType = method,
                                                                   .graphName = graph},
                                                        .profilingEvents = list,
                                                        .numProfilingEvents = n}};
    return write_log(ep, &data);
}

qrn_status qe_profile_take(qe_ep *ep, QnnSystemProfile_MethodType_t method, const char *graph,
                           uint64_t start_us) {
    if (!ep->profile.handle)
        return QRN_OK;
    qrn_arena *arena = qrn_arena_create();
    if (!arena)
        return QRN_FAIL(QRN_E_MEM, "profile: no memory");
    qrn_status s = take(ep, arena, method, graph, start_us);
    qrn_arena_destroy(arena);
    return s;
}

qrn_status qe_profile_start(qe_ep *ep) {
    const qc_client *c = ep->client;
    int level = ep->opt.profile_level;
    if (!level)
        return QRN_OK;
    if (!ep->opt.profile_path || !ep->opt.profile_path[0])
        return QRN_FAIL(QRN_E_ARGUMENT, "profiling_level is %s: set profiling_file_path, too",
                        qe_profile_levels[level]);
    QRN_TRY(qc_system_open(c->path, &ep->profile.system));
    QRN_TRY(qc_check(
        c,
        c->qnn.profileCreate(c->backend,
                             level == 1 ? QNN_PROFILE_LEVEL_BASIC : QNN_PROFILE_LEVEL_DETAILED,
                             &ep->profile.handle),
        "profileCreate"));
    ep->profile.extended = qc_has(c, QNN_PROPERTY_PROFILE_SUPPORTS_EXTENDED_EVENT);
    if (level < 3)
        return QRN_OK;
    QnnProfile_Config_t trace = {.option = QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE,
                                 .enableOptrace = 1};
    const QnnProfile_Config_t *list[] = {&trace, NULL};
    return qc_check(c, c->qnn.profileSetConfig(ep->profile.handle, list), "profileSetConfig");
}

void qe_profile_end(qe_ep *ep) {
    if (ep->profile.handle)
        ep->client->qnn.profileFree(ep->profile.handle);
    qc_system_close(ep->profile.system);
}
