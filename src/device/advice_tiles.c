// SPDX-License-Identifier: MIT
//
// Rules of advice about tiles: what a step needs in the VTCM (HTP-NET-06 to 08). A tile has 8 rows,
// 8 columns (4 of 16 bits) and 32 channels.
#include "device/advice_rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double up(double x, double to) { return to * ceil(x / to); }

static double bytes_each(const qd_look *l) { return l->p == QD_W8A8 ? 1 : 2; }

static double columns(const qd_look *l) { return l->p == QD_W8A8 ? 8 : 4; }

bool qd_rule_spill(const qd_look *l, uint32_t i, qd_found *f) {
    const qd_time *t = &l->e->steps[i];
    if (!(t->spill_bytes > 0))
        return false;
    f->then = *t;
    f->then.memory *= t->weight_bytes / (t->weight_bytes + t->spill_bytes);
    QD_SAY(f, "%.1f MB more than its share of %.0f MB", t->spill_bytes / 1e6, l->vtcm / 1048576);
    return true;
}

// Width of a value with channels last.
static double width(const qd_value *v) { return v->rank >= 3 ? v->dims[v->rank - 2] : 1; }

static double channels(const qd_value *v) { return v->rank ? v->dims[v->rank - 1] : 1; }

// The least that a convolution must hold: rows of its input under the filter, the filter for 32
// channels, a row of the result.
static double convolution_needs(const qd_look *l, const qd_step *s) {
    const qd_value *x = &l->g->values[s->op->in[0]], *w = &l->g->values[s->op->in[1]];
    const qd_value *y = &l->g->values[s->op->out[0]];
    if (w->rank != 4 || x->rank != 4)
        return 0;
    double depth = up(channels(x), 32);
    return up(width(x), columns(l)) * depth * w->dims[0] * 8 +
           (double)w->dims[0] * w->dims[1] * up(w->dims[2], 32) * 32 + up(width(y), columns(l)) * 8;
}

static double vector_needs(const qd_look *l, const qd_step *s) {
    const qd_value *x = &l->g->values[s->op->in[0]];
    double e = bytes_each(l), row = up(width(x), columns(l)) * 256 * e;
    uint32_t n = 1; // the result
    for (uint32_t k = 0; k < s->op->n_in; k++)
        n += !l->g->values[s->op->in[k]].constant;
    if (strcmp(s->op->type, "TopK") == 0)
        return up(channels(x), 32) * 256 * e * 2;
    if (strstr(s->op->type, "Nms") || strcmp(s->op->type, "NonMaxSuppression") == 0)
        return (s->in + s->out) * e;
    bool whole = s->kind == QD_LIGHT && strncmp(s->op->type, "Pool", 4) == 0; // over the picture
    return row * (whole ? 1 : n < 3 ? n : 3);
}

bool qd_rule_tile(const qd_look *l, uint32_t i, qd_found *f) {
    const qd_step *s = &l->steps->list[i];
    bool vector = s->kind == QD_LIGHT || s->kind == QD_POOL || s->kind == QD_HEAVY;
    double need = s->kind == QD_MATRIX && strcmp(s->op->type, "Conv2d") == 0
                      ? convolution_needs(l, s)
                  : vector ? vector_needs(l, s)
                           : 0;
    if (need <= l->vtcm / 2)
        return false;
    QD_SAY(f, "needs %.1f MB at once; half the VTCM is %.1f MB", need / 1e6, l->vtcm / 2e6);
    return true;
}

// Along which dimension values are put together, and what it must be a multiple of.
static uint32_t joint(const qd_look *l, const qd_value *x, const qd_value *y, uint32_t *multiple) {
    uint32_t d = 0;
    while (d < y->rank && d < x->rank && x->dims[d] == y->dims[d])
        d++;
    uint32_t from_last = y->rank - d;
    *multiple = d >= y->rank || x->rank != y->rank ? 0
                : from_last == 1                   ? 32
                : from_last == 2                   ? (uint32_t)columns(l)
                : from_last == 3                   ? 8
                                                   : 0;
    return d;
}

bool qd_rule_concat(const qd_look *l, uint32_t i, qd_found *f) {
    static const char *const names[] = {"channels", "columns", "rows"};
    const qd_step *s = &l->steps->list[i];
    if (strcmp(s->op->type, "Concat") != 0)
        return false;
    const qd_value *y = &l->g->values[s->op->out[0]];
    for (uint32_t k = 0; k + 1 < s->op->n_in; k++) {
        const qd_value *x = &l->g->values[s->op->in[k]];
        uint32_t multiple, d = joint(l, x, y, &multiple);
        if (multiple && x->dims[d] % multiple) {
            QD_SAY(f, "input %u has %u %s, no multiple of %u", k, x->dims[d],
                   names[y->rank - d - 1], multiple);
            return true;
        }
    }
    return false;
}
