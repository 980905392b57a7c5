// SPDX-License-Identifier: MIT
//
// Profile component: events of the last call that was given the profile handle. An event id packs
// the slot of the handle, the serial number of the record and the index of the event, so ids of an
// earlier record, of a freed profile and made-up ones are found out.
#include "core/profile.h"

#include "base/mem.h"
#include "core/errors.h"

// From the low end: 20 bits event index + 1 (so no id is 0), 24 bits serial, 20 bits slot.
#define INDEX_BITS 20
#define SERIAL_BITS 24
#define INDEX_MASK ((1u << INDEX_BITS) - 1)
#define SERIAL_MASK ((1u << SERIAL_BITS) - 1)

_Static_assert(INDEX_BITS + SERIAL_BITS + QRN_HANDLE_SLOT_BITS == 64, "an event id has 64 bits");
_Static_assert(QRN_PROFILE_MAX_EVENTS < INDEX_MASK, "an event id has room for each index");

static QnnProfile_EventId_t make_id(const qrn_api_profile *p, uint32_t index) {
    return (uint64_t)qrn_handle_slot(p->child.handle) << (INDEX_BITS + SERIAL_BITS) |
           (uint64_t)(p->serial & SERIAL_MASK) << INDEX_BITS | (index + 1);
}

// The profile behind an event id, pinned and locked; NULL when there is no such event.
static qrn_api_profile *lock_event(QnnProfile_EventId_t id, qrn_profile_event **event) {
    const void *handle =
        qrn_handle_at(QRN_KIND_PROFILE, (uint32_t)(id >> (INDEX_BITS + SERIAL_BITS)));
    qrn_api_profile *p = handle ? qrn_pin(QRN_KIND_PROFILE, handle) : NULL;
    uint32_t index = (uint32_t)(id & INDEX_MASK);
    if (!p)
        return NULL;
    pthread_mutex_lock(&p->lock);
    if ((p->serial & SERIAL_MASK) == ((id >> INDEX_BITS) & SERIAL_MASK) && index &&
        index <= p->n_events) {
        *event = &p->events[index - 1];
        return p;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static qrn_status create(qrn_api_backend *b, QnnProfile_Level_t level, Qnn_ProfileHandle_t *out) {
    if (!b)
        return QRN_FAIL(QRN_E_HANDLE, "profile: not a backend handle");
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "profile: no place for the handle");
    bool own = qrn_this_backend.profile_level && qrn_this_backend.profile_level(level);
    if (level >= QNN_PROFILE_LEVEL_BACKEND && !own)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "profile: %s has no level %u",
                        qrn_this_backend.provider_name, level);
    if (level != QNN_PROFILE_LEVEL_BASIC && level != QNN_PROFILE_LEVEL_DETAILED && !own)
        return QRN_FAIL(QRN_E_ARGUMENT, "profile: level %u, allowed BASIC=1, DETAILED=2", level);
    const qrn_api_profile *p = qrn_profile_new(b, level);
    if (!p)
        return QRN_E_MEM;
    *out = p->child.handle;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnProfile_create(Qnn_BackendHandle_t backend, QnnProfile_Level_t level,
                                    Qnn_ProfileHandle_t *profile) {
    QRN_API_CALL;
    qrn_api_backend *b = qrn_pin(QRN_KIND_BACKEND, backend);
    return qrn_api_end(QRN_COMP_PROFILE, create(b, level, profile), b ? b->log : NULL);
}

// The profile's lock is held.
static bool in_use(const qrn_api_profile *p) {
    return p->bound || atomic_load(&p->recording) || atomic_load(&p->pending);
}

// *max and *optrace change when the option is there.
static qrn_status parse(const qrn_api_profile *p, const QnnProfile_Config_t *c, uint64_t *max,
                        int *optrace) {
    switch (c->option) {
    case QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS:
        if (c->numMaxEvents == 0)
            return QRN_FAIL(QRN_E_CONFIG, "profile: MAX_EVENTS is 0, expected at least 1");
        *max = c->numMaxEvents < QRN_PROFILE_MAX_EVENTS ? c->numMaxEvents : QRN_PROFILE_MAX_EVENTS;
        return QRN_OK;
    case QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE:
        if (c->enableOptrace && p->level != QNN_PROFILE_LEVEL_DETAILED)
            return QRN_FAIL(QRN_E_CONFIG, "profile: ENABLE_OPTRACE needs level DETAILED");
        if (c->enableOptrace && !(qrn_this_backend.features & QRN_FEATURE_OPTRACE))
            return QRN_FAIL(QRN_E_UNSUPPORTED, "profile: %s has no op trace",
                            qrn_this_backend.provider_name);
        *optrace = c->enableOptrace != 0;
        return QRN_OK;
    case QNN_PROFILE_CONFIG_OPTION_CUSTOM:
        return QRN_FAIL(QRN_E_UNSUPPORTED, "profile: custom options are not supported");
    default:
        return QRN_FAIL(QRN_E_CONFIG,
                        "profile: unknown option %u, allowed MAX_EVENTS=1, ENABLE_OPTRACE=2",
                        (unsigned)c->option);
    }
}

static qrn_status set_config(qrn_api_profile *p, const QnnProfile_Config_t **config) {
    if (!p)
        return QRN_FAIL(QRN_E_HANDLE, "not a profile handle");
    if (!config)
        return QRN_FAIL(QRN_E_ARGUMENT, "profile: no options");
    uint64_t max = 0;
    int optrace = -1;
    for (size_t i = 0; config[i]; i++)
        QRN_TRY(parse(p, config[i], &max, &optrace));
    if (!(qrn_this_backend.features & QRN_FEATURE_PROFILE_CONFIG))
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: profiles have no options",
                        qrn_this_backend.provider_name);
    pthread_mutex_lock(&p->lock);
    bool busy = in_use(p);
    if (!busy && max)
        p->max_events = max;
    if (!busy && optrace >= 0)
        p->optrace = optrace;
    pthread_mutex_unlock(&p->lock);
    return busy ? QRN_FAIL(QRN_E_IN_USE, "profile: options cannot change while it is in use")
                : QRN_OK;
}

