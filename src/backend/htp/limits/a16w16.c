// SPDX-License-Identifier: MIT
//
// 16-bit weights of convolutions and matmuls (HTP-A16-03, HTP-A16-04): one scale for the tensor,
// values up to 0x7f7f. That they are symmetric, need 16-bit activations and a v73 is published per
// op (limits.def). The factors of Batchnorm and LayerNorm may have any value: clients quantize them
// to the whole range, and nothing is summed there.
#include "backend/htp/limits/a16w16.h"

#include <string.h>

#define LARGEST 0x7f7f

static bool is_16bit(const qrn_tensor *t) {
    return t->dtype == QRN_DTYPE_UQ16 || t->dtype == QRN_DTYPE_SQ16;
}

static bool is_conv_or_matmul(const qrn_op_def *op) {
    static const char *const names[] = {"Conv2d", "DepthWiseConv2d", "TransposeConv2d",
                                        "FullyConnected", "MatMul"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(op->name, names[i]) == 0)
            return true;
    return false;
}

// First element above the limit; count when there is none.
static size_t first_too_large(const qrn_tensor *w, size_t count) {
    const uint16_t *quantized = w->data;
    for (size_t i = 0; i < count; i++) {
        int32_t value = w->dtype == QRN_DTYPE_SQ16 ? (int16_t)quantized[i] : quantized[i] - 0x8000;
        if (value > LARGEST)
            return i;
    }
    return count;
}

qrn_status qrn_htp_a16w16_check(const qrn_op_call *call) {
    const qrn_tensor *w = call->n_in > 1 ? call->in[1] : NULL;
    size_t count;
    if (!w || !is_16bit(w) || !is_conv_or_matmul(call->op))
        return QRN_OK;
    if (w->quant.kind == QRN_QUANT_AXIS || w->quant.kind == QRN_QUANT_BLOCK)
        return QRN_FAIL(QRN_E_OP_CONFIG,
                        "graph '%s' node '%s' (%s): input 1 '%s' is %s with a scale per %s, HTP "
                        "supports one scale for 16-bit "
                        "weights; encode it per tensor, or with 8 bits",
                        call->graph, call->node, call->op->name, w->name,
                        qrn_dtypes[w->dtype].token,
                        w->quant.kind == QRN_QUANT_AXIS ? "channel" : "block");
    if (!w->data || !qrn_shape_count(&w->shape, &count))
        return QRN_OK;
    size_t i = first_too_large(w, count);
    if (i < count)
        return QRN_FAIL(
            QRN_E_OP_CONFIG,
            "graph '%s' node '%s' (%s): element %zu of input 1 '%s' is 0x%04x above its zero, HTP "
            "supports 16-bit "
            "weights of -0x8000 to 0x7f7f; quantize with a scale %g times as large",
            call->graph, call->node, call->op->name, i, w->name,
            (unsigned)(((const uint16_t *)w->data)[i] ^ (w->dtype == QRN_DTYPE_SQ16 ? 0 : 0x8000u)),
            32767.0 / LARGEST);
    return QRN_OK;
}
