// SPDX-License-Identifier: MIT
//
// The winograd_f16 family.
#include "kernels/gemm/winograd/winograd_f16.h"

#define TILES_LEAST 16 // of an image: with fewer, transforming the weights costs what is saved
#define CHANNELS_LEAST 32
#define CHANNELS_MOST 4096 // a panel of transformed weights is scratch
#define LANES_MOST 16

bool qrn_winograd_f16_fits(const qrn_dense_args *a, const qrn_view *x, const qrn_view *y) {
    if (!qrn_winograd_shape(a))
        return false;
    size_t cin = x->dims[3], cout = y->dims[3], cells = (size_t)y->dims[1] * y->dims[2];
    size_t n = qrn_winograd_tiles(y, 2);
    bool channels = cin % LANES_MOST == 0 && cin >= CHANNELS_LEAST && cin <= CHANNELS_MOST &&
                    cout % LANES_MOST == 0 && cout >= CHANNELS_LEAST;
    return channels && n >= TILES_LEAST && 10 * n <= 3 * cells; // most tiles are whole
}

static const qrn_dense_args *dense_of(const qrn_kcall *k) {
    return &((const qrn_dense_f16_args *)k->args)->dense;
}

static qrn_winograd_weights weights_of(const qrn_kcall *k, qrn_f16_to_f32_fn to_f32) {
    return (qrn_winograd_weights){.f16 = k->in[1]->data,
                                  .to_f32 = to_f32,
                                  .wide_range = ((const qrn_dense_f16_args *)k->args)->wide_range};
}

// The plain sum.
static void f16_to_f32_ref(const uint16_t *f16, size_t n, bool wide_range, float *dst) {
    for (size_t i = 0; i < n; i++)
        dst[i] = qrn_fp16_value(f16[i], wide_range);
}

static const qrn_dense_engine engine_ref = {.gemm = &qrn_gemm_f32_ref, .to_f32 = f16_to_f32_ref};

static qrn_status run_ref(const qrn_kcall *k) {
    const qrn_dense_f16_args *a = k->args;
    return qrn_dense_run(k, &a->dense, &engine_ref, a->wide_range);
}

static uint32_t tasks_ref(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_dense_run_tasks(k, dense_of(k), n_threads);
}

static size_t scratch_ref(const qrn_kcall *k) {
    return qrn_dense_run_scratch(k, dense_of(k), &engine_ref);
}

#define ROW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "winograd_f16_" #isa, .domain = QRN_DOMAIN_F32, .needs = bit, .fn = run_##isa,     \
        .tasks = tasks_##isa, .scratch = scratch_##isa                                             \
    }
#define FUNCTIONS(isa, kernel, to_f32)                                                             \
    static qrn_status run_##isa(const qrn_kcall *k) {                                              \
        qrn_winograd_weights w = weights_of(k, to_f32);                                            \
        return qrn_winograd_run(k, dense_of(k), &kernel, &w);                                      \
    }                                                                                              \
    static uint32_t tasks_##isa(const qrn_kcall *k, uint32_t n_threads) {                          \
        return qrn_winograd_tasks(k, dense_of(k), &kernel, n_threads);                             \
    }                                                                                              \
    static size_t scratch_##isa(const qrn_kcall *k) {                                              \
        static const uint16_t some;                                                                \
        return qrn_winograd_scratch(k, dense_of(k), &kernel,                                       \
                                    &(qrn_winograd_weights){.f16 = &some});                        \
    }

#if defined(__x86_64__)
FUNCTIONS(avx512, qrn_winograd_f16_avx512, qrn_f16_to_f32_avx512)
FUNCTIONS(avx2, qrn_winograd_f16_avx2, qrn_f16_to_f32_avx2)
#elif defined(__aarch64__)
FUNCTIONS(neon, qrn_winograd_f16_neon, qrn_f16_to_f32_neon)
#endif

static const qrn_kernel winograd_f16_rows[] = {
#if defined(__x86_64__)
    ROW(avx512, QRN_ISA_AVX512),
    ROW(avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    ROW(neon, QRN_ISA_NEON),
#endif
    ROW(ref, 0),
};
QRN_FAMILY_REPORTS(winograd_f16, sizeof(qrn_dense_f16_args));