Qnn_ErrorHandle_t QnnProfile_setConfig(Qnn_ProfileHandle_t profileHandle,
                                       const QnnProfile_Config_t **config) {
    QRN_API_CALL;
    qrn_api_profile *p = qrn_pin(QRN_KIND_PROFILE, profileHandle);
    return qrn_api_end(QRN_COMP_PROFILE, set_config(p, config), p ? p->backend->log : NULL);
}

// Ids of the events below parent. An empty list has a valid pointer, too.
static qrn_status list_ids(const qrn_api_profile *p, uint32_t parent, QnnProfile_EventId_t **ids,
                           uint32_t *count) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_events; i++)
        n += p->events[i].parent == parent;
    QnnProfile_EventId_t *list = qrn_alloc((n ? n : 1) * sizeof *list);
    if (!list)
        return QRN_E_MEM;
    *ids = list;
    *count = n;
    for (uint32_t i = 0; i < p->n_events; i++)
        if (p->events[i].parent == parent)
            *list++ = make_id(p, i);
    return QRN_OK;
}

static qrn_status get_events(qrn_api_profile *p, const QnnProfile_EventId_t **ids, uint32_t *n) {
    if (!p)
        return QRN_FAIL(QRN_E_HANDLE, "not a profile handle");
    if (!ids || !n)
        return QRN_FAIL(QRN_E_ARGUMENT, "profile: no place for the events");
    qrn_status s = QRN_OK;
    pthread_mutex_lock(&p->lock);
    if (!p->top)
        s = list_ids(p, QRN_PROFILE_TOP, &p->top, &p->n_top);
    if (s == QRN_OK) {
        *ids = p->top;
        *n = p->n_top;
    }
    pthread_mutex_unlock(&p->lock);
    return s;
}

Qnn_ErrorHandle_t QnnProfile_getEvents(Qnn_ProfileHandle_t profile,
                                       const QnnProfile_EventId_t **profileEventIds,
                                       uint32_t *numEvents) {
    QRN_API_CALL;
    qrn_api_profile *p = qrn_pin(QRN_KIND_PROFILE, profile);
    return qrn_api_end(QRN_COMP_PROFILE, get_events(p, profileEventIds, numEvents),
                       p ? p->backend->log : NULL);
}

static qrn_status no_event(QnnProfile_EventId_t id) {
    return QRN_FAIL(QRN_E_HANDLE, "profile: no event with id %#llx, or it was overwritten",
                    (unsigned long long)id);
}

// Ends a call on an event; p is NULL when there is none.
static Qnn_ErrorHandle_t end_event(qrn_api_profile *p, qrn_status s) {
    if (p)
        pthread_mutex_unlock(&p->lock);
    return qrn_api_end(QRN_COMP_PROFILE, s, p ? p->backend->log : NULL);
}

