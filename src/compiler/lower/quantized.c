// SPDX-License-Identifier: MIT
//
// Quantized convolutions and matmuls: which operands the integer path supports, and what becomes of
// the bias.
#include "compiler/lower/quantized.h"

#include "kernels/conv/conv.h"
#include "kernels/convert.h"
#include "kernels/gemm/epilogue/requant.h"

// A bias scale this close to scale_x * scale_w is the same: clients round that to float.
// Next to 16-bit results that would be seen.
#define SAME_SCALE 1e-6

static bool positive(float s) { return isfinite(s) && s > 0; }

static bool small_offset(int32_t o) {
    return o >= -QRN_REQUANT_OFFSET_MAX && o <= QRN_REQUANT_OFFSET_MAX;
}

static bool one_scale(const qrn_quant *q) {
    return q->kind == QRN_QUANT_TENSOR && q->shift == 0.0f && positive(q->scale);
}

static bool is_8bit(qrn_dtype t) { return t == QRN_DTYPE_UQ8 || t == QRN_DTYPE_SQ8; }
static bool is_16bit(qrn_dtype t) { return t == QRN_DTYPE_UQ16 || t == QRN_DTYPE_SQ16; }
static bool is_4bit(qrn_dtype t) { return t == QRN_DTYPE_UQ4 || t == QRN_DTYPE_SQ4; }

// 32 bits: matmuls alone.
static bool result_fits(const qrn_tensor *y, const qrn_quantized *q) {
    bool wide = y->dtype == QRN_DTYPE_SQ32 && q->op == &qrn_cop_matmul;
    return (is_8bit(y->dtype) || is_16bit(y->dtype) || wide) && one_scale(&y->quant);
}

static bool activations_fit(const qrn_tensor *x) {
    bool full = x->quant.bits == 0 || x->quant.bits >= qrn_dtypes[x->dtype].bits;
    return (is_8bit(x->dtype) || is_16bit(x->dtype)) && full && one_scale(&x->quant) &&
           small_offset(x->quant.offset);
}

static bool weights_fit(const qrn_tensor *w, uint32_t channel_axis) {
    const qrn_quant *q = &w->quant;
    if (!(is_4bit(w->dtype) || is_8bit(w->dtype) || is_16bit(w->dtype)) || q->shift != 0.0f)
        return false;
    if (q->kind == QRN_QUANT_TENSOR)
        return positive(q->scale) && small_offset(q->offset);
    bool known_blocks = q->kind == QRN_QUANT_BLOCK && qrn_tensor_is_static(w) && !q->real_offsets;
    if (!known_blocks && !(q->kind == QRN_QUANT_AXIS && q->axis == channel_axis))
        return false;
    for (uint32_t g = 0; g < q->n_groups; g++)
        if (!positive(qrn_quant_scale(q, g)) || !small_offset(qrn_quant_offset(q, g)))
            return false;
    return true;
}

// No scale of its own: none given, or all zero.
static bool unscaled(const qrn_tensor *b) {
    const qrn_quant *q = &b->quant;
    if (b->dtype != QRN_DTYPE_I32 && b->dtype != QRN_DTYPE_SQ32)
        return false;
    if (b->dtype == QRN_DTYPE_I32 || q->kind == QRN_QUANT_NONE)
        return true;
    if (q->kind == QRN_QUANT_TENSOR)
        return q->scale == 0.0f;
    for (uint32_t g = 0; g < q->n_groups; g++)
        if (qrn_quant_scale(q, g) != 0.0f)
            return false;
    return true;
}

// The scale of the accumulators, scale_x * scale_w, of output channel c.
static double acc_scale(const qrn_node *n, const qrn_quantized *q, uint32_t c) {
    const qrn_tensor *w = n->in[1];
    return (double)n->in[0]->quant.scale *
           qrn_group_scale(&w->quant, c % w->shape.dims[q->channel_axis]);
}

// Is the quantized bias already in units of scale_x * scale_w, within a relative tolerance?
static bool in_acc_units(const qrn_node *n, const qrn_quantized *q, double tolerance) {
    const qrn_tensor *b = n->in[2];
    if (unscaled(b))
        return true;
    if (b->dtype != QRN_DTYPE_SQ32 || b->quant.kind == QRN_QUANT_BLOCK || b->quant.shift != 0.0f)
        return false;
    for (uint32_t c = 0; c < q->n_channels; c++) {
        double ratio = qrn_group_scale(&b->quant, c) / acc_scale(n, q, c);
        if (!(fabs(ratio - 1.0) <= tolerance) || qrn_group_offset(&b->quant, c) != 0)
            return false;
    }
    return true;
}

