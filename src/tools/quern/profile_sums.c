// SPDX-License-Identifier: MIT
//
// Adding up calls. The events of equal calls come in the same order, so that the place of an event
// in the last call is where it is looked for first.
#include "tools/quern/profile_sums.h"

#include <stdlib.h>
#include <string.h>

static bool same(const qt_event *a, const qt_event *b) {
    return strcmp(a->name, b->name) == 0 && strcmp(a->unit, b->unit) == 0;
}

// The sum of an event below another one; it is made if there is none. NULL: no memory.
static qt_sum *find(qt_sum *s, const qt_event *e, uint32_t *hint, qrn_arena *arena) {
    for (uint32_t i = 0; i < s->n_sub; i++) {
        uint32_t at = (*hint + i) % s->n_sub;
        if (same(s->sub[at].e, e)) {
            *hint = at + 1;
            return &s->sub[at];
        }
    }
    if (s->n_sub == s->cap) {
        uint32_t cap = s->cap ? 2 * s->cap : 8;
        qt_sum *grown = qrn_arena_alloc(arena, cap * sizeof *grown);
        if (!grown)
            return NULL;
        if (s->n_sub)
            memcpy(grown, s->sub, s->n_sub * sizeof *grown);
        s->sub = grown;
        s->cap = cap;
    }
    s->sub[s->n_sub] = (qt_sum){.e = e, .min = UINT64_MAX};
    *hint = s->n_sub + 1;
    return &s->sub[s->n_sub++];
}

static bool add_events(qt_sum *s, const qt_event *list, uint32_t n, qrn_arena *arena) {
    uint32_t hint = 0;
    for (uint32_t i = 0; i < n; i++) {
        const qt_event *e = &list[i];
        qt_sum *at = find(s, e, &hint, arena);
        if (!at)
            return false;
        at->total += e->value;
        at->min = e->value < at->min ? e->value : at->min;
        at->max = e->value > at->max ? e->value : at->max;
        at->n++;
        if (!add_events(at, e->sub, e->n_sub, arena))
            return false;
    }
    return true;
}

static int by_kind(const void *a, const void *b) {
    const qt_group *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

bool qt_profile_sum(const qt_profile *p, qt_groups *out) {
    *out = (qt_groups){.list = qrn_arena_alloc(p->arena, (p->n + 1) * sizeof *out->list)};
    uint32_t n_graphs = 0;
    for (uint32_t i = 0; out->list && i < p->n; i++) {
        const qt_call *c = &p->calls[i];
        qt_group *g = NULL;
        uint32_t index = n_graphs;
        for (uint32_t k = 0; k < out->n && !g; k++)
            if (strcmp(out->list[k].graph, c->graph) == 0) {
                index = out->list[k].index;
                g = out->list[k].kind == c->kind ? &out->list[k] : NULL;
            }
        n_graphs += index == n_graphs;
        if (!g) {
            g = &out->list[out->n++];
            *g = (qt_group){.kind = c->kind, .graph = c->graph, .index = index};
        }
        g->runs++;
        if (!add_events(&g->all, c->events, c->n, p->arena))
            return false;
    }
    if (out->n)
        qsort(out->list, out->n, sizeof *out->list, by_kind);
    return out->list != NULL;
}

// --- nodes

typedef struct rows {
    qt_node_row *list;
    uint32_t n, cap, hint;
    qrn_arena *arena;
} rows;

static qt_node_row *row_of(rows *r, const char *name) {
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t at = (r->hint + i) % r->n;
        if (strcmp(r->list[at].name, name) == 0) {
            r->hint = at + 1;
            return &r->list[at];
        }
    }
    const char *copy = r->n < r->cap ? qrn_arena_strdup(r->arena, name) : NULL;
    if (!copy)
        return NULL;
    r->list[r->n] = (qt_node_row){copy, -1, -1, -1};
    r->hint = r->n + 1;
    return &r->list[r->n++];
}

static uint32_t count_events(const qt_sum *s) {
    uint32_t n = s->n_sub;
    for (uint32_t i = 0; i < s->n_sub; i++)
        n += count_events(&s->sub[i]);
    return n;
}

static bool add_rows(rows *r, const qt_sum *s) {
    for (uint32_t i = 0; i < s->n_sub; i++) {
        const qt_sum *x = &s->sub[i];
        char name[512];
        qt_node_kind kind = qt_node_of(x->e, name, sizeof name);
        qt_node_row *row = kind == QT_NO_NODE ? NULL : row_of(r, name);
        if (kind != QT_NO_NODE && !row)
            return false;
        if (row)
            *(kind == QT_NODE_US       ? &row->us
              : kind == QT_NODE_CYCLES ? &row->cycles
                                       : &row->modelled) = (double)x->total / x->n;
        if (!add_rows(r, x))
            return false;
    }
    return true;
}

bool qt_profile_nodes(const qt_profile *p, const qt_group *g, qt_node_row **list, uint32_t *n) {
    rows r = {.arena = p->arena, .cap = count_events(&g->all)};
    r.list = qrn_arena_alloc(p->arena, (r.cap + 1) * sizeof *r.list);
    if (!r.list || !add_rows(&r, &g->all))
        return false;
    *list = r.list;
    *n = r.n;
    return true;
}
