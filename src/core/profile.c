// SPDX-License-Identifier: MIT
//
// Recording of profiles; see profile.h.
//
// State of the library: the counter of record serials.
#include "core/profile.h"

#include "base/mem.h"

#include <string.h>
#include <time.h>

struct qrn_profile_text {
    struct qrn_profile_text *next;
    size_t size, used;
    char bytes[];
};

static atomic_uint last_serial;

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
    p->serial = atomic_fetch_add(&last_serial, 1) + 1;
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

qrn_api_profile *qrn_profile_new(qrn_api_backend *b, QnnProfile_Level_t level) {
    qrn_api_profile *p = qrn_calloc(sizeof *p);
    if (!p)
        return NULL;
    p->child.handle = qrn_handle_new(QRN_KIND_PROFILE, p);
    if (!p->child.handle) {
        qrn_free(p);
        return NULL;
    }
    p->backend = b;
    p->level = level;
    p->max_events = QRN_PROFILE_MAX_EVENTS;
    p->serial = atomic_fetch_add(&last_serial, 1) + 1;
    pthread_mutex_init(&p->lock, NULL);
    qrn_child_enter(b, &b->own->profiles, &p->child);
    return p;
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

uint32_t qrn_profile_level(const qrn_api_profile *p) { return (uint32_t)p->level; }
bool qrn_profile_traces_ops(const qrn_api_profile *p) { return p->optrace; }
qrn_api_log *qrn_profile_log(const qrn_api_profile *p) { return p->backend->log; }

bool qrn_profile_first(qrn_api_profile *p) {
    bool first = !p->asked;
    p->asked = true;
    return first;
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

// The handle ends last: who waits for that finds the profile out of the list.
void qrn_profile_destroy(qrn_api_profile *p) {
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

void qrn_profile_free_all(qrn_api_backend *b) {
    while (b->own->profiles) {
        const void *handle = b->own->profiles->handle;
        qrn_profile_destroy((qrn_api_profile *)b->own->profiles);
        qrn_handle_leave(handle, true);
    }
}
