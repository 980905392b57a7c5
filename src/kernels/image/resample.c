// SPDX-License-Identifier: MIT
//
// The resample families.
#include "kernels/image/resample.h"

#include "kernels/walk.h"

#include <string.h>

#define T float
#define FN resample_f32_ref
#include "kernels/image/resample.inc"
#undef T
#undef FN
#define T double
#define FN resample_f64_ref
#include "kernels/image/resample.inc"
#undef T
#undef FN

#define BLOCK 512 // floats of an output row that stay in the first-level cache

// The next tap from t on that counts; a skipped one would make NaN of infinity.
static uint32_t next_tap(const double *weight, uint32_t t, uint32_t taps) {
    while (t < taps && weight[t] == 0.0)
        t++;
    return t;
}

// Rows of a few elements are all overhead: pictures have 1, 3 or 4, a constant for the compiler.
static inline void mix_short_row(const float *src, const int32_t *index, const double *weight,
                                 size_t inner, float *dst) {
    const float *a = src + (size_t)index[0] * inner, *b = src + (size_t)index[1] * inner;
    float wa = (float)weight[0], wb = (float)weight[1];
    if (wa == 0.0f || wb == 0.0f) {
        memcpy(dst, wa == 0.0f ? b : a, inner * sizeof *dst);
        return;
    }
    for (size_t i = 0; i < inner; i++)
        dst[i] = wa * a[i] + wb * b[i];
}

static void mix_row(const float *src, const int32_t *index, const double *weight, uint32_t taps,
                    size_t inner, float *dst) {
    uint32_t one = next_tap(weight, 0, taps), two = next_tap(weight, one + 1, taps);
    for (size_t at = 0; at < inner; at += BLOCK) {
        size_t n = inner - at < BLOCK ? inner - at : BLOCK;
        float *y = dst + at;
        const float *a = src + at + (one < taps ? (size_t)index[one] * inner : 0);
        const float *b = src + at + (two < taps ? (size_t)index[two] * inner : 0);
        float wa = one < taps ? (float)weight[one] : 0.0f;
        float wb = two < taps ? (float)weight[two] : 0.0f;
        if (two < taps)
            for (size_t i = 0; i < n; i++)
                y[i] = wa * a[i] + wb * b[i];
        else
            for (size_t i = 0; i < n; i++)
                y[i] = wa * a[i];
        for (uint32_t t = next_tap(weight, two + 1, taps); t < taps;
             t = next_tap(weight, t + 1, taps)) {
            const float *c = src + at + (size_t)index[t] * inner;
            float wc = (float)weight[t];
            for (size_t i = 0; i < n; i++)
                y[i] += wc * c[i];
        }
    }
}

static qrn_status resample_f32(const qrn_kcall *k) {
    const qrn_resample_args *a = k->args;
    const qrn_view *x = k->in[0];
    size_t n = x->dims[a->axis], m = k->out[0]->dims[a->axis];
    size_t inner = qrn_view_span(x, a->axis + 1, x->rank), begin, end;
    qrn_split(qrn_view_span(x, 0, a->axis) * m, 1, k->task, k->n_tasks, &begin, &end);
    if (begin == end)
        return QRN_OK; // m may be 0
    size_t o = begin % m;
    const float *src = (const float *)x->data + begin / m * n * inner;
    for (size_t row = begin; row < end; row++) {
        const int32_t *index = (const int32_t *)k->in[1]->data + o * a->taps;
        const double *weight = (const double *)k->in[2]->data + o * a->taps;
        float *dst = (float *)k->out[0]->data + row * inner;
        if (a->taps == 2 && inner == 1)
            mix_short_row(src, index, weight, 1, dst);
        else if (a->taps == 2 && inner == 3)
            mix_short_row(src, index, weight, 3, dst);
        else if (a->taps == 2 && inner == 4)
            mix_short_row(src, index, weight, 4, dst);
        else
            mix_row(src, index, weight, a->taps, inner, dst);
        if (++o == m) {
            o = 0;
            src += n * inner;
        }
    }
    return QRN_OK;
}

