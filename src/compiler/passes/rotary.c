// SPDX-License-Identifier: MIT
//
// Pass "rotary": the halves a and b of rows, joined again as (a cos - b sin, a sin + b cos), in
// single precision, are one step. Another reader of what is between keeps its steps.
#include "compiler/passes.h"

#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/rotate.h"
#include "kernels/move/join.h"
#include "kernels/move/layout.h"

typedef struct search {
    const qrn_lowering *lo;
    const qrn_use *uses;
} search;

static const qrn_cvalue *value(const search *f, qrn_val v) { return &f->lo->cg->values[v]; }

static bool is_float(const search *f, qrn_val v) { return value(f, v)->dtype == QRN_DTYPE_F32; }

// Is v what it will be when step `at` runs?
static bool is_done(const search *f, qrn_val v, uint32_t at) {
    return f->uses[v].n_writes <= 1 && f->uses[v].last_write <= at;
}

// The step of this op that makes an operand of step `by`; else NULL.
static const qrn_cstep *maker(const search *f, const qrn_cstep *by, uint32_t operand,
                              const qrn_cop *op) {
    const qrn_compiled *p = f->lo->cg;
    qrn_val v = by->in[operand];
    uint32_t at = (uint32_t)(by - p->steps);
    if (!is_done(f, v, at) || !f->uses[v].last_write || !is_float(f, v))
        return NULL;
    const qrn_cstep *s = &p->steps[f->uses[v].last_write - 1];
    if (!qrn_pass_plain(p, s) || s->op != op)
        return NULL;
    for (uint32_t i = 0; i < s->n_in; i++)
        if (s->in[i] == QRN_VAL_NONE || !is_done(f, s->in[i], (uint32_t)(s - p->steps)) ||
            !is_float(f, s->in[i]))
            return NULL;
    return s;
}

static const qrn_cstep *binary(const search *f, const qrn_cstep *by, uint32_t operand,
                               uint32_t code) {
    const qrn_cstep *s = maker(f, by, operand, &qrn_cop_binary);
    bool fits = s && s->domain == QRN_DOMAIN_F32 && ((const qrn_binary_args *)s->args)->op == code;
    return fits ? s : NULL;
}

// Are both shapes the same, but for the last dimension, which has these sizes?
static bool has_shapes(const qrn_shape *a, uint32_t last_a, const qrn_shape *b, uint32_t last_b) {
    if (a->rank != b->rank || a->rank == 0 || a->dims[a->rank - 1] != last_a ||
        b->dims[b->rank - 1] != last_b)
        return false;
    for (uint32_t d = 0; d + 1 < a->rank; d++)
        if (a->dims[d] != b->dims[d])
            return false;
    return true;
}

// Does the step cut n numbers from `begin` on out of each row?
static bool cuts(const search *f, const qrn_cstep *s, uint32_t begin, uint32_t n) {
    const qrn_slice_args *a = s->args;
    const qrn_shape *x = &value(f, s->in[0])->shape;
    if (s->n_in != 1 || a->n_rows != x->rank ||
        !has_shapes(x, 2 * n, &value(f, s->out[0])->shape, n))
        return false;
    for (uint32_t d = 0; d < x->rank; d++)
        if (a->rows[d].kind != QRN_SLICE_KEEP || a->rows[d].open || a->rows[d].step != 1 ||
            a->rows[d].begin != (d + 1 < x->rank ? 0 : (int32_t)begin))
            return false;
    return true;
}

// Dimensions of the angles are 1, then those of x, then 1: how many rows of x share one? 0: they
// are others.
static uint32_t shared_rows(const qrn_shape *x, const qrn_shape *angles, uint32_t n) {
    uint32_t inner = 1, d = x->rank - 1;
    if (angles->rank != x->rank || angles->dims[d] != n)
        return 0;
    for (; d > 0 && angles->dims[d - 1] == 1; d--)
        inner *= x->dims[d - 1];
    for (; d > 0 && angles->dims[d - 1] == x->dims[d - 1]; d--)
        ;
    for (; d > 0 && angles->dims[d - 1] == 1; d--)
        ;
    return d ? 0 : inner;
}

// Does the step end a rotation? in[]: x, cos and sin.
static bool find(const search *f, const qrn_cstep *join, qrn_val *in, qrn_rotate_args *args) {
    const qrn_shape *y = &value(f, join->out[0])->shape;
    if (!is_float(f, join->out[0]) || join->n_in != 2 || y->rank == 0 ||
        ((const qrn_join_args *)join->args)->axis != y->rank - 1 || y->dims[y->rank - 1] % 2)
        return false;
    uint32_t n = y->dims[y->rank - 1] / 2;
    const qrn_cstep *sub = binary(f, join, 0, QRN_BINARY_SUB);
    const qrn_cstep *add = binary(f, join, 1, QRN_BINARY_ADD);
    const qrn_cstep *ac = sub ? binary(f, sub, 0, QRN_BINARY_MUL) : NULL;
    const qrn_cstep *bs = sub ? binary(f, sub, 1, QRN_BINARY_MUL) : NULL;
    const qrn_cstep *as = add ? binary(f, add, 0, QRN_BINARY_MUL) : NULL;
    const qrn_cstep *bc = add ? binary(f, add, 1, QRN_BINARY_MUL) : NULL;
    if (!ac || !bs || !as || !bc || as->in[0] != ac->in[0] || bc->in[0] != bs->in[0] ||
        as->in[1] != bs->in[1] || bc->in[1] != ac->in[1])
        return false;
    const qrn_cstep *a = maker(f, ac, 0, &qrn_cop_slice), *b = maker(f, bs, 0, &qrn_cop_slice);
    if (!a || !b || a->in[0] != b->in[0] || !cuts(f, a, 0, n) || !cuts(f, b, n, n))
        return false;
    in[0] = a->in[0];
    in[1] = ac->in[1];
    in[2] = bs->in[1];
    args->inner = shared_rows(y, &value(f, in[1])->shape, n);
    return args->inner && args->inner == shared_rows(y, &value(f, in[2])->shape, n) &&
           value(f, in[1])->size_bytes == value(f, in[2])->size_bytes &&
           has_shapes(&value(f, in[0])->shape, 2 * n, y, 2 * n);
}

qrn_status qrn_pass_rotary(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    const search f = {lo, uses};
    for (uint32_t i = 0; i < p->n_steps && !lo->opt->stored; i++) {
        qrn_cstep *s = &p->steps[i];
        qrn_val in[3];
        qrn_rotate_args args;
        if (!qrn_pass_plain(p, s) || s->op != &qrn_cop_concat || !find(&f, s, in, &args))
            continue;
        s->op = &qrn_cop_rotate;
        s->domain = QRN_DOMAIN_F32;
        s->args = qrn_arena_copy(p->arena, &args, sizeof args);
        s->in = qrn_arena_copy(p->arena, in, sizeof in);
        s->n_in = 3;
        if (!s->args || !s->in)
            return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    }
    return QRN_OK;
}
