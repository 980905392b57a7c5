// SPDX-License-Identifier: MIT
//
// The matmul family: geometry, the reference rows for real numbers and for quantized values, the
// row list.
#include "kernels/gemm/matmul/matmul.h"

#include "base/cpu.h"
#include "kernels/gemm/dense/dense_plan.h"
#include "kernels/gemm/matmul/matmul_f32.h"
#include "kernels/gemm/matmul/matmul_q16.h"
#include "kernels/gemm/matmul/matmul_q16_few.h"
#include "kernels/gemm/matmul/matmul_q8.h"
#include "kernels/gemm/matmul/matmul_few.h"
#include "kernels/gemm/matmul/matmul_planes.h"
#include "kernels/gemm/epilogue/requant.h"

// Rows that take as long as packing the columns of a unit once more.
#define PACKING 12

static void lead_strides(const qrn_view *v, uint32_t n_lead, size_t *strides) {
    size_t step = v->dims[v->rank - 1] * (size_t)v->dims[v->rank - 2];
    for (uint32_t i = 0; i < n_lead; i++) { // i counts from the last leading dimension
        uint32_t own = v->rank - 2;
        size_t dim = i < own ? v->dims[own - 1 - i] : 1;
        strides[n_lead - 1 - i] = dim == 1 ? 0 : step;
        step *= dim;
    }
}

qrn_matmul_geometry qrn_matmul_geometry_of(const qrn_kcall *k) {
    const qrn_matmul_args *m = k->args;
    const qrn_view *a = k->in[0], *b = k->in[1], *c = k->out[0];
    qrn_matmul_geometry g = {.batch = 1, .cols = c->dims[c->rank - 1]};
    g.depth = b->dims[b->rank - (m->transpose_b ? 1 : 2)];
    g.b_depth = m->transpose_b ? 1 : g.cols;
    g.b_col = m->transpose_b ? g.depth : 1;
    if (m->flat) {
        g.rows = g.depth ? qrn_view_count(a) / g.depth : 0;
        g.a_row = g.depth;
        g.a_depth = 1;
        return g;
    }
    g.rows = c->dims[c->rank - 2];
    g.a_row = m->transpose_a ? 1 : g.depth;
    g.a_depth = m->transpose_a ? g.rows : 1;
    g.n_lead = c->rank - 2;
    for (uint32_t i = 0; i < g.n_lead; i++) {
        g.lead[i] = c->dims[i];
        g.batch *= g.lead[i];
    }
    lead_strides(a, g.n_lead, g.a_lead);
    lead_strides(b, g.n_lead, g.b_lead);
    return g;
}

void qrn_matmul_batch(const qrn_matmul_geometry *g, size_t n, size_t *a, size_t *b) {
    *a = *b = 0;
    for (uint32_t i = g->n_lead; i-- > 0;) {
        *a += n % g->lead[i] * g->a_lead[i];
        *b += n % g->lead[i] * g->b_lead[i];
        n /= g->lead[i];
    }
}

qrn_matmul_share qrn_matmul_share_of(const qrn_matmul_geometry *g, size_t columns,
                                     const qrn_kcall *k) {
    qrn_matmul_share s = {
        .groups = (g->cols + columns - 1) / columns, .columns = columns, .cuts = 1};
    size_t units = g->batch * s.groups, strips = (g->rows + QRN_DENSE_GRAIN - 1) / QRN_DENSE_GRAIN;
    uint64_t least = UINT64_MAX; // rows that the busiest task does
    for (size_t cuts = 1; k->n_tasks > 1 && cuts <= strips && cuts <= k->n_tasks; cuts++) {
        uint64_t rows = (strips + cuts - 1) / cuts * QRN_DENSE_GRAIN + PACKING;
        uint64_t most = (units * cuts + k->n_tasks - 1) / k->n_tasks * rows;
        if (most < least) {
            least = most;
            s.cuts = cuts;
        }
    }
    qrn_split(units * s.cuts, 1, k->task, k->n_tasks, &s.begin, &s.end);
    return s;
}

