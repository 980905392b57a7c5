// SPDX-License-Identifier: MIT
//
// Normalization of quantized values: the statistics and the definition.
#include "kernels/norm/norm_q.h"

#include <math.h>

bool qrn_norm_q_run(const qrn_kcall *k) {
    qrn_walk outer, inner;
    qrn_norm_walks(k->args, k->in[0], &outer, &inner);
    return qrn_norm_contiguous(k) && (qrn_walk_step(&inner, 1) == 1 || qrn_walk_row(&inner) == 1);
}

static bool one_scale(const qrn_view *v) {
    return qrn_dtype_is_fixed(v->dtype) && qrn_io_supports(v) && v->quant->shift == 0.0f &&
           v->quant->scale > 0.0f && isfinite(v->quant->scale);
}

// Offsets and sets for which 64 bits hold every sum.
bool qrn_norm_supports_q(const qrn_norm_args *a, const qrn_view *x, const qrn_view *y) {
    qrn_view in = *x, out = *y, *ins[1] = {&in}, *outs[1] = {&out};
    qrn_kcall k = {.args = a, .in = ins, .out = outs, .n_in = 1, .n_out = 1};
    return one_scale(x) && one_scale(y) && fabs((double)x->quant->offset) < 1 << 18 &&
           qrn_view_count(x) <= 1 << 24 && qrn_norm_q_run(&k);
}

// Whole numbers as long as possible: with q the whole part of the mean, the squares around q are
// exact, and what the rest of the mean takes off them is smaller than their count.
qrn_norm_stats qrn_norm_q_stats(const qrn_norm_args *a, const qrn_view *x, qrn_norm_sums s,
                                size_t n) {
    const double scale = (double)x->quant->scale;
    const int64_t count = (int64_t)n, zero = qrn_norm_middle(x->dtype) + x->quant->offset;
    const int64_t linear = s.linear + count * zero; // of c + offset
    const int64_t squares = s.squares + 2 * zero * s.linear + count * zero * zero;
    if (a->kind != QRN_NORM_MEAN_VARIANCE && a->kind != QRN_NORM_CENTER)
        return qrn_norm_finish(a, 0, scale * scale * (double)squares, (double)n);
    const int64_t q = linear / count, rest = linear - q * count;
    const double around = (double)(squares - q * (2 * linear - q * count));
    const double part = (double)rest / (double)n;
    return qrn_norm_finish(a, scale * ((double)q + part),
                           scale * scale * (around - (double)rest * part), (double)n);
}

qrn_status qrn_norm_q_ref(const qrn_kcall *k) {
    const qrn_norm_args *a = k->args;
    const qrn_view *x = k->in[0];
    const double *gamma = qrn_norm_param(k, 1), *beta = qrn_norm_param(k, 2);
    const int32_t middle = qrn_norm_middle(x->dtype);
    if (!qrn_view_count(x))
        return QRN_OK;
    qrn_walk outer, inner;
    qrn_norm_walks(a, x, &outer, &inner);
    size_t n = qrn_walk_count(&inner), begin, end;
    qrn_split(qrn_walk_count(&outer), 1, k->task, k->n_tasks, &begin, &end);
    for (size_t o = begin; o < end; o++) {
        size_t base = qrn_walk_at(&outer, 0, o), channel = qrn_walk_at(&outer, 1, o);
        qrn_norm_sums sums = {0, 0};
        for (size_t i = 0; i < n; i++) {
            int64_t c = qrn_view_int(x, base + qrn_walk_at(&inner, 0, i)) - middle;
            sums.linear += c;
            sums.squares += c * c;
        }
        qrn_norm_stats s = qrn_norm_q_stats(a, x, sums, n);
        for (size_t i = 0; i < n; i++)
            qrn_norm_q_apply(k, s, base + qrn_walk_at(&inner, 0, i), gamma, beta,
                             channel + qrn_walk_at(&inner, 1, i));
    }
    return QRN_OK;
}
