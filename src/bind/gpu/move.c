// SPDX-License-Identifier: MIT
//
// Steps that move elements: transposes, slices, joins, pads on the GPU. Most are one nest of loops
// over the output, with a step through the source for each: the kernel `move`.
#include "bind/gpu/binder.h"

#include "kernels/move/generate.h"
#include "kernels/move/join.h"
#include "kernels/move/layout.h"

#include <string.h>

#define MAX_LOOPS (2 * QRN_MAX_RANK + 1)

// Loops, outermost first.
typedef struct nest {
    uint32_t n;
    struct loop {
        int64_t size, x, y; // iterations; steps in elements
    } loops[MAX_LOOPS];
    int64_t first_x, first_y;
} nest;

static void add_loop(nest *t, int64_t size, int64_t x) {
    t->loops[t->n++] = (struct loop){.size = size, .x = x};
}

// Steps of an output that is written densely.
static void write_densely(nest *t) {
    int64_t step = 1;
    for (uint32_t i = t->n; i-- > 0;) {
        t->loops[i].y = step;
        step *= t->loops[i].size;
    }
}

// Innermost first, with loops that continue each other merged; a single loop at least.
static uint32_t simplify(const nest *t, struct loop *out) {
    uint32_t n = 0;
    for (uint32_t i = t->n; i-- > 0;) {
        struct loop l = t->loops[i], *inner = n ? &out[n - 1] : NULL;
        if (l.size == 1)
            continue;
        if (inner && l.x == inner->x * inner->size && l.y == inner->y * inner->size)
            inner->size *= l.size;
        else
            out[n++] = l;
    }
    if (n == 0)
        out[n++] = (struct loop){1, 1, 1};
    return n;
}

static int64_t iterations(const nest *t) {
    int64_t n = 1;
    for (uint32_t i = 0; i < t->n; i++)
        n *= t->loops[i].size;
    return n;
}

// Elements that lie where they belong already. `y` begins `first_y` elements before x.
static bool is_in_place(const qrn_gpu_binder *b, qrn_val x, qrn_val y, int64_t first_y) {
    const qrn_cvalue *vx = qrn_gpu_value(b, x), *vy = qrn_gpu_value(b, y);
    uint64_t elem = qrn_dtypes[vy->dtype].bits / 8;
    return qrn_compiled_owner(b->cg, x) == qrn_compiled_owner(b->cg, y) &&
           vx->base_offset == vy->base_offset + (uint64_t)first_y * elem;
}

// Can four neighbours go at a time? Not with an epilogue, which is written for one.
static bool by_fours(const qrn_gpu_binder *b, const struct loop *inner, const nest *t) {
    return b->group->n == 1 && inner->x == 1 && inner->y == 1 && inner->size % 4 == 0 &&
           t->first_x % 4 == 0 && t->first_y % 4 == 0;
}

