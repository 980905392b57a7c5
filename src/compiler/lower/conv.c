// SPDX-License-Identifier: MIT
//
// Lowering rows of the conv group: convolutions, matmuls, columns.
#include "compiler/lower/groups.h"
#include "compiler/lower/quantized.h"
#include "compiler/gemm.h"
#include "compiler/fp16.h"
#include "kernels/columns/columns.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/matmul/matmul.h"
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

// Does a binder pack these weights of a GEMM of floats from the tensor's own data? fp16: of any
// type; else those of 4 or 8 bits, which may then stay as small as they are.
static bool packable(const qrn_lowering *lo, const qrn_tensor *w) {
    if (qrn_lo_fp16(lo) && w->dtype == QRN_DTYPE_F32)
        return true;
    return qrn_tensor_is_static(w) && qrn_dtype_is_fixed(w->dtype) && !w->updateable &&
           (qrn_lo_fp16(lo) || qrn_dtypes[w->dtype].bits <= 8);
}

static bool is_float(const qrn_tensor *t) {
    return t->dtype == QRN_DTYPE_F32 || t->dtype == QRN_DTYPE_F16;
}

// f16 tensors are f32 ones already where the graph computes in fp16.
static qrn_status as_f32(qrn_lowering *lo, const qrn_tensor *t, qrn_val *v) {
    QRN_TRY(qrn_lo_tensor(lo, t, v));
    return t->dtype == QRN_DTYPE_F32 ? QRN_OK : qrn_lo_as(lo, *v, QRN_DTYPE_F32, NULL, v);
}

// Floats with constant weights: they are not converted here, so that a binder can pack them.
static qrn_status constant_weights(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q) {
    qrn_val ins[3] = {QRN_VAL_NONE, QRN_VAL_NONE, QRN_VAL_NONE}, out, sums;
    const qrn_tensor *w = n->in[1], *bias = n->n_in > 2 ? n->in[2] : NULL;
    if (!q->is_gemm || !packable(lo, w) || !is_float(n->in[0]) || (bias && !is_float(bias)) ||
        !is_float(n->out[0]))
        return QRN_E_UNSUPPORTED;
    QRN_TRY(as_f32(lo, n->in[0], &ins[0]));
    QRN_TRY(qrn_lo_tensor(lo, w, &ins[1]));
    if (bias)
        QRN_TRY(as_f32(lo, bias, &ins[2]));
    if (!qrn_lo_is_const(lo, ins[1]))
        return QRN_E_UNSUPPORTED;
    QRN_TRY(qrn_lo_fp16_weights(lo, w, &ins[1]));
    QRN_TRY(qrn_lo_tensor(lo, n->out[0], &out));
    if (n->out[0]->dtype == QRN_DTYPE_F32)
        return qrn_lo_step(lo, q->op, QRN_DOMAIN_F32, q->args, ins, 3, &out, 1, 0);
    QRN_TRY(qrn_lo_temp(lo, QRN_DTYPE_F32, &n->out[0]->shape, NULL, &sums));
    QRN_TRY(qrn_lo_step(lo, q->op, QRN_DOMAIN_F32, q->args, ins, 3, &sums, 1, 0));
    return qrn_lo_step(lo, &qrn_cop_convert, QRN_DOMAIN_RAW, NULL, &sums, 1, &out, 1, 0);
}

// The special paths of a GEMM, in order of preference.
static qrn_status lower_gemm(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q) {
    qrn_status s = constant_weights(lo, n, q);
    if (s == QRN_E_UNSUPPORTED)
        s = qrn_lower_quantized(lo, n, q);
    return s == QRN_E_UNSUPPORTED ? qrn_lower_unscaled_bias(lo, n, q) : s;
}

static qrn_status lower_conv(qrn_lowering *lo, const qrn_node *n) {
    qrn_conv_args args = {0};
    qrn_dense_args dense;
    QRN_TRY(conv_args(n, &args));
    qrn_quantized q = {.op = &qrn_cop_conv,
                       .args = &args,
                       .channel_axis = n->in[1]->shape.rank - 1,
                       .n_channels = last_dim(n->out[0]),
                       .is_gemm = qrn_conv_is_gemm(&args, &n->in[1]->shape, &dense)};
    return lower_gemm(lo, n, &q);
}

static qrn_status lower_matmul(qrn_lowering *lo, const qrn_node *n) {
    qrn_matmul_args args = {0};
    qrn_dense_args dense;
    QRN_TRY(matmul_args(n, &args));
    qrn_quantized q = {
        .op = &qrn_cop_matmul,
        .args = &args,
        .channel_axis = n->in[1]->shape.rank - (args.transpose_b ? 2 : 1),
        .n_channels = last_dim(n->out[0]),
        .is_gemm = qrn_matmul_is_gemm(&args, n->in[0]->shape.rank, &n->in[1]->shape, &dense)};
    return lower_gemm(lo, n, &q);
}

#define CONV(name)                                                                                 \
    {                                                                                              \
        .op = name, .emits = &qrn_cop_conv, .in = "r", .out = "r", .args = conv_args,              \
        .custom = lower_conv                                                                       \
    }
#define MATMUL(name)                                                                               \
    {                                                                                              \
        .op = name, .emits = &qrn_cop_matmul, .in = "r", .out = "r", .args = matmul_args,          \
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
     .emits = &qrn_cop_hadamard,
     .in = "r",
     .out = "r",
     .args = hadamard_args},
    {.op = "Im2Col", .emits = &qrn_cop_im2col, .in = "r", .out = "r", .args = columns_args},
    {.op = "Col2Im", .emits = &qrn_cop_col2im, .in = "r", .out = "r", .args = columns_args},
    {0},
};
