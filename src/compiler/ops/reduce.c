// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group reduce: attributes, and what makes a step safe to run.
#include "compiler/ops/check.h"

#include "kernels/norm/norm.h"
#include "kernels/reduce/along.h"
#include "kernels/reduce/reduce.h"
#include "kernels/softmax/masked.h"
#include "kernels/softmax/softmax.h"

const qrn_cop qrn_cop_reduce = {QRN_COP_HEAD(reduce)};
const qrn_cop qrn_cop_moments = {QRN_COP_HEAD(moments)};
const qrn_cop qrn_cop_arg = {QRN_COP_HEAD(arg)};
const qrn_cop qrn_cop_cumsum = {QRN_COP_HEAD(cumsum)};
const qrn_cop qrn_cop_topk = {QRN_COP_HEAD(topk)};
const qrn_cop qrn_cop_softmax = {QRN_COP_HEAD(softmax)};
const qrn_cop qrn_cop_masked_softmax = {QRN_COP_HEAD(masked_softmax)};
const qrn_cop qrn_cop_norm = {QRN_COP_HEAD(norm)};
const qrn_cop qrn_cop_affine = {QRN_COP_HEAD(affine)};
const qrn_cop qrn_cop_lrn = {QRN_COP_HEAD(lrn)};
