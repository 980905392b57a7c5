// SPDX-License-Identifier: MIT
//
// Matmul with broadcast leading dimensions, and fully connected layers.
//   in[0]  a     [..., rows, depth], or [..., depth, rows] with transpose_a
//   in[1]  b     [..., depth, cols], or [..., cols, depth] with transpose_b
//   in[2]  bias  [cols], may be absent
//   out[0] c     [..., rows, cols]:  c[i,j] = bias[j] + sum_k a[i,k] * b[k,j]
// flat: a and c of any shape are read as one matrix of rows of depth and cols elements; b has
// rank 2.
//
// Domains F32 and F64: real numbers; the reference rows sum in double, in the order of k. The fast
// F32 rows pack b, 32 columns at a time, and keep one chain of fused multiply-adds per result (see
// gemm_f32.h). Domain RAW: quantized, as requant.h defines it; x is a, w is b, channels are
// columns.
#ifndef QRN_KERNELS_GEMM_MATMUL_H
#define QRN_KERNELS_GEMM_MATMUL_H

#include "kernels/conv/conv.h"

typedef struct qrn_matmul_args {
    bool transpose_a, transpose_b;
    bool flat;
    qrn_clamp clamp; // of the results, domain F32
} qrn_matmul_args;

extern const qrn_family qrn_family_matmul; // F32, F64, RAW

// Columns summed side by side.
#define QRN_MATMUL_COLS 32

typedef struct qrn_matmul_geometry {
    size_t batch, rows, cols, depth;
    size_t a_row, a_depth; // element strides inside a matrix of a
    size_t b_depth, b_col; // element strides inside a matrix of b
    uint32_t n_lead;       // leading dimensions of c
    size_t lead[QRN_MAX_RANK], a_lead[QRN_MAX_RANK],
        b_lead[QRN_MAX_RANK]; // sizes and strides, 0 = broadcast
} qrn_matmul_geometry;

qrn_matmul_geometry qrn_matmul_geometry_of(const qrn_kcall *k);
// First elements of the matrices of batch entry n.
void qrn_matmul_batch(const qrn_matmul_geometry *g, size_t n, size_t *a, size_t *b);

// The fast rows take some columns of b at a time, packed once for all rows of a. Such units are
// cut into strips of rows where there are fewer of them than tasks.
typedef struct qrn_matmul_unit {
    size_t batch, col; // first column
    size_t row, end;   // rows
} qrn_matmul_unit;

typedef struct qrn_matmul_share {
    size_t begin, end;            // units of the task, in parts
    size_t groups, columns, cuts; // of a matrix: groups of columns; parts of a unit
} qrn_matmul_share;

// columns: of a unit.
qrn_matmul_share qrn_matmul_share_of(const qrn_matmul_geometry *g, size_t columns,
                                     const qrn_kcall *k);
// Unit i of [begin, end).
qrn_matmul_unit qrn_matmul_unit_at(const qrn_matmul_geometry *g, const qrn_matmul_share *s,
                                   size_t i);

#endif
