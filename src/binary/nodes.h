// SPDX-License-Identifier: MIT
//
// Nodes and tensors of graphs in context binaries: from a graph to records, and back.
#ifndef QRN_BINARY_NODES_H
#define QRN_BINARY_NODES_H

#include "binary/binary.h"

// Lists the nodes of a graph, in the arena; ops of packages by the names of package and op.
qrn_status qrn_bin_list_nodes(qrn_arena *arena, const qrn_graph *g, qrn_bin_graph *out);
// Lists copies of the tensors of a graph; `drop`(optional): whose data is not stored.
qrn_status qrn_bin_list_tensors(qrn_arena *arena, const qrn_graph *g,
                                bool (*drop)(const void *ctx, const qrn_tensor *t), const void *ctx,
                                qrn_bin_graph *out);

// What the nodes of a record refer to.
typedef struct qrn_bin_lookup {
    const char *package;                                 // whose ops this library has
    qrn_tensor *(*tensor)(const void *ctx, uint32_t id); // NULL: none
    // The backend's object for an op of another package; NULL: it is not registered.
    void *(*user_op)(const void *ctx, const char *package, const char *type);
    const void *ctx;
} qrn_bin_lookup;

// Adds the nodes of a record to a graph. Nothing is validated but names. Fails with QRN_E_BINARY.
qrn_status qrn_bin_make_nodes(const qrn_bin_graph *from, const qrn_bin_lookup *lookup,
                              qrn_graph *g);

#endif
