// SPDX-License-Identifier: MIT
//
// Pass "pad": a Pad with zeros in front of a convolution becomes padding of the convolution itself,
// which counts cells outside its input as zero. Only spatial dimensions; other readers of the
// padded tensor keep the Pad.
#include "compiler/passes.h"

#include "kernels/conv/conv.h"
#include "kernels/gemm/dense/dense.h"
#include "kernels/gemm/dense/dense8.h"
#include "kernels/gemm/dense/dense_f16.h"
#include "kernels/gemm/dense/dense_planes.h"
#include "kernels/gemm/winograd/winograd.h"
#include "kernels/gemm/winograd/winograd_f16.h"
#include "kernels/move/join.h"

#include <string.h>

// The convolution that a step is; NULL: none, or a transposed one.
static qrn_conv_args *conv_of(const qrn_step *s) {
    const qrn_family *f = s->family;
    qrn_conv_args *conv = NULL;
    if (f == &qrn_family_conv) {
        conv = s->args;
    } else if (f == &qrn_family_dense || f == &qrn_family_dense8 || f == &qrn_family_dense_f16 ||
               f == &qrn_family_dense_planes || f == &qrn_family_winograd ||
               f == &qrn_family_winograd_f16) {
        qrn_dense_args *dense = s->args; // the first member in all of them
        conv = dense->rows ? NULL : &dense->conv;
    }
    return conv && !conv->transposed ? conv : NULL;
}

// Is what the Pad fills in the number 0? Floats: +0.
static bool fills_zero(const qrn_pad_args *a, const qrn_view *x) {
    static const uint8_t nothing[8] = {0};
    if (a->scheme != QRN_PAD_CONSTANT)
        return false;
    if (qrn_dtype_is_float(x->dtype))
        return memcmp(a->fill, nothing, qrn_view_elem(x)) == 0;
    int64_t low, high, zero;
    if (!x->quant || x->quant->kind != QRN_QUANT_TENSOR || x->quant->shift != 0.0f)
        return false;
    qrn_code_range(x->dtype, x->quant->bits, &low, &high);
    zero = -(int64_t)x->quant->offset;
    uint64_t fill = 0;
    memcpy(&fill, a->fill, qrn_view_elem(x));
    uint64_t mask = UINT64_MAX >> (64u - 8u * qrn_view_elem(x));
    return zero >= low && zero <= high && fill == ((uint64_t)zero & mask);
}

// Are batch and channels left as they are, and the sums of paddings numbers?
static bool is_spatial(const qrn_view *x, const qrn_view *padded, const qrn_pad_args *a,
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
    qrn_plan *p = lo->plan;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        qrn_step *s = &p->steps[i];
        qrn_conv_args *conv = s->kind == QRN_STEP_KERNEL && !s->reshape ? conv_of(s) : NULL;
        const qrn_step *pad = conv ? qrn_pass_step_before(lo, uses, i) : NULL;
        if (!pad || pad->family != &qrn_family_pad)
            continue;
        const qrn_value *x = &p->values[pad->in[0]], *padded = &p->values[s->in[0]];
        if (x->view.dtype != padded->view.dtype ||
            !qrn_quant_equal(x->view.quant, padded->view.quant) ||
            !fills_zero(pad->args, &x->view) ||
            !is_spatial(&x->view, &padded->view, pad->args, conv))
            continue;
        for (uint32_t d = 0; d < conv->n_spatial; d++)
            conv->before[d] += ((const qrn_pad_args *)pad->args)->before[d + 1];
        s->in[0] = pad->in[0];
    }
    return QRN_OK;
}
