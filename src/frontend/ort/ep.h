// SPDX-License-Identifier: MIT
//
// The execution provider: a factory per registration, an instance per session. A session opens its
// backend library when it is created, so that a library that cannot be used fails the session and
// nothing falls back in silence.
//
// The graph is taken as onnxruntime has it, channels first: the importer chooses layouts itself, so
// the host's layout pass has no part in it and models of any opset are treated alike.
#ifndef QRN_FRONTEND_ORT_EP_H
#define QRN_FRONTEND_ORT_EP_H

#include "frontend/client/client.h"
#include "frontend/onnx/partition/plan.h"
#include "frontend/ort/options.h"
#include "frontend/ort/read.h"

#include "HTP/QnnHtpDevice.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct qe_factory {
    OrtEpFactory base;                    // first: the host has its address
    char *name;                           // as registered
    OrtHardwareDevice *made[ORT_NPU + 1]; // by type; the host refers to them until the end
    OrtMemoryInfo *shared;                // memory that the HTP shares
    struct qe_custom_ops *ops;            // that are registered with the host
} qe_factory;

typedef struct qe_ep {
    OrtEp base; // first
    qe_factory *factory;
    const OrtLogger *log;
    qrn_arena *arena;
    qe_options opt;
    qe_backend backend;
    qc_client *client;
    bool shares;                // the client is the pool's
    const char *refused;        // strict: why the session must fail; else NULL
    const ox_package *packages; // ops of registered packages
    uint32_t n_packages;
    qrn_strmap noted;             // what qe_note reported
    struct qe_loaded *loaded;     // binaries of a context model
    struct qe_trace *trace;       // what became of the nodes; NULL: not asked for
    struct qe_affinity *affinity; // which nodes are left to others; NULL: none by request
    struct qe_watch *watch;       // of runs that may be ended; NULL: none may
    struct qe_timeline *timeline; // of the host's profiles
    unsigned n_dumped;            // graphs of the host
    uint64_t choosing_us;         // time of GetCapability, all calls
    const ox_tensor *frozen;      // defaults of inputs that are compiled as constants
    uint32_t n_frozen;
    pthread_mutex_t compiling; // held by a run that compiles; before profile.lock and the pool's
    const char *compat;        // what the context model that was written needs; NULL: none was
    struct {
        QnnHtpDevice_PerfInfrastructure_t perf;
        uint32_t id;        // of the session's votes; 0: no votes
        atomic_int dynamic; // mode for the next run; 0: none
    } power;
    struct {
        Qnn_ProfileHandle_t handle; // NULL: not profiled
        qc_system *system;
        bool extended;
        pthread_mutex_t lock; // held by a run that is profiled
    } profile;
} qe_ep;

// ep.c
qrn_status qe_ep_create(qe_factory *f, const OrtHardwareDevice *const *devices, size_t n_devices,
                        const OrtSessionOptions *options, const OrtLogger *log, qe_ep **out);
void qe_ep_free(qe_ep *ep); // NULL is fine

// backend.c
extern const char *const qe_backend_names[QE_BACKENDS]; // "CPU"
// The backend library of a kind beside the plugin; its bare name when it is not there.
void qe_library_path(qe_backend kind, char *out, size_t size);
bool qe_library_there(qe_backend kind);
qrn_status qe_backend_open(qe_ep *ep);
qrn_status qe_packages_register(qe_ep *ep); // packages.c: fills ep->packages

// configs.c: options of graphs and contexts; the lists live as long as their room.
#define QE_MAX_CONFIGS 10
typedef struct qe_graph_room {
    QnnGraph_Config_t configs[QE_MAX_CONFIGS];
    const QnnGraph_Config_t *list[QE_MAX_CONFIGS + 1];
    _Alignas(16) unsigned char values[QE_MAX_CONFIGS][64];
    char path[PATH_MAX];
} qe_graph_room;
// `graph` is its name, by which a DLC file is called.
const QnnGraph_Config_t **qe_graph_configs(const qe_ep *ep, const char *graph, qe_graph_room *room);

typedef struct qe_context_room {
    QnnContext_Config_t configs[QE_MAX_CONFIGS];
    const QnnContext_Config_t *list[QE_MAX_CONFIGS + 1];
    _Alignas(16) unsigned char values[QE_MAX_CONFIGS][64];
    size_t n;
} qe_context_room;
typedef enum qe_phase {
    QE_CREATE, // a context for graphs to come
    QE_LOAD,   // one from a binary
    QE_LIST    // several from binaries, which share what they can
} qe_phase;
void qe_context_configs(const qe_ep *ep, bool htp, qe_phase phase, qe_context_room *room);
void qe_context_add(qe_context_room *room, const QnnContext_Config_t *config);
// One spill-fill buffer for all: `first` is NULL for the first context.
void qe_context_join(qe_context_room *room, Qnn_ContextHandle_t first, uint64_t spill_bytes);

