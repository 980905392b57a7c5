// SPDX-License-Identifier: MIT
//
// Profile component: events of the last call that was given the profile handle. An event id packs
// the slot of the handle, the serial number of the record and the index of the event, so ids of an
// earlier record, of a freed profile and made-up ones are found out.
//
// State of the library: the counter of record serials.
#include "api/profile.h"

#include "api/errors.h"
#include "base/mem.h"

#include <string.h>
#include <time.h>

// From the low end: 20 bits event index + 1 (so no id is 0), 24 bits serial, 20 bits slot.
#define INDEX_BITS 20
#define SERIAL_BITS 24
#define INDEX_MASK ((1u << INDEX_BITS) - 1)
#define SERIAL_MASK ((1u << SERIAL_BITS) - 1)
#define DEFAULT_MAX_EVENTS (INDEX_MASK - 1)

_Static_assert(INDEX_BITS + SERIAL_BITS + QRN_HANDLE_SLOT_BITS == 64, "an event id has 64 bits");

struct qrn_profile_text {
    struct qrn_profile_text *next;
    size_t size, used;
    char bytes[];
};

static atomic_uint last_serial;

static uint32_t new_serial(void) { return (atomic_fetch_add(&last_serial, 1) + 1) & SERIAL_MASK; }

static QnnProfile_EventId_t make_id(const qrn_api_profile *p, uint32_t index) {
    return (uint64_t)qrn_handle_slot(p->child.handle) << (INDEX_BITS + SERIAL_BITS) |
           (uint64_t)p->serial << INDEX_BITS | (index + 1);
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
    if (p->serial == ((id >> INDEX_BITS) & SERIAL_MASK) && index && index <= p->n_events) {
        *event = &p->events[index - 1];
        return p;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

// Id lists are made anew after every change of the record.
static void drop_lists(qrn_api_profile *p) {
    for (uint32_t i = 0; i < p->n_events; i++) {
        qrn_free(p->events[i].children);
        p->events[i].children = NULL;
    }
    qrn_free(p->top);
    p->top = NULL;
    p->n_top = 0;
}

// Keeps the memory for the next record.
static void reset(qrn_api_profile *p) {
    drop_lists(p);
    p->n_events = 0;
    p->overflow = false;
    p->serial = new_serial();
    for (qrn_profile_text *t = p->text; t; t = t->next)
        t->used = 0;
}

static void *copy_bytes(qrn_api_profile *p, const void *src, size_t size) {
    size_t need = (size + 15) / 16 * 16;
    qrn_profile_text *t = p->text;
    while (t && t->size - t->used < need)
        t = t->next;
    if (!t) {
        size_t block = need > 8192 ? need : 8192;
        t = qrn_alloc(sizeof *t + block);
        if (!t)
            return NULL;
        *t = (qrn_profile_text){.next = p->text, .size = block};
        p->text = t;
    }
    void *dst = t->bytes + t->used;
    t->used += need;
    if (size)
        memcpy(dst, src, size);
    return dst;
}

static const char *copy_text(qrn_api_profile *p, const char *text) {
    return copy_bytes(p, text, strlen(text) + 1);
}

qrn_status qrn_profile_get(const void *handle, const qrn_api_backend *b,
                           qrn_api_profile **profile) {
    *profile = NULL;
    if (!handle)
        return QRN_OK;
    qrn_api_profile *p = qrn_pin(QRN_KIND_PROFILE, handle);
    if (!p || p->backend != b)
        return QRN_FAIL(QRN_E_PROFILE, p ? "profile of another backend" : "not a profile handle");
    *profile = p;
    return QRN_OK;
}

qrn_status qrn_profile_open(qrn_api_profile *p, const struct qrn_api_graph *graph) {
    if (!p)
        return QRN_OK;
    qrn_status s = QRN_OK;
    pthread_mutex_lock(&p->lock);
    if (p->bound && p->bound != graph)
        s = QRN_FAIL(QRN_E_PROFILE, "the profile is bound to a graph by its options");
    else if (atomic_exchange(&p->recording, true))
        s = QRN_FAIL(QRN_E_PROFILE, "another call is filling the profile");
    else if (p->bound)
        drop_lists(p);
    else
        reset(p);
    pthread_mutex_unlock(&p->lock);
    return s;
}

void qrn_profile_close(qrn_api_profile *p) {
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    uint64_t full = p->overflow ? p->max_events : 0;
    p->overflow = false;
    pthread_mutex_unlock(&p->lock);
    if (full)
        qrn_log(p->backend->log, QNN_LOG_LEVEL_WARN,
                "profile: events were dropped, there is room for %llu", (unsigned long long)full);
    atomic_store(&p->recording, false);
}

void qrn_profile_hold(qrn_api_profile *p) {
    if (p)
        atomic_fetch_add(&p->pending, 1);
}

void qrn_profile_release(qrn_api_profile *p) {
    if (p)
        atomic_fetch_sub(&p->pending, 1);
}

// A cleared event below parent; NULL when it cannot be taken.
static qrn_profile_event *push(qrn_api_profile *p, uint32_t parent, const char *identifier) {
    if (parent != QRN_PROFILE_TOP && parent >= p->n_events)
        return NULL;
    if (p->n_events >= p->max_events) {
        p->overflow = true;
        return NULL;
    }
    if (p->n_events == p->cap_events) {
        uint32_t cap = p->cap_events ? p->cap_events * 2 : 64;
        qrn_profile_event *e = qrn_realloc(p->events, p->n_events * sizeof *e, cap * sizeof *e);
        if (!e)
            return NULL;
        p->events = e;
        p->cap_events = cap;
    }
    const char *text = copy_text(p, identifier ? identifier : "");
    if (!text)
        return NULL;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    qrn_profile_event *e = &p->events[p->n_events];
    *e = (qrn_profile_event){
        .parent = parent,
        .identifier = text,
        .timestamp_us = (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u,
    };
    return e;
}

// The event that was filled in counts from now on.
static uint32_t count_event(qrn_api_profile *p, bool good) {
    return good ? p->n_events++ : QRN_PROFILE_NONE;
}

uint32_t qrn_profile_add(qrn_api_profile *p, uint32_t parent, uint32_t type, uint32_t unit,
                         uint64_t value, const char *identifier) {
    if (!p)
        return QRN_PROFILE_NONE;
    pthread_mutex_lock(&p->lock);
    qrn_profile_event *e = push(p, parent, identifier);
    if (e) {
        e->type = type;
        e->unit = unit;
        e->value = value;
    }
    uint32_t index = count_event(p, e != NULL);
    pthread_mutex_unlock(&p->lock);
    return index;
}

uint32_t qrn_profile_add_object(qrn_api_profile *p, uint32_t parent, uint32_t type,
                                const void *data, uint32_t size_bytes, const char *file_name,
                                const char *identifier) {
    if (!p)
        return QRN_PROFILE_NONE;
    pthread_mutex_lock(&p->lock);
    qrn_profile_event *e = push(p, parent, identifier);
    if (e) {
        e->type = type;
        e->unit = QNN_PROFILE_EVENTUNIT_OBJECT;
        e->object = copy_bytes(p, data, size_bytes);
        e->object_bytes = size_bytes;
        e->file_name = file_name ? copy_text(p, file_name) : NULL;
    }
    uint32_t index = count_event(p, e && e->object && (!file_name || e->file_name));
    pthread_mutex_unlock(&p->lock);
    return index;
}

bool qrn_profile_detailed(const qrn_api_profile *p) {
    return p && p->level >= QNN_PROFILE_LEVEL_DETAILED;
}

qrn_status qrn_profile_bind(qrn_api_profile *p, struct qrn_api_graph *graph) {
    pthread_mutex_lock(&p->lock);
    bool free = !p->bound || p->bound == graph;
    if (!p->bound)
        reset(p);
    if (free)
        p->bound = graph;
    pthread_mutex_unlock(&p->lock);
    return free ? QRN_OK : QRN_FAIL(QRN_E_ALREADY, "the profile is bound to another graph");
}

void qrn_profile_unbind(qrn_api_profile *p) {
    pthread_mutex_lock(&p->lock);
    p->bound = NULL;
    pthread_mutex_unlock(&p->lock);
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
    qrn_api_profile *p = qrn_calloc(sizeof *p);
    if (!p)
        return QRN_E_MEM;
    p->child.handle = qrn_handle_new(QRN_KIND_PROFILE, p);
    if (!p->child.handle) {
        qrn_free(p);
        return QRN_E_MEM;
    }
    p->backend = b;
    p->level = level;
    p->max_events = DEFAULT_MAX_EVENTS;
    p->serial = new_serial();
    pthread_mutex_init(&p->lock, NULL);
    qrn_child_enter(b, &b->profiles, &p->child);
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
        *max = c->numMaxEvents < DEFAULT_MAX_EVENTS ? c->numMaxEvents : DEFAULT_MAX_EVENTS;
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

// The caller has it alone. Its handle ends last: who waits for that finds it out of the list.
static void destroy(qrn_api_profile *p) {
    const void *handle = p->child.handle;
    qrn_child_leave(p->backend, &p->child);
    drop_lists(p);
    qrn_free(p->events);
    while (p->text) {
        qrn_profile_text *t = p->text;
        p->text = t->next;
        qrn_free(t);
    }
    pthread_mutex_destroy(&p->lock);
    qrn_free(p);
    qrn_handle_free(handle);
}

static qrn_status free_profile(qrn_api_profile *p) {
    if (in_use(p))
        return QRN_FAIL(QRN_E_IN_USE, p->bound ? "profile: bound to a graph by its options"
                                               : "profile: a call is filling it");
    destroy(p);
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

void qrn_profile_free_all(qrn_api_backend *b) {
    while (b->profiles) {
        const void *handle = b->profiles->handle;
        destroy((qrn_api_profile *)b->profiles);
        qrn_handle_leave(handle, true);
    }
}
