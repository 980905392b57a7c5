// SPDX-License-Identifier: MIT
//
// Pieces of work of one execution, the part of them that a zoom keeps, and the VTCM they take. An
// op without a step of its own (an activation behind a convolution) belongs to the step of the op
// before it.
#include "tools/profile_viewer/htp_run.h"
#include "tools/profile_viewer/htp_path.h"
#include "tools/quern/output.h"

#include <string.h>

const qv_thread qv_threads[QV_UNITS] = {
    {"HMX", 256}, {"HVX", 512}, {"DMA", 768}, {"DMA", 768}, {"HOST", 0}};

typedef struct making {
    qrn_arena *arena;
    qv_run *r;
    const qt_optrace *t;
    uint32_t *step; // per op: its step, by index; QT_NO_INDEX: none
    bool *kept;     // per op: has a step that the zoom keeps
} making;

const char *qv_op_name(const qv_run *r, uint32_t op) {
    return op == QT_NO_INDEX ? "(no node)" : r->s->ops[op].name;
}

const char *qv_op_type(const qv_run *r, uint32_t op) {
    return op == QT_NO_INDEX ? "System Service" : r->s->ops[op].type;
}

// Ids count up from that of the first op.
static uint32_t op_of(const qt_schematic *s, uint32_t id) {
    uint32_t i = s->n_ops ? id - s->ops[0].id : QT_NO_INDEX;
    return i < s->n_ops && s->ops[i].id == id ? i : QT_NO_INDEX;
}

// --- what belongs together

static uint32_t *fill(qrn_arena *a, uint32_t n) {
    uint32_t *list = qrn_arena_alloc(a, (n + (size_t)1) * sizeof *list);
    for (uint32_t i = 0; list && i < n; i++)
        list[i] = QT_NO_INDEX;
    return list;
}

// The op before op `i` that makes its input k; QT_NO_INDEX: none.
static uint32_t maker_of(const qv_run *r, uint32_t i, uint32_t k) {
    uint32_t v = r->s->ops[i].in[k];
    uint32_t p = v == QT_NO_INDEX ? QT_NO_INDEX : r->maker[v];
    return p < i ? p : QT_NO_INDEX;
}

static bool link_ops(making *m) {
    qv_run *r = m->r;
    const qt_schematic *s = r->s;
    r->maker = fill(m->arena, s->n_values);
    r->home = fill(m->arena, s->n_ops);
    m->step = fill(m->arena, s->n_ops);
    m->kept = qrn_arena_alloc(m->arena, s->n_ops + 1);
    if (!r->maker || !r->home || !m->step || !m->kept)
        return false;
    for (uint32_t i = 0; i < s->n_ops; i++)
        for (uint32_t k = 0; k < s->ops[i].n_out; k++)
            if (s->ops[i].out[k] != QT_NO_INDEX)
                r->maker[s->ops[i].out[k]] = i;
    uint32_t n = r->modelled ? m->t->n_steps : m->t->n_ran;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t op = op_of(s, r->modelled ? m->t->steps[i].id : m->t->ran[i].id);
        if (op != QT_NO_INDEX)
            m->step[op] = i;
    }
    for (uint32_t i = 0; i < s->n_ops; i++) {
        r->home[i] = m->step[i] == QT_NO_INDEX ? QT_NO_INDEX : i;
        for (uint32_t k = 0; k < s->ops[i].n_in && r->home[i] == QT_NO_INDEX; k++) {
            uint32_t p = maker_of(r, i, k);
            r->home[i] = p == QT_NO_INDEX ? QT_NO_INDEX : r->home[p];
        }
    }
    return true;
}

static uint32_t find_node(const qt_schematic *s, const char *flag, const char *name) {
    for (uint32_t i = 0; i < s->n_ops; i++)
        if (strcmp(s->ops[i].name, name) == 0)
            return i;
    qt_error("%s %s: graph '%s' has no node of this name", flag, name, s->graph);
    return QT_NO_INDEX;
}

// Marks the ops on paths from `start` to `end`; ops stand behind those they depend on.
static bool mark_between(making *m, uint32_t start, uint32_t end, bool *between) {
    const qv_run *r = m->r;
    bool *back = qrn_arena_alloc(m->arena, r->s->n_ops + (size_t)1);
    if (!back)
        return false;
    back[end] = true;
    for (uint32_t i = end + 1; i-- > 0;)
        for (uint32_t k = 0; back[i] && k < r->s->ops[i].n_in; k++)
            if (maker_of(r, i, k) != QT_NO_INDEX)
                back[maker_of(r, i, k)] = true;
    for (uint32_t i = start; i <= end; i++) {
        between[i] = i == start && back[i];
        for (uint32_t k = 0; back[i] && k < r->s->ops[i].n_in && !between[i]; k++)
            between[i] = maker_of(r, i, k) != QT_NO_INDEX && between[maker_of(r, i, k)];
    }
    return true;
}

static bool zoom_in(making *m, qv_zoom zoom) {
    const qv_run *r = m->r;
    uint32_t start = find_node(r->s, "--zoom_start", zoom.start);
    uint32_t end = start == QT_NO_INDEX ? start : find_node(r->s, "--zoom_end", zoom.end);
    if (end == QT_NO_INDEX)
        return false;
    bool *between = qrn_arena_alloc(m->arena, r->s->n_ops + (size_t)1);
    if (!between || !mark_between(m, start, end, between)) {
        qt_error("out of memory");
        return false;
    }
    if (!between[end]) {
        qt_error("--zoom_start %s --zoom_end %s: no path of graph '%s' leads from one to the other",
                 zoom.start, zoom.end, r->s->graph);
        return false;
    }
    for (uint32_t i = 0; i < r->s->n_ops; i++)
        if (between[i] && r->home[i] != QT_NO_INDEX)
            m->kept[r->home[i]] = true;
    return true;
}

