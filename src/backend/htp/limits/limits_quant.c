// SPDX-License-Identifier: MIT
//
// Rules of the HTP's limits about encodings: fixed ones, symmetric ones, and those of weights by
// channel or by block.
#include "backend/htp/limits/limits.h"

#include "QnnTypes.h"

#include <math.h>
#include <string.h>

// --- what a tensor's encoding is

static bool is_axis(const qrn_tensor *t) { return t->quant.kind == QRN_QUANT_AXIS; }

static bool is_bw_axis(const qrn_tensor *t) {
    return t->encoding == QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET ||
           t->encoding == QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED;
}

static bool is_expansion(const qrn_tensor *t) {
    return t->encoding == QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION ||
           t->encoding == QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED;
}

static bool is_signed(const qrn_tensor *t) { return qrn_dtypes[t->dtype].cls == QRN_CLASS_SFIXED; }

// Code 0 of a signed type, or the middle code of an unsigned one, stands for 0.
static bool is_symmetric(const qrn_tensor *t) {
    int32_t middle = is_signed(t) ? 0 : -(int32_t)(1u << (qrn_dtypes[t->dtype].bits - 1));
    if (t->quant.kind == QRN_QUANT_TENSOR)
        return t->quant.offset == middle;
    for (uint32_t i = 0; i < t->quant.n_groups; i++)
        if (qrn_quant_offset(&t->quant, i) != middle)
            return false;
    return true;
}

static bool concerns(const qrn_htp_site *s, const qrn_tensor *t) {
    return (s->limit->types & ((qrn_dtype_mask)1 << t->dtype)) != 0;
}

// Static, or computed from static tensors alone. While an op is only described, what makes an inner
// tensor is not known. `budget` bounds the walk.
static bool is_constant(const qrn_tensor *t, uint32_t *budget) {
    if (qrn_tensor_is_static(t))
        return true;
    if (t->role != QRN_ROLE_NATIVE)
        return false;
    if (!t->producer)
        return t->graph == NULL;
    const qrn_node *n = t->producer;
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (*budget == 0)
            return false;
        --*budget;
        if (n->in[i] && !is_constant(n->in[i], budget))
            return false;
    }
    return true;
}

static bool weight_is_constant(const qrn_tensor *t) {
    uint32_t budget = 256;
    return is_constant(t, &budget);
}

// The dimension of a weight that counts its output channels.
static uint32_t channel_axis(const qrn_htp_site *s) {
    const char *op = s->call->op->name;
    uint32_t rank = s->tensor->shape.rank;
    if (strcmp(op, "FullyConnected") == 0)
        return 0;
    bool transposed = strcmp(op, "MatMul") == 0 && qrn_op_bool(s->call, "transpose_in1", false);
    return transposed && rank > 1 ? rank - 2 : rank - 1;
}

// --- activations and biases

static bool close_to(float a, float b) { return fabsf(a - b) <= 1e-5f * fabsf(b); }

// Signed and unsigned values of one scale differ by half their range.
static int64_t zero_of(const qrn_tensor *t) {
    return t->quant.offset + (is_signed(t) ? 0 : (int64_t)1 << (qrn_dtypes[t->dtype].bits - 1));
}

qrn_status qrn_htp_encoding_of_input0(const qrn_htp_site *s) {
    const qrn_tensor *x = s->call->in[0], *y = s->tensor;
    if (!x || x->quant.kind != QRN_QUANT_TENSOR || y->quant.kind != QRN_QUANT_TENSOR)
        return QRN_OK;
    if (close_to(y->quant.scale, x->quant.scale) && zero_of(x) == zero_of(y))
        return QRN_OK;
    return qrn_htp_refuse(
        s, QRN_E_OP_CONFIG,
        "scale %g offset %d, HTP supports the encoding of input 0, scale %g offset "
        "%d; put a Convert behind",
        (double)y->quant.scale, y->quant.offset, (double)x->quant.scale, x->quant.offset);
}

qrn_status qrn_htp_encoding_fixed(const qrn_htp_site *s) {
    const qrn_quant *q = &s->tensor->quant;
    if (!concerns(s, s->tensor) || q->kind == QRN_QUANT_NONE ||
        (q->kind == QRN_QUANT_TENSOR && close_to(q->scale, s->limit->scale) &&
         q->offset == s->limit->offset))
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_OP_CONFIG,
                          "%s with scale %g offset %d, HTP supports scale %g "
                          "offset %d",
                          qrn_dtypes[s->tensor->dtype].token, (double)q->scale, q->offset,
                          (double)s->limit->scale, s->limit->offset);
}

qrn_status qrn_htp_symmetric(const qrn_htp_site *s) {
    if (!concerns(s, s->tensor) || is_symmetric(s->tensor))
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_OP_CONFIG, "%s with an offset, HTP supports offset 0",
                          qrn_dtypes[s->tensor->dtype].token);
}

// --- weights

