// SPDX-License-Identifier: MIT
//
// Reductions of arrays over any of their dimensions, and products of matrices.
#ifndef QRN_REFERENCE_REDUCE_H
#define QRN_REFERENCE_REDUCE_H

#include "reference/array.h"

typedef enum qrn_nd_reduction {
    QRN_ND_SUM,
    QRN_ND_MEAN, // of integers: truncated; the caller sees to it that there are some
    QRN_ND_MAX,  // NaN wins
    QRN_ND_MIN,
    QRN_ND_PROD,
    QRN_ND_SUM_SQUARE,
    QRN_ND_L1,
    QRN_ND_L2, // from here on in doubles
    QRN_ND_LOG_SUM,
    QRN_ND_LOG_SUM_EXP
} qrn_nd_reduction;

// The shape that is left of x without the dimensions in `mask`, or with 1 in their place.
uint32_t qrn_nd_reduced(const qrn_nd *x, uint32_t mask, bool keep, size_t *dims);
// y has a shape of qrn_nd_reduced. Floats are summed up in row-major order in double, and rounded
// once; integers are exact, modulo 2^64.
void qrn_nd_reduce(qrn_nd_reduction r, const qrn_nd *y, const qrn_nd *x, uint32_t mask,
                   qrn_cast rule);
// y = the row-major place, among those reduced, of the largest or smallest element; NaN comes
// first. Of equal ones the first or the last counts. There must be some.
void qrn_nd_arg(const qrn_nd *y, const qrn_nd *x, uint32_t mask, bool smallest, bool last);

// What is added to a product: alpha * (a b) + beta * bias, all in double. The bias is broadcast.
typedef struct qrn_addend {
    double alpha, beta;
    const qrn_nd *bias; // NULL: none
} qrn_addend;
// y[..., i, k] = sum over j of a[..., i, j] * b[..., j, k]; the dimensions before the last two fit
// or are broadcast. Floats in double, rounded once; integers exactly unless something is added.
void qrn_nd_matmul(const qrn_nd *y, const qrn_nd *a, const qrn_nd *b, const qrn_addend *add);

#endif