// --- pieces

static qv_piece *add(making *m, uint32_t op, qv_unit unit, const char *type, double begin,
                     double end) {
    qv_run *r = m->r;
    qv_piece *p = &r->list[r->n++];
    *p = (qv_piece){.op = op, .unit = unit, .type = type, .begin = begin, .end = end};
    return p;
}

// Transfers in both directions share a span of the model in proportion to their bytes. Those that
// the model does not charge take no time, and count with their bytes.
static void add_swaps(making *m, uint32_t op, const qt_step *s, double per_ns) {
    double sum = (double)s->fills + (double)s->spills;
    double from = s->swap[0] * per_ns, to = s->swap[1] * per_ns;
    if (to <= from)
        from = to = s->end * per_ns;
    double middle = sum > 0 ? from + (to - from) * ((double)s->fills / sum) : from;
    if (s->fills) {
        qv_piece *p = add(m, op, QV_READ, "DramToTcm", from, middle);
        p->dram_read = p->vtcm_write = s->fills;
    }
    if (s->spills) {
        qv_piece *p = add(m, op, QV_WRITE, "TcmToDram", middle, to);
        p->dram_write = p->vtcm_read = s->spills;
    }
}

static void add_step(making *m, const qt_step *s, uint32_t op) {
    double per_ns = m->r->per_us / 1e3;
    if (s->fetch[1] > s->fetch[0]) {
        qv_piece *p = add(m, op, QV_READ, "DramToTcm", s->fetch[0] * per_ns, s->fetch[1] * per_ns);
        p->dram_read = p->vtcm_write = s->weights;
    }
    add_swaps(m, op, s, per_ns);
    qv_piece *p = add(m, op, s->engines & QT_HMX ? QV_HMX : QV_HVX, qv_op_type(m->r, op),
                      s->run * per_ns, s->end * per_ns);
    p->vtcm_read = s->reads;
    p->vtcm_write = s->writes;
}

static bool add_pieces(making *m) {
    qv_run *r = m->r;
    const qt_optrace *t = m->t;
    uint32_t n = r->modelled ? t->n_steps : t->n_ran;
    r->list = qrn_arena_alloc(m->arena, (4 * (size_t)n + 1) * sizeof *r->list);
    if (!r->list)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t op = op_of(r->s, r->modelled ? t->steps[i].id : t->ran[i].id);
        if (r->zoomed && (op == QT_NO_INDEX || !m->kept[op]))
            continue;
        if (r->modelled) {
            add_step(m, &t->steps[i], op);
        } else {
            double at = (double)(t->ran[i].begin - t->ran[0].begin) / t->ticks_per_us;
            double us = (double)(t->ran[i].end - t->ran[i].begin) / t->ticks_per_us;
            add(m, op, QV_HOST, qv_op_type(r, op), at * r->per_us, (at + us) * r->per_us);
        }
    }
    return true;
}

// --- the VTCM

// What is taken while a step runs, from step to step.
static bool add_levels(making *m) {
    qv_run *r = m->r;
    const qt_schematic *s = r->s;
    uint32_t n = r->modelled ? m->t->n_steps : 0;
    int64_t *change = qrn_arena_alloc(m->arena, (n + (size_t)1) * sizeof *change);
    r->vtcm = qrn_arena_alloc(m->arena, (n + (size_t)1) * sizeof *r->vtcm);
    if (!change || !r->vtcm)
        return false;
    for (uint32_t i = 0; i < s->n_places && n; i++) {
        uint32_t first = op_of(s, s->places[i].first), last = op_of(s, s->places[i].last);
        first = first == QT_NO_INDEX ? first : m->step[first];
        last = last == QT_NO_INDEX ? last : m->step[last];
        if (first != QT_NO_INDEX && last != QT_NO_INDEX && first <= last) {
            change[first] += s->places[i].bytes;
            change[last + 1] -= s->places[i].bytes;
        }
    }
    int64_t taken = 0;
    for (uint32_t i = 0; i < n; i++) {
        double at = m->t->steps[i].begin * r->per_us / 1e3;
        double end = m->t->steps[i].end * r->per_us / 1e3;
        taken += change[i];
        if (end <= r->begin || at >= r->end)
            continue;
        r->vtcm[r->n_vtcm++] = (qv_level){at, (uint64_t)taken};
        r->peak_vtcm = (uint64_t)taken > r->peak_vtcm ? (uint64_t)taken : r->peak_vtcm;
    }
    if (r->n_vtcm)
        r->vtcm[r->n_vtcm++] = (qv_level){r->end, 0};
    return true;
}

static void bound(qv_run *r) {
    for (uint32_t i = 0; i < r->n; i++) {
        r->begin = i && r->begin < r->list[i].begin ? r->begin : r->list[i].begin;
        r->end = i && r->end > r->list[i].end ? r->end : r->list[i].end;
    }
}

bool qv_run_make(qrn_arena *a, const qt_schematic *s, const qt_optrace *t, qv_zoom zoom,
                 qv_run *out) {
    *out = (qv_run){.s = s, .modelled = t->n_steps > 0, .zoomed = zoom.start != NULL};
    making m = {.arena = a, .r = out, .t = t};
    out->per_us = out->modelled ? (double)t->clock_hz / 1e6 : 1e3;
    bool ok = link_ops(&m);
    if (ok && out->zoomed && !zoom_in(&m, zoom))
        return false;
    ok = ok && add_pieces(&m);
    if (ok)
        bound(out);
    ok = ok && add_levels(&m) && qv_find_path(a, out);
    if (!ok)
        qt_error("out of memory");
    return ok;
}
