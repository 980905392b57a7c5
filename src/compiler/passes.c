// SPDX-License-Identifier: MIT
//
// The list of passes, and what they share.
#include "compiler/passes.h"

#include "base/env.h"
#include "base/mem.h"
#include "kernels/convert.h"
#include "kernels/move/join.h"
#include "kernels/move/layout.h"

#include <stdio.h>
#include <string.h>

const qrn_pass qrn_passes[] = {
#define X(name, fuses, keeps) {#name, qrn_pass_##name, fuses, keeps},
#include "base/passes.def"
#undef X
    {NULL, NULL, false, false},
};

bool qrn_pass_plain(const qrn_compiled *cg, const qrn_cstep *s) {
    if (s->kind != QRN_CSTEP_OP || !s->op || s->shapes || s->state_bytes)
        return false;
    for (uint32_t i = 0; i < s->n_in + s->n_out; i++) {
        uint32_t v = i < s->n_in ? s->in[i] : s->out[i - s->n_in];
        const qrn_cvalue *val = v == QRN_VAL_NONE ? NULL : &cg->values[v];
        if (val && (val->n_sparse || val->n_sparse_dims || val->dynamic ||
                    (val->kind != QRN_CV_CONST && qrn_dtypes[val->dtype].bits < 8)))
            return false;
    }
    return true;
}

qrn_status qrn_pass_become(const qrn_lowering *lo, qrn_cstep *s, const qrn_cop *op,
                           const qrn_val *in, uint32_t n_in, const void *args, size_t args_bytes) {
    qrn_arena *arena = lo->cg->arena;
    s->op = op;
    s->args = qrn_arena_copy(arena, args, args_bytes);
    s->in = qrn_arena_copy(arena, in, n_in * sizeof *in);
    s->n_in = n_in;
    return s->args && s->in ? QRN_OK
                            : QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
}

// A transposition that leaves all dimensions but those of size 1 in order.
static bool keeps_order(const qrn_shape *x, const qrn_transpose_args *a) {
    int64_t before = -1;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (x->dims[a->perm[d]] == 1)
            continue;
        if ((int64_t)a->perm[d] < before)
            return false;
        before = a->perm[d];
    }
    return true;
}

static bool all_bits_count(const qrn_cvalue *v) {
    return !v->quant.bits || v->quant.bits >= qrn_dtypes[v->dtype].bits;
}

// Do equal numbers have equal bytes in both formats?
static bool same_bytes(const qrn_cvalue *x, const qrn_cvalue *y, bool cast) {
    if (x->dtype == y->dtype)
        return x->dtype != QRN_DTYPE_B8 && (cast || qrn_quant_equal(&x->quant, &y->quant));
    bool same_integers =
        cast ? !qrn_dtype_is_float(x->dtype) && !qrn_dtype_is_float(y->dtype) && all_bits_count(x)
             : qrn_dtype_is_int(x->dtype) && qrn_dtype_is_int(y->dtype);
    return same_integers && y->dtype != QRN_DTYPE_B8 &&
           qrn_dtypes[x->dtype].bits == qrn_dtypes[y->dtype].bits;
}

bool qrn_pass_copies(const qrn_lowering *lo, const qrn_cstep *s) {
    if (!qrn_pass_plain(lo->cg, s) || s->n_out != 1 || s->in[0] == s->out[0])
        return false;
    const qrn_cvalue *x = &lo->cg->values[s->in[0]], *y = &lo->cg->values[s->out[0]];
    if (x->size_bytes != y->size_bytes)
        return false;
    if (s->op == &qrn_cop_reshape)
        return !((const qrn_reshape_args *)s->args)->read_shape;
    if (s->op == &qrn_cop_transpose)
        return keeps_order(&x->shape, s->args);
    if (s->op == &qrn_cop_convert || s->op == &qrn_cop_cast)
        return same_bytes(x, y, s->op == &qrn_cop_cast);
    return s->op == &qrn_cop_copy;
}

qrn_val qrn_pass_owner(const qrn_compiled *p, qrn_val v, size_t *offset) {
    size_t at = 0;
    while (p->values[v].base != QRN_VAL_NONE) {
        qrn_cvalue *val = &p->values[v];
        const qrn_cvalue *up = &p->values[val->base];
        if (up->base != QRN_VAL_NONE) { // a shorter way the next time: chains may be long
            val->base_offset += up->base_offset;
            val->base = up->base;
        }
        at += val->base_offset;
        v = val->base;
    }
    if (offset)
        *offset = at;
    return v;
}

