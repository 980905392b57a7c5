// SPDX-License-Identifier: MIT
//
// Steps that move elements: transposes, slices, joins, pads on the GPU. Most are one nest of loops
// over the output, with a step through the source for each: the kernel `move`.
#include "bind/gpu/binder.h"

#include "kernels/move/generate.h"
#include "kernels/move/join.h"
#include "kernels/move/layout.h"

#include <string.h>

#define MAX_LOOPS QRN_STRIDED_LOOPS
#define MAX_PARTS 4 // outputs of a launch, as in move.cl

// Loops, outermost first.
typedef struct nest {
    uint32_t n;
    struct loop {
        int64_t size, x, y; // iterations; steps in elements
    } loops[MAX_LOOPS];
    int64_t first_x, first_y;
} nest;

// The loops of a kernel of the CPU, which writes its output densely.
static nest nest_of(const qrn_strided *s, size_t first) {
    nest t = {.n = s->n_loops, .first_x = (int64_t)first};
    int64_t step = 1;
    for (uint32_t i = t.n; i-- > 0;) {
        t.loops[i] = (struct loop){(int64_t)s->n[i], s->step[i], step};
        step *= t.loops[i].size;
    }
    return t;
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
static bool by_fours(const qrn_gpu_binder *b, const nest *t) {
    struct loop loops[MAX_LOOPS];
    simplify(t, loops);
    return b->group->n == 1 && loops[0].x == 1 && loops[0].y == 1 && loops[0].size % 4 == 0 &&
           t->first_x % 4 == 0 && t->first_y % 4 == 0;
}

// Parameters of the kernels: number of loops, then for each, from the innermost on: size, step in
// x, step in y.
static uint32_t loop_params(const nest *t, bool four, int32_t *p) {
    struct loop loops[MAX_LOOPS];
    uint32_t n = simplify(t, loops);
    if (four)
        loops[0] = (struct loop){loops[0].size / 4, 4, 4};
    p[0] = (int32_t)n;
    for (uint32_t i = 0; i < n; i++) {
        p[1 + 3 * i] = (int32_t)loops[i].size;
        p[2 + 3 * i] = (int32_t)loops[i].x;
        p[3 + 3 * i] = (int32_t)loops[i].y;
    }
    return 1 + 3 * n;
}

static qrn_status move(qrn_gpu_binder *b, const nest *t, qrn_val x, qrn_val y) {
    int32_t p[1 + 3 * MAX_LOOPS];
    bool four = by_fours(b, t);
    size_t total = (size_t)iterations(t) / (four ? 4 : 1);
    uint32_t n = loop_params(t, four, p);
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_move, four ? "move4" : "move");
    qrn_gpu_in(&k, "X", x);
    qrn_gpu_out(&k, "Y", y);
    qrn_gpu_define_real(&k, "Y_REAL", y);
    qrn_gpu_params(&k, "P", p, n);
    QRN_GPU_INTS(&k, t->first_x, t->first_y, (int64_t)total);
    return qrn_gpu_kernel_items(&k, total);
}

// --- several outputs of one source

typedef struct parts {
    nest nests[MAX_PARTS];
    qrn_val y[MAX_PARTS];
    uint32_t n;
} parts;

