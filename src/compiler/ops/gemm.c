// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group gemm: attributes, and what makes a step safe to run.
#include "compiler/ops/check.h"

#include "kernels/columns/columns.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/matmul/matmul.h"
#include "kernels/hadamard/hadamard.h"
#include "kernels/pooling/pooling.h"

const qrn_cop qrn_cop_conv = {QRN_COP_HEAD(conv)};
const qrn_cop qrn_cop_matmul = {QRN_COP_HEAD(matmul)};
const qrn_cop qrn_cop_im2col = {QRN_COP_HEAD(im2col)};
const qrn_cop qrn_cop_col2im = {QRN_COP_HEAD(col2im)};
const qrn_cop qrn_cop_hadamard = {QRN_COP_HEAD(hadamard)};
const qrn_cop qrn_cop_pool_max = {QRN_COP_HEAD(pool_max)};
const qrn_cop qrn_cop_pool_avg = {QRN_COP_HEAD(pool_avg)};
const qrn_cop qrn_cop_pool_l2 = {QRN_COP_HEAD(pool_l2)};
