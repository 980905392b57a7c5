// SPDX-License-Identifier: MIT
//
// GEMMs of floats whose weights are quantized values of 4 or 8 bits: they stay packed, with the
// scales of their blocks or channels beside them. Makes a step of the weight_only family.
#include "bind/cpu/binder.h"

#include "base/fp16.h"
#include "kernels/gemm/epilogue/requant.h"
#include "kernels/gemm/gemv/weight_only.h"
#include "kernels/gemm/tiles/gemm_q8.h"

#include <string.h>

// The weights of a step and how they are packed.
typedef struct packing {
    qrn_weights weights; // first, as in quantized_gemm.c
    qrn_view view;       // of the tensor; its data comes later
    uint32_t run;        // elements of the depth that share a scale
} packing;

// The quantized constant behind the weights of a step; QRN_VAL_NONE: there is none.
static qrn_val source_of(const qrn_cpu_binder *b, qrn_val w) {
    const qrn_cconst *c = &b->cg->constants[b->cg->values[w].constant];
    if (c->kind != QRN_CONST_ROUNDED)
        return QRN_VAL_NONE;
    const qrn_cvalue *v = &b->cg->values[c->source];
    bool fits = qrn_dtype_is_fixed(v->dtype) && qrn_dtypes[v->dtype].bits <= 8 &&
                v->quant.kind != QRN_QUANT_NONE && v->quant.shift == 0.0f && !v->quant.real_offsets;
    return fits ? c->source : QRN_VAL_NONE;
}

// Elements of the depth that share a scale; 0: the encoding is of another kind.
static uint32_t run_of(const qrn_gemm *g, const qrn_cvalue *v) {
    const qrn_quant *q = &v->quant;
    uint32_t rank = v->shape.rank, depth = g->dense.depth;
    if (q->kind == QRN_QUANT_TENSOR || (q->kind == QRN_QUANT_AXIS && q->axis == g->channel_axis))
        return depth;
    if (q->kind != QRN_QUANT_BLOCK)
        return 0;
    uint32_t block = q->block[g->channel_axis == rank - 1 ? rank - 2 : rank - 1];
    return block >= depth ? depth : block % QRN_Q8_DEPTH ? 0 : block;
}

// Group of the encoding of run r of column j.
static size_t group_of(const packing *p, size_t r, size_t j) {
    const qrn_weights *w = &p->weights;
    if (p->view.quant->kind == QRN_QUANT_BLOCK)
        return qrn_block_of(&p->view, r * p->run * w->w_depth + j * w->w_col);
    return p->view.quant->kind == QRN_QUANT_AXIS ? j : 0;
}

static size_t runs_of(const packing *p) {
    return (p->weights.dense.depth + (size_t)p->run - 1) / p->run;
}

static bool is_fp16(float x) {
    return (double)qrn_f16_to_f32(qrn_f16_from_f64((double)x)) == (double)x;
}

// Are the scales fp16 numbers? Which offsets are there?
static bool look(const packing *p, bool *fp16, bool *offsets) {
    const qrn_quant *q = p->view.quant;
    int32_t shift = qrn_weights_shift(&p->weights);
    if (q->packed) { // what they are was found out before
        *fp16 = q->packed->fp16;
        *offsets = q->packed->offsets != NULL;
        return true;
    }
    *fp16 = true;
    *offsets = false;
    for (uint32_t g = 0; g < (q->kind == QRN_QUANT_TENSOR ? 1 : q->n_groups); g++) {
        int32_t offset = qrn_group_offset(q, g) + shift;
        *fp16 &= is_fp16((float)qrn_group_scale(q, g));
        *offsets |= offset != 0;
        if (offset < INT8_MIN || offset > INT8_MAX)
            return false;
    }
    return true;
}

static void pack_weights(const void *args, const void *src, void *dst) {
    const packing *p = args;
    qrn_weights_pack(&p->weights, src, dst);
}

// Scales and offsets in the order of the panels; 0 where there is no column.
static void pack_scales_f32(const void *args, const void *src, void *dst) {
    const packing *p = args;
    size_t runs = runs_of(p), cols = p->weights.dense.cols;
    float *to = dst;
    (void)src;
    for (size_t j0 = 0; j0 < cols; j0 += QRN_PANEL)
        for (size_t r = 0; r < runs; r++)
            for (size_t j = j0; j < j0 + QRN_PANEL; j++)
                *to++ = j < cols ? (float)qrn_group_scale(p->view.quant, group_of(p, r, j)) : 0.0f;
}

static void pack_scales_fp16(const void *args, const void *src, void *dst) {
    const packing *p = args;
    size_t runs = runs_of(p), cols = p->weights.dense.cols;
    uint16_t *to = dst;
    (void)src;
    for (size_t j0 = 0; j0 < cols; j0 += QRN_PANEL)
        for (size_t r = 0; r < runs; r++)
            for (size_t j = j0; j < j0 + QRN_PANEL; j++)
                *to++ = j < cols
                            ? qrn_f16_from_f64(qrn_group_scale(p->view.quant, group_of(p, r, j)))
                            : 0;
}

