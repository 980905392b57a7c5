// SPDX-License-Identifier: MIT
//
// Softmax of quantized values, element by element: the definition, for the reference row and for
// the results that a vector row is not sure of. The arithmetic is that of softmax.inc on reals in
// double.
#ifndef QRN_KERNELS_SOFTMAX_SOFTMAX_Q_H
#define QRN_KERNELS_SOFTMAX_SOFTMAX_Q_H

#include "kernels/element_io.h"
#include "kernels/exp_f64.h"
#include "kernels/softmax/softmax.h"

#include <math.h>

// One row of a softmax: n elements of x, `step` apart, from `at` on.
typedef struct qrn_softmax_row {
    const qrn_view *x;
    double beta;
    size_t at, n, step;
    double top, sum; // of beta * x, and of the exponentials
} qrn_softmax_row;

// beta * x of element i.
static inline double qrn_softmax_scaled(const qrn_softmax_row *r, size_t i) {
    double real;
    qrn_io_load(r->x, r->at + i * r->step, 1, &real);
    return r->beta * real;
}

static inline void qrn_softmax_measure(qrn_softmax_row *r) {
    r->top = -INFINITY;
    r->sum = 0;
    for (size_t i = 0; i < r->n; i++)
        r->top = fmax(r->top, qrn_softmax_scaled(r, i));
    for (size_t i = 0; i < r->n; i++)
        r->sum += exp(qrn_softmax_scaled(r, i) - r->top);
}

static inline double qrn_softmax_real(const qrn_softmax_row *r, size_t i) {
    return exp(qrn_softmax_scaled(r, i) - r->top) / r->sum;
}

#endif
