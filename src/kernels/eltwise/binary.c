// SPDX-License-Identifier: MIT
//
// The families of element-wise ops on two operands; the arithmetic ones live in binary_*.c.
#include "kernels/eltwise/binary.h"

#include "base/cpu.h"
#include "kernels/eltwise/binary_q.h"
#include "kernels/eltwise/binary_rows.h"
#include "kernels/eltwise/truth_rows.h"
#include "kernels/walk.h"

#define T float
#define FN compare_f32_ref
#include "kernels/eltwise/compare.inc"
#define T double
#define FN compare_f64_ref
#include "kernels/eltwise/compare.inc"
#define T int64_t
#define FN compare_i64_ref
#include "kernels/eltwise/compare.inc"
#define T int32_t
#define FN compare_i32_ref
#include "kernels/eltwise/compare.inc"
#define T uint32_t
#define FN compare_u32_ref
#include "kernels/eltwise/compare.inc"

static bool truth(uint32_t op, bool a, bool b) {
    switch (op) {
    case QRN_LOGICAL_AND:
        return a && b;
    case QRN_LOGICAL_OR:
        return a || b;
    case QRN_LOGICAL_XOR:
        return a != b;
    default:
        return !a;
    }
}

static qrn_status logical_ref(const qrn_kcall *k) {
    const qrn_binary_args *args = k->args;
    bool two = args->op != QRN_LOGICAL_NOT;
    const uint8_t *a = k->in[0]->data, *b = two ? k->in[1]->data : a;
    uint8_t *y = k->out[0]->data;
    uint8_t table[4]; // by truth of b and a
    for (unsigned i = 0; i < 4; i++)
        table[i] = truth(args->op, i & 1, i & 2);
    qrn_walk w;
    qrn_walk_broadcast(&w, k->out[0], k->in, two ? 2 : 1);
    size_t a_step = qrn_walk_step(&w, 0), b_step = two ? qrn_walk_step(&w, 1) : 0;
    for (qrn_walk_run r = qrn_walk_begin(&w, k); qrn_walk_next(&w, &r);) {
        const uint8_t *p = a + r.at[0], *q = two ? b + r.at[1] : p;
        for (size_t i = 0; i < r.count; i++)
            y[r.first + i] = table[(p[i * a_step] != 0) | (q[i * b_step] != 0) << 1];
    }
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->out[0]), n_threads);
}

static bool sums_of_q(const qrn_kcall *k) {
    qrn_binary_q unused;
    return qrn_binary_q_plan(k, &unused);
}

// Operands of one plain 32-bit type; the compiler (ops/eltwise.c) lets no others come with them.
static bool all_i32(const qrn_kcall *k) { return k->in[0]->dtype == QRN_DTYPE_I32; }
static bool all_u32(const qrn_kcall *k) { return k->in[0]->dtype == QRN_DTYPE_U32; }
static bool no_words(const qrn_kcall *k) { return !qrn_is_word(k->in[0]); }

