// SPDX-License-Identifier: MIT
//
// The softmax family.
#include "kernels/softmax/softmax.h"

#include "base/cpu.h"
#include "kernels/softmax/softmax_q.h"
#include "kernels/softmax/softmax_rows.h"

#include <math.h>

#define T float
#define FN softmax_f32_ref
#include "kernels/softmax/softmax.inc"
#undef T
#undef FN
#define T double
#define FN softmax_f64_ref
#include "kernels/softmax/softmax.inc"

static qrn_status softmax_q_ref(const qrn_kcall *k) {
    const qrn_softmax_args *a = k->args;
    const qrn_view *x = k->in[0];
    size_t n = x->dims[a->axis], inner = qrn_view_span(x, a->axis + 1, x->rank), begin, end;
    qrn_softmax_row r = {.x = x, .beta = (double)a->beta, .n = n, .step = inner};
    qrn_split(qrn_view_span(x, 0, a->axis) * inner, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t row = begin; row < end; row++) {
        r.at = row / inner * n * inner + row % inner;
        qrn_softmax_measure(&r);
        for (size_t i = 0; i < n; i++) {
            double y = qrn_softmax_real(&r, i);
            qrn_io_store(k->out[0], r.at + i * inner, 1, &y);
        }
    }
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_view_count(k->in[0]) < 16384 ? 1 : n_threads;
}

static bool last_axis(const qrn_kcall *k) {
    return ((const qrn_softmax_args *)k->args)->axis + 1 == k->in[0]->rank;
}

static bool elements_lie_together(const qrn_kcall *k) {
    const qrn_view *x = k->in[0];
    return qrn_view_span(x, ((const qrn_softmax_args *)k->args)->axis + 1, x->rank) == 1;
}

// Encodings for which floats are good enough: distances that are whole numbers of a sensible size,
// results that fit, and reals whose own rounding is nothing beside that of floats.
bool qrn_softmax_q_works(const qrn_kcall *k) {
    const qrn_softmax_args *a = k->args;
    const qrn_quant *x = k->in[0]->quant, *y = k->out[0]->quant;
    double step = (double)a->beta * (double)x->scale;
    double range = qrn_view_elem(k->in[0]) == 1 ? 256 : 65536;
    return last_axis(k) && step > 1e-30 && step < 64 && y->shift == 0.0f &&
           step * (range + fabs((double)x->offset)) < 1e6 && (double)y->scale > 0x1p-20 &&
           fabs((double)y->offset) < 1 << 20;
}

size_t qrn_softmax_q_scratch(const qrn_kcall *k) {
    // The largest number of elements need not be the one that takes most room.
    size_t n = k->in[0]->dims[k->in[0]->rank - 1], few = n < QRN_SOFTMAX_FEW ? n : QRN_SOFTMAX_FEW;
    size_t one = qrn_softmax_room(n), several = QRN_SOFTMAX_ROWS * qrn_softmax_room(few);
    return k->n_tasks * (one > several ? one : several) * sizeof(float);
}

// clang-format off
#define QUANTIZED(isa, ISA)                                                                        \
    {.name = "softmax_q_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA,                            \
     .works = qrn_softmax_q_works,                                                                 \
     .fn = qrn_softmax_q_##isa, .tasks = tasks, .scratch = qrn_softmax_q_scratch}
#define COLUMNS(isa, ISA)                                                                          \
    {.name = "softmax_columns_f32_" #isa, .domain = QRN_DOMAIN_F32, .needs = ISA,                  \
     .fn = qrn_softmax_columns_f32_##isa, .tasks = tasks}
#define FAST(isa, ISA)                                                                             \
    {.name = "softmax_f32_" #isa, .domain = QRN_DOMAIN_F32, .needs = ISA,                          \
     .works = elements_lie_together,                                                               \
     .fn = qrn_softmax_f32_##isa, .tasks = tasks}

static const qrn_kernel softmax_rows[] = {
#ifdef __x86_64__
    FAST(avx512, QRN_ISA_AVX512),
    FAST(avx2, QRN_ISA_AVX2),
    COLUMNS(avx512, QRN_ISA_AVX512),
    QUANTIZED(avx512, QRN_ISA_AVX512),
    COLUMNS(avx2, QRN_ISA_AVX2),
    QUANTIZED(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    FAST(neon, QRN_ISA_NEON),
    COLUMNS(neon, QRN_ISA_NEON),
    QUANTIZED(neon, QRN_ISA_NEON),
#endif
    {.name = "softmax_f32_ref", .domain = QRN_DOMAIN_F32, .fn = softmax_f32_ref, .tasks = tasks},
    {.name = "softmax_f64_ref", .domain = QRN_DOMAIN_F64, .fn = softmax_f64_ref, .tasks = tasks},
    {.name = "softmax_q_ref", .domain = QRN_DOMAIN_RAW, .fn = softmax_q_ref,
     .tasks = tasks},
};
QRN_FAMILY(softmax, sizeof(qrn_softmax_args));
// clang-format on
