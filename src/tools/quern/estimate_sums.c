// SPDX-License-Identifier: MIT
//
// Sums over the steps of an estimate, for all of its reports.
#include "tools/quern/estimate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double qt_share(double part, const qd_estimate *e) { return e->us > 0 ? 100 * part / e->us : 0; }

qt_totals qt_add_up(const qd_steps *steps, qd_precision p) {
    qt_totals t = {0};
    double a = p == QD_W8A8 ? 1 : 2;
    for (uint32_t i = 0; i < steps->n; i++) {
        const qd_step *s = &steps->list[i];
        double times = qd_passes(s, p);
        t.weights += s->weights * (p == QD_FP16 ? 2 : 1);
        t.steps[s->kind] += (uint32_t)times;
        t.macs += s->macs;
        if (s->kind == QD_MATRIX) {
            t.matrix++;
            t.padded += s->padded;
            continue;
        }
        t.vector += (uint32_t)times;
        t.bytes[s->kind == QD_POOL ? QD_LIGHT : s->kind] +=
            a * times * (s->kind == QD_DEPTHWISE ? s->macs : s->in + s->out + s->windows);
    }
    return t;
}

void qt_class_us(const qd_steps *steps, const qd_estimate *e, double out[QD_CLASSES]) {
    memset(out, 0, QD_CLASSES * sizeof *out);
    for (uint32_t i = 0; i < steps->n; i++)
        out[steps->list[i].kind] += qd_core(&e->steps[i]);
}

double qt_tops(const qd_steps *steps, const qd_estimate *e) {
    double macs = 0;
    for (uint32_t i = 0; i < steps->n; i++)
        macs += steps->list[i].macs;
    return e->us > 0 ? 2 * macs / e->us / 1e6 : 0;
}

typedef struct ranked {
    double us;
    uint32_t index;
} ranked;

static int slowest_first(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->us > y->us ? -1 : x->us < y->us ? 1 : x->index < y->index ? -1 : 1;
}

const uint32_t *qt_rank_steps(const qt_estimates *r) {
    uint32_t n = r->net->steps.n;
    ranked *list = qrn_arena_alloc(r->net->graph.arena, (n + 1) * sizeof *list);
    uint32_t *order = qrn_arena_alloc(r->net->graph.arena, (n + 1) * sizeof *order);
    if (!list || !order)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        list[i] = (ranked){qd_core(&r->rows[0].e.steps[i]), i};
    if (n)
        qsort(list, n, sizeof *list, slowest_first);
    for (uint32_t i = 0; i < n; i++)
        order[i] = list[i].index;
    return order;
}

// Is the advice about a step, not about all of them?
static bool is_hint(const qd_advice *a) { return strcmp(a->rule, "precision") != 0; }

bool qt_find_hints(const qd_advices *advice, uint32_t n, qrn_arena *arena, qt_hints *out) {
    uint32_t total = 0;
    uint32_t *next = qrn_arena_alloc(arena, (n + 1) * sizeof *next);
    *out = (qt_hints){.at = qrn_arena_alloc(arena, (n + 1) * sizeof *out->at)};
    if (!next || !out->at)
        return false;
    for (uint32_t i = 0; i < advice->n; i++)
        for (uint32_t k = 0; is_hint(&advice->list[i]) && k < advice->list[i].n; k++, total++)
            next[advice->list[i].hits[k].step]++;
    for (uint32_t i = 0; i < n; i++) {
        out->at[i + 1] = out->at[i] + next[i];
        next[i] = out->at[i];
    }
    out->rules = qrn_arena_alloc(arena, (total + 1) * sizeof *out->rules);
    if (!out->rules)
        return false;
    for (uint32_t i = 0; i < advice->n; i++)
        for (uint32_t k = 0; is_hint(&advice->list[i]) && k < advice->list[i].n; k++)
            out->rules[next[advice->list[i].hits[k].step]++] = advice->list[i].rule;
    return true;
}

const char *qt_hints_text(const qt_hints *hints, uint32_t step, char *buf, size_t size) {
    size_t used = 0;
    buf[0] = 0;
    for (uint32_t i = hints->at[step]; i < hints->at[step + 1] && used < size; i++)
        used +=
            (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "", hints->rules[i]);
    return buf;
}

double *qt_part_us(const qt_network *net, const qt_estimate *row) {
    double *us = qrn_arena_alloc(net->graph.arena, net->n_parts * sizeof *us);
    for (uint32_t k = 0; us && k < net->n_parts; k++) {
        double core = 0, memory = 0;
        for (uint32_t i = 0; i < net->steps.n; i++)
            if (net->steps.list[i].op->part == k) {
                core += qd_core(&row->e.steps[i]);
                memory += row->e.steps[i].memory;
            }
        us[k] = qd_total(qd_start_us(row->at.chip, row->precision, &row->at.run), core, memory);
    }
    return us;
}
