// SPDX-License-Identifier: MIT
//
// Quantized GEMMs with constant weights: which packing, in which runs, with which scales and
// offsets; makes a step of the dense8 or dense_planes family. What is decided here depends on
// types, shapes and encodings; on the values of the weights only when they are first packed.
#include "bind/cpu/binder.h"

#include "kernels/gemm/dense/dense8.h"
#include "kernels/gemm/dense/dense_planes.h"
#include "kernels/gemm/tiles/gemm_planes.h"
#include "kernels/gemm/winograd/winograd8.h"

#include <string.h>

// How the weights of a node are packed.
typedef struct packing {
    qrn_weights weights;    // first, as in weight_only.c: see qrn_cpu_bytes_are_plain
    const uint32_t *starts; // [n_runs] in the arena
    uint32_t n_runs;
} packing;

bool qrn_cpu_bytes_are_plain(const qrn_plan_packing *k, uint32_t cols, uint32_t depth,
                             size_t *w_depth, size_t *w_col) {
    if (!k->args || k->id != QRN_PACKING_DENSE8)
        return false;
    const qrn_weights *w = k->args;
    *w_depth = w->w_depth;
    *w_col = w->w_col;
    return w->dense.group == 1 && w->dense.cols == cols && w->dense.depth == depth &&
           w->bits == 8 && w->packed == 8 && qrn_weights_shift(w) == 0;
}

static void pack_weights(const void *args, const void *src, void *dst) {
    const packing *p = args;
    qrn_weights_pack(&p->weights, src, dst);
}

static void pack_sums(const void *args, const void *src, void *dst) {
    const packing *p = args;
    bool is_16bit = p->weights.packed == 16;
    qrn_weights_sums(&p->weights, src, p->starts, p->n_runs, is_16bit ? NULL : dst,
                     is_16bit ? dst : NULL);
}

static qrn_packing_id packing_id(uint32_t bits) {
    return bits == 4 ? QRN_PACKING_DENSE4 : bits == 8 ? QRN_PACKING_DENSE8 : QRN_PACKING_DENSE16;
}

// The weights of a step and how they are packed.
typedef struct weights {
    const qrn_cvalue *value;
    const qrn_gemm *gemm;
    qrn_val source;
    uint32_t node;
    bool is_tensor; // data of a tensor, not computed by the compiler
} weights;

static qrn_cpu_packing form(const weights *w, qrn_packing_id id, qrn_dtype dtype,
                            const qrn_shape *shape) {
    return (qrn_cpu_packing){
        .id = id, .node = w->node, .source = w->source, .dtype = dtype, .shape = shape};
}

// Does a packing with 4 bits exist already, or fit?
static bool four_bits_do(qrn_cpu_binder *b, const weights *t, qrn_weights w, const void *data) {
    qrn_shape shape;
    w.packed = 4;
    if (!b->opt->pack4 || !t->is_tensor || !qrn_weights_shape(&w, &shape.rank, shape.dims))
        return false;
    qrn_cpu_packing k = form(t, QRN_PACKING_DENSE4, QRN_DTYPE_I8, &shape);
    return qrn_cpu_was_packed(b, &k) || (data && qrn_weights_fit(&w, data));
}

static qrn_weights weights_of(qrn_cpu_binder *b, const weights *t, const void *data) {
    uint32_t bits = qrn_dtypes[t->value->dtype].bits;
    qrn_weights w = {.dense = t->gemm->dense,
                     .w_depth = t->gemm->w_depth,
                     .w_col = t->gemm->w_col,
                     .dtype = t->value->dtype,
                     .bits = bits,
                     .packed = bits};
    if (t->value->quant.bits && t->value->quant.bits < bits)
        w.bits = t->value->quant.bits;
    if (w.bits <= 4 || (bits == 8 && four_bits_do(b, t, w, data)))
        w.packed = 4;
    return w;
}

static qrn_view weight_view(const qrn_cvalue *v) {
    qrn_view view = {.quant = &v->quant, .dtype = v->dtype, .rank = v->shape.rank};
    memcpy(view.dims, v->shape.dims, sizeof view.dims);
    return view;
}

// First depths of the runs of equal scale, one unless there are blocks.
static qrn_status make_runs(qrn_cpu_binder *b, const weights *t, packing *p, qrn_val *out) {
    qrn_view w = weight_view(t->value);
    const qrn_gemm *g = t->gemm;
    bool blocks = t->value->quant.kind == QRN_QUANT_BLOCK;
    p->n_runs = 1;
    for (uint32_t k = 1; blocks && k < g->dense.depth; k++)
        if (qrn_block_of(&w, k * g->w_depth) != qrn_block_of(&w, (k - 1) * g->w_depth)) {
            if (k % QRN_Q8_DEPTH)
                return QRN_E_UNSUPPORTED;
            p->n_runs++;
        }
    qrn_shape shape = {.rank = 1, .dims = {p->n_runs}};
    void *data;
    QRN_TRY(qrn_cpu_const(b, QRN_DTYPE_U32, &shape, out, &data));
    uint32_t *starts = data;
    *starts++ = 0;
    for (uint32_t k = 1; blocks && k < g->dense.depth; k++)
        if (qrn_block_of(&w, k * g->w_depth) != qrn_block_of(&w, (k - 1) * g->w_depth))
            *starts++ = k;
    p->starts = data;
    return QRN_OK;
}