// One launch for all of them.
static qrn_status move_parts(qrn_gpu_binder *b, qrn_val x, parts *m) {
    static const char *const names[MAX_PARTS] = {"Y0", "Y1", "Y2", "Y3"};
    int32_t p[MAX_PARTS * (5 + 3 * MAX_LOOPS)];
    bool four = true;
    int64_t total = 0;
    uint32_t n = 2 * MAX_PARTS;
    if (m->n < 2)
        return m->n ? move(b, &m->nests[0], x, m->y[0]) : QRN_OK;
    for (uint32_t i = 0; i < m->n; i++)
        four &= by_fours(b, &m->nests[i]) && !qrn_gpu_is_joined(b, m->y[i]);
    for (uint32_t i = 0; i < MAX_PARTS; i++) { // where each one ends, and its parameters
        total += i < m->n ? iterations(&m->nests[i]) / (four ? 4 : 1) : 0;
        p[2 * i] = (int32_t)total;
        p[2 * i + 1] = (int32_t)n;
        if (i >= m->n)
            continue;
        p[n++] = (int32_t)m->nests[i].first_x;
        p[n++] = (int32_t)m->nests[i].first_y;
        n += loop_params(&m->nests[i], four, p + n);
    }
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_move, "move_parts");
    qrn_gpu_define(&k, "WIDTH", "%d", four ? 4 : 1);
    qrn_gpu_in(&k, "X", x);
    for (uint32_t i = 0; i < MAX_PARTS; i++) // what is absent has no work items
        qrn_gpu_out(&k, names[i], m->y[i < m->n ? i : 0]);
    qrn_gpu_params(&k, "P", p, n);
    qrn_gpu_int(&k, total);
    m->n = 0;
    return qrn_gpu_kernel_items(&k, (size_t)total);
}

static void add_part(parts *m, const nest *t, qrn_val y) {
    m->nests[m->n] = *t;
    m->y[m->n++] = y;
}

// --- ops

