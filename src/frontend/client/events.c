// SPDX-License-Identifier: MIT
//
// Events of a profile handle, read into one tree, and what a library says it can do.
#include "frontend/client/client.h"

#include "Saver/QnnSaver.h"

typedef QnnSystemProfile_ProfileEventV1_t event;

#define MAX_DEPTH 8 // of events below events

typedef struct reading {
    const qc_client *c;
    qrn_arena *arena;
    bool extended;
} reading;

static qrn_status read_events(const reading *r, const QnnProfile_EventId_t *ids, uint32_t n,
                              unsigned depth, event **out);

static qrn_status read_event(const reading *r, QnnProfile_EventId_t id, unsigned depth, event *e) {
    const QNN_INTERFACE_VER_TYPE *qnn = &r->c->qnn;
    const QnnProfile_EventId_t *below = NULL;
    if (r->extended) {
        e->type = QNN_SYSTEM_PROFILE_EXTENDED_EVENT_DATA;
        e->extendedEventData = (QnnProfile_ExtendedEventData_t)QNN_PROFILE_EXTENDED_EVENT_DATA_INIT;
        QRN_TRY(qc_check(r->c, qnn->profileGetExtendedEventData(id, &e->extendedEventData),
                         "profileGetExtendedEventData"));
    } else {
        e->type = QNN_SYSTEM_PROFILE_EVENT_DATA;
        QRN_TRY(qc_check(r->c, qnn->profileGetEventData(id, &e->eventData), "profileGetEventData"));
    }
    if (depth == MAX_DEPTH)
        return QRN_OK;
    QRN_TRY(qc_check(r->c, qnn->profileGetSubEvents(id, &below, &e->numSubEvents),
                     "profileGetSubEvents"));
    return read_events(r, below, e->numSubEvents, depth + 1, &e->profileSubEventData);
}

static qrn_status read_events(const reading *r, const QnnProfile_EventId_t *ids, uint32_t n,
                              unsigned depth, event **out) {
    event *list = qrn_arena_alloc(r->arena, (n + 1) * sizeof *list);
    if (!list)
        return QRN_FAIL(QRN_E_MEM, "profile: no memory");
    for (uint32_t i = 0; i < n; i++)
        QRN_TRY(read_event(r, ids[i], depth, &list[i]));
    *out = list;
    return QRN_OK;
}

qrn_status qc_profile_events(const qc_client *c, Qnn_ProfileHandle_t profile, bool extended,
                             qrn_arena *arena, event **out, uint32_t *n) {
    const QnnProfile_EventId_t *ids = NULL;
    const reading r = {.c = c, .arena = arena, .extended = extended};
    uint32_t found = 0;
    *n = 0;
    Qnn_ErrorHandle_t code = c->qnn.profileGetEvents(profile, &ids, &found);
    if (QNN_GET_ERROR_CODE(code) == QNN_SAVER_ERROR_DUMMY_RETVALUE) // a recorder has no events
        return QRN_OK;
    QRN_TRY(qc_check(c, code, "profileGetEvents"));
    QRN_TRY(read_events(&r, ids, found, 0, out));
    *n = found;
    return QRN_OK;
}

bool qc_has(const qc_client *c, QnnProperty_Key_t key) {
    return c->qnn.propertyHasCapability &&
           QNN_GET_ERROR_CODE(c->qnn.propertyHasCapability(key)) == QNN_PROPERTY_SUPPORTED;
}
