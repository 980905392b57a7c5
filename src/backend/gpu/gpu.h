// SPDX-License-Identifier: MIT
//
// The GPU backend's own parts of the objects.
#ifndef QRN_BACKEND_GPU_H
#define QRN_BACKEND_GPU_H

#include "backend/package/package.h"
#include "bind/gpu/plan.h"
#include "bind/gpu/share.h"
#include "bind/gpu/tune.h"
#include "core/services.h"

#include <pthread.h>
#include <stdatomic.h>

// support.c
bool qrn_gpu_host_steps(void); // QUERN_GPU_HOST_STEPS
extern const qrn_support_table qrn_gpu_support;
qrn_status qrn_gpu_op_check(const qrn_api_backend *b, const qrn_api_context *ctx,
                            const qrn_op_call *c);

// Options of a backend (options.c).
typedef struct qrn_gpu_backend_options {
    bool tuning, invalidate_tuning, share_weights, no_kernel_profiling;
    char *tuning_folder; // heap, or NULL
} qrn_gpu_backend_options;

// Performance hints of the contexts that share an OpenCL context.
typedef struct qrn_gpu_hints {
    uint32_t n[3]; // contexts that want HIGH, NORMAL, LOW
    int now;       // what the driver was given
} qrn_gpu_hints;

// Behind qrn_api_backend.impl: the devices of the machine, and an OpenCL context on each that is in
// use, which all QNN contexts share.
typedef struct qrn_gpu_backend {
    qrn_cl_device *devices; // all of this machine; NULL: QUERN_GPU_DEVICE=none
    uint32_t n_devices;
    uint32_t chosen;        // the default one
    qrn_gpu_device **units; // [n_devices] made when first used; changed under the backend's lock
    qrn_gpu_hints *hints;   // [n_devices] of the units, under the same lock
    qrn_gpu_backend_options options;
    atomic_bool said_hybrid; // that FP16 computes as HYBRID
    qrn_packages packages;
    struct qrn_gpu_package_facts *facts; // the device as packages see it
} qrn_gpu_backend;

// Behind qrn_api_device.impl.
typedef struct qrn_gpu_hardware {
    uint32_t index;  // of an OpenCL device
    bool is_default; // no hardware was asked for
} qrn_gpu_hardware;

// A context tensor: one buffer for all graphs.
typedef struct qrn_gpu_shared {
    struct qrn_gpu_shared *next;
    uint32_t tensor_id;
    size_t bytes;
    cl_mem memory;
} qrn_gpu_shared;

typedef struct qrn_gpu_memory qrn_gpu_memory; // registered memory (mem.c)

// Behind qrn_api_context.impl: its queue, on which the graphs run one after the other.
typedef struct qrn_gpu_context {
    qrn_gpu_device device; // its own queue on the shared OpenCL context; info NULL: there is none
    uint32_t unit;         // number of the shared one
    bool foreign;          // the OpenCL context is a client's, to which this one has moved
    bool separate;         // it is this one's own, for its priority
    // Written by the move to a client's OpenCL context; read by what uses plans and the device.
    // Comes before `lock`.
    pthread_rwlock_t binding;
    pthread_mutex_t lock;           // of the queue, the kernels' arguments and the list of buffers
    cl_command_queue profile_queue; // made by the first detailed profile; NULL: none
    atomic_bool lost;               // the device has failed: nothing works any more
    uint8_t perf_hint;              // QnnGpuContext_PerfHint_t
    bool has_hint;                  // and it was counted
    int8_t priority_level;          // 0 HIGH, 1 NORMAL, 2 LOW: what the driver was given
    qrn_cl_store store;             // of built programs
    qrn_gpu_shared *shared;         // context tensors
    qrn_gpu_memory *memories;       // registered memory; guarded by the core
    // Of a context that was loaded: the open binary, and its bytes (`owned`: our copy).
    struct qrn_bin *bin;
    const void *file;
    void *owned;
} qrn_gpu_context;

// Fences that executions of a graph wait for and signal: the client's memory.
typedef struct qrn_gpu_fences {
    const uint32_t *n; // NULL: none
    int32_t *const *fds;
    int32_t *out; // gets a file for each execution; NULL: none
} qrn_gpu_fences;

typedef struct qrn_gpu_recording qrn_gpu_recording; // of commands (record.c)

#define QRN_GPU_NOT_STORED UINT32_MAX

// Pinned memory, mapped for life (transfer.c).
typedef struct qrn_gpu_stage {
    cl_mem memory; // NULL: none
    void *host;
    cl_command_queue queue; // on which it was mapped, kept for unmapping
    bool direct;            // kernels use it: nothing is transferred
} qrn_gpu_stage;

