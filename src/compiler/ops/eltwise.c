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

// --- one operand

static const qrn_attr unary_attrs[] = {
    QRN_ATTR(qrn_unary_args, op),   QRN_ATTR(qrn_unary_args, alpha),
    QRN_ATTR(qrn_unary_args, beta), QRN_ATTR(qrn_unary_args, low),
    QRN_ATTR(qrn_unary_args, high), QRN_ATTR(qrn_unary_args, threshold),
};

static const char *check_unary(const qrn_kcall *k, qrn_domain domain) {
    const qrn_unary_args *a = k->args;
    QRN_NEED(a->op <= QRN_UNARY_SWISH, "unknown operation");
    QRN_NEED(qrn_chk_same_count(k->in[0], k->out[0]), "in[0] and out[0] differ in size");
    return qrn_chk_all_real(k, domain);
}

const qrn_cop qrn_cop_unary = {
    QRN_COP_HEAD(unary),  QRN_COP_ATTRS(unary_attrs), QRN_COP_IN(1, 2, 1),
    QRN_COP_OUT(1, 1, 1), .check = check_unary,
};

static const qrn_attr float_test_attrs[] = {
    QRN_ATTR(qrn_float_test_args, nan),
    QRN_ATTR(qrn_float_test_args, plus_inf),
    QRN_ATTR(qrn_float_test_args, minus_inf),
};

static const char *check_float_test(const qrn_kcall *k, qrn_domain domain) {
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(qrn_chk_real(k->in[0], domain), "in[0] is not of the domain's type");
    QRN_NEED(qrn_chk_elem(k->out[0]) == 1, "out[0] is not of 8 bits");
    QRN_NEED(qrn_chk_same_count(k->in[0], k->out[0]), "in[0] and out[0] differ in size");
    return NULL;
}

const qrn_cop qrn_cop_float_test = {
    QRN_COP_HEAD(float_test), QRN_COP_ATTRS(float_test_attrs), QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1),     .check = check_float_test,
};

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
