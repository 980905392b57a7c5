// SPDX-License-Identifier: MIT
//
// Pass "pad": a Pad with zeros in front of a convolution becomes padding of the convolution itself,
// which counts cells outside its input as zero. Only spatial dimensions; other readers of the
// padded tensor keep the Pad.
#include "compiler/passes.h"

#include "kernels/conv/conv.h"
#include "kernels/move/join.h"

#include <string.h>

// The convolution that a step is; NULL: none, or a transposed one.
static qrn_conv_args *conv_of(const qrn_cstep *s) {
    qrn_conv_args *conv = s->op == &qrn_cop_conv ? s->args : NULL;
    return conv && !conv->transposed ? conv : NULL;
}

// Is what the Pad fills in the number 0? Floats: +0.
static bool fills_zero(const qrn_pad_args *a, const qrn_cvalue *x) {
    static const uint8_t nothing[8] = {0};
    size_t elem = qrn_cvalue_elem(x);
    if (a->scheme != QRN_PAD_CONSTANT)
        return false;
    if (qrn_dtype_is_float(x->dtype))
        return memcmp(a->fill, nothing, elem) == 0;
    int64_t low, high, zero;
    if (x->quant.kind != QRN_QUANT_TENSOR || x->quant.shift != 0.0f)
        return false;
    qrn_quant_range(x->dtype, x->quant.bits, &low, &high);
    zero = -(int64_t)x->quant.offset;
    uint64_t fill = 0;
    memcpy(&fill, a->fill, elem);
    uint64_t mask = UINT64_MAX >> (64u - 8u * elem);
    return zero >= low && zero <= high && fill == ((uint64_t)zero & mask);
}

// Are batch and channels left as they are, and the sums of paddings numbers?
static bool is_spatial(const qrn_shape *x, const qrn_shape *padded, const qrn_pad_args *a,
                       const qrn_conv_args *conv) {
    if (x->rank != conv->n_spatial + 2u || x->dims[0] != padded->dims[0] ||
        x->dims[x->rank - 1] != padded->dims[x->rank - 1])
        return false;
    for (uint32_t d = 0; d < conv->n_spatial; d++)
        if (a->before[d + 1] > INT32_MAX || conv->before[d] > INT32_MAX - a->before[d + 1])
            return false;
    return true;
}

qrn_status qrn_pass_pad(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_cstep *s = &p->steps[i];
        qrn_conv_args *conv = s->kind == QRN_CSTEP_OP && !s->shapes ? conv_of(s) : NULL;
        const qrn_cstep *pad = conv ? qrn_pass_step_before(lo, uses, i) : NULL;
        if (!pad || pad->op != &qrn_cop_pad)
            continue;
        const qrn_cvalue *x = &p->values[pad->in[0]], *padded = &p->values[s->in[0]];
        if (x->dtype != padded->dtype || !qrn_quant_equal(&x->quant, &padded->quant) ||
            !fills_zero(pad->args, x) || !is_spatial(&x->shape, &padded->shape, pad->args, conv))
            continue;
        for (uint32_t d = 0; d < conv->n_spatial; d++)
            conv->before[d] += ((const qrn_pad_args *)pad->args)->before[d + 1];
        s->in[0] = pad->in[0];
    }
    return QRN_OK;
}
