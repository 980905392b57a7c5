// SPDX-License-Identifier: MIT
//
// Profiles and outputs of delegates. Names are those that ExecuTorch's own runner gives, because
// its Inspector looks for them.
#include "frontend/executorch/delegate_trace.h"

#include "frontend/executorch/program.h"

#include "HTP/QnnHtpProfile.h"
#include "QnnProfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEBUG_MARK "_debugID_" // the number behind it names the node of the exported model

// --- Profiles

qrn_status et_profile_start(qc_graph *g, int level) {
    const qc_client *c = g->client;
    if (level < 2)
        return QRN_OK;
    QRN_TRY(qc_check(c, c->qnn.profileCreate(c->backend, QNN_PROFILE_LEVEL_DETAILED, &g->profile),
                     "profileCreate"));
    if (level == 2)
        return QRN_OK;
    QnnProfile_Config_t trace = {.option = QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE,
                                 .enableOptrace = true};
    const QnnProfile_Config_t *configs[] = {&trace, NULL};
    return qc_check(c, c->qnn.profileSetConfig(g->profile, configs), "profileSetConfig");
}

void et_profile_stop(qc_graph *g) {
    if (g && g->profile)
        g->client->qnn.profileFree(g->profile);
}

static const char *unit_of(QnnProfile_EventUnit_t unit) {
    return unit == QNN_PROFILE_EVENTUNIT_MICROSEC ? " (us)"
           : unit == QNN_PROFILE_EVENTUNIT_BYTES  ? " (bytes)"
           : unit == QNN_PROFILE_EVENTUNIT_COUNT  ? " (count)"
                                                  : "";
}

// Data of an event; *found is false for blocks of bytes, which have no place in a trace.
static qrn_status read_event(const qc_graph *g, QnnProfile_EventId_t id, QnnProfile_EventData_t *e,
                             bool *found) {
    Qnn_ErrorHandle_t code = g->client->qnn.profileGetEventData(id, e);
    *found = QNN_GET_ERROR_CODE(code) != QNN_PROFILE_ERROR_INCOMPATIBLE_EVENT;
    return *found ? qc_check(g->client, code, "profileGetEventData") : QRN_OK;
}

static qrn_status read_nodes(const qc_graph *g, QnnProfile_EventId_t parent, et_trace *t) {
    const QNN_INTERFACE_VER_TYPE *q = &g->client->qnn;
    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n = 0;
    QRN_TRY(qc_check(g->client, q->profileGetSubEvents(parent, &ids, &n), "profileGetSubEvents"));
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_EventData_t e;
        bool found;
        QRN_TRY(read_event(g, ids[i], &e, &found));
        if (found && e.type == QNN_PROFILE_EVENTTYPE_NODE && e.identifier &&
            (e.unit == QNN_PROFILE_EVENTUNIT_MICROSEC || e.unit == QNN_PROFILE_EVENTUNIT_CYCLES))
            et_trace_value(t, e.identifier, e.value);
    }
    return QRN_OK;
}

qrn_status et_profile_read(const qc_graph *g, et_trace *t) {
    const QNN_INTERFACE_VER_TYPE *q = &g->client->qnn;
    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n = 0;
    if (!g->profile)
        return QRN_OK;
    QRN_TRY(qc_check(g->client, q->profileGetEvents(g->profile, &ids, &n), "profileGetEvents"));
    for (uint32_t i = 0; i < n; i++) {
        QnnProfile_EventData_t e;
        char text[256];
        bool found;
        QRN_TRY(read_event(g, ids[i], &e, &found));
        if (!found)
            continue;
        if (e.identifier) {
            snprintf(text, sizeof text, "%s%s", e.identifier, unit_of(e.unit));
            et_trace_value(t, text, e.value);
        }
        if (e.type == QNN_PROFILE_EVENTTYPE_EXECUTE ||
            e.type == QNN_HTP_PROFILE_EVENTTYPE_GRAPH_EXECUTE_ACCEL_TIME_CYCLE)
            QRN_TRY(read_nodes(g, ids[i], t));
    }
    return QRN_OK;
}

// --- Outputs

static const struct {
    Qnn_DataType_t from;
    uint8_t to;
} types[] = {
    {QNN_DATATYPE_FLOAT_32, ET_FLOAT},  {QNN_DATATYPE_FLOAT_16, ET_HALF},
    {QNN_DATATYPE_FLOAT_64, ET_DOUBLE}, {QNN_DATATYPE_BOOL_8, ET_BOOL},
    {QNN_DATATYPE_INT_8, ET_CHAR},      {QNN_DATATYPE_SFIXED_POINT_8, ET_CHAR},
    {QNN_DATATYPE_UINT_8, ET_BYTE},     {QNN_DATATYPE_UFIXED_POINT_8, ET_BYTE},
    {QNN_DATATYPE_INT_16, ET_SHORT},    {QNN_DATATYPE_SFIXED_POINT_16, ET_SHORT},
    {QNN_DATATYPE_UINT_16, ET_UINT16},  {QNN_DATATYPE_UFIXED_POINT_16, ET_UINT16},
    {QNN_DATATYPE_INT_32, ET_INT},      {QNN_DATATYPE_SFIXED_POINT_32, ET_INT},
    {QNN_DATATYPE_UINT_32, ET_UINT32},  {QNN_DATATYPE_UFIXED_POINT_32, ET_UINT32},
    {QNN_DATATYPE_INT_64, ET_LONG},     {QNN_DATATYPE_UINT_64, ET_UINT64},
};

static bool type_of(Qnn_DataType_t from, uint8_t *to) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].from == from) {
            *to = types[i].to;
            return true;
        }
    }
    return false;
}

static int32_t debug_number(const char *name) {
    const char *p = strstr(name, DEBUG_MARK);
    if (!p)
        return -1;
    long v = strtol(p + strlen(DEBUG_MARK), NULL, 10);
    return v >= 0 && v <= INT32_MAX ? (int32_t)v : -1;
}

qrn_status et_trace_outputs(const qc_graph *g, void *const *outputs, et_trace *t) {
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const qc_tensor *q = g->outputs[i];
        const char *name = q->t.v1.name;
        uint8_t type;
        if (!type_of(q->t.v1.dataType, &type))
            return QRN_FAIL(QRN_E_DTYPE, "tensor '%s': its type 0x%x has no place in a trace", name,
                            (unsigned)q->t.v1.dataType);
        QRN_TRY(et_trace_output(t, debug_number(name), name, type, q->rank, q->dims, outputs[i],
                                qc_tensor_bytes(q)));
    }
    return QRN_OK;
}
