// SPDX-License-Identifier: MIT
//
// What the dense families have in common: how a convolution or a stack of rows becomes a GEMM with
// packed weights, how rows are gathered, and how tasks share the work. A convolution is a GEMM with
// rows = output cells, depth = (kernel cell, channel of the group), columns = output channels of
// the group.
#ifndef QRN_KERNELS_GEMM_DENSE_PLAN_H
#define QRN_KERNELS_GEMM_DENSE_PLAN_H

#include "kernels/conv/conv.h"

#define QRN_PANEL 32       // columns of a panel of packed weights
#define QRN_DENSE_GRAIN 12 // rows: tasks and blocks are whole tiles of every kernel
#define QRN_DENSE_BLOCK_ROWS_MAX 240

typedef struct qrn_dense_args {
    bool rows;            // plain rows: `conv` and `kernel` are not used
    qrn_conv_args conv;   // transposed: group 1; dense_adjoint.h, dense_phases.h
    uint32_t kernel[3];   // conv.n_spatial entries
    uint32_t group;       // 1 for plain rows
    uint32_t depth, cols; // of one group
} qrn_dense_args;

static inline size_t qrn_panels(size_t cols) { return (cols + QRN_PANEL - 1) / QRN_PANEL; }

// Copies n pieces of so many bytes, which lie src_step and dst_step bytes apart.
typedef void (*qrn_dense_copy_fn)(void *dst, size_t dst_step, const void *src, size_t src_step,
                                  size_t n, size_t bytes);
void qrn_dense_copy(void *dst, size_t dst_step, const void *src, size_t src_step, size_t n,
                    size_t bytes);
void qrn_dense_copy_avx512(void *dst, size_t dst_step, const void *src, size_t src_step, size_t n,
                           size_t bytes);

typedef struct qrn_dense_plan {
    const qrn_dense_args *args;
    qrn_conv_geometry geo;  // convolutions
    size_t rows;            // of the GEMM
    size_t cout;            // of all groups
    bool direct;            // rows lie in x as they are
    bool followed;          // somebody goes on with the results of a call
    size_t a_row;           // direct: elements between rows of x
    qrn_dense_copy_fn copy; // of pieces of rows; rows of families may have a better one
} qrn_dense_plan;

qrn_dense_plan qrn_dense_plan_of(const qrn_dense_args *a, const qrn_view *x, const qrn_view *y);

// Rows of a block of gathered rows, `elements` in all where that is possible.
size_t qrn_dense_block_rows(const qrn_dense_args *a, size_t elements);

// Rows of the GEMM of a convolution: for n output cells from `cell` on, the cells under the window,
// channels of one group. Elements have `elem` bytes; cells outside x are filled with elements of
// value `fill`, which is 0 unless they have 1 or 2 bytes. Rows are written dst_row bytes apart.
void qrn_dense_gather(const qrn_dense_plan *p, const void *x, size_t cell, size_t n, size_t group,
                      size_t elem, int fill, void *dst, size_t dst_row);

// The part of a task: rows [r0, r1) times panels [u0, u1), panels being counted over all groups.
// Of a task that has nothing to do all are 0.
typedef struct qrn_dense_part {
    size_t r0, r1, u0, u1;
} qrn_dense_part;

qrn_dense_part qrn_dense_part_of(const qrn_dense_plan *p, uint32_t task, uint32_t n_tasks);

// Reports rows [r, r + n) of panels [u0, u1) of the GEMM.
void qrn_dense_report(const qrn_kcall *k, const qrn_dense_plan *p, size_t r, size_t n, size_t u0,
                      size_t u1);

uint32_t qrn_dense_tasks(const qrn_dense_plan *p, uint32_t n_threads);

#endif
