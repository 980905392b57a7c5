// SPDX-License-Identifier: MIT
//
// The reduce and moments families.
#include "kernels/reduce/reduce.h"

#include "base/cpu.h"
#include "kernels/convert.h"
#include "kernels/reduce/reduce_q.h"
#include "kernels/reduce/reduce_rows.h"

void qrn_reduce_walks(const qrn_view *x, uint32_t axes, qrn_walk *outer, qrn_walk *inner) {
    qrn_walk_init(outer, 1);
    qrn_walk_init(inner, 1);
    for (uint32_t d = 0; d < x->rank; d++) {
        size_t stride = qrn_view_span(x, d + 1, x->rank);
        qrn_walk_push(axes >> d & 1 ? inner : outer, x->dims[d], &stride);
    }
}

#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define IS_NAN(v) ((v) != (v))
#define A double
#define T float
#define REDUCE_ONE reduce_one_f32
#define FN qrn_reduce_f32_ref
#include "kernels/reduce/reduce.inc"
#undef FN
#define FN moments_f32_ref
#include "kernels/reduce/moments.inc"
#undef T
#undef REDUCE_ONE
#undef FN

#define T double
#define REDUCE_ONE reduce_one_f64
#define FN qrn_reduce_f64_ref
#include "kernels/reduce/reduce.inc"
#undef FN
#define FN moments_f64_ref
#include "kernels/reduce/moments.inc"
#undef T
#undef A
#undef REDUCE_ONE
#undef FN
#undef PLUS
#undef TIMES
#undef IS_NAN

#define PLUS(a, b) (int64_t)((uint64_t)(a) + (uint64_t)(b))
#define TIMES(a, b) (int64_t)((uint64_t)(a) * (uint64_t)(b))
#define IS_NAN(v) 0
#define A int64_t
#define T int64_t
#define REDUCE_ONE reduce_one_i64
#define FN qrn_reduce_i64_ref
#include "kernels/reduce/reduce.inc"

bool qrn_reduce_q_work(uint32_t op, const qrn_view *x, const qrn_view *y, double count) {
    bool supported = op == QRN_REDUCE_SUM || op == QRN_REDUCE_MEAN || op == QRN_REDUCE_MAX ||
                     op == QRN_REDUCE_MIN;
    const qrn_view *both[2] = {x, y};
    for (int i = 0; i < 2; i++)
        supported = supported && qrn_dtype_is_fixed(both[i]->dtype) && qrn_io_supports(both[i]) &&
                    both[i]->quant->shift == 0.0f && both[i]->quant->scale > 0.0f &&
                    fabs((double)both[i]->quant->offset) <= 65536;
    // Beyond that many elements doubt would spread.
    return supported && count > 0 && count <= 0x1p20;
}

double qrn_reduce_q_in_order(uint32_t op, const qrn_view *x, size_t at, const qrn_walk *inner) {
    double sum = 0, top = qrn_view_real(x, at), bottom = top;
    size_t count = qrn_walk_count(inner);
    for (size_t i = 0; i < count; i++) {
        double v = qrn_view_real(x, at + qrn_walk_at(inner, 0, i));
        sum += v;
        top = v > top ? v : top;
        bottom = v < bottom ? v : bottom;
    }
    return op == QRN_REDUCE_MAX    ? top
           : op == QRN_REDUCE_MIN  ? bottom
           : op == QRN_REDUCE_MEAN ? sum / (double)count
                                   : sum;
}

static qrn_status reduce_q_ref(const qrn_kcall *k) {
    const qrn_reduce_args *a = k->args;
    qrn_walk outer, inner;
    qrn_reduce_walks(k->in[0], a->axes, &outer, &inner);
    size_t begin, end;
    qrn_split(qrn_walk_count(&outer), 1, k->task, k->n_tasks, &begin, &end);
    if (!qrn_walk_count(&inner))
        return QRN_E_ARGUMENT;
    for (size_t o = begin; o < end; o++) {
        size_t at = qrn_walk_at(&outer, 0, o);
        double y = qrn_reduce_q_in_order(a->op, k->in[0], at, &inner);
        qrn_view real = {.data = &y, .dtype = QRN_DTYPE_F64, .rank = 1, .dims = {1}};
        qrn_view q = *k->out[0];
        q.data = (char *)q.data + o * qrn_view_elem(&q);
        qrn_convert_range(&real, &q, 0, 1, false);
    }
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    uint32_t most = qrn_walk_tasks(qrn_view_count(k->in[0]), n_threads);
    size_t results = qrn_view_count(k->out[0]);
    return results < most ? (uint32_t)results : most;
}

bool qrn_reduce_rows_work(const qrn_kcall *k) {
    const qrn_reduce_args *a = k->args;
    qrn_walk outer, inner;
    qrn_reduce_walks(k->in[0], a->axes, &outer, &inner);
    return a->op != QRN_REDUCE_PROD && qrn_walk_step(&inner, 0) == 1 && qrn_walk_row(&inner) >= 16;
}