static qrn_status move(qrn_gpu_binder *b, const nest *t, qrn_val x, qrn_val y) {
    struct loop loops[MAX_LOOPS];
    int32_t p[1 + 3 * MAX_LOOPS];
    size_t total = (size_t)iterations(t);
    uint32_t n = simplify(t, loops);
    bool four = by_fours(b, &loops[0], t);
    if (four) {
        loops[0] = (struct loop){loops[0].size / 4, 4, 4};
        total /= 4;
    }
    p[0] = (int32_t)n;
    for (uint32_t i = 0; i < n; i++) {
        p[1 + 3 * i] = (int32_t)loops[i].size;
        p[2 + 3 * i] = (int32_t)loops[i].x;
        p[3 + 3 * i] = (int32_t)loops[i].y;
    }
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_move, four ? "move4" : "move");
    qrn_gpu_in(&k, "X", x);
    qrn_gpu_out(&k, "Y", y);
    qrn_gpu_define_real(&k, "Y_REAL", y);
    qrn_gpu_params(&k, p, 1 + 3 * n);
    QRN_GPU_INTS(&k, t->first_x, t->first_y, (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

static qrn_status move_all(qrn_gpu_binder *b, const qrn_cstep *s, nest *t) {
    write_densely(t);
    return move(b, t, s->in[0], qrn_gpu_result(b));
}

// Elements between neighbours along each dimension of a dense tensor.
static void dense_steps(const qrn_shape *s, int64_t *step) {
    int64_t n = 1;
    for (uint32_t d = s->rank; d-- > 0;) {
        step[d] = n;
        n *= s->dims[d];
    }
}

qrn_status qrn_gpu_copy(qrn_gpu_binder *b, qrn_val x, qrn_val y, size_t count) {
    nest t = {0};
    add_loop(&t, (int64_t)count, 1);
    write_densely(&t);
    return move(b, &t, x, y);
}

static qrn_status bind_copy(qrn_gpu_binder *b, const qrn_cstep *s) {
    if (b->group->n == 1 && is_in_place(b, s->in[0], s->out[0], 0))
        return QRN_OK;
    return qrn_gpu_copy(b, s->in[0], qrn_gpu_result(b), qrn_gpu_count(b, s->in[0]));
}

static qrn_status bind_reshape(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_reshape_args *a = s->args;
    if (a->read_shape)
        return qrn_gpu_reject(b, s, "its shape comes from a tensor");
    return bind_copy(b, s);
}

static qrn_status bind_transpose(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_transpose_args *a = s->args;
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]);
    int64_t step[QRN_MAX_RANK];
    nest t = {0};
    dense_steps(x, step);
    for (uint32_t d = 0; d < x->rank; d++)
        add_loop(&t, x->dims[a->perm[d]], step[a->perm[d]]);
    return move_all(b, s, &t);
}

static qrn_status bind_depth_space(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_depth_space_args *a = s->args;
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]);
    int64_t step[QRN_MAX_RANK], bh = a->block[0], bw = a->block[1];
    nest t = {0};
    dense_steps(x, step);
    add_loop(&t, x->dims[0], step[0]);
    if (a->to_depth) {
        add_loop(&t, x->dims[1] / bh, bh * step[1]);
        add_loop(&t, x->dims[2] / bw, bw * step[2]);
        if (a->crd)
            add_loop(&t, x->dims[3], 1);
        add_loop(&t, bh, step[1]);
        add_loop(&t, bw, step[2]);
        if (!a->crd)
            add_loop(&t, x->dims[3], 1);
    } else {
        int64_t channels = x->dims[3] / (bh * bw);
        add_loop(&t, x->dims[1], step[1]);
        add_loop(&t, bh, a->crd ? bw : bw * channels);
        add_loop(&t, x->dims[2], step[2]);
        add_loop(&t, bw, a->crd ? 1 : channels);
        add_loop(&t, channels, a->crd ? bh * bw : 1);
    }
    return move_all(b, s, &t);
}

static qrn_status bind_shuffle(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_shuffle_args *a = s->args;
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]);
    int64_t inner = qrn_gpu_span(x, a->axis + 1, x->rank), size = x->dims[a->axis] / a->groups;
    nest t = {0};
    add_loop(&t, qrn_gpu_span(x, 0, a->axis), x->dims[a->axis] * inner);
    add_loop(&t, size, inner);
    add_loop(&t, a->groups, size * inner);
    add_loop(&t, inner, 1);
    return move_all(b, s, &t);
}

static qrn_status bind_slice(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_slice_args *a = s->args;
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]), *y = qrn_gpu_shape(b, s->out[0]);
    int64_t step[QRN_MAX_RANK];
    nest t = {0};
    dense_steps(x, step);
    for (uint32_t i = 0, dx = 0, dy = 0; i < a->n_rows; i++) {
        const struct qrn_slice_row *r = &a->rows[i];
        if (r->kind == QRN_SLICE_NEW) {
            dy++;
            continue;
        }
        int64_t dim = x->dims[dx],
                n = r->kind == QRN_SLICE_KEEP && dy < y->rank ? y->dims[dy++] : 1;
        int64_t begin = r->open ? (r->step > 0 ? 0 : dim - 1) : r->begin;
        begin = begin > dim - 1 ? dim - 1 : begin;
        int64_t last = begin + (n - 1) * r->step;
        if (n < 1 || begin < 0 || last < 0 || last >= dim)
            return qrn_gpu_reject(b, s, "its ranges reach outside of the tensor");
        t.first_x += begin * step[dx];
        add_loop(&t, n, n > 1 ? step[dx] * r->step : 0);
        dx++;
    }
    return move_all(b, s, &t);
}

