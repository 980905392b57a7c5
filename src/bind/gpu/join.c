// SPDX-License-Identifier: MIT
//
// Concat by writing at an offset: a result that only a concat step reads goes to its part of the
// joined block at once. The rows of the part lie `pitch` elements apart there, which the store of
// every kernel knows (kernel.c), so the step has nothing left to copy.
#include "bind/gpu/binder.h"

#include "kernels/move/join.h"

// Kernels that write one element after the other through ST_Y.
static bool writes_elements(const qrn_gpu_binder *b, const qrn_cstep *s) {
    static const qrn_cop *const ops[] = {&qrn_cop_conv,     &qrn_cop_matmul,  &qrn_cop_pool_max,
                                         &qrn_cop_pool_avg, &qrn_cop_softmax, &qrn_cop_norm};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (s->op == ops[i])
            return true;
    return qrn_gpu_is_element_wise(b, s);
}

static size_t span(const qrn_shape *x, uint32_t from, uint32_t to) {
    size_t n = 1;
    for (uint32_t d = from; d < to; d++)
        n *= x->dims[d];
    return n;
}

// Is v the result of a whole group, and read by one step alone?
static bool may_join(const qrn_gpu_binder *b, const uint32_t *group_of, qrn_val v) {
    const qrn_cvalue *val = qrn_gpu_value(b, v);
    if (val->kind != QRN_CV_TEMP || val->base != QRN_VAL_NONE || b->readers[v] != 1 ||
        b->writer[v] == 0)
        return false;
    uint32_t writer = b->writer[v] - 1, of = group_of[writer];
    const qrn_gpu_group *g = of == UINT32_MAX ? NULL : &b->groups[of];
    return g && g->steps[g->n - 1] == writer && b->cg->steps[writer].out[0] == v &&
           b->cg->steps[writer].n_out == 1 && writes_elements(b, &b->cg->steps[g->steps[0]]);
}

static void join(qrn_gpu_binder *b, const uint32_t *group_of, const qrn_cstep *s) {
    const qrn_join_args *a = s->args;
    const qrn_shape *y = &qrn_gpu_value(b, s->out[0])->shape;
    size_t whole = span(y, a->axis, y->rank), at = 0;
    for (uint32_t i = 0; i < s->n_in; i++) {
        const qrn_cvalue *x = qrn_gpu_value(b, s->in[i]);
        size_t run = span(&x->shape, a->axis, x->shape.rank);
        bool twice = false;
        for (uint32_t k = 0; k < s->n_in; k++)
            twice |= k != i && qrn_compiled_owner(b->cg, s->in[k]) == s->in[i];
        if (!twice && x->dtype == qrn_gpu_value(b, s->out[0])->dtype &&
            may_join(b, group_of, s->in[i])) {
            b->joins[s->in[i]] = (qrn_gpu_join){.whole = s->out[0],
                                                .row = (uint32_t)run,
                                                .pitch = (uint32_t)whole,
                                                .at = (uint32_t)at};
            qrn_gpu_place *part = &b->plan->places[s->in[i]];
            *part = b->plan->places[s->out[0]]; // the offset comes when memory is planned
        }
        at += run;
    }
}

qrn_status qrn_gpu_find_joins(qrn_gpu_binder *b) {
    const qrn_compiled *cg = b->cg;
    uint32_t *group_of = qrn_arena_alloc(cg->arena, (cg->n_steps + 1u) * sizeof *group_of);
    b->joins = qrn_arena_alloc(cg->arena, (cg->n_values + 1u) * sizeof *b->joins);
    if (!group_of || !b->joins)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", cg->name);
    for (uint32_t v = 0; v < cg->n_values; v++)
        b->joins[v] = (qrn_gpu_join){0};
    // Host steps write a value in one piece.
    if (b->opt->keep_nodes || b->opt->keep_memory || b->opt->host_steps)
        return QRN_OK;
    for (uint32_t i = 0; i < cg->n_steps; i++)
        group_of[i] = UINT32_MAX;
    for (uint32_t i = 0; i < b->n_groups; i++)
        for (uint32_t k = 0; k < b->groups[i].n; k++)
            group_of[b->groups[i].steps[k]] = i;
    for (uint32_t i = 0; i < b->n_groups; i++) {
        const qrn_cstep *s = &cg->steps[b->groups[i].steps[0]];
        if (b->groups[i].n == 1 && s->kind == QRN_CSTEP_OP && s->op == &qrn_cop_concat)
            join(b, group_of, s);
    }
    return QRN_OK;
}