// Behind qrn_api_graph.impl.
typedef struct qrn_gpu_graph {
    uint8_t precision; // qrn_gpu_precision
    bool keep_memory, keep_nodes, no_recording;
    qrn_gpu_fences fences;
    void *user_ops; // instances of ops of packages, newest first (package.c)
    uint32_t how; // what it was compiled with beside the graph; QRN_GPU_NOT_STORED: not to be kept
    // Of a graph that was loaded: the compiled graph of the file until finalize takes it, and what
    // the file has for a device (the open binary's). unchecked: nobody has validated the nodes.
    qrn_compiled *stored;
    uint32_t stored_how;
    const struct qrn_bin_prepared *prepared;
    bool unchecked;
    qrn_gpu_plan *plan;
    cl_mem *io;                   // [n_io] device buffers for tensors that come in host memory
    qrn_gpu_stage *stages;        // [n_io] what they go through
    qrn_gpu_recording *recording; // NULL: commands are not recorded
} qrn_gpu_graph;

// What an execution notes for its profile.
typedef struct qrn_gpu_times {
    uint64_t wait_ns;   // until the context's queue was free
    uint64_t before_ns; // fences and inputs
    uint64_t after_ns;  // from the last launch until everything was back
    uint64_t device_ns; // sum of the kernels
    bool has_kernels;   // they were timed
} qrn_gpu_times;

static inline qrn_gpu_backend *qrn_gpu_backend_of(const qrn_api_backend *b) { return b->impl; }
static inline qrn_gpu_context *qrn_gpu_context_of(const qrn_api_context *c) { return c->impl; }
static inline qrn_gpu_graph *qrn_gpu_graph_of(const qrn_api_graph *g) { return g->impl; }

// device.c
qrn_status qrn_gpu_list_devices(qrn_cl_device **list, uint32_t *n, uint32_t *chosen);
qrn_status qrn_gpu_device_create(qrn_api_device *d);
qrn_status qrn_gpu_device_free(qrn_api_device *d);
qrn_status qrn_gpu_device_platform(qrn_api_device *d, const void *info);
qrn_status qrn_gpu_platform_info(qrn_api_device *d, const void **info);
void qrn_gpu_platform_info_free(const void *info);
// context.c
qrn_status qrn_gpu_context_create(qrn_api_context *c);
qrn_status qrn_gpu_context_free(qrn_api_context *c);
qrn_status qrn_gpu_context_check(const qrn_api_context *c);
// The buffer of a context tensor, which the context keeps; the caller releases its own reference.
qrn_status qrn_gpu_shared_memory(qrn_api_context *c, uint32_t tensor_id, size_t bytes, cl_mem *out);
void qrn_gpu_unit_free(qrn_gpu_device *d); // NULL is fine
// options.c
qrn_status qrn_gpu_backend_config(qrn_api_backend *b, const void *custom);
void qrn_gpu_backend_options_free(qrn_gpu_backend_options *o);
qrn_status qrn_gpu_context_config(qrn_api_context *c, qrn_config_phase phase,
                                  const void *const *custom, size_t n);
qrn_status qrn_gpu_graph_config(qrn_api_graph *g, qrn_config_phase phase, const void *const *custom,
                                size_t n);
void qrn_gpu_log_options(const qrn_api_graph *g);
// finalize.c
qrn_status qrn_gpu_finalize(qrn_api_graph *g, const qrn_finalize_options *opt);
void qrn_gpu_graph_clear(qrn_gpu_graph *g); // frees its plan and buffers
// OpenCL objects of a graph that is bound: made for the context's device, and dropped.
qrn_status qrn_gpu_graph_realize(const qrn_api_graph *g);
void qrn_gpu_graph_unrealize(qrn_gpu_graph *g);
// probe_pinned.c: sets d->direct. Never fails.
void qrn_gpu_probe_pinned(qrn_gpu_device *d);
// transfer.c: pinned memory. False, and *s is cleared: the driver has none.
bool qrn_gpu_pin(cl_context context, cl_command_queue queue, size_t bytes, qrn_gpu_stage *s);
void qrn_gpu_unpin(qrn_gpu_stage *s); // a cleared one is fine
// Pinned memory of a graph that is realized.
qrn_status qrn_gpu_stages_make(const qrn_api_graph *api, qrn_gpu_graph *g);
void qrn_gpu_stages_drop(qrn_gpu_graph *g);
// external.c: does the driver know sync files?
bool qrn_gpu_has_sync_files(const qrn_cl_device *d);
// record.c: room for the recorded commands of a graph that is realized.
qrn_status qrn_gpu_recording_make(qrn_gpu_graph *g);
void qrn_gpu_recording_drop(qrn_gpu_graph *g);
const char *qrn_gpu_recorder_name(const qrn_cl_device *d); // NULL: no device
// mem.c
qrn_status qrn_gpu_mem_map(qrn_api_context *c, qrn_api_mem *m, const void *descriptor);
void qrn_gpu_mem_unmap(qrn_api_mem *m);
qrn_status qrn_gpu_mem_upload(qrn_api_context *c, const qrn_memory *m, size_t offset,
                              const void *src, size_t size_bytes);
