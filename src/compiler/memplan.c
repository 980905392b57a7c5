// SPDX-License-Identifier: MIT
//
// Memory plan: gives every intermediate value and every step's scratch an offset in one arena.
// Offsets of two overlap only if their lifetimes (first write to last use, in step order) do not.
// Branches only jump forward, so the step order bounds lifetimes there too. Largest first, lowest
// fitting offset. Deterministic: the same graph always yields the same plan.
#include "compiler/lowering.h"

#include "base/mem.h"

#include <stdlib.h>

typedef struct item {
    size_t bytes, offset;
    uint32_t first, last; // steps
    uint32_t index;       // value, or step for scratch
    bool scratch;
} item;

static int by_size(const void *a, const void *b) {
    const item *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    if (x->scratch != y->scratch)
        return x->scratch ? 1 : -1;
    return x->index < y->index ? -1 : 1;
}

static int by_offset(const void *a, const void *b) {
    const item *const *x = a, *const *y = b;
    return (*x)->offset < (*y)->offset ? -1 : (*x)->offset > (*y)->offset;
}

static void touch(qrn_value *v, uint32_t step) {
    if (v->first == UINT32_MAX)
        v->first = step;
    v->last = step;
}

static size_t rounded(size_t n) { return (n + QRN_TAIL + QRN_ALIGN - 1) / QRN_ALIGN * QRN_ALIGN; }

static uint32_t collect(qrn_plan *p, item *items) {
    uint32_t n = 0;
    for (uint32_t s = 0; s < p->n_steps; s++) {
        const qrn_step *st = &p->steps[s];
        for (uint32_t i = 0; i < st->n_in; i++)
            if (st->in[i] != UINT32_MAX)
                touch(&p->values[st->in[i]], s);
        for (uint32_t i = 0; i < st->n_out; i++)
            if (st->out[i] != UINT32_MAX)
                touch(&p->values[st->out[i]], s);
        if (st->scratch_bytes)
            items[n++] = (item){rounded(st->scratch_bytes), 0, s, s, s, true};
    }
    for (uint32_t v = 0; v < p->n_values; v++)
        if (p->values[v].storage == QRN_STORE_ARENA && p->values[v].first != UINT32_MAX)
            items[n++] = (item){rounded(p->values[v].size_bytes),
                                0,
                                p->values[v].first,
                                p->values[v].last,
                                v,
                                false};
    return n;
}

// Lowest offset where `it` fits between the placed items that live at the same time.
static size_t place(const item *it, item **placed, uint32_t n) {
    size_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        const item *o = placed[i];
        if (o->last < it->first || o->first > it->last || o->offset + o->bytes <= at)
            continue;
        if (o->offset >= at + it->bytes)
            break;
        at = o->offset + o->bytes;
    }
    return at;
}

qrn_status qrn_lo_plan_memory(qrn_lowering *lo) {
    qrn_plan *p = lo->plan;
    size_t cap = (size_t)p->n_values + p->n_steps + 1;
    item *items = qrn_alloc(cap * sizeof *items);
    item **placed = qrn_alloc(cap * sizeof *placed);
    if (!items || !placed) {
        qrn_free(items);
        qrn_free(placed);
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    }
    uint32_t n = collect(p, items);
    qsort(items, n, sizeof *items, by_size);
    for (uint32_t i = 0; i < n; i++) {
        items[i].offset = place(&items[i], placed, i);
        placed[i] = &items[i];
        // Keep `placed` sorted by offset: insert from the back.
        for (uint32_t j = i; j > 0 && by_offset(&placed[j - 1], &placed[j]) > 0; j--) {
            item *t = placed[j];
            placed[j] = placed[j - 1];
            placed[j - 1] = t;
        }
        if (items[i].offset + items[i].bytes > p->arena_bytes)
            p->arena_bytes = items[i].offset + items[i].bytes;
        if (items[i].scratch)
            p->steps[items[i].index].scratch_offset = items[i].offset;
        else
            p->values[items[i].index].offset = items[i].offset;
    }
    qrn_free(items);
    qrn_free(placed);
    return QRN_OK;
}
