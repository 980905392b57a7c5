// SPDX-License-Identifier: MIT
//
// GEMMs of floats with constant weights: packs them and makes a step of the dense families, or of
// Winograd's where that gains.
#include "bind/cpu/binder.h"

#include "kernels/gemm/dense/dense.h"
#include "kernels/gemm/dense/dense_f16.h"
#include "kernels/gemm/winograd/winograd.h"
#include "kernels/gemm/winograd/winograd_f16.h"

#include <string.h>

typedef struct packing {
    qrn_dense_args dense;
    size_t w_depth, w_col;
    qrn_view weights;     // type, shape and encoding; the data comes later
    qrn_fp16_rule fp16;   // OFF: f32 is packed as it is
    bool winograd;        // transformed
    const float *factors; // of all columns of all groups, or NULL
} packing;

// Packed weights times their column's factor.
static void scale_columns(const packing *p, float *w) {
    const qrn_dense_args *d = &p->dense;
    for (size_t g = 0; g < d->group; g++)
        for (size_t j = 0; j < d->cols; j += QRN_PANEL)
            for (size_t k = 0; k < d->depth; k++, w += QRN_PANEL)
                for (size_t c = 0; c < QRN_PANEL && j + c < d->cols; c++)
                    w[c] = (float)((double)w[c] * (double)p->factors[g * d->cols + j + c]);
}

static void pack(const void *args, const void *src, void *dst) {
    const packing *p = args;
    qrn_view w = p->weights;
    w.data = (void *)(uintptr_t)src;
    if (p->fp16)
        qrn_dense_f16_pack(&p->dense, &w, p->w_depth, p->w_col, p->fp16, dst);
    else if (p->winograd)
        qrn_winograd_pack(&p->dense, src, dst);
    else
        qrn_dense_pack(&p->dense, src, p->w_depth, p->w_col, dst);
    if (p->factors)
        scale_columns(p, dst);
}

// Turns a convolution into Winograd's where that gains: one of fp16 with the weights it has, one
// of f32 with larger ones, which are not for graphs that are stored.
static void try_winograd(const qrn_cpu_binder *b, const qrn_step *s, packing *p) {
    if (p->dense.rows || !b->opt->winograd)
        return;
    const qrn_view *x = &b->plan->values[s->in[0]].view, *y = &b->plan->values[s->out[0]].view;
    if (p->fp16) {
        p->winograd = qrn_winograd_f16_fits(&p->dense, x, y);
        return;
    }
    if (b->opt->packed || !qrn_winograd_fits(&p->dense, x, y))
        return;
    p->winograd = true;
    p->dense.depth = x->dims[3] * QRN_WINOGRAD_PLANES;
}

// Where the numbers of the weights are before they are rounded or scaled.
static qrn_val source_of(qrn_cpu_binder *b, qrn_val w, packing *p) {
    const qrn_cconst *c = &b->cg->constants[b->cg->values[w].constant];
    if (c->kind == QRN_CONST_SCALED)
        p->factors = qrn_compiled_data(b->cg, c->factors);
    bool rounded = c->kind == QRN_CONST_ROUNDED && p->fp16;
    return c->kind == QRN_CONST_SCALED || rounded ? c->source : w;
}

bool qrn_cpu_gemm_is_plain(const qrn_plan_packing *k, uint32_t cols, size_t *w_depth,
                           size_t *w_col) {
    if (!k->args || (k->id != QRN_PACKING_DENSE_F32 && k->id != QRN_PACKING_DENSE_F16))
        return false;
    const packing *p = k->args;
    *w_depth = p->w_depth;
    *w_col = p->w_col;
    return p->dense.rows && p->dense.group == 1 && p->dense.cols == cols && !p->factors;
}

static qrn_status pack_weights(qrn_cpu_binder *b, const qrn_step *s, packing *p, qrn_val *out) {
    qrn_shape shape = {.rank = 3};
    if (!qrn_dense_packed_shape(&p->dense, shape.dims))
        return QRN_E_UNSUPPORTED;
    qrn_val source = source_of(b, s->in[1], p);
    const qrn_cvalue *v = &b->cg->values[source];
    p->weights = qrn_compiled_view(b->cg, source);
    p->weights.data = NULL;
    p->weights.quant = qrn_dtype_is_fixed(v->dtype) ? &v->quant : NULL;
    qrn_cpu_packing k = {.id = p->fp16 ? QRN_PACKING_DENSE_F16 : QRN_PACKING_DENSE_F32,
                         .node = s->node,
                         .source = source,
                         .dtype = p->fp16 ? QRN_DTYPE_F16 : QRN_DTYPE_F32,
                         .shape = &shape,
                         .pack = pack,
                         .args = p,
                         .args_bytes = sizeof *p};
    return qrn_cpu_pack(b, &k, out);
}

qrn_status qrn_cpu_gemm(qrn_cpu_binder *b, qrn_step *s, const qrn_gemm *g) {
    packing p = {.dense = g->dense, .w_depth = g->w_depth, .w_col = g->w_col, .fp16 = b->cg->half};
    qrn_val ins[3] = {s->in[0], QRN_VAL_NONE, s->n_in > 2 ? s->in[2] : QRN_VAL_NONE};
    try_winograd(b, s, &p);
    QRN_TRY(pack_weights(b, s, &p, &ins[1]));
    qrn_dense_f16_args f16 = {g->dense, p.fp16 == QRN_FP16_WIDE_RANGE};
    const void *args = p.fp16 ? (const void *)&f16 : &p.dense;
    s->family = p.fp16       ? p.winograd ? &qrn_family_winograd_f16 : &qrn_family_dense_f16
                : p.winograd ? &qrn_family_winograd
                             : &qrn_family_dense;
    s->args = qrn_arena_copy(b->plan->arena, args, s->family->args_bytes);
    s->in = qrn_arena_copy(b->plan->arena, ins, sizeof ins);
    s->n_in = 3;
    return s->args && s->in ? QRN_OK : qrn_cpu_no_memory(b);
}
