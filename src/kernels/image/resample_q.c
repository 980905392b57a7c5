// SPDX-License-Identifier: MIT
//
// Resampling on quantized values that input and output read alike. Weights sum to 1, so the
// quantized weighted mean is the weighted mean of the quantized values, rounded half up: no scale
// is involved, and means that lie half way between two quantized values are met exactly. 8-bit
// values are summed in float (exact for the weights of whole ratios up to 256), 16-bit ones in
// double.
#include "kernels/image/resample.h"

#include "base/cpu.h"
#include "kernels/image/resample_q.h"
#include "kernels/walk.h"

#define RUN qrn_resample_q_ref
#include "kernels/image/resample_q_all.inc"

static bool works(const qrn_kcall *k) { return fns_of(k) != NULL; }

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->out[0]), n_threads);
}

// clang-format off
#define ROW(isa, ISA)                                                                              \
    {.name = "resample_q_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA,                       \
     .fn = qrn_resample_q_##isa, .works = works, .tasks = tasks}
// clang-format on

static const qrn_kernel resample_q_rows[] = {
#ifdef __x86_64__
    ROW(avx512, QRN_ISA_AVX512),
    ROW(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    ROW(neon, QRN_ISA_NEON),
#endif
    ROW(ref, 0),
};
QRN_FAMILY(resample_q, sizeof(qrn_resample_args));
