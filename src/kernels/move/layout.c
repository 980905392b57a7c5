// SPDX-License-Identifier: MIT
//
// Rearranging ops: each one states where the elements of its output come from as a nest of strided
// loops over the output.
#include "kernels/move/layout.h"

#include "base/cpu.h"

#include <string.h>

#define MOVE_ROW(op)                                                                               \
    static const qrn_kernel op##_rows[] = {                                                        \
        {.name = #op "_raw", .domain = QRN_DOMAIN_RAW, .fn = op##_raw, .tasks = qrn_move_tasks}}

void qrn_dense_steps(const qrn_view *v, size_t *step) {
    for (uint32_t d = 0; d < v->rank; d++)
        step[d] = qrn_view_span(v, d + 1, v->rank);
}

static qrn_status run(const qrn_kcall *k, const qrn_strided *s, size_t first) {
    size_t elem = qrn_view_elem(k->in[0]);
    qrn_strided_copy(s, (const char *)k->in[0]->data + first * elem, k->out[0]->data, elem, k->task,
                     k->n_tasks);
    return QRN_OK;
}

static qrn_status run_nest(const qrn_kcall *k, qrn_layout_fn fill) {
    qrn_strided s = {0};
    size_t first = 0;
    QRN_TRY(fill(k->args, k->in[0], k->out[0], &s, &first));
    return run(k, &s, first);
}

qrn_status qrn_transpose_nest(const void *args, const qrn_view *x, const qrn_view *y,
                              qrn_strided *s, size_t *first) {
    const qrn_transpose_args *a = args;
    size_t step[QRN_MAX_RANK];
    (void)y;
    (void)first;
    qrn_dense_steps(x, step);
    for (uint32_t d = 0; d < x->rank; d++)
        qrn_strided_loop(s, x->dims[a->perm[d]], step[a->perm[d]]);
    return QRN_OK;
}

qrn_status qrn_transpose_raw(const qrn_kcall *k) { return run_nest(k, qrn_transpose_nest); }

bool qrn_transpose_is_weave(const qrn_kcall *k) {
    const qrn_transpose_args *a = k->args;
    const qrn_view *x = k->in[0];
    return x->rank == 4 && qrn_view_elem(x) == 1 && x->dims[1] == 3 && a->perm[0] == 0 &&
           a->perm[1] == 2 && a->perm[2] == 3;
}

qrn_status qrn_depth_space_nest(const void *args, const qrn_view *x, const qrn_view *y,
                                qrn_strided *s, size_t *first) {
    const qrn_depth_space_args *a = args;
    size_t step[QRN_MAX_RANK], bh = a->block[0], bw = a->block[1];
    (void)y;
    (void)first;
    qrn_dense_steps(x, step);
    qrn_strided_loop(s, x->dims[0], step[0]);
    if (a->to_depth) {
        qrn_strided_loop(s, x->dims[1] / bh, bh * step[1]);
        qrn_strided_loop(s, x->dims[2] / bw, bw * step[2]);
        if (a->crd)
            qrn_strided_loop(s, x->dims[3], 1);
        qrn_strided_loop(s, bh, step[1]);
        qrn_strided_loop(s, bw, step[2]);
        if (!a->crd)
            qrn_strided_loop(s, x->dims[3], 1);
    } else {
        size_t channels = x->dims[3] / (bh * bw);
        qrn_strided_loop(s, x->dims[1], step[1]);
        qrn_strided_loop(s, bh, a->crd ? bw : bw * channels);
        qrn_strided_loop(s, x->dims[2], step[2]);
        qrn_strided_loop(s, bw, a->crd ? 1 : channels);
        qrn_strided_loop(s, channels, a->crd ? bh * bw : 1);
    }
    return QRN_OK;
}

static qrn_status depth_space_raw(const qrn_kcall *k) { return run_nest(k, qrn_depth_space_nest); }

qrn_status qrn_shuffle_nest(const void *args, const qrn_view *x, const qrn_view *y, qrn_strided *s,
                            size_t *first) {
    const qrn_shuffle_args *a = args;
    size_t inner = qrn_view_span(x, a->axis + 1, x->rank);
    size_t size = x->dims[a->axis] / a->groups;
    (void)y;
    (void)first;
    qrn_strided_loop(s, qrn_view_span(x, 0, a->axis), x->dims[a->axis] * inner);
    qrn_strided_loop(s, size, inner);
    qrn_strided_loop(s, a->groups, size * inner);
    qrn_strided_loop(s, inner, 1);
    return QRN_OK;
}

static qrn_status shuffle_raw(const qrn_kcall *k) { return run_nest(k, qrn_shuffle_nest); }

qrn_status qrn_slice_nest(const qrn_slice_args *a, const qrn_view *x, const qrn_view *y,
                          const size_t *step, qrn_strided *s, size_t *first) {
    for (uint32_t i = 0, dx = 0, dy = 0; i < a->n_rows; i++) {
        const struct qrn_slice_row *r = &a->rows[i];
        if (r->kind == QRN_SLICE_NEW) {
            dy++;
            continue;
        }
        int64_t dim = x->dims[dx];
        int64_t n = 1; // also when a single value is declared with rank 0
        if (r->kind == QRN_SLICE_KEEP && dy < y->rank)
            n = y->dims[dy++];
        int64_t begin = r->open ? (r->step > 0 ? 0 : dim - 1) : r->begin;
        if (begin > dim - 1) // the range was written for the largest dimensions
            begin = dim - 1;
        int64_t last = begin + (n - 1) * r->step;
        if (n < 1 || begin < 0 || last < 0 || last >= dim)
            return QRN_E_ARGUMENT;
        *first += (size_t)begin * step[dx];
        s->n[s->n_loops] = (size_t)n;
        s->step[s->n_loops++] =
            n > 1 ? (ptrdiff_t)step[dx] * r->step : 0; // n > 1: step is below dim
        dx++;
    }
    return QRN_OK;
}

static qrn_status slice_raw(const qrn_kcall *k) {
    size_t step[QRN_MAX_RANK], first = 0;
    qrn_strided s = {0};
    qrn_dense_steps(k->in[0], step);
    QRN_TRY(qrn_slice_nest(k->args, k->in[0], k->out[0], step, &s, &first));
    return run(k, &s, first);
}

qrn_status qrn_tile_nest(const void *args, const qrn_view *x, const qrn_view *y, qrn_strided *s,
                         size_t *first) {
    size_t step[QRN_MAX_RANK];
    (void)args;
    (void)first;
    qrn_dense_steps(x, step);
    for (uint32_t d = 0; d < x->rank; d++) {
        qrn_strided_loop(s, x->dims[d] ? y->dims[d] / x->dims[d] : 0, 0);
        qrn_strided_loop(s, x->dims[d], step[d]);
    }
    return QRN_OK;
}

static qrn_status tile_raw(const qrn_kcall *k) {
    return qrn_view_count(k->in[0]) ? run_nest(k, qrn_tile_nest) : QRN_OK;
}

// Batch and space exchange rows of channels; the batch side is `b`, the space side `s`.
typedef struct exchange {
    const qrn_view *b, *s;
    size_t row_bytes, elem;
} exchange;

// Where row (block n, h, w) of the batch side lies on the space side; false: outside of it.
static bool space_row(const qrn_batch_space_args *a, const exchange *e, size_t row, size_t *out) {
    size_t w = row % e->b->dims[2], h = row / e->b->dims[2] % e->b->dims[1];
    size_t block = row / e->b->dims[2] / e->b->dims[1], n = block % e->s->dims[0];
    size_t i = block / e->s->dims[0] / a->block[1], j = block / e->s->dims[0] % a->block[1];
    size_t y = h * a->block[0] + i, x = w * a->block[1] + j;
    if (y < a->pad[0][0] || x < a->pad[1][0])
        return false;
    y -= a->pad[0][0];
    x -= a->pad[1][0];
    *out = (n * e->s->dims[1] + y) * e->s->dims[2] + x;
    return y < e->s->dims[1] && x < e->s->dims[2];
}

static qrn_status batch_space_raw(const qrn_kcall *k) {
    const qrn_batch_space_args *a = k->args;
    const char *src = k->in[0]->data;
    char *dst = k->out[0]->data;
    exchange e = {a->to_batch ? k->out[0] : k->in[0], a->to_batch ? k->in[0] : k->out[0],
                  k->in[0]->dims[3] * qrn_view_elem(k->in[0]), qrn_view_elem(k->in[0])};
    size_t begin, end;
    qrn_split(qrn_view_span(e.b, 0, 3), 1, k->task, k->n_tasks, &begin, &end);
    for (size_t row = begin; row < end; row++) {
        size_t other;
        bool inside = space_row(a, &e, row, &other);
        if (inside && a->to_batch)
            memcpy(dst + row * e.row_bytes, src + other * e.row_bytes, e.row_bytes);
        else if (inside)
            memcpy(dst + other * e.row_bytes, src + row * e.row_bytes, e.row_bytes);
        else if (a->to_batch)
            for (size_t c = 0; c < e.row_bytes; c += e.elem)
                memcpy(dst + row * e.row_bytes + c, a->fill, e.elem);
    }
    return QRN_OK;
}

static const qrn_kernel transpose_rows[] = {
#if defined(__x86_64__)
    {.name = "transpose_weave_avx512vbmi",
     .domain = QRN_DOMAIN_RAW,
     .needs = QRN_ISA_AVX512VBMI,
     .fn = qrn_transpose_weave_avx512vbmi,
     .works = qrn_transpose_is_weave,
     .tasks = qrn_move_tasks},
#endif
    {.name = "transpose_raw",
     .domain = QRN_DOMAIN_RAW,
     .fn = qrn_transpose_raw,
     .tasks = qrn_move_tasks}};
QRN_FAMILY(transpose, sizeof(qrn_transpose_args));
MOVE_ROW(depth_space);
QRN_FAMILY(depth_space, sizeof(qrn_depth_space_args));
MOVE_ROW(batch_space);
QRN_FAMILY(batch_space, sizeof(qrn_batch_space_args));
MOVE_ROW(shuffle);
QRN_FAMILY(shuffle, sizeof(qrn_shuffle_args));
MOVE_ROW(slice);
QRN_FAMILY(slice, sizeof(qrn_slice_args));
MOVE_ROW(tile);
QRN_FAMILY(tile, 0);
