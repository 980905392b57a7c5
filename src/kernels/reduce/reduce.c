// SPDX-License-Identifier: MIT
//
// The reduce and moments families.
#include "kernels/reduce/reduce.h"

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
#define FN reduce_f32_ref
#include "kernels/reduce/reduce.inc"
#undef FN
#define FN moments_f32_ref
#include "kernels/reduce/moments.inc"
#undef T
#undef REDUCE_ONE
#undef FN

#define T double
#define REDUCE_ONE reduce_one_f64
#define FN reduce_f64_ref
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
#define FN reduce_i64_ref
#include "kernels/reduce/reduce.inc"

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    uint32_t most = qrn_walk_tasks(qrn_view_count(k->in[0]), n_threads);
    size_t results = qrn_view_count(k->out[0]);
    return results < most ? (uint32_t)results : most;
}

static const qrn_kernel reduce_rows[] = {
    {.name = "reduce_f32_ref", .domain = QRN_DOMAIN_F32, .fn = reduce_f32_ref, .tasks = tasks},
    {.name = "reduce_f64_ref", .domain = QRN_DOMAIN_F64, .fn = reduce_f64_ref, .tasks = tasks},
    {.name = "reduce_i64_ref", .domain = QRN_DOMAIN_I64, .fn = reduce_i64_ref, .tasks = tasks},
};
QRN_FAMILY(reduce, sizeof(qrn_reduce_args));

static const qrn_kernel moments_rows[] = {
    {.name = "moments_f32_ref", .domain = QRN_DOMAIN_F32, .fn = moments_f32_ref, .tasks = tasks},
    {.name = "moments_f64_ref", .domain = QRN_DOMAIN_F64, .fn = moments_f64_ref, .tasks = tasks},
};
QRN_FAMILY(moments, sizeof(qrn_reduce_args));
