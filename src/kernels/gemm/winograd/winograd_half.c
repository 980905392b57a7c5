// SPDX-License-Identifier: MIT
//
// The winograd_half family.
#include "kernels/gemm/winograd/winograd_half.h"

#define TILES_LEAST 16 // of an image: with fewer, transforming the weights costs what is saved
#define CHANNELS_LEAST 32
#define CHANNELS_MOST 4096 // a panel of transformed weights is scratch
#define LANES_MOST 16

bool qrn_winograd_half_fits(const qrn_dense_args *a, const qrn_view *x, const qrn_view *y) {
    if (!qrn_winograd_shape(a))
        return false;
    size_t cin = x->dims[3], cout = y->dims[3], cells = (size_t)y->dims[1] * y->dims[2];
    size_t n = qrn_winograd_tiles(y, 2);
    bool channels = cin % LANES_MOST == 0 && cin >= CHANNELS_LEAST && cin <= CHANNELS_MOST &&
                    cout % LANES_MOST == 0 && cout >= CHANNELS_LEAST;
    return channels && n >= TILES_LEAST && 10 * n <= 3 * cells; // most tiles are whole
}

static const qrn_dense_args *dense_of(const qrn_kcall *k) {
    return &((const qrn_dense_half_args *)k->args)->dense;
}

static qrn_winograd_weights weights_of(const qrn_kcall *k, qrn_half_widen_fn widen) {
    return (qrn_winograd_weights){.halves = k->in[1]->data,
                                  .widen = widen,
                                  .wide = ((const qrn_dense_half_args *)k->args)->wide};
}

// The plain sum.
static void widen_ref(const uint16_t *halves, size_t n, bool wide, float *dst) {
    for (size_t i = 0; i < n; i++)
        dst[i] = qrn_half_value(halves[i], wide);
}

static const qrn_dense_engine engine_ref = {.gemm = &qrn_gemm_f32_ref, .widen = widen_ref};

static qrn_status run_ref(const qrn_kcall *k) {
    const qrn_dense_half_args *a = k->args;
    return qrn_dense_run(k, &a->dense, &engine_ref, a->wide);
}

static uint32_t tasks_ref(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_dense_run_tasks(k, dense_of(k), n_threads);
}

static size_t scratch_ref(const qrn_kcall *k) {
    return qrn_dense_run_scratch(k, dense_of(k), &engine_ref);
}

#define ROW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "winograd_half_" #isa, .domain = QRN_DOMAIN_F32, .needs = bit, .fn = run_##isa,    \
        .tasks = tasks_##isa, .scratch = scratch_##isa                                             \
    }
#define FUNCTIONS(isa, kernel, widen)                                                              \
    static qrn_status run_##isa(const qrn_kcall *k) {                                              \
        qrn_winograd_weights w = weights_of(k, widen);                                             \
        return qrn_winograd_run(k, dense_of(k), &kernel, &w);                                      \
    }                                                                                              \
    static uint32_t tasks_##isa(const qrn_kcall *k, uint32_t n_threads) {                          \
        return qrn_winograd_tasks(k, dense_of(k), &kernel, n_threads);                             \
    }                                                                                              \
    static size_t scratch_##isa(const qrn_kcall *k) {                                              \
        static const uint16_t some;                                                                \
        return qrn_winograd_scratch(k, dense_of(k), &kernel,                                       \
                                    &(qrn_winograd_weights){.halves = &some});                     \
    }

#if defined(__x86_64__)
FUNCTIONS(avx512, qrn_winograd_half_avx512, qrn_half_widen_avx512)
FUNCTIONS(avx2, qrn_winograd_half_avx2, qrn_half_widen_avx2)
#elif defined(__aarch64__)
FUNCTIONS(neon, qrn_winograd_half_neon, qrn_half_widen_neon)
#endif

static const qrn_kernel winograd_half_rows[] = {
#if defined(__x86_64__)
    ROW(avx512, QRN_ISA_AVX512),
    ROW(avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    ROW(neon, QRN_ISA_NEON),
#endif
    ROW(ref, 0),
};
QRN_FAMILY_TELLS(winograd_half, sizeof(qrn_dense_half_args));