qrn_matmul_unit qrn_matmul_unit_at(const qrn_matmul_geometry *g, const qrn_matmul_share *s,
                                   size_t i) {
    size_t which = i / s->cuts;
    qrn_matmul_unit u = {.batch = which / s->groups, .col = which % s->groups * s->columns};
    qrn_split(g->rows, QRN_DENSE_GRAIN, (uint32_t)(i % s->cuts), (uint32_t)s->cuts, &u.row, &u.end);
    return u;
}

static size_t n_runs(const qrn_matmul_geometry *g) {
    return (g->cols + QRN_MATMUL_COLS - 1) / QRN_MATMUL_COLS;
}

#define T float
#define FN matmul_f32_ref
#include "kernels/gemm/matmul/matmul.inc"
#undef T
#undef FN
#define T double
#define FN matmul_f64_ref
#include "kernels/gemm/matmul/matmul.inc"

static qrn_status matmul_q8_ref(const qrn_kcall *k) {
    const qrn_view *av = k->in[0], *bv = k->in[1], *cv = k->out[0];
    qrn_matmul_geometry g = qrn_matmul_geometry_of(k);
    const qrn_view *bias = k->n_in > 2 ? k->in[2] : NULL;
    size_t runs = n_runs(&g), begin, end;
    qrn_split(g.batch * g.rows * runs, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit / runs, j0 = unit % runs * QRN_MATMUL_COLS, a, b;
        size_t n = g.cols - j0 < QRN_MATMUL_COLS ? g.cols - j0 : QRN_MATMUL_COLS;
        qrn_matmul_batch(&g, row / g.rows, &a, &b);
        a += row % g.rows * g.a_row;
        b += j0 * g.b_col;
        int64_t acc[QRN_MATMUL_COLS];
        for (size_t j = 0; j < n; j++)
            acc[j] = qrn_bias_sum(bias, j0 + j);
        for (size_t d = 0; d < g.depth; d++) {
            int64_t x = qrn_q_load(av, a + d * g.a_depth) + av->quant->offset;
            for (size_t j = 0; j < n; j++)
                acc[j] += x * (qrn_q_load(bv, b + d * g.b_depth + j * g.b_col) +
                               qrn_group_offset(bv->quant, j0 + j));
        }
        for (size_t j = 0; j < n; j++) {
            qrn_requant r = qrn_requant_of(av, bv, j0 + j, cv);
            r.zero_half += qrn_bias_real(bias, j0 + j, cv);
            qrn_q_store(cv, row * g.cols + j0 + j, qrn_requantize(&r, acc[j]));
        }
    }
    return QRN_OK;
}

static qrn_status matmul_q8_block_ref(const qrn_kcall *k) {
    const qrn_view *av = k->in[0], *bv = k->in[1], *cv = k->out[0];
    qrn_matmul_geometry g = qrn_matmul_geometry_of(k);
    const qrn_view *bias = k->n_in > 2 ? k->in[2] : NULL;
    qrn_requant r = qrn_requant_of(av, bv, 0, cv);
    size_t begin, end;
    qrn_split(g.batch * g.rows * g.cols, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t at = begin; at < end; at++) {
        size_t row = at / g.cols, j = at % g.cols, a, b;
        qrn_matmul_batch(&g, row / g.rows, &a, &b);
        a += row % g.rows * g.a_row;
        b += j * g.b_col;
        qrn_block_sum s = {.t = r.zero_half + qrn_bias_real(bias, j, cv)};
        for (size_t d = 0; d < g.depth; d++)
            qrn_block_add(&s, av, a + d * g.a_depth, bv, b + d * g.b_depth, cv);
        qrn_block_flush(&s, av, bv, cv);
        qrn_q_store(cv, at, qrn_requant_clamp(&r, floor(s.t)));
    }
    return QRN_OK;
}

static bool per_block(const qrn_kcall *k) { return k->in[1]->quant->kind == QRN_QUANT_BLOCK; }

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    qrn_matmul_geometry g = qrn_matmul_geometry_of(k);
    return g.batch * g.rows * g.cols * g.depth < 65536 ? 1 : n_threads;
}

