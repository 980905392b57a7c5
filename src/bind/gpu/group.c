// SPDX-License-Identifier: MIT
//
// Fusion: which steps one kernel does. A group begins with any step that has an epilogue, or with
// an element-wise one, and goes on with element-wise steps that read what it has made. All that
// they read beside it is there before the first step runs, because the whole group runs at the
// place of its first step; an element-wise step that only makes such an operand joins the group,
// too. Only the last step's result leaves the group.
#include "bind/gpu/binder.h"

#include "base/mem.h"

#include <string.h>

#define NO_GROUP UINT32_MAX

typedef struct grouping {
    qrn_gpu_binder *b;
    uint32_t *first_reader; // [n_values + 1] where the readers of an owner begin in `reader`
    uint32_t *reader;       // steps in order; a step that reads an owner twice is there once
    uint32_t *group_of;     // [n_steps] number in b->groups; NO_GROUP: not yet in one
} grouping;

static void free_grouping(grouping *f) {
    qrn_free(f->first_reader);
    qrn_free(f->reader);
    qrn_free(f->group_of);
}

static qrn_val owner_of(const qrn_gpu_binder *b, qrn_val v) { return qrn_compiled_owner(b->cg, v); }

// Is this the first operand of the step that lies in its owner's memory?
static bool is_first_of_owner(const qrn_gpu_binder *b, const qrn_cstep *s, uint32_t k) {
    for (uint32_t o = 0; o < k; o++)
        if (s->in[o] != QRN_VAL_NONE && owner_of(b, s->in[o]) == owner_of(b, s->in[k]))
            return false;
    return true;
}

static qrn_status index_readers(grouping *f) {
    const qrn_gpu_binder *b = f->b;
    const qrn_compiled *cg = b->cg;
    uint32_t total = 0;
    for (uint32_t v = 0; v < cg->n_values; v++)
        total += b->readers[v];
    f->first_reader = qrn_calloc((cg->n_values + 2u) * sizeof *f->first_reader);
    f->reader = qrn_calloc((total + 1u) * sizeof *f->reader);
    f->group_of = qrn_calloc((cg->n_steps + 1u) * sizeof *f->group_of);
    if (!f->first_reader || !f->reader || !f->group_of)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", cg->name);
    memset(f->group_of, 0xff, cg->n_steps * sizeof *f->group_of);
    // The beginnings are moved on while readers are put in, and end one owner further.
    for (uint32_t v = 0; v < cg->n_values; v++)
        f->first_reader[v + 2] = f->first_reader[v + 1] + b->readers[v];
    for (uint32_t i = 0; i < cg->n_steps; i++)
        for (uint32_t k = 0; k < cg->steps[i].n_in; k++)
            if (cg->steps[i].in[k] != QRN_VAL_NONE && is_first_of_owner(b, &cg->steps[i], k))
                f->reader[f->first_reader[owner_of(b, cg->steps[i].in[k]) + 1]++] = i;
    return QRN_OK;
}

// --- one group

static uint32_t position(const qrn_gpu_group *g, uint32_t step) {
    for (uint32_t i = 0; i < g->n; i++)
        if (g->steps[i] == step)
            return i;
    return UINT32_MAX;
}

// Does a step of the group make the memory of v?
static bool is_made(const qrn_gpu_binder *b, const qrn_gpu_group *g, qrn_val v) {
    for (uint32_t i = 0; i < g->n; i++)
        if (owner_of(b, b->cg->steps[g->steps[i]].out[0]) == owner_of(b, v))
            return true;
    return false;
}

static bool starts_group(const qrn_gpu_binder *b, const qrn_cstep *s) {
    if (qrn_gpu_is_element_wise(b, s))
        return true;
    const qrn_gpu_op *op = qrn_gpu_op_of(s->op);
    return op && op->epilogue && s->n_out == 1 && (!op->may_fuse || op->may_fuse(b, s));
}

// Operands that the element-wise steps of the group load.
static uint32_t loads_of(const qrn_gpu_binder *b, const qrn_gpu_group *g) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        const qrn_cstep *s = &b->cg->steps[g->steps[i]];
        for (uint32_t k = 0; k < s->n_in && (i > 0 || qrn_gpu_is_element_wise(b, s)); k++)
            n += s->in[k] != QRN_VAL_NONE && !is_made(b, g, s->in[k]);
    }
    return n;
}

