// SPDX-License-Identifier: MIT
//
// Pass "layout": steps between a Transpose and the one that undoes it run in the layout before,
// and the Transposes go: channels that come first stay first. Resizing to the nearest neighbour
// along its axes, Batchnorm, and InstanceNorm, whose factors become a Batchnorm behind it; that one
// differs in its last bits. Comes before it: two axes that are resized one after the other, the
// inner one behind the outer one, become one step.
#include "compiler/passes.h"

#include "kernels/image/resample.h"
#include "kernels/move/layout.h"
#include "kernels/norm/norm.h"

#include <string.h>

static qrn_status no_memory(const qrn_lowering *lo) {
    return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
}

// Is the value made by one step, read by one, and nothing else?
static bool is_between(const qrn_lowering *lo, const qrn_use *uses, qrn_val v) {
    const qrn_cvalue *c = &lo->cg->values[v];
    return uses[v].n_reads == 1 && uses[v].n_writes == 1 && c->kind == QRN_CV_TEMP &&
           c->base == QRN_VAL_NONE;
}

// The step that makes what step `at` reads first, if that is all it is for; NULL: there is none.
static qrn_cstep *maker(const qrn_lowering *lo, const qrn_use *uses, uint32_t at) {
    const qrn_cstep *s = &lo->cg->steps[at];
    qrn_val v = s->in[0];
    if (v == QRN_VAL_NONE || !is_between(lo, uses, v) || uses[v].last_write > at)
        return NULL;
    qrn_cstep *m = &lo->cg->steps[uses[v].last_write - 1];
    bool fits = qrn_pass_plain(lo->cg, m) && m->n_out == 1 && m->n_in > 0 && m->in[0] != v &&
                m->in[0] != QRN_VAL_NONE && uses[m->in[0]].last_write < uses[v].last_write;
    return fits ? m : NULL;
}

// --- two axes at once

static bool moves_one_axis(const qrn_lowering *lo, const qrn_cstep *s) {
    return s->op == &qrn_cop_resample_move && qrn_pass_plain(lo->cg, s) && s->n_in == 2;
}

static qrn_status merge_axes(qrn_lowering *lo, const qrn_use *uses, uint32_t at) {
    qrn_cstep *s = &lo->cg->steps[at], *outer = maker(lo, uses, at);
    if (!outer || !moves_one_axis(lo, outer))
        return QRN_OK;
    const qrn_resample_args *a = outer->args, *b = s->args;
    if (b->axis != a->axis + 1)
        return QRN_OK;
    qrn_val ins[3] = {outer->in[0], outer->in[1], s->in[1]};
    s->in = qrn_arena_copy(lo->cg->arena, ins, sizeof ins);
    if (!s->in)
        return no_memory(lo);
    s->n_in = 3;
    s->args = outer->args;
    qrn_pass_drop(outer);
    return QRN_OK;
}

// --- transposes

// Does the second transpose undo the first?
static bool undoes(const qrn_transpose_args *first, const qrn_transpose_args *second,
                   uint32_t rank) {
    for (uint32_t d = 0; d < rank; d++)
        if (first->perm[second->perm[d]] != d)
            return false;
    return true;
}

// Constants of one number per channel that nobody else reads: they get dimensions of 1 behind.
static bool can_spread(const qrn_lowering *lo, const qrn_use *uses, const qrn_cstep *s) {
    for (uint32_t i = 1; i < s->n_in; i++) {
        const qrn_cvalue *v = s->in[i] == QRN_VAL_NONE ? NULL : &lo->cg->values[s->in[i]];
        if (v && (v->kind != QRN_CV_CONST || v->shape.rank != 1 || uses[s->in[i]].n_reads != 1))
            return false;
    }
    return true;
}

static bool has_factors(const qrn_cstep *s) { return s->n_in > 1 && s->in[1] != QRN_VAL_NONE; }

// Does InstanceNorm take its statistics over all dimensions between the first and the last?
static bool is_instance_norm(const qrn_lowering *lo, const qrn_cstep *s) {
    const qrn_norm_args *a = s->args;
    uint32_t rank = lo->cg->values[s->in[0]].shape.rank;
    if (a->kind != QRN_NORM_MEAN_VARIANCE || a->group || !a->per_channel || a->n_axes + 2 != rank)
        return false;
    for (uint32_t i = 0; i < a->n_axes; i++)
        if (a->axes[i] != i + 1)
            return false;
    return has_factors(s);
}