static qrn_status bind_tile(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]), *y = qrn_gpu_shape(b, s->out[0]);
    int64_t step[QRN_MAX_RANK];
    nest t = {0};
    dense_steps(x, step);
    for (uint32_t d = 0; d < x->rank; d++) {
        if (x->dims[d] == 0)
            return QRN_OK;
        add_loop(&t, y->dims[d] / x->dims[d], 0);
        add_loop(&t, x->dims[d], step[d]);
    }
    return move_all(b, s, &t);
}

// Rows of `run` elements: of a join's part and of its whole, where the part begins at `at`.
static nest part_nest(int64_t rows, int64_t run, int64_t x_row, int64_t y_row) {
    nest t = {.n = 2};
    t.loops[0] = (struct loop){rows, x_row, y_row};
    t.loops[1] = (struct loop){run, 1, 1};
    return t;
}

static qrn_status bind_concat(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_join_args *a = s->args;
    qrn_val result = qrn_gpu_result(b);
    const qrn_shape *y = qrn_gpu_shape(b, s->out[0]);
    int64_t whole = qrn_gpu_span(y, a->axis, y->rank), rows = qrn_gpu_span(y, 0, a->axis), at = 0;
    for (uint32_t i = 0; i < s->n_in; i++) {
        const qrn_shape *x = qrn_gpu_shape(b, s->in[i]);
        int64_t run = qrn_gpu_span(x, a->axis, x->rank);
        nest t = part_nest(rows, run, run, whole);
        t.first_y = at;
        bool there = qrn_gpu_is_joined(b, s->in[i]) ||
                     (rows == 1 && is_in_place(b, s->in[i], s->out[0], at));
        if (b->group->n > 1 || !there)
            QRN_TRY(move(b, &t, s->in[i], result));
        at += run;
    }
    return QRN_OK;
}

static qrn_status bind_split(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_join_args *a = s->args;
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]);
    int64_t whole = qrn_gpu_span(x, a->axis, x->rank), rows = qrn_gpu_span(x, 0, a->axis), at = 0;
    for (uint32_t i = 0; i < s->n_out; i++) {
        if (s->out[i] == QRN_VAL_NONE)
            return qrn_gpu_reject(b, s, "one of its parts is absent");
        const qrn_shape *y = qrn_gpu_shape(b, s->out[i]);
        int64_t run = qrn_gpu_span(y, a->axis, y->rank);
        nest t = part_nest(rows, run, whole, run);
        t.first_x = at;
        if (rows != 1 || !is_in_place(b, s->out[i], s->in[0], at))
            QRN_TRY(move(b, &t, s->in[0], s->out[i]));
        at += run;
    }
    return QRN_OK;
}

// The two words that VALUE of move.cl makes an element of.
static void add_element(qrn_gpu_kernel *k, qrn_val y, const uint8_t *element) {
    int32_t words[2] = {0, 0};
    qrn_gpu_define_real(k, "Y_REAL", y);
    memcpy(words, element, qrn_dtypes[qrn_gpu_value(k->b, y)->dtype].bits / 8);
    QRN_GPU_INTS(k, words[0], words[1]);
}

