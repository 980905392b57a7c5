// SPDX-License-Identifier: MIT
//
// The STFT family.
#include "kernels/signal/stft.h"

#include "kernels/walk.h"

#include <math.h>

// cos and sin of 2 pi i / n, in the task's own part of the scratch.
typedef struct circle {
    double *cosine, *sine;
} circle;

static circle circle_of(const qrn_kcall *k, size_t n) {
    circle c = {.cosine = (double *)k->scratch + k->task * 2 * n};
    c.sine = c.cosine + n;
    for (size_t i = 0; i < n; i++) {
        double angle = 6.283185307179586476925 * (double)i / (double)n;
        c.cosine[i] = cos(angle);
        c.sine[i] = sin(angle);
    }
    return c;
}

#define T float
#define FN stft_f32_ref
#include "kernels/signal/stft.inc"
#undef T
#undef FN
#define T double
#define FN stft_f64_ref
#include "kernels/signal/stft.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    const qrn_stft_args *a = k->args;
    return qrn_walk_tasks(qrn_view_count(k->out[0]) * a->length, n_threads);
}

static size_t scratch(const qrn_kcall *k) {
    const qrn_stft_args *a = k->args;
    return (size_t)k->n_tasks * 2 * a->length * sizeof(double);
}

static const qrn_kernel stft_rows[] = {
    {.name = "stft_f32_ref",
     .domain = QRN_DOMAIN_F32,
     .fn = stft_f32_ref,
     .tasks = tasks,
     .scratch = scratch},
    {.name = "stft_f64_ref",
     .domain = QRN_DOMAIN_F64,
     .fn = stft_f64_ref,
     .tasks = tasks,
     .scratch = scratch},
};
QRN_FAMILY(stft, sizeof(qrn_stft_args));
