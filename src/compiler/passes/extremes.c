// SPDX-License-Identifier: MIT
//
// Pass "extremes": the smallest and the largest element of one tensor are found in one read.
#include "compiler/passes.h"

#include "kernels/reduce/reduce.h"

#define FAR 16  // steps between the two
#define FEW 64u // elements that are not worth it

// Does the step find the smallest or the largest of all elements?
static bool is_extreme(const qrn_lowering *lo, const qrn_cstep *s) {
    if (!qrn_pass_plain(lo->cg, s) || s->op != &qrn_cop_reduce ||
        (s->domain != QRN_DOMAIN_F32 && s->domain != QRN_DOMAIN_F64))
        return false;
    const qrn_reduce_args *a = s->args;
    const qrn_shape *x = &lo->cg->values[s->in[0]].shape;
    size_t n = 0;
    return (a->op == QRN_REDUCE_MIN || a->op == QRN_REDUCE_MAX) && a->axes == (1u << x->rank) - 1 &&
           qrn_shape_count(x, &n) && n >= FEW;
}

static uint32_t op_of(const qrn_cstep *s) { return ((const qrn_reduce_args *)s->args)->op; }

// Is v a value of the graph alone, which only one step writes?
static bool is_own(const qrn_lowering *lo, const qrn_use *uses, qrn_val v) {
    return lo->cg->values[v].kind == QRN_CV_TEMP && uses[v].n_writes == 1;
}

qrn_status qrn_pass_extremes(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_cstep *s = &p->steps[i];
        if (!is_extreme(lo, s) || uses[s->in[0]].last_write > i)
            continue;
        for (uint32_t j = i + 1; j < p->n_steps && j <= i + FAR; j++) {
            qrn_cstep *t = &p->steps[j];
            if (!is_extreme(lo, t) || t->in[0] != s->in[0] || t->domain != s->domain ||
                op_of(t) == op_of(s) || !is_own(lo, uses, t->out[0]))
                continue;
            qrn_val *out = qrn_arena_alloc(p->arena, 2 * sizeof *out);
            if (!out)
                return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
            bool min_first = op_of(s) == QRN_REDUCE_MIN;
            out[0] = min_first ? s->out[0] : t->out[0];
            out[1] = min_first ? t->out[0] : s->out[0];
            s->op = &qrn_cop_extremes;
            s->args = NULL;
            s->out = out;
            s->n_out = 2;
            qrn_pass_drop(t);
            break;
        }
    }
    return QRN_OK;
}
