// SPDX-License-Identifier: MIT
//
// A QNN library as a front end uses it: opened by path, with one backend, device and context, and
// graphs built node by node. Uses the public API only, so it works with any QNN library. Not
// thread-safe, except that finalized graphs may be executed from several threads.
#ifndef QRN_FRONTEND_CLIENT_CLIENT_H
#define QRN_FRONTEND_CLIENT_CLIENT_H

#include "base/arena.h"
#include "base/status.h"
#include "base/strmap.h"

#include "QnnInterface.h"
#include "System/QnnSystemInterface.h"
#include "System/QnnSystemProfile.h"

#include <stdbool.h>

typedef struct qc_op qc_op;

// How a library computes the floats of a graph.
typedef enum qc_floats { QC_FLOAT32, QC_FLOAT16 } qc_floats;

typedef struct qc_client {
    void *lib;
    QNN_INTERFACE_VER_TYPE qnn;
    const char *provider; // text of the library
    Qnn_ApiVersion_t version;
    uint32_t backend_id;
    bool is_htp;      // or a recorder that stands for one
    qc_floats floats; // by the target of an HTP library, which without a target has float32
    bool is_quern;    // by its build id: Quern's own options may be used
    char path[1024];  // as the loader found it
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_DeviceHandle_t device; // NULL where the library has none
    Qnn_ContextHandle_t context;
    bool trial;                              // qc_trial_begin, and weights are not kept
    void (*node)(void *ctx, const qc_op *o); // see qc_options
    void *node_ctx;
    // (optional) Data formats of application tensors; without it they are dense.
    uint32_t (*format_of)(void *ctx, const char *graph, const char *tensor);
    void *format_ctx;
} qc_client;

// Options; zeroed means defaults.
typedef struct qc_options {
    uint32_t n_threads;    // Quern's own thread option; 0: leave it to the library
    QnnLog_Callback_t log; // NULL: no log handle
    QnnLog_Level_t log_level;
    // The target that an HTP library stands for: a SoC by the API's number or an architecture; 0:
    // none. Other libraries have no targets.
    uint32_t soc, arch;
    uint32_t device_id; // of the architecture
    const QnnContext_Config_t **context_configs;
    const QnnBackend_Config_t **backend_configs; // (optional) further ones, as the next
    const QnnDevice_Config_t **device_configs;
    bool no_context;                         // qc_load makes it
    bool no_backend;                         // the function table is enough
    bool any_version;                        // take a library whose API is older than supported
    uint32_t stands_for;                     // whose options a recorder gets: a backend id, or 0
    void (*node)(void *ctx, const qc_op *o); // (optional) called for every node that was added
    void *node_ctx;
} qc_options;

// "cpu", "htp", "gpu" stand for the library beside this program or in the loader's path; anything
// with a slash or ending in .so is a path. The message names what was tried. n_threads on a library
// that is not Quern's is refused.
qrn_status qc_open(const char *name_or_path, const qc_options *opt, qc_client **out);
void qc_close(qc_client *c); // NULL is fine

// Opens a library by the name of its file: beside this program, or by the loader's own search. NULL
// with dlerror. The path that was found goes to `path`.
void *qc_library_open(const char *file, char *path, size_t size);

// Makes the context from a binary. With PERSISTENT_BINARY among the options the bytes must stay.
// The profile may be NULL.
qrn_status qc_load(qc_client *c, const void *bytes, uint64_t n_bytes,
                   const QnnContext_Config_t **configs, Qnn_ProfileHandle_t profile);

// Graphs that are made until qc_trial_end only show which nodes the library supports: they go to a
// context that is thrown away. Quern's libraries copy no weights into it. `kept` is for the end.
qrn_status qc_trial_begin(qc_client *c, Qnn_ContextHandle_t *kept);
void qc_trial_end(qc_client *c, Qnn_ContextHandle_t kept);

// Fails with the library's own words for `code`: "graphFinalize: error 6022: ...". QRN_E_COMM: the
// accelerator restarted, contexts are lost.
qrn_status qc_check(const qc_client *c, Qnn_ErrorHandle_t code, const char *call);

// --- Graphs

