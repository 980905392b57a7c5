// SPDX-License-Identifier: MIT
//
// Reading and writing at places that an index tensor names. A negative index counts from the end
// of its dimension; one that is still outside makes the kernel return QRN_E_ARGUMENT (only
// BatchPermutation skips it). Indices are plain integers, floats (truncated) or fixed point (the
// real value, rounded).
#ifndef QRN_KERNELS_GATHER_H
#define QRN_KERNELS_GATHER_H

#include "kernels/kernel.h"

// Gather, GatherElements, ScatterElements: the indexed dimension.
typedef struct qrn_axis_args {
    uint32_t axis;
} qrn_axis_args;

// GatherNd: leading dimensions that table and indices share.
typedef struct qrn_gather_nd_args {
    uint32_t batch_dims;
} qrn_gather_nd_args;

typedef enum qrn_reduction { // numbers as in the parameter `reduction` of the scatter ops
    QRN_REDUCE_NONE,
    QRN_REDUCE_ADD,
    QRN_REDUCE_MUL,
    QRN_REDUCE_MAX
} qrn_reduction;

typedef struct qrn_scatter_args {
    uint32_t axis;      // ScatterElements
    uint32_t reduction; // qrn_reduction; NONE alone in the RAW rows: the last write wins
} qrn_scatter_args;

// in: table, indices; out: y. RAW.
extern const qrn_family qrn_family_gather;
extern const qrn_family qrn_family_gather_elements;
extern const qrn_family qrn_family_gather_nd;
// in: x, indices; row r of y is the r-th row of x that an index in range names, in the order of the
// indices; rows left over are 0. No args.
extern const qrn_family qrn_family_batch_permutation;
// in: x, indices, updates; out: x with the updates. RAW for NONE; F32, F64, I64 for reductions.
extern const qrn_family qrn_family_scatter_elements;
extern const qrn_family qrn_family_scatter_nd;

// The index at position i, made non-negative; -1 when it is outside of 0..dim-1.
int64_t qrn_index_at(const qrn_view *indices, size_t i, int64_t dim);

// The elements that n indices, up to QRN_PLACES, from number i on name: `base`, `step` for each
// unit of the index, and `each` for each index before. False: one is outside of 0..dim-1.
#define QRN_PLACES 256
bool qrn_index_places(const qrn_view *indices, size_t i, size_t n, uint32_t dim, size_t base,
                      size_t step, size_t each, size_t *to);

// Those n indices themselves, if they are int32 and all within 0..dim-1, as most are; else NULL.
const int32_t *qrn_index_plain(const qrn_view *indices, size_t i, size_t n, uint32_t dim);

// Offset, in slices, that the q-tuple of indices number `tuple` names in a tensor with dims[0..q);
// -1 when one of them is outside.
int64_t qrn_index_tuple(const qrn_view *indices, size_t tuple, uint32_t q, const uint32_t *dims);

#endif