qrn_status qrn_gpu_copy(qrn_gpu_binder *b, qrn_val x, qrn_val y, size_t count) {
    qrn_strided s = {0};
    qrn_strided_loop(&s, count, 1);
    nest t = nest_of(&s, 0);
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

static qrn_status bind_layout(qrn_gpu_binder *b, const qrn_cstep *s, qrn_layout_fn fill) {
    qrn_view x = qrn_compiled_view(b->cg, s->in[0]), y = qrn_compiled_view(b->cg, s->out[0]);
    qrn_strided loops = {0};
    size_t first = 0;
    QRN_TRY(fill(s->args, &x, &y, &loops, &first));
    nest t = nest_of(&loops, first);
    return move(b, &t, s->in[0], qrn_gpu_result(b));
}

static qrn_status bind_transpose(qrn_gpu_binder *b, const qrn_cstep *s) {
    return bind_layout(b, s, qrn_transpose_nest);
}
static qrn_status bind_depth_space(qrn_gpu_binder *b, const qrn_cstep *s) {
    return bind_layout(b, s, qrn_depth_space_nest);
}
static qrn_status bind_shuffle(qrn_gpu_binder *b, const qrn_cstep *s) {
    return bind_layout(b, s, qrn_shuffle_nest);
}
static qrn_status bind_tile(qrn_gpu_binder *b, const qrn_cstep *s) {
    return bind_layout(b, s, qrn_tile_nest);
}

// --- slices

// The transpose that a slice reads through: its own step is left out.
static const qrn_cstep *seen_through(const qrn_gpu_binder *b, qrn_val v) {
    uint32_t writer = b->writer[qrn_compiled_owner(b->cg, v)];
    const qrn_cstep *s = writer && b->skip[writer - 1] ? &b->cg->steps[writer - 1] : NULL;
    return s && s->op == &qrn_cop_transpose && s->out[0] == v ? s : NULL;
}

static qrn_status slice_nest(qrn_gpu_binder *b, const qrn_cstep *s, nest *t, qrn_val *source) {
    qrn_view x = qrn_compiled_view(b->cg, s->in[0]), y = qrn_compiled_view(b->cg, s->out[0]);
    const qrn_cstep *transpose = seen_through(b, s->in[0]);
    size_t steps[QRN_MAX_RANK], dense[QRN_MAX_RANK], first = 0;
    qrn_strided loops = {0};
    *source = transpose ? transpose->in[0] : s->in[0];
    qrn_view from = qrn_compiled_view(b->cg, *source);
    qrn_dense_steps(&from, dense);
    for (uint32_t d = 0; d < x.rank; d++)
        steps[d] = dense[transpose ? ((const qrn_transpose_args *)transpose->args)->perm[d] : d];
    if (qrn_slice_nest(s->args, &x, &y, steps, &loops, &first) != QRN_OK)
        return qrn_gpu_reject(b, s, "its ranges reach outside of the tensor");
    *t = nest_of(&loops, first);
    return QRN_OK;
}

// Slices of one value are one launch, where nothing else runs in their kernels.
static qrn_status bind_slice(qrn_gpu_binder *b, const qrn_cstep *s) {
    qrn_gpu_group *all = b->groups, *own = (qrn_gpu_group *)(uintptr_t)b->group;
    parts m = {0};
    nest t;
    qrn_val x;
    QRN_TRY(slice_nest(b, s, &t, &x));
    if (own->n > 1)
        return move(b, &t, x, qrn_gpu_result(b));
    add_part(&m, &t, s->out[0]);
    uint32_t others = b->readers[qrn_compiled_owner(b->cg, s->in[0])] - 1;
    for (qrn_gpu_group *g = own + 1;
         others && m.n < MAX_PARTS && g < all + b->n_groups && !b->opt->keep_nodes; g++) {
        const qrn_cstep *other = g->n == 1 ? &b->cg->steps[g->steps[0]] : NULL;
        if (!other || other->op != &qrn_cop_slice || other->in[0] != s->in[0])
            continue;
        QRN_TRY(slice_nest(b, other, &t, &x));
        add_part(&m, &t, other->out[0]);
        b->also.steps[b->also.n++] = g->steps[0];
        g->n = 0; // done
        others--;
    }
    QRN_TRY(move_parts(b, x, &m));
    b->also.n = 0;
    return QRN_OK;
}

// Does the step read v as the value that slices can see through?
static bool slices(const qrn_cstep *s, qrn_val v) {
    for (uint32_t k = 0; k < s->n_in; k++)
        if (s->in[k] != QRN_VAL_NONE && s->in[k] != v)
            return false;
    return s->kind == QRN_CSTEP_OP && s->op == &qrn_cop_slice;
}

void qrn_gpu_find_slices(qrn_gpu_binder *b) {
    const qrn_compiled *cg = b->cg;
    for (uint32_t i = 0; i < cg->n_steps && !b->opt->keep_nodes; i++) {
        const qrn_cstep *s = &cg->steps[i];
        if (s->kind != QRN_CSTEP_OP || s->op != &qrn_cop_transpose || b->skip[i] ||
            cg->values[s->out[0]].kind != QRN_CV_TEMP || !qrn_gpu_is_whole(b, s->out[0]))
            continue;
        qrn_val owner = qrn_compiled_owner(cg, s->out[0]);
        uint32_t left = b->readers[owner];
        for (uint32_t k = i + 1; left && k < cg->n_steps; k++)
            left -= !b->skip[k] && slices(&cg->steps[k], s->out[0]);
        b->skip[i] = left == 0 && b->readers[owner] > 0;
    }
}

// --- joins

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
    parts m = {0};
    for (uint32_t i = 0; i < s->n_out; i++) {
        if (s->out[i] == QRN_VAL_NONE)
            return qrn_gpu_reject(b, s, "one of its parts is absent");
        const qrn_shape *y = qrn_gpu_shape(b, s->out[i]);
        int64_t run = qrn_gpu_span(y, a->axis, y->rank);
        nest t = part_nest(rows, run, whole, run);
        t.first_x = at;
        if (rows != 1 || !is_in_place(b, s->out[i], s->in[0], at))
            add_part(&m, &t, s->out[i]);
        if (m.n == MAX_PARTS)
            QRN_TRY(move_parts(b, s->in[0], &m));
        at += run;
    }
    return move_parts(b, s->in[0], &m);
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
    int32_t p[1 + 4 * QRN_MAX_RANK] = {0};
    bool joined = false; // the dimension behind is not padded either
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
        row[3] = (int32_t)qrn_gpu_span(x, d + 1, x->rank);
        joined = plain;
        p[0]++;
    }
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_move, "pad");
    qrn_gpu_in(&k, "X", s->in[0]);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_params(&k, "P", p, 1 + 4 * (uint32_t)p[0]);
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
    qrn_gpu_params(&k, "P", p, 9);
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
