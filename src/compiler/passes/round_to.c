// SPDX-License-Identifier: MIT
//
// Pass "round_to": a quotient by one number, rounded, moved by another one, limited and cast to an
// integer of 8 or 16 bits, in single precision, is one step: what front ends write for a
// QuantizeLinear whose quantized values are read. Another reader of what is between keeps its
// steps.
#include "compiler/passes.h"

#include "kernels/convert.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/round_to.h"
#include "kernels/eltwise/unary.h"

#include <math.h>
#include <string.h>

typedef struct search {
    const qrn_lowering *lo;
    const qrn_use *uses;
    uint32_t at;        // step that ends it
    const qrn_cstep *s; // step that makes the value at hand
} search;

static const qrn_cvalue *value(const search *f, qrn_val v) { return &f->lo->cg->values[v]; }

// Goes to the step in single precision that makes v, if it is of this op and has this code.
static bool go(search *f, qrn_val v, const qrn_cop *op, uint32_t code) {
    const qrn_use *u = &f->uses[v];
    const qrn_cstep *s =
        u->n_writes == 1 && u->last_write <= f->at ? &f->lo->cg->steps[u->last_write - 1] : NULL;
    if (!s || !qrn_pass_plain(f->lo->cg, s) || s->op != op || s->domain != QRN_DOMAIN_F32 ||
        (op == &qrn_cop_unary ? ((const qrn_unary_args *)s->args)->op
                              : ((const qrn_binary_args *)s->args)->op) != code)
        return false;
    f->s = s;
    return true;
}

// Is v a float that is the same until the end?
static bool is_number(const search *f, qrn_val v) {
    return value(f, v)->dtype == QRN_DTYPE_F32 && value(f, v)->size_bytes == sizeof(float) &&
           f->uses[v].n_writes <= 1 && f->uses[v].last_write <= f->at;
}

static bool constant(const search *f, qrn_val v, float *number) {
    const qrn_cvalue *x = value(f, v);
    const void *data = NULL;
    if (is_number(f, v) && x->kind == QRN_CV_CONST && !f->lo->cg->constants[x->constant].updateable)
        data = qrn_lo_const_data(f->lo, v);
    if (data)
        memcpy(number, data, sizeof *number);
    return data != NULL;
}

// The limits of v, by one step or by two.
static bool limited(search *f, qrn_val v, qrn_round_to_args *a) {
    if (go(f, v, &qrn_cop_unary, QRN_UNARY_CLAMP)) {
        const qrn_unary_args *u = f->s->args;
        *a = (qrn_round_to_args){u->low, u->high};
        return true;
    }
    return go(f, v, &qrn_cop_binary, QRN_BINARY_MIN) && constant(f, f->s->in[1], &a->high) &&
           go(f, f->s->in[0], &qrn_cop_binary, QRN_BINARY_MAX) && constant(f, f->s->in[1], &a->low);
}

static bool holds(qrn_dtype t, const qrn_round_to_args *a) {
    int64_t low, high;
    qrn_quant_range(t, 0, &low, &high);
    return a->low >= (float)low && a->high <= (float)high && a->low <= a->high &&
           rintf(a->low) == a->low && rintf(a->high) == a->high;
}

// 8 or 16 bits, all of which count.
static bool is_short(const qrn_cvalue *y) {
    uint32_t bits = qrn_dtypes[y->dtype].bits;
    return y->dtype != QRN_DTYPE_B8 && !qrn_dtype_is_float(y->dtype) && (bits == 8 || bits == 16) &&
           (!y->quant.bits || y->quant.bits >= bits);
}

// Does the cast end such a chain? in[]: x, scale and zero.
static bool find(search *f, const qrn_cstep *cast, qrn_val *in, qrn_round_to_args *a) {
    const qrn_cvalue *y = value(f, cast->out[0]);
    in[2] = QRN_VAL_NONE;
    if (!is_short(y) || !limited(f, cast->in[0], a) || !holds(y->dtype, a))
        return false;
    qrn_val v = f->s->in[0];
    if (go(f, v, &qrn_cop_binary, QRN_BINARY_ADD)) {
        in[2] = f->s->in[1];
        v = f->s->in[0];
    }
    if (!go(f, v, &qrn_cop_unary, QRN_UNARY_ROUND) ||
        !go(f, f->s->in[0], &qrn_cop_binary, QRN_BINARY_DIV))
        return false;
    in[0] = f->s->in[0];
    in[1] = f->s->in[1];
    return is_number(f, in[1]) && (in[2] == QRN_VAL_NONE || is_number(f, in[2])) &&
           f->uses[in[0]].n_writes <= 1 && f->uses[in[0]].last_write <= f->at &&
           value(f, in[0])->size_bytes / sizeof(float) == y->size_bytes / qrn_cvalue_elem(y);
}

qrn_status qrn_pass_round_to(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    for (uint32_t i = 0; i < p->n_steps && !lo->opt->stored; i++) {
        qrn_cstep *s = &p->steps[i];
        search f = {lo, uses, i, NULL};
        qrn_val in[3];
        qrn_round_to_args args;
        if (!qrn_pass_plain(p, s) || s->op != &qrn_cop_cast || !find(&f, s, in, &args))
            continue;
        QRN_TRY(qrn_pass_become(lo, s, &qrn_cop_round_to, in, 3, &args, sizeof args));
    }
    return QRN_OK;
}