// A tensor of a graph under construction: what the library was given, id included. Lives in the
// graph's arena; dimensions and encodings too.
typedef struct qc_tensor {
    Qnn_Tensor_t t; // V1, RAW
    uint32_t rank;
    uint32_t dims[8];
    uint32_t port;       // of an application tensor: its position among the inputs or outputs
    const float *values; // (optional) of a constant, kept by whoever made it
} qc_tensor;

typedef struct qc_graph {
    qc_client *client;
    qrn_arena *arena;
    Qnn_GraphHandle_t handle;
    const char *name;
    uint32_t n_names;              // for unique names
    uint32_t n_nodes;              // added so far
    qc_tensor **inputs, **outputs; // application tensors in order of creation
    uint32_t n_inputs, n_outputs, cap_inputs, cap_outputs;
    qrn_strmap tensor_names;     // names in use, and their qc_tensor
    qrn_strmap node_names;       // names in use, and the types of the ops
    Qnn_Tensor_t *bound;         // inputs, then outputs, as finalize left them
    Qnn_ProfileHandle_t profile; // (optional) given to finalize and execute
} qc_graph;

qrn_status qc_graph_create(qc_client *c, const char *name, const QnnGraph_Config_t **configs,
                           qc_graph **out);
// A graph of a loaded context, finalized. The description is copied.
qrn_status qc_graph_retrieve(qc_client *c, const QnnSystemContext_GraphInfoV3_t *info,
                             qc_graph **out);
// A graph that others built, by its handle; inputs and outputs are copied. Not finalized.
qrn_status qc_graph_adopt(qc_client *c, const char *name, Qnn_GraphHandle_t handle,
                          const Qnn_Tensor_t *inputs, uint32_t n_inputs,
                          const Qnn_Tensor_t *outputs, uint32_t n_outputs, qc_graph **out);
// A further application tensor of such a graph, before it is finalized.
qrn_status qc_graph_add_port(qc_graph *g, const Qnn_Tensor_t *t, bool is_output);
void qc_graph_destroy(qc_graph *g); // the client's side; the library's graph dies with the context

// Keeps a name that is not taken yet for an output of the application.
qrn_status qc_keep_name(qc_graph *g, const char *name);

// Registers a tensor. `name` is made unique when it is taken; quant may be NULL (none). data with
// bytes: STATIC only, copied by the library during the call.
qrn_status qc_tensor_create(qc_graph *g, const char *name, Qnn_TensorType_t type,
                            Qnn_DataType_t dtype, uint32_t rank, const uint32_t *dims,
                            const Qnn_QuantizeParams_t *quant, const void *data, size_t bytes,
                            qc_tensor **out);

// One op under construction; begin, add operands and parameters, end. A failure is kept and
// returned by qc_op_end, so that callers check once.
#define QC_MAX_OPERANDS 64
#define QC_MAX_PARAMS 16
struct qc_op {
    qc_graph *g;
    const char *name, *type;
    const char *package; // set after qc_op_begin where it is not QNN's own
    // The node of the model that it is made for, and its type there; NULL: none.
    const char *source, *source_type;
    qrn_status status;
    Qnn_Tensor_t in[QC_MAX_OPERANDS], out[QC_MAX_OPERANDS];
    Qnn_Param_t params[QC_MAX_PARAMS];
    uint32_t n_in, n_out, n_params;
};

void qc_op_begin(qc_op *o, qc_graph *g, const char *name, const char *type);
void qc_in(qc_op *o, const qc_tensor *t); // NULL: absent optional operand
void qc_out(qc_op *o, const qc_tensor *t);
void qc_u32(qc_op *o, const char *param, uint32_t v);
void qc_i32(qc_op *o, const char *param, int32_t v);
void qc_f32(qc_op *o, const char *param, float v);
void qc_bool(qc_op *o, const char *param, bool v);
void qc_text(qc_op *o, const char *param, const char *v);
// Tensor parameters; rank 1 unless dims are given (rows x columns).
void qc_u32s(qc_op *o, const char *param, const uint32_t *v, uint32_t n);
void qc_u32s_2d(qc_op *o, const char *param, const uint32_t *v, uint32_t rows, uint32_t columns);
void qc_i32s(qc_op *o, const char *param, const int32_t *v, uint32_t n);
void qc_i32s_2d(qc_op *o, const char *param, const int32_t *v, uint32_t rows, uint32_t columns);
void qc_f32s(qc_op *o, const char *param, const float *v, uint32_t n);
// Asks the library whether it would take the op (backendValidateOpConfig); the op stays open.
qrn_status qc_op_validate(qc_op *o);
// Adds the node.
qrn_status qc_op_end(qc_op *o);

