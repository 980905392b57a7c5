// SPDX-License-Identifier: MIT
//
// The norm, affine and lrn families.
#include "kernels/norm/norm.h"

#include "base/cpu.h"
#include "kernels/norm/norm_q.h"
#include "kernels/norm/norm_rows.h"

#include <math.h>

void qrn_norm_walks(const qrn_norm_args *a, const qrn_view *x, qrn_walk *outer, qrn_walk *inner) {
    size_t param[QRN_MAX_RANK] = {0}; // strides of gamma
    uint32_t reduced = 0;
    size_t step = 1;
    for (uint32_t i = a->n_axes; i-- > 0;) {
        reduced |= 1u << a->axes[i];
        param[a->axes[i]] = a->per_channel ? 0 : step;
        step *= x->dims[a->axes[i]];
    }
    if (a->per_channel)
        param[x->rank - 1] = 1;
    qrn_walk_init(outer, 2);
    qrn_walk_init(inner, 2);
    for (uint32_t d = 0; d < x->rank; d++) {
        size_t dim = x->dims[d], strides[2] = {qrn_view_span(x, d + 1, x->rank), param[d]};
        if (d + 1 == x->rank && a->group) {
            size_t each = dim / a->group, group_strides[2] = {each, param[d] * each};
            qrn_walk_push(outer, a->group, group_strides);
            dim = each;
        }
        qrn_walk_push(reduced >> d & 1 ? inner : outer, dim, strides);
    }
}

qrn_norm_stats qrn_norm_finish(const qrn_norm_args *a, double mean, double squares, double n) {
    double epsilon = (double)a->epsilon, root = sqrt(squares);
    switch (a->kind) {
    case QRN_NORM_CENTER:
        return (qrn_norm_stats){mean, 1};
    case QRN_NORM_ROOT_SUM:
        return (qrn_norm_stats){0, 1 / sqrt(squares + epsilon)};
    case QRN_NORM_L2:
        return (qrn_norm_stats){0, 1 / (root < epsilon ? epsilon : root)};
    default:
        return (qrn_norm_stats){mean, 1 / sqrt(squares / n + epsilon)};
    }
}

// Indices [first, last) at most `radius` away from `at` in an axis of `n`.
typedef struct window {
    size_t first, last;
} window;

static window window_at(size_t at, size_t n, int32_t radius) {
    size_t r = (size_t)radius;
    return (window){at < r ? 0 : at - r, n - at <= r ? n : at + r + 1};
}

#define T float
#define NAME(x) x##_f32_ref
#include "kernels/norm/norm.inc"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64_ref
#include "kernels/norm/norm.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->in[0]), n_threads);
}

bool qrn_norm_contiguous(const qrn_kcall *k) {
    qrn_walk outer, inner;
    qrn_norm_walks(k->args, k->in[0], &outer, &inner);
    return inner.rank == 1 && qrn_walk_step(&inner, 0) == 1 && qrn_walk_step(&inner, 1) <= 1;
}

bool qrn_norm_columns_of(const qrn_kcall *k, qrn_norm_columns *n) {
    const qrn_norm_args *a = k->args;
    const qrn_view *x = k->in[0];
    if (!a->per_channel || a->n_axes == 0 || x->rank < 2)
        return false;
    uint32_t first = a->axes[0], last = x->rank - 1, behind = first + a->n_axes;
    for (uint32_t i = 0; i < a->n_axes; i++)
        if (a->axes[i] != first + i)
            return false;
    bool groups = a->group > 0 && behind == last + 1 && x->dims[last] % a->group == 0;
    if (!groups && !(a->group == 0 && behind == last))
        return false;
    *n = (qrn_norm_columns){.batch = qrn_view_span(x, 0, first),
                            .rows = qrn_view_span(x, first, last),
                            .channels = x->dims[last],
                            .each = groups ? x->dims[last] / a->group : 1};
    n->width = (n->each ? (64 + n->each - 1) / n->each : 1) * n->each;
    return n->each > 0;
}

static bool columns_work(const qrn_kcall *k) {
    qrn_norm_columns n;
    return qrn_norm_columns_of(k, &n);
}

