// SPDX-License-Identifier: MIT
//
// Pass "erf": tanh(x P(x^2)) in single precision with the P that front ends compose Erf of is one
// step. Another reader of what is between keeps its steps. It looks at constants, so graphs that
// may be stored are left alone.
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

static bool is_single(const search *f, const qrn_cstep *s, const qrn_cop *op) {
    return qrn_pass_plain(f->lo->cg, s) && s->op == op && s->domain == QRN_DOMAIN_F32 &&
           value(f, s->out[0])->dtype == QRN_DTYPE_F32;
}

// The sum or product that makes v; else NULL.
static const qrn_cstep *maker(search *f, qrn_val v, uint32_t code) {
    const qrn_use *u = &f->uses[v];
    if (u->n_writes != 1 || u->last_write > f->at)
        return NULL;
    f->at = u->last_write - 1;
    const qrn_cstep *s = &f->lo->cg->steps[f->at];
    bool fits = is_single(f, s, &qrn_cop_binary) && ((const qrn_binary_args *)s->args)->op == code;
    return fits ? s : NULL;
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
        const qrn_cstep *add = maker(f, v, QRN_BINARY_ADD);
        if (!add || !is_coefficient(f, add->in[1], qrn_erf_fit[i]))
            return false;
        const qrn_cstep *mul = maker(f, add->in[0], QRN_BINARY_MUL);
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
    const qrn_cstep *arg = maker(f, tanh->in[0], QRN_BINARY_MUL);
    if (!arg || !is_sum(f, arg->in[0], &square))
        return false;
    *x = arg->in[1];
    const qrn_cstep *s = maker(f, square, QRN_BINARY_MUL);
    return s && s->in[0] == *x && s->in[1] == *x && f->uses[*x].n_writes <= 1 &&
           f->uses[*x].last_write <= f->at && value(f, *x)->dtype == QRN_DTYPE_F32 &&
           value(f, *x)->size_bytes == value(f, tanh->out[0])->size_bytes;
}

qrn_status qrn_pass_erf(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    for (uint32_t i = 0; i < p->n_steps && !lo->opt->stored; i++) {
        qrn_cstep *s = &p->steps[i];
        search f = {lo, uses, i};
        qrn_val x;
        if (!is_single(&f, s, &qrn_cop_unary) ||
            ((const qrn_unary_args *)s->args)->op != QRN_UNARY_TANH || !is_erf(&f, s, &x))
            continue;
        const qrn_unary_args args = {.op = QRN_UNARY_ERF};
        s->args = qrn_arena_copy(p->arena, &args, sizeof args);
        if (!s->args)
            return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
        s->in[0] = x;
    }
    return QRN_OK;
}
