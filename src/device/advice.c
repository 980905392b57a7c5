// SPDX-License-Identifier: MIT
//
// Applies the rules of advice_rules.c to all steps. Steps are judged one by one; times add up, so a
// rule's gain over all its steps is a sum as well.
#include "device/advice_rules.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double gain_of(const qd_look *l, double core, double memory) {
    return qd_total(l->e->start, l->e->core, l->e->memory) -
           qd_total(l->e->start, fmax(0, l->e->core - core), fmax(0, l->e->memory - memory));
}

static int best_hit(const void *a, const void *b) {
    const qd_hit *x = a, *y = b;
    return x->gain > y->gain ? -1 : x->gain < y->gain ? 1 : x->step < y->step ? -1 : 1;
}

static int best_advice(const void *a, const void *b) {
    const qd_advice *x = a, *y = b;
    return x->gain > y->gain ? -1 : x->gain < y->gain ? 1 : strcmp(x->rule, y->rule);
}

// What rules need to know of the whole graph.
static void survey(qd_look *l, uint32_t *made_by) {
    for (uint32_t v = 0; v < l->g->n_values; v++)
        made_by[v] = UINT32_MAX;
    for (uint32_t i = 0; i < l->g->n_ops; i++)
        for (uint32_t k = 0; k < l->g->ops[i].n_out; k++)
            made_by[l->g->ops[i].out[k]] = i;
    l->made_by = made_by;
    for (uint32_t i = 0; i < l->steps->n; i++)
        if (l->steps->list[i].kind == QD_MATRIX && l->steps->list[i].size.rows > 1)
            l->last_picture = i;
}

// All steps that break a rule; `room` holds as many hits as there are steps.
static void apply(const qd_look *l, const qd_rule *rule, qd_hit *room, qd_advice *out) {
    double core = 0, memory = 0;
    *out = (qd_advice){.rule = rule->name,
                       .source = rule->source,
                       .change = rule->change,
                       .at_most = rule->gain == QD_AT_MOST || rule->gain == QD_AT_MOST_NARROW,
                       .unknown = rule->gain == QD_UNKNOWN,
                       .hits = room};
    for (uint32_t i = 0; i < l->steps->n; i++) {
        qd_hit *h = &room[out->n];
        *h = (qd_hit){.step = i};
        qd_found f = {.now = l->e->steps[i], .detail = h->detail};
        if (!rule->breaks(l, i, &f))
            continue;
        double less = qd_core(&f.now) - qd_core(&f.then) + f.more;
        double bytes = f.now.memory - f.then.memory;
        h->gain = out->unknown ? 0 : gain_of(l, less, bytes);
        if (!(h->gain > 0) && !out->unknown)
            continue;
        core += less;
        memory += bytes;
        out->n++;
    }
    out->gain = out->unknown ? 0 : gain_of(l, core, memory);
    if (rule->gain == QD_AT_MOST_NARROW && out->n)
        out->gain += l->e->start *
                     (1 - qd_start_us(l->chip, QD_W8A8, NULL) / qd_start_us(l->chip, l->p, NULL));
    if (out->n)
        qsort(room, out->n, sizeof *room, best_hit);
}

qrn_status qd_advise(const qd_graph *g, const qd_steps *steps, const qd_estimate *e,
                     const qd_chip *chip, qd_precision p, const qd_options *options,
                     qrn_arena *arena, qd_advices *out) {
    qd_look l = {.g = g,
                 .steps = steps,
                 .e = e,
                 .chip = chip,
                 .p = p,
                 .options = options,
                 .vtcm = qd_vtcm_of(chip, options),
                 .last_picture = UINT32_MAX};
    qd_hit *room = qrn_calloc((steps->n + 1) * sizeof *room);
    uint32_t *made_by = qrn_calloc((g->n_values + 1) * sizeof *made_by);
    *out = (qd_advices){.list = qrn_arena_alloc(arena, qd_n_rules * sizeof *out->list)};
    bool failed = !room || !made_by || !out->list;
    if (!failed)
        survey(&l, made_by);
    for (size_t r = 0; !failed && r < qd_n_rules; r++) {
        qd_advice *a = &out->list[out->n];
        apply(&l, &qd_rules[r], room, a);
        if (!a->n || (!a->unknown && a->gain < 1e-3 * e->us))
            continue;
        a->hits = qrn_arena_copy(arena, room, a->n * sizeof *room);
        failed = !a->hits;
        out->n++;
    }
    qrn_free(room);
    qrn_free(made_by);
    if (failed)
        return QRN_FAIL(QRN_E_MEM, "estimate: no memory");
    if (out->n)
        qsort(out->list, out->n, sizeof *out->list, best_advice);
    return QRN_OK;
}
