// SPDX-License-Identifier: MIT
//
// The dense family in single precision.
#include "kernels/gemm/dense/dense.h"

#include "kernels/gemm/dense/dense_run.h"

bool qrn_dense_packed_shape(const qrn_dense_args *a, uint32_t dims[3]) {
    uint64_t panels = (uint64_t)qrn_panels(a->cols) * a->group;
    if (panels > UINT32_MAX)
        return false;
    dims[0] = (uint32_t)panels;
    dims[1] = a->depth;
    dims[2] = QRN_PANEL;
    return true;
}

void qrn_dense_pack(const qrn_dense_args *a, const float *w, size_t w_depth, size_t w_col,
                    float *packed) {
    for (uint32_t g = 0; g < a->group; g++)
        for (size_t j = 0; j < a->cols; j += QRN_PANEL, packed += (size_t)a->depth * QRN_PANEL)
            qrn_gemm_f32_pack_panel(w + (size_t)g * a->cols * w_col, w_depth, w_col, a->depth,
                                    a->cols, j, packed);
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_dense_run_tasks(k, k->args, n_threads);
}

#define ROW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "dense_" #isa, .domain = QRN_DOMAIN_F32, .needs = bit, .fn = dense_##isa,          \
        .tasks = tasks, .scratch = scratch_##isa                                                   \
    }
#define ENGINE(isa, tiles)                                                                         \
    static const qrn_dense_engine engine_##isa = {.gemm = &tiles};                                 \
    static qrn_status dense_##isa(const qrn_kcall *k) {                                            \
        return qrn_dense_run(k, k->args, &engine_##isa, false);                                    \
    }                                                                                              \
    static size_t scratch_##isa(const qrn_kcall *k) {                                              \
        return qrn_dense_run_scratch(k, k->args, &engine_##isa);                                   \
    }

#if defined(__x86_64__)
ENGINE(f32_avx512, qrn_gemm_f32_14x32_avx512)
ENGINE(f32_avx2, qrn_gemm_f32_6x32_avx2)
#elif defined(__aarch64__)
ENGINE(f32_neon, qrn_gemm_f32_6x32_neon)
#endif
ENGINE(f32_ref, qrn_gemm_f32_ref)

static const qrn_kernel dense_rows[] = {
#if defined(__x86_64__)
    ROW(f32_avx512, QRN_ISA_AVX512),
    ROW(f32_avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    ROW(f32_neon, QRN_ISA_NEON),
#endif
    ROW(f32_ref, 0),
};
QRN_FAMILY_REPORTS(dense, sizeof(qrn_dense_args));
