// SPDX-License-Identifier: MIT
//
// The arg, cumsum and topk families.
#include "kernels/reduce/along.h"

#include "base/cpu.h"
#include "base/fp16.h"
#include "kernels/reduce/along_rows.h"
#include "kernels/walk.h"

static void store_index(qrn_view *y, size_t at, size_t index) {
    switch (y->dtype) {
    case QRN_DTYPE_F32:
        ((float *)y->data)[at] = (float)index;
        break;
    case QRN_DTYPE_F16:
        ((uint16_t *)y->data)[at] = qrn_f16_from_f64((double)index);
        break;
    default:
        ((uint32_t *)y->data)[at] = (uint32_t)index;
        break;
    }
}

#define PLUS(a, b) ((a) + (b))
#define GREATER(a, b) ((a) > (b) || ((a) != (a) && (b) == (b)))
#define A double
#define T float
#define NAME(x) x##_f32_ref
#include "kernels/reduce/along.inc"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64_ref
#include "kernels/reduce/along.inc"
#undef T
#undef NAME
#undef A
#undef PLUS
#undef GREATER

#define PLUS(a, b) (int64_t)((uint64_t)(a) + (uint64_t)(b))
#define GREATER(a, b) ((a) > (b))
#define A int64_t
#define T int64_t
#define NAME(x) x##_i64_ref
#include "kernels/reduce/along.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->in[0]), n_threads);
}

static bool gives_integers(const qrn_kcall *k) {
    return k->out[0]->dtype == QRN_DTYPE_I32 || k->out[0]->dtype == QRN_DTYPE_U32;
}

static bool has_columns(const qrn_kcall *k) {
    const qrn_cumsum_args *a = k->args;
    return qrn_view_span(k->in[0], a->axis + 1, k->in[0]->rank) > 1;
}

// clang-format off
#define FAST(fam, isa, ISA, works_)                                                                \
    {.name = #fam "_f32_" #isa, .domain = QRN_DOMAIN_F32, .needs = ISA, .works = works_,           \
     .fn = qrn_##fam##_f32_##isa, .tasks = tasks}
#define REFS(fam)                                                                                  \
    {.name = #fam "_f32_ref", .domain = QRN_DOMAIN_F32, .fn = fam##_f32_ref, .tasks = tasks},      \
    {.name = #fam "_f64_ref", .domain = QRN_DOMAIN_F64, .fn = fam##_f64_ref, .tasks = tasks},      \
    {.name = #fam "_i64_ref", .domain = QRN_DOMAIN_I64, .fn = fam##_i64_ref, .tasks = tasks}
#ifdef __x86_64__
#define ROWS(fam, works_)                                                                          \
    FAST(fam, avx512, QRN_ISA_AVX512, works_), FAST(fam, avx2, QRN_ISA_AVX2, works_), REFS(fam)
#elif defined(__aarch64__)
#define ROWS(fam, works_) FAST(fam, neon, QRN_ISA_NEON, works_), REFS(fam)
#else
#define ROWS(fam, works_) REFS(fam)
#endif
// clang-format on

static const qrn_kernel arg_rows[] = {ROWS(arg, gives_integers)};
QRN_FAMILY(arg, sizeof(qrn_arg_args));
static const qrn_kernel cumsum_rows[] = {ROWS(cumsum, has_columns)};
QRN_FAMILY(cumsum, sizeof(qrn_cumsum_args));
static const qrn_kernel topk_rows[] = {REFS(topk)};
QRN_FAMILY(topk, sizeof(qrn_topk_args));
