// SPDX-License-Identifier: MIT
//
// Ops of a compiled graph, group eltwise: attributes, and what makes a step safe to run.
#include "compiler/ops/check.h"

#include "kernels/element_io.h"
#include "kernels/convert.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/choose.h"
#include "kernels/eltwise/lut.h"
#include "kernels/eltwise/rotate.h"
#include "kernels/eltwise/round_to.h"
#include "kernels/eltwise/unary.h"
#include "kernels/fp16/round_fp16.h"
#include "kernels/quantize.h"

// --- one operand

static const qrn_attr unary_attrs[] = {
    QRN_ATTR(qrn_unary_args, op),   QRN_ATTR(qrn_unary_args, alpha),
    QRN_ATTR(qrn_unary_args, beta), QRN_ATTR(qrn_unary_args, low),
    QRN_ATTR(qrn_unary_args, high), QRN_ATTR(qrn_unary_args, threshold),
};

static const char *check_unary(const qrn_kcall *k, qrn_domain domain) {
    const qrn_unary_args *a = k->args;
    QRN_NEED(a->op <= QRN_UNARY_ACOS, "unknown operation");
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

// --- two operands that broadcast

static const qrn_attr binary_attrs[] = {QRN_ATTR(qrn_binary_args, op)};

static bool inputs_broadcast(const qrn_kcall *k) {
    for (uint32_t i = 0; i < k->n_in; i++)
        if (k->in[i] && !qrn_chk_broadcasts(k->in[i], k->out[0]))
            return false;
    return true;
}

// Plain 32-bit integers of one type.
static bool same_words(const qrn_view *a, const qrn_view *b) {
    return qrn_is_word(a) && a->dtype == b->dtype;
}

static const char *check_binary(const qrn_kcall *k, qrn_domain domain) {
    const qrn_binary_args *a = k->args;
    bool words = domain == QRN_DOMAIN_RAW && same_words(k->in[0], k->in[1]) &&
                 same_words(k->in[0], k->out[0]);
    bool bits = a->op >= QRN_BINARY_BIT_AND && a->op <= QRN_BINARY_SHIFT_RIGHT;
    QRN_NEED(a->op <= QRN_BINARY_PRELU || (words && bits), "unknown operation");
    QRN_NEED(inputs_broadcast(k), "an input does not broadcast to the shape of out[0]");
    if (domain != QRN_DOMAIN_RAW)
        return qrn_chk_all_real(k, domain);
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(words || (qrn_io_supports(k->in[0]) && qrn_io_supports(k->in[1]) &&
                       qrn_io_supports(k->out[0])),
             "an operand is not a float and not of 8 or 16 bits with one scale");
    return NULL;
}

const qrn_cop qrn_cop_binary = {
    QRN_COP_HEAD(binary), QRN_COP_ATTRS(binary_attrs), QRN_COP_IN(2, 2, 3),
    QRN_COP_OUT(1, 1, 1), .check = check_binary,
};

static const char *check_compare(const qrn_kcall *k, qrn_domain domain) {
    const qrn_binary_args *a = k->args;
    QRN_NEED(a->op >= QRN_COMPARE_EQ && a->op <= QRN_COMPARE_LE, "unknown operation");
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(domain == QRN_DOMAIN_RAW
                 ? same_words(k->in[0], k->in[1])
                 : qrn_chk_real(k->in[0], domain) && qrn_chk_real(k->in[1], domain),
             "an input is not of the domain's type");
    size_t elem = qrn_chk_elem(k->out[0]);
    QRN_NEED(elem == 1 || elem == 4, "out[0] is not of 8 or 32 bits");
    QRN_NEED(inputs_broadcast(k), "an input does not broadcast to the shape of out[0]");
    return NULL;
}

const qrn_cop qrn_cop_compare = {
    QRN_COP_HEAD(compare), QRN_COP_ATTRS(binary_attrs), QRN_COP_IN(2, 2, 3),
    QRN_COP_OUT(1, 1, 1),  .check = check_compare,
};

static const char *check_logical(const qrn_kcall *k, qrn_domain domain) {
    (void)domain;
    const qrn_binary_args *a = k->args;
    QRN_NEED(a->op >= QRN_LOGICAL_AND && a->op <= QRN_LOGICAL_NOT, "unknown operation");
    const qrn_view *b = qrn_chk_in(k, 1);
    QRN_NEED(b || a->op == QRN_LOGICAL_NOT, "in[1] is missing");
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(qrn_chk_elem(k->in[0]) == 1 && (!b || qrn_chk_elem(b) == 1) &&
                 qrn_chk_elem(k->out[0]) == 1,
             "an operand is not of 8 bits");
    QRN_NEED(inputs_broadcast(k), "an input does not broadcast to the shape of out[0]");
    return NULL;
}

const qrn_cop qrn_cop_logical = {
    QRN_COP_HEAD(logical), QRN_COP_ATTRS(binary_attrs), QRN_COP_IN(1, 2, 1),
    QRN_COP_OUT(1, 1, 1),  .check = check_logical,
};

// --- choosing

// Operands from in[1] on are copied to out[0].
static const char *check_choice(const qrn_kcall *k, qrn_domain domain) {
    (void)domain;
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(qrn_chk_bytes(k->in[0]), "in[0] is not of whole bytes");
    QRN_NEED(qrn_chk_bytes(k->out[0]), "out[0] is not of whole bytes");
    for (uint32_t i = 1; i < k->n_in; i++)
        QRN_NEED(qrn_chk_same_format(k->in[i], k->out[0]),
                 "a choice and out[0] differ in type or encoding");
    QRN_NEED(inputs_broadcast(k), "an input does not broadcast to the shape of out[0]");
    return NULL;
}

const qrn_cop qrn_cop_select = {
    QRN_COP_HEAD(select),
    QRN_COP_IN(3, 3, 7),
    QRN_COP_OUT(1, 1, 1),
    .check = check_choice,
};

static const char *check_mux(const qrn_kcall *k, qrn_domain domain) {
    QRN_NEED(qrn_chk_plain(k->out[0]) || qrn_chk_per_tensor(k->out[0]),
             "out[0] has more than one scale");
    return check_choice(k, domain);
}

const qrn_cop qrn_cop_mux = {
    QRN_COP_HEAD(mux),
    QRN_COP_IN(2, QRN_COP_MANY, UINT32_MAX),
    QRN_COP_OUT(1, 1, 1),
    .check = check_mux,
};

static const char *check_lut(const qrn_kcall *k, qrn_domain domain) {
    (void)domain;
    size_t elem = qrn_chk_elem(k->in[0]);
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(elem == 1 || elem == 2, "in[0] is not of 8 or 16 bits");
    QRN_NEED(qrn_chk_bytes(k->out[0]), "out[0] is not of whole bytes");
    QRN_NEED(k->in[1]->dtype == k->out[0]->dtype, "in[1] and out[0] differ in type");
    QRN_NEED(qrn_chk_vector(k->in[1], elem == 1 ? 256 : 65536),
             "in[1] has not one entry for each number of in[0]");
    QRN_NEED(qrn_chk_same_count(k->in[0], k->out[0]), "in[0] and out[0] differ in size");
    return NULL;
}

const qrn_cop qrn_cop_lut = {
    QRN_COP_HEAD(lut),
    QRN_COP_IN(2, 2, 3),
    QRN_COP_OUT(1, 1, 1),
    .check = check_lut,
};

// --- conversions

static const char *check_convert(const qrn_kcall *k, qrn_domain domain) {
    (void)domain;
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(k->in[0]->dtype != QRN_DTYPE_STR && k->out[0]->dtype != QRN_DTYPE_STR,
             "an operand is a string");
    QRN_NEED(qrn_chk_same_count(k->in[0], k->out[0]), "in[0] and out[0] differ in size");
    return NULL;
}

const qrn_cop qrn_cop_convert = {
    QRN_COP_HEAD(convert),
    QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1),
    .check = check_convert,
};
const qrn_cop qrn_cop_cast = {
    QRN_COP_HEAD(cast),
    QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1),
    .check = check_convert,
};

