// SPDX-License-Identifier: MIT
//
// Few rows times constant weights of 4 or 8 bits: the weights stay as they are.
#include "bind/gpu/gemm.h"

#define MAX_ROWS 4 // of X; more are faster as a GEMM with floats
#define COLUMNS 2  // of a team

// Quantized weights of a step.
typedef struct weights {
    qrn_val source; // the quantized tensor
    const qrn_quant *encoding;
    uint32_t bits;
    bool is_signed;
    size_t step; // elements of K that share a scale
    qrn_val packed, scales, offsets;
} weights;

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

// What is added to the quantized values of a group: the encoding's offset.
static int32_t offset_at(const qrn_quant *e, size_t group) {
    return e->kind == QRN_QUANT_TENSOR ? e->offset : e->offsets ? e->offsets[group] : 0;
}

// The largest offset, whatever its sign.
static int64_t largest_offset(const qrn_quant *e) {
    int64_t most = 0;
    for (size_t i = 0; i < (e->kind == QRN_QUANT_TENSOR ? 1 : e->n_groups); i++) {
        int64_t z = offset_at(e, i);
        most = z > most ? z : -z > most ? -z : most;
    }
    return most;
}

// Where column j, block i of `wide` elements of K has its scale.
typedef size_t (*scale_order)(const qrn_gpu_gemm *g, size_t wide, size_t j, size_t i);

static size_t by_column(const qrn_gpu_gemm *g, size_t wide, size_t j, size_t i) {
    return j * (g->depth / wide) + i;
}

// Scales, and offsets where there are any, one for each `wide` elements of K: `count` in all.
static qrn_status pack_scales(qrn_gpu_binder *b, const qrn_gpu_gemm *g, weights *w, size_t wide,
                              size_t count, scale_order order) {
    const qrn_quant *e = w->encoding;
    void *s, *z = NULL;
    w->offsets = QRN_VAL_NONE;
    QRN_TRY(qrn_gpu_make_const(b, QRN_DTYPE_F32, count, &w->scales, &s));
    if (largest_offset(e))
        QRN_TRY(qrn_gpu_make_const(b, QRN_DTYPE_F32, count, &w->offsets, &z));
    for (size_t j = 0; j < g->cols; j++)
        for (size_t i = 0; i < g->depth / wide; i++) {
            size_t from = group_of(g, e, j, i * wide / w->step, w->step);
            size_t to = order(g, wide, j, i);
            ((float *)s)[to] = e->kind == QRN_QUANT_TENSOR ? e->scale : e->scales[from];
            if (z)
                ((float *)z)[to] = (float)offset_at(e, from);
        }
    return QRN_OK;
}

// Operands are the same for both kernels.
static qrn_gpu_kernel begin(qrn_gpu_binder *b, const qrn_gpu_gemm *g, const weights *w,
                            const char *source, const char *entry) {
    qrn_gpu_kernel k = qrn_gpu_kernel_begin(b, source, entry);
    qrn_gpu_in(&k, "X", g->step->in[0]);
    qrn_gpu_in(&k, "W", w->packed);
    qrn_gpu_in(&k, "S", w->scales);
    qrn_gpu_in(&k, "Z", w->offsets);
    qrn_gpu_in(&k, "B", g->step->n_in > 2 ? g->step->in[2] : QRN_VAL_NONE);
    qrn_gpu_out(&k, "Y", qrn_gpu_result(b));
    qrn_gpu_clamp(&k, g->clamp);
    k.flops = 2.0 * (double)g->rows * (double)g->cols * (double)g->depth;
    return k;
}

// --- on tensor cores: 4 bits, in the order of kernels/gemv_mma.cl

// [N / 16][K / 64][lane][word], 0 where there is no weight: its scale is 0.
static qrn_status pack_lanes(qrn_gpu_binder *b, const qrn_gpu_gemm *g, qrn_val source,
                             uint32_t flip, qrn_val *out) {
    size_t tiles = (g->cols + 15) / 16, chunks = (g->depth + 63) / 64;
    void *words;
    QRN_TRY(qrn_gpu_make_packed(b, g->step, source, QRN_GPU_PACKING_GEMV_MMA, QRN_DTYPE_U32,
                                tiles * chunks * 128, out, &words));
    if (!words)
        return QRN_OK;
    const uint8_t *data = qrn_compiled_data(b->cg, source);
    if (!data)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': the weights have no data", b->cg->name);
    for (size_t j = 0; j < g->cols; j++)
        for (size_t k = 0; k < g->depth; k++) {
            size_t lane = j % 8 * 4 + k % 8 / 2;
            size_t at = ((j / 16 * chunks + k / 64) * 32 + lane) * 4 + k / 16 % 4;
            size_t nibble = j / 8 % 2 + k / 8 % 2 * 2 + k % 2 * 4;
            ((uint32_t *)words)[at] |= (bits_at(data, k * g->w_depth + j * g->w_col, 4) ^ flip)
                                       << (4 * nibble);
        }
    return QRN_OK;
}

