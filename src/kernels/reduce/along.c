// SPDX-License-Identifier: MIT
//
// The arg, cumsum and topk families.
#include "kernels/reduce/along.h"

#include "base/fp16.h"
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

#define ROWS(fam)                                                                                  \
    static const qrn_kernel fam##_rows[] = {                                                       \
        {.name = #fam "_f32_ref", .domain = QRN_DOMAIN_F32, .fn = fam##_f32_ref, .tasks = tasks},  \
        {.name = #fam "_f64_ref", .domain = QRN_DOMAIN_F64, .fn = fam##_f64_ref, .tasks = tasks},  \
        {.name = #fam "_i64_ref", .domain = QRN_DOMAIN_I64, .fn = fam##_i64_ref, .tasks = tasks},  \
    }

ROWS(arg);
QRN_FAMILY(arg, sizeof(qrn_arg_args));
ROWS(cumsum);
QRN_FAMILY(cumsum, sizeof(qrn_cumsum_args));
ROWS(topk);
QRN_FAMILY(topk, sizeof(qrn_topk_args));
