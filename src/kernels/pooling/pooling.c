// SPDX-License-Identifier: MIT
//
// The pooling families. A task takes a range of output cells, all channels of each.
#include "kernels/pooling/pooling.h"

#include <math.h>

#define CHANNELS 64 // summed side by side

// The part of a window that lies inside the input.
typedef struct window {
    size_t first[3], size[3],
        in[3]; // clipped window and input size, leading ones where fewer dimensions
    size_t batch;
    size_t n_cells;  // cells inside the input
    size_t n_padded; // cells inside the padded input
} window;

static window window_at(const qrn_kcall *k, size_t cell) {
    const qrn_pooling_args *a = k->args;
    window w = {.size = {1, 1, 1}, .in = {1, 1, 1}, .n_cells = 1, .n_padded = 1};
    for (uint32_t d = a->n_spatial, i = 2; d-- > 0; i--) {
        int64_t in = k->in[0]->dims[1 + d], out = k->out[0]->dims[1 + d];
        int64_t low = (int64_t)cell % out * a->stride[d] - a->before[d], high = low + a->size[d];
        int64_t edge = in + a->after[d];
        cell /= (size_t)out;
        w.n_padded *= (size_t)(high < edge ? high - low : edge > low ? edge - low : 0);
        low = low < 0 ? 0 : low;
        high = high > in ? in : high;
        w.first[i] = (size_t)low;
        w.size[i] = high > low ? (size_t)(high - low) : 0;
        w.in[i] = (size_t)in;
        w.n_cells *= w.size[i];
    }
    w.batch = cell;
    return w;
}

// Number of the input cell that is the i-th of the window.
static size_t cell_in(const window *w, size_t i) {
    size_t at[3];
    for (int d = 2; d >= 0; d--) {
        at[d] = w->first[d] + i % w->size[d];
        i /= w->size[d];
    }
    return ((w->batch * w->in[0] + at[0]) * w->in[1] + at[1]) * w->in[2] + at[2];
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

static qrn_status pool_max_codes_ref(const qrn_kcall *k) {
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

static bool is_code(const qrn_kcall *k) {
    qrn_dtype t = k->in[0]->dtype;
    return t == QRN_DTYPE_UQ8 || t == QRN_DTYPE_SQ8 || t == QRN_DTYPE_UQ16 || t == QRN_DTYPE_SQ16;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_view_count(k->in[0]) < 16384 ? 1 : n_threads;
}

static const qrn_kernel pool_max_rows[] = {
    {.name = "pool_max_f32_ref", .domain = QRN_DOMAIN_F32, .fn = pool_max_f32_ref, .tasks = tasks},
    {.name = "pool_max_f64_ref", .domain = QRN_DOMAIN_F64, .fn = pool_max_f64_ref, .tasks = tasks},
    {.name = "pool_max_codes_ref",
     .domain = QRN_DOMAIN_RAW,
     .fn = pool_max_codes_ref,
     .works = is_code,
     .tasks = tasks},
};
QRN_FAMILY(pool_max, sizeof(qrn_pooling_args));

static const qrn_kernel pool_avg_rows[] = {
    {.name = "pool_avg_f32_ref", .domain = QRN_DOMAIN_F32, .fn = pool_avg_f32_ref, .tasks = tasks},
    {.name = "pool_avg_f64_ref", .domain = QRN_DOMAIN_F64, .fn = pool_avg_f64_ref, .tasks = tasks},
};
QRN_FAMILY(pool_avg, sizeof(qrn_pooling_args));

static const qrn_kernel pool_l2_rows[] = {
    {.name = "pool_l2_f32_ref", .domain = QRN_DOMAIN_F32, .fn = pool_l2_f32_ref, .tasks = tasks},
    {.name = "pool_l2_f64_ref", .domain = QRN_DOMAIN_F64, .fn = pool_l2_f64_ref, .tasks = tasks},
};
QRN_FAMILY(pool_l2, sizeof(qrn_pooling_args));
