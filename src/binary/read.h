// SPDX-License-Identifier: MIT
//
// The records of a context binary, one function each. Used by the reader alone.
#ifndef QRN_BINARY_READ_H
#define QRN_BINARY_READ_H

#include "binary/binary.h"
#include "binary/format.h"
#include "binary/in.h"

// A constant of the file.
typedef struct qrn_bin_constant {
    const void *data;
    uint64_t size_bytes;
    bool shared;         // by several graphs
    uint32_t last_graph; // that was seen using it, + 1
} qrn_bin_constant;

// What is known of the file while its graphs are read.
typedef struct qrn_bin_reading {
    qrn_bin *bin;
    qrn_bin_constant *constants;
    uint32_t n_constants;
    qrn_tensor **by_id; // [n_ids + 1]; tensors read so far
    uint32_t *owner;    // [n_ids + 1]: graph number + 1; 0: the context
    uint32_t n_ids;     // ids are 1 to n_ids
    uint32_t graph;     // being read
} qrn_bin_reading;

// A tensor record: checked in itself. `r` gives constants and takes the id.
qrn_tensor *qrn_bin_get_tensor(qrn_in *in, qrn_bin_reading *r);
qrn_bin_option *qrn_bin_get_options(qrn_in *in, uint32_t *n);
// The shape of something of type `t`: its bytes are checked and given.
void qrn_bin_get_shape(qrn_in *in, qrn_dtype t, qrn_shape *shape, size_t *size_bytes);
qrn_dtype qrn_bin_get_dtype(qrn_in *in);
// A constant by number, and one that counts as a weight of the graph that is being read.
qrn_bin_constant *qrn_bin_find_constant(qrn_in *in, qrn_bin_reading *r, uint32_t index);
const qrn_bin_constant *qrn_bin_use_constant(qrn_in *in, qrn_bin_reading *r, uint32_t index);
// Sparse storage and encoding of a tensor whose type and shape are known.
void qrn_bin_get_sparse(qrn_in *in, qrn_tensor *t, uint32_t n, uint32_t dims);
void qrn_bin_get_quant(qrn_in *in, qrn_tensor *t);
// Are its scales elsewhere? Whoever read the tensor finds them in packed forms, or fails.
bool qrn_bin_lacks_scales(const qrn_tensor *t);
// Reads the compiled graph of a graph that was read, which becomes g->compiled in any case.
typedef qrn_status (*qrn_bin_compiled_fn)(qrn_in *in, qrn_bin_reading *r, qrn_bin_graph *g);
// qrn_bin_open_with; get_compiled (may be NULL) brings the table of ops, and with it the kernels,
// into a library.
qrn_status qrn_bin_open_any(const void *buf, uint64_t size_bytes, bool verify, const void *weights,
                            const void *shared, qrn_bin_compiled_fn get_compiled, qrn_bin **out);
// What is prepared for a device; its names are checked by whoever looks for them.
qrn_status qrn_bin_get_prepared(qrn_in *in, qrn_bin_reading *r, qrn_bin_graph *g);
// A whole graph section.
qrn_status qrn_bin_get_graph(qrn_in *in, qrn_bin_reading *r, qrn_bin_graph *g);

#endif
