// SPDX-License-Identifier: MIT
//
// Memory plan: gives every intermediate value and every step's scratch an offset in one arena.
// Lifetimes go from the first write to the last use, in step order. Branches only jump forward, so
// the step order bounds lifetimes there too. A value that lies in another's memory follows it.
#include "bind/cpu/binder.h"

#include "base/budget.h"
#include "base/mem.h"
#include "bind/memplan.h"

#include <stdio.h>

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

static uint32_t collect(qrn_plan *p, qrn_mem_item *items) {
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
            items[n++] =
                (qrn_mem_item){rounded(st->scratch_bytes + QRN_TAIL), 0, head, tail, s, true};
    }
    for (uint32_t v = 0; v < p->n_values; v++) {
        const qrn_value *val = &p->values[v];
        if (val->storage == QRN_STORE_ARENA && val->first != UINT32_MAX)
            items[n++] = (qrn_mem_item){
                rounded(val->size_bytes + QRN_TAIL), 0, val->first, val->last, v, false};
    }
    return n;
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

static void keep_offsets(qrn_plan *p, const qrn_mem_item *items, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (items[i].scratch)
            p->steps[items[i].index].scratch_offset = items[i].offset;
        else
            p->values[items[i].index].offset = items[i].offset;
    }
}

qrn_status qrn_cpu_plan_memory(qrn_cpu_binder *b) {
    qrn_plan *p = b->plan;
    size_t cap = (size_t)p->n_values + p->n_steps + 1;
    qrn_mem_item *items = qrn_alloc(cap * sizeof *items);
    if (!items)
        return qrn_cpu_no_memory(b);
    uint32_t n = collect(p, items);
    qrn_status s = qrn_mem_plan(items, n, p->n_steps, &p->arena_bytes, &p->bound_bytes);
    if (s == QRN_OK)
        keep_offsets(p, items, n);
    qrn_free(items);
    if (s == QRN_OK)
        s = check_limit(b);
    if (s == QRN_OK)
        s = place_parts(b);
    if (s == QRN_OK && b->opt->explain)
        explain(b);
    return s;
}
