// SPDX-License-Identifier: MIT
//
// The round_to family.
#include "kernels/eltwise/round_to.h"

#include "base/cpu.h"

#include <math.h>

#define FN qrn_round_to_ref
#include "kernels/eltwise/round_to.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_view_count(k->in[0]) < 32768 ? 1 : n_threads;
}

// clang-format off
#define ROW(isa, ISA)                                                                              \
    {.name = "round_to_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA, .fn = qrn_round_to_##isa,   \
     .tasks = tasks}
// clang-format on

static const qrn_kernel round_to_rows[] = {
#ifdef __x86_64__
    ROW(avx512, QRN_ISA_AVX512),
    ROW(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    ROW(neon, QRN_ISA_NEON),
#endif
    ROW(ref, 0),
};
QRN_FAMILY_ELEMENT_WISE(round_to, sizeof(qrn_round_to_args), 0);
