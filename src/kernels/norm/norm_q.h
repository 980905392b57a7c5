// SPDX-License-Identifier: MIT
//
// Normalization of quantized values: what the definition and the vector rows share. Statistics come
// from exact sums of whole numbers, so that they depend neither on an order nor on an ISA.
#ifndef QRN_KERNELS_NORM_NORM_Q_H
#define QRN_KERNELS_NORM_NORM_Q_H

#include "kernels/element_io.h"
#include "kernels/norm/norm_rows.h"

// Sums over a set of quantized values c, each less the middle of its type (0, 128 or 32768).
typedef struct qrn_norm_sums {
    int64_t linear, squares;
} qrn_norm_sums;

static inline int32_t qrn_norm_middle(qrn_dtype t) {
    return t == QRN_DTYPE_UQ8 ? 128 : t == QRN_DTYPE_UQ16 ? 32768 : 0;
}

// Shift and factor, in reals.
qrn_norm_stats qrn_norm_q_stats(const qrn_norm_args *a, const qrn_view *x, qrn_norm_sums s,
                                size_t n);

// The definition of one result, from element x_at of x and param_at of gamma and beta (double, or
// NULL).
static inline void qrn_norm_q_apply(const qrn_kcall *k, qrn_norm_stats s, size_t x_at,
                                    const double *gamma, const double *beta, size_t param_at) {
    double v;
    qrn_io_load(k->in[0], x_at, 1, &v);
    v = (v - s.shift) * s.factor;
    v = gamma ? v * gamma[param_at] : v;
    v = beta ? v + beta[param_at] : v;
    qrn_io_store(k->out[0], x_at, 1, &v);
}

// gamma (1) or beta (2) of a call, NULL where there is none or it is not used.
static inline const double *qrn_norm_param(const qrn_kcall *k, uint32_t i) {
    const qrn_norm_args *a = k->args;
    return k->n_in > i && k->in[i] && a->kind != QRN_NORM_CENTER ? k->in[i]->data : NULL;
}

// How many elements gamma and beta have, whether they are there or not.
static inline size_t qrn_norm_params(const qrn_kcall *k) {
    const qrn_norm_args *a = k->args;
    size_t n = a->per_channel ? k->in[0]->dims[k->in[0]->rank - 1] : 1;
    for (uint32_t i = 0; !a->per_channel && i < a->n_axes; i++)
        n *= k->in[0]->dims[a->axes[i]];
    return n;
}

// May a vector row run the call: sets and their parameters in one piece each? Vector rows ask again
// when they run, as those of norm_rows.h.
bool qrn_norm_q_run(const qrn_kcall *k);

qrn_status qrn_norm_q_ref(const qrn_kcall *k);
qrn_status qrn_norm_q_avx2(const qrn_kcall *k);
qrn_status qrn_norm_q_avx512(const qrn_kcall *k);
qrn_status qrn_norm_q_neon(const qrn_kcall *k);

#endif