qrn_status qc_graph_finalize(qc_graph *g);
// Buffers in the order of g->inputs and g->outputs; sizes are those of the tensors. May be called
// from several threads unless g->profile is set.
qrn_status qc_graph_execute(qc_graph *g, const void *const *inputs, void *const *outputs);
// The same; rows[i] becomes the first dimension of output i, which some ops find out at execution.
qrn_status qc_graph_execute_rows(qc_graph *g, const void *const *inputs, void *const *outputs,
                                 uint32_t *rows);

// The same; mem[i] (inputs, then outputs) is the registered memory of a buffer, or NULL; `signal`
// may abort it (QRN_E_ABORTED), or is NULL.
qrn_status qc_graph_execute_mem(qc_graph *g, const void *const *inputs, void *const *outputs,
                                const Qnn_MemHandle_t *mem, Qnn_SignalHandle_t signal,
                                uint32_t *rows);

// Bytes of a dense tensor, and the number of its elements.
size_t qc_tensor_bytes(const qc_tensor *t);
size_t qc_tensor_count(const qc_tensor *t);
// Bits of one element of a QNN data type.
unsigned qc_dtype_bits(Qnn_DataType_t dtype);

// The events of a profile handle with those below them, into the arena. `extended`: in the form
// that has room for objects. A recorder has none.
qrn_status qc_profile_events(const qc_client *c, Qnn_ProfileHandle_t profile, bool extended,
                             qrn_arena *arena, QnnSystemProfile_ProfileEventV1_t **out,
                             uint32_t *n);
// Does the library say that it has a capability (QNN_PROPERTY_*)?
bool qc_has(const qc_client *c, QnnProperty_Key_t key);

// --- The System library: what is in a context binary

typedef struct qc_system {
    void *lib;
    QNN_SYSTEM_INTERFACE_VER_TYPE fn;
    const char *provider; // text of the library
    Qnn_Version_t version;
    char path[1024]; // as the loader found it
    Qnn_LogHandle_t log;
    QnnSystemContext_Handle_t reader;
} qc_system;

// Opens libQnnSystem.so beside another library, beside this program or in the loader's path.
// `beside` is the other library's path, or NULL.
qrn_status qc_system_open(const char *beside, qc_system **out);
void qc_system_close(qc_system *s); // NULL is fine
// The description lives as long as `s`. QRN_E_BINARY, with the library's words, for bytes that are
// no context binary.
qrn_status qc_system_describe(qc_system *s, const void *bytes, uint64_t n_bytes,
                              const QnnSystemContext_BinaryInfoV3_t **out);
// QRN_E_BINARY with the library's last words for a code that is not success, else with `words`.
qrn_status qc_system_check(const qc_system *s, Qnn_ErrorHandle_t code, const char *words);
// The largest spill-fill buffer that a graph of a binary needs; 0 where that is not said.
uint64_t qc_spill_bytes(const QnnSystemContext_BinaryInfoV3_t *info);

// --- DLC files: graphs that are not compiled yet

// A file, or its bytes.
typedef struct qc_dlc_source {
    const char *path; // or NULL
    const void *bytes;
    uint64_t n_bytes;
    const QnnGraph_Config_t **configs; // (optional) of every graph, ends with NULL
} qc_dlc_source;

// For questions to the System library; its systemDlcFree ends it.
qrn_status qc_dlc_open(qc_system *s, const qc_dlc_source *from, QnnSystemDlc_Handle_t *out);

// The graphs of a file in a client's context.
typedef struct qc_composed {
    QnnSystemContext_GraphInfo_t *graphs; // version 3
    uint32_t n;
    bool *finalized;
} qc_composed;

// Builds all of them, in a new context where the client has none.
qrn_status qc_compose(qc_client *c, const qc_dlc_source *from, qc_composed *out);
// One of them by name (NULL: the only one), finalized.
qrn_status qc_composed_graph(qc_client *c, qc_composed *d, const char *name, qc_graph **out);
void qc_composed_free(qc_composed *d); // a cleared one is fine

#endif
