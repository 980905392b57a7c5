// SPDX-License-Identifier: MIT
//
// Convolutions and matmuls as one GEMM: which steps are one with a fixed matrix of weights, and its
// sizes.
#ifndef QRN_COMPILER_GEMM_H
#define QRN_COMPILER_GEMM_H

#include "compiler/compiled.h"
#include "kernels/gemm/dense/dense_plan.h"
#include "kernels/gemm/matmul/matmul.h"

// A step that multiplies rows of in[0] with constant weights in[1].
typedef struct qrn_gemm {
    qrn_dense_args dense;
    size_t w_depth, w_col; // element (k, j) of the weight matrix lies at k*w_depth + j*w_col
    uint32_t channel_axis; // of the weights: the dimension of output channels
    uint32_t n_channels;   // of the output
} qrn_gemm;

// Is the step one? conv or matmul, constant weights, one matrix a group.
bool qrn_gemm_of(const qrn_compiled *cg, const qrn_cstep *s, qrn_gemm *g);

// Is a convolution one, whose filters have that shape? Not a depthwise one: columns would be almost
// empty. Transposed ones in groups have filters of another layout.
bool qrn_conv_is_gemm(const qrn_conv_args *conv, const qrn_shape *filter, qrn_dense_args *d);
// Is a matmul one: one matrix of weights, rows of a as they are?
bool qrn_matmul_is_gemm(const qrn_matmul_args *m, uint32_t a_rank, const qrn_shape *w,
                        qrn_dense_args *d);

#endif