static const char *check_quantize(const qrn_kcall *k, qrn_domain domain) {
    QRN_NEED(qrn_chk_type(k->in[0], QRN_T(F16) | QRN_T(F32) | QRN_T(F64)),
             "in[0] is not f16, f32 or f64");
    QRN_NEED(qrn_dtype_is_fixed(k->out[0]->dtype) && qrn_io_supports(k->out[0]),
             "out[0] is not of 8 or 16 bits with one scale");
    return check_convert(k, domain);
}

const qrn_cop qrn_cop_quantize = {
    QRN_COP_HEAD(quantize),
    QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1),
    .check = check_quantize,
};

static const qrn_attr round_to_attrs[] = {
    QRN_ATTR(qrn_round_to_args, low),
    QRN_ATTR(qrn_round_to_args, high),
};

static const char *check_round_to(const qrn_kcall *k, qrn_domain domain) {
    (void)domain;
    const qrn_round_to_args *a = k->args;
    const qrn_view *y = k->out[0], *zero = qrn_chk_in(k, 2);
    uint32_t bits = qrn_dtypes[y->dtype].bits;
    int64_t low, high;
    QRN_NEED(qrn_chk_all_dense(k), "an operand is sparse");
    QRN_NEED(qrn_chk_type(k->in[0], QRN_T(F32)) && qrn_chk_type(k->in[1], QRN_T(F32)) &&
                 (!zero || qrn_chk_type(zero, QRN_T(F32))),
             "an input is not f32");
    QRN_NEED(qrn_view_count(k->in[1]) == 1 && (!zero || qrn_view_count(zero) == 1),
             "in[1] or in[2] is not one number");
    QRN_NEED(!qrn_dtype_is_float(y->dtype) && (bits == 8 || bits == 16),
             "out[0] is not an integer of 8 or 16 bits");
    QRN_NEED(qrn_chk_same_count(k->in[0], y), "in[0] and out[0] differ in size");
    qrn_quant_range(y->dtype, 0, &low, &high);
    QRN_NEED(a->low >= (float)low && a->high <= (float)high && a->low <= a->high,
             "the limits are beyond the type of out[0]");
    return NULL;
}

