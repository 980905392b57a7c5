// SPDX-License-Identifier: MIT
//
// Nodes and tensors of graphs in context binaries: from a graph to records, and back.
#ifndef QRN_BINARY_NODES_H
#define QRN_BINARY_NODES_H

#include "binary/binary.h"

// Lists the nodes of a graph, in the arena. Fails with QRN_E_UNSUPPORTED for an op of a user
// package.
qrn_status qrn_bin_list_nodes(qrn_arena *arena, const qrn_graph *g, qrn_bin_graph *out);
// Lists copies of the tensors of a graph; `drop`(optional): whose data is not stored.
qrn_status qrn_bin_list_tensors(qrn_arena *arena, const qrn_graph *g,
                                bool (*drop)(const void *ctx, const qrn_tensor *t), const void *ctx,
                                qrn_bin_graph *out);

// Adds the nodes of a record to a graph; `find` gives the tensor with an id, or NULL. `package` is
// the one whose ops this library has. Nothing is validated but names. Fails with QRN_E_BINARY.
typedef struct qrn_bin_tensors {
    qrn_tensor *(*find)(const void *ctx, uint32_t id);
    const void *ctx;
} qrn_bin_tensors;
qrn_status qrn_bin_make_nodes(const qrn_bin_graph *from, const char *package,
                              const qrn_bin_tensors *tensors, qrn_graph *g);

#endif
