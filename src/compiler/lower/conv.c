// SPDX-License-Identifier: MIT
//
// Lowering rows of the conv group: convolutions, matrix products, columns.
#include "compiler/lower/groups.h"
#include "compiler/lower/quantized.h"
#include "compiler/lowering.h"
#include "compiler/passes.h"
#include "kernels/columns/columns.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/dense/dense.h"
#include "kernels/gemm/dense/dense_f16.h"
#include "kernels/gemm/matmul/matmul.h"
#include "kernels/gemm/winograd/winograd.h"
#include "kernels/gemm/winograd/winograd_f16.h"
#include "kernels/hadamard/hadamard.h"

#include <string.h>

// Values of a scalar or tensor parameter; `fallback` where it is absent.
static void values(const qrn_node *n, const char *name, uint32_t count, uint32_t fallback,
                   uint32_t *dst) {
    for (uint32_t i = 0; i < count; i++)
        dst[i] = fallback;
    const qrn_param *p = qrn_node_param(n, name);
    if (p && p->is_tensor)
        qrn_node_u32s(n, name, dst, count);
    else if (p)
        dst[0] = qrn_node_u32(n, name, fallback);
}

static void pads(const qrn_node *n, uint32_t count, uint32_t *before, uint32_t *after) {
    uint32_t both[6] = {0};
    values(n, "pad_amount", 2 * count, 0, both);
    for (uint32_t i = 0; i < count; i++) {
        before[i] = both[2 * i];
        if (after)
            after[i] = both[2 * i + 1];
    }
}

static uint32_t last_dim(const qrn_tensor *t) { return t->shape.dims[t->shape.rank - 1]; }

static qrn_status conv_args(const qrn_node *n, void *args) {
    qrn_conv_args *a = args;
    a->n_spatial = n->in[0]->shape.rank - 2;
    a->transposed = strncmp(n->op->name, "Transpose", 9) == 0;
    bool depthwise = strncmp(n->op->name, "DepthWise", 9) == 0;
    a->group = depthwise ? last_dim(n->in[0]) : qrn_node_u32(n, "group", 1);
    values(n, "stride", a->n_spatial, 1, a->stride);
    values(n, "dilation", a->n_spatial, 1, a->dilation);
    pads(n, a->n_spatial, a->before, NULL);
    return QRN_OK;
}

static qrn_status matmul_args(const qrn_node *n, void *args) {
    qrn_matmul_args *a = args;
    a->flat = strcmp(n->op->name, "FullyConnected") == 0;
    a->transpose_a = qrn_node_bool(n, "transpose_in0", false);
    a->transpose_b = a->flat || qrn_node_bool(n, "transpose_in1", false);
    return QRN_OK;
}

static qrn_status hadamard_args(const qrn_node *n, void *args) {
    ((qrn_hadamard_args *)args)->scale = qrn_node_f32(n, "scale", 1.0f);
    return QRN_OK;
}

static qrn_status columns_args(const qrn_node *n, void *args) {
    qrn_columns_args *a = args;
    values(n, "kernel_size", 2, 1, a->kernel);
    values(n, "stride", 2, 1, a->stride);
    values(n, "dilation", 2, 1, a->dilation);
    pads(n, 2, a->before, a->after);
    return QRN_OK;
}

typedef struct dense_packing {
    qrn_dense_args dense;
    size_t depth_stride, col_stride; // of the weights
    qrn_view weights;                // type, shape and encoding; the data comes later
    qrn_fp16_rule half;              // OFF: f32 is packed as it is
    bool winograd;                   // transformed
} dense_packing;

static void pack_dense(const void *args, const void *src, void *dst) {
    const dense_packing *p = args;
    qrn_view w = p->weights;
    w.data = (void *)(uintptr_t)src;
    if (p->half)
        qrn_dense_f16_pack(&p->dense, &w, p->depth_stride, p->col_stride, p->half, dst);
    else if (p->winograd)
        qrn_winograd_pack(&p->dense, src, dst);
    else
        qrn_dense_pack(&p->dense, src, p->depth_stride, p->col_stride, dst);
}

