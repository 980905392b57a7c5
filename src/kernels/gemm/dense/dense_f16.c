// SPDX-License-Identifier: MIT
//
// The dense_f16 family: packing, and the rows.
#include "kernels/gemm/dense/dense_f16.h"

#include "kernels/fp16/round_fp16_rows.h"

static float weight_at(const qrn_view *w, size_t at, qrn_fp16_rule rule, qrn_fp16_edge edge) {
    if (w->dtype == QRN_DTYPE_F32)
        return qrn_fp16_round_f32(((const float *)w->data)[at], edge);
    if (w->dtype == QRN_DTYPE_F16)
        return qrn_fp16_round_f32(qrn_f16_to_f32(((const uint16_t *)w->data)[at]), edge);
    return (float)qrn_fp16_round_constant(qrn_view_real(w, at), rule);
}

void qrn_dense_f16_pack(const qrn_dense_args *a, const qrn_view *w, size_t w_depth, size_t w_col,
                        qrn_fp16_rule rule, uint16_t *packed) {
    qrn_fp16_edge edge = qrn_fp16_edge_of_constants(rule);
    for (uint32_t g = 0; g < a->group; g++)
        for (size_t j0 = 0; j0 < a->cols; j0 += QRN_PANEL)
            for (size_t k = 0; k < a->depth; k++)
                for (size_t j = j0; j < j0 + QRN_PANEL; j++) {
                    size_t at = k * w_depth + ((size_t)g * a->cols + j) * w_col;
                    bool real = j < a->cols;
                    *packed++ = real ? qrn_fp16_bits(weight_at(w, at, rule, edge)) : 0;
                }
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_dense_run_tasks(k, &((const qrn_dense_f16_args *)k->args)->dense, n_threads);
}

void qrn_f16_to_f32_ref(const uint16_t *f16, size_t n, bool wide_range, float *dst) {
    for (size_t i = 0; i < n; i++)
        dst[i] = qrn_fp16_value(f16[i], wide_range);
}

#define ROW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "dense_f16_" #isa, .domain = QRN_DOMAIN_F32, .needs = bit, .fn = run_##isa,        \
        .tasks = tasks, .scratch = scratch_##isa                                                   \
    }
#define ENGINE(isa, gemm, to_f32, few)                                                             \
    static const qrn_dense_engine engine_##isa = {&gemm, to_f32, few};                             \
    static qrn_status run_##isa(const qrn_kcall *k) {                                              \
        const qrn_dense_f16_args *a = k->args;                                                     \
        return qrn_dense_run(k, &a->dense, &engine_##isa, a->wide_range);                          \
    }                                                                                              \
    static size_t scratch_##isa(const qrn_kcall *k) {                                              \
        const qrn_dense_f16_args *a = k->args;                                                     \
        return qrn_dense_run_scratch(k, &a->dense, &engine_##isa);                                 \
    }

#if defined(__x86_64__)
ENGINE(avx512, qrn_gemm_f32_14x32_avx512, qrn_f16_to_f32_avx512, qrn_gemm_f16w_avx512)
ENGINE(avx2, qrn_gemm_f32_6x32_avx2, qrn_f16_to_f32_avx2, qrn_gemm_f16w_avx2)
#elif defined(__aarch64__)
ENGINE(neon, qrn_gemm_f32_6x32_neon, qrn_f16_to_f32_neon, qrn_gemm_f16w_neon)
#endif
ENGINE(ref, qrn_gemm_f32_ref, qrn_f16_to_f32_ref, NULL)

static const qrn_kernel dense_f16_rows[] = {
#if defined(__x86_64__)
    ROW(avx512, QRN_ISA_AVX512),
    ROW(avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    ROW(neon, QRN_ISA_NEON),
#endif
    ROW(ref, 0),
};
QRN_FAMILY_REPORTS(dense_f16, sizeof(qrn_dense_f16_args));