static size_t columns_scratch(const qrn_kcall *k) {
    qrn_norm_columns n;
    // Smaller sets may be done more channels at a time, but never so many more.
    return qrn_norm_columns_of(k, &n) ? k->n_tasks * 4 * (n.each + 64) * sizeof(double) : 0;
}

// Two doubles and two floats for each parameter.
static size_t q_scratch(const qrn_kcall *k) {
    return k->n_tasks * 3 * qrn_norm_params(k) * sizeof(double);
}

// clang-format off
#define COLUMNS(isa, ISA)                                                                          \
    {.name = "norm_columns_f32_" #isa, .domain = QRN_DOMAIN_F32, .needs = ISA,                     \
     .works = columns_work, .fn = qrn_norm_columns_f32_##isa, .tasks = tasks,                      \
     .scratch = columns_scratch}
#define QUANTIZED(isa, ISA)                                                                        \
    {.name = "norm_q_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA,                           \
     .works = qrn_norm_q_run, .fn = qrn_norm_q_##isa, .tasks = tasks,                      \
     .scratch = q_scratch}
#define FAST(type, domain_, isa, ISA)                                                              \
    {.name = "norm_" #type "_" #isa, .domain = domain_, .needs = ISA,                              \
     .works = qrn_norm_contiguous, .fn = qrn_norm_##type##_##isa, .tasks = tasks}
#define REF(fam, type, domain_)                                                                    \
    {.name = #fam "_" #type "_ref", .domain = domain_, .fn = fam##_##type##_ref, .tasks = tasks}

static const qrn_kernel norm_rows[] = {
#ifdef __x86_64__
    FAST(f32, QRN_DOMAIN_F32, avx512, QRN_ISA_AVX512),
    FAST(f32, QRN_DOMAIN_F32, avx2, QRN_ISA_AVX2),
    FAST(f64, QRN_DOMAIN_F64, avx512, QRN_ISA_AVX512),
    FAST(f64, QRN_DOMAIN_F64, avx2, QRN_ISA_AVX2),
    COLUMNS(avx512, QRN_ISA_AVX512),
    COLUMNS(avx2, QRN_ISA_AVX2),
    QUANTIZED(avx512, QRN_ISA_AVX512),
    QUANTIZED(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    FAST(f32, QRN_DOMAIN_F32, neon, QRN_ISA_NEON),
    FAST(f64, QRN_DOMAIN_F64, neon, QRN_ISA_NEON),
    COLUMNS(neon, QRN_ISA_NEON),
    QUANTIZED(neon, QRN_ISA_NEON),
#endif
    {.name = "norm_f32_ref", .domain = QRN_DOMAIN_F32, .fn = qrn_norm_f32_ref, .tasks = tasks},
    {.name = "norm_f64_ref", .domain = QRN_DOMAIN_F64, .fn = qrn_norm_f64_ref, .tasks = tasks},
    {.name = "norm_q_ref", .domain = QRN_DOMAIN_RAW, .fn = qrn_norm_q_ref, .tasks = tasks},
};
QRN_FAMILY(norm, sizeof(qrn_norm_args));

#define AFFINE(isa, ISA)                                                                           \
    {.name = "affine_f32_" #isa, .domain = QRN_DOMAIN_F32, .needs = ISA,                           \
     .fn = qrn_affine_f32_##isa, .tasks = tasks}

static const qrn_kernel affine_rows[] = {
#ifdef __x86_64__
    AFFINE(avx512, QRN_ISA_AVX512),
    AFFINE(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    AFFINE(neon, QRN_ISA_NEON),
#endif
    REF(affine, f32, QRN_DOMAIN_F32),
    REF(affine, f64, QRN_DOMAIN_F64),
};
QRN_FAMILY(affine, 0);

static const qrn_kernel lrn_rows[] = {
    REF(lrn, f32, QRN_DOMAIN_F32),
    REF(lrn, f64, QRN_DOMAIN_F64),
};
QRN_FAMILY(lrn, sizeof(qrn_lrn_args));
// clang-format on
