// SPDX-License-Identifier: MIT
//
// Profiles in files: logs of the System library (docs/system.md) and tables with the columns of the
// public provider (docs/onnxruntime.md), read into one form.
#ifndef QRN_TOOLS_QUERN_PROFILE_LOG_H
#define QRN_TOOLS_QUERN_PROFILE_LOG_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum qt_call_kind {
    QT_CALL_INIT,
    QT_CALL_COMPOSE,
    QT_CALL_FINALIZE,
    QT_CALL_DEINIT,
    QT_CALL_APPLY,
    QT_CALL_EXECUTE,
    QT_CALL_RATE, // inferences between two times, as the program counted them
    QT_CALL_OTHER,
    QT_CALL_KINDS
} qt_call_kind;

typedef struct qt_event {
    const char *name, *unit; // unit: "us", "cycles", "count", "bytes", "object", "none"
    uint32_t type;           // number of the API; 0: the file has only words for it
    uint64_t value;
    const char *hex, *file; // of an object: its bytes, and a name for them; else NULL
    struct qt_event *sub;
    uint32_t n_sub;
} qt_event;

typedef struct qt_call {
    qt_call_kind kind;
    const char *graph; // "": not known
    uint64_t start_us, stop_us;
    qt_event *events;
    uint32_t n;
} qt_call;

typedef struct qt_profile {
    qrn_arena *arena;
    const char *app; // that wrote it; NULL: not known
    qt_call *calls;
    uint32_t n, cap;
} qt_profile;

// Appends what a file holds; QT_EXIT_OK or another code after a message with the line. Opaque
// objects stay as they are written.
int qt_profile_read(qt_profile *p, const char *path);

// Did the program measure it itself, and not the backend?
bool qt_is_netrun(const qt_event *e);

// Is it a node's event, and is it modelled? The name without its number and unit goes into buf.
typedef enum qt_node_kind { QT_NO_NODE, QT_NODE_US, QT_NODE_CYCLES, QT_NODE_MODELLED } qt_node_kind;
qt_node_kind qt_node_of(const qt_event *e, char *buf, size_t size);

// The op trace among events and what lies below them; NULL: none (profile_trace.c).
const qt_event *qt_find_optrace(const qt_event *list, uint32_t n);

#endif