static size_t by_lane(const qrn_gpu_gemm *g, size_t wide, size_t j, size_t i) {
    size_t chunks = (g->depth + 63) / 64, at = i * wide / 32;
    return ((j / 16 * chunks + at / 2) * 8 + j % 8) * 4 + at % 2 * 2 + j / 8 % 2;
}

static bool on_tensor_cores(const qrn_gpu_binder *b, const weights *w) {
    const qrn_gpu_device *d = b->opt->device;
    return d->mma && qrn_gpu_kind_enabled("mma") && w->bits == 4 &&
           largest_offset(w->encoding) <= 100 && d->info->max_group >= 512 &&
           d->info->local_bytes >= 36864;
}

// How the tiles of columns are divided.
typedef struct division {
    uint32_t warps, steps; // of a group
    size_t groups;         // as many as run at the same time: each brings X once
} division;

// A group with one tile or two is done soonest with many warps; with more of them, more and smaller
// groups hide the sums at the end of a tile (N = 32768 on an H200: 46 us; 49 us with 4 groups of a
// unit, 65 us with 4 steps).
static division divide(const qrn_gpu_binder *b, size_t tiles) {
    size_t units = b->opt->device->info->n_units;
    return tiles <= 4 * units ? (division){16, 2, 2 * units} : (division){8, 2, 5 * units};
}

static qrn_status add_mma(qrn_gpu_binder *b, const qrn_gpu_gemm *g, weights *w) {
    uint32_t rows = g->rows > 1 ? 2 : 1;
    size_t tiles = (g->cols + 15) / 16, chunks = (g->depth + 63) / 64;
    QRN_TRY(pack_lanes(b, g, w->source, w->is_signed ? 8 : 0, &w->packed));
    QRN_TRY(pack_scales(b, g, w, 32, tiles * chunks * 32, by_lane));
    division share = divide(b, tiles);
    qrn_gpu_kernel k = begin(b, g, w, qrn_cl_gemv_mma, "gemv_mma");
    QRN_GPU_INTS(&k, (int64_t)g->rows, (int64_t)g->cols, (int64_t)g->depth);
    qrn_gpu_define(&k, "XROWS", "%u", rows);
    qrn_gpu_define(&k, "LESS", "%s", w->is_signed ? "136.0f" : "128.0f");
    qrn_gpu_define(&k, "WARPS", "%u", share.warps);
    qrn_gpu_define(&k, "STEPS", "%u", share.steps);
    size_t groups = tiles < share.groups ? tiles : share.groups, local = 32 * (size_t)share.warps;
    return qrn_gpu_kernel_end(&k, 2, (size_t[]){groups * local, (g->rows + rows - 1) / rows},
                              (size_t[]){local, 1});
}

static qrn_status add_plain(qrn_gpu_binder *b, const qrn_gpu_gemm *g, weights *w) {
    QRN_TRY(pack_weights(b, g, w->source, w->bits, &w->packed));
    QRN_TRY(pack_scales(b, g, w, w->step, g->cols * (g->depth / w->step), by_column));
    qrn_gpu_kernel k = begin(b, g, w, qrn_cl_gemv, "gemv");
    QRN_GPU_INTS(&k, (int64_t)g->cols, (int64_t)g->depth, (int64_t)w->step);
    qrn_gpu_define(&k, "BITS", "%u", w->bits);
    qrn_gpu_define(&k, "SIGNED", "%d", w->is_signed);
    qrn_gpu_define(&k, "ROWS", "%d", COLUMNS);
    size_t global[2] = {(g->cols + 8 * COLUMNS - 1) / (8 * COLUMNS) * 256, g->rows};
    return qrn_gpu_kernel_end(&k, 2, global, (size_t[]){256, 1});
}

qrn_status qrn_gpu_gemv(qrn_gpu_binder *b, const qrn_gpu_gemm *g) {
    weights w = {0};
    const qrn_cl_device *d = b->opt->device ? b->opt->device->info : NULL;
    bool kept = d && (!qrn_cl_is_cpu(d) || !qrn_gpu_kind_enabled("cpu")) && d->max_group >= 256 &&
                d->local_bytes >= 24576 && qrn_gpu_kind_enabled("gemv");
    const qrn_cvalue *q =
        kept && g->fixed && g->direct && g->rows <= MAX_ROWS && g->batch == 1 && g->depth % 32 == 0
            ? quantized(b, g, &w.source)
            : NULL;
    w.step = q ? step_of(g, q) : 0;
    w.bits = q ? qrn_dtypes[q->dtype].bits : 0;
    if (w.step == 0 || (q->quant.bits && q->quant.bits != w.bits) ||
        q->size_bytes != g->cols * g->depth * w.bits / 8)
        return QRN_E_UNSUPPORTED;
    w.is_signed = qrn_dtypes[q->dtype].cls == QRN_CLASS_SFIXED;
    w.encoding = &q->quant;
    return on_tensor_cores(b, &w) ? add_mma(b, g, &w) : add_plain(b, g, &w);
}
