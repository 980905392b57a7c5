// SPDX-License-Identifier: MIT
//
// Memory plan: gives every intermediate value and every step's scratch an offset in one arena.
// Offsets of two overlap only if their lifetimes (first write to last use, in step order) do not.
// Branches only jump forward, so the step order bounds lifetimes there too. A value that lies in
// another's memory follows it. Several orders of placing are tried, the smallest arena is taken.
// Deterministic: the same graph always yields the same plan.
#include "bind/cpu/binder.h"

#include "base/budget.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct item {
    size_t bytes, offset;
    uint32_t first, last; // steps
    uint32_t index;       // value, or step for scratch
    bool scratch;
} item;

typedef int (*order_fn)(const void *a, const void *b);

// Ties are broken so that no two items are equal: qsort may order equal ones as it likes.
static int by_identity(const item *x, const item *y) {
    if (x->scratch != y->scratch)
        return x->scratch ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int by_size(const void *a, const void *b) {
    const item *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return by_identity(x, y);
}

static int by_area(const void *a, const void *b) {
    const item *x = a, *y = b;
    double ax = (double)x->bytes * (x->last - x->first + 1.0);
    double ay = (double)y->bytes * (y->last - y->first + 1.0);
    return ax != ay ? (ax < ay ? 1 : -1) : by_size(a, b);
}

static int by_life(const void *a, const void *b) {
    const item *x = a, *y = b;
    uint32_t lx = x->last - x->first, ly = y->last - y->first;
    return lx != ly ? (lx < ly ? 1 : -1) : by_size(a, b);
}

static int by_birth(const void *a, const void *b) {
    const item *x = a, *y = b;
    return x->first != y->first ? (x->first > y->first ? 1 : -1) : by_size(a, b);
}

static int by_death(const void *a, const void *b) {
    const item *x = a, *y = b;
    return x->last != y->last ? (x->last < y->last ? 1 : -1) : by_size(a, b);
}

static const order_fn orders[] = {by_size, by_area, by_life, by_birth, by_death};
#define N_ORDERS (sizeof orders / sizeof orders[0])
#define MANY_ITEMS 8192 // placing takes time with their square: a sweep is enough then

static uint32_t owner_of(const qrn_plan *p, uint32_t v) {
    return p->values[v].base == UINT32_MAX ? v : p->values[v].base;
}

// Used by a step of the chain [first, last].
static void touch(qrn_value *v, uint32_t first, uint32_t last) {
    if (v->first == UINT32_MAX)
        v->first = first;
    v->last = last;
}

static size_t rounded(size_t n) { return (n + QRN_ALIGN - 1) / QRN_ALIGN * QRN_ALIGN; }

static uint32_t collect(qrn_plan *p, item *items) {
    uint32_t n = 0;
    for (uint32_t s = 0, head = 0, tail = 0; s < p->n_steps; s++) {
        const qrn_step *st = &p->steps[s];
        if (s == 0 || s > tail) { // steps of a chain run at the same time
            head = s;
            tail = s + st->n_chained;
        }
        for (uint32_t i = 0; i < st->n_in + st->n_out; i++) {
            uint32_t v = i < st->n_in ? st->in[i] : st->out[i - st->n_in];
            if (v != UINT32_MAX)
                touch(&p->values[owner_of(p, v)], head, tail);
        }
        if (st->scratch_bytes)
            items[n++] = (item){rounded(st->scratch_bytes + QRN_TAIL), 0, head, tail, s, true};
    }
    for (uint32_t v = 0; v < p->n_values; v++) {
        const qrn_value *val = &p->values[v];
        if (val->storage == QRN_STORE_ARENA && val->first != UINT32_MAX)
            items[n++] =
                (item){rounded(val->size_bytes + QRN_TAIL), 0, val->first, val->last, v, false};
    }
    return n;
}

// The most bytes that are alive at one step: no plan can do with less.
static qrn_status lower_bound(const qrn_plan *p, const item *items, uint32_t n, size_t *most) {
    size_t *born = qrn_calloc(2 * (p->n_steps + 1u) * sizeof *born), live = 0;
    if (!born)
        return QRN_FAIL(QRN_E_MEM, "out of memory for the memory plan");
    size_t *gone = born + p->n_steps + 1;
    for (uint32_t i = 0; i < n; i++) {
        born[items[i].first] += items[i].bytes;
        gone[items[i].last + 1] += items[i].bytes;
    }
    *most = 0;
    for (uint32_t s = 0; s < p->n_steps; s++) {
        live += born[s] - gone[s];
        *most = live > *most ? live : *most;
    }
    qrn_free(born);
    return QRN_OK;
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

// Places the items in their order; returns the size of the arena.
static size_t place_all(item *items, uint32_t n, item **placed) {
    size_t top = 0;
    for (uint32_t i = 0; i < n; i++) {
        items[i].offset = place(&items[i], placed, i);
        uint32_t at = i; // `placed` stays sorted by offset
        for (; at > 0 && placed[at - 1]->offset > items[i].offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = &items[i];
        size_t end = items[i].offset + items[i].bytes;
        top = end > top ? end : top;
    }
    return top;
}

static void keep_offsets(qrn_plan *p, const item *items, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (items[i].scratch)
            p->steps[items[i].index].scratch_offset = items[i].offset;
        else
            p->values[items[i].index].offset = items[i].offset;
    }
}

// --- many items: in the order of their birth, each at the lowest place that is free by then. Gaps
// are few where memory is used again at once, so that a step costs what changes at it.

typedef struct gap {
    size_t offset, bytes;
} gap;

typedef struct gap_list {
    gap *at; // sorted by offset, never side by side
    uint32_t n;
    size_t top; // the arena's size
} gap_list;

static size_t take_gap(gap_list *l, size_t bytes) {
    uint32_t i = 0;
    while (i < l->n && l->at[i].bytes < bytes)
        i++;
    if (i == l->n) { // the arena grows, from its last gap on if that ends it
        bool ends = i > 0 && l->at[i - 1].offset + l->at[i - 1].bytes == l->top;
        size_t offset = ends ? l->at[i - 1].offset : l->top;
        l->n -= ends;
        l->top = offset + bytes;
        return offset;
    }
    size_t offset = l->at[i].offset;
    l->at[i].offset += bytes;
    l->at[i].bytes -= bytes;
    if (l->at[i].bytes == 0)
        memmove(&l->at[i], &l->at[i + 1], (--l->n - i) * sizeof *l->at);
    return offset;
}

static void give_gap(gap_list *l, size_t offset, size_t bytes) {
    uint32_t low = 0, high = l->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (l->at[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    bool before = low > 0 && l->at[low - 1].offset + l->at[low - 1].bytes == offset;
    bool after = low < l->n && offset + bytes == l->at[low].offset;
    if (before && after) {
        l->at[low - 1].bytes += bytes + l->at[low].bytes;
        memmove(&l->at[low], &l->at[low + 1], (--l->n - low) * sizeof *l->at);
    } else if (before) {
        l->at[low - 1].bytes += bytes;
    } else if (after) {
        l->at[low].offset = offset;
        l->at[low].bytes += bytes;
    } else {
        memmove(&l->at[low + 1], &l->at[low], (l->n++ - low) * sizeof *l->at);
        l->at[low] = (gap){offset, bytes};
    }
}

static int by_end(const void *a, const void *b) {
    const item *x = *(item *const *)a, *y = *(item *const *)b;
    return x->last != y->last ? (x->last < y->last ? -1 : 1) : by_identity(x, y);
}

static qrn_status sweep(qrn_plan *p, item *items, uint32_t n, item **ends) {
    gap_list l = {.at = qrn_alloc((n + 1u) * sizeof *l.at)};
    if (!l.at)
        return QRN_FAIL(QRN_E_MEM, "out of memory for the memory plan");
    qsort(items, n, sizeof *items, by_birth);
    for (uint32_t i = 0; i < n; i++)
        ends[i] = &items[i];
    qsort(ends, n, sizeof *ends, by_end);
    for (uint32_t i = 0, gone = 0; i < n; i++) {
        for (; ends[gone]->last < items[i].first; gone++)
            give_gap(&l, ends[gone]->offset, ends[gone]->bytes);
        items[i].offset = take_gap(&l, items[i].bytes);
    }
    p->arena_bytes = l.top;
    keep_offsets(p, items, n);
    qrn_free(l.at);
    return QRN_OK;
}

static void try_orders(qrn_plan *p, item *items, uint32_t n, item **placed) {
    for (size_t k = 0; k < N_ORDERS && (k == 0 || p->arena_bytes > p->bound_bytes); k++) {
        qsort(items, n, sizeof *items, orders[k]);
        size_t top = place_all(items, n, placed);
        if (k > 0 && top >= p->arena_bytes)
            continue;
        p->arena_bytes = top;
        keep_offsets(p, items, n);
    }
}

// Values in the memory of others: in the arena, or in application buffers.
static qrn_status place_parts(qrn_cpu_binder *b) {
    qrn_plan *p = b->plan;
    p->parts = qrn_arena_alloc(p->arena, (p->n_values + 1) * sizeof *p->parts);
    if (!p->parts)
        return qrn_cpu_no_memory(b);
    for (uint32_t i = 0; i < p->n_values; i++) {
        qrn_value *v = &p->values[i];
        if (v->base == UINT32_MAX)
            continue;
        const qrn_value *owner = &p->values[v->base];
        v->offset = v->base_offset;
        if (owner->storage == QRN_STORE_ARENA) {
            v->offset += owner->offset;
            continue;
        }
        v->storage = QRN_STORE_PART;
        v->io = owner->io;
        p->parts[p->n_parts++] = i;
    }
    return QRN_OK;
}

// "memory,graph,arena,bound,ratio,steps"
static void explain(const qrn_cpu_binder *b) {
    char line[256];
    const qrn_plan *p = b->plan;
    double bound = p->bound_bytes ? (double)p->bound_bytes : 1.0;
    snprintf(line, sizeof line, "memory,%.128s,arena %zu,bound %zu,ratio %.3f,steps %u",
             b->cg->name, p->arena_bytes, p->bound_bytes, (double)p->arena_bytes / bound,
             p->n_steps);
    b->opt->explain(b->opt->explain_ctx, line);
}

// The system grants more memory than there is, and kills who uses it.
static qrn_status check_limit(const qrn_cpu_binder *b) {
    const qrn_plan *p = b->plan;
    uint64_t most;
    QRN_TRY(qrn_limit_run_bytes(&most));
    if (p->arena_bytes <= most)
        return QRN_OK;
    return QRN_FAIL(
        QRN_E_MEM,
        "graph '%s': an execution needs %zu bytes for intermediate tensors, the limit is "
        "%llu (the machine's memory, or QUERN_LIMITS=run=N)",
        b->cg->name, p->arena_bytes, (unsigned long long)most);
}

qrn_status qrn_cpu_plan_memory(qrn_cpu_binder *b) {
    qrn_plan *p = b->plan;
    size_t cap = (size_t)p->n_values + p->n_steps + 1;
    item *items = qrn_alloc(cap * sizeof *items);
    item **placed = qrn_alloc(cap * sizeof *placed);
    qrn_status s = QRN_OK;
    if (items && placed) {
        uint32_t n = collect(p, items);
        s = lower_bound(p, items, n, &p->bound_bytes);
        if (s == QRN_OK && n > MANY_ITEMS)
            s = sweep(p, items, n, placed);
        else if (s == QRN_OK)
            try_orders(p, items, n, placed);
    } else {
        s = qrn_cpu_no_memory(b);
    }
    qrn_free(items);
    qrn_free(placed);
    if (s == QRN_OK)
        s = check_limit(b);
    if (s == QRN_OK)
        s = place_parts(b);
    if (s == QRN_OK && b->opt->explain)
        explain(b);
    return s;
}
