// SPDX-License-Identifier: MIT
//
// What a backend is to the layers that call it: facts, tables and the few functions in which
// backends differ. The API layer owns the entry points and argument checks, src/core the objects
// and the generic graph life; a missing (NULL) function means "not supported" and the API returns
// the documented code for that. Each backend library defines exactly one `qrn_this_backend`.
#ifndef QRN_CORE_BACKEND_H
#define QRN_CORE_BACKEND_H

#include "compiler/compiled.h"
#include "ir/graph.h"
#include "ir/support.h"
#include "runtime/exec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qrn_api_backend; // objects (core/objects.h)
struct qrn_api_device;
struct qrn_api_context;
struct qrn_api_graph;
struct qrn_api_mem;
struct qrn_api_log;

// Optional features of a backend; the API rejects what is not set.
typedef enum qrn_feature {
    QRN_FEATURE_DEVICE = 1u << 0, // device handles
    QRN_FEATURE_CONTEXT_TENSORS = 1u << 1,
    QRN_FEATURE_DYNAMIC_DIMS = 1u << 2,
    QRN_FEATURE_SPARSE = 1u << 3,
    QRN_FEATURE_SUBGRAPH = 1u << 4,
    QRN_FEATURE_ASYNC = 1u << 5,
    QRN_FEATURE_SIGNAL = 1u << 6,
    QRN_FEATURE_MEM = 1u << 7,
    QRN_FEATURE_UPDATEABLE = 1u << 8, // updateable tensors
    QRN_FEATURE_GRAPH_CONFIG = 1u << 9,
    QRN_FEATURE_CONTEXT_CONFIG = 1u << 10, // setConfig after creation
    QRN_FEATURE_PRIORITY = 1u << 11,
    QRN_FEATURE_CONTINUOUS_PROFILING = 1u << 12,
    QRN_FEATURE_EXEC_ENVIRONMENT = 1u << 13,
    QRN_FEATURE_GRAPH_VALIDATE = 1u << 14,
    QRN_FEATURE_PROFILE_CONFIG = 1u << 15,
    QRN_FEATURE_PROFILE_EXTENDED = 1u << 16,
    QRN_FEATURE_OP_PACKAGE = 1u << 17,
    QRN_FEATURE_BATCH = 1u << 18,   // execute accepts multiples of the prepared batch
    QRN_FEATURE_OPTRACE = 1u << 19, // profiles may trace ops
    // Context tensors that are read and written have memory of the backend: a call may leave them
    // out.
    QRN_FEATURE_CONTEXT_MEMORY = 1u << 20,
    QRN_FEATURE_NATIVE_KV = 1u << 21 // application tensors in the layout of native KV caches
} qrn_feature;

// When a list of options arrives.
typedef enum qrn_config_phase {
    QRN_CONFIG_CREATE,   // a new object
    QRN_CONFIG_BINARY,   // a new context from a binary
    QRN_CONFIG_MEMBER,   // a new context of a list of binaries: its own options
    QRN_CONFIG_GROUP,    // the same: options of the whole list; comes after MEMBER
    QRN_CONFIG_SET,      // setConfig
    QRN_CONFIG_SET_FINAL // setConfig of a graph that is finalized
} qrn_config_phase;

typedef struct qrn_capability {
    uint32_t key; // property key
    bool supported;
} qrn_capability;

// What a finished call reports to its profile. Times are measured.
typedef enum qrn_record_kind {
    QRN_RECORD_INIT, // a context from a binary
    QRN_RECORD_FINALIZE,
    QRN_RECORD_EXECUTE,
    QRN_RECORD_DEINIT, // of a context, which is gone
    QRN_RECORD_APPLY,  // of a binary section
    QRN_RECORD_UPDATE  // of a binary section, without a context
} qrn_record_kind;

// Parts of editing a section.
typedef struct qrn_update_times {
    uint64_t read_ns, edit_ns, write_ns, free_ns;
} qrn_update_times;

// New values for a tensor of a section.
typedef struct qrn_tensor_edit {
    qrn_tensor tensor; // name, or "" and the id; its form, and the new encoding
    const void *data;  // new bytes, or NULL
    uint64_t data_bytes;
} qrn_tensor_edit;

typedef struct qrn_call_record {
    qrn_record_kind kind;
    struct qrn_api_context *context; // INIT, FINALIZE, EXECUTE, APPLY
    struct qrn_api_graph *graph;     // FINALIZE, EXECUTE; APPLY of one graph
    uint64_t total_ns;               // the call
    uint64_t backend_ns;             // the part of it inside the backend
    bool again;                      // FINALIZE: not for the first time
    bool has_heap;                   // DEINIT: noted by context_ending:
    uint64_t heap_bytes;             // in use on the device without the context
    qrn_update_times update;         // UPDATE
    // EXECUTE.
    uint64_t queue_ns;               // executeAsync: in the queue; before the call's total
    const qrn_node_time *node_times; // detailed profiles, else NULL
    uint32_t n_nodes;
    const void *report; // what graph_execute noted, or NULL
} qrn_call_record;

