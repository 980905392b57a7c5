// SPDX-License-Identifier: MIT
//
// Arrays of any rank and strides: views of somebody's memory. Taking a part, another order or a
// broadcast of an array changes its view only; one copy then does the work of Transpose, Slice,
// Split, Expand, Tile, Concat and Pad.
#ifndef QRN_REFERENCE_ARRAY_H
#define QRN_REFERENCE_ARRAY_H

#include "reference/number.h"

#define QRN_ND_RANK 16

typedef struct qrn_nd {
    qrn_dtype dtype;
    qrn_kind kind;
    int type; // the caller's own number of the type; nothing here reads it
    uint32_t rank;
    size_t elem;  // bytes of an element
    size_t count; // elements
    size_t dims[QRN_ND_RANK];
    ptrdiff_t steps[QRN_ND_RANK]; // bytes from one index to the next; 0: broadcast
    unsigned char *data;          // first element; functions here write to results alone
} qrn_nd;

// A dense array in row-major order. Fails when the shape cannot be held in memory, dimensions of 0
// counted as 1.
bool qrn_nd_init(qrn_nd *a, qrn_dtype t, uint32_t rank, const size_t *dims, void *data);
// One number.
qrn_nd qrn_nd_scalar(qrn_dtype t, void *data);
// The same with bits instead of numbers, for moves that must not change a NaN.
qrn_nd qrn_nd_bits(const qrn_nd *a);

// Element i of a dense array.
qrn_num qrn_nd_get(const qrn_nd *a, size_t i);
void qrn_nd_set(const qrn_nd *a, size_t i, qrn_num v);

// --- Views. Callers check indices.

// dims (of a shape in the making) broadcast with those of a; false when they do not fit.
bool qrn_nd_join(uint32_t *rank, size_t *dims, const qrn_nd *a);
// Broadcasts a to a shape; false when it does not fit.
bool qrn_nd_expand(qrn_nd *a, uint32_t rank, const size_t *dims);
// Dimension perm[d] comes to place d.
void qrn_nd_permute(qrn_nd *a, const uint32_t *perm);
// Indices start, start + step, ... (n of them) of dimension d.
void qrn_nd_slice(qrn_nd *a, uint32_t d, int64_t start, int64_t step, size_t n);
// Takes dimension d away, at its index 0; puts one in front of d.
void qrn_nd_drop(qrn_nd *a, uint32_t d);
void qrn_nd_insert(qrn_nd *a, uint32_t d, size_t n, ptrdiff_t step);
// A single number, or a vector, as an array of this rank along dimension d.
void qrn_nd_along(qrn_nd *a, uint32_t rank, uint32_t d);
// numpy's start:end:step of a dimension of n: where it begins and how many there are. The step is
// not 0; one that leaves the dimension at once becomes n + 1 or -(n + 1).
size_t qrn_slice_of(size_t n, int64_t *start, int64_t end, int64_t *step);

// --- Moving

// y = x, both of one shape and element size. Runs may overlap where x and y are the same.
void qrn_nd_copy(const qrn_nd *y, const qrn_nd *x);
// Every element of y = the one at `element`.
void qrn_nd_fill(const qrn_nd *y, const void *element);
// The elements of x to y, whose index 0 of dimension d is index starts[d] of x; what lies outside
// of either is left alone. Changes the views.
void qrn_nd_paste(qrn_nd *y, qrn_nd *x, const int64_t *starts);
// y = rows of x along `axis` that `index` names; y has index's dimensions in the place of the axis.
// Negative indices count from the end; false with *bad when one is out of range.
bool qrn_nd_gather(const qrn_nd *y, const qrn_nd *x, uint32_t axis, const qrn_nd *index,
                   int64_t *bad);

// --- Walking

// The indices of a shape in row-major order, from 0 on:
//   qrn_index i = {{0}};
//   do ... while (qrn_index_next(&i, rank, dims));
typedef struct qrn_index {
    size_t at[QRN_ND_RANK];
} qrn_index;
// False after the last one.
static inline bool qrn_index_next(qrn_index *i, uint32_t rank, const size_t *dims) {
    for (uint32_t d = rank; d-- > 0; i->at[d] = 0)
        if (++i->at[d] < dims[d])
            return true;
    return false;
}
// Where an index lies in an array, in bytes.
static inline ptrdiff_t qrn_index_offset(const qrn_index *i, uint32_t rank,
                                         const ptrdiff_t *steps) {
    ptrdiff_t at = 0;
    for (uint32_t d = 0; d < rank; d++)
        at += (ptrdiff_t)i->at[d] * steps[d];
    return at;
}
// Joins neighbouring dimensions that all arrays (y and n more, of one shape) pass through without a
// jump, and drops those of 1. At least one dimension is left.
void qrn_nd_merge(qrn_nd *y, qrn_nd *x, uint32_t n);

#endif