// Elements of one row that resample_move makes: m of them, `inner` bytes each, from positions
// `index`; `doubled`: each position of the input twice.
typedef struct row_of_moves {
    const int32_t *index;
    size_t m, inner;
    bool doubled;
} row_of_moves;

static row_of_moves row_of(const qrn_view *index, size_t n, size_t m, size_t inner) {
    row_of_moves r = {.index = index->data, .m = m, .inner = inner, .doubled = m == 2 * n};
    for (size_t i = 0; i < m && r.doubled; i++)
        r.doubled = (size_t)r.index[i] == i / 2;
    return r;
}

#define MOVE_SHORT(type)                                                                           \
    do {                                                                                           \
        const type *restrict x = src;                                                              \
        type *restrict y = dst;                                                                    \
        if (r->doubled)                                                                            \
            for (size_t i = 0; i < r->m / 2; i++)                                                  \
                y[2 * i] = y[2 * i + 1] = x[i];                                                    \
        else                                                                                       \
            for (size_t i = 0; i < r->m; i++)                                                      \
                y[i] = x[r->index[i]];                                                             \
    } while (0)

static void move_row(const row_of_moves *r, const void *src, void *dst) {
    if (r->inner == 4)
        MOVE_SHORT(uint32_t);
    else if (r->inner == 1)
        MOVE_SHORT(uint8_t);
    else if (r->inner == 2)
        MOVE_SHORT(uint16_t);
    else
        for (size_t i = 0; i < r->m; i++)
            memcpy((char *)dst + i * r->inner, (const char *)src + (size_t)r->index[i] * r->inner,
                   r->inner);
}

// Rows of the axis and, where there are positions for it, of the dimension behind it. A row that is
// like the one before is copied.
static qrn_status resample_move_ref(const qrn_kcall *k) {
    const qrn_resample_args *a = k->args;
    const qrn_view *x = k->in[0], *y = k->out[0];
    const int32_t *index = k->in[1]->data;
    bool both = k->n_in > 2 && k->in[2];
    size_t n = x->dims[a->axis], m = y->dims[a->axis], begin, end;
    size_t from = qrn_view_span(x, a->axis + 1, x->rank) * qrn_view_elem(x);
    size_t to = qrn_view_span(y, a->axis + 1, y->rank) * qrn_view_elem(y);
    row_of_moves r = {0};
    if (both)
        r = row_of(k->in[2], x->dims[a->axis + 1], y->dims[a->axis + 1],
                   qrn_view_span(x, a->axis + 2, x->rank) * qrn_view_elem(x));
    qrn_split(qrn_view_span(x, 0, a->axis) * m, 1, k->task, k->n_tasks, &begin, &end);
    for (size_t row = begin; row < end; row++) { // m may be 0
        size_t o = row % m;
        const char *src = (const char *)x->data + (row / m * n + (size_t)index[o]) * from;
        char *dst = (char *)y->data + row * to;
        if (!both)
            memcpy(dst, src, to);
        else if (row > begin && o > 0 && index[o] == index[o - 1])
            memcpy(dst, dst - to, to);
        else
            move_row(&r, src, dst);
    }
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->out[0]), n_threads);
}

static const qrn_kernel resample_rows[] = {
    {.name = "resample_f32", .domain = QRN_DOMAIN_F32, .fn = resample_f32, .tasks = tasks},
    {.name = "resample_f32_ref", .domain = QRN_DOMAIN_F32, .fn = resample_f32_ref, .tasks = tasks},
    {.name = "resample_f64_ref", .domain = QRN_DOMAIN_F64, .fn = resample_f64_ref, .tasks = tasks},
};
QRN_FAMILY(resample, sizeof(qrn_resample_args));

static const qrn_kernel resample_move_rows[] = {
    {.name = "resample_move_ref",
     .domain = QRN_DOMAIN_RAW,
     .fn = resample_move_ref,
     .tasks = tasks},
};
QRN_FAMILY(resample_move, sizeof(qrn_resample_args));
