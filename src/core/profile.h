// SPDX-License-Identifier: MIT
//
// Profiles as the calls that fill them see them: open, add events, close. Events stay until the
// profile is opened again. A NULL profile is allowed everywhere and takes nothing.
#ifndef QRN_CORE_PROFILE_H
#define QRN_CORE_PROFILE_H

#include "core/own.h"

typedef struct qrn_profile_text qrn_profile_text; // block of identifier texts

typedef struct qrn_profile_event {
    uint32_t type, unit;    // QNN_PROFILE_EVENTTYPE_*, QNN_PROFILE_EVENTUNIT_*
    uint64_t value;         // unless unit is OBJECT
    uint64_t timestamp_us;  // when it was added; monotonic clock
    const char *identifier; // copy, never NULL
    const void *object;     // OBJECT: copy of the bytes
    uint32_t object_bytes;
    const char *file_name;          // OBJECT: suggested name of a file, or NULL
    uint32_t parent;                // index of the parent, QRN_PROFILE_TOP for none
    QnnProfile_EventId_t *children; // made when first asked for
    uint32_t n_children;
} qrn_profile_event;

#define QRN_PROFILE_MAX_EVENTS ((1u << 20) - 2) // unless options say less

struct qrn_api_profile {
    qrn_child child; // first, so that it is the address
    qrn_api_backend *backend;
    QnnProfile_Level_t level;
    pthread_mutex_t lock;        // guards what follows but the atomics; innermost
    uint64_t max_events;         // top-level and children together
    atomic_bool recording;       // a call is filling it
    atomic_uint pending;         // queued calls that will fill it
    struct qrn_api_graph *bound; // graph with continuous profiling, or NULL
    uint32_t serial;             // of the record; part of the event ids, so old ids are found out
    qrn_profile_event *events;
    uint32_t n_events, cap_events;
    QnnProfile_EventId_t *top; // answer of getEvents, made when first asked for
    uint32_t n_top;
    qrn_profile_text *text; // newest block first
    bool overflow;          // an event was dropped
    bool optrace;           // ops are to be traced
    bool asked;             // qrn_profile_first has said yes
};

// A new profile in the list of its backend, with a handle; NULL when out of memory.
qrn_api_profile *qrn_profile_new(qrn_api_backend *b, QnnProfile_Level_t level);
// Ends one that the caller has alone.
void qrn_profile_destroy(qrn_api_profile *p);

// The profile behind a handle of a call on backend b. A NULL handle gives NULL and OK;
// QRN_E_PROFILE: not a profile of this backend.
qrn_status qrn_profile_get(const void *handle, const qrn_api_backend *b, qrn_api_profile **profile);

// Starts the record of one call and drops the events of the last one. QRN_E_PROFILE when another
// call is filling the profile, or when it is bound to a graph other than `graph` (NULL for calls
// that have none): a bound profile takes the executions of its graph only, and keeps all their
// events.
qrn_status qrn_profile_open(qrn_api_profile *p, const struct qrn_api_graph *graph);
void qrn_profile_close(qrn_api_profile *p);
// One more and one fewer queued call that will fill the profile, which stays until then; NULL is
// fine.
void qrn_profile_hold(qrn_api_profile *p);
void qrn_profile_release(qrn_api_profile *p);

// Should per-node events be added?
bool qrn_profile_detailed(const qrn_api_profile *p);

// Ties the profile to a graph for continuous profiling; QRN_E_ALREADY when it is tied to another.
qrn_status qrn_profile_bind(qrn_api_profile *p, struct qrn_api_graph *graph);
void qrn_profile_unbind(qrn_api_profile *p);

// Ends the profiles of a backend, which the caller has alone.
void qrn_profile_free_all(qrn_api_backend *b);

#endif
