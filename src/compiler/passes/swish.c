// SPDX-License-Identifier: MIT
//
// Pass "swish": x * sigmoid(x) in single precision is one step. Another reader keeps the Sigmoid.
#include "compiler/passes.h"

#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/unary.h"

// Is v the sigmoid of x, by a step before `at`?
static bool is_sigmoid(const qrn_lowering *lo, const qrn_use *uses, qrn_val v, qrn_val x,
                       uint32_t at) {
    const qrn_use *u = &uses[v];
    const qrn_cstep *s = u->n_writes == 1 ? &lo->cg->steps[u->last_write - 1] : NULL;
    return s && u->last_write <= at && qrn_pass_plain(lo->cg, s) && s->op == &qrn_cop_unary &&
           s->domain == QRN_DOMAIN_F32 && s->in[0] == x && uses[x].last_write < u->last_write &&
           ((const qrn_unary_args *)s->args)->op == QRN_UNARY_SIGMOID;
}

static bool is_multiply(const qrn_lowering *lo, const qrn_cstep *s) {
    return qrn_pass_plain(lo->cg, s) && s->op == &qrn_cop_binary && s->domain == QRN_DOMAIN_F32 &&
           ((const qrn_binary_args *)s->args)->op == QRN_BINARY_MUL;
}

qrn_status qrn_pass_swish(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_cstep *s = &p->steps[i];
        if (!is_multiply(lo, s))
            continue;
        bool first = is_sigmoid(lo, uses, s->in[0], s->in[1], i);
        if (!first && !is_sigmoid(lo, uses, s->in[1], s->in[0], i))
            continue;
        qrn_unary_args *args = qrn_arena_alloc(p->arena, sizeof *args);
        if (!args)
            return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
        args->op = QRN_UNARY_SWISH;
        s->args = args;
        s->op = &qrn_cop_unary;
        s->in[0] = first ? s->in[1] : s->in[0];
        s->n_in = 1;
    }
    return QRN_OK;
}
