// SPDX-License-Identifier: MIT
//
// Pass "special": what front ends compose Erf of, tanh(x P(x^2)), and Acos of, 2 atan(sqrt((1 - x)
// / (1 + x))), is one step in single precision. Another reader of what is between keeps its steps.
// It looks at constants, so graphs that may be stored are left alone.
#include "compiler/passes.h"

#include "base/erf_fit.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/unary.h"

#include <string.h>

#define N_FIT (sizeof qrn_erf_fit / sizeof qrn_erf_fit[0])

typedef struct search {
    const qrn_lowering *lo;
    const qrn_use *uses;
    uint32_t at; // step before which the value at hand is made
} search;

static const qrn_cvalue *value(const search *f, qrn_val v) { return &f->lo->cg->values[v]; }

// Is the step this unary or binary operation, in single precision?
static bool is_op(const search *f, const qrn_cstep *s, const qrn_cop *op, uint32_t code) {
    if (!qrn_pass_plain(f->lo->cg, s) || s->op != op || s->domain != QRN_DOMAIN_F32 ||
        value(f, s->out[0])->dtype != QRN_DTYPE_F32)
        return false;
    return code == (op == &qrn_cop_unary ? ((const qrn_unary_args *)s->args)->op
                                         : ((const qrn_binary_args *)s->args)->op);
}

// The step before the one at hand that makes v by this operation; else NULL.
static const qrn_cstep *maker(search *f, qrn_val v, const qrn_cop *op, uint32_t code) {
    const qrn_use *u = &f->uses[v];
    if (u->n_writes != 1 || u->last_write > f->at)
        return NULL;
    f->at = u->last_write - 1;
    const qrn_cstep *s = &f->lo->cg->steps[f->at];
    return is_op(f, s, op, code) ? s : NULL;
}

// Is x a value of as many floats as y, which nobody writes once the chain begins?
static bool is_argument(const search *f, qrn_val x, qrn_val y) {
    return f->uses[x].n_writes <= 1 && f->uses[x].last_write <= f->at &&
           value(f, x)->dtype == QRN_DTYPE_F32 &&
           value(f, x)->size_bytes == value(f, y)->size_bytes;
}

// Is v the coefficient, as a float that stays as it is?
static bool is_coefficient(const search *f, qrn_val v, double want) {
    const qrn_cvalue *x = value(f, v);
    const void *data = NULL;
    float number;
    if (x->kind == QRN_CV_CONST && x->dtype == QRN_DTYPE_F32 && x->size_bytes == sizeof number &&
        !f->lo->cg->constants[x->constant].updateable)
        data = qrn_lo_const_data(f->lo, v);
    if (data)
        memcpy(&number, data, sizeof number);
    return data && number == (float)want;
}

// P(square) is one of a product's factors, the other one is given: ((p0 s + p1) s + p2) ...
static bool is_sum(search *f, qrn_val v, qrn_val *square) {
    *square = QRN_VAL_NONE;
    for (size_t i = N_FIT - 1; i > 0; i--) {
        const qrn_cstep *add = maker(f, v, &qrn_cop_binary, QRN_BINARY_ADD);
        if (!add || !is_coefficient(f, add->in[1], qrn_erf_fit[i]))
            return false;
        const qrn_cstep *mul = maker(f, add->in[0], &qrn_cop_binary, QRN_BINARY_MUL);
        if (!mul || (*square != QRN_VAL_NONE && mul->in[1] != *square))
            return false;
        *square = mul->in[1];
        v = mul->in[0];
    }
    return is_coefficient(f, v, qrn_erf_fit[0]);
}

// Is y the erf of *x?
static bool is_erf(search *f, const qrn_cstep *tanh, qrn_val *x) {
    qrn_val square;
    const qrn_cstep *arg = maker(f, tanh->in[0], &qrn_cop_binary, QRN_BINARY_MUL);
    if (!arg || !is_sum(f, arg->in[0], &square))
        return false;
    *x = arg->in[1];
    const qrn_cstep *s = maker(f, square, &qrn_cop_binary, QRN_BINARY_MUL);
    return s && s->in[0] == *x && s->in[1] == *x && is_argument(f, *x, tanh->out[0]);
}

// Is the product the acos of *x?
static bool is_acos(search *f, const qrn_cstep *product, qrn_val *x) {
    if (!is_coefficient(f, product->in[1], 2))
        return false;
    const qrn_cstep *atan = maker(f, product->in[0], &qrn_cop_unary, QRN_UNARY_ATAN);
    const qrn_cstep *root = atan ? maker(f, atan->in[0], &qrn_cop_unary, QRN_UNARY_SQRT) : NULL;
    const qrn_cstep *ratio = root ? maker(f, root->in[0], &qrn_cop_binary, QRN_BINARY_DIV) : NULL;
    if (!ratio)
        return false;
    search other = *f; // both sides of the quotient come before it, in any order
    const qrn_cstep *less = maker(f, ratio->in[0], &qrn_cop_binary, QRN_BINARY_SUB);
    const qrn_cstep *more = maker(&other, ratio->in[1], &qrn_cop_binary, QRN_BINARY_ADD);
    if (!less || !more || less->in[1] != more->in[0] || !is_coefficient(f, less->in[0], 1) ||
        !is_coefficient(f, more->in[1], 1))
        return false;
    *x = more->in[0];
    return is_argument(f, *x, product->out[0]) && is_argument(&other, *x, product->out[0]);
}

// The function that step i ends; false: none.
static bool find(const qrn_lowering *lo, const qrn_use *uses, uint32_t i, qrn_unary_args *args,
                 qrn_val *x) {
    const qrn_cstep *s = &lo->cg->steps[i];
    search f = {lo, uses, i};
    if (is_op(&f, s, &qrn_cop_unary, QRN_UNARY_TANH)) {
        args->op = QRN_UNARY_ERF;
        return is_erf(&f, s, x);
    }
    args->op = QRN_UNARY_ACOS;
    return is_op(&f, s, &qrn_cop_binary, QRN_BINARY_MUL) && is_acos(&f, s, x);
}

qrn_status qrn_pass_special(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    for (uint32_t i = 0; i < p->n_steps && !lo->opt->stored; i++) {
        qrn_unary_args args = {0};
        qrn_val x;
        if (find(lo, uses, i, &args, &x))
            QRN_TRY(qrn_pass_become(lo, &p->steps[i], &qrn_cop_unary, &x, 1, &args, sizeof args));
    }
    return QRN_OK;
}