static qrn_status bind_pad(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_pad_args *a = s->args;
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]), *y = qrn_gpu_shape(b, s->out[0]);
    size_t total = qrn_gpu_count(b, s->out[0]);
    int64_t step[QRN_MAX_RANK];
    int32_t p[1 + 4 * QRN_MAX_RANK] = {0};
    bool joined = false; // the dimension behind is not padded either
    dense_steps(x, step);
    for (uint32_t d = x->rank; d-- > 0;) {
        bool plain = x->dims[d] == y->dims[d];
        int32_t *row = &p[1 + 4 * p[0]];
        if (plain && joined) { // both are one dimension
            row[-4] *= (int32_t)y->dims[d];
            row[-3] *= (int32_t)x->dims[d];
            continue;
        }
        row[0] = (int32_t)y->dims[d];
        row[1] = (int32_t)x->dims[d];
        row[2] = (int32_t)a->before[d];
        row[3] = (int32_t)step[d];
        joined = plain;
        p[0]++;
    }
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_move, "pad");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_params(&k, p, 1 + 4 * (uint32_t)p[0]);
    qrn_gpu_int(&k, a->scheme);
    add_element(&k, s->out[0], a->fill);
    qrn_gpu_int(&k, (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

static qrn_status bind_batch_space(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_batch_space_args *a = s->args;
    const qrn_shape *x = qrn_gpu_shape(b, s->in[0]), *y = qrn_gpu_shape(b, s->out[0]);
    const uint32_t *space = a->to_batch ? x->dims : y->dims;
    const uint32_t *batch = a->to_batch ? y->dims : x->dims;
    const uint32_t sizes[] = {space[0],    space[1],    space[2],     batch[1],    batch[2],
                              a->block[0], a->block[1], a->pad[0][0], a->pad[1][0]};
    size_t total = qrn_gpu_count(b, s->out[0]);
    int32_t p[9];
    for (int i = 0; i < 9; i++)
        p[i] = (int32_t)sizes[i];
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_move, "batch_space");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_params(&k, p, 9);
    QRN_GPU_INTS(&k, x->dims[3], a->to_batch);
    add_element(&k, s->out[0], a->fill);
    qrn_gpu_int(&k, (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

// Conversions that are not element-wise to expr.c: from 4 bits.
static qrn_status bind_unpack4(qrn_gpu_binder *b, const qrn_cstep *s) {
    const qrn_cvalue *x = qrn_gpu_value(b, s->in[0]);
    size_t total = qrn_gpu_count(b, s->out[0]);
    bool is_signed = x->dtype == QRN_DTYPE_SQ4;
    if ((!is_signed && x->dtype != QRN_DTYPE_UQ4) || x->quant.kind != QRN_QUANT_TENSOR ||
        !qrn_dtype_is_float(qrn_gpu_value(b, s->out[0])->dtype))
        return qrn_gpu_reject(b, s, "no kernel converts between these types");
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_move, "unpack4");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_define_real(&k, "Y_REAL", s->out[0]);
    QRN_GPU_INTS(&k, is_signed ? 8 : 0, x->quant.offset);
    qrn_gpu_float(&k, x->quant.scale);
    qrn_gpu_int(&k, (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

const qrn_gpu_op qrn_gpu_ops_move[] = {
    {.op = &qrn_cop_convert, .bind = bind_unpack4, .epilogue = true},
    {.op = &qrn_cop_copy, .bind = bind_copy, .epilogue = true},
    {.op = &qrn_cop_reshape, .bind = bind_reshape, .epilogue = true},
    {.op = &qrn_cop_transpose, .bind = bind_transpose, .epilogue = true},
    {.op = &qrn_cop_slice, .bind = bind_slice, .epilogue = true},
    {.op = &qrn_cop_pad, .bind = bind_pad, .epilogue = true},
    {.op = &qrn_cop_concat, .bind = bind_concat, .epilogue = true},
    {.op = &qrn_cop_split, .bind = bind_split},
    {.op = &qrn_cop_tile, .bind = bind_tile, .epilogue = true},
    {.op = &qrn_cop_depth_space, .bind = bind_depth_space, .epilogue = true},
    {.op = &qrn_cop_batch_space, .bind = bind_batch_space, .epilogue = true},
    {.op = &qrn_cop_shuffle, .bind = bind_shuffle, .epilogue = true},
    {0},
};
