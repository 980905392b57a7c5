// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group sparse: attributes, and what makes a step safe to run.
#include "compiler/op.h"

#include "kernels/sparse/sparse.h"

const qrn_cop qrn_cop_sparse_create = {QRN_COP_HEAD(sparse_create)};
const qrn_cop qrn_cop_sparse_indices = {QRN_COP_HEAD(sparse_indices)};
const qrn_cop qrn_cop_sparse_values = {QRN_COP_HEAD(sparse_values)};
const qrn_cop qrn_cop_sparse_dense = {QRN_COP_HEAD(sparse_dense)};
const qrn_cop qrn_cop_sparse_pick = {QRN_COP_HEAD(sparse_pick)};
