// SPDX-License-Identifier: MIT
//
// What the dense_wide family knows of columns beside their weights: offsets, multipliers and biases
// of a panel, prepared from the operands of a call in the terms of gemm_wide.h.
#ifndef QRN_KERNELS_GEMM_DENSE_TERMS_H
#define QRN_KERNELS_GEMM_DENSE_TERMS_H

#include "kernels/gemm/tiles/gemm_wide.h"

// A call.
typedef struct qrn_wide_terms {
    const qrn_kcall *k;
    const qrn_wide_ops *ops;
    uint32_t n_runs, depth;
    size_t cout;     // columns of all panels
    double u_offset; // of activations as unsigned numbers
    double product;  // the largest of a code and a weight without offset
} qrn_wide_terms;

// Terms of the columns of one panel; those that do not exist are zeros.
typedef struct qrn_wide_columns {
    double start[QRN_PANEL];
    int32_t add32[QRN_PANEL];
    bool narrow, small; // see qrn_wide_panel: add32 counts, results before clamping
    double terms[];     // add[runs][32], m[runs][32], offset[runs][32]
} qrn_wide_columns;

qrn_wide_terms qrn_wide_terms_of(const qrn_kcall *k, const qrn_wide_ops *ops, uint32_t w_bits,
                                 uint32_t depth, size_t cout);
// Bytes of a panel's columns, a multiple of 64.
size_t qrn_wide_columns_bytes(uint32_t n_runs);
// Terms of n columns from number `first` on.
void qrn_wide_make_columns(const qrn_wide_terms *t, size_t first, size_t n, qrn_wide_columns *c);

#endif
