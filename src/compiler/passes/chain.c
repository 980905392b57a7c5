// SPDX-License-Identifier: MIT
//
// Pass "chain": element-wise steps behind a step that reports finished parts of its result run on
// each part while it is in a near cache, on the thread that made it. The same kernels compute the
// same numbers, in another order of parts. Comes last: steps must not move any more.
#include "compiler/gemm.h"
#include "compiler/passes.h"

// A value's place in memory.
typedef struct place {
    qrn_val owner;
    size_t offset;
} place;

static size_t elements(const qrn_cvalue *v) {
    size_t n = 0;
    qrn_shape_count(&v->shape, &n); // was counted when it was made
    return n;
}

static place place_of(const qrn_compiled *p, qrn_val v) {
    place at;
    at.owner = qrn_pass_owner(p, v, &at.offset);
    return at;
}

// Do both values, where they share memory at all, have element i of the same size at one place?
static bool in_step(const qrn_compiled *p, qrn_val a, qrn_val b) {
    place x = place_of(p, a), y = place_of(p, b);
    const qrn_cvalue *v = &p->values[a], *w = &p->values[b];
    return x.owner != y.owner ||
           (x.offset == y.offset && qrn_cvalue_elem(v) == qrn_cvalue_elem(w) &&
            elements(v) == elements(w));
}

static bool shares_memory(const qrn_compiled *p, qrn_val a, qrn_val b) {
    return place_of(p, a).owner == place_of(p, b).owner;
}

bool qrn_fusable(const qrn_compiled *p, uint32_t head, uint32_t at) {
    const qrn_cstep *first = &p->steps[head], *s = &p->steps[at];
    if (!qrn_pass_plain(p, s) || !s->op->family->element_wise || s->n_out != 1 ||
        elements(&p->values[s->out[0]]) != elements(&p->values[first->out[0]]))
        return false;
    for (uint32_t i = 0; i < first->n_in; i++)
        if (first->in[i] != QRN_VAL_NONE && shares_memory(p, first->in[i], s->out[0]))
            return false;
    bool reads = false;
    for (uint32_t before = head; before < at; before++) {
        const qrn_cstep *b = &p->steps[before];
        for (uint32_t i = 0; i < s->n_in; i++) {
            if (s->in[i] == QRN_VAL_NONE)
                continue;
            if (!in_step(p, s->in[i], b->out[0]))
                return false;
            reads |= shares_memory(p, s->in[i], b->out[0]);
        }
        for (uint32_t i = 0; before > head && i < b->n_in; i++)
            if (b->in[i] != QRN_VAL_NONE && !in_step(p, b->in[i], s->out[0]))
                return false;
        if (!in_step(p, b->out[0], s->out[0]))
            return false;
    }
    for (uint32_t i = 0; i < s->n_in; i++)
        if (s->in[i] != QRN_VAL_NONE && !in_step(p, s->in[i], s->out[0]))
            return false;
    return reads;
}

// Can the step report finished parts of its result? A GEMM with constant weights can, too.
static bool reports_parts(const qrn_compiled *p, const qrn_cstep *s) {
    qrn_gemm gemm;
    return s->op->family->reports || qrn_gemm_of(p, s, &gemm);
}

qrn_status qrn_pass_chain(qrn_lowering *lo, const qrn_use *uses) {
    (void)uses;
    qrn_compiled *p = lo->cg;
    for (uint32_t i = 0; i < p->n_steps; i += 1 + p->steps[i].n_fused) {
        qrn_cstep *s = &p->steps[i];
        if (!qrn_pass_plain(p, s) || !reports_parts(p, s) || s->n_out != 1)
            continue;
        while (s->n_fused < QRN_MAX_FUSED && i + 1 + s->n_fused < p->n_steps &&
               qrn_fusable(p, i, i + 1 + s->n_fused))
            s->n_fused++;
    }
    return QRN_OK;
}
