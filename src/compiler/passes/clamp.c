// SPDX-License-Identifier: MIT
//
// Pass "clamp": Relu and ReluMinMax behind a convolution or fully connected layer in single
// precision, whose result nobody else reads, become limits that the layer keeps its results in
// before it writes them.
#include "compiler/gemm.h"
#include "compiler/passes.h"

#include "kernels/conv/conv.h"
#include "kernels/eltwise/unary.h"

#include <math.h>

// The limits that a layer can keep; NULL: it is none.
static qrn_clamp *clamp_of(const qrn_lowering *lo, const qrn_cstep *s) {
    if (!qrn_pass_plain(lo->cg, s) || s->domain != QRN_DOMAIN_F32)
        return NULL;
    if (s->op == &qrn_cop_conv)
        return &((qrn_conv_args *)s->args)->clamp;
    qrn_gemm gemm;
    bool fixed = s->op == &qrn_cop_matmul && qrn_gemm_of(lo->cg, s, &gemm);
    return fixed ? &((qrn_matmul_args *)s->args)->clamp : NULL;
}

// What an activation does; false: something else.
static bool limits(const qrn_lowering *lo, const qrn_cstep *s, qrn_clamp *c) {
    if (!qrn_pass_plain(lo->cg, s) || s->op != &qrn_cop_unary || s->domain != QRN_DOMAIN_F32)
        return false;
    const qrn_unary_args *a = s->args;
    *c = (qrn_clamp){true, 0.0f, INFINITY};
    if (a->op == QRN_UNARY_RELU)
        return true;
    c->low = a->low;
    c->high = a->high;
    return a->op == QRN_UNARY_CLAMP && a->low <= a->high;
}

static bool is_wanted(const qrn_lowering *lo, qrn_val v) {
    return lo->opt->keep_tensors && lo->opt->wanted(lo->opt->wanted_ctx, lo->cg->values[v].name);
}

// The layer's node makes the activation's result from now on.
static void take_over(qrn_compiled *p, uint32_t node, qrn_val from, qrn_val to) {
    for (uint32_t i = 0; i < p->nodes[node].n_out; i++)
        if (p->nodes[node].out[i] == from)
            p->nodes[node].out[i] = to;
}

qrn_status qrn_pass_clamp(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_cstep *s = &p->steps[i];
        qrn_clamp c;
        if (!limits(lo, s, &c))
            continue;
        const qrn_use *u = &uses[s->in[0]];
        qrn_cstep *layer = u->n_writes == 1 ? &p->steps[u->last_write - 1] : NULL;
        qrn_clamp *to = layer && layer->op ? clamp_of(lo, layer) : NULL;
        if (!to || to->on || u->n_reads != 1 || u->last_write > i ||
            p->values[s->in[0]].kind != QRN_CV_TEMP || uses[s->out[0]].n_writes != 1 ||
            is_wanted(lo, s->in[0]))
            continue;
        *to = c;
        if (lo->opt->keep_tensors)
            take_over(p, layer->node, s->in[0], s->out[0]);
        layer->out[0] = s->out[0];
        qrn_pass_drop(s);
    }
    return QRN_OK;
}