void qrn_pass_place(qrn_compiled *p, qrn_val owner, qrn_val v, size_t offset) {
    p->values[owner].base = v;
    p->values[owner].base_offset = offset;
}

bool qrn_pass_movable(const qrn_compiled *p, qrn_val x, qrn_val *owner) {
    size_t at;
    *owner = qrn_pass_owner(p, x, &at);
    return at == 0 && p->values[*owner].kind == QRN_CV_TEMP &&
           p->values[*owner].size_bytes == p->values[x].size_bytes;
}

const qrn_cstep *qrn_pass_step_before(const qrn_lowering *lo, const qrn_use *uses, uint32_t at) {
    const qrn_compiled *p = lo->cg;
    const qrn_use *u = &uses[p->steps[at].in[0]];
    if (u->n_writes != 1 || u->last_write > at)
        return NULL;
    const qrn_cstep *s = &p->steps[u->last_write - 1];
    bool fits = qrn_pass_plain(lo->cg, s) && s->n_in == 1 && s->n_out == 1 &&
                s->in[0] != s->out[0] && uses[s->in[0]].last_write < u->last_write;
    return fits ? s : NULL;
}

static void count_uses(const qrn_compiled *p, qrn_use *uses) {
    memset(uses, 0, p->n_values * sizeof *uses);
    for (uint32_t s = 0; s < p->n_steps; s++) {
        for (uint32_t i = 0; i < p->steps[s].n_in; i++)
            if (p->steps[s].in[i] != QRN_VAL_NONE)
                uses[p->steps[s].in[i]].n_reads++;
        for (uint32_t i = 0; i < p->steps[s].n_out; i++) {
            if (p->steps[s].out[i] == QRN_VAL_NONE)
                continue;
            uses[p->steps[s].out[i]].n_writes++;
            uses[p->steps[s].out[i]].last_write = s + 1;
        }
    }
}

static void remove_dropped(qrn_compiled *p) {
    uint32_t n = 0;
    for (uint32_t s = 0; s < p->n_steps; s++)
        if (p->steps[s].op || p->steps[s].kind != QRN_CSTEP_OP)
            p->steps[n++] = p->steps[s];
    p->n_steps = n;
}

// Is "-name" in the list?
static bool left_out(const char *list, const char *name) {
    size_t n = strlen(name);
    while (list && *list) {
        size_t len = strcspn(list, ",");
        if (len == n + 1 && list[0] == '-' && memcmp(list + 1, name, n) == 0)
            return true;
        list += len + (list[len] == ',');
    }
    return false;
}

// In debug builds each pass must leave a graph that can be bound.
static qrn_status verify(const qrn_lowering *lo, const char *after) {
#ifndef NDEBUG
    qrn_status s = qrn_compiled_verify(lo->cg, false);
    if (s != QRN_OK && s != QRN_E_MEM) {
        char why[512];
        snprintf(why, sizeof why, "%s", qrn_message());
        return QRN_FAIL(QRN_E_FINALIZE, "after %s (a mistake of Quern): %s", after, why);
    }
    return s;
#else
    (void)lo, (void)after;
    return QRN_OK;
#endif
}

static qrn_status run_pass(qrn_lowering *lo, const qrn_pass *pass) {
    qrn_compiled *p = lo->cg;
    qrn_use *uses = qrn_alloc((p->n_values + 1) * sizeof *uses);
    if (!uses)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    count_uses(p, uses);
    qrn_status s = pass->run(lo, uses);
    remove_dropped(p);
    qrn_free(uses);
    return s == QRN_OK ? verify(lo, pass->name) : s;
}

bool qrn_pass_enabled(const char *list, const char *name) {
    list = list ? list : qrn_env_get(QRN_ENV_PASSES);
    return !left_out(list, "all") && !left_out(list, name);
}

qrn_status qrn_lo_passes(qrn_lowering *lo) {
    const qrn_compiled *p = lo->cg;
    qrn_status s = verify(lo, "lowering");
    bool keeps = lo->opt->keep_tensors;
    if (s != QRN_OK || p->may_block || p->optional_io || (keeps && !lo->opt->wanted))
        return s;
    for (const qrn_pass *pass = qrn_passes; pass->name && s == QRN_OK; pass++)
        if (qrn_pass_enabled(lo->opt->passes, pass->name) &&
            !(pass->fuses && lo->opt->binder_fuses) && (pass->keeps || !keeps))
            s = run_pass(lo, pass);
    return s;
}