static void pack_offsets(const void *args, const void *src, void *dst) {
    const packing *p = args;
    size_t runs = runs_of(p), cols = p->weights.dense.cols;
    int32_t shift = qrn_weights_shift(&p->weights);
    int8_t *to = dst;
    (void)src;
    for (size_t j0 = 0; j0 < cols; j0 += QRN_PANEL)
        for (size_t r = 0; r < runs; r++)
            for (size_t j = j0; j < j0 + QRN_PANEL; j++)
                *to++ = j < cols
                            ? (int8_t)(qrn_group_offset(p->view.quant, group_of(p, r, j)) + shift)
                            : 0;
}

// The packed weights, their scales and, unless all are 0, their offsets.
static qrn_status pack_all(qrn_cpu_binder *b, const qrn_step *s, const packing *p, qrn_val source,
                           qrn_val out[3]) {
    bool fp16, offsets;
    qrn_shape packed = {0}, scales = {.rank = 3};
    if (!look(p, &fp16, &offsets) || !qrn_weights_shape(&p->weights, &packed.rank, packed.dims))
        return QRN_E_UNSUPPORTED;
    scales.dims[0] = packed.dims[0];
    scales.dims[1] = (uint32_t)runs_of(p);
    scales.dims[2] = QRN_PANEL;
    qrn_cpu_packing k = {.id = p->weights.packed == 4 ? QRN_PACKING_DENSE4 : QRN_PACKING_DENSE8,
                         .node = s->node,
                         .source = source,
                         .dtype = QRN_DTYPE_I8,
                         .shape = &packed,
                         .pack = pack_weights,
                         .args = p,
                         .args_bytes = sizeof *p};
    QRN_TRY(qrn_cpu_pack(b, &k, &out[0]));
    k.id = QRN_PACKING_SCALES;
    k.dtype = fp16 ? QRN_DTYPE_F16 : QRN_DTYPE_F32;
    k.shape = &scales;
    k.pack = fp16 ? pack_scales_fp16 : pack_scales_f32;
    QRN_TRY(qrn_cpu_pack(b, &k, &out[1]));
    k.id = QRN_PACKING_OFFSETS;
    k.dtype = QRN_DTYPE_I8;
    k.pack = pack_offsets;
    out[2] = QRN_VAL_NONE;
    return offsets ? qrn_cpu_pack(b, &k, &out[2]) : QRN_OK;
}

// Do the rows of the GEMM lie in x as they are?
static bool is_direct(const qrn_cpu_binder *b, const qrn_step *s, const qrn_gemm *g) {
    const qrn_view *x = &b->plan->values[s->in[0]].view, *y = &b->plan->values[s->out[0]].view;
    return g->dense.group == 1 && g->dense.depth && qrn_dense_plan_of(&g->dense, x, y).direct;
}

qrn_status qrn_cpu_weight_only(qrn_cpu_binder *b, qrn_step *s, const qrn_gemm *g) {
    qrn_val source = source_of(b, s->in[1]);
    const qrn_cvalue *v = source == QRN_VAL_NONE ? NULL : &b->cg->values[source];
    bool fp16 = b->cg->half != QRN_FP16_OFF && b->cg->half != QRN_FP16_AS_F32;
    qrn_weight_only_args a = {.dense = g->dense, .run = v ? run_of(g, v) : 0, .fp16 = fp16};
    if (!a.run || !is_direct(b, s, g))
        return QRN_E_UNSUPPORTED;
    uint32_t bits = qrn_dtypes[v->dtype].bits;
    packing p = {.weights = {.dense = g->dense,
                             .w_depth = g->w_depth,
                             .w_col = g->w_col,
                             .dtype = v->dtype,
                             .bits = v->quant.bits && v->quant.bits < bits ? v->quant.bits : bits},
                 .view = qrn_compiled_view(b->cg, source),
                 .run = a.run};
    a.w_bits = p.weights.packed = p.weights.bits <= 4 ? 4 : 8;
    p.view.data = NULL;
    qrn_val ins[5] = {s->in[0]};
    ins[4] = s->n_in > 2 ? s->in[2] : QRN_VAL_NONE;
    QRN_TRY(pack_all(b, s, &p, source, &ins[1]));
    s->family = &qrn_family_weight_only;
    s->args = qrn_arena_copy(b->plan->arena, &a, sizeof a);
    s->in = qrn_arena_copy(b->plan->arena, ins, sizeof ins);
    s->n_in = 5;
    return s->args && s->in ? QRN_OK : qrn_cpu_no_memory(b);
}
