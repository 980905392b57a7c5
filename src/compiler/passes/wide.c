// SPDX-License-Identifier: MIT
//
// Pass "wide": three fully connected layers of one input, one behind the other, whose results are
// only transposed, as queries, keys and values are, become one with the weights of all three and a
// split. Only for binders that fuse: theirs read the parts where they lie (bind/gpu/strided.c).
// It copies weights, so graphs that may be stored are left alone.
#include "compiler/passes.h"

#include "kernels/gemm/matmul/matmul.h"
#include "kernels/move/join.h"

#include <string.h>

#define PARTS 3

static const qrn_cvalue *value(const qrn_lowering *lo, qrn_val v) { return &lo->cg->values[v]; }

// Floats with data of their own: those that are described by others, such as quantized weights,
// have better forms.
static bool is_tensor(const qrn_lowering *lo, qrn_val v, uint32_t rank) {
    const qrn_cvalue *x = v == QRN_VAL_NONE ? NULL : value(lo, v);
    if (!x || x->kind != QRN_CV_CONST || x->dtype != QRN_DTYPE_F32 || x->shape.rank != rank)
        return false;
    uint8_t kind = lo->cg->constants[x->constant].kind;
    return (kind == QRN_CONST_TENSOR || kind == QRN_CONST_MADE) && qrn_lo_const_data(lo, v);
}

// A layer with weights [n, depth] and a bias, whose result is in memory of its own.
static bool is_layer(const qrn_lowering *lo, const qrn_cstep *s) {
    const qrn_matmul_args *a = s->args;
    return qrn_pass_plain(lo->cg, s) && s->op == &qrn_cop_matmul && s->domain == QRN_DOMAIN_F32 &&
           s->n_in == 3 && s->n_out == 1 && !a->transpose_a && a->transpose_b && a->flat &&
           !a->clamp.on && is_tensor(lo, s->in[1], 2) && is_tensor(lo, s->in[2], 1) &&
           value(lo, s->out[0])->kind == QRN_CV_TEMP && value(lo, s->out[0])->base == QRN_VAL_NONE;
}

static bool same_input(const qrn_lowering *lo, const qrn_cstep *s, const qrn_cstep *t) {
    size_t a, b;
    return qrn_pass_owner(lo->cg, s->in[0], &a) == qrn_pass_owner(lo->cg, t->in[0], &b) && a == b &&
           value(lo, s->in[0])->size_bytes == value(lo, t->in[0])->size_bytes &&
           value(lo, s->in[1])->shape.dims[1] == value(lo, t->in[1])->shape.dims[1] &&
           value(lo, s->out[0])->shape.rank == value(lo, t->out[0])->shape.rank;
}

// Do only transposes read the memory of a value?
static bool only_transposed(const qrn_lowering *lo, uint32_t at, qrn_val v) {
    uint32_t n = 0;
    for (uint32_t i = at; i < lo->cg->n_steps; i++) {
        const qrn_cstep *s = &lo->cg->steps[i];
        for (uint32_t k = 0; k < s->n_in; k++) {
            if (s->in[k] == QRN_VAL_NONE || qrn_pass_owner(lo->cg, s->in[k], NULL) != v)
                continue;
            if (s->op != &qrn_cop_transpose)
                return false;
            n++;
        }
    }
    return n > 0;
}

// The constants at operand `which` of all parts, one behind the other.
static qrn_status join(qrn_lowering *lo, const qrn_cstep *s, uint32_t which, qrn_val *out) {
    qrn_shape shape = value(lo, s->in[which])->shape;
    void *data;
    shape.dims[0] = 0;
    for (uint32_t i = 0; i < PARTS; i++)
        shape.dims[0] += value(lo, s[i].in[which])->shape.dims[0];
    QRN_TRY(qrn_lo_const(lo, QRN_DTYPE_F32, &shape, NULL, out, &data));
    for (uint32_t i = 0; i < PARTS; i++) {
        size_t bytes = value(lo, s[i].in[which])->size_bytes;
        memcpy(data, qrn_lo_const_data(lo, s[i].in[which]), bytes);
        data = (char *)data + bytes;
    }
    return QRN_OK;
}

static qrn_status merge(qrn_lowering *lo, qrn_cstep *s) {
    qrn_shape shape = value(lo, s->out[0])->shape;
    qrn_join_args axis = {shape.rank - 1};
    qrn_val made[3], *in = qrn_arena_alloc(lo->cg->arena, 3 * sizeof *in),
                     *parts = qrn_arena_alloc(lo->cg->arena, PARTS * sizeof *parts),
                     *whole = qrn_arena_alloc(lo->cg->arena, 2 * sizeof *whole);
    void *args = qrn_arena_copy(lo->cg->arena, &axis, sizeof axis);
    if (!in || !parts || !whole || !args)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    QRN_TRY(join(lo, s, 1, &made[0]));
    QRN_TRY(join(lo, s, 2, &made[1]));
    shape.dims[shape.rank - 1] = value(lo, made[1])->shape.dims[0];
    QRN_TRY(qrn_lo_temp(lo, QRN_DTYPE_F32, &shape, NULL, &made[2]));
    memcpy(in, (qrn_val[]){s->in[0], made[0], made[1]}, 3 * sizeof *in);
    for (uint32_t i = 0; i < PARTS; i++)
        parts[i] = s[i].out[0];
    whole[0] = whole[1] = made[2];
    s[0].in = in;
    s[0].out = whole;
    s[1] = (qrn_cstep){.kind = QRN_CSTEP_OP,
                       .domain = QRN_DOMAIN_RAW,
                       .op = &qrn_cop_split,
                       .args = args,
                       .in = whole + 1,
                       .out = parts,
                       .n_in = 1,
                       .n_out = PARTS,
                       .node = s[1].node};
    qrn_pass_drop(&s[2]);
    return QRN_OK;
}

qrn_status qrn_pass_wide(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    (void)uses;
    for (uint32_t i = 0; lo->opt->binder_fuses && !lo->opt->stored && i + PARTS <= p->n_steps;
         i++) {
        qrn_cstep *s = &p->steps[i];
        bool fits = true;
        for (uint32_t k = 0; k < PARTS && fits; k++)
            fits = is_layer(lo, &s[k]) && same_input(lo, s, &s[k]) &&
                   only_transposed(lo, i + PARTS, s[k].out[0]);
        if (fits)
            QRN_TRY(merge(lo, s));
    }
    return QRN_OK;
}