// Packs constant weights w, a value of tensor t.
static qrn_status packed_weights(qrn_lowering *lo, const qrn_tensor *t, qrn_val w, dense_packing *p,
                                 qrn_val *out) {
    qrn_shape shape = {.rank = 3};
    qrn_packing_id id = p->half ? QRN_PACKING_DENSE_F16 : QRN_PACKING_DENSE_F32;
    qrn_dtype dtype = p->half ? QRN_DTYPE_F16 : QRN_DTYPE_F32;
    if (!qrn_dense_packed_shape(&p->dense, shape.dims))
        return QRN_E_UNSUPPORTED;
    if (qrn_tensor_is_static(t)) {
        const qrn_tensor *source = qrn_lo_client_tensor(lo, t);
        p->weights.dtype = source->dtype;
        p->weights.quant = qrn_dtype_is_fixed(source->dtype) ? &source->quant : NULL;
        return qrn_lo_packed(lo, id, dtype, &shape, source, pack_dense, p, sizeof *p, out);
    }
    void *data; // computed from constants while compiling
    QRN_TRY(qrn_lo_const(lo, dtype, &shape, NULL, out, &data));
    pack_dense(p, qrn_lo_const_data(lo, w), data);
    return QRN_OK;
}

// Weights of a float product: floats, or constant codes, which halves can stand for.
static bool weights_fit(const qrn_lowering *lo, const qrn_tensor *w) {
    return w->dtype == QRN_DTYPE_F32 || (qrn_lo_half(lo) && qrn_tensor_is_static(w) &&
                                         qrn_dtype_is_fixed(w->dtype) && !w->updateable);
}

// Turns a convolution into Winograd's where that gains: one of halves with the weights it has, one
// of floats with larger ones, which is not for plans that are stored.
static void try_winograd(const qrn_lowering *lo, const qrn_node *n, dense_packing *p) {
    qrn_view x = {.rank = n->in[0]->shape.rank}, y = {.rank = n->out[0]->shape.rank};
    if (p->dense.rows || !qrn_pass_wanted(lo, "winograd"))
        return;
    memcpy(x.dims, n->in[0]->shape.dims, sizeof x.dims);
    memcpy(y.dims, n->out[0]->shape.dims, sizeof y.dims);
    if (p->half) {
        p->winograd = qrn_winograd_f16_fits(&p->dense, &x, &y);
        return;
    }
    if (lo->opt->packed || !qrn_winograd_fits(&p->dense, &x, &y))
        return;
    p->winograd = true;
    p->dense.depth = x.dims[3] * QRN_WINOGRAD_PLANES;
}

// Single precision with constant weights: packs them and emits a step of the dense family.
static qrn_status single_precision(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q) {
    qrn_val ins[3] = {QRN_VAL_NONE, QRN_VAL_NONE, QRN_VAL_NONE}, out;
    const qrn_tensor *bias = n->n_in > 2 ? n->in[2] : NULL;
    if (n->in[0]->dtype != QRN_DTYPE_F32 || !weights_fit(lo, n->in[1]) ||
        (bias && bias->dtype != QRN_DTYPE_F32))
        return QRN_E_UNSUPPORTED;
    QRN_TRY(qrn_lo_tensor(lo, n->in[0], &ins[0]));
    QRN_TRY(qrn_lo_tensor(lo, n->in[1], &ins[1]));
    if (bias)
        QRN_TRY(qrn_lo_tensor(lo, bias, &ins[2]));
    if (!qrn_lo_is_const(lo, ins[1]) || n->out[0]->dtype != QRN_DTYPE_F32 || !q->dense)
        return QRN_E_UNSUPPORTED;
    dense_packing p = {.dense = *q->dense,
                       .depth_stride = q->w_depth,
                       .col_stride = q->w_col,
                       .weights = {.dtype = QRN_DTYPE_F32},
                       .half = qrn_lo_half(lo)};
    try_winograd(lo, n, &p);
    p.weights.rank = n->in[1]->shape.rank;
    memcpy(p.weights.dims, n->in[1]->shape.dims, sizeof p.weights.dims);
    QRN_TRY(packed_weights(lo, n->in[1], ins[1], &p, &ins[1]));
    QRN_TRY(qrn_lo_tensor(lo, n->out[0], &out));
    qrn_dense_f16_args half = {*q->dense, p.half == QRN_FP16_WIDE_RANGE};
    const qrn_family *f = p.winograd ? &qrn_family_winograd : &qrn_family_dense;
    if (p.half) {
        f = p.winograd ? &qrn_family_winograd_f16 : &qrn_family_dense_f16;
        return qrn_lo_step(lo, f, QRN_DOMAIN_F32, &half, ins, 3, &out, 1, 0);
    }
    return qrn_lo_step(lo, f, QRN_DOMAIN_F32, &p.dense, ins, 3, &out, 1, 0);
}