// Which lines of the library become VERBOSE ones, for this thread.
typedef enum qe_hush { QE_HUSH_NOTHING, QE_HUSH_ERRORS, QE_HUSH_ALL } qe_hush;
void qe_hush_library(qe_hush what);
// Asks the library for a graph with these options, so that a refusal fails the session.
qrn_status qe_check_graph_options(qe_ep *ep);
// Calls fn with a context that goes away with everything in it.
qrn_status qe_in_scratch(qe_ep *ep, qrn_status (*fn)(qe_ep *, void *), void *arg);
Qnn_Priority_t qe_priority(const qe_ep *ep); // that the session asked for

qrn_status qe_client_open(qe_ep *ep, const char *path); // a library with the options of `ep`

// share.c: sessions that share contexts
qrn_status qe_share_join(qe_ep *ep, const char *path); // opens the library, or takes the shared one
void qe_share_leave(qe_ep *ep);
void qe_share_lock(const qe_ep *ep); // around every use of the client; nothing for other sessions
void qe_share_unlock(const qe_ep *ep);
// With the lock held: binaries that were loaded; the path of the binary that is being made, `name`
// when there is none yet; no session joins any more.
struct qe_loaded **qe_share_loaded(void);
qrn_status qe_share_binary(const char *name, const char **out);
void qe_share_stop(void);
void qe_share_end(void); // when the library goes

// power.c
qrn_status qe_power_start(qe_ep *ep);
// Votes for a mode (index into qe_performance_modes; 0: none) and a latency of calls (0: none).
qrn_status qe_power_vote(const qe_ep *ep, int mode, uint32_t rpc_latency_us);
void qe_power_end(qe_ep *ep);

// profile.c
qrn_status qe_profile_start(qe_ep *ep);
// Writes what the handle holds of a call; nothing when the session is not profiled.
qrn_status qe_profile_take(qe_ep *ep, QnnSystemProfile_MethodType_t method, const char *graph,
                           uint64_t start_us);
void qe_profile_end(qe_ep *ep);
uint64_t qe_now_us(void);
uint64_t qe_now_ns(void);

// reload.c: compiles once, then works with what was loaded (enable_htp_prepare_and_load)
qrn_status qe_reload(qe_ep *ep, OrtNodeComputeInfo *const *parts, size_t n);

// compat.c: callbacks
const char *qe_compat_info(OrtEp *ep, const OrtGraph *graph);
OrtStatus *qe_compat_check(OrtEpFactory *f, const OrtHardwareDevice *const *devices, size_t n,
                           const char *info, OrtCompiledModelCompatibility *out);
OrtStatus *qe_device_check(OrtEpFactory *f, const OrtHardwareDevice *device,
                           OrtDeviceEpIncompatibilityDetails *details);

// control.c: callbacks
OrtStatus *qe_on_run_start(OrtEp *ep, const OrtRunOptions *o);
OrtStatus *qe_on_run_end(OrtEp *ep, const OrtRunOptions *o, bool sync);
OrtStatus *qe_set_dynamic(OrtEp *ep, const char *const *keys, const char *const *values, size_t n);

// partition.c
qrn_status qe_plan_make(qe_ep *ep, const qe_graph *g, ox_plan *out);

// part.c
// An ox_options.note: one WARNING for each op type and note of a session.
void qe_note(void *ep, const ox_node *n, const char *what, const char *why);
// A compiled group: one QNN graph and how its borders map to those of the fused node.
typedef struct qe_part qe_part;
// `name` of the graph; NULL: the fused node's.
qrn_status qe_part_compile(qe_ep *ep, const qe_graph *g, const ox_node *fused, const char *name,
                           qe_part **out);
// The same from a graph of the client's context.
qrn_status qe_part_load(qe_ep *ep, const qe_graph *g, const ox_node *fused,
                        const QnnSystemContext_GraphInfoV3_t *info, qe_part **out);
// Takes the same graph of another context, into which the client's context was loaded.
qrn_status qe_part_reload(OrtNodeComputeInfo *info, const QnnSystemContext_BinaryInfoV3_t *binary);
OrtNodeComputeInfo *qe_part_info(qe_part *p);
const char *qe_part_name(const OrtNodeComputeInfo *info); // of the QNN graph
void qe_part_free(OrtNodeComputeInfo *info);              // NULL is fine

// context_write.c
// The EPContext nodes for compiled partitions, of which `fused` describes the borders.
// The binary of the client's context; the bytes are the caller's to free.
qrn_status qe_take_binary(const qc_client *c, void **bytes, uint64_t *n);
qrn_status qe_context_write(qe_ep *ep, const char *model_path, const ox_node *fused,
                            OrtNodeComputeInfo *const *parts, size_t n, OrtNode **out);

// context_read.c
bool qe_is_context(const qe_ep *ep, const ox_node *n); // an EPContext node for this provider
// Partitions from EPContext nodes, one a graph.
qrn_status qe_context_read(qe_ep *ep, const qe_graph *graphs, const ox_node *fused, size_t n,
                           OrtNodeComputeInfo **out);
// Contexts that a session loaded (with the lock held); NULL behind the last one.
Qnn_ContextHandle_t qe_context_at(const qe_ep *ep, uint32_t i);
void qe_loaded_free(const qc_client *c, struct qe_loaded *list); // contexts and files

#endif
