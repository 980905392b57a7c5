// SPDX-License-Identifier: MIT
//
// Tensors as graphs know them: shape, type, encoding, role and, for constants, data.
#ifndef QRN_IR_TENSOR_H
#define QRN_IR_TENSOR_H

#include "base/dtype.h"
#include "base/quant.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct qrn_shape {
    uint32_t rank;
    uint32_t dims[QRN_MAX_RANK];
} qrn_shape;

// Roles; the numbers are the public API's tensor types.
typedef enum qrn_role {
    QRN_ROLE_INPUT = 0,  // written by the application
    QRN_ROLE_OUTPUT = 1, // read by the application
    QRN_ROLE_INOUT = 2,  // context tensor: output of one graph, input of another
    QRN_ROLE_NATIVE = 3, // inside a graph
    QRN_ROLE_STATIC = 4, // constant
    QRN_ROLE_NULL = 5,   // stands for an absent optional tensor
    QRN_ROLE_UNKNOWN = 255
} qrn_role;

#define QRN_FORMAT_DENSE 0u
#define QRN_FORMAT_SPARSE 1u
#define QRN_FORMAT_NATIVE_KV 8u // in tiles, as the matrix unit reads weights: bytes of a KV cache

// An encoding by block expansion as a client gave it, for files that keep it: a scale and an offset
// for each index of an axis, and an integer factor for each block of its slice. `quant` has the
// products.
typedef struct qrn_expansion {
    uint32_t axis;
    uint32_t n_blocks;     // of each index of the axis
    uint32_t factor_bits;  // of a factor that count
    uint32_t storage_bits; // of a factor: 8 or 16
    const float *scales;   // [index of the axis]
    const int32_t *offsets;
    const void *factors; // [index of the axis][block]
} qrn_expansion;

typedef struct qrn_tensor {
    uint32_t id;      // unique in the context, never 0
    const char *name; // owned by the arena of the graph or context
    uint8_t role;     // qrn_role
    bool updateable;  // data or encoding may be changed after finalize
    bool optional_io; // application tensor that execute may leave out
    bool has_dynamic; // some dynamic[i] is set
    qrn_dtype dtype;
    uint32_t format; // QRN_FORMAT_*; others are refused by the backends that lack them
    qrn_shape shape; // largest shape
    uint8_t dynamic[QRN_MAX_RANK];  // non-zero: this dimension may be smaller at execute
    qrn_quant quant;                // how stored values read; kind NONE for plain numbers
    uint32_t encoding;              // the API's encoding number the client gave (reported back)
    const qrn_expansion *expansion; // (optional) of block expansions
    uint32_t native_tile;           // NATIVE_KV: columns of a tile, once the graph is settled
    uint32_t n_sparse_elements;     // SPARSE: specified elements (declared maximum)
    uint32_t n_sparse_dims;         // SPARSE: outermost dimensions that are indexed
    const void *data;               // STATIC: size_bytes bytes, NULL otherwise
    size_t size_bytes;              // dense bytes at the largest shape (sparse: indices and values)
    struct qrn_graph *graph;        // owner; NULL for a context tensor
    struct qrn_node *producer;      // node that writes it; NULL: none (yet)
    void *client_buf;               // buffer given at creation for an application tensor, or NULL
} qrn_tensor;

// Number of elements; false on overflow.
bool qrn_shape_count(const qrn_shape *s, size_t *count);
bool qrn_shape_equal(const qrn_shape *a, const qrn_shape *b);
// Writes "[1,224,224,3]" into buf (always terminated); returns buf.
const char *qrn_shape_text(const qrn_shape *s, char *buf, size_t size);

static inline bool qrn_tensor_is_sparse(const qrn_tensor *t) {
    return t->format == QRN_FORMAT_SPARSE;
}
static inline bool qrn_tensor_is_static(const qrn_tensor *t) { return t->role == QRN_ROLE_STATIC; }

#endif
