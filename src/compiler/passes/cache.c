// SPDX-License-Identifier: MIT
//
// Pass "cache": a cache of fp16 that a graph reads, scatters rows into and returns is converted to
// single precision as a whole before the scatter, and back behind it. Instead the rows are
// converted and scattered into fp16, from the application's input into its output: nothing is
// copied where both are one buffer. Who reads the cache reads it converted from the output, and
// attention sees through that. Elements that are not scattered keep their bits. Comes before pass
// "attention", while no value shares the memory of another.
#include "compiler/passes/strided.h"

#include "base/mem.h"
#include "kernels/convert.h"
#include "kernels/fp16/round_fp16.h"
#include "kernels/move/gather.h"

#include <string.h>

// A cache: X of fp16 -> enter -> ... -> scatter -> ... -> leave -> Y of fp16.
typedef struct kept {
    uint32_t enter, scatter, leave; // steps
} kept;

static const qrn_cvalue *value(const qrn_lowering *lo, qrn_val v) { return &lo->cg->values[v]; }

// Does the step leave the numbers of one float tensor in another, but for rounding to fp16?
static bool keeps_numbers(const qrn_lowering *lo, const qrn_cstep *s) {
    bool converts = s->op == &qrn_cop_convert || s->op == &qrn_cop_cast ||
                    s->op == &qrn_cop_round_fp16 || qrn_pass_copies(lo, s);
    if (!converts || s->n_in != 1 || s->n_out != 1 || s->in[0] == s->out[0] ||
        !qrn_pass_plain(lo->cg, s))
        return false;
    const qrn_cvalue *x = value(lo, s->in[0]), *y = value(lo, s->out[0]);
    return qrn_dtype_is_float(x->dtype) && qrn_dtype_is_float(y->dtype) &&
           x->dtype != QRN_DTYPE_F64 && y->dtype != QRN_DTYPE_F64 &&
           qrn_shape_equal(&x->shape, &y->shape);
}

// Is v a value in between that one step reads, roundings in place apart?
static bool has_one_reader(const qrn_lowering *lo, const qrn_use *uses, qrn_val v) {
    return value(lo, v)->kind == QRN_CV_TEMP && uses[v].n_reads == uses[v].n_writes;
}

static bool is_io(const qrn_lowering *lo, qrn_val v, bool is_output) {
    const qrn_cvalue *x = value(lo, v);
    return x->kind == QRN_CV_IO && x->dtype == QRN_DTYPE_F16 &&
           lo->cg->io[x->io].is_output == is_output;
}

// Back from v over steps that keep its numbers, to the step that made them otherwise.
static uint32_t maker_of(const qrn_lowering *lo, const qrn_use *uses, qrn_val v) {
    for (;;) {
        uint32_t at = qrn_pass_maker(lo, uses, v);
        if (at == UINT32_MAX || !keeps_numbers(lo, &lo->cg->steps[at]))
            return at;
        v = lo->cg->steps[at].in[0];
    }
}

// The step that reads the application's cache, from which all that the scatter reads comes.
static bool find_enter(const qrn_lowering *lo, const qrn_use *uses, qrn_val v, uint32_t *enter) {
    for (;;) {
        uint32_t at = has_one_reader(lo, uses, v) ? qrn_pass_maker(lo, uses, v) : UINT32_MAX;
        if (at == UINT32_MAX || !keeps_numbers(lo, &lo->cg->steps[at]))
            return false;
        v = lo->cg->steps[at].in[0];
        *enter = at;
        if (is_io(lo, v, false))
            return uses[v].n_reads == 1;
    }
}

static bool is_scatter(const qrn_lowering *lo, const qrn_cstep *s) {
    return (s->op == &qrn_cop_scatter_elements || s->op == &qrn_cop_scatter_nd) &&
           s->domain == QRN_DOMAIN_RAW && qrn_pass_plain(lo->cg, s) &&
           value(lo, s->out[0])->kind == QRN_CV_TEMP &&
           value(lo, s->out[0])->dtype == QRN_DTYPE_F32;
}

