// SPDX-License-Identifier: MIT
//
// DLC files behind handles. What a file holds is reached by further handles, its parts, which are
// made when they are asked for and end with the file.
#ifndef QRN_SYSTEM_DLC_H
#define QRN_SYSTEM_DLC_H

#include "base/file.h"
#include "dlc/dlc.h"
#include "system/system.h"

typedef enum qrn_part_kind {
    QRN_PART_RECORD,       // qrn_dlc_record
    QRN_PART_GRAPH,        // QnnSystemDlc_ComposableGraphInfo_t
    QRN_PART_BINARY,       // QnnSystemContext_BinaryInfo_t
    QRN_PART_BINARY_GRAPH, // QnnSystemContext_GraphInfo_t
    QRN_PART_TENSOR,       // Qnn_Tensor_t
    QRN_PART_QUANT         // Qnn_QuantizeParams_t
} qrn_part_kind;

typedef struct qrn_part {
    qrn_part_kind kind;
    struct qrn_system_dlc *owner;
    void *handle;
    const void *what;
    struct qrn_part *next;
} qrn_part;

typedef struct qrn_system_dlc {
    void *handle;
    pthread_mutex_t lock; // of everything below but the open file
    qrn_file file;        // of createFromFile
    void *copy;           // of createFromBinary
    qrn_dlc *dlc;         // NULL: made empty
    qrn_arena *arena;     // descriptions and parts
    qrn_part *parts;
    QnnSystemDlc_ComposableGraphInfo_t *graphs; // once described
    QnnSystemContext_BinaryInfo_t **binaries;   // the same
    uint32_t n_binaries;
    const Qnn_OpMapping_t *mappings; // once read
    uint32_t n_mappings;
    bool mapped;
} qrn_system_dlc;

// The part for something of the file; the caller holds the lock. NULL when out of memory.
qrn_part *qrn_dlc_part(qrn_system_dlc *d, qrn_part_kind kind, const void *what);
// What a handle stands for, pinned until the call ends; NULL when it is none of this kind.
qrn_part *qrn_dlc_pin_part(qrn_part_kind kind, const void *handle);
// An array of handles in the arena for n things of `stride` bytes; the caller holds the lock.
qrn_status qrn_dlc_handles(qrn_system_dlc *d, qrn_part_kind kind, const void *first, size_t stride,
                           uint32_t n, void ***out);

// Ends a call of this component.
Qnn_ErrorHandle_t qrn_dlc_end(qrn_status s);

// Application tensors of a graph in the order of describing: its own, then those of the context
// that its nodes use.
typedef struct qrn_dlc_io {
    const qrn_tensor **in, **out, **updateable;
    uint32_t n_in, n_out, n_updateable;
} qrn_dlc_io;
qrn_status qrn_dlc_graph_io(const qrn_dlc *d, const qrn_dlc_graph *g, qrn_arena *a,
                            qrn_dlc_io *out);

// Descriptions of tensors in one block of malloc: the array and all that it points to.
// `described` are those of the tensors, in their order. NULL when out of memory.
Qnn_Tensor_t *qrn_dlc_flatten(const qrn_tensor *const *tensors, const Qnn_Tensor_t *described,
                              uint32_t n);

// Builds the graphs of a file on a backend.
typedef struct qrn_compose {
    const QnnSystemDlc_GraphConfigInfo_t **configs;
    uint32_t n_configs;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    const QnnInterface_t *interface;
    QnnSystemContext_GraphInfoVersion_t version;
} qrn_compose;
qrn_status qrn_dlc_compose(const qrn_dlc *d, const qrn_compose *how,
                           QnnSystemContext_GraphInfo_t **graphs, uint32_t *n);

#if defined(__x86_64__)
// The struct that lies among the arguments has the length of the caller's headers (dlc_abi.c).
Qnn_ErrorHandle_t qrn_dlc_compose_any(QnnSystemDlc_Handle_t dlcHandle,
                                      const QnnSystemDlc_GraphConfigInfo_t **graphConfigs,
                                      uint32_t numGraphConfigs, Qnn_BackendHandle_t backend,
                                      Qnn_ContextHandle_t context,
                                      QnnSystemContext_GraphInfoVersion_t graphVersion, ...);
#endif

#endif