qrn_status qrn_htp_axis_is_channel(const qrn_htp_site *s) {
    uint32_t channel = channel_axis(s);
    if (!is_axis(s->tensor) || s->tensor->quant.axis == channel)
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_OP_CONFIG, "encoding by axis %u, HTP supports axis %u",
                          s->tensor->quant.axis, channel);
}

qrn_status qrn_htp_groups_signed_symmetric(const qrn_htp_site *s) {
    const qrn_tensor *t = s->tensor;
    if (!is_axis(t) || (is_signed(t) && is_symmetric(t)))
        return QRN_OK;
    return qrn_htp_refuse(
        s, QRN_E_OP_CONFIG,
        "encoding by axis of %s %s offsets, HTP supports signed types without offsets",
        qrn_dtypes[t->dtype].token, is_symmetric(t) ? "without" : "with");
}

qrn_status qrn_htp_bw_axis_static(const qrn_htp_site *s) {
    if (!is_bw_axis(s->tensor) || qrn_tensor_is_static(s->tensor))
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_OP_CONFIG,
                          "BW_AXIS_SCALE_OFFSET on a tensor that is not static");
}

qrn_status qrn_htp_axis_constant(const qrn_htp_site *s) {
    if (!is_axis(s->tensor) || weight_is_constant(s->tensor))
        return QRN_OK;
    return qrn_htp_refuse(
        s, QRN_E_OP_CONFIG,
        "encoding by axis, HTP supports it on tensors that are static or computed "
        "from static ones");
}

// That the activation has 16 bits too is in the types.
qrn_status qrn_htp_weight16(const qrn_htp_site *s) {
    const qrn_tensor *w = s->tensor;
    if (!concerns(s, w))
        return QRN_OK;
    if (!is_symmetric(w))
        return qrn_htp_refuse(s, QRN_E_OP_CONFIG,
                              "%s with offset %d, HTP supports symmetric encodings",
                              qrn_dtypes[w->dtype].token, w->quant.offset);
    return qrn_htp_needs_arch(s, qrn_dtypes[w->dtype].token);
}

qrn_status qrn_htp_expansion(const qrn_htp_site *s) {
    const qrn_tensor *w = s->tensor;
    if (!is_expansion(w))
        return QRN_OK;
    uint32_t channel = channel_axis(s);
    if (w->quant.block[channel] != 1)
        return qrn_htp_refuse(s, QRN_E_OP_CONFIG,
                              "BLOCKWISE_EXPANSION along another axis, HTP supports axis %u",
                              channel);
    if (!is_signed(w) || !is_symmetric(w))
        return qrn_htp_refuse(
            s, QRN_E_OP_CONFIG,
            "BLOCKWISE_EXPANSION of %s %s offsets, HTP supports signed types without offsets",
            qrn_dtypes[w->dtype].token, is_symmetric(w) ? "without" : "with");
    if (!weight_is_constant(w))
        return qrn_htp_refuse(s, QRN_E_OP_CONFIG,
                              "BLOCKWISE_EXPANSION, HTP supports it on tensors that are static or "
                              "computed from static ones");
    return qrn_htp_needs_arch(s, "BLOCKWISE_EXPANSION");
}

qrn_status qrn_htp_expansion_untransposed(const qrn_htp_site *s) {
    if (!is_expansion(s->tensor) || !qrn_op_bool(s->call, "transpose_in1", false))
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_PARAM,
                          "BLOCKWISE_EXPANSION with transpose_in1, HTP supports it without");
}

qrn_status qrn_htp_float_activation(const qrn_htp_site *s) {
    const qrn_tensor *w = s->tensor;
    if (!concerns(s, w))
        return QRN_OK;
    bool fits = is_axis(w) || w->encoding == QNN_QUANTIZATION_ENCODING_BLOCK ||
                w->encoding == QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK;
    if (fits && qrn_tensor_is_static(w))
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_OP_CONFIG, "%s weight with a float input, HTP supports %s",
                          qrn_dtypes[w->dtype].token,
                          fits ? "static ones" : "encodings by axis or block");
}

qrn_status qrn_htp_float_blocks(const qrn_htp_site *s) {
    if (s->tensor->encoding == QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK)
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_OP_CONFIG,
                          "%s weight with a float input, HTP supports encoding BW_FLOAT_BLOCK",
                          qrn_dtypes[s->tensor->dtype].token);
}

qrn_status qrn_htp_bits_8_or_4(const qrn_htp_site *s) {
    const qrn_tensor *w = s->tensor;
    if (w->dtype != QRN_DTYPE_UQ8 || w->quant.bits == 8 || w->quant.bits == 4)
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_OP_CONFIG, "encoding of %u bits in uq8, HTP supports 8 and 4",
                          w->quant.bits);
}

qrn_status qrn_htp_axis_bits_2(const qrn_htp_site *s) {
    if (is_axis(s->tensor) && s->tensor->quant.bits == 2)
        return QRN_OK;
    return qrn_htp_refuse(s, QRN_E_OP_CONFIG,
                          "encoding of %u bits, HTP supports 2 bits with a scale by channel",
                          s->tensor->quant.bits);
}
