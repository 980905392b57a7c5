// SPDX-License-Identifier: MIT
//
// Pass "rotary": the halves a and b of rows, joined again as (a cos - b sin, a sin + b cos), in
// single precision, are one step; so are x cos + (-b, a) sin, rounded to fp16 or not. Another
// reader of what is between keeps its steps.
#include "compiler/passes.h"

#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/rotate.h"
#include "kernels/eltwise/unary.h"
#include "kernels/fp16/round_fp16.h"
#include "kernels/move/join.h"
#include "kernels/move/layout.h"

typedef struct search {
    const qrn_lowering *lo;
    const qrn_use *uses;
} search;

static const qrn_cvalue *value(const search *f, qrn_val v) { return &f->lo->cg->values[v]; }

static bool is_float(const search *f, qrn_val v) { return value(f, v)->dtype == QRN_DTYPE_F32; }

// Is v what it will be when step `at` runs?
static bool is_done(const search *f, qrn_val v, uint32_t at) { return f->uses[v].last_write <= at; }

static bool rounds_in_place(const qrn_cstep *s, qrn_val v) {
    return s->op == &qrn_cop_round_fp16 && s->in[0] == v && s->out[0] == v;
}

// The step that makes v alone, the last but for a rounding in place of this rule (OFF: none).
static const qrn_cstep *writer(const search *f, qrn_val v, uint32_t rule) {
    const qrn_use *u = &f->uses[v];
    uint32_t writes = rule ? 2 : 1;
    if (u->n_writes != writes || u->last_write < writes)
        return NULL;
    const qrn_cstep *s = &f->lo->cg->steps[u->last_write - 1];
    if (rule && (!rounds_in_place(s, v) || ((const qrn_round_fp16_args *)s->args)->rule != rule))
        return NULL;
    s -= writes - 1;
    return s->n_out == 1 && s->out[0] == v ? s : NULL;
}

// The step of this op that makes an operand of step `by`; else NULL.
static const qrn_cstep *maker(const search *f, const qrn_cstep *by, uint32_t operand,
                              const qrn_cop *op, uint32_t rule) {
    const qrn_compiled *p = f->lo->cg;
    qrn_val v = by->in[operand];
    if (!is_done(f, v, (uint32_t)(by - p->steps)) || !is_float(f, v))
        return NULL;
    const qrn_cstep *s = writer(f, v, rule);
    if (!s || !qrn_pass_plain(p, s) || s->op != op)
        return NULL;
    for (uint32_t i = 0; i < s->n_in; i++)
        if (s->in[i] == QRN_VAL_NONE || !is_done(f, s->in[i], (uint32_t)(s - p->steps)) ||
            !is_float(f, s->in[i]))
            return NULL;
    return s;
}