static int32_t nearest_i32(double v) {
    v = floor(v + 0.5);
    if (!(v > (double)INT32_MIN))
        return INT32_MIN;
    return v >= (double)INT32_MAX ? INT32_MAX : (int32_t)v;
}

// The bias as i32 in units of scale_x * scale_w, requantized at finalize when it is in others.
static qrn_status integer_bias(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q,
                               qrn_val *out) {
    const qrn_tensor *b = n->in[2];
    qrn_val v, made;
    QRN_TRY(qrn_lo_tensor(lo, b, &v));
    void *quantized = (void *)(uintptr_t)qrn_lo_const_data(lo, v);
    if (!quantized || !qrn_dtype_is_fixed(b->dtype) || b->quant.kind == QRN_QUANT_NONE)
        return QRN_E_UNSUPPORTED;
    qrn_view view = {.data = quantized, .quant = &b->quant, .dtype = b->dtype, .rank = 1};
    view.dims[0] = q->n_channels;
    void *data;
    QRN_TRY(qrn_lo_const(lo, QRN_DTYPE_I32, &b->shape, NULL, &made, &data));
    for (uint32_t c = 0; c < q->n_channels; c++)
        ((int32_t *)data)[c] = nearest_i32(qrn_view_real(&view, c) / acc_scale(n, q, c));
    *out = made;
    return QRN_OK;
}

// The bias as reals.
static qrn_status real_bias(qrn_lowering *lo, const qrn_node *n, qrn_val *out) {
    if (unscaled(n->in[2]))
        return QRN_FAIL(QRN_E_TENSOR_UNSUPPORTED,
                        "graph '%s' node '%s': bias '%s' needs a scale, the weights have blocks",
                        n->graph->name, n->name, n->in[2]->name);
    QRN_TRY(qrn_lo_tensor(lo, n->in[2], out));
    return qrn_lo_as(lo, *out, QRN_DTYPE_F64, NULL, out);
}

static qrn_status lower_bias(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q,
                             qrn_val *out) {
    if (n->in[1]->quant.kind == QRN_QUANT_BLOCK)
        return real_bias(lo, n, out);
    bool has_16bit = is_16bit(n->in[0]->dtype) || is_16bit(n->in[1]->dtype);
    if (in_acc_units(n, q, has_16bit ? 0 : SAME_SCALE))
        return qrn_lo_tensor(lo, n->in[2], out);
    return has_16bit ? real_bias(lo, n, out) : integer_bias(lo, n, q, out);
}

static bool is_depthwise(const qrn_node *n, const qrn_quantized *q) {
    const qrn_tensor *x = n->in[0], *y = n->out[0];
    const qrn_conv_args *a = q->op == &qrn_cop_conv ? q->args : NULL;
    return a && !a->transposed && a->group == x->shape.dims[x->shape.rank - 1] &&
           a->group == y->shape.dims[y->shape.rank - 1];
}

// Are the weights signed bytes without offsets?
static bool is_plain(const qrn_tensor *w, const qrn_quantized *q) {
    bool plain = w->dtype == QRN_DTYPE_SQ8 && (w->quant.bits == 0 || w->quant.bits >= 8);
    for (uint32_t c = 0; plain && c < q->n_channels; c++)
        plain = qrn_group_offset(&w->quant, c) == 0;
    return plain;
}

// Constant weights of 4 or 8 bits of a depthwise convolution as signed bytes without an offset,
// which its fast rows would otherwise make in every execution. Left as they are where one of them
// is no such byte.
static qrn_status depthwise_weights(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q,
                                    qrn_val *v) {
    const qrn_tensor *w = n->in[1];
    void *own = (void *)(uintptr_t)qrn_lo_const_data(lo, *v), *data;
    size_t count;
    if (!is_depthwise(n, q) || !own || w->updateable || w->quant.kind == QRN_QUANT_BLOCK ||
        !(is_4bit(w->dtype) || is_8bit(w->dtype)) || is_plain(w, q) ||
        !qrn_shape_count(&w->shape, &count))
        return QRN_OK;
    qrn_view from = {.data = own, .quant = &w->quant, .dtype = w->dtype, .rank = 1};
    qrn_quant quant = w->quant;
    quant.bits = 8;
    quant.offset = 0;
    quant.offsets = NULL;
    qrn_val made;
    for (size_t i = 0; i < count; i++) {
        int32_t value = qrn_q_load(&from, i) + qrn_group_offset(&w->quant, i % q->n_channels);
        if (value < INT8_MIN || value > INT8_MAX)
            return QRN_OK;
    }
    QRN_TRY(qrn_lo_const(lo, QRN_DTYPE_SQ8, &w->shape, &quant, &made, &data));
    for (size_t i = 0; i < count; i++)
        ((int8_t *)data)[i] =
            (int8_t)(qrn_q_load(&from, i) + qrn_group_offset(&w->quant, i % q->n_channels));
    *v = made;
    return QRN_OK;
}

