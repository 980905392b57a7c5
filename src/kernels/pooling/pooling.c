// SPDX-License-Identifier: MIT
//
// The pooling families. A task takes a range of output cells, all channels of each.
#include "kernels/pooling/pooling.h"

#include "base/cpu.h"

#include <math.h>

#define CHANNELS 64 // summed side by side

static qrn_pool_span span_of(const qrn_kcall *k, uint32_t d, size_t at) {
    const qrn_pooling_args *a = k->args;
    int64_t in = k->in[0]->dims[1 + d], edge = in + a->after[d];
    int64_t low = (int64_t)at * a->stride[d] - a->before[d], high = low + a->size[d];
    size_t padded = (size_t)(high < edge ? high - low : edge > low ? edge - low : 0);
    low = low < 0 ? 0 : low;
    high = high > in ? in : high;
    return (qrn_pool_span){(size_t)low, high > low ? (size_t)(high - low) : 0, padded};
}

qrn_pool_window qrn_pool_window_at(const qrn_kcall *k, size_t cell) {
    const qrn_pooling_args *a = k->args;
    qrn_pool_window w = {.span = {{0, 1, 1}, {0, 1, 1}, {0, 1, 1}}, .in = {1, 1, 1}};
    for (uint32_t d = a->n_spatial, i = 2; d-- > 0; i--) {
        size_t out = k->out[0]->dims[1 + d];
        w.span[i] = span_of(k, d, cell % out);
        w.in[i] = k->in[0]->dims[1 + d];
        cell /= out;
    }
    w.batch = cell;
    return w;
}

void qrn_pool_window_move(const qrn_kcall *k, qrn_pool_window *w, size_t col) {
    w->span[2] = span_of(k, ((const qrn_pooling_args *)k->args)->n_spatial - 1, col);
}

// Number of the input cell that is the i-th of the window.
static size_t cell_in(const qrn_pool_window *w, size_t i) {
    size_t columns = w->span[2].size, rows = w->span[1].size;
    return qrn_pool_line(w, i / columns / rows, i / columns % rows) + i % columns;
}

#define T float
#define FN pool_max_f32_ref
#define LOWEST (-INFINITY)
#define WINS(v, best) ((v) > (best) || isnan(v))
#include "kernels/pooling/pool_max.inc"
#undef FN
#define FN pool_avg_f32_ref
#define L2 false
#include "kernels/pooling/pool_sum.inc"
#undef FN
#undef L2
#define FN pool_l2_f32_ref
#define L2 true
#include "kernels/pooling/pool_sum.inc"
#undef T
#undef FN
#undef L2
#define T double
#define FN pool_max_f64_ref
#include "kernels/pooling/pool_max.inc"
#undef FN
#define FN pool_avg_f64_ref
#define L2 false
#include "kernels/pooling/pool_sum.inc"
#undef FN
#undef L2
#define FN pool_l2_f64_ref
#define L2 true
#include "kernels/pooling/pool_sum.inc"
#undef T
#undef FN
#undef L2
#undef LOWEST
#undef WINS
#define WINS(v, best) ((v) > (best))
#define T uint8_t
#define FN pool_max_u8
#define LOWEST 0
#include "kernels/pooling/pool_max.inc"
#undef T
#undef FN
#define T uint16_t
#define FN pool_max_u16
#include "kernels/pooling/pool_max.inc"
#undef T
#undef FN
#undef LOWEST
#define T int8_t
#define FN pool_max_s8
#define LOWEST INT8_MIN
#include "kernels/pooling/pool_max.inc"
#undef T
#undef FN
#undef LOWEST
#define T int16_t
#define FN pool_max_s16
#define LOWEST INT16_MIN
#include "kernels/pooling/pool_max.inc"

static qrn_status pool_max_q_ref(const qrn_kcall *k) {
    switch (k->in[0]->dtype) {
    case QRN_DTYPE_UQ8:
        return pool_max_u8(k);
    case QRN_DTYPE_SQ8:
        return pool_max_s8(k);
    case QRN_DTYPE_UQ16:
        return pool_max_u16(k);
    default:
        return pool_max_s16(k);
    }
}

bool qrn_pool_is_quantized(const qrn_kcall *k) {
    qrn_dtype t = k->in[0]->dtype;
    return t == QRN_DTYPE_UQ8 || t == QRN_DTYPE_SQ8 || t == QRN_DTYPE_UQ16 || t == QRN_DTYPE_SQ16;
}

qrn_grid_part qrn_pool_part_of(const qrn_kcall *k, size_t unit) {
    const qrn_view *y = k->out[0];
    size_t channels = y->dims[y->rank - 1];
    const qrn_grid_work w = {.rows = qrn_view_span(y, 0, y->rank - 1),
                             .cols = unit ? (channels + unit - 1) / unit : 0};
    return qrn_grid_part_of(&w, k->task, k->n_tasks);
}

