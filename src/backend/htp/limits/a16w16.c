// SPDX-License-Identifier: MIT
//
// 16-bit weights of convolutions and matmuls (HTP-A16-03, HTP-A16-04): one scale for the tensor or
// one per channel. Values up to 0x7f7f are published; the original library accepts larger ones, so
// they are computed exactly here and the log says so. That weights are symmetric, need 16-bit
// activations and a v73 is published per op (limits.def). The factors of Batchnorm and LayerNorm
// may have any value: clients quantize them to the whole range, and nothing is summed there.
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

static int32_t above_zero(const qrn_tensor *w, size_t i) {
    uint16_t quantized = ((const uint16_t *)w->data)[i];
    return w->dtype == QRN_DTYPE_SQ16 ? (int16_t)quantized : quantized - 0x8000;
}

static const qrn_tensor *weight_of(const qrn_op_call *call) {
    const qrn_tensor *w = call->n_in > 1 ? call->in[1] : NULL;
    return w && is_16bit(w) && is_conv_or_matmul(call->op) ? w : NULL;
}

qrn_status qrn_htp_a16w16_check(const qrn_op_call *call) {
    const qrn_tensor *w = weight_of(call);
    if (!w || w->quant.kind != QRN_QUANT_BLOCK)
        return QRN_OK;
    return QRN_FAIL(QRN_E_OP_CONFIG,
                    "graph '%s' node '%s' (%s): input 1 '%s' is %s with a scale per block, HTP "
                    "supports one scale or one per channel for 16-bit weights; encode it so, or "
                    "with 8 bits",
                    call->graph, call->node, call->op->name, w->name, qrn_dtypes[w->dtype].token);
}

void qrn_htp_a16w16_warn(qrn_api_log *log, const qrn_op_call *call) {
    const qrn_tensor *w = weight_of(call);
    size_t count;
    if (!w || !w->data || !qrn_shape_count(&w->shape, &count))
        return;
    size_t i = 0;
    while (i < count && above_zero(w, i) <= LARGEST)
        i++;
    if (i < count)
        qrn_log(log, QNN_LOG_LEVEL_WARN,
                "graph '%s' node '%s' (%s): element %zu of input 1 '%s' is 0x%04x, and 16-bit "
                "weights are published up to 0x%04x: computed as it is here, a device may clamp "
                "it; a scale %g times as large avoids it",
                call->graph, call->node, call->op->name, i, w->name, (unsigned)above_zero(w, i),
                LARGEST, 32767.0 / LARGEST);
}
