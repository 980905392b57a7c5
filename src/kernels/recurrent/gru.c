// SPDX-License-Identifier: MIT
//
// The GRU family.
#include "kernels/recurrent/recurrent.h"

#include "base/cpu.h"
#include "kernels/recurrent/recurrent_rows.h"

enum {
    W_XZ = 1,
    W_XR,
    W_XN,
    W_HZ,
    W_HR,
    W_HN,
    B_XZ,
    B_XR,
    B_XN,
    B_HZ,
    B_HR,
    B_HN,
    INITIAL_H,
    RESET
};

// Work space of one batch row.
typedef struct gru_row {
    size_t units;
    double *h, *z, *r, *part, *gated, *x;
} gru_row;

static const qrn_view *operand(const qrn_kcall *k, uint32_t i) {
    return i < k->n_in ? k->in[i] : NULL;
}

static size_t row_doubles(const qrn_kcall *k) {
    return (size_t)k->in[W_XZ]->dims[0] * 5 + k->in[W_XZ]->dims[1];
}

static gru_row row_of(const qrn_kcall *k) {
    gru_row r = {.units = k->in[W_XZ]->dims[0]};
    r.h = (double *)k->scratch + k->task * row_doubles(k);
    r.z = r.h + r.units;
    r.r = r.z + r.units;
    r.part = r.r + r.units;
    r.gated = r.part + r.units;
    r.x = r.gated + r.units;
    return r;
}

#define T float
#define NAME(x) x##_f32_ref
#include "kernels/recurrent/gemv.inc"
#include "kernels/recurrent/gru.inc"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64_ref
#include "kernels/recurrent/gemv.inc"
#include "kernels/recurrent/gru.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    const qrn_gru_args *a = k->args;
    return row_tasks(sequence_of(k->in[0], a->time_major), row_doubles(k), n_threads);
}

static size_t scratch(const qrn_kcall *k) { return k->n_tasks * row_doubles(k) * sizeof(double); }

// The layer as the vector rows have it.
static qrn_fast_layer layer_of(const qrn_kcall *k) {
    const qrn_gru_args *a = k->args;
    return (qrn_fast_layer){.n_gates = 3,
                            .units = k->in[W_XZ]->dims[0],
                            .wx = {W_XZ, W_XR, W_XN},
                            .wh = {W_HZ, W_HR, W_HN},
                            .bias = {B_XZ, B_XR, B_XN, B_HZ, B_HR, B_HN},
                            .late = !a->linear_before_reset,
                            .wh_early = {W_HZ, W_HR},
                            .wh_late = {0, 0, W_HN},
                            .h_init = INITIAL_H,
                            .reset = RESET,
                            .h_out = 1,
                            .reverse = a->reverse,
                            .s = sequence_of(k->in[0], a->time_major)};
}

static size_t fast_scratch(const qrn_kcall *k) {
    qrn_fast_layer l = layer_of(k);
    return qrn_fast_scratch(k, &l);
}

// clang-format off
#define FAST(isa)                                                                                  \
    static qrn_status gru_f32_##isa(const qrn_kcall *k) {                                          \
        qrn_fast_layer l = layer_of(k);                                                            \
        return qrn_recurrent_f32_##isa(k, &l);                                                     \
    }
#define ROW(isa, ISA)                                                                              \
    {.name = "gru_f32_" #isa, .domain = QRN_DOMAIN_F32, .needs = ISA,                              \
     .fn = gru_f32_##isa, .tasks = tasks, .scratch = fast_scratch}
// clang-format on

#ifdef __x86_64__
FAST(avx512)
FAST(avx2)
#endif
#ifdef __aarch64__
FAST(neon)
#endif

static const qrn_kernel gru_rows[] = {
#ifdef __x86_64__
    ROW(avx512, QRN_ISA_AVX512),
    ROW(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    ROW(neon, QRN_ISA_NEON),
#endif
    {.name = "gru_f32_ref",
     .domain = QRN_DOMAIN_F32,
     .fn = gru_f32_ref,
     .tasks = tasks,
     .scratch = scratch},
    {.name = "gru_f64_ref",
     .domain = QRN_DOMAIN_F64,
     .fn = gru_f64_ref,
     .tasks = tasks,
     .scratch = scratch},
};
QRN_FAMILY(gru, sizeof(qrn_gru_args));