const qrn_cop qrn_cop_round_to = {
    QRN_COP_HEAD(round_to), QRN_COP_ATTRS(round_to_attrs), QRN_COP_IN(3, 3, 3),
    QRN_COP_OUT(1, 1, 1),   .check = check_round_to,
};

static const qrn_attr rotate_attrs[] = {
    QRN_ATTR(qrn_rotate_args, inner),
    QRN_ATTR(qrn_rotate_args, rule),
};

static const char *check_rotate(const qrn_kcall *k, qrn_domain domain) {
    const qrn_view *x = k->in[0], *cos = k->in[1], *sin = k->in[2];
    const qrn_rotate_args *a = k->args;
    QRN_NEED(a->inner > 0, "inner is 0");
    QRN_NEED(a->rule <= QRN_FP16_WIDE_RANGE, "unknown kind of fp16");
    QRN_NEED(x->rank > 0 && cos->rank > 0 && sin->rank > 0, "an input has no dimension");
    size_t n = cos->dims[cos->rank - 1], row = x->dims[x->rank - 1];
    QRN_NEED(n > 0 && row % 2 == 0 && (row == 2 * n || row == n) && sin->dims[sin->rank - 1] == n,
             "the last dimension of in[0] is odd, or not once or twice that of in[1] and in[2]");
    QRN_NEED(qrn_view_count(cos) > 0 && qrn_chk_same_count(cos, sin),
             "in[1] is empty, or in[2] differs in size");
    QRN_NEED(qrn_chk_same_count(x, k->out[0]), "in[0] and out[0] differ in size");
    return qrn_chk_all_real(k, domain);
}

const qrn_cop qrn_cop_rotate = {
    QRN_COP_HEAD(rotate), QRN_COP_ATTRS(rotate_attrs), QRN_COP_IN(3, 3, 7),
    QRN_COP_OUT(1, 1, 1), .check = check_rotate,
};

static const qrn_attr half_attrs[] = {QRN_ATTR(qrn_round_fp16_args, rule)};

static const char *check_half(const qrn_kcall *k, qrn_domain domain) {
    const qrn_round_fp16_args *a = k->args;
    QRN_NEED(a->rule > QRN_FP16_OFF && a->rule <= QRN_FP16_WIDE_RANGE, "unknown kind of fp16");
    QRN_NEED(qrn_chk_type(k->out[0], QRN_T(F16) | QRN_T(F32)), "out[0] is not f16 or f32");
    return check_convert(k, domain);
}

const qrn_cop qrn_cop_round_fp16 = {
    QRN_COP_HEAD(round_fp16), QRN_COP_ATTRS(half_attrs), QRN_COP_IN(1, 1, 1),
    QRN_COP_OUT(1, 1, 1),     .check = check_half,
};
