// SPDX-License-Identifier: MIT
//
// Packing of quantized weights: which packing, in which runs, with which scales and offsets.
#include "compiler/lower/packed_weights.h"

#include "compiler/lowering.h"
#include "compiler/passes.h"
#include "kernels/gemm/dense/dense8.h"
#include "kernels/gemm/dense/dense_planes.h"
#include "kernels/gemm/tiles/gemm_planes.h"
#include "kernels/gemm/winograd/winograd8.h"

#include <string.h>

// How the weights of a node are packed.
typedef struct packing {
    qrn_weights weights;
    const uint32_t *starts; // [n_runs] in the plan's arena
    uint32_t n_runs;
} packing;

static void pack_weights(const void *args, const void *src, void *dst) {
    const packing *p = args;
    qrn_weights_pack(&p->weights, src, dst);
}

static void pack_sums(const void *args, const void *src, void *dst) {
    const packing *p = args;
    bool wide = p->weights.packed == 16;
    qrn_weights_sums(&p->weights, src, p->starts, p->n_runs, wide ? NULL : dst, wide ? dst : NULL);
}

static qrn_packing_id packing_id(uint32_t bits) {
    return bits == 4 ? QRN_PACKING_DENSE4 : bits == 8 ? QRN_PACKING_DENSE8 : QRN_PACKING_DENSE16;
}

// Does a packing with so many bits exist already, or fit?
static bool four_bits_do(qrn_lowering *lo, const qrn_tensor *t, qrn_weights w, const void *codes) {
    qrn_shape shape;
    w.packed = 4;
    if (!lo->opt->pack4 || !qrn_tensor_is_static(t) ||
        !qrn_weights_shape(&w, &shape.rank, shape.dims))
        return false;
    return qrn_lo_was_packed(lo, QRN_PACKING_DENSE4, QRN_DTYPE_I8, &shape, t) ||
           (codes && qrn_weights_fit(&w, codes));
}

static qrn_weights weights_of(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q,
                              const void *codes) {
    const qrn_tensor *t = n->in[1];
    uint32_t bits = qrn_dtypes[t->dtype].bits;
    qrn_weights w = {.dense = *q->dense,
                     .w_depth = q->w_depth,
                     .w_col = q->w_col,
                     .dtype = t->dtype,
                     .bits = bits,
                     .packed = bits};
    if (t->quant.bits && t->quant.bits < bits)
        w.bits = t->quant.bits;
    if (w.bits <= 4 || (bits == 8 && four_bits_do(lo, t, w, codes)))
        w.packed = 4;
    return w;
}

static qrn_view weight_view(const qrn_tensor *t) {
    qrn_view v = {.quant = &t->quant, .dtype = t->dtype, .rank = t->shape.rank};
    for (uint32_t i = 0; i < v.rank; i++)
        v.dims[i] = t->shape.dims[i];
    return v;
}

// First depths of the runs of equal scale, one unless there are blocks.
static qrn_status make_runs(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q, packing *p,
                            qrn_val *out) {
    qrn_view w = weight_view(n->in[1]);
    bool blocks = n->in[1]->quant.kind == QRN_QUANT_BLOCK;
    p->n_runs = 1;
    for (uint32_t k = 1; blocks && k < q->dense->depth; k++)
        if (qrn_block_of(&w, k * q->w_depth) != qrn_block_of(&w, (k - 1) * q->w_depth)) {
            if (k % QRN_Q8_DEPTH)
                return QRN_E_UNSUPPORTED;
            p->n_runs++;
        }
    qrn_shape shape = {.rank = 1, .dims = {p->n_runs}};
    void *data;
    QRN_TRY(qrn_lo_const(lo, QRN_DTYPE_U32, &shape, NULL, out, &data));
    uint32_t *starts = data;
    *starts++ = 0;
    for (uint32_t k = 1; blocks && k < q->dense->depth; k++)
        if (qrn_block_of(&w, k * q->w_depth) != qrn_block_of(&w, (k - 1) * q->w_depth))
            *starts++ = k;
    p->starts = data;
    return QRN_OK;
}

