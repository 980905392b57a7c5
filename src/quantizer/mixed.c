// SPDX-License-Identifier: MIT
//
// The choice is by Lagrange's rule: for a price of time the cheapest sum. Without conversions each
// group decides by itself, and prices at which its decision changes are slopes of the lower hull of
// its points (ms, noise).
#include "quantizer/mixed.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double turn_of(const qz_mixed *m, uint32_t g, uint32_t option) {
    return m->turn ? m->turn[(size_t)g * m->n_options + option] : 0;
}

// Viterbi: cost[o] is the least cost of all groups so far with the last one in option o, from[g][o]
// the option of the group before it.
qrn_status qz_mixed_choose(const qz_mixed *m, double weight, uint8_t *choice) {
    double cost[QZ_MIXED_OPTIONS] = {0}, next[QZ_MIXED_OPTIONS];
    uint8_t *from = qrn_calloc((size_t)m->n_groups * m->n_options + 1);
    if (!from)
        return QRN_FAIL(QRN_E_MEM, "mixed precision: out of memory");
    for (uint32_t g = 0; g < m->n_groups; g++) {
        size_t row = (size_t)g * m->n_options;
        for (uint32_t o = 0; o < m->n_options; o++) {
            double least = INFINITY;
            for (uint32_t p = 0; p < m->n_options; p++) {
                bool turns = g && p != o;
                double c = cost[p];
                if (turns)
                    c += weight * (turn_of(m, g, o) + turn_of(m, g - 1, p));
                if (c < least || p == 0) {
                    least = c;
                    from[row + o] = (uint8_t)p;
                }
            }
            next[o] = least + m->noise[row + o] + weight * m->ms[row + o];
        }
        memcpy(cost, next, sizeof cost);
    }
    uint32_t last = 0;
    for (uint32_t o = 1; o < m->n_options; o++)
        if (cost[o] < cost[last])
            last = o;
    for (uint32_t g = m->n_groups; g-- > 0;) {
        choice[g] = (uint8_t)last;
        last = from[(size_t)g * m->n_options + last];
    }
    qrn_free(from);
    return QRN_OK;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

// Prices at which one group's choice changes, behind `out`: from the least noise on, the next
// choice is the faster option with the smallest slope.
static uint32_t slopes_of(const double *noise, const double *ms, uint32_t n, double *out) {
    uint32_t at = 0, found = 0;
    for (uint32_t i = 1; i < n; i++)
        if (noise[i] < noise[at] || (noise[i] == noise[at] && ms[i] < ms[at]))
            at = i;
    for (;;) {
        uint32_t next = at;
        double least = INFINITY;
        for (uint32_t i = 0; i < n; i++) {
            double slope = (noise[i] - noise[at]) / (ms[at] - ms[i]);
            if (ms[i] < ms[at] &&
                (slope < least || (slope == least && next != at && ms[i] < ms[next]))) {
                least = slope;
                next = i;
            }
        }
        if (next == at)
            return found;
        out[found++] = least;
        at = next;
    }
}

uint32_t qz_mixed_weights(const qz_mixed *m, double *out, uint32_t most) {
    size_t cap = (size_t)m->n_groups * m->n_options + 1;
    double *all = qrn_calloc(cap * sizeof *all);
    uint32_t n = 0, kept = 0;
    if (!all)
        return 0;
    for (uint32_t g = 0; g < m->n_groups; g++) {
        size_t at = (size_t)g * m->n_options;
        n += slopes_of(m->noise + at, m->ms + at, m->n_options, all + n);
    }
    qsort(all, n, sizeof *all, ascending);
    for (uint32_t i = 0; i < n; i++) // each once
        if (!kept || all[i] > all[kept - 1])
            all[kept++] = all[i];
    uint32_t total = kept + 1, picked = total < most ? total : most;
    for (uint32_t i = 0; i < picked; i++) {
        uint32_t k = picked == 1 ? 0 : (uint32_t)((uint64_t)i * (total - 1) / (picked - 1));
        double before = k ? all[k - 1] : 0, behind = k < kept ? all[k] : 2 * before + 1;
        out[i] = (before + behind) / 2;
    }
    qrn_free(all);
    return picked;
}

void qz_mixed_front(qz_point *points, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        points[i].on_front = !isnan(points[i].ms) && !isnan(points[i].quality);
        for (uint32_t k = 0; k < n && points[i].on_front; k++) {
            bool as_good = points[k].ms <= points[i].ms && points[k].quality >= points[i].quality;
            bool better = points[k].ms < points[i].ms || points[k].quality > points[i].quality;
            if (k != i && as_good && (better || k < i))
                points[i].on_front = false;
        }
    }
}