#define FAST(isa, bit)                                                                             \
    {                                                                                              \
        .name = "matmul_f32_" #isa, .domain = QRN_DOMAIN_F32, .needs = bit,                        \
        .fn = qrn_matmul_f32_##isa, .works = qrn_matmul_f32_works, .tasks = tasks,                 \
        .scratch = qrn_matmul_f32_scratch                                                          \
    }

#define PLANES(isa, bit)                                                                           \
    {                                                                                              \
        .name = "matmul_planes_" #isa, .domain = QRN_DOMAIN_RAW, .needs = bit,                     \
        .fn = qrn_matmul_planes_##isa, .works = qrn_matmul_planes_works, .tasks = tasks,           \
        .scratch = qrn_matmul_planes_scratch                                                       \
    }

#define BYTES(isa, bit)                                                                            \
    {                                                                                              \
        .name = "matmul_q8_" #isa, .domain = QRN_DOMAIN_RAW, .needs = bit,                         \
        .fn = qrn_matmul_q8_##isa, .works = qrn_matmul_q8_works, .tasks = tasks,                   \
        .scratch = qrn_matmul_q8_scratch                                                           \
    }

#define FEW(isa, bit)                                                                              \
    {                                                                                              \
        .name = "matmul_few_" #isa, .domain = QRN_DOMAIN_RAW, .needs = bit,                        \
        .fn = qrn_matmul_few_##isa, .works = qrn_matmul_few_works, .tasks = tasks,                 \
        .scratch = qrn_matmul_few_scratch                                                          \
    }

static const qrn_kernel matmul_rows[] = {
#if defined(__x86_64__)
    FAST(avx512, QRN_ISA_AVX512),
    FAST(avx2, QRN_ISA_AVX2),
    BYTES(amx, QRN_ISA_AMX),
    BYTES(avx512vnni, QRN_ISA_AVX512VNNI),
    BYTES(avx2, QRN_ISA_AVX2),
    {.name = "matmul_q16_few_avx512vnni",
     .domain = QRN_DOMAIN_RAW,
     .needs = QRN_ISA_AVX512VNNI,
     .fn = qrn_matmul_q16_few_avx512vnni,
     .works = qrn_matmul_q16_few_works,
     .tasks = tasks,
     .scratch = qrn_matmul_q16_few_scratch},
    {.name = "matmul_q16_avx512vnni",
     .domain = QRN_DOMAIN_RAW,
     .needs = QRN_ISA_AVX512VNNI,
     .fn = qrn_matmul_q16_avx512vnni,
     .works = qrn_matmul_q16_works,
     .tasks = tasks,
     .scratch = qrn_matmul_q16_scratch},
    FEW(avx512, QRN_ISA_AVX512),
    FEW(avx2, QRN_ISA_AVX2),
    PLANES(avx512vnni, QRN_ISA_AVX512VNNI),
    PLANES(avx2, QRN_ISA_AVX2),
#elif defined(__aarch64__)
    FAST(neon, QRN_ISA_NEON),
    BYTES(neoni8mm, QRN_ISA_NEONI8MM),
    BYTES(neondot, QRN_ISA_NEONDOT),
    FEW(neon, QRN_ISA_NEON),
    PLANES(neoni8mm, QRN_ISA_NEONI8MM),
    PLANES(neondot, QRN_ISA_NEONDOT),
#endif
    PLANES(any, 0),
    {.name = "matmul_f32_ref", .domain = QRN_DOMAIN_F32, .fn = matmul_f32_ref, .tasks = tasks},
    {.name = "matmul_f64_ref", .domain = QRN_DOMAIN_F64, .fn = matmul_f64_ref, .tasks = tasks},
    {.name = "matmul_q8_block_ref",
     .domain = QRN_DOMAIN_RAW,
     .fn = matmul_q8_block_ref,
     .works = per_block,
     .tasks = tasks},
    {.name = "matmul_q8_ref", .domain = QRN_DOMAIN_RAW, .fn = matmul_q8_ref, .tasks = tasks},
};
QRN_FAMILY(matmul, sizeof(qrn_matmul_args));
