// SPDX-License-Identifier: MIT
//
// Pass "chain": element-wise steps behind a step that tells of finished parts of its result run on
// each part while it is in a near cache, on the thread that made it. The same kernels compute the
// same numbers, in another order of parts. Comes last: steps must not move any more.
#include "compiler/passes.h"

// A value's place in memory.
typedef struct place {
    qrn_val owner;
    size_t offset;
} place;

static place place_of(const qrn_plan *p, qrn_val v) {
    place at;
    at.owner = qrn_pass_owner(p, v, &at.offset);
    return at;
}

// Do both values, where they share memory at all, have element i of the same size at one place?
static bool in_step(const qrn_plan *p, qrn_val a, qrn_val b) {
    place x = place_of(p, a), y = place_of(p, b);
    const qrn_view *v = &p->values[a].view, *w = &p->values[b].view;
    return x.owner != y.owner || (x.offset == y.offset && qrn_view_elem(v) == qrn_view_elem(w) &&
                                  qrn_view_count(v) == qrn_view_count(w));
}

static bool shares_memory(const qrn_plan *p, qrn_val a, qrn_val b) {
    return place_of(p, a).owner == place_of(p, b).owner;
}

// May step `at` follow the steps from `head` on, part by part? It reads what they make element by
// element, and does not write over what they read otherwise.
static bool follows(const qrn_lowering *lo, uint32_t head, uint32_t at) {
    const qrn_plan *p = lo->plan;
    const qrn_step *first = &p->steps[head], *s = &p->steps[at];
    if (!qrn_pass_plain(lo, s) || !s->family->element_wise || s->n_out != 1 ||
        qrn_view_count(&p->values[s->out[0]].view) !=
            qrn_view_count(&p->values[first->out[0]].view))
        return false;
    for (uint32_t i = 0; i < first->n_in; i++)
        if (first->in[i] != QRN_VAL_NONE && shares_memory(p, first->in[i], s->out[0]))
            return false;
    bool reads = false;
    for (uint32_t before = head; before < at; before++) {
        const qrn_step *b = &p->steps[before];
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

qrn_status qrn_pass_chain(qrn_lowering *lo, const qrn_use *uses) {
    (void)uses;
    qrn_plan *p = lo->plan;
    for (uint32_t i = 0; i < p->n_steps; i += 1 + p->steps[i].n_chained) {
        qrn_step *s = &p->steps[i];
        if (!qrn_pass_plain(lo, s) || !s->family->tells || s->n_out != 1)
            continue;
        while (s->n_chained < QRN_MAX_CHAINED && i + 1 + s->n_chained < p->n_steps &&
               follows(lo, i, i + 1 + s->n_chained))
            s->n_chained++;
    }
    return QRN_OK;
}
