// SPDX-License-Identifier: MIT
//
// Layers with constant weights (Conv, ConvTranspose, Gemm, MatMul) by their channels: which input
// and output channel a weight belongs to, and scaling of both.
#ifndef QRN_QUANTIZER_LAYER_H
#define QRN_QUANTIZER_LAYER_H

#include "quantizer/edit.h"

typedef enum qz_layer_kind { QZ_CONV, QZ_CONV_TRANSPOSE, QZ_GEMM, QZ_MATMUL } qz_layer_kind;

typedef struct qz_layer {
    ox_node *node;
    qz_layer_kind kind;
    const ox_tensor *weight;
    const ox_tensor *bias; // [n_out], or NULL
    uint32_t n_in, n_out;  // channels
    uint32_t group;
    size_t inner;    // weights of one pair of channels
    bool transposed; // a Gemm's weight is [n_out, n_in]
} qz_layer;

// False: the node is no such layer, or one whose weights cannot be changed one by one.
bool qz_layer_of(const qz_edit *e, ox_node *n, qz_layer *out);
// Channels of weight i, in the order in which they are stored.
uint32_t qz_layer_in(const qz_layer *l, size_t i);
uint32_t qz_layer_out(const qz_layer *l, size_t i);
// May a bias be added to the layer? A MatMul has none.
bool qz_layer_takes_bias(const qz_layer *l);
// Are results at the border made of fewer inputs than others?
bool qz_layer_pads(const qz_layer *l);

// What is done to a layer: y = out * layer(in * x + in_shift) + out_shift; NULL: 1 or 0.
typedef struct qz_affine {
    const double *in, *in_shift;   // [n_in]
    const double *out, *out_shift; // [n_out]
} qz_affine;
// Puts that into weights and bias. in_shift is exact only where nothing is padded.
qrn_status qz_layer_absorb(qz_edit *e, qz_layer *l, const qz_affine *a);

// The channel of element i of a constant that is combined with a tensor of `channels` channels:
// count 1 or one number a channel on axis 1 (`last` false) or on the last axis. False: other
// shapes.
bool qz_per_channel(const ox_tensor *t, uint32_t rank, uint32_t channels, bool last);

#endif