// Is step `leave` the end of a cache?
static bool find(const qrn_lowering *lo, const qrn_use *uses, uint32_t leave, kept *k) {
    const qrn_cstep *steps = lo->cg->steps, *last = &steps[leave];
    if (!keeps_numbers(lo, last) || !is_io(lo, last->out[0], true) ||
        uses[last->out[0]].n_writes != 1 || uses[last->out[0]].n_reads != 0 ||
        value(lo, last->in[0])->dtype != QRN_DTYPE_F32)
        return false;
    uint32_t at = maker_of(lo, uses, last->in[0]);
    if (at == UINT32_MAX || !is_scatter(lo, &steps[at]) || uses[steps[at].out[0]].n_writes != 1)
        return false;
    *k = (kept){.scatter = at, .leave = leave};
    const qrn_cvalue *y = value(lo, last->out[0]);
    return find_enter(lo, uses, steps[at].in[0], &k->enter) &&
           qrn_shape_equal(&value(lo, steps[k->enter].in[0])->shape, &y->shape) &&
           qrn_shape_equal(&value(lo, steps[at].out[0])->shape, &y->shape);
}

// A step of the scatter's node that converts x to y as `like` converts.
static bool convert(qrn_lowering *lo, const qrn_cstep *like, uint32_t node, qrn_val x, qrn_val y,
                    qrn_cstep *to) {
    *to = *like;
    to->node = node;
    to->in = qrn_arena_copy(lo->cg->arena, &x, sizeof x);
    to->out = qrn_arena_copy(lo->cg->arena, &y, sizeof y);
    return to->in && to->out;
}

// The three steps instead of the scatter.
static qrn_status rewrite(qrn_lowering *lo, const qrn_cstep *old, const kept *k, qrn_cstep *to) {
    const qrn_cstep *scatter = &old[k->scatter], *enter = &old[k->enter], *leave = &old[k->leave];
    const qrn_shape shape = value(lo, scatter->in[2])->shape;
    qrn_val rows;
    QRN_TRY(qrn_lo_temp(lo, QRN_DTYPE_F16, &shape, NULL, &rows));
    const qrn_val in[] = {enter->in[0], scatter->in[1], rows};
    to[1] = *scatter;
    to[1].in = qrn_arena_copy(lo->cg->arena, in, sizeof in);
    to[1].out = qrn_arena_copy(lo->cg->arena, leave->out, sizeof *leave->out);
    if (!to[1].in || !to[1].out ||
        !convert(lo, leave, scatter->node, scatter->in[2], rows, &to[0]) ||
        !convert(lo, enter, scatter->node, leave->out[0], scatter->out[0], &to[2]))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    return QRN_OK;
}

// All steps again, with those of the caches. A scatter has one cache.
static qrn_status rebuild(qrn_lowering *lo, const kept *list, uint32_t n) {
    qrn_compiled *p = lo->cg;
    uint32_t count = p->n_steps, at = 0;
    qrn_cstep *old = qrn_alloc(count * sizeof *old);
    qrn_status s = old ? QRN_OK : QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    if (s == QRN_OK)
        memcpy(old, p->steps, count * sizeof *old);
    while (s == QRN_OK && lo->cap_steps < count + 2 * n)
        if (!qrn_lo_grow((void **)&p->steps, &lo->cap_steps, lo->cap_steps, sizeof *p->steps))
            s = QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    for (uint32_t i = 0; i < count && s == QRN_OK; i++) {
        const kept *k = NULL;
        bool leaves = false;
        for (uint32_t c = 0; c < n; c++) {
            k = list[c].scatter == i ? &list[c] : k;
            leaves |= list[c].leave == i;
        }
        if (k)
            s = rewrite(lo, old, k, &p->steps[at]);
        else
            p->steps[at] = old[i];
        at += k ? 3 : 1;
        if (leaves)
            at--;
    }
    if (s == QRN_OK)
        p->n_steps = at;
    qrn_free(old);
    return s;
}

qrn_status qrn_pass_cache(qrn_lowering *lo, const qrn_use *uses) {
    kept *list = qrn_alloc((lo->cg->n_io + 1) * sizeof *list);
    uint32_t n = 0;
    if (!list)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    for (uint32_t i = 0; i < lo->cg->n_steps; i++) {
        bool is = find(lo, uses, i, &list[n]);
        for (uint32_t c = 0; c < n && is; c++)
            is = list[c].scatter != list[n].scatter;
        n += is;
    }
    qrn_status s = n ? rebuild(lo, list, n) : QRN_OK;
    qrn_free(list);
    return s;
}