// Group of the weights' encoding of a run and channel.
static size_t group_of(const qrn_node *n, const qrn_quantized *q, const packing *p, uint32_t run,
                       uint32_t c) {
    const qrn_tensor *t = n->in[1];
    qrn_view w = weight_view(t);
    if (t->quant.kind == QRN_QUANT_BLOCK)
        return qrn_block_of(&w, p->starts[run] * q->w_depth + c * q->w_col);
    return c % t->shape.dims[q->channel_axis];
}

// Scales and, unless all are 0, offsets of the stored weights, [runs, channels].
static qrn_status make_encodings(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q,
                                 const packing *p, qrn_val *scales, qrn_val *offsets) {
    const qrn_quant *e = &n->in[1]->quant;
    qrn_shape shape = {.rank = 2, .dims = {p->n_runs, q->n_channels}};
    int32_t shift = qrn_weights_shift(&p->weights);
    bool any = false;
    void *s, *o;
    QRN_TRY(qrn_lo_const(lo, QRN_DTYPE_F32, &shape, NULL, scales, &s));
    for (uint32_t i = 0; i < p->n_runs * q->n_channels; i++) {
        size_t g = group_of(n, q, p, i / q->n_channels, i % q->n_channels);
        ((float *)s)[i] = (float)qrn_group_scale(e, g);
        any |= qrn_group_offset(e, g) + shift != 0;
    }
    *offsets = QRN_VAL_NONE;
    if (!any)
        return QRN_OK;
    QRN_TRY(qrn_lo_const(lo, QRN_DTYPE_I32, &shape, NULL, offsets, &o));
    for (uint32_t i = 0; i < p->n_runs * q->n_channels; i++)
        ((int32_t *)o)[i] =
            qrn_group_offset(e, group_of(n, q, p, i / q->n_channels, i % q->n_channels)) + shift;
    return QRN_OK;
}

