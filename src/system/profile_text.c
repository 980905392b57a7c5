// SPDX-License-Identifier: MIT
//
// Profile events as a line of JSON. Depth is limited, so that a tree that contains itself ends in
// an error.
#include "system/system.h"

#include "base/report_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 32

static const char *method_name(QnnSystemProfile_MethodType_t m) {
    static const char *const names[] = {"NONE",
                                        "BACKEND_EXECUTE",
                                        "BACKEND_FINALIZE",
                                        "BACKEND_EXECUTE_ASYNC",
                                        "BACKEND_CREATE_FROM_BINARY",
                                        "BACKEND_DEINIT",
                                        "APP_CONTEXT_CREATE",
                                        "APP_COMPOSE_GRAPHS",
                                        "APP_EXECUTE_IPS",
                                        "BACKEND_GRAPH_COMPONENT",
                                        "APP_BACKEND_LIB_LOAD",
                                        "BACKEND_APPLY_BINARY_SECTION",
                                        "CONTEXT_FINALIZE",
                                        "CONTEXT_GET_BINARY_SIZE",
                                        "CONTEXT_GET_BINARY",
                                        "CONTEXT_GET_BINARY_SECTION_SIZE",
                                        "BACKEND_FINALIZE_TENSOR_UPDATES",
                                        "BACKEND_UPDATE_BINARY_SECTION"};
    return (unsigned)m < sizeof names / sizeof *names ? names[m] : "?";
}

static const char *unit_name(QnnProfile_EventUnit_t u) {
    static const char *const names[] = {"?",     "microseconds", "bytes", "cycles",
                                        "count", "object",       "none"};
    return (unsigned)u < sizeof names / sizeof *names ? names[u] : "backend";
}

static void write_double(FILE *to, double v) {
    if (isfinite(v))
        fprintf(to, "%.17g", v);
    else
        fputs("null", to);
}

static void write_scalar(FILE *to, const Qnn_Scalar_t *s) {
    switch (s->dataType) {
    case QNN_DATATYPE_FLOAT_32:
        write_double(to, (double)s->floatValue);
        break;
    case QNN_DATATYPE_FLOAT_64:
        write_double(to, s->doubleValue);
        break;
    case QNN_DATATYPE_INT_8:
        fprintf(to, "%d", s->int8Value);
        break;
    case QNN_DATATYPE_INT_16:
        fprintf(to, "%d", s->int16Value);
        break;
    case QNN_DATATYPE_INT_32:
        fprintf(to, "%" PRId32, s->int32Value);
        break;
    case QNN_DATATYPE_INT_64:
        fprintf(to, "%" PRId64, s->int64Value);
        break;
    case QNN_DATATYPE_UINT_8:
        fprintf(to, "%u", s->uint8Value);
        break;
    case QNN_DATATYPE_UINT_16:
        fprintf(to, "%u", s->uint16Value);
        break;
    case QNN_DATATYPE_UINT_32:
        fprintf(to, "%" PRIu32, s->uint32Value);
        break;
    case QNN_DATATYPE_UINT_64:
        fprintf(to, "%" PRIu64, s->uint64Value);
        break;
    case QNN_DATATYPE_BOOL_8:
        fputs(s->bool8Value ? "true" : "false", to);
        break;
    case QNN_DATATYPE_STRING:
        qrn_json_text(to, s->stringValue);
        break;
    default:
        fputs("null", to);
    }
}

static void write_object(FILE *to, const QnnProfile_BackendOpaqueObject_t *o) {
    fputs("null, \"file\": ", to);
    qrn_json_text(to, o->fileName);
    fputs(", \"hex\": \"", to);
    const unsigned char *bytes = o->opaqueObject.data;
    for (uint64_t i = 0; bytes && i < o->opaqueObject.len; i++)
        fprintf(to, "%02x", bytes[i]);
    fputc('"', to);
}

