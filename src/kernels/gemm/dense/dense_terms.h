// SPDX-License-Identifier: MIT
//
// What the dense_planes family knows of columns beside their weights: offsets, multipliers and
// biases of a panel, prepared from the operands of a call in the terms of gemm_planes.h.
#ifndef QRN_KERNELS_GEMM_DENSE_TERMS_H
#define QRN_KERNELS_GEMM_DENSE_TERMS_H

#include "kernels/gemm/tiles/gemm_planes.h"

// A call.
typedef struct qrn_planes_terms {
    const qrn_kcall *k;
    const qrn_planes_ops *ops;
    uint32_t n_runs, depth;
    size_t cout;     // columns of all panels
    double u_offset; // of activations as unsigned numbers
    double product;  // the largest of an activation and a weight without offset
} qrn_planes_terms;

// Terms of the columns of one panel; those that do not exist are zeros.
typedef struct qrn_planes_columns {
    double start[QRN_PANEL];
    int32_t add32[QRN_PANEL];
    bool fits32, small; // see qrn_planes_panel: add32 counts, results before clamping
    double terms[];     // add[runs][32], m[runs][32], offset[runs][32]
} qrn_planes_columns;

qrn_planes_terms qrn_planes_terms_of(const qrn_kcall *k, const qrn_planes_ops *ops, uint32_t w_bits,
                                     uint32_t depth, size_t cout);
// Bytes of a panel's columns, a multiple of 64.
size_t qrn_planes_columns_bytes(uint32_t n_runs);
// Terms of n columns from number `first` on.
void qrn_planes_make_columns(const qrn_planes_terms *t, size_t first, size_t n,
                             qrn_planes_columns *c);

#endif