struct qrn_api_profile;

// A binary that is to be loaded.
typedef struct qrn_binary_source {
    const void *data;
    uint64_t size_bytes;
    // (optional) The client brings the weights itself: asks it for a part of the binary, which
    // stays until the context has ended.
    qrn_status (*provide)(void *provider, uint64_t offset, uint64_t size, const void **data);
    void *provider;
    bool raw;   // in ordinary memory, else in DMA buffers
    bool stays; // until the context has ended, else until the call ends
    // (optional) Asked now and then; a status other than OK ends loading with it.
    qrn_status (*poll)(void *ctx);
    void *poll_ctx;
} qrn_binary_source;

// What a finalize may do. For graphs from files, whose shapes may be anything, memory is limited.
typedef struct qrn_finalize_options {
    size_t most_bytes; // of constants and state that may be made; 0: no limit
    // (optional) Asked now and then; a status other than OK ends finalizing with it.
    qrn_status (*poll)(void *ctx);
    void *poll_ctx;
} qrn_finalize_options;

typedef struct qrn_backend {
    const char *provider_name;                            // "CPU_QTI_AISW"
    uint32_t id;                                          // backend id of the public API
    uint32_t version_major, version_minor, version_patch; // backend API version announced
    uint32_t features;                                    // qrn_feature bits
    const qrn_capability *capabilities;                   // every key this backend knows
    size_t n_capabilities;
    const qrn_support_table *support; // ops and types
    // Longest queue of executeAsync, which then is settled when a context is made; 0: a limit that
    // nobody meets, and the option may come later.
    uint32_t max_queue_depth;
    bool fail_when_full; // executeAsync fails when its queue is full; else it waits
    bool backend_fixed;  // options of a backend do not change after its creation

    // Custom configs: `custom` is the pointer a client put behind option CUSTOM. NULL function: any
    // custom config is rejected. Unknown custom options: one warning, then ignored.
    qrn_status (*backend_config)(struct qrn_api_backend *b, const void *custom);
    qrn_status (*device_config)(struct qrn_api_device *d, const void *custom);
    // All n custom options of one list, also when there are none: the object has the list's other
    // options already (a failure takes them back), so that combinations can be judged.
    qrn_status (*context_config)(struct qrn_api_context *c, qrn_config_phase phase,
                                 const void *const *custom, size_t n);
    qrn_status (*graph_config)(struct qrn_api_graph *g, qrn_config_phase phase,
                               const void *const *custom, size_t n);

    // Restricts a device to the hardware that a QnnDevice_PlatformInfo_t names. NULL: not
    // supported.
    qrn_status (*device_platform)(struct qrn_api_device *d, const void *info);
    // (optional) Ends a list of device options, whose entries may depend on each other. After an
    // entry that failed, list_is_good is false and the device must be what it was before the list.
    qrn_status (*device_settle)(struct qrn_api_device *d, bool list_is_good);

    // Tells of a new log handle or a changed level (op packages have their own log level).
    // Optional.
    qrn_status (*log_level)(struct qrn_api_log *log, int level);

    // Life of the backend's own part (object->impl). All optional; free is called for what was
    // created. create comes before the config functions of the object, which must change nothing
    // when they fail.
    qrn_status (*backend_create)(struct qrn_api_backend *b);
    qrn_status (*backend_free)(struct qrn_api_backend *b);
    qrn_status (*device_create)(struct qrn_api_device *d);
    qrn_status (*device_free)(struct qrn_api_device *d);
    qrn_status (*context_create)(struct qrn_api_context *c);
    // Comes before graph_free of the context's graphs; when it fails, the context lives on.
    qrn_status (*context_free)(struct qrn_api_context *c);
    // (optional) Can the context still be used? Asked by the calls that use it or what belongs to
    // it, but not by those that free.
    qrn_status (*context_check)(const struct qrn_api_context *c);
    // (optional) Before context_free: notes what a profile is to report of a context that is gone.
    void (*context_ending)(const struct qrn_api_context *c, qrn_call_record *r);
    qrn_status (*graph_create)(struct qrn_api_graph *g);
    void (*graph_free)(struct qrn_api_graph *g);

    // Op packages: registers the ops of `path` (provider function `provider`); image/size instead
    // of a path for a package that is already in memory.
    qrn_status (*package_register)(struct qrn_api_backend *b, const char *path,
                                   const char *provider, const char *target, const void *image,
                                   size_t size);
    // The op of a registered package; NULL when unknown. Validate calls the package's own check.
    void *(*package_find)(struct qrn_api_backend *b, const char *package, const char *op);
    qrn_status (*package_validate)(struct qrn_api_backend *b, void *user_op, const void *op_config);
    // Lists ops of registered packages for getSupportedOperations: i-th op or false.
    bool (*package_list)(struct qrn_api_backend *b, size_t i, const char **package, const char **op,
                         const char **target);

    // (optional) Rejects ops that the support table accepts: limits that depend on the device or
    // are more than types. c is NULL for an op that is validated by itself. Called after the tables
    // were content, by validation, addNode and loading alike.
    qrn_status (*op_check)(const struct qrn_api_backend *b, const struct qrn_api_context *c,
                           const qrn_op_call *call);

    // Builds the executable form of a validated graph: g->compiled, which says what its application
    // tensors, nodes and values are, and beside it g->runner (a plan for this CPU) or g->impl. A
    // backend that compiles nothing leaves all of them NULL.
    qrn_status (*graph_finalize)(struct qrn_api_graph *g, const qrn_finalize_options *opt);
    // (optional) Brackets an execution and all that follows from it: enter may refuse, and the
    // executable form need only be there between the two.
    qrn_status (*graph_enter)(struct qrn_api_graph *g);
    void (*graph_leave)(struct qrn_api_graph *g);
    // Runs it: bindings in the order of the plan's io.
    qrn_status (*graph_execute)(struct qrn_api_graph *g, qrn_binding *io,
                                const qrn_run_options *opt);

    // (optional) Adds the events of a call to a profile. NULL: the events that every backend has.
    void (*record)(struct qrn_api_profile *p, const qrn_call_record *r);
    size_t report_bytes; // of qrn_run_options.report in profiled executions; 0: report is NULL
    // (optional) May a profile have this level, other than BASIC and DETAILED?
    bool (*profile_level)(uint32_t level);

    // Memory: maps a registered descriptor (a Qnn_MemDescriptor_t): sets m->memory. Calls of one
    // context come one at a time. Memory of kind DEVICE is read and written by mem_download and
    // mem_upload alone, from byte `offset` on; backends whose memory has addresses here leave both
    // out.
    qrn_status (*mem_map)(struct qrn_api_context *c, struct qrn_api_mem *m, const void *descriptor);
    void (*mem_unmap)(struct qrn_api_mem *m);
    qrn_status (*mem_upload)(struct qrn_api_context *c, const qrn_memory *m, size_t offset,
                             const void *src, size_t size_bytes);
    qrn_status (*mem_download)(struct qrn_api_context *c, const qrn_memory *m, size_t offset,
                               void *dst, size_t size_bytes);

    // Context binaries. size/write serialise all graphs; load makes the graphs of a new context.
    qrn_status (*binary_size)(struct qrn_api_context *c, uint64_t *size);
    qrn_status (*binary_write)(struct qrn_api_context *c, void *buf, uint64_t size,
                               uint64_t *written);
    qrn_status (*binary_load)(struct qrn_api_context *c, const qrn_binary_source *source);
    // Would the binary load into the context, which is new and configured? May make its graphs to
    // find out; with deferred graphs it reports what can be known without them.
    qrn_status (*binary_validate)(struct qrn_api_context *c, const void *buf, uint64_t size);
    qrn_status (*section_size)(struct qrn_api_context *c, struct qrn_api_graph *g, uint32_t section,
                               uint64_t *size);
    qrn_status (*section_write)(struct qrn_api_context *c, struct qrn_api_graph *g,
                                uint32_t section, void *buf, uint64_t size, uint64_t *written);
    qrn_status (*section_apply)(struct qrn_api_context *c, struct qrn_api_graph *g,
                                uint32_t section, const void *buf, uint64_t size);

    // Edits a section blob without a context; *out is made with qrn_alloc and becomes the caller's.
    // Its parts are timed. Arrays of the edits stay until the call ends.
    qrn_status (*section_update)(const void *buf, uint64_t size, const qrn_tensor_edit *edits,
                                 uint64_t n, bool keep_updatable, void **out, uint64_t *out_size,
                                 qrn_update_times *times);

    // Properties: `property` is the public QnnX_Property_t.
    qrn_status (*backend_property)(struct qrn_api_backend *b, void *property);
    qrn_status (*context_property)(struct qrn_api_context *c, void *property);
    qrn_status (*graph_property)(struct qrn_api_graph *g, void *property);

    // Device facts: platform info (of what is there when d is NULL) and infrastructure pointers of
    // the public API. *info is NULL, or what d had before: that lives until the new one is freed.
    qrn_status (*platform_info)(struct qrn_api_device *d, const void **info);
    void (*platform_info_free)(const void *info);
    qrn_status (*infrastructure)(const void **infra);

    // (optional) For a library that stands between clients and the core: changes the function table
    // (a QNN_INTERFACE_VER_TYPE) once, before a client has seen it.
    void (*interface_table)(void *table);

    // Process-wide option (global config); custom part of the backend.
    qrn_status (*global_config)(const void *config);
} qrn_backend;

extern const qrn_backend qrn_this_backend;

#endif
