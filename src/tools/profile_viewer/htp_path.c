// SPDX-License-Identifier: MIT
//
// A sweep over the moments at which pieces begin and end. Those that run form a list for each unit,
// in order of their begin; the first of the highest list is on the path.
#include "tools/profile_viewer/htp_path.h"

#include <stdlib.h>

typedef struct moment {
    double at;
    uint32_t piece;
    bool begins;
} moment;

typedef struct running {
    uint32_t *next, *before;                  // per piece
    uint32_t first[QV_UNITS], last[QV_UNITS]; // per unit
} running;

// Ends come before begins, so that pieces that follow each other do not overlap.
static int by_time(const void *x, const void *y) {
    const moment *a = x, *b = y;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->begins != b->begins)
        return a->begins ? 1 : -1;
    return a->piece < b->piece ? -1 : a->piece > b->piece;
}

static void enter(running *x, uint32_t i, qv_unit unit) {
    x->next[i] = QT_NO_INDEX;
    x->before[i] = x->last[unit];
    if (x->last[unit] == QT_NO_INDEX)
        x->first[unit] = i;
    else
        x->next[x->last[unit]] = i;
    x->last[unit] = i;
}

static void leave(running *x, uint32_t i, qv_unit unit) {
    if (x->before[i] == QT_NO_INDEX)
        x->first[unit] = x->next[i];
    else
        x->next[x->before[i]] = x->next[i];
    if (x->next[i] == QT_NO_INDEX)
        x->last[unit] = x->before[i];
    else
        x->before[x->next[i]] = x->before[i];
}

static uint32_t dominant(const running *x) {
    for (int u = 0; u < QV_UNITS; u++)
        if (x->first[u] != QT_NO_INDEX)
            return x->first[u];
    return QT_NO_INDEX;
}

static void extend(qv_run *r, uint32_t piece, double begin, double end) {
    qv_part *last = r->n_path ? &r->path[r->n_path - 1] : NULL;
    r->busy += end - begin;
    r->list[piece].dominant += end - begin;
    if (last && last->piece == piece && last->end == begin)
        last->end = end;
    else
        r->path[r->n_path++] = (qv_part){piece, begin, end};
}

bool qv_find_path(qrn_arena *a, qv_run *r) {
    size_t n = 0, room = 2 * (size_t)r->n + 1;
    moment *list = qrn_arena_alloc(a, room * sizeof *list);
    running x = {.next = qrn_arena_alloc(a, room * sizeof *x.next),
                 .before = qrn_arena_alloc(a, room * sizeof *x.before)};
    r->path = qrn_arena_alloc(a, room * sizeof *r->path);
    if (!list || !x.next || !x.before || !r->path)
        return false;
    for (int u = 0; u < QV_UNITS; u++)
        x.first[u] = x.last[u] = QT_NO_INDEX;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->list[i].end > r->list[i].begin) {
            list[n++] = (moment){r->list[i].begin, i, true};
            list[n++] = (moment){r->list[i].end, i, false};
        }
    qsort(list, n, sizeof *list, by_time);
    for (size_t i = 0; i < n; i++) {
        uint32_t piece = dominant(&x);
        if (i && piece != QT_NO_INDEX && list[i].at > list[i - 1].at)
            extend(r, piece, list[i - 1].at, list[i].at);
        (list[i].begins ? enter : leave)(&x, list[i].piece, r->list[list[i].piece].unit);
    }
    return true;
}