qrn_status qrn_gpu_mem_download(qrn_api_context *c, const qrn_memory *m, size_t offset, void *dst,
                                size_t size_bytes);
cl_mem qrn_gpu_memory_buffer(const qrn_memory *m);  // of kind DEVICE
bool qrn_gpu_memory_is_passed(const qrn_memory *m); // imported: the queue has to acquire it
bool qrn_gpu_has_imports(const qrn_gpu_context *c); // memory that is bound to its OpenCL context
// Does registered memory fit an application tensor? Other memory does.
qrn_status qrn_gpu_memory_check(const qrn_api_graph *g, const qrn_cvalue *v, const qrn_memory *m,
                                bool is_output);
// move.c: moves the context, with its graphs, into an OpenCL context on the same device: a
// client's, or one that was made for it alone.
qrn_status qrn_gpu_context_move(qrn_api_context *c, cl_context there, bool foreign);
// hints.c: gives the driver the hints of a context, and the performance hint that is new.
void qrn_gpu_hints_apply(qrn_api_context *c, uint8_t hint);
void qrn_gpu_hints_drop(const qrn_api_context *c); // before the context is freed
// Properties of an OpenCL context: those that the device knows, ended by 0.
void qrn_gpu_hint_properties(const qrn_cl_device *d, int perf, int priority,
                             cl_context_properties out[5]);
// binary.c
qrn_status qrn_gpu_binary_size(qrn_api_context *c, uint64_t *size);
qrn_status qrn_gpu_binary_write(qrn_api_context *c, void *buf, uint64_t size, uint64_t *written);
qrn_status qrn_gpu_binary_load(qrn_api_context *c, const qrn_binary_source *source);
void qrn_gpu_binary_drop(qrn_gpu_context *own);
// Constants of the graph that the binary has in the form that is asked for: qrn_gpu_options.find,
// ctx is the qrn_api_graph.
const void *qrn_gpu_binary_find(void *ctx, const qrn_gpu_form *form, uint64_t bytes);
// Choices of the binary that were measured on this device; they live in the compiled graph's arena.
qrn_status qrn_gpu_binary_choices(const qrn_api_graph *g, qrn_compiled *cg,
                                  const qrn_gpu_choice **list, uint32_t *n);
// Says what of a loaded graph came from the binary.
void qrn_gpu_binary_report(const qrn_api_graph *g);
// package.c
qrn_status qrn_gpu_packages_open(qrn_gpu_backend *own);
void qrn_gpu_packages_close(qrn_gpu_backend *own);
qrn_status qrn_gpu_package_register(qrn_api_backend *b, const char *path, const char *provider,
                                    const char *target, const void *image, size_t size);
// Lowers a node of a package; ctx is the qrn_api_graph.
struct qrn_lowering;
qrn_status qrn_gpu_user_lower(void *ctx, struct qrn_lowering *lo, const qrn_node *n);
// Memory that lives as long as the instances that follow.
qrn_status qrn_gpu_user_arena(qrn_gpu_graph *g, qrn_arena **out);
// Frees the instances that are newer than `keep` (NULL: all).
void qrn_gpu_user_free(qrn_gpu_graph *g, const void *keep);
// package_super.c: the graph with the super nodes of packages: a copy, or the graph itself.
qrn_status qrn_gpu_super_nodes(qrn_api_graph *g, const qrn_graph **out);
// host.c: names the steps of a graph that run on the CPU.
void qrn_gpu_report_host(const qrn_api_graph *g);
// profile.c
void qrn_gpu_record(struct qrn_api_profile *p, const qrn_call_record *r);
// execute.c
qrn_status qrn_gpu_execute(qrn_api_graph *g, qrn_binding *io, const qrn_run_options *opt);
// What a failing OpenCL call means for a context: QRN_E_COMM and a lost context, or QRN_E_SYSTEM.
qrn_status qrn_gpu_failure(qrn_gpu_context *c, cl_int err);

#endif
