// SPDX-License-Identifier: MIT
//
// GEMMs of floats with constant weights: packs them and makes a step of the dense families, or of
// Winograd's where that gains.
#include "bind/cpu/binder.h"

#include "kernels/gemm/dense/dense.h"
#include "kernels/gemm/dense/dense_f16.h"
#include "kernels/gemm/winograd/winograd.h"
#include "kernels/gemm/winograd/winograd_f16.h"

#include <math.h>
#include <string.h>

typedef struct packing {
    qrn_dense_args dense;
    size_t w_depth, w_col;
    qrn_view weights;     // type, shape and encoding; the data comes later
    qrn_fp16_rule fp16;   // what floats are in the graph
    bool as_fp16;         // packed as fp16; else f32 is packed as it is
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
    if (p->as_fp16)
        qrn_dense_f16_pack(&p->dense, &w, p->w_depth, p->w_col, p->fp16 ? p->fp16 : QRN_FP16_IEEE,
                           dst);
    else if (p->winograd)
        qrn_winograd_pack(&p->dense, src, dst);
    else
        qrn_dense_pack(&p->dense, src, p->w_depth, p->w_col, dst);
    if (p->factors)
        scale_columns(p, dst);
}

// Are the weights whole numbers? Such a convolution stands for one of integers (ConvInteger), whose
// sums floats hold exactly; Winograd's fractions would not. Most filters say no at once.
static bool are_whole(const qrn_cpu_binder *b, qrn_val w) {
    const qrn_cvalue *v = &b->cg->values[w];
    const qrn_cconst *c = &b->cg->constants[v->constant];
    if (v->dtype != QRN_DTYPE_F32 || c->kind > QRN_CONST_TENSOR || !c->data)
        return false;
    const float *x = c->data;
    size_t n;
    if (!qrn_shape_count(&v->shape, &n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (rintf(x[i]) - x[i] != 0) // not NaN either
            return false;
    return true;
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
    if (b->opt->packed || !qrn_winograd_fits(&p->dense, x, y) || are_whole(b, s->in[1]))
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

// Are n floats all finite numbers of IEEE fp16? Stops soon after the first that is none.
static bool are_fp16(const float *x, size_t n) {
    for (size_t from = 0; from < n; from += 1024) {
        size_t to = n - from < 1024 ? n : from + 1024;
        bool all = true;
        for (size_t i = from; i < to; i++) {
            uint32_t u;
            memcpy(&u, &x[i], sizeof u);
            float a = fabsf(x[i]), up = a + 0.75f; // floats there are 2^-24 apart, like subnormals
            all &= a < 0x1p-14f ? !(up - 0.75f < a || up - 0.75f > a)
                                : !(u & 0x1fffu) && a <= (float)QRN_FP16_MAX;
        }
        if (!all)
            return false;
    }
    return true;
}

#define LARGE (64 * 1024) // weights; fewer stay in a cache

// Can the weights of a graph of f32 be kept as fp16, because all of them are such numbers? Results
// stay the same, and one row of activations reads half the bytes.
static bool keeps_fp16(const qrn_cpu_binder *b, const packing *p, qrn_cpu_packing *k) {
    const qrn_cvalue *v = &b->cg->values[k->source];
    const qrn_cconst *c = &b->cg->constants[v->constant];
    size_t n = (size_t)p->dense.cols * p->dense.depth;
    if (p->fp16 != QRN_FP16_OFF || !p->dense.rows || p->dense.group != 1 || p->factors ||
        n < LARGE || v->dtype != QRN_DTYPE_F32 || c->kind != QRN_CONST_TENSOR || c->updateable)
        return false;
    k->id = QRN_PACKING_DENSE_F16;
    k->dtype = QRN_DTYPE_F16;
    return qrn_cpu_was_packed(b, k) || (c->data && are_fp16(c->data, n));
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
    qrn_cpu_packing k = {.node = s->node,
                         .source = source,
                         .shape = &shape,
                         .pack = pack,
                         .args = p,
                         .args_bytes = sizeof *p};
    p->as_fp16 = p->fp16 || keeps_fp16(b, p, &k);
    k.id = p->as_fp16 ? QRN_PACKING_DENSE_F16 : QRN_PACKING_DENSE_F32;
    k.dtype = p->as_fp16 ? QRN_DTYPE_F16 : QRN_DTYPE_F32;
    return qrn_cpu_pack(b, &k, out);
}

qrn_status qrn_cpu_gemm(qrn_cpu_binder *b, qrn_step *s, const qrn_gemm *g) {
    packing p = {.dense = g->dense, .w_depth = g->w_depth, .w_col = g->w_col};
    p.fp16 = b->cg->half == QRN_FP16_AS_F32 ? QRN_FP16_OFF : b->cg->half;
    qrn_val ins[3] = {s->in[0], QRN_VAL_NONE, s->n_in > 2 ? s->in[2] : QRN_VAL_NONE};
    try_winograd(b, s, &p);
    QRN_TRY(pack_weights(b, s, &p, &ins[1]));
    qrn_dense_f16_args f16 = {g->dense, p.fp16 == QRN_FP16_WIDE_RANGE};
    const void *args = p.as_fp16 ? (const void *)&f16 : &p.dense;
    s->family = p.as_fp16    ? p.winograd ? &qrn_family_winograd_f16 : &qrn_family_dense_f16
                : p.winograd ? &qrn_family_winograd
                             : &qrn_family_dense;
    s->args = qrn_arena_copy(b->plan->arena, args, s->family->args_bytes);
    s->in = qrn_arena_copy(b->plan->arena, ins, sizeof ins);
    s->n_in = 3;
    return s->args && s->in ? QRN_OK : qrn_cpu_no_memory(b);
}
