// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group move: attributes, and what makes a step safe to run.
#include "compiler/op.h"

#include "kernels/move/gather.h"
#include "kernels/move/generate.h"
#include "kernels/move/join.h"
#include "kernels/move/layout.h"

const qrn_cop qrn_cop_gather = {QRN_COP_HEAD(gather)};
const qrn_cop qrn_cop_gather_elements = {QRN_COP_HEAD(gather_elements)};
const qrn_cop qrn_cop_gather_nd = {QRN_COP_HEAD(gather_nd)};
const qrn_cop qrn_cop_batch_permutation = {QRN_COP_HEAD(batch_permutation)};
const qrn_cop qrn_cop_concat = {QRN_COP_HEAD(concat)};
const qrn_cop qrn_cop_split = {QRN_COP_HEAD(split)};
const qrn_cop qrn_cop_pad = {QRN_COP_HEAD(pad)};
const qrn_cop qrn_cop_copy = {QRN_COP_HEAD(copy)};
const qrn_cop qrn_cop_reshape = {QRN_COP_HEAD(reshape)};
const qrn_cop qrn_cop_nonzero = {QRN_COP_HEAD(nonzero)};
const qrn_cop qrn_cop_one_hot = {QRN_COP_HEAD(one_hot)};
const qrn_cop qrn_cop_fill = {QRN_COP_HEAD(fill)};
const qrn_cop qrn_cop_transpose = {QRN_COP_HEAD(transpose)};
const qrn_cop qrn_cop_depth_space = {QRN_COP_HEAD(depth_space)};
const qrn_cop qrn_cop_batch_space = {QRN_COP_HEAD(batch_space)};
const qrn_cop qrn_cop_shuffle = {QRN_COP_HEAD(shuffle)};
const qrn_cop qrn_cop_slice = {QRN_COP_HEAD(slice)};
const qrn_cop qrn_cop_tile = {QRN_COP_HEAD(tile)};
const qrn_cop qrn_cop_scatter_elements = {QRN_COP_HEAD(scatter_elements)};
const qrn_cop qrn_cop_scatter_nd = {QRN_COP_HEAD(scatter_nd)};
