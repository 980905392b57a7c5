// SPDX-License-Identifier: MIT
//
// The softmax family.
#include "kernels/softmax/softmax.h"

#include "base/cpu.h"
#include "kernels/softmax/softmax_rows.h"

#include <math.h>

#define T float
#define FN softmax_f32_ref
#include "kernels/softmax/softmax.inc"
#undef T
#undef FN
#define T double
#define FN softmax_f64_ref
#include "kernels/softmax/softmax.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_view_count(k->in[0]) < 16384 ? 1 : n_threads;
}

static bool last_axis(const qrn_kcall *k) {
    return ((const qrn_softmax_args *)k->args)->axis + 1 == k->in[0]->rank;
}

// clang-format off
#define FAST(isa, ISA)                                                                             \
    {.name = "softmax_f32_" #isa, .domain = QRN_DOMAIN_F32, .needs = ISA, .works = last_axis,      \
     .fn = qrn_softmax_f32_##isa, .tasks = tasks}

static const qrn_kernel softmax_rows[] = {
#ifdef __x86_64__
    FAST(avx512, QRN_ISA_AVX512),
    FAST(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    FAST(neon, QRN_ISA_NEON),
#endif
    {.name = "softmax_f32_ref", .domain = QRN_DOMAIN_F32, .fn = softmax_f32_ref, .tasks = tasks},
    {.name = "softmax_f64_ref", .domain = QRN_DOMAIN_F64, .fn = softmax_f64_ref, .tasks = tasks},
};
QRN_FAMILY(softmax, sizeof(qrn_softmax_args));
// clang-format on