bool qrn_reduce_columns_work(const qrn_kcall *k) {
    const qrn_reduce_args *a = k->args;
    qrn_walk outer, inner;
    qrn_reduce_walks(k->in[0], a->axes, &outer, &inner);
    return a->op != QRN_REDUCE_PROD && qrn_walk_step(&outer, 0) == 1 && qrn_walk_row(&outer) >= 8;
}

// clang-format off
#define QUANTIZED(isa, ISA)                                                                        \
    {.name = "reduce_q_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA,                         \
     .fn = qrn_reduce_q_##isa, .tasks = tasks}
#define FAST(type, domain_, isa, ISA)                                                              \
    {.name = "reduce_rows_" #type "_" #isa, .domain = domain_, .needs = ISA,                       \
     .works = qrn_reduce_rows_work, .fn = qrn_reduce_rows_##type##_##isa, .tasks = tasks},         \
    {.name = "reduce_columns_" #type "_" #isa, .domain = domain_, .needs = ISA,                    \
     .works = qrn_reduce_columns_work, .fn = qrn_reduce_columns_##type##_##isa, .tasks = tasks}

static const qrn_kernel reduce_rows[] = {
#ifdef __x86_64__
    FAST(f32, QRN_DOMAIN_F32, avx512, QRN_ISA_AVX512),
    FAST(f32, QRN_DOMAIN_F32, avx2, QRN_ISA_AVX2),
    FAST(f64, QRN_DOMAIN_F64, avx512, QRN_ISA_AVX512),
    FAST(f64, QRN_DOMAIN_F64, avx2, QRN_ISA_AVX2),
    QUANTIZED(avx512, QRN_ISA_AVX512),
    QUANTIZED(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    FAST(f32, QRN_DOMAIN_F32, neon, QRN_ISA_NEON),
    FAST(f64, QRN_DOMAIN_F64, neon, QRN_ISA_NEON),
    QUANTIZED(neon, QRN_ISA_NEON),
#endif
    {.name = "reduce_f32_ref", .domain = QRN_DOMAIN_F32, .fn = qrn_reduce_f32_ref, .tasks = tasks},
    {.name = "reduce_f64_ref", .domain = QRN_DOMAIN_F64, .fn = qrn_reduce_f64_ref, .tasks = tasks},
    {.name = "reduce_i64_ref", .domain = QRN_DOMAIN_I64, .fn = qrn_reduce_i64_ref, .tasks = tasks},
    {.name = "reduce_q_ref", .domain = QRN_DOMAIN_RAW, .fn = reduce_q_ref, .tasks = tasks},
};
QRN_FAMILY(reduce, sizeof(qrn_reduce_args));
// clang-format on

// Two reductions over all axes.
static qrn_status extremes_ref(const qrn_kcall *k, qrn_kernel_fn reduce) {
    qrn_reduce_args args = {QRN_REDUCE_MIN, (1u << k->in[0]->rank) - 1};
    qrn_kcall one = *k;
    one.args = &args;
    QRN_TRY(reduce(&one));
    args.op = QRN_REDUCE_MAX;
    one.out = k->out + 1;
    return reduce(&one);
}

static qrn_status extremes_f32_ref(const qrn_kcall *k) {
    return extremes_ref(k, qrn_reduce_f32_ref);
}

static qrn_status extremes_f64_ref(const qrn_kcall *k) {
    return extremes_ref(k, qrn_reduce_f64_ref);
}

// clang-format off
#define BOTH(type, domain_, isa, ISA)                                                              \
    {.name = "extremes_" #type "_" #isa, .domain = domain_, .needs = ISA,                          \
     .fn = qrn_extremes_##type##_##isa}

static const qrn_kernel extremes_rows[] = {
#ifdef __x86_64__
    BOTH(f32, QRN_DOMAIN_F32, avx512, QRN_ISA_AVX512),
    BOTH(f32, QRN_DOMAIN_F32, avx2, QRN_ISA_AVX2),
    BOTH(f64, QRN_DOMAIN_F64, avx512, QRN_ISA_AVX512),
    BOTH(f64, QRN_DOMAIN_F64, avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    BOTH(f32, QRN_DOMAIN_F32, neon, QRN_ISA_NEON),
    BOTH(f64, QRN_DOMAIN_F64, neon, QRN_ISA_NEON),
#endif
    {.name = "extremes_f32_ref", .domain = QRN_DOMAIN_F32, .fn = extremes_f32_ref},
    {.name = "extremes_f64_ref", .domain = QRN_DOMAIN_F64, .fn = extremes_f64_ref},
};
QRN_FAMILY(extremes, 0);
// clang-format on

static const qrn_kernel moments_rows[] = {
    {.name = "moments_f32_ref", .domain = QRN_DOMAIN_F32, .fn = moments_f32_ref, .tasks = tasks},
    {.name = "moments_f64_ref", .domain = QRN_DOMAIN_F64, .fn = moments_f64_ref, .tasks = tasks},
};
QRN_FAMILY(moments, sizeof(qrn_reduce_args));
