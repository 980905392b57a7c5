// SPDX-License-Identifier: MIT
//
// The rotate family.
#include "kernels/eltwise/rotate.h"

#include "base/cpu.h"
#include "kernels/walk.h"

#define FN qrn_rotate_ref
#include "kernels/eltwise/rotate.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->out[0]), n_threads);
}

// clang-format off
#define ROW(isa, ISA)                                                                              \
    {.name = "rotate_" #isa, .domain = QRN_DOMAIN_F32, .needs = ISA, .fn = qrn_rotate_##isa,       \
     .tasks = tasks}
// clang-format on

static const qrn_kernel rotate_rows[] = {
#ifdef __x86_64__
    ROW(avx512, QRN_ISA_AVX512),
    ROW(avx2, QRN_ISA_AVX2),
#endif
    ROW(ref, 0),
};
QRN_FAMILY(rotate, sizeof(qrn_rotate_args));