// The packed weights and their sums.
static qrn_status emit(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q,
                       const packing *p, const qrn_shape *packed, const void *codes,
                       qrn_val out[2]) {
    bool wide = p->weights.packed == 16;
    qrn_shape sums = {.rank = 1, .dims = {q->n_channels}};
    if (p->n_runs > 1)
        sums = (qrn_shape){.rank = 2, .dims = {p->n_runs, q->n_channels}};
    qrn_dtype sum_type = wide ? QRN_DTYPE_I64 : QRN_DTYPE_I32;
    if (qrn_tensor_is_static(n->in[1])) {
        QRN_TRY(qrn_lo_packed(lo, packing_id(p->weights.packed), QRN_DTYPE_I8, packed, n->in[1],
                              pack_weights, p, sizeof *p, &out[0]));
        return qrn_lo_packed(lo, wide ? QRN_PACKING_DENSE16_SUMS : QRN_PACKING_DENSE8_SUMS,
                             sum_type, &sums, n->in[1], pack_sums, p, sizeof *p, &out[1]);
    }
    void *data, *sum_data; // computed from constants while compiling
    QRN_TRY(qrn_lo_const(lo, QRN_DTYPE_I8, packed, NULL, &out[0], &data));
    QRN_TRY(qrn_lo_const(lo, sum_type, &sums, NULL, &out[1], &sum_data));
    pack_weights(p, codes, data);
    pack_sums(p, codes, sum_data);
    return QRN_OK;
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
static bool bytes_do(const qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q,
                     uint32_t packed, qrn_val bias) {
    const qrn_tensor *x = n->in[0], *w = n->in[1];
    const int32_t *known = bias == QRN_VAL_NONE ? NULL : qrn_lo_const_data(lo, bias);
    int32_t w_offset;
    return packed == 8 && qrn_dtypes[x->dtype].bits == 8 &&
           qrn_dtypes[n->out[0]->dtype].bits == 8 && w->quant.kind != QRN_QUANT_BLOCK &&
           common_offset(&w->quant, &w_offset) && (known || bias == QRN_VAL_NONE) &&
           qrn_dense8_fits(q->dense, is_signed(x->dtype), x->quant.offset, is_signed(w->dtype),
                           w_offset, known);
}

static void pack_matrices(const void *args, const void *src, void *dst) {
    const qrn_weights *w = args;
    qrn_winograd8_pack(&w->dense, src, w->w_depth, w->w_col, is_signed(w->dtype) ? 0 : 0x80, dst);
}

// The weights of a 3x3 convolution as matrices of winograd8.h, where that gains and their data is
// there, or was packed before. Results are the same without them.
static qrn_status emit_matrices(qrn_lowering *lo, const qrn_node *n, const qrn_weights *w,
                                int32_t w_offset, qrn_val *out) {
    const qrn_tensor *t = n->in[1];
    qrn_view x = {.rank = n->in[0]->shape.rank}, y = {.rank = n->out[0]->shape.rank};
    qrn_shape shape = {.rank = 4};
    *out = QRN_VAL_NONE;
    memcpy(x.dims, n->in[0]->shape.dims, sizeof x.dims);
    memcpy(y.dims, n->out[0]->shape.dims, sizeof y.dims);
    if (w_offset || w->bits != 8 || !qrn_tensor_is_static(t) || !qrn_pass_wanted(lo, "winograd") ||
        !qrn_winograd8_fits(&w->dense, &x, &y))
        return QRN_OK;
    qrn_winograd8_shape(&w->dense, shape.dims);
    if (!t->data && !qrn_lo_was_packed(lo, QRN_PACKING_WINOGRAD8, QRN_DTYPE_I16, &shape, t))
        return QRN_OK;
    return qrn_lo_packed(lo, QRN_PACKING_WINOGRAD8, QRN_DTYPE_I16, &shape, t, pack_matrices, w,
                         sizeof *w, out);
}

qrn_status qrn_lower_packed_weights(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q,
                                    qrn_val bias) {
    const qrn_tensor *x = n->in[0], *t = n->in[1];
    qrn_val w, out, ins[7] = {0};
    QRN_TRY(qrn_lo_tensor(lo, t, &w));
    if (!q->dense || q->dense->depth == 0 || !qrn_lo_is_const(lo, w) ||
        (!q->dense->rows && !qrn_dense_has_zero(x->dtype, x->quant.offset)))
        return QRN_E_UNSUPPORTED;
    const void *codes = qrn_lo_const_data(lo, w);
    packing p = {.weights = weights_of(lo, n, q, codes)};
    bool bytes = bytes_do(lo, n, q, p.weights.packed, bias);
    qrn_shape shape = {0};
    if ((!bytes && q->dense->depth > QRN_PLANES_DEPTH_MAX) ||
        !qrn_weights_shape(&p.weights, &shape.rank, shape.dims))
        return QRN_E_UNSUPPORTED;
    QRN_TRY(make_runs(lo, n, q, &p, &ins[5]));
    QRN_TRY(qrn_lo_tensor(lo, x, &ins[0]));
    QRN_TRY(emit(lo, n, q, &p, &shape, codes, &ins[1]));
    QRN_TRY(make_encodings(lo, n, q, &p, &ins[3], &ins[4]));
    QRN_TRY(qrn_lo_tensor(lo, n->out[0], &out));
    if (bytes) {
        qrn_dense8_args a = {.dense = *q->dense};
        a.w_offset = qrn_group_offset(&t->quant, 0) + qrn_weights_shift(&p.weights);
        ins[4] = bias;
        QRN_TRY(emit_matrices(lo, n, &p.weights, a.w_offset, &ins[5]));
        return qrn_lo_step(lo, &qrn_family_dense8, QRN_DOMAIN_RAW, &a, ins, 6, &out, 1, 0);
    }
    qrn_dense_planes_args a = {
        .dense = *q->dense, .w_bits = p.weights.packed, .blocks = t->quant.kind == QRN_QUANT_BLOCK};
    ins[6] = bias;
    return qrn_lo_step(lo, &qrn_family_dense_planes, QRN_DOMAIN_RAW, &a, ins, 7, &out, 1, 0);
}
