// SPDX-License-Identifier: MIT
//
// The parts of objects that belong to src/core and src/api: locks, lists, what calls keep between
// each other.
//
// Threads. Who uses an object and who has it alone is the handle table's business. Each context has
// a lock for its lists of graphs and tensors, one for its memory handles, and one for options; a
// backend has one for its children. Order: backend, options, memory, context, handle table. No lock
// is held while a client's code runs, and none while a graph is executed.
#ifndef QRN_CORE_OWN_H
#define QRN_CORE_OWN_H

#include "base/arena.h"
#include "base/file.h"
#include "base/strmap.h"
#include "core/blob.h"
#include "core/handle.h"
#include "core/services.h"

#include "Quern/QuernBackend.h"

#include <pthread.h>

// Outlives its handle as long as somebody holds it; after QnnLog_free it receives nothing more.
struct qrn_api_log {
    void *handle;
    QnnLog_Callback_t callback; // NULL: default stream (stderr)
    _Atomic int level;          // QnnLog_Level_t; messages above it are dropped; 0: closed
    atomic_uint users;          // the handle, backends and devices that hold it
};

// --- Backends and devices

// What is written about executions (dump.h).
typedef struct qrn_dump_settings {
    char *folder;       // NULL: nothing is
    uint32_t n_runs;    // of each graph
    atomic_bool failed; // something could not be written: a warning was given, nothing follows
} qrn_dump_settings;

// Who is shown the tensors of executions (observe.h).
typedef struct qrn_observer {
    void (*tensor)(void *ctx, const QuernBackend_Tensor_t *t); // NULL: nobody
    void *ctx;
    bool (*wanted)(void *ctx, const char *name); // NULL: all are
} qrn_observer;

// What profiles and signals have in common: they belong to a backend and go with it.
typedef struct qrn_child {
    void *handle;
    struct qrn_child *next, **prev; // list of the backend, guarded by its lock
} qrn_child;

typedef struct qrn_backend_own {
    pthread_mutex_t lock;                       // guards the children, the op list and what the
                                                // backend does exclusively
    uint32_t n_contexts;                        // living ones
    qrn_child *profiles, *signals;              // lists of living ones; freed with the backend
    Qnn_ErrorReportingConfig_t error_reporting; // as configured; texts do not depend on it
    uint32_t n_threads;                         // custom option, 0 = default
    atomic_bool trials;                         // custom option: new contexts are for trials
    qrn_dump_settings dump;                     // custom option or QUERN_DUMP
    qrn_observer observer;                      // custom option
    qrn_arena *arena;                           // list of supported operations
    QnnBackend_OperationName_t *ops;            // answer of getSupportedOperations
    uint32_t n_ops;
} qrn_backend_own;

typedef struct qrn_device_own {
    atomic_uint n_contexts;
    const void *info; // answer of getInfo, made when first asked
    bool info_stale;  // options have changed since
} qrn_device_own;

// Does the backend list the property key as supported?
bool qrn_has_capability(uint32_t key);

// Enters a child into a list of its backend, and takes it out.
void qrn_child_enter(qrn_api_backend *b, qrn_child **list, qrn_child *c);
void qrn_child_leave(qrn_api_backend *b, qrn_child *c);
// Has all children of a list alone, or none: false when one is in use and the call may not wait.
// The backend itself is had alone, so that none is added.
bool qrn_children_pin(qrn_api_backend *b, qrn_child **list, qrn_kind kind);
void qrn_children_unpin(qrn_child *list);

// Counts a context in and out of its backend and device (device may be NULL).
void qrn_backend_add_context(qrn_api_backend *b, qrn_api_device *d);
void qrn_backend_drop_context(qrn_api_backend *b, qrn_api_device *d);

// --- Contexts

// A binary whose graphs are made later (DEFER_GRAPH_INIT), or that a client reads in pieces.
typedef struct qrn_binary_part {
    const void *data; // NULL: none
    uint64_t size_bytes;
    void *owned; // our copy, to be freed; NULL when it is the client's
} qrn_binary_part;

typedef struct qrn_context_own {
    pthread_mutex_t options_lock; // guards options of the context and its graphs
    pthread_mutex_t mem_lock;     // guards the memory handles, and calls of mem_map and mem_unmap
    qrn_api_mem **mems;
    uint32_t n_mems, cap_mems;
    pthread_mutex_t lock;   // guards what follows
    qrn_arena *arena;       // context tensors
    qrn_api_graph **graphs; // in order of creation, subgraphs too
    uint32_t n_graphs, cap_graphs;
    qrn_strmap graph_names; // graphs by name
    qrn_tensor **tensors;   // by id - 1; NULL: a creation that failed
    uint32_t n_tensors, cap_tensors;
    qrn_strmap names;              // context tensors by name
    qrn_blobs blobs;               // data of all static tensors
    struct qrn_async *async;       // queue of executeAsync, made by the first call
    bool async_lost;               // its thread is one of the process that forked this one
    struct qrn_provided *provided; // buffers that the client brought (provider.h)
    qrn_binary_part deferred;      // binary that is not loaded yet
    qrn_file_guard *file;          // below a binary that the client mapped and keeps, or NULL
    qrn_binary_part increment;     // piece that getIncrementalBinary gave out
    bool increment_done;           // nothing is left to give out
    uint32_t queue_depth;          // of executeAsync
    Qnn_ErrorReportingConfig_t error_reporting;
} qrn_context_own;

// Can the context still be used? What the backend says; and its file must be as it was.
static inline qrn_status qrn_context_check(const qrn_api_context *c) {
    if (qrn_this_backend.context_check)
        QRN_TRY(qrn_this_backend.context_check(c));
    return qrn_file_guard_check(c->own->file);
}

// Ends the memory handle at a place of the context's list; the context's mem_lock is held.
void qrn_mem_destroy(qrn_api_context *c, uint32_t index);

// Does the backend keep memory for the tensor, whoever calls?
static inline bool qrn_tensor_has_memory(const qrn_tensor *t) {
    return t->role == QRN_ROLE_INOUT && (qrn_this_backend.features & QRN_FEATURE_CONTEXT_MEMORY);
}

// --- Graphs

typedef struct qrn_graph_own {
    const void *outermost;             // handle of the graph that this one is nested in, or its own
    qrn_strmap names;                  // its tensors by name
    _Atomic(struct qrn_frame *) frame; // an idle call frame, and
    struct qrn_frame *frames;          // further ones; guarded by the context's lock
    struct qrn_exec_buffer *buffers;   // given out by prepareExecutionEnvironment
    const void **retired;              // data replaced by updates, still used by the runner
    uint32_t n_retired;
    bool stale;                     // updated since finalize
    atomic_uint n_dumped;           // executions that were written (dump.h)
    qrn_api_profile *bound_profile; // by config, or NULL
    atomic_bool profiling_off;      // SET_PROFILING_STATE
    atomic_uint profiled_runs_left; // SET_PROFILING_NUM_EXECUTIONS; UINT32_MAX = no limit
    bool weight_updates;            // ENABLE_BINARY_SECTION_WEIGHTS_UPDATES
} qrn_graph_own;

// Memory for an object of size_bytes and its own part behind it, all zero; NULL: none. `at` is
// where the address of the own part goes. Freed with the object.
void *qrn_object_alloc(size_t size_bytes, size_t own_bytes, size_t at);
#define QRN_OBJECT_NEW(type, own_type)                                                             \
    (type *)qrn_object_alloc(sizeof(type), sizeof(own_type), offsetof(type, own))

#endif
