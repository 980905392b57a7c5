// SPDX-License-Identifier: MIT
//
// The profiling log of a run: the backend's events of each call and the program's own times, by
// the System library's writer (docs/system.md), in DIR/qnn-profiling-data_0.log with
// qnn-profiling-data.log as a second name. qnn-profile-viewer reads it.
#ifndef QRN_TOOLS_SDK_PROFILE_WRITER_H
#define QRN_TOOLS_SDK_PROFILE_WRITER_H

#include "frontend/client/client.h"

// A number of our own for the time that the program measured, beside those of the backends.
#define QS_EVENT_NETRUN 12007

typedef struct qs_profile {
    const qc_client *client;
    Qnn_ProfileHandle_t handle; // NULL: the backend's events are not asked for
    QnnProfile_Level_t level;   // 0: no log
    bool extended;
    qc_system *system;
    QnnSystemProfile_SerializationTargetHandle_t target;
} qs_profile;

// What to profile.
typedef struct qs_profile_options {
    const char *level;      // basic, detailed, client, backend; NULL: nothing
    const char *option;     // optrace, or NULL
    uint32_t backend_level; // that `backend` stands for; 0: none is configured
    uint64_t max_events;    // 0: the backend's
    const char *dir;        // of the log
    const char *program;    // that writes it
} qs_profile_options;

// QT_EXIT_OK or another code after a message.
int qs_profile_open(const qc_client *c, const qs_profile_options *o, qs_profile *out);
void qs_profile_close(qs_profile *p); // a cleared one is fine

uint64_t qs_now_us(void);

// Writes a call: what the program measured from start_us to now, and the events of `handle` (NULL:
// none). Nothing is written without a log.
int qs_profile_take(const qs_profile *p, QnnSystemProfile_MethodType_t method, const char *graph,
                    uint64_t start_us, Qnn_ProfileHandle_t handle);
// How many inferences there were between two times.
int qs_profile_rate(const qs_profile *p, const char *graph, uint64_t n, uint64_t start_us,
                    uint64_t stop_us);

#endif
