// SPDX-License-Identifier: MIT
//
// The STFT family.
#include "kernels/signal/stft.h"

#include "base/cpu.h"
#include "kernels/signal/fft.h"
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

static bool is_short(const qrn_kcall *k) {
    return ((const qrn_stft_args *)k->args)->length <= QRN_FFT_LONGEST;
}

// clang-format off
#define FAST(isa, lanes)                                                                           \
    static size_t scratch_##isa(const qrn_kcall *k) {                                              \
        return k->n_tasks * qrn_fft_bytes(((const qrn_stft_args *)k->args)->length, lanes);        \
    }
#define ROW(isa, ISA)                                                                              \
    {.name = "stft_f32_" #isa, .domain = QRN_DOMAIN_F32, .needs = ISA, .works = is_short,          \
     .fn = qrn_stft_f32_##isa, .tasks = fast_tasks, .scratch = scratch_##isa}
// clang-format on

// A frame costs about 20 operations a number.
static uint32_t fast_tasks(const qrn_kcall *k, uint32_t n_threads) {
    uint32_t most = qrn_walk_tasks(qrn_view_count(k->out[0]) * 8, n_threads);
    size_t groups = ((size_t)k->out[0]->dims[0] * k->out[0]->dims[1] + 15) / 16;
    return groups < most ? (uint32_t)groups : most;
}

#ifdef __x86_64__
FAST(avx512, 8)
FAST(avx2, 4)
#endif
#ifdef __aarch64__
FAST(neon, 2)
#endif

static const qrn_kernel stft_rows[] = {
#ifdef __x86_64__
    ROW(avx512, QRN_ISA_AVX512),
    ROW(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    ROW(neon, QRN_ISA_NEON),
#endif
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