static bool has_bias(const qrn_node *n) { return n->n_in > 2 && n->in[2]; }

qrn_status qrn_lower_quantized(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q) {
    if (!activations_fit(n->in[0]) || !result_fits(n->out[0], q) ||
        !weights_fit(n->in[1], q->channel_axis))
        return QRN_E_UNSUPPORTED;
    qrn_val ins[3] = {QRN_VAL_NONE, QRN_VAL_NONE, QRN_VAL_NONE}, out;
    if (has_bias(n))
        QRN_TRY(lower_bias(lo, n, q, &ins[2]));
    QRN_TRY(qrn_lo_tensor(lo, n->in[0], &ins[0]));
    QRN_TRY(qrn_lo_tensor(lo, n->in[1], &ins[1]));
    QRN_TRY(depthwise_weights(lo, n, q, &ins[1]));
    QRN_TRY(qrn_lo_tensor(lo, n->out[0], &out));
    return qrn_lo_step(lo, q->op, QRN_DOMAIN_RAW, q->args, ins, 3, &out, 1, 0);
}

// A bias that is not known yet: its quantized values get the scales of the accumulators.
static qrn_status scaled_at_execution(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q,
                                      qrn_val *bias) {
    qrn_val unused;
    void *data;
    QRN_TRY(qrn_lo_const(lo, QRN_DTYPE_F32, &n->in[2]->shape, NULL, &unused, &data));
    float *scales = data;
    for (uint32_t c = 0; c < q->n_channels; c++)
        scales[c] = (float)acc_scale(n, q, c);
    qrn_quant encoding = {
        .kind = QRN_QUANT_AXIS, .bits = 32, .scales = scales, .n_groups = q->n_channels};
    qrn_val scaled;
    QRN_TRY(qrn_lo_temp(lo, QRN_DTYPE_SQ32, &n->in[2]->shape, &encoding, &scaled));
    QRN_TRY(qrn_lo_step(lo, &qrn_cop_cast, QRN_DOMAIN_RAW, NULL, bias, 1, &scaled, 1, 0));
    return qrn_lo_as(lo, scaled, QRN_DTYPE_F64, NULL, bias);
}

qrn_status qrn_lower_unscaled_bias(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q) {
    if (!has_bias(n) || !unscaled(n->in[2]) || n->in[0]->quant.kind != QRN_QUANT_TENSOR)
        return QRN_E_UNSUPPORTED;
    const qrn_quant *w = &n->in[1]->quant;
    if (w->kind != QRN_QUANT_TENSOR && !(w->kind == QRN_QUANT_AXIS && w->axis == q->channel_axis))
        return w->kind == QRN_QUANT_BLOCK ? real_bias(lo, n, &(qrn_val){0}) : QRN_E_UNSUPPORTED;
    qrn_val ins[3], out, real;
    QRN_TRY(qrn_lo_tensor(lo, n->in[2], &ins[2]));
    const int32_t *quantized = qrn_lo_const_data(lo, ins[2]);
    if (!quantized)
        QRN_TRY(scaled_at_execution(lo, n, q, &ins[2]));
    void *data = NULL;
    if (quantized)
        QRN_TRY(qrn_lo_const(lo, QRN_DTYPE_F64, &n->in[2]->shape, NULL, &ins[2], &data));
    for (uint32_t c = 0; quantized && c < q->n_channels; c++)
        ((double *)data)[c] = (double)quantized[c] * acc_scale(n, q, c);
    for (uint32_t i = 0; i < 2; i++) {
        QRN_TRY(qrn_lo_tensor(lo, n->in[i], &ins[i]));
        QRN_TRY(qrn_lo_as(lo, ins[i], QRN_DTYPE_F64, NULL, &ins[i]));
    }
    QRN_TRY(qrn_lo_tensor(lo, n->out[0], &out));
    QRN_TRY(qrn_lo_temp(lo, QRN_DTYPE_F64, &n->out[0]->shape, NULL, &real));
    QRN_TRY(qrn_lo_step(lo, q->op, QRN_DOMAIN_F64, q->args, ins, 3, &real, 1, 0));
    return qrn_lo_step(lo, &qrn_cop_convert, QRN_DOMAIN_RAW, NULL, &real, 1, &out, 1, 0);
}
