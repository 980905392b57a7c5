// SPDX-License-Identifier: MIT
//
// Convolutions and matmuls as one GEMM.
#include "compiler/gemm.h"

bool qrn_conv_is_gemm(const qrn_conv_args *conv, const qrn_shape *f, qrn_dense_args *d) {
    uint32_t cout = f->dims[f->rank - 1], cin = f->dims[f->rank - 2];
    if (conv->group > 1 && (conv->transposed || cin == 1))
        return false;
    *d = (qrn_dense_args){.conv = *conv, .group = conv->group, .cols = cout / conv->group};
    uint64_t depth = cin;
    for (uint32_t i = 0; i < conv->n_spatial; i++) {
        d->kernel[i] = f->dims[i];
        depth *= f->dims[i]; // the filter is in memory: no overflow
    }
    d->depth = (uint32_t)depth;
    return depth <= INT32_MAX;
}

bool qrn_matmul_is_gemm(const qrn_matmul_args *m, uint32_t a_rank, const qrn_shape *w,
                        qrn_dense_args *d) {
    for (uint32_t i = 0; i + 2 < w->rank; i++)
        if (w->dims[i] != 1)
            return false;
    if (m->transpose_a || (!m->flat && w->rank > a_rank))
        return false;
    *d = (qrn_dense_args){.rows = true,
                          .conv = {.clamp = m->clamp},
                          .group = 1,
                          .depth = w->dims[w->rank - (m->transpose_b ? 1 : 2)],
                          .cols = w->dims[w->rank - (m->transpose_b ? 2 : 1)]};
    return d->depth <= INT32_MAX;
}

bool qrn_gemm_of(const qrn_compiled *cg, const qrn_cstep *s, qrn_gemm *g) {
    bool conv = s->op == &qrn_cop_conv;
    if (s->kind != QRN_CSTEP_OP || (!conv && s->op != &qrn_cop_matmul) ||
        cg->values[s->in[1]].kind != QRN_CV_CONST)
        return false;
    const qrn_shape *w = &cg->values[s->in[1]].shape, *y = &cg->values[s->out[0]].shape;
    const qrn_matmul_args *m = conv ? NULL : s->args;
    bool fits = conv ? qrn_conv_is_gemm(s->args, w, &g->dense)
                     : qrn_matmul_is_gemm(m, cg->values[s->in[0]].shape.rank, w, &g->dense);
    if (!fits)
        return false;
    bool by_rows = m && m->transpose_b;
    g->channel_axis = w->rank - (by_rows ? 2 : 1);
    g->n_channels = y->dims[y->rank - 1];
    g->w_depth = by_rows ? 1 : w->dims[w->rank - 1];
    g->w_col = by_rows ? g->dense.depth : 1;
    return true;
}