// May the step run with its dimensions in another order?
static bool can_turn(const qrn_lowering *lo, const qrn_use *uses, const qrn_cstep *s) {
    if (s->op == &qrn_cop_resample_move)
        return s->n_in == 2 || s->n_in == 3;
    if (s->domain != QRN_DOMAIN_F32 || lo->fp16 || !can_spread(lo, uses, s))
        return false;
    return s->op == &qrn_cop_affine || (s->op == &qrn_cop_norm && is_instance_norm(lo, s));
}

static void spread(qrn_compiled *p, const qrn_cstep *s, uint32_t behind) {
    for (uint32_t i = 1; i < s->n_in; i++)
        if (s->in[i] != QRN_VAL_NONE) {
            qrn_shape *shape = &p->values[s->in[i]].shape;
            for (shape->rank = 1; shape->rank <= behind; shape->rank++)
                shape->dims[shape->rank] = 1;
            shape->rank = behind + 1;
        }
}

// The statistics in step s, the factors in the step that undid the transpose.
static qrn_status split_norm(qrn_lowering *lo, qrn_cstep *s, qrn_cstep *last,
                             const uint32_t *perm) {
    qrn_norm_args *a = qrn_arena_copy(lo->cg->arena, s->args, sizeof *a);
    qrn_val *ins = qrn_arena_copy(lo->cg->arena, s->in, s->n_in * sizeof *ins);
    if (!a || !ins)
        return no_memory(lo);
    for (uint32_t i = 0; i < a->n_axes; i++)
        a->axes[i] = perm[a->axes[i]];
    a->per_channel = false;
    ins[0] = s->out[0];
    last->op = &qrn_cop_affine;
    last->domain = QRN_DOMAIN_F32;
    last->args = NULL;
    last->in = ins;
    last->n_in = s->n_in;
    s->args = a;
    s->n_in = 1;
    return QRN_OK;
}

static qrn_status turn_step(qrn_lowering *lo, qrn_cstep *s, qrn_cstep *last, const uint32_t *perm) {
    qrn_compiled *p = lo->cg;
    qrn_cvalue *y = &p->values[s->out[0]];
    qrn_shape shape = y->shape;
    for (uint32_t d = 0; d < shape.rank; d++)
        y->shape.dims[perm[d]] = shape.dims[d];
    if (s->op == &qrn_cop_resample_move) {
        qrn_resample_args *a = qrn_arena_copy(p->arena, s->args, sizeof *a);
        if (!a)
            return no_memory(lo);
        a->axis = perm[a->axis];
        s->args = a;
    } else {
        spread(p, s, shape.rank - 1 - perm[shape.rank - 1]);
    }
    if (s->op == &qrn_cop_norm)
        return split_norm(lo, s, last, perm);
    s->out[0] = last->out[0];
    qrn_pass_drop(last);
    return QRN_OK;
}

// Do two axes that are neighbours stay so?
static bool stay_neighbours(const qrn_cstep *s, const uint32_t *perm) {
    if (s->op != &qrn_cop_resample_move || s->n_in == 2)
        return true;
    uint32_t axis = ((const qrn_resample_args *)s->args)->axis;
    return perm[axis + 1] == perm[axis] + 1;
}

qrn_status qrn_pass_layout(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (moves_one_axis(lo, &p->steps[i]))
            QRN_TRY(merge_axes(lo, uses, i));
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_cstep *last = &p->steps[i];
        if (last->op != &qrn_cop_transpose || !qrn_pass_plain(p, last))
            continue;
        qrn_cstep *s = maker(lo, uses, i);
        if (!s || !can_turn(lo, uses, s) || s->in[0] == QRN_VAL_NONE)
            continue;
        qrn_cstep *first = maker(lo, uses, (uint32_t)(s - p->steps));
        const qrn_shape *x = &p->values[s->in[0]].shape;
        if (!first || first->op != &qrn_cop_transpose || !undoes(first->args, last->args, x->rank))
            continue;
        const uint32_t *perm = ((const qrn_transpose_args *)first->args)->perm;
        if (!stay_neighbours(s, perm))
            continue;
        s->in[0] = first->in[0];
        QRN_TRY(turn_step(lo, s, last, perm));
        qrn_pass_drop(first);
    }
    return QRN_OK;
}
