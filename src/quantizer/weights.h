// SPDX-License-Identifier: MIT
//
// Constants as integers: weights by channel or block, biases, and constant operands.
#ifndef QRN_QUANTIZER_WEIGHTS_H
#define QRN_QUANTIZER_WEIGHTS_H

#include "quantizer/plan.h"

// Quantized values of a constant: real = scale * (q - zero); zero is 0 for signed types.
typedef struct qz_constant {
    int type; // ox_type of the values
    void *data;
    size_t bytes;
    int32_t zero;
    float *scales;
    uint32_t n_scales;    // 1: one for the tensor
    int32_t axis;         // of the scales, where there are more
    uint32_t block;       // 0: one scale per index of the axis
    float *shift;         // of a weight: what a bias has to add for each channel; NULL: nothing
    double before, after; // squared errors of results, by plain and by adaptive rounding
} qz_constant;

void qz_constant_free(qz_constant *c);  // a cleared one is fine
void qz_constants_clear(qrn_strmap *m); // of constants from qrn_calloc

// The second operand of a matmul or convolution `n`, signed and symmetric. 4-bit weights get the
// scale with the least squared error of their channel or block; others reach their largest value.
// With the sums of the inputs (or NULL), errors are weighted by them and 4-bit matrices are rounded
// as gram.h says; with patches (or NULL) the scheme may ask for adaround.h and for a bias's shift.
typedef struct qz_inputs {
    const qz_gram *gram;
    const qz_patches *patches;
    bool biased;          // a constant bias can be changed
    const qz_value *bias; // it
    double unit;          // the scale of the input in 16 bits; 0: it stays float
} qz_inputs;
qz_inputs qz_inputs_of(const qz_graph *g, const ox_node *n); // as calibration saw them
qrn_status qz_quantize_weight(const qz_value *w, const ox_node *n, const qz_scheme *scheme,
                              const qz_inputs *in, qz_constant *out);
// The same with the scales that a file has for it (w->given).
qrn_status qz_quantize_given(const qz_value *w, const ox_node *n, qz_constant *out);
// int32 values of a bias whose real ones are scale * weight scale, with the weight's shift added;
// data NULL: they do not fit.
qrn_status qz_quantize_bias(const qz_value *b, float scale, const qz_constant *weight,
                            qz_constant *out);
// A constant beside an activation.
qrn_status qz_quantize_operand(const qz_value *v, const qz_enc *enc, qz_constant *out);

#endif