// Group of the weights' encoding of a run and channel.
static size_t group_of(const weights *t, const packing *p, uint32_t run, uint32_t c) {
    qrn_view w = weight_view(t->value);
    if (t->value->quant.kind == QRN_QUANT_BLOCK)
        return qrn_block_of(&w, p->starts[run] * t->gemm->w_depth + c * t->gemm->w_col);
    return c % t->value->shape.dims[t->gemm->channel_axis];
}

// Scales and, unless all are 0, offsets of the stored weights, [runs, channels].
static qrn_status make_encodings(qrn_cpu_binder *b, const weights *t, const packing *p,
                                 qrn_val *scales, qrn_val *offsets) {
    const qrn_quant *e = &t->value->quant;
    uint32_t n = t->gemm->n_channels;
    qrn_shape shape = {.rank = 2, .dims = {p->n_runs, n}};
    int32_t shift = qrn_weights_shift(&p->weights);
    bool any = false;
    void *s, *o;
    QRN_TRY(qrn_cpu_const(b, QRN_DTYPE_F32, &shape, scales, &s));
    for (uint32_t i = 0; i < p->n_runs * n; i++) {
        size_t g = group_of(t, p, i / n, i % n);
        ((float *)s)[i] = (float)qrn_group_scale(e, g);
        any |= qrn_group_offset(e, g) + shift != 0;
    }
    *offsets = QRN_VAL_NONE;
    if (!any)
        return QRN_OK;
    QRN_TRY(qrn_cpu_const(b, QRN_DTYPE_I32, &shape, offsets, &o));
    for (uint32_t i = 0; i < p->n_runs * n; i++)
        ((int32_t *)o)[i] = qrn_group_offset(e, group_of(t, p, i / n, i % n)) + shift;
    return QRN_OK;
}

// The packed weights and their sums.
static qrn_status pack_both(qrn_cpu_binder *b, const weights *t, const packing *p,
                            const qrn_shape *packed, qrn_val out[2]) {
    bool is_16bit = p->weights.packed == 16;
    uint32_t n = t->gemm->n_channels;
    qrn_shape sums = {.rank = 1, .dims = {n}};
    if (p->n_runs > 1)
        sums = (qrn_shape){.rank = 2, .dims = {p->n_runs, n}};
    qrn_cpu_packing k = form(t, packing_id(p->weights.packed), QRN_DTYPE_I8, packed);
    k.pack = pack_weights;
    k.args = p;
    k.args_bytes = sizeof *p;
    QRN_TRY(qrn_cpu_pack(b, &k, &out[0]));
    k.id = is_16bit ? QRN_PACKING_DENSE16_SUMS : QRN_PACKING_DENSE8_SUMS;
    k.dtype = is_16bit ? QRN_DTYPE_I64 : QRN_DTYPE_I32;
    k.shape = &sums;
    k.pack = pack_sums;
    return qrn_cpu_pack(b, &k, &out[1]);
}

static bool is_signed(qrn_dtype t) { return qrn_dtypes[t].cls == QRN_CLASS_SFIXED; }

// The offset that all channels share; false when they differ.
static bool common_offset(const qrn_quant *q, int32_t *offset) {
    *offset = qrn_group_offset(q, 0);
    for (uint32_t g = 1; q->kind == QRN_QUANT_AXIS && g < q->n_groups; g++)
        if (qrn_group_offset(q, g) != *offset)
            return false;
    return true;
}

// Bytes times bytes to bytes, in 32 bits: what dense8 is for. bias: QRN_VAL_NONE, or known.
static bool bytes_do(qrn_cpu_binder *b, const weights *t, const qrn_step *s, uint32_t packed,
                     qrn_val bias) {
    const qrn_cvalue *x = &b->cg->values[s->in[0]], *y = &b->cg->values[s->out[0]];
    const qrn_cvalue *w = t->value;
    const int32_t *known = bias == QRN_VAL_NONE ? NULL : qrn_compiled_data(b->cg, bias);
    int32_t w_offset;
    return packed == 8 && qrn_dtypes[x->dtype].bits == 8 && qrn_dtypes[y->dtype].bits == 8 &&
           w->quant.kind != QRN_QUANT_BLOCK && common_offset(&w->quant, &w_offset) &&
           (known || bias == QRN_VAL_NONE) &&
           qrn_dense8_fits(&t->gemm->dense, is_signed(x->dtype), x->quant.offset,
                           is_signed(w->dtype), w_offset, known);
}