static void write_head(FILE *to, unsigned type, unsigned unit, const char *identifier) {
    fprintf(to, "{\"type\": %u, \"unit\": \"%s\", \"identifier\": ", type, unit_name(unit));
    qrn_json_text(to, identifier);
    fputs(", \"value\": ", to);
}

static qrn_status write_own(FILE *to, const QnnSystemProfile_ProfileEventV1_t *e) {
    if (e->type == QNN_SYSTEM_PROFILE_EVENT_DATA) {
        const QnnProfile_EventData_t *d = &e->eventData;
        write_head(to, d->type, d->unit, d->identifier);
        fprintf(to, "%" PRIu64, d->value);
        return QRN_OK;
    }
    if (e->type != QNN_SYSTEM_PROFILE_EXTENDED_EVENT_DATA ||
        e->extendedEventData.version != QNN_PROFILE_DATA_VERSION_1)
        return QRN_FAIL(QRN_E_ARGUMENT, "profile event of kind %d, known are 0 and 1 (version 1)",
                        (int)e->type);
    const QnnProfile_ExtendedEventDataV1_t *d = &e->extendedEventData.v1;
    write_head(to, d->type, d->unit, d->identifier);
    if (d->unit == QNN_PROFILE_EVENTUNIT_OBJECT)
        write_object(to, &d->backendOpaqueObject);
    else
        write_scalar(to, &d->value);
    fprintf(to, ", \"timestamp\": %" PRIu64, d->timestamp);
    return QRN_OK;
}

static qrn_status write_events(FILE *to, const QnnSystemProfile_ProfileEventV1_t *list, uint32_t n,
                               unsigned depth) {
    if (depth > MAX_DEPTH || (n && !list))
        return QRN_FAIL(QRN_E_ARGUMENT, "profile events nested deeper than %d, or a list is NULL",
                        MAX_DEPTH);
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            fputs(", ", to);
        QRN_TRY(write_own(to, &list[i]));
        if (list[i].numSubEvents) {
            fputs(", \"events\": [", to);
            QRN_TRY(write_events(to, list[i].profileSubEventData, list[i].numSubEvents, depth + 1));
            fputc(']', to);
        }
        fputc('}', to);
    }
    return QRN_OK;
}

static qrn_status write_line(FILE *to, const QnnSystemProfile_ProfileDataV1_t *d) {
    const QnnSystemProfile_HeaderV1_t *h = &d->header;
    fprintf(to,
            "{\"method\": \"%s\", \"start\": %" PRIu64 ", \"stop\": %" PRIu64
            ", \"start_memory\": %" PRIu64 ", \"stop_memory\": %" PRIu64
            ", \"public\": %s, \"graph\": ",
            method_name(h->methodType), h->startTime, h->stopTime, h->startMem, h->stopMem,
            h->visibility == QNN_SYSTEM_PROFILE_VISIBILITY_PUBLIC ? "true" : "false");
    qrn_json_text(to, h->graphName);
    fputs(", \"events\": [", to);
    QRN_TRY(write_events(to, d->profilingEvents, d->numProfilingEvents, 1));
    fputs("]}\n", to);
    return QRN_OK;
}

qrn_status qrn_system_profile_text(const QnnSystemProfile_ProfileData_t *data, char **text,
                                   size_t *size_bytes) {
    if (data->version != QNN_SYSTEM_PROFILE_DATA_VERSION_1)
        return QRN_FAIL(QRN_E_ARGUMENT, "profile data of version %d, known is 1",
                        (int)data->version);
    qrn_text line;
    FILE *to = qrn_text_open(&line);
    if (!to)
        return QRN_FAIL(QRN_E_MEM, "out of memory for profile events");
    qrn_status s = write_line(to, &data->v1);
    if (!qrn_text_close(to, &line) && s == QRN_OK)
        s = QRN_FAIL(QRN_E_MEM, "out of memory for profile events");
    if (s != QRN_OK) {
        free(line.data);
        return s;
    }
    *text = line.data;
    *size_bytes = line.n;
    return QRN_OK;
}
