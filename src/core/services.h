// SPDX-License-Identifier: MIT
//
// What a backend may ask. A backend fills the table of core/backend.h, reads the fields that
// core/objects.h documents, keeps its own part behind `impl`, and calls these functions; with
// core/host.h, for backends that compute on this machine's CPU, that is all it sees of the layers
// above it. Functions that need a lock take it themselves.
#ifndef QRN_CORE_SERVICES_H
#define QRN_CORE_SERVICES_H

#include "core/backend.h"
#include "core/clock.h"
#include "core/describe_tensor.h"
#include "core/errors.h"
#include "core/kind.h"
#include "core/log.h"
#include "core/objects.h"
#include "core/version.h"

#include "QnnInterface.h"

// --- Backends

// Runs f(arg) while no other thread is in such a function of this backend: for what a backend keeps
// behind b->impl and several threads use. f asks for nothing of this header.
void qrn_backend_exclusively(const qrn_api_backend *b, void (*f)(void *arg), void *arg);
// Nothing is dumped, whatever QUERN_DUMP says: for a backend that computes no tensors.
void qrn_dump_disable(qrn_api_backend *b);

// --- Contexts

// The graphs of a context, oldest first, for calls that nobody adds graphs or ends the context
// beside: those with the context itself, and those with a graph of a context from a binary. NULL
// behind the last.
uint32_t qrn_context_n_graphs(const qrn_api_context *c);
qrn_api_graph *qrn_context_graph(const qrn_api_context *c, uint32_t i);
// For all other calls: visits each graph while none comes or goes, and ends with the first failure.
// `visit` asks for nothing of this header.
qrn_status qrn_context_each_graph(const qrn_api_context *c,
                                  qrn_status (*visit)(void *arg, const qrn_api_graph *g),
                                  void *arg);
// Takes all graphs out, which nobody has seen: loading has failed.
void qrn_context_discard_graphs(qrn_api_context *c);

// The tensor with an id, of any graph or of the context; NULL when there is none.
qrn_tensor *qrn_context_tensor(const qrn_api_context *c, uint32_t id);
uint32_t qrn_context_max_id(const qrn_api_context *c); // of its tensors

// The context's copy of constant data, with one more user: equal bytes are stored once. NULL when
// out of memory.
const void *qrn_context_add_data(qrn_api_context *c, const void *data, size_t size_bytes);
// One user less; the last one frees it. NULL is fine.
void qrn_context_drop_data(qrn_api_context *c, const void *data);

// If `data` is a binary that was copied until its graphs were asked for: the copy becomes the
// caller's. False: it is something else.
bool qrn_context_take_binary(qrn_api_context *c, const void *data);
// Ends all memory handles, for a context_free that frees what they need.
void qrn_mem_free_all(qrn_api_context *c);

// --- Graphs, by backends that load binaries or record

// A new, empty graph of a context, with its handle; parent is NULL unless it is a subgraph. Fails
// with QRN_E_NAME when the context has one of that name.
qrn_status qrn_api_graph_new(qrn_api_context *c, qrn_api_graph *parent, const char *name,
                             qrn_api_graph **graph);
// By name; NULL when there is none.
qrn_api_graph *qrn_api_graph_find(qrn_api_context *c, const char *name);

// Enters a tensor (in an arena that lives as long as the context) into the context's table and,
// unless g is NULL, into the graph; gives it an id when it has none.
qrn_status qrn_tensor_add(qrn_api_context *c, qrn_api_graph *g, qrn_tensor *t);
// A tensor of the graph itself; NULL when there is none of that name.
qrn_tensor *qrn_api_graph_tensor(const qrn_api_graph *g, const char *name);
// Does the update keep everything that compiled graphs rely on (role, type, shape, kind of
// encoding)?
bool qrn_tensor_same_form(const qrn_tensor *a, const qrn_tensor *b);

// Checks a node that is built: op table, shape rule, what the backend supports. c: of the node's
// graph, NULL for an op that is validated by itself. `op_config` (a Qnn_OpConfig_t) is for the
// check of a user package; NULL skips that one.
qrn_status qrn_node_check(qrn_api_backend *b, const qrn_api_context *c, const qrn_node *n,
                          const void *op_config);
// Is it a priority of the API, and one that the backend has?
qrn_status qrn_priority_check(int priority);

// Finalizes a graph that is built. A failure leaves it as it was.
qrn_status qrn_api_graph_complete(qrn_api_graph *g, const qrn_finalize_options *opt);
// The same once more, for a finalized graph whose tensors the backend has changed.
qrn_status qrn_api_graph_complete_again(qrn_api_graph *g, const qrn_finalize_options *opt);

// --- Profiles, by the table's `record`

typedef struct qrn_api_profile qrn_api_profile;

#define QRN_PROFILE_TOP UINT32_MAX        // parent of top-level events
#define QRN_PROFILE_NONE (UINT32_MAX - 1) // event that was not taken

// Adds an event below `parent`; identifier is copied, NULL counts as "". Returns its index, or
// QRN_PROFILE_NONE when the profile is full or memory is short (the call itself goes on); children
// of QRN_PROFILE_NONE are not taken either.
uint32_t qrn_profile_add(qrn_api_profile *p, uint32_t parent, uint32_t type, uint32_t unit,
                         uint64_t value, const char *identifier);
// Adds an event that is a block of bytes (copied); file_name may be NULL.
uint32_t qrn_profile_add_object(qrn_api_profile *p, uint32_t parent, uint32_t type,
                                const void *data, uint32_t size_bytes, const char *file_name,
                                const char *identifier);
uint32_t qrn_profile_level(const qrn_api_profile *p); // QnnProfile_Level_t, or one of the backend
bool qrn_profile_traces_ops(const qrn_api_profile *p);
qrn_api_log *qrn_profile_log(const qrn_api_profile *p);
// Is it the first time that the backend asks this of the profile?
bool qrn_profile_first(qrn_api_profile *p);

#endif