static const qrn_cstep *binary(const search *f, const qrn_cstep *by, uint32_t operand,
                               uint32_t code, uint32_t rule) {
    const qrn_cstep *s = maker(f, by, operand, &qrn_cop_binary, rule);
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

// How many rows of y share an angle of n columns? 0: they are others, or those of sin.
static uint32_t shared_angles(const search *f, const qrn_shape *y, const qrn_val *in, uint32_t n) {
    uint32_t inner = shared_rows(y, &value(f, in[1])->shape, n);
    bool same = inner == shared_rows(y, &value(f, in[2])->shape, n) &&
                value(f, in[1])->size_bytes == value(f, in[2])->size_bytes;
    return same ? inner : 0;
}

// Does the step end a rotation of joined halves? in[]: x, cos and sin.
static bool find(const search *f, const qrn_cstep *join, qrn_val *in, qrn_rotate_args *args) {
    const qrn_shape *y = &value(f, join->out[0])->shape;
    if (!is_float(f, join->out[0]) || join->n_in != 2 || y->rank == 0 ||
        ((const qrn_join_args *)join->args)->axis != y->rank - 1 || y->dims[y->rank - 1] % 2)
        return false;
    uint32_t n = y->dims[y->rank - 1] / 2;
    const qrn_cstep *sub = binary(f, join, 0, QRN_BINARY_SUB, 0);
    const qrn_cstep *add = binary(f, join, 1, QRN_BINARY_ADD, 0);
    const qrn_cstep *ac = sub ? binary(f, sub, 0, QRN_BINARY_MUL, 0) : NULL;
    const qrn_cstep *bs = sub ? binary(f, sub, 1, QRN_BINARY_MUL, 0) : NULL;
    const qrn_cstep *as = add ? binary(f, add, 0, QRN_BINARY_MUL, 0) : NULL;
    const qrn_cstep *bc = add ? binary(f, add, 1, QRN_BINARY_MUL, 0) : NULL;
    if (!ac || !bs || !as || !bc || as->in[0] != ac->in[0] || bc->in[0] != bs->in[0] ||
        as->in[1] != bs->in[1] || bc->in[1] != ac->in[1])
        return false;
    const qrn_cstep *a = maker(f, ac, 0, &qrn_cop_slice, 0);
    const qrn_cstep *b = maker(f, bs, 0, &qrn_cop_slice, 0);
    if (!a || !b || a->in[0] != b->in[0] || !cuts(f, a, 0, n) || !cuts(f, b, n, n))
        return false;
    in[0] = a->in[0];
    in[1] = ac->in[1];
    in[2] = bs->in[1];
    *args = (qrn_rotate_args){shared_angles(f, y, in, n), QRN_FP16_OFF};
    return args->inner && has_shapes(&value(f, in[0])->shape, 2 * n, y, 2 * n);
}

// Is this product one of (-b, a) and sin, its operand `joined` the halves of x in other order?
static bool is_turned(const search *f, const qrn_cstep *product, uint32_t joined, qrn_val x,
                      uint32_t n) {
    const qrn_cstep *join = maker(f, product, joined, &qrn_cop_concat, QRN_FP16_OFF);
    if (!join || join->n_in != 2 ||
        ((const qrn_join_args *)join->args)->axis + 1 != value(f, x)->shape.rank)
        return false;
    const qrn_cstep *negative = maker(f, join, 0, &qrn_cop_unary, QRN_FP16_OFF);
    const qrn_cstep *a = maker(f, join, 1, &qrn_cop_slice, QRN_FP16_OFF);
    if (!negative || negative->domain != QRN_DOMAIN_F32 ||
        ((const qrn_unary_args *)negative->args)->op != QRN_UNARY_NEG || !a)
        return false;
    const qrn_cstep *b = maker(f, negative, 0, &qrn_cop_slice, QRN_FP16_OFF);
    return b && a->in[0] == x && b->in[0] == x && cuts(f, a, 0, n) && cuts(f, b, n, n);
}

// Does the sum end a rotation x cos + (-b, a) sin, rounded by args->rule? in[]: x, cos and sin.
static bool find_whole(const search *f, const qrn_cstep *sum, qrn_val *in, qrn_rotate_args *args) {
    const qrn_shape *y = &value(f, sum->out[0])->shape;
    uint32_t row = y->rank ? y->dims[y->rank - 1] : 1;
    if (!is_float(f, sum->out[0]) || row % 2 || sum->domain != QRN_DOMAIN_F32 ||
        ((const qrn_binary_args *)sum->args)->op != QRN_BINARY_ADD)
        return false;
    for (uint32_t way = 0; way < 8; way++) { // operands may stand in any order
        uint32_t i = way & 1, j = way >> 1 & 1, k = way >> 2;
        const qrn_cstep *straight = binary(f, sum, i, QRN_BINARY_MUL, args->rule);
        const qrn_cstep *across = binary(f, sum, 1 - i, QRN_BINARY_MUL, args->rule);
        if (!straight || !across)
            return false;
        in[0] = straight->in[j];
        in[1] = straight->in[1 - j];
        in[2] = across->in[1 - k];
        if (!has_shapes(&value(f, in[0])->shape, row, y, row) ||
            !is_turned(f, across, k, in[0], row / 2))
            continue;
        args->inner = shared_angles(f, y, in, row);
        return args->inner != 0;
    }
    return false;
}

// The rule by which the step behind it rounds what step `at` makes, if nothing else changes it.
static bool find_rule(const search *f, uint32_t at, qrn_rotate_args *args) {
    const qrn_compiled *p = f->lo->cg;
    qrn_val v = p->steps[at].out[0];
    const qrn_cstep *next = at + 1 < p->n_steps ? &p->steps[at + 1] : NULL;
    bool rounds = next && next->kind == QRN_CSTEP_OP && next->op && rounds_in_place(next, v);
    args->rule = rounds ? ((const qrn_round_fp16_args *)next->args)->rule : QRN_FP16_OFF;
    return f->uses[v].n_writes == (rounds ? 2 : 1);
}

// Does step `at` end a rotation? Joined halves stay in graphs that may be stored.
static bool find_either(const search *f, uint32_t at, qrn_val *in, qrn_rotate_args *args) {
    const qrn_cstep *s = &f->lo->cg->steps[at];
    if (s->op == &qrn_cop_concat)
        return !f->lo->opt->stored && find(f, s, in, args);
    return s->op == &qrn_cop_binary && find_rule(f, at, args) && find_whole(f, s, in, args);
}

qrn_status qrn_pass_rotary(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    const search f = {lo, uses};
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_cstep *s = &p->steps[i];
        qrn_val in[3];
        qrn_rotate_args args;
        if (!qrn_pass_plain(p, s) || !find_either(&f, i, in, &args))
            continue;
        if (args.rule) // done by the step itself
            qrn_pass_drop(s + 1);
        s->domain = QRN_DOMAIN_F32;
        QRN_TRY(qrn_pass_become(lo, s, &qrn_cop_rotate, in, 3, &args, sizeof args));
    }
    return QRN_OK;
}
