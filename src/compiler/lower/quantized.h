// SPDX-License-Identifier: MIT
//
// Lowering of quantized convolutions and matmuls to the RAW rows of their families, whose
// arithmetic src/kernels/gemm/epilogue/requant.h defines. For the lowering rows of the conv group.
#ifndef QRN_COMPILER_LOWER_QUANTIZED_H
#define QRN_COMPILER_LOWER_QUANTIZED_H

#include "compiler/lower.h"

// What the step is, beside the node: in[0] activations, in[1] weights, in[2] bias (may be absent).
typedef struct qrn_quantized {
    const qrn_cop *op;
    const void *args;
    uint32_t channel_axis; // of the weights
    uint32_t n_channels;   // of the output; channel c uses weight group c % (size of channel_axis)
    bool is_gemm;          // one matrix of weights a group (gemm.h)
} qrn_quantized;

// Emits the step when types and encodings allow integer sums. QRN_E_UNSUPPORTED without any
// message: they do not, compute on reals instead.
qrn_status qrn_lower_quantized(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q);

// The bias of a quantized GEMM may come without a scale: it then counts in units of
// scale_x * scale_w. This emits the step on doubles with such a bias brought to reals.
// QRN_E_UNSUPPORTED: the bias is none of these, the generic path does.
qrn_status qrn_lower_unscaled_bias(qrn_lowering *lo, const qrn_node *n, const qrn_quantized *q);

#endif
