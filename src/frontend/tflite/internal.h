// SPDX-License-Identifier: MIT
//
// Shared by the reader's files: a model while it is read.
#ifndef QRN_FRONTEND_TFLITE_INTERNAL_H
#define QRN_FRONTEND_TFLITE_INTERNAL_H

#include "frontend/client/flat.h"
#include "frontend/tflite/tflite.h"

typedef struct tl_code {
    const char *name; // of the op: builtin or custom
    bool custom;
} tl_code;

typedef struct tl_tensor {
    const char *name; // unique in the graph
    ox_info info;     // -1 where the shape is dynamic
    const void *data; // of a constant
    size_t bytes;
    bool empty;   // a constant without elements, unless an op writes it
    bool written; // by an op, or as an input of the graph
} tl_tensor;

typedef struct tl_reader {
    ox_model *m;
    qc_flat flat;
    qc_table root;
    const uint8_t *data; // the file, which may go on behind the tables
    size_t size;
    const char *graph; // name
    qc_vector buffers;
    tl_code *codes;
    uint32_t n_codes;
    tl_tensor *tensors;
    uint32_t n_tensors;
} tl_reader;

// Fails with the path.
qrn_status tl_broken(const tl_reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
qrn_status tl_flat_status(const tl_reader *r);                             // flat.error as a status
qrn_status tl_room(const tl_reader *r, size_t n, size_t bytes, void *out); // cleared

qrn_status tl_read_tensors(tl_reader *r, const qc_table *graph);
// The dense form of a sparse constant whose `bytes` of values lie at `data`.
qrn_status tl_expand_sparse(tl_reader *r, const qc_table *sparsity, const tl_tensor *t,
                            const uint8_t *data, size_t bytes, uint8_t **out, size_t *out_bytes);
qrn_status tl_read_ops(tl_reader *r, const qc_table *graph, ox_graph *out);
// Options of a DISPATCH_OP, a FlexBuffer map, as attributes.
qrn_status tl_read_dispatch(tl_reader *r, uint32_t op, const uint8_t *data, size_t size,
                            const ox_attr **out, uint32_t *n);

extern const char tl_domain[];    // of the nodes
extern const char tl_dispatch[];  // DISPATCH_OP
const char *tl_op_name(int code); // NULL: not a number of the format
// How a row of the table describes the op's options; "" for ops without.
const char *tl_op_options(const char *name);
qrn_status tl_import(struct ox_import *im, const ox_node *n);

#endif
