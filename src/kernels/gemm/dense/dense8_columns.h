// SPDX-License-Identifier: MIT
//
// What the rows of the dense8 family know of columns beside their weights: terms that are added to
// sums, and multipliers. Columns are counted over the panels of all groups, and those that do not
// exist have zeros.
#ifndef QRN_KERNELS_GEMM_DENSE8_COLUMNS_H
#define QRN_KERNELS_GEMM_DENSE8_COLUMNS_H

#include "kernels/gemm/dense/dense8.h"
#include "kernels/gemm/epilogue/requant8.h"

typedef struct qrn_dense8_columns {
    double *exact;        // multipliers
    float *m;             // the same as floats
    int32_t *add;         // terms
    qrn_requant8 requant; // of the first column
} qrn_dense8_columns;

// Bytes of the columns of so many panels.
size_t qrn_dense8_columns_bytes(size_t units);
// Columns that lie at `at`, which is aligned as doubles are; nothing is written.
qrn_dense8_columns qrn_dense8_columns_at(void *at, size_t units);
// Prepares the columns of panels [u0, u1) for sums of products with activations that are unsigned
// bytes, less `shift`.
void qrn_dense8_columns_make(qrn_dense8_columns *c, const qrn_kcall *k, int32_t shift, size_t u0,
                             size_t u1);

#endif
