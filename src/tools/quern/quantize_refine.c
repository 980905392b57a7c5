// SPDX-License-Identifier: MIT
//
// Points near the front. Prices see groups as a chain; the network is none, so that a layer may pay
// for conversions that its price did not know. From each point of the front, every layer is timed
// in the faster precisions where it is, and those that save most for the noise they add move
// together. And the other way: from the fastest model, the layers that take away most noise for
// their time move to the finest precision, since a few may be all that is wrong with it.
#include "tools/quern/output.h"
#include "tools/quern/quantize_mixed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STARTS 6 // points of the front
#define MOST_MOVES 16 // layers that move together
#define MOST_RAISED 32
#define LEAST_NOISE 1e-9
#define LEAST_MS 1e-6

typedef struct move {
    uint32_t group;
    uint8_t option;
    double worth; // milliseconds for a unit of noise, or the other way round
} move;

static int by_worth(const void *a, const void *b) {
    const move *x = a, *y = b;
    if (x->worth != y->worth)
        return x->worth > y->worth ? -1 : 1;
    return x->group < y->group ? -1 : x->group > y->group;
}

// The best faster option of each layer, each timed alone.
static int find_moves(qt_mixed *x, const qt_mixed_point *p, uint8_t *choice, move *out,
                      uint32_t *n) {
    *n = 0;
    memcpy(choice, p->choice, x->n_groups);
    for (uint32_t g = 0; g < x->n_groups; g++) {
        const double *noise = x->noise + (size_t)g * x->n_options;
        move best = {.group = g};
        for (uint32_t o = 0; o < x->n_options; o++) {
            double ms, more = noise[o] - noise[p->choice[g]];
            if (o == p->choice[g] || !isfinite(more))
                continue;
            choice[g] = (uint8_t)o;
            int code = qt_mixed_try(x, choice, &ms, NULL);
            if (code != QT_EXIT_OK)
                return code;
            double worth = (p->ms - ms) / fmax(more, LEAST_NOISE);
            if (ms < p->ms && worth > best.worth) {
                best.option = (uint8_t)o;
                best.worth = worth;
            }
        }
        choice[g] = p->choice[g];
        if (best.worth > 0)
            out[(*n)++] = best;
    }
    qsort(out, *n, sizeof *out, by_worth);
    return QT_EXIT_OK;
}

// 1, 2, 4, ... of the best moves together.
static int refine(qt_mixed *x, uint32_t at, uint8_t *choice, move *moves) {
    const qt_mixed_point p = x->points[at];
    uint32_t n;
    int code = find_moves(x, &p, choice, moves, &n);
    for (uint32_t many = 1; code == QT_EXIT_OK && many <= MOST_MOVES && many <= n; many *= 2) {
        memcpy(choice, p.choice, x->n_groups);
        for (uint32_t i = 0; i < many; i++)
            choice[moves[i].group] = moves[i].option;
        code = qt_mixed_add(x, choice);
    }
    return code;
}

// The next start: of the points on the front that were none yet the fastest, never the one that has
// nothing faster.
static uint32_t next_start(const qt_mixed *x, const bool *done) {
    qz_point points[QT_MIXED_POINTS];
    uint32_t best = UINT32_MAX, fastest = UINT32_MAX;
    for (uint32_t i = 0; i < x->n_points; i++)
        points[i] = (qz_point){.ms = x->points[i].ms, .quality = x->points[i].sqnr};
    qz_mixed_front(points, x->n_points);
    for (uint32_t i = 0; i < x->n_points; i++)
        if (points[i].on_front && (fastest == UINT32_MAX || points[i].ms < points[fastest].ms))
            fastest = i;
    for (uint32_t i = 0; i < x->n_points; i++)
        if (points[i].on_front && i != fastest && !done[i] &&
            (best == UINT32_MAX || points[i].ms < points[best].ms))
            best = i;
    return best;
}

// The fastest model of one precision; UINT32_MAX: it is the finest one.
static uint32_t fastest_whole(const qt_mixed *x) {
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < x->n_points; i++) {
        const qt_mixed_point *p = &x->points[i];
        bool whole = true;
        for (uint32_t g = 1; g < x->n_groups; g++)
            whole &= p->choice[g] == p->choice[0];
        if (whole && (best == UINT32_MAX || p->ms < x->points[best].ms))
            best = i;
    }
    return best == UINT32_MAX || x->points[best].choice[0] == x->finest ? UINT32_MAX : best;
}

// What each layer alone takes away for its time, conversions included.
static int find_raises(qt_mixed *x, const qt_mixed_point *p, uint8_t *choice, move *out,
                       uint32_t *n) {
    *n = 0;
    memcpy(choice, p->choice, x->n_groups);
    for (uint32_t g = 0; g < x->n_groups && !qt_mixed_stopped(); g++) {
        double ms, noise = x->noise[(size_t)g * x->n_options + p->choice[g]];
        if (!isfinite(noise) || noise <= 0)
            continue;
        qt_progress("raising", g, x->n_groups);
        choice[g] = (uint8_t)x->finest;
        int code = qt_mixed_try(x, choice, &ms, NULL);
        if (code != QT_EXIT_OK)
            return code;
        choice[g] = p->choice[g];
        if (isfinite(ms))
            out[(*n)++] = (move){g, (uint8_t)x->finest, noise / fmax(ms - p->ms, LEAST_MS)};
    }
    qsort(out, *n, sizeof *out, by_worth);
    return QT_EXIT_OK;
}

static int raise_layers(qt_mixed *x, uint8_t *choice, move *moves) {
    uint32_t at = fastest_whole(x), n = 0;
    if (at == UINT32_MAX)
        return QT_EXIT_OK;
    const qt_mixed_point p = x->points[at];
    int code = find_raises(x, &p, choice, moves, &n);
    for (uint32_t many = 1; code == QT_EXIT_OK && many <= MOST_RAISED && many <= n; many *= 2) {
        memcpy(choice, p.choice, x->n_groups);
        for (uint32_t i = 0; i < many; i++)
            choice[moves[i].group] = moves[i].option;
        code = qt_mixed_add(x, choice);
    }
    return code;
}

int qt_mixed_refine(qt_mixed *x, uint8_t *choice) {
    bool done[QT_MIXED_POINTS] = {false};
    move *moves = qrn_arena_alloc(x->arena, (x->n_groups + 1u) * sizeof *moves);
    if (!moves) {
        qt_error("out of memory");
        return QT_EXIT_FAILURE;
    }
    int code = raise_layers(x, choice, moves);
    for (uint32_t i = 0; i < MOST_STARTS && code == QT_EXIT_OK; i++) {
        uint32_t at = next_start(x, done);
        if (at == UINT32_MAX || qt_mixed_stopped())
            break;
        qt_progress("refining", i, MOST_STARTS);
        done[at] = true;
        code = refine(x, at, choice, moves);
    }
    return code;
}