// clang-format off
#define QUANTIZED(isa, ISA)                                                                        \
    {.name = "binary_q_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA, .works = sums_of_q, \
     .fn = qrn_binary_q_##isa, .tasks = tasks}
#define ROW(type, domain_, isa, ISA)                                                               \
    {.name = "binary_" #type "_" #isa, .domain = domain_, .needs = ISA,                            \
     .fn = qrn_binary_##type##_##isa, .tasks = tasks}
#define IF_ROW(type, if_, isa, ISA)                                                                \
    {.name = "binary_" #type "_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA, .works = if_,       \
     .fn = qrn_binary_##type##_##isa, .tasks = tasks}
#define RAW_ROWS(isa, ISA)                                                                         \
    IF_ROW(i32, all_i32, isa, ISA), IF_ROW(u32, all_u32, isa, ISA), IF_ROW(raw, no_words, isa, ISA)

static const qrn_kernel binary_rows[] = {
#ifdef __x86_64__
    ROW(f32, QRN_DOMAIN_F32, avx512, QRN_ISA_AVX512),
    ROW(f32, QRN_DOMAIN_F32, avx2, QRN_ISA_AVX2),
    ROW(f64, QRN_DOMAIN_F64, avx512, QRN_ISA_AVX512),
    ROW(f64, QRN_DOMAIN_F64, avx2, QRN_ISA_AVX2),
    ROW(i64, QRN_DOMAIN_I64, avx512, QRN_ISA_AVX512),
    ROW(i64, QRN_DOMAIN_I64, avx2, QRN_ISA_AVX2),
    QUANTIZED(avx512, QRN_ISA_AVX512),
    QUANTIZED(avx2, QRN_ISA_AVX2),
    RAW_ROWS(avx512, QRN_ISA_AVX512),
    RAW_ROWS(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    ROW(f32, QRN_DOMAIN_F32, neon, QRN_ISA_NEON),
    ROW(f64, QRN_DOMAIN_F64, neon, QRN_ISA_NEON),
    ROW(i64, QRN_DOMAIN_I64, neon, QRN_ISA_NEON),
    QUANTIZED(neon, QRN_ISA_NEON),
    RAW_ROWS(neon, QRN_ISA_NEON),
#endif
    ROW(f32, QRN_DOMAIN_F32, ref, 0),
    ROW(f64, QRN_DOMAIN_F64, ref, 0),
    ROW(i64, QRN_DOMAIN_I64, ref, 0),
    RAW_ROWS(ref, 0),
};
QRN_FAMILY_ELEMENT_WISE(binary, sizeof(qrn_binary_args), 3);
// clang-format on

// clang-format off
#define TRUTH(fn_, domain_, isa, ISA)                                                              \
    {.name = #fn_ "_" #isa, .domain = domain_, .needs = ISA, .fn = qrn_##fn_##_##isa,              \
     .tasks = tasks}
#define COMPARE(type, domain_, if_, isa, ISA, fn_)                                                 \
    {.name = "compare_" #type "_" #isa, .domain = domain_, .needs = ISA, .works = if_,             \
     .fn = fn_##_##type##_##isa, .tasks = tasks}
#define COMPARES(isa, ISA, fn)                                                                     \
    COMPARE(f32, QRN_DOMAIN_F32, NULL, isa, ISA, fn),                                              \
    COMPARE(f64, QRN_DOMAIN_F64, NULL, isa, ISA, fn),                                              \
    COMPARE(i64, QRN_DOMAIN_I64, NULL, isa, ISA, fn),                                              \
    COMPARE(i32, QRN_DOMAIN_RAW, all_i32, isa, ISA, fn),                                           \
    COMPARE(u32, QRN_DOMAIN_RAW, all_u32, isa, ISA, fn)
// clang-format on

static const qrn_kernel compare_rows[] = {
#ifdef __x86_64__
    COMPARES(avx512, QRN_ISA_AVX512, qrn_compare),
    COMPARES(avx2, QRN_ISA_AVX2, qrn_compare),
#endif
#ifdef __aarch64__
    COMPARES(neon, QRN_ISA_NEON, qrn_compare),
#endif
    COMPARES(ref, 0, compare),
};
QRN_FAMILY(compare, sizeof(qrn_binary_args));

static const qrn_kernel logical_rows[] = {
#ifdef __x86_64__
    TRUTH(logical, QRN_DOMAIN_RAW, avx512, QRN_ISA_AVX512),
    TRUTH(logical, QRN_DOMAIN_RAW, avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    TRUTH(logical, QRN_DOMAIN_RAW, neon, QRN_ISA_NEON),
#endif
    {.name = "logical_ref", .domain = QRN_DOMAIN_RAW, .fn = logical_ref, .tasks = tasks},
};
QRN_FAMILY(logical, sizeof(qrn_binary_args));
