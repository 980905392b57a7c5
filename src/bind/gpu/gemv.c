// SPDX-License-Identifier: MIT
//
// Few rows times constant weights of 4 or 8 bits: the weights stay as they are.
#include "bind/gpu/gemm.h"

#define MAX_ROWS 4 // of X; more are faster as a GEMM with floats
#define COLUMNS 2  // of a team

// The quantized tensor that the weights of a step are made of; NULL: there is none.
static const qrn_cvalue *quantized(qrn_gpu_binder *b, const qrn_gpu_gemm *g, qrn_val *source) {
    const qrn_cvalue *w = qrn_gpu_value(b, g->step->in[1]);
    const qrn_cconst *c = &b->cg->constants[w->constant];
    if (w->kind != QRN_CV_CONST || c->kind != QRN_CONST_ROUNDED)
        return NULL;
    const qrn_cvalue *q = qrn_gpu_value(b, c->source);
    uint32_t bits = qrn_dtypes[q->dtype].bits;
    *source = c->source;
    return qrn_dtype_is_fixed(q->dtype) && (bits == 4 || bits == 8) ? q : NULL;
}

// Elements of K that share a scale; 0: the encoding is of another kind.
static size_t step_of(const qrn_gpu_gemm *g, const qrn_cvalue *q) {
    const qrn_quant *e = &q->quant;
    uint32_t channels = g->w_col == 1 ? q->shape.rank - 1 : q->shape.rank - 2;
    uint32_t depth = g->w_col == 1 ? q->shape.rank - 2 : q->shape.rank - 1;
    if (e->shift != 0.0f || e->real_offsets || q->shape.rank < 2)
        return 0;
    if (e->kind == QRN_QUANT_TENSOR || (e->kind == QRN_QUANT_AXIS && e->axis == channels))
        return g->depth;
    bool fits = e->kind == QRN_QUANT_BLOCK && e->block[channels] == 1 &&
                e->block[depth] % 32 == 0 && e->block[depth] > 0 && g->depth % e->block[depth] == 0;
    return fits ? e->block[depth] : 0;
}

// Which scale: column j, group s of K.
static size_t group_of(const qrn_gpu_gemm *g, const qrn_quant *e, size_t j, size_t s, size_t step) {
    return e->kind == QRN_QUANT_AXIS ? j
           : e->kind == QRN_QUANT_BLOCK
               ? (g->w_col == 1 ? s * g->cols + j : j * (g->depth / step) + s)
               : 0;
}

static uint32_t bits_at(const uint8_t *data, size_t i, uint32_t bits) {
    return bits == 8 ? data[i] : (uint32_t)(data[i / 2] >> (i % 2 * 4)) & 15u;
}

static qrn_status pack_weights(qrn_gpu_binder *b, const qrn_gpu_gemm *g, qrn_val source,
                               uint32_t bits, qrn_val *out) {
    uint32_t per_word = 32 / bits;
    void *words;
    QRN_TRY(qrn_gpu_make_packed(b, g->step, source, QRN_GPU_PACKING_GEMV_BITS, QRN_DTYPE_U32,
                                g->cols * g->depth / per_word, out, &words));
    if (!words)
        return QRN_OK;
    const uint8_t *data = qrn_compiled_data(b->cg, source);
    if (!data)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': the weights have no data", b->cg->name);
    for (size_t j = 0; j < g->cols; j++)
        for (size_t k = 0; k < g->depth; k++) {
            size_t at = j * g->depth + k;
            ((uint32_t *)words)[at / per_word] |= bits_at(data, k * g->w_depth + j * g->w_col, bits)
                                                  << (at % per_word * bits);
        }
    return QRN_OK;
}

static qrn_status pack_scales(qrn_gpu_binder *b, const qrn_gpu_gemm *g, const qrn_quant *e,
                              size_t step, qrn_val *scales, qrn_val *offsets) {
    size_t groups = g->depth / step;
    bool any = e->kind == QRN_QUANT_TENSOR && e->offset != 0;
    void *s, *z = NULL;
    for (uint32_t i = 0; e->kind != QRN_QUANT_TENSOR && e->offsets && i < e->n_groups; i++)
        any |= e->offsets[i] != 0;
    *offsets = QRN_VAL_NONE;
    QRN_TRY(qrn_gpu_make_const(b, QRN_DTYPE_F32, g->cols * groups, scales, &s));
    if (any)
        QRN_TRY(qrn_gpu_make_const(b, QRN_DTYPE_F32, g->cols * groups, offsets, &z));
    for (size_t j = 0; j < g->cols; j++)
        for (size_t i = 0; i < groups; i++) {
            size_t from = group_of(g, e, j, i, step);
            bool one = e->kind == QRN_QUANT_TENSOR;
            ((float *)s)[j * groups + i] = one ? e->scale : e->scales[from];
            if (z)
                ((float *)z)[j * groups + i] = (float)(one ? e->offset : e->offsets[from]);
        }
    return QRN_OK;
}

qrn_status qrn_gpu_gemv(qrn_gpu_binder *b, const qrn_gpu_gemm *g) {
    qrn_val source, w, scales, offsets;
    const qrn_cl_device *d = b->opt->device ? b->opt->device->info : NULL;
    bool kept = d && (!qrn_cl_is_cpu(d) || !qrn_gpu_kind_enabled("cpu")) && d->max_group >= 256 &&
                d->local_bytes >= 24576 && qrn_gpu_kind_enabled("gemv");
    const qrn_cvalue *q =
        kept && g->fixed && g->direct && g->rows <= MAX_ROWS && g->batch == 1 && g->depth % 32 == 0
            ? quantized(b, g, &source)
            : NULL;
    size_t step = q ? step_of(g, q) : 0;
    uint32_t bits = q ? qrn_dtypes[q->dtype].bits : 0;
    if (step == 0 || (q->quant.bits && q->quant.bits != bits) ||
        q->size_bytes != g->cols * g->depth * bits / 8)
        return QRN_E_UNSUPPORTED;
    bool is_signed = qrn_dtypes[q->dtype].cls == QRN_CLASS_SFIXED;
    QRN_TRY(pack_weights(b, g, source, bits, &w));
    QRN_TRY(pack_scales(b, g, &q->quant, step, &scales, &offsets));
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, qrn_cl_gemv, "gemv");
    qrn_gpu_in(&k, "X", g->step->in[0]);
    qrn_gpu_in(&k, "W", w);
    qrn_gpu_in(&k, "S", scales);
    qrn_gpu_in(&k, "Z", offsets);
    qrn_gpu_in(&k, "B", g->step->n_in > 2 ? g->step->in[2] : QRN_VAL_NONE);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_int(&k, (int64_t)g->cols);
    qrn_gpu_int(&k, (int64_t)g->depth);
    qrn_gpu_int(&k, (int64_t)step);
    qrn_gpu_define(&k, "BITS", "%u", bits);
    qrn_gpu_define(&k, "SIGNED", "%d", is_signed);
    qrn_gpu_define(&k, "ROWS", "%d", COLUMNS);
    qrn_gpu_clamp(&k, g->clamp);
    k.flops = 2.0 * (double)g->rows * (double)g->cols * (double)g->depth;
    size_t global[2] = {(g->cols + 8 * COLUMNS - 1) / (8 * COLUMNS) * 256, g->rows};
    return qrn_gpu_kernel_end(&k, 2, global, (size_t[]){256, 1});
}
