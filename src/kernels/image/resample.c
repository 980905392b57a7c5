// SPDX-License-Identifier: MIT
//
// The resample families.
#include "kernels/image/resample.h"

#include "kernels/walk.h"

#include <string.h>

#define T float
#define FN resample_f32_ref
#include "kernels/image/resample.inc"
#undef T
#undef FN
#define T double
#define FN resample_f64_ref
#include "kernels/image/resample.inc"
#undef T
#undef FN

#define BLOCK 512 // floats of an output row that stay in the first-level cache

static void mix_row(const float *src, const int32_t *index, const double *weight, uint32_t taps,
                    size_t inner, float *dst) {
    uint32_t one = qrn_next_tap(weight, 0, taps), two = qrn_next_tap(weight, one + 1, taps);
    for (size_t at = 0; at < inner; at += BLOCK) {
        size_t n = inner - at < BLOCK ? inner - at : BLOCK;
        float *y = dst + at;
        const float *a = src + at + (one < taps ? (size_t)index[one] * inner : 0);
        const float *b = src + at + (two < taps ? (size_t)index[two] * inner : 0);
        float wa = one < taps ? (float)weight[one] : 0.0f;
        float wb = two < taps ? (float)weight[two] : 0.0f;
        if (two < taps)
            for (size_t i = 0; i < n; i++)
                y[i] = wa * a[i] + wb * b[i];
        else
            for (size_t i = 0; i < n; i++)
                y[i] = wa * a[i];
        for (uint32_t t = qrn_next_tap(weight, two + 1, taps); t < taps;
             t = qrn_next_tap(weight, t + 1, taps)) {
            const float *c = src + at + (size_t)index[t] * inner;
            float wc = (float)weight[t];
            for (size_t i = 0; i < n; i++)
                y[i] += wc * c[i];
        }
    }
}

static qrn_status resample_f32(const qrn_kcall *k) {
    const qrn_resample_args *a = k->args;
    const qrn_view *x = k->in[0];
    size_t n = x->dims[a->axis], m = k->out[0]->dims[a->axis];
    size_t inner = qrn_view_span(x, a->axis + 1, x->rank), begin, end;
    qrn_split(qrn_view_span(x, 0, a->axis) * m, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t row = begin; row < end; row++) {
        size_t first = row % m * a->taps;
        mix_row((const float *)x->data + row / m * n * inner,
                (const int32_t *)k->in[1]->data + first, (const double *)k->in[2]->data + first,
                a->taps, inner, (float *)k->out[0]->data + row * inner);
    }
    return QRN_OK;
}

static qrn_status resample_move_ref(const qrn_kcall *k) {
    const qrn_resample_args *a = k->args;
    const qrn_view *x = k->in[0];
    const int32_t *index = k->in[1]->data;
    size_t n = x->dims[a->axis], m = k->out[0]->dims[a->axis];
    size_t bytes = qrn_view_span(x, a->axis + 1, x->rank) * qrn_view_elem(x), begin, end;
    qrn_split(qrn_view_span(x, 0, a->axis) * m, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t row = begin; row < end; row++)
        memcpy((char *)k->out[0]->data + row * bytes,
               (const char *)x->data + (row / m * n + (size_t)index[row % m]) * bytes, bytes);
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->out[0]), n_threads);
}

static const qrn_kernel resample_rows[] = {
    {.name = "resample_f32", .domain = QRN_DOMAIN_F32, .fn = resample_f32, .tasks = tasks},
    {.name = "resample_f32_ref", .domain = QRN_DOMAIN_F32, .fn = resample_f32_ref, .tasks = tasks},
    {.name = "resample_f64_ref", .domain = QRN_DOMAIN_F64, .fn = resample_f64_ref, .tasks = tasks},
};
QRN_FAMILY(resample, sizeof(qrn_resample_args));

static const qrn_kernel resample_move_rows[] = {
    {.name = "resample_move_ref",
     .domain = QRN_DOMAIN_RAW,
     .fn = resample_move_ref,
     .tasks = tasks},
};
QRN_FAMILY(resample_move, sizeof(qrn_resample_args));
