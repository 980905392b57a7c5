// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group eltwise: attributes, and what makes a step safe to run.
#include "compiler/ops/check.h"

#include "kernels/convert.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/choose.h"
#include "kernels/eltwise/lut.h"
#include "kernels/eltwise/unary.h"
#include "kernels/half/half.h"
#include "kernels/quantize.h"

const qrn_cop qrn_cop_unary = {QRN_COP_HEAD(unary)};
const qrn_cop qrn_cop_float_test = {QRN_COP_HEAD(float_test)};
const qrn_cop qrn_cop_binary = {QRN_COP_HEAD(binary)};
const qrn_cop qrn_cop_compare = {QRN_COP_HEAD(compare)};
const qrn_cop qrn_cop_logical = {QRN_COP_HEAD(logical)};
const qrn_cop qrn_cop_select = {QRN_COP_HEAD(select)};
const qrn_cop qrn_cop_mux = {QRN_COP_HEAD(mux)};
const qrn_cop qrn_cop_lut = {QRN_COP_HEAD(lut)};
const qrn_cop qrn_cop_convert = {QRN_COP_HEAD(convert)};
const qrn_cop qrn_cop_cast = {QRN_COP_HEAD(cast)};
const qrn_cop qrn_cop_quantize = {QRN_COP_HEAD(quantize)};
const qrn_cop qrn_cop_half = {QRN_COP_HEAD(half)};