static void pack_matrices(const void *args, const void *src, void *dst) {
    qrn_winograd8_pack(args, src, dst);
}

// The packed weights of a 3x3 convolution as matrices of winograd8.h too, where that gains. Results
// are the same without them.
static qrn_status pack_for_winograd(qrn_cpu_binder *b, const weights *t, const qrn_step *s,
                                    const qrn_weights *w, int32_t w_offset, qrn_val packed,
                                    qrn_val *out) {
    const qrn_view *x = &b->plan->values[s->in[0]].view, *y = &b->plan->values[s->out[0]].view;
    qrn_shape shape = {.rank = 4};
    *out = QRN_VAL_NONE;
    if (w_offset || w->bits != 8 || !b->opt->winograd || !qrn_winograd8_fits(&w->dense, x, y))
        return QRN_OK;
    qrn_winograd8_shape(&w->dense, shape.dims);
    qrn_cpu_packing k = form(t, QRN_PACKING_WINOGRAD8, QRN_DTYPE_I16, &shape);
    k.pack = pack_matrices;
    k.args = &w->dense;
    k.args_bytes = sizeof w->dense;
    return qrn_cpu_pack_late(b, &k, packed, out);
}

void qrn_cpu_drop_late(qrn_cpu_binder *b) {
    qrn_plan *p = b->plan;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_step *s = &p->steps[i];
        if (s->family != &qrn_family_dense8 || s->in[QRN_DENSE8_MATRICES] == QRN_VAL_NONE ||
            qrn_winograd8_reads(s->kernel))
            continue;
        p->values[s->in[QRN_DENSE8_MATRICES]].size_bytes = 0;
        s->in[QRN_DENSE8_MATRICES] = QRN_VAL_NONE;
    }
    for (uint32_t i = 0; i < p->n_late; i++)
        if (p->values[p->late[i].value].size_bytes)
            p->late[n++] = p->late[i];
    p->n_late = n;
}

static qrn_status become(qrn_cpu_binder *b, qrn_step *s, const qrn_family *f, const void *args,
                         const qrn_val *ins, uint32_t n_in) {
    s->family = f;
    s->args = qrn_arena_copy(b->plan->arena, args, f->args_bytes);
    s->in = qrn_arena_copy(b->plan->arena, ins, n_in * sizeof *ins);
    s->n_in = n_in;
    return s->args && s->in ? QRN_OK : qrn_cpu_no_memory(b);
}

qrn_status qrn_cpu_quantized_gemm(qrn_cpu_binder *b, qrn_step *s, const qrn_gemm *g) {
    const qrn_cvalue *x = &b->cg->values[s->in[0]], *w = &b->cg->values[s->in[1]];
    qrn_val ins[7] = {s->in[0]}, bias = s->n_in > 2 ? s->in[2] : QRN_VAL_NONE;
    if (g->dense.depth == 0 || (!g->dense.rows && !qrn_dense_has_zero(x->dtype, x->quant.offset)))
        return QRN_E_UNSUPPORTED;
    weights t = {.value = w,
                 .gemm = g,
                 .source = s->in[1],
                 .node = s->node,
                 .is_tensor = b->cg->constants[w->constant].kind == QRN_CONST_TENSOR};
    packing p = {.weights = weights_of(b, &t, qrn_compiled_data(b->cg, s->in[1]))};
    bool bytes = bytes_do(b, &t, s, p.weights.packed, bias);
    qrn_shape shape = {0};
    if ((!bytes && g->dense.depth > QRN_PLANES_DEPTH_MAX) ||
        !qrn_weights_shape(&p.weights, &shape.rank, shape.dims))
        return QRN_E_UNSUPPORTED;
    QRN_TRY(make_runs(b, &t, &p, &ins[5]));
    QRN_TRY(pack_both(b, &t, &p, &shape, &ins[1]));
    QRN_TRY(make_encodings(b, &t, &p, &ins[3], &ins[4]));
    if (bytes) {
        qrn_dense8_args a = {.dense = g->dense};
        a.w_offset = qrn_group_offset(&w->quant, 0) + qrn_weights_shift(&p.weights);
        ins[4] = bias;
        QRN_TRY(
            pack_for_winograd(b, &t, s, &p.weights, a.w_offset, ins[1], &ins[QRN_DENSE8_MATRICES]));
        return become(b, s, &qrn_family_dense8, &a, ins, 6);
    }
    qrn_dense_planes_args a = {
        .dense = g->dense, .w_bits = p.weights.packed, .blocks = w->quant.kind == QRN_QUANT_BLOCK};
    ins[6] = bias;
    return become(b, s, &qrn_family_dense_planes, &a, ins, 7);
}