static qrn_status sub_events(qrn_api_profile *p, qrn_profile_event *e,
                             const QnnProfile_EventId_t **ids, uint32_t *n) {
    if (!ids || !n)
        return QRN_FAIL(QRN_E_ARGUMENT, "profile: no place for the events");
    if (!e->children)
        QRN_TRY(list_ids(p, (uint32_t)(e - p->events), &e->children, &e->n_children));
    *ids = e->children;
    *n = e->n_children;
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnProfile_getSubEvents(QnnProfile_EventId_t eventId,
                                          const QnnProfile_EventId_t **subEventIds,
                                          uint32_t *numSubEvents) {
    QRN_API_CALL;
    qrn_profile_event *e = NULL;
    qrn_api_profile *p = lock_event(eventId, &e);
    qrn_status s = p ? sub_events(p, e, subEventIds, numSubEvents) : no_event(eventId);
    return end_event(p, s);
}

Qnn_ErrorHandle_t QnnProfile_getEventData(QnnProfile_EventId_t eventId,
                                          QnnProfile_EventData_t *eventData) {
    QRN_API_CALL;
    qrn_profile_event *e = NULL;
    qrn_api_profile *p = lock_event(eventId, &e);
    qrn_status s = QRN_OK;
    if (!p)
        s = no_event(eventId);
    else if (!eventData)
        s = QRN_FAIL(QRN_E_ARGUMENT, "profile: no place for the event's data");
    else if (e->unit == QNN_PROFILE_EVENTUNIT_OBJECT)
        s = QRN_FAIL(QRN_E_INCOMPATIBLE, "profile event '%s' is an object: ask for extended data",
                     e->identifier);
    else
        *eventData = (QnnProfile_EventData_t){e->type, e->unit, e->value, e->identifier};
    return end_event(p, s);
}

static void fill_extended(const qrn_profile_event *e, QnnProfile_ExtendedEventData_t *data) {
    *data = (QnnProfile_ExtendedEventData_t){.version = QNN_PROFILE_DATA_VERSION_1};
    data->v1.type = e->type;
    data->v1.unit = e->unit;
    data->v1.timestamp = e->timestamp_us;
    data->v1.identifier = e->identifier;
    if (e->unit == QNN_PROFILE_EVENTUNIT_OBJECT) {
        data->v1.backendOpaqueObject.opaqueObject.data = (void *)e->object;
        data->v1.backendOpaqueObject.opaqueObject.len = e->object_bytes;
        data->v1.backendOpaqueObject.fileName = e->file_name;
    } else {
        data->v1.value.dataType = QNN_DATATYPE_UINT_64;
        data->v1.value.uint64Value = e->value;
    }
}

Qnn_ErrorHandle_t QnnProfile_getExtendedEventData(QnnProfile_EventId_t eventId,
                                                  QnnProfile_ExtendedEventData_t *eventData) {
    QRN_API_CALL;
    qrn_profile_event *e = NULL;
    qrn_api_profile *p = lock_event(eventId, &e);
    qrn_status s = QRN_OK;
    if (!p)
        s = no_event(eventId);
    else if (!eventData)
        s = QRN_FAIL(QRN_E_ARGUMENT, "profile: no place for the event's data");
    else if (!(qrn_this_backend.features & QRN_FEATURE_PROFILE_EXTENDED))
        s = QRN_FAIL(QRN_E_UNSUPPORTED, "%s: no extended event data",
                     qrn_this_backend.provider_name);
    else
        fill_extended(e, eventData);
    return end_event(p, s);
}

static qrn_status free_profile(qrn_api_profile *p) {
    if (in_use(p))
        return QRN_FAIL(QRN_E_IN_USE, p->bound ? "profile: bound to a graph by its options"
                                               : "profile: a call is filling it");
    qrn_profile_destroy(p);
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnProfile_free(Qnn_ProfileHandle_t profile) {
    QRN_API_CALL;
    void *p = NULL;
    qrn_status s = qrn_pin_last(QRN_KIND_PROFILE, profile, false, &p);
    qrn_api_log *log = qrn_keep_log(p ? ((qrn_api_profile *)p)->backend->log : NULL);
    if (s == QRN_OK)
        s = free_profile(p);
    else
        s = QRN_FAIL(s, s == QRN_E_IN_USE ? "profile: a call uses it" : "not a profile handle");
    return qrn_api_end(QRN_COMP_PROFILE, s, log);
}
