// SPDX-License-Identifier: MIT
//
// Walks: nested loops over the elements of a tensor, with a stride per operand. Neighbouring
// dimensions that every operand passes through without a jump are merged, so that element-wise work
// on dense tensors is one long row and broadcasting costs one offset per row.
#ifndef QRN_KERNELS_WALK_H
#define QRN_KERNELS_WALK_H

#include "kernels/kernel.h"

#define QRN_WALK_OPERANDS 3
#define QRN_WALK_DIMS (QRN_MAX_RANK + 1)

typedef struct qrn_walk {
    uint32_t rank;                                   // at least 1 once built
    uint32_t n;                                      // operands
    size_t dims[QRN_WALK_DIMS];                      // outermost first; the last one is the row
    size_t stride[QRN_WALK_OPERANDS][QRN_WALK_DIMS]; // in elements; 0 where the operand repeats
} qrn_walk;

// A part of a row: elements [first, first + count) in row-major order of the walk.
typedef struct qrn_walk_run {
    size_t first, count;
    size_t at[QRN_WALK_OPERANDS]; // offset of the first element in each operand
    size_t next, end;             // where the task goes on and ends
} qrn_walk_run;

// An empty walk (one element) over `n` operands.
void qrn_walk_init(qrn_walk *w, uint32_t n);
// Adds an inner dimension; strides holds one value per operand.
void qrn_walk_push(qrn_walk *w, size_t dim, const size_t *strides);
// Walk over `out` with the operands `in`, each broadcast to the shape of `out`.
void qrn_walk_broadcast(qrn_walk *w, const qrn_view *out, qrn_view *const *in, uint32_t n);

size_t qrn_walk_count(const qrn_walk *w);

// Length of a row, and the step of an operand inside it.
static inline size_t qrn_walk_row(const qrn_walk *w) { return w->dims[w->rank - 1]; }
static inline size_t qrn_walk_step(const qrn_walk *w, uint32_t operand) {
    return w->stride[operand][w->rank - 1];
}
// Offset in an operand of the first element of a row, and of any element.
size_t qrn_walk_row_at(const qrn_walk *w, uint32_t operand, size_t row);
static inline size_t qrn_walk_at(const qrn_walk *w, uint32_t operand, size_t index) {
    size_t row = qrn_walk_row(w);
    return qrn_walk_row_at(w, operand, index / row) + index % row * qrn_walk_step(w, operand);
}

// The runs of a call's part of the walk:
//   for (qrn_walk_run r = qrn_walk_begin(&w, k); qrn_walk_next(&w, &r);)
qrn_walk_run qrn_walk_begin(const qrn_walk *w, const qrn_kcall *k);
bool qrn_walk_next(const qrn_walk *w, qrn_walk_run *r);

// Tasks for element-wise work on `count` elements.
static inline uint32_t qrn_walk_tasks(size_t count, uint32_t n_threads) {
    size_t most = count / 8192;
    return most < 2 ? 1 : most < n_threads ? (uint32_t)most : n_threads;
}

#endif