bool qrn_pool_lines_work(const qrn_kcall *k) {
    const qrn_pooling_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    uint64_t cells = 1, channels = x->dims[x->rank - 1];
    for (uint32_t d = 0; d < a->n_spatial; d++)
        cells = cells > QRN_POOL_LINE_CELLS ? cells : cells * a->size[d];
    return cells <= QRN_POOL_LINE_CELLS && channels * a->size[a->n_spatial - 1] <= QRN_POOL_LINE &&
           y->dims[y->rank - 2] > 1;
}

uint32_t qrn_pool_tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_view_count(k->in[0]) < 16384 ? 1 : n_threads;
}

#define ROW(f, dom, isa, bit, predicate)                                                           \
    {                                                                                              \
        .name = #f "_" #isa, .domain = QRN_DOMAIN_##dom, .needs = bit, .fn = qrn_##f##_##isa,      \
        .works = predicate, .tasks = qrn_pool_tasks                                                \
    }
#define REFERENCE(f, dom, function, predicate)                                                     \
    {                                                                                              \
        .name = #f "_ref", .domain = QRN_DOMAIN_##dom, .fn = function, .works = predicate,         \
        .tasks = qrn_pool_tasks                                                                    \
    }

static const qrn_kernel pool_max_rows[] = {
#if defined(__x86_64__)
    ROW(pool_max_f32_lines, F32, avx512, QRN_ISA_AVX512, qrn_pool_lines_work),
    ROW(pool_max_f32, F32, avx512, QRN_ISA_AVX512, NULL),
    ROW(pool_max_q, RAW, avx512, QRN_ISA_AVX512, qrn_pool_is_quantized),
    ROW(pool_max_f32_lines, F32, avx2, QRN_ISA_AVX2, qrn_pool_lines_work),
    ROW(pool_max_f32, F32, avx2, QRN_ISA_AVX2, NULL),
    ROW(pool_max_q, RAW, avx2, QRN_ISA_AVX2, qrn_pool_is_quantized),
#elif defined(__aarch64__)
    ROW(pool_max_f32_lines, F32, neon, QRN_ISA_NEON, qrn_pool_lines_work),
    ROW(pool_max_f32, F32, neon, QRN_ISA_NEON, NULL),
    ROW(pool_max_q, RAW, neon, QRN_ISA_NEON, qrn_pool_is_quantized),
#endif
    REFERENCE(pool_max_f32, F32, pool_max_f32_ref, NULL),
    REFERENCE(pool_max_f64, F64, pool_max_f64_ref, NULL),
    REFERENCE(pool_max_q, RAW, pool_max_q_ref, qrn_pool_is_quantized),
};
QRN_FAMILY(pool_max, sizeof(qrn_pooling_args));

static const qrn_kernel pool_avg_rows[] = {
#if defined(__x86_64__)
    ROW(pool_avg_f32_lines, F32, avx512, QRN_ISA_AVX512, qrn_pool_lines_work),
    ROW(pool_avg_f32, F32, avx512, QRN_ISA_AVX512, NULL),
    ROW(pool_avg_bytes, RAW, avx512, QRN_ISA_AVX512, qrn_pool_avg_bytes_works),
    ROW(pool_avg_q, RAW, avx512, QRN_ISA_AVX512, qrn_pool_avg_q_works),
    ROW(pool_avg_f32_lines, F32, avx2, QRN_ISA_AVX2, qrn_pool_lines_work),
    ROW(pool_avg_f32, F32, avx2, QRN_ISA_AVX2, NULL),
    ROW(pool_avg_q, RAW, avx2, QRN_ISA_AVX2, qrn_pool_avg_q_works),
#elif defined(__aarch64__)
    ROW(pool_avg_f32_lines, F32, neon, QRN_ISA_NEON, qrn_pool_lines_work),
    ROW(pool_avg_f32, F32, neon, QRN_ISA_NEON, NULL),
    ROW(pool_avg_q, RAW, neon, QRN_ISA_NEON, qrn_pool_avg_q_works),
#endif
    REFERENCE(pool_avg_f32, F32, pool_avg_f32_ref, NULL),
    REFERENCE(pool_avg_f64, F64, pool_avg_f64_ref, NULL),
    REFERENCE(pool_avg_q, RAW, qrn_pool_avg_q_ref, NULL),
};
QRN_FAMILY(pool_avg, sizeof(qrn_pooling_args));

static const qrn_kernel pool_l2_rows[] = {
    REFERENCE(pool_l2_f32, F32, pool_l2_f32_ref, NULL),
    REFERENCE(pool_l2_f64, F64, pool_l2_f64_ref, NULL),
};
QRN_FAMILY(pool_l2, sizeof(qrn_pooling_args));
