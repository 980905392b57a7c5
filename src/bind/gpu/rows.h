// SPDX-License-Identifier: MIT
//
// Kernels that go over sets of elements: reductions, norms, softmax. A set is a row; the outer walk
// leads to the first element of each row, the inner one over its elements. kernels/common.cl has
// the other half: ROWS_ARGS, ROWS_BEGIN, EACH, TREE.
//
// On GPUs LY work items share a row and join what they have in local memory, in a fixed order; LX
// neighbouring rows are one work-group, so that rows across the memory are read in pieces, too. On
// CPUs and for short rows one work item does a row: no local memory, no barrier.
#ifndef QRN_BIND_GPU_ROWS_H
#define QRN_BIND_GPU_ROWS_H

#include "bind/gpu/binder.h"
#include "kernels/walk.h"

typedef struct qrn_gpu_rows {
    size_t n_rows, n; // rows, and elements of each
    size_t lx, ly;
    bool item; // a work item does a row
} qrn_gpu_rows;

// Starts a kernel over rows: defines LX, LY and NUM, the type that it computes in.
qrn_gpu_kernel qrn_gpu_rows_begin(qrn_gpu_binder *b, const qrn_cstep *s, const char *source,
                                  const char *entry, const qrn_walk *outer, const qrn_walk *inner,
                                  qrn_gpu_rows *r);
// The arguments of ROWS_ARGS. The walks may have a second operand: OUTER2 and INNER2.
void qrn_gpu_rows_args(qrn_gpu_kernel *k, const qrn_gpu_rows *r, const qrn_walk *outer,
                       const qrn_walk *inner);
qrn_status qrn_gpu_rows_end(qrn_gpu_kernel *k, const qrn_gpu_rows *r);

// Walks over the rows along one axis of a value.
void qrn_gpu_axis_walks(const qrn_shape *x, uint32_t axis, qrn_walk *outer, qrn_walk *inner);

// Is the step one on floats (or, where `ints`, on plain integers)? Else it is rejected.
qrn_status qrn_gpu_check_domain(const qrn_gpu_binder *b, const qrn_cstep *s, bool ints);

// reduce.c: one result per row of x; op is a qrn_reduce_op.
qrn_status qrn_gpu_reduce(qrn_gpu_binder *b, const qrn_cstep *s, uint32_t op, const qrn_walk *outer,
                          const qrn_walk *inner);

#endif
