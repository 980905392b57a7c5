// SPDX-License-Identifier: MIT
//
// Softmax of quantized values, element by element: the definition, for the reference row and for
// the results that a vector row is not sure of. The arithmetic is that of softmax.inc on reals in
// double.
#ifndef QRN_KERNELS_SOFTMAX_SOFTMAX_Q_H
#define QRN_KERNELS_SOFTMAX_SOFTMAX_Q_H

#include "kernels/element_io.h"
#include "kernels/exp_f64.h"
#include "kernels/lanes.h"
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

// What the results of a row are that a vector row is not sure of: in double, and by the definition
// where that is too close to the border between two quantized values as well.
typedef struct qrn_softmax_exact {
    qrn_softmax_row *r;
    double sum;    // of the exponentials; 0: not known yet
    bool measured; // r holds what the definition says
} qrn_softmax_exact;

// Of rows along the last axis whose largest quantized value, which has the largest real, is `top`.
static inline qrn_softmax_exact qrn_softmax_exact_of(qrn_softmax_row *r, int32_t top) {
    const qrn_quant *q = r->x->quant;
    r->top = r->beta * ((double)q->scale * ((double)top + ((double)q->offset + (double)q->shift)));
    return (qrn_softmax_exact){r, 0, false};
}

static inline double qrn_softmax_exact_power(const qrn_softmax_exact *x, size_t i) {
    return qrn_exp_f64(qrn_softmax_scaled(x->r, i) - x->r->top);
}

static inline double qrn_softmax_exact_sum(const qrn_softmax_row *r) {
    double reals[QRN_IO_RUN], sum = 0;
    for (size_t at = 0, n; at < r->n; at += n) {
        n = r->n - at < QRN_IO_RUN ? r->n - at : QRN_IO_RUN;
        qrn_io_load(r->x, r->at + at, n, reals);
        double part;
        QRN_LANES_SUM(part, reals, n, qrn_exp_f64(r->beta * v - r->top));
        sum += part;
    }
    return sum;
}

// Element i of the row as a whole number, not clamped.
static inline float qrn_softmax_exact_at(qrn_softmax_exact *x, const qrn_quant *y, size_t i) {
    qrn_softmax_row *r = x->r;
    if (x->sum == 0)
        x->sum = qrn_softmax_exact_sum(r);
    double t = qrn_softmax_exact_power(x, i) / x->sum / (double)y->scale + 0.5;
    if (fabs(t - rint(t)) < 1e-8) {
        if (!x->measured)
            qrn_softmax_measure(r);
        x->measured = true;
        t = qrn_softmax_real(r, i) / (double)y->scale + 0.5;
    }
    return (float)(floor(t) - (double)y->offset);
}

#endif