// The special ways of a sum of products, in order of preference.
static qrn_status products(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q) {
    qrn_status s = single_precision(lo, n, q);
    if (s == QRN_E_UNSUPPORTED)
        s = qrn_lower_quantized(lo, n, q);
    return s == QRN_E_UNSUPPORTED ? qrn_lower_unscaled_bias(lo, n, q) : s;
}

// A convolution as a product, unless it is depthwise: then panels would be almost empty.
// Transposed ones in groups have filters of another layout.
static bool conv_product(const qrn_node *n, const qrn_conv_args *conv, qrn_dense_args *d) {
    const qrn_shape *f = &n->in[1]->shape;
    uint32_t cout = last_dim(n->in[1]), cin = f->dims[f->rank - 2];
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

static qrn_status lower_conv(qrn_lowering *lo, const qrn_node *n) {
    qrn_conv_args args = {0};
    qrn_dense_args dense;
    QRN_TRY(conv_args(n, &args));
    qrn_quantized q = {.family = &qrn_family_conv,
                       .args = &args,
                       .channel_axis = n->in[1]->shape.rank - 1,
                       .n_channels = last_dim(n->out[0]),
                       .dense = conv_product(n, &args, &dense) ? &dense : NULL,
                       .w_depth = last_dim(n->in[1]),
                       .w_col = 1};
    return products(lo, n, &q);
}

// A product with one matrix of weights, rows of a as they are.
static bool row_product(const qrn_node *n, const qrn_matmul_args *m, qrn_dense_args *d) {
    const qrn_shape *w = &n->in[1]->shape;
    for (uint32_t i = 0; i + 2 < w->rank; i++)
        if (w->dims[i] != 1)
            return false;
    if (m->transpose_a || (!m->flat && w->rank > n->in[0]->shape.rank))
        return false;
    *d = (qrn_dense_args){.rows = true,
                          .group = 1,
                          .depth = w->dims[w->rank - (m->transpose_b ? 1 : 2)],
                          .cols = w->dims[w->rank - (m->transpose_b ? 2 : 1)]};
    return d->depth <= INT32_MAX;
}

static qrn_status lower_matmul(qrn_lowering *lo, const qrn_node *n) {
    qrn_matmul_args args = {0};
    qrn_dense_args dense = {0};
    QRN_TRY(matmul_args(n, &args));
    const qrn_dense_args *product = row_product(n, &args, &dense) ? &dense : NULL;
    qrn_quantized q = {.family = &qrn_family_matmul,
                       .args = &args,
                       .channel_axis = n->in[1]->shape.rank - (args.transpose_b ? 2 : 1),
                       .n_channels = last_dim(n->out[0]),
                       .dense = product,
                       .w_depth = args.transpose_b ? 1 : dense.cols,
                       .w_col = args.transpose_b ? dense.depth : 1};
    return products(lo, n, &q);
}

#define CONV(name)                                                                                 \
    {                                                                                              \
        .op = name, .family = &qrn_family_conv, .in = "r", .out = "r", .args = conv_args,          \
        .custom = lower_conv                                                                       \
    }
#define MATMUL(name)                                                                               \
    {                                                                                              \
        .op = name, .family = &qrn_family_matmul, .in = "r", .out = "r", .args = matmul_args,      \
        .custom = lower_matmul                                                                     \
    }

const qrn_lower_row qrn_lower_conv[] = {
    CONV("Conv1d"),
    CONV("Conv2d"),
    CONV("Conv3d"),
    CONV("DepthWiseConv1d"),
    CONV("DepthWiseConv2d"),
    CONV("TransposeConv1d"),
    CONV("TransposeConv2d"),
    CONV("TransposeConv3d"),
    MATMUL("FullyConnected"),
    MATMUL("MatMul"),
    {.op = "HadamardTransform",
     .family = &qrn_family_hadamard,
     .in = "r",
     .out = "r",
     .args = hadamard_args},
    {.op = "Im2Col", .family = &qrn_family_im2col, .in = "r", .out = "r", .args = columns_args},
    {.op = "Col2Im", .family = &qrn_family_col2im, .in = "r", .out = "r", .args = columns_args},
    {0},
};
