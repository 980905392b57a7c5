// SPDX-License-Identifier: MIT
//
// The objects behind the public handles, as everybody sees them. Backends read these fields, and
// write where it says so; what belongs to src/core and src/api alone is behind `own` (own.h).
// `impl` is the backend's part: made by its create function, freed by its free function.
#ifndef QRN_CORE_OBJECTS_H
#define QRN_CORE_OBJECTS_H

#include "base/pool.h"
#include "core/backend.h"
#include "core/log.h"
#include "ir/graph.h"
#include "runtime/exec.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct qrn_api_backend {
    void *handle;
    qrn_api_log *log; // or NULL
    qrn_pool *pool;   // acquired by the first finalize (host.h)
    void *impl;
    struct qrn_backend_own *own;
} qrn_api_backend;

typedef struct qrn_api_device {
    void *handle;
    qrn_api_log *log; // or NULL
    void *impl;
    struct qrn_device_own *own;
} qrn_api_device;

typedef struct qrn_api_context {
    void *handle;
    qrn_api_backend *backend;
    qrn_api_device *device; // NULL: default
    bool from_binary;       // graphs came from a binary and cannot be changed
    bool is_trial;          // no large weights are kept: nothing can be finalized
    uint32_t list;          // number of the list of binaries it was made with; 0: none
    // Options.
    atomic_int priority;      // default of its graphs; set at any time
    uint64_t memory_limit_mb; // hint, 0 = none
    bool strict_binary;       // a binary that is not optimal is refused
    bool persistent_binary;   // the client keeps the binary until free; binary_validate may set it
    bool defer_graphs;        // graphs of a binary are made when first asked for
    char **enable_graphs; // NULL-terminated copy in one block, NULL = all; binary_load may drop it
    char **retention_order; // GRAPH_RETENTION_ORDER, the same form, NULL = none
    void *impl;
    struct qrn_context_own *own;
} qrn_api_context;

// An application tensor of a finalized graph.
typedef struct qrn_api_io {
    const qrn_tensor *tensor;
    bool is_output;
    bool may_lack; // may be left out of a call
} qrn_api_io;

typedef struct qrn_api_graph {
    void *handle;
    qrn_api_context *context;
    qrn_graph *ir;      // its arena holds nodes, names and tensors
    qrn_runner *runner; // made by graph_finalize, or NULL; backends may drop it and make it again
    qrn_compiled *compiled; // what the runner runs; lives as long as it
    qrn_api_io *io;         // after finalize: application tensors in binding order
    uint32_t n_io;
    uint32_t n_plan_nodes; // nodes that executions count
    bool plan_dynamic;     // shapes of outputs come out of the execution
    bool keeps_data;       // set by the backend: finalize does not release constants
    bool disabled;         // left out by ENABLE_GRAPHS
    atomic_int priority;   // set at any time, also while it runs; binary_load sets it
    void *impl;
    struct qrn_graph_own *own;
} qrn_api_graph;

typedef struct qrn_api_mem {
    void *handle;
    uint32_t index; // in the context's list
    qrn_api_context *context;
    qrn_memory memory; // set by mem_map
    size_t size_bytes;
    qrn_dtype dtype;
    qrn_shape shape;
    uint32_t type; // Qnn_MemType_t
    int fd;        // ION, DMA_BUF; -1 for others
    void *impl;
} qrn_api_mem;

#endif
