// SPDX-License-Identifier: MIT
//
// Memory plan: several orders of placing are tried, the smallest arena is taken.
#include "bind/memplan.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

typedef int (*order_fn)(const void *a, const void *b);

// Ties are broken so that no two items are equal: qsort may order equal ones as it likes.
static int by_identity(const qrn_mem_item *x, const qrn_mem_item *y) {
    if (x->scratch != y->scratch)
        return x->scratch ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int by_size(const void *a, const void *b) {
    const qrn_mem_item *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return by_identity(x, y);
}

static int by_area(const void *a, const void *b) {
    const qrn_mem_item *x = a, *y = b;
    double ax = (double)x->bytes * (x->last - x->first + 1.0);
    double ay = (double)y->bytes * (y->last - y->first + 1.0);
    return ax != ay ? (ax < ay ? 1 : -1) : by_size(a, b);
}

static int by_life(const void *a, const void *b) {
    const qrn_mem_item *x = a, *y = b;
    uint32_t lx = x->last - x->first, ly = y->last - y->first;
    return lx != ly ? (lx < ly ? 1 : -1) : by_size(a, b);
}

static int by_birth(const void *a, const void *b) {
    const qrn_mem_item *x = a, *y = b;
    return x->first != y->first ? (x->first > y->first ? 1 : -1) : by_size(a, b);
}

static int by_death(const void *a, const void *b) {
    const qrn_mem_item *x = a, *y = b;
    return x->last != y->last ? (x->last < y->last ? 1 : -1) : by_size(a, b);
}

static const order_fn orders[] = {by_size, by_area, by_life, by_birth, by_death};
#define N_ORDERS (sizeof orders / sizeof orders[0])
#define MANY_ITEMS 8192 // placing takes time with their square: a sweep is enough then

// The most bytes that are alive at one step: no plan can do with less.
static qrn_status lower_bound(const qrn_mem_item *items, uint32_t n, uint32_t n_steps,
                              size_t *most) {
    size_t *born = qrn_calloc(2 * (n_steps + 1u) * sizeof *born), live = 0;
    if (!born)
        return QRN_FAIL(QRN_E_MEM, "out of memory for the memory plan");
    size_t *gone = born + n_steps + 1;
    for (uint32_t i = 0; i < n; i++) {
        born[items[i].first] += items[i].bytes;
        gone[items[i].last + 1] += items[i].bytes;
    }
    *most = 0;
    for (uint32_t s = 0; s < n_steps; s++) {
        live += born[s] - gone[s];
        *most = live > *most ? live : *most;
    }
    qrn_free(born);
    return QRN_OK;
}

// Lowest offset where `it` fits between the placed items that live at the same time.
static size_t place(const qrn_mem_item *it, qrn_mem_item **placed, uint32_t n) {
    size_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        const qrn_mem_item *o = placed[i];
        if (o->last < it->first || o->first > it->last || o->offset + o->bytes <= at)
            continue;
        if (o->offset >= at + it->bytes)
            break;
        at = o->offset + o->bytes;
    }
    return at;
}

// Places the items in their order; returns the size of the arena.
static size_t place_all(qrn_mem_item *items, uint32_t n, qrn_mem_item **placed) {
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
    const qrn_mem_item *x = *(qrn_mem_item *const *)a, *y = *(qrn_mem_item *const *)b;
    return x->last != y->last ? (x->last < y->last ? -1 : 1) : by_identity(x, y);
}

static qrn_status sweep(qrn_mem_item *items, uint32_t n, qrn_mem_item **ends, size_t *arena) {
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
    *arena = l.top;
    qrn_free(l.at);
    return QRN_OK;
}

static void try_orders(qrn_mem_item *items, uint32_t n, qrn_mem_item **placed, size_t bound,
                       size_t *arena) {
    size_t best = 0;
    *arena = SIZE_MAX;
    for (size_t k = 0; k<N_ORDERS && * arena> bound; k++) {
        qsort(items, n, sizeof *items, orders[k]);
        size_t top = place_all(items, n, placed);
        if (top < *arena) {
            *arena = top;
            best = k;
        }
    }
    qsort(items, n, sizeof *items, orders[best]);
    place_all(items, n, placed);
}

qrn_status qrn_mem_plan(qrn_mem_item *items, uint32_t n, uint32_t n_steps, size_t *arena,
                        size_t *bound) {
    QRN_TRY(lower_bound(items, n, n_steps, bound));
    qrn_mem_item **placed = qrn_alloc((n + 1u) * sizeof *placed);
    if (!placed)
        return QRN_FAIL(QRN_E_MEM, "out of memory for the memory plan");
    qrn_status s = QRN_OK;
    if (n > MANY_ITEMS)
        s = sweep(items, n, placed, arena);
    else
        try_orders(items, n, placed, *bound, arena);
    qrn_free(placed);
    return s;
}