// Does the step read what the group makes as a whole? A part of it (a slice that is broadcast) is
// not at hand.
static bool reads_wholes(const qrn_gpu_binder *b, const qrn_gpu_group *g, uint32_t step) {
    const qrn_cstep *s = &b->cg->steps[step];
    for (uint32_t k = 0; k < s->n_in; k++)
        if (s->in[k] != QRN_VAL_NONE && is_made(b, g, s->in[k]) &&
            (qrn_gpu_count(b, s->in[k]) != qrn_gpu_count(b, s->out[0]) ||
             !qrn_gpu_is_whole(b, s->in[k])))
            return false;
    return true;
}

// Do all that read the result of a step belong to the group, or is one of them `last`, which will?
// The kernel of a head that is not element-wise reads memory alone.
static bool stays_inside(const grouping *f, const qrn_gpu_group *g, uint32_t step, uint32_t last) {
    const qrn_gpu_binder *b = f->b;
    qrn_val v = b->cg->steps[step].out[0], owner = owner_of(b, v);
    bool head_reads = !qrn_gpu_is_element_wise(b, &b->cg->steps[g->steps[0]]);
    if (b->cg->values[owner].kind == QRN_CV_IO || !qrn_gpu_is_whole(b, v))
        return false;
    for (uint32_t r = f->first_reader[owner]; r < f->first_reader[owner + 1]; r++)
        if ((f->reader[r] != last && position(g, f->reader[r]) == UINT32_MAX) ||
            (head_reads && f->reader[r] == g->steps[0]))
            return false;
    return f->first_reader[owner] < f->first_reader[owner + 1];
}

static bool join(const grouping *f, qrn_gpu_group *g, uint32_t step);

// Operand v of step `at`, which the group does not make: it is there before the group runs, or an
// element-wise step that makes nothing but it joins the group.
static bool get_operand(const grouping *f, qrn_gpu_group *g, uint32_t at, qrn_val v) {
    const qrn_gpu_binder *b = f->b;
    uint32_t writer = b->writer[owner_of(b, v)];
    if (writer == 0 || writer - 1 < g->steps[0])
        return true;
    uint32_t p = writer - 1;
    return f->group_of[p] == NO_GROUP && !b->skip[p] &&
           qrn_gpu_is_element_wise(b, &b->cg->steps[p]) && stays_inside(f, g, p, at) &&
           join(f, g, p);
}

// Adds an element-wise step and what its operands need; on failure the group may have grown.
static bool join(const grouping *f, qrn_gpu_group *g, uint32_t step) {
    const qrn_gpu_binder *b = f->b;
    const qrn_cstep *s = &b->cg->steps[step];
    size_t n = qrn_gpu_count(b, b->cg->steps[g->steps[0]].out[0]);
    if (qrn_gpu_count(b, s->out[0]) != n)
        return false; // elements would move
    for (uint32_t k = 0; k < s->n_in; k++) {
        if (s->in[k] == QRN_VAL_NONE)
            continue;
        if (!is_made(b, g, s->in[k]) && !get_operand(f, g, step, s->in[k]))
            return false;
    }
    if (g->n == QRN_GPU_MAX_GROUP || !reads_wholes(b, g, step))
        return false;
    g->steps[g->n++] = step;
    return loads_of(b, g) <= QRN_GPU_MAX_LOADS;
}

// The first step behind the group that reads what it makes.
static uint32_t next_reader(const grouping *f, const qrn_gpu_group *g) {
    uint32_t next = UINT32_MAX;
    for (uint32_t i = 0; i < g->n; i++) {
        qrn_val owner = owner_of(f->b, f->b->cg->steps[g->steps[i]].out[0]);
        uint32_t r = f->first_reader[owner], end = f->first_reader[owner + 1];
        while (r < end && position(g, f->reader[r]) != UINT32_MAX)
            r++;
        if (r < end && f->reader[r] < next)
            next = f->reader[r];
    }
    return next;
}

// Does only the last step's result leave the group?
static bool is_closed(const grouping *f, const qrn_gpu_group *g) {
    for (uint32_t i = 0; i + 1 < g->n; i++)
        if (!stays_inside(f, g, g->steps[i], UINT32_MAX))
            return false;
    return true;
}

