// SPDX-License-Identifier: MIT
//
// Pass "clamp": Relu and ReluMinMax behind a convolution or fully connected layer in single
// precision, whose result nobody else reads, become limits that the layer keeps its results in
// before it writes them.
#include "compiler/passes.h"

#include "kernels/conv/conv.h"
#include "kernels/eltwise/unary.h"
#include "kernels/gemm/dense/dense.h"
#include "kernels/gemm/winograd/winograd.h"

#include <math.h>

// The limits that a layer can keep; NULL: it is none.
static qrn_clamp *clamp_of(const qrn_lowering *lo, const qrn_step *s) {
    if (!qrn_pass_plain(lo, s) || s->domain != QRN_DOMAIN_F32)
        return NULL;
    if (s->family == &qrn_family_conv)
        return &((qrn_conv_args *)s->args)->clamp;
    if (s->family == &qrn_family_dense || s->family == &qrn_family_winograd)
        return &((qrn_dense_args *)s->args)->conv.clamp;
    return NULL;
}

// What an activation does; false: something else.
static bool limits(const qrn_lowering *lo, const qrn_step *s, qrn_clamp *c) {
    if (!qrn_pass_plain(lo, s) || s->family != &qrn_family_unary || s->domain != QRN_DOMAIN_F32)
        return false;
    const qrn_unary_args *a = s->args;
    *c = (qrn_clamp){true, 0.0f, INFINITY};
    if (a->op == QRN_UNARY_RELU)
        return true;
    c->low = a->low;
    c->high = a->high;
    return a->op == QRN_UNARY_CLAMP && a->low <= a->high;
}

qrn_status qrn_pass_clamp(qrn_lowering *lo, const qrn_use *uses) {
    qrn_plan *p = lo->plan;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_step *s = &p->steps[i];
        qrn_clamp c;
        if (!limits(lo, s, &c))
            continue;
        const qrn_use *u = &uses[s->in[0]];
        qrn_step *layer = u->n_writes == 1 ? &p->steps[u->last_write - 1] : NULL;
        qrn_clamp *to = layer && layer->family ? clamp_of(lo, layer) : NULL;
        if (!to || to->on || u->n_reads != 1 || u->last_write > i ||
            p->values[s->in[0]].storage != QRN_STORE_ARENA || uses[s->out[0]].n_writes != 1)
            continue;
        *to = c;
        layer->out[0] = s->out[0];
        qrn_pass_drop(s);
    }
    return QRN_OK;
}
