// SPDX-License-Identifier: MIT
//
// Terms of columns. Loops are kept so plain that compilers turn them into vectors.
#include "kernels/gemm/dense/dense_terms.h"

#include <string.h>

#define SMALL_SUM 0x1p37 // a 256th of it, and of the terms that are part of it, fits 32 bits

size_t qrn_planes_columns_bytes(uint32_t n_runs) {
    size_t bytes = sizeof(qrn_planes_columns) + 3 * (size_t)n_runs * QRN_PANEL * sizeof(double);
    return (bytes + 63) / 64 * 64;
}

qrn_planes_terms qrn_planes_terms_of(const qrn_kcall *k, const qrn_planes_ops *ops, uint32_t w_bits,
                                     uint32_t depth, size_t cout) {
    const qrn_view *x = k->in[0];
    int64_t lo, hi;
    qrn_quant_range(x->dtype, 0, &lo, &hi);
    double offset = (double)x->quant->offset;
    double down = fabs((double)lo + offset), up = fabs((double)hi + offset);
    return (qrn_planes_terms){.k = k,
                              .ops = ops,
                              .n_runs = k->in[5]->dims[0],
                              .depth = depth,
                              .cout = cout,
                              .u_offset = offset + (double)lo, // signed ones become unsigned
                              .product =
                                  (down > up ? down : up) * (double)(UINT32_C(1) << (w_bits - 1))};
}

static void make_run(const qrn_planes_terms *t, uint32_t run, size_t first, size_t n,
                     qrn_planes_columns *c) {
    const qrn_view *sums = t->k->in[2], *offsets = t->k->in[4];
    const uint32_t *starts = t->k->in[5]->data;
    uint32_t end = run + 1 < t->n_runs ? starts[run + 1] : t->depth;
    size_t from = run * t->cout + first, all = (size_t)t->n_runs * QRN_PANEL;
    double *restrict add = c->terms + (size_t)run * QRN_PANEL, *restrict m = add + all;
    double *restrict offset = m + all;
    double x_scale = (double)t->k->in[0]->quant->scale, y_scale = t->k->out[0]->quant->scale;
    double length = (double)(end - starts[run]), u_offset = t->u_offset;
    t->ops->ratios((const float *)t->k->in[3]->data + from, n, x_scale, y_scale, m);
    const int32_t *restrict sums32 = (const int32_t *)sums->data + from;
    const int64_t *restrict sums64 = (const int64_t *)sums->data + from;
    for (size_t i = 0; sums->dtype == QRN_DTYPE_I64 && i < n; i++)
        add[i] = (double)sums64[i];
    for (size_t i = 0; sums->dtype != QRN_DTYPE_I64 && i < n; i++)
        add[i] = (double)sums32[i];
    const int32_t *restrict os = offsets ? (const int32_t *)offsets->data + from : NULL;
    for (size_t i = 0; os && i < n; i++) {
        offset[i] = (double)os[i];
        add[i] += length * offset[i];
    }
    for (size_t i = 0; i < n; i++)
        add[i] *= u_offset;
}

// Adds the bias of n columns to their terms and returns the largest that is part of a sum.
static double add_bias(const qrn_view *bias, size_t first, size_t n, double y_scale,
                       qrn_planes_columns *c) {
    double *restrict add = c->terms, *restrict start = c->start, most = 0;
    if (!bias)
        return 0;
    if (bias->dtype == QRN_DTYPE_F64) {
        const double *restrict reals = (const double *)bias->data + first;
        for (size_t i = 0; i < n; i++)
            start[i] += reals[i] / y_scale;
        return 0;
    }
    const int32_t *restrict units = (const int32_t *)bias->data + first;
    for (size_t i = 0; i < n; i++) {
        add[i] += (double)units[i];
        most = fabs((double)units[i]) > most ? fabs((double)units[i]) : most;
    }
    return most;
}

void qrn_planes_make_columns(const qrn_planes_terms *t, size_t first, size_t n,
                             qrn_planes_columns *c) {
    const qrn_view *y = t->k->out[0];
    const double *m = c->terms + (size_t)t->n_runs * QRN_PANEL;
    unsigned large = 0;
    if (n < QRN_PANEL)
        memset(c, 0, qrn_planes_columns_bytes(t->n_runs));
    for (uint32_t run = 0; run < t->n_runs; run++)
        make_run(t, run, first, n, c);
    for (size_t i = 0; i < n; i++)
        c->start[i] = 0.5 - (double)y->quant->offset;
    double bias = add_bias(t->k->in[6], first, n, (double)y->quant->scale, c);
    double most = t->product * t->depth + bias;
    c->fits32 = most < 0x1p31;
    for (size_t i = 0; c->fits32 && i < n; i++)
        c->add32[i] = (int32_t)(uint32_t)(uint64_t)(int64_t)c->terms[i];
    for (size_t i = 0; i < n; i++)
        large += !(most * fabs(m[i]) + fabs(c->start[i]) < QRN_PLANES_SMALL);
    c->small = large == 0 && most < SMALL_SUM;
}