// Adds readers as long as they can run here; what counts is the longest that is closed.
static void grow(const grouping *f, qrn_gpu_group *g) {
    const qrn_gpu_binder *b = f->b;
    qrn_gpu_group tried = *g;
    if (!starts_group(b, &b->cg->steps[g->steps[0]]) ||
        !qrn_gpu_is_whole(b, b->cg->steps[g->steps[0]].out[0]))
        return;
    for (;;) {
        uint32_t next = next_reader(f, &tried);
        if (next == UINT32_MAX || f->group_of[next] != NO_GROUP || b->skip[next] ||
            !qrn_gpu_is_element_wise(b, &b->cg->steps[next]) || !join(f, &tried, next))
            return;
        if (is_closed(f, &tried))
            *g = tried;
    }
}

// --- all groups

// The element-wise group that makes nothing but v for the readers in g; NULL: there is none.
static qrn_gpu_group *maker_of(const grouping *f, const qrn_gpu_group *g, qrn_val v) {
    const qrn_gpu_binder *b = f->b;
    uint32_t writer = v == QRN_VAL_NONE ? 0 : b->writer[owner_of(b, v)];
    uint32_t of = writer == 0 ? NO_GROUP : f->group_of[writer - 1];
    qrn_gpu_group *other = of == NO_GROUP ? NULL : &b->groups[of];
    if (!other || other == g || other->n == 0 || other->n + g->n > QRN_GPU_MAX_GROUP ||
        other->steps[other->n - 1] != writer - 1 ||
        !qrn_gpu_is_element_wise(b, &b->cg->steps[other->steps[0]]) ||
        !stays_inside(f, g, writer - 1, UINT32_MAX))
        return NULL;
    return other;
}

// Puts the steps of another group before step i of g. False, and g is as it was: they do not fit.
static bool merge(const grouping *f, qrn_gpu_group *g, const qrn_gpu_group *other, uint32_t i) {
    const qrn_gpu_binder *b = f->b;
    qrn_gpu_group both = *g;
    memmove(both.steps + i + other->n, both.steps + i, (g->n - i) * sizeof *both.steps);
    memcpy(both.steps + i, other->steps, other->n * sizeof *both.steps);
    both.n += other->n;
    bool fits = loads_of(b, &both) <= QRN_GPU_MAX_LOADS;
    for (uint32_t q = 0; q < both.n && fits; q++)
        fits = (q == 0 && !qrn_gpu_is_element_wise(b, &b->cg->steps[both.steps[0]])) ||
               reads_wholes(b, &both, both.steps[q]);
    if (fits)
        *g = both;
    return fits;
}

// Element-wise groups before this one that only make an operand of it are done in it.
static void take_over(grouping *f, qrn_gpu_group *g) {
    qrn_gpu_binder *b = f->b;
    for (uint32_t i = 0; i < g->n; i++) {
        const qrn_cstep *s = &b->cg->steps[g->steps[i]];
        for (uint32_t k = 0; k < s->n_in && (i > 0 || qrn_gpu_is_element_wise(b, s)); k++) {
            qrn_gpu_group *other = maker_of(f, g, s->in[k]);
            if (!other || !merge(f, g, other, i))
                continue;
            for (uint32_t q = 0; q < other->n; q++)
                f->group_of[other->steps[q]] = (uint32_t)(g - b->groups);
            other->n = 0;
            i = UINT32_MAX; // again from the start: steps have moved
            break;
        }
    }
}

static void make_group(grouping *f, uint32_t step) {
    qrn_gpu_binder *b = f->b;
    qrn_gpu_group *g = &b->groups[b->n_groups];
    *g = (qrn_gpu_group){.steps = {step}, .n = 1};
    if (!b->opt->keep_nodes)
        grow(f, g);
    for (uint32_t i = 0; i < g->n; i++)
        f->group_of[g->steps[i]] = b->n_groups;
    b->n_groups++;
    if (!b->opt->keep_nodes)
        take_over(f, g);
}

qrn_status qrn_gpu_make_groups(qrn_gpu_binder *b) {
    const qrn_compiled *cg = b->cg;
    grouping f = {.b = b};
    b->groups = qrn_arena_alloc(cg->arena, (cg->n_steps + 1u) * sizeof *b->groups);
    qrn_status s =
        b->groups ? index_readers(&f) : QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", cg->name);
    for (uint32_t i = 0; s == QRN_OK && i < cg->n_steps; i++)
        if (f.group_of[i] == NO_GROUP && !b->skip[i])
            make_group(&f, i);
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->n_groups; i++) // without those that others took over
        if (b->groups[i].n)
            b->groups[n++] = b->groups[i];
    b->n_groups = n;
    free_grouping(&f);
    return s;
}
