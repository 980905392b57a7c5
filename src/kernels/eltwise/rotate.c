// SPDX-License-Identifier: MIT
//
// The rotate family.
#include "kernels/eltwise/rotate.h"

#include "base/cpu.h"
#include "base/fp16.h"
#include "kernels/walk.h"

#define FN qrn_rotate_ref
#define TURN turn
#include "kernels/eltwise/rotate.inc"

static float sum_of_rounded(float a, float b, uint32_t of) {
    qrn_fp16_rule rule = (qrn_fp16_rule)of;
    float sum = (float)qrn_fp16_round((double)a, rule) + (float)qrn_fp16_round((double)b, rule);
    return (float)qrn_fp16_round((double)sum, rule);
}

static void turn(const float *x, const angles *g, float *y, size_t n, uint32_t rule) {
    for (size_t i = 0; i < n; i++) {
        float a = x[i], b = x[n + i], cos = g->cos[g->second + i], sin = g->sin[g->second + i];
        float ac = a * g->cos[i], bs = b * g->sin[i], as = a * sin, bc = b * cos;
        y[i] = rule ? sum_of_rounded(ac, -bs, rule) : ac - bs;
        y[n + i] = rule ? sum_of_rounded(bc, as, rule) : as + bc;
    }
}

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
#ifdef __aarch64__
    ROW(neon, QRN_ISA_NEON),
#endif
    ROW(ref, 0),
};
QRN_FAMILY(rotate, sizeof(qrn_rotate_args));
