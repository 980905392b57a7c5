// SPDX-License-Identifier: MIT
//
// The dense_half family: packing, and the rows.
#include "kernels/gemm/dense/dense_half.h"

#include "kernels/half/half_rows.h"

static float weight_at(const qrn_view *w, size_t at, qrn_half rule, qrn_half_edge edge) {
    if (w->dtype == QRN_DTYPE_F32)
        return qrn_half_round_f32(((const float *)w->data)[at], edge);
    if (w->dtype == QRN_DTYPE_F16)
        return qrn_half_round_f32(qrn_f16_to_f32(((const uint16_t *)w->data)[at]), edge);
    return (float)qrn_half_round(qrn_view_real(w, at), rule);
}

void qrn_dense_half_pack(const qrn_dense_args *a, const qrn_view *w, size_t w_depth, size_t w_col,
                         qrn_half rule, uint16_t *packed) {
    qrn_half_edge edge = qrn_half_edge_of(rule);
    for (uint32_t g = 0; g < a->group; g++)
        for (size_t j0 = 0; j0 < a->cols; j0 += QRN_PANEL)
            for (size_t k = 0; k < a->depth; k++)
                for (size_t j = j0; j < j0 + QRN_PANEL; j++) {
                    size_t at = k * w_depth + ((size_t)g * a->cols + j) * w_col;
                    bool real = j < a->cols;
                    *packed++ = real ? qrn_half_bits(weight_at(w, at, rule, edge)) : 0;
                }
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_dense_run_tasks(k, &((const qrn_dense_half_args *)k->args)->dense, n_threads);
}

static void widen_ref(const uint16_t *halves, size_t n, bool wide, float *dst) {
    for (size_t i = 0; i < n; i++)
        dst[i] = qrn_half_value(halves[i], wide);
}

#define ROW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "dense_half_" #isa, .domain = QRN_DOMAIN_F32, .needs = bit, .fn = run_##isa,       \
        .tasks = tasks, .scratch = scratch_##isa                                                   \
    }
#define ENGINE(isa, gemm, widen, few)                                                              \
    static const qrn_dense_engine engine_##isa = {&gemm, widen, few};                              \
    static qrn_status run_##isa(const qrn_kcall *k) {                                              \
        const qrn_dense_half_args *a = k->args;                                                    \
        return qrn_dense_run(k, &a->dense, &engine_##isa, a->wide);                                \
    }                                                                                              \
    static size_t scratch_##isa(const qrn_kcall *k) {                                              \
        const qrn_dense_half_args *a = k->args;                                                    \
        return qrn_dense_run_scratch(k, &a->dense, &engine_##isa);                                 \
    }

#if defined(__x86_64__)
ENGINE(avx512, qrn_gemm_f32_14x32_avx512, qrn_half_widen_avx512, qrn_few_half_avx512)
ENGINE(avx2, qrn_gemm_f32_6x32_avx2, qrn_half_widen_avx2, qrn_few_half_avx2)
#elif defined(__aarch64__)
ENGINE(neon, qrn_gemm_f32_6x32_neon, qrn_half_widen_neon, NULL)
#endif
ENGINE(ref, qrn_gemm_f32_ref, widen_ref, NULL)

static const qrn_kernel dense_half_rows[] = {
#if defined(__x86_64__)
    ROW(avx512, QRN_ISA_AVX512),
    ROW(avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    ROW(neon, QRN_ISA_NEON),
#endif
    ROW(ref, 0),
};
QRN_FAMILY_TELLS(dense_half, sizeof(qrn_dense_half_args));
