// SPDX-License-Identifier: MIT
//
// The schedule of a graph as profile events. Cycles are modelled microseconds at the clock of full
// power, which the model assumes. A node that is fused into another one's step has 0 of them. Votes
// for less than full power leave cycles alone and lengthen the time of the call.
#include "backend/htp/profile/modelled.h"

#include "backend/htp/profile/events.h"
#include "backend/htp/power/power.h"
#include "base/mem.h"

#include "HTP/QnnHtpProfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NONE UINT32_MAX
#define MAX_TRANSFERS 10u // HTP-PRF-12

// --- one of each graph

static bool find_nodes(const qrn_api_graph *g, qrn_htp_modelled *m) {
    const qrn_plan *plan = qrn_runner_plan(g->runner);
    uint32_t *of_ir = qrn_arena_alloc(m->arena, (g->ir->n_nodes + 1) * sizeof *of_ir);
    m->slot_of = qrn_arena_alloc(m->arena, (plan->n_nodes + 1) * sizeof *m->slot_of);
    m->node_of = qrn_arena_alloc(m->arena, (m->x.s.n_slots + 1) * sizeof *m->node_of);
    m->n_nodes = plan->n_nodes;
    m->plan_of = qrn_arena_alloc(m->arena, (g->ir->n_nodes + 1) * sizeof *m->plan_of);
    if (!of_ir || !m->slot_of || !m->node_of || !m->plan_of)
        return false;
    for (uint32_t i = 0; i < g->ir->n_nodes; i++)
        of_ir[i] = m->plan_of[i] = NONE;
    for (uint32_t i = 0; i < m->x.s.n_slots; i++) {
        of_ir[m->x.s.slots[i].op] = i;
        m->node_of[i] = NONE;
    }
    // The plan has the nodes in the same order, and those of subgraphs between them.
    for (uint32_t i = 0, k = 0; i < plan->n_nodes; i++) {
        bool same = k < g->ir->n_nodes && strcmp(plan->nodes[i].name, g->ir->nodes[k]->name) == 0;
        m->slot_of[i] = same ? of_ir[k] : NONE;
        if (same)
            m->plan_of[k] = i;
        if (m->slot_of[i] != NONE)
            m->node_of[m->slot_of[i]] = i;
        k += same;
    }
    return true;
}

static qrn_htp_modelled *make(const qrn_api_graph *g) {
    qrn_arena *arena = qrn_arena_create();
    qrn_htp_modelled *m = arena ? qrn_arena_alloc(arena, sizeof *m) : NULL;
    if (m) {
        m->arena = arena;
        if (qrn_htp_schedule(g, arena, &m->x) != QRN_OK || (m->x.known && !find_nodes(g, m)))
            m = NULL;
    }
    if (!m) {
        qrn_message_clear();
        qrn_arena_destroy(arena);
    }
    return m;
}

const qrn_htp_modelled *qrn_htp_modelled_of(const qrn_api_graph *g) {
    qrn_htp_graph *impl = qrn_htp_graph_of(g);
    qrn_htp_modelled *m = atomic_load(&impl->modelled), *none = NULL;
    if (!m) {
        m = make(g);
        if (m && !atomic_compare_exchange_strong(&impl->modelled, &none, m)) {
            qrn_arena_destroy(m->arena);
            m = none; // another thread's
        }
    }
    return m && m->x.known ? m : NULL;
}

void qrn_htp_modelled_drop(qrn_htp_graph *g) {
    qrn_htp_modelled_free(atomic_exchange(&g->modelled, NULL));
}

qrn_htp_modelled *qrn_htp_modelled_make(const qrn_api_graph *g) {
    qrn_htp_modelled *m = make(g);
    if (m && m->x.known)
        return m;
    qrn_htp_modelled_free(m);
    return NULL;
}

void qrn_htp_modelled_free(qrn_htp_modelled *m) {
    if (m)
        qrn_arena_destroy(m->arena);
}

// --- events

typedef struct writing {
    qrn_api_profile *p;
    const qrn_plan *plan;
    const qrn_htp_modelled *m;
    double per_us; // cycles
} writing;

static uint64_t cycles(const writing *w, double us) { return (uint64_t)(us * w->per_us); }

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static const qd_slot *slot_at(const writing *w, uint32_t node) {
    uint32_t slot = w->m->slot_of[node];
    return slot == NONE ? NULL : &w->m->x.s.slots[slot];
}

static uint32_t add_node(const writing *w, uint32_t parent, uint32_t node, uint64_t value) {
    char text[256];
    snprintf(text, sizeof text, "%s:OpId_%" PRIu32 " (cycles, modelled)", w->plan->nodes[node].name,
             QRN_HTP_OP_FIRST + node);
    return qrn_profile_add(w->p, parent, QRN_HTP_EVENT_MODELLED_NODE, QNN_PROFILE_EVENTUNIT_CYCLES,
                           value, text);
}

static uint32_t add(const writing *w, uint32_t parent, uint32_t type, uint32_t unit, uint64_t value,
                    const char *text) {
    return qrn_profile_add(w->p, parent, type, unit, value, text);
}

// One transfer, if it runs between two moments.
static bool list_transfer(const writing *w, uint32_t parent, const qd_slot *x, bool swap,
                          double begin, double end) {
    qd_span t = swap ? x->swap : x->fetch;
    double from = t.begin > begin ? t.begin : begin, to = t.end < end ? t.end : end;
    char text[256];
    if (to <= from)
        return false;
    snprintf(text, sizeof text, "%s of %s (DMA, modelled)", swap ? "spill and fill" : "weights",
             x->name);
    add(w, parent, QRN_HTP_EVENT_MODELLED_TRANSFER, QNN_PROFILE_EVENTUNIT_CYCLES,
        cycles(w, to - from), text);
    return true;
}

// Which transfers run between two moments, those of step `first` and later ones.
static void list_transfers(const writing *w, uint32_t parent, uint32_t first, double begin,
                           double end) {
    const qd_schedule *s = &w->m->x.s;
    uint32_t n = 0;
    for (uint32_t i = first; i < s->n_slots && n < MAX_TRANSFERS; i++) {
        i = s->slots[i].next;
        if (i == s->n_slots || s->slots[i].fetch.begin >= end)
            break;
        for (int k = 0; k < 2 && n < MAX_TRANSFERS; k++)
            n += list_transfer(w, parent, &s->slots[i], k == 1, begin, end);
    }
}

// What linting says of a node; a background transfer that it waits for is no overlap.
static void add_linting(const writing *w, uint32_t parent, uint32_t slot, uint64_t spent,
                        uint64_t wait) {
    const qd_schedule *s = &w->m->x.s;
    const qd_slot none = {0}, *x = slot == NONE ? &none : &s->slots[slot];
    const uint32_t unit = QNN_PROFILE_EVENTUNIT_CYCLES;
    double overlap = slot == NONE ? 0 : qd_overlap(s, slot);
    double waiting = slot == NONE ? 0 : qd_overlap_waiting(s, slot);
    add(w, parent, QNN_HTP_PROFILE_EVENTTYPE_NODE_WAIT, unit, wait, "Wait (Scheduler) time");
    uint32_t over = add(w, parent, QNN_HTP_PROFILE_EVENTTYPE_NODE_OVERLAP, unit,
                        least(spent, cycles(w, overlap)), "Overlap time");
    if (overlap > 0)
        list_transfers(w, over, slot, x->run, x->end);
    over = add(w, parent, QNN_HTP_PROFILE_EVENTTYPE_NODE_WAIT_OVERLAP, unit,
               least(wait, cycles(w, waiting)), "Overlap (wait) time");
    if (waiting > 0)
        list_transfers(w, over, slot + 1, x->begin, x->run);
    add(w, parent, QNN_HTP_PROFILE_EVENTTYPE_NODE_RESOURCEMASK, QNN_PROFILE_EVENTUNIT_NONE,
        x->engines, "Resources");
}

// Detailed: a node's time with its control and waits; linting: its unit's, and waits apart.
static uint64_t spent_of(const writing *w, const qd_slot *x, bool linting) {
    return x ? cycles(w, x->end - (linting ? x->run : x->begin)) : 0;
}

static uint64_t wait_of(const writing *w, const qd_slot *x) {
    return x ? cycles(w, x->run - x->begin) : 0;
}

// Units and control take longer in proportion to the core's clock; memory traffic stays as it is:
// nobody measured what bus votes do.
static void add_time(const writing *w, double full_hz) {
    const qd_schedule *s = &w->m->x.s;
    uint64_t hz = qrn_htp_clock_hz();
    char text[96];
    snprintf(text, sizeof text, "Accelerator (execute) time (modelled at %" PRIu64 " MHz)",
             hz / 1000000u);
    add(w, QRN_PROFILE_TOP, QRN_HTP_EVENT_MODELLED_TIME, QNN_PROFILE_EVENTUNIT_MICROSEC,
        (uint64_t)qd_total(0, s->core * full_hz / (double)hz, s->memory), text);
}

static double part_of(double part, double whole) {
    return whole > 0 ? part < whole ? part / whole : 1 : 0;
}

qrn_htp_shares qrn_htp_overlap_shares(const qrn_api_graph *g, uint32_t node) {
    const qrn_htp_modelled *m = qrn_htp_modelled_of(g);
    uint32_t slot = m && node < m->n_nodes ? m->slot_of[node] : NONE;
    if (slot == NONE)
        return (qrn_htp_shares){0};
    const qd_slot *x = &m->x.s.slots[slot];
    return (qrn_htp_shares){part_of(qd_overlap(&m->x.s, slot), x->end - x->run),
                            part_of(qd_overlap_waiting(&m->x.s, slot), x->run - x->begin)};
}

void qrn_htp_record_modelled(qrn_api_profile *p, const qrn_api_graph *g, bool linting) {
    const qrn_htp_modelled *m = qrn_htp_modelled_of(g);
    if (!m)
        return;
    double full_hz = (double)qrn_htp_corner_hz(DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER, 0);
    const writing w = {.p = p, .plan = qrn_runner_plan(g->runner), .m = m, .per_us = full_hz / 1e6};
    uint64_t sum = 0; // of what is reported, so that the parts make up the whole
    for (uint32_t i = 0; i < m->n_nodes; i++)
        sum += spent_of(&w, slot_at(&w, i), linting) + (linting ? wait_of(&w, slot_at(&w, i)) : 0);
    uint32_t top =
        add(&w, QRN_PROFILE_TOP, QRN_HTP_EVENT_MODELLED, QNN_PROFILE_EVENTUNIT_CYCLES, sum,
            linting ? "Accelerator (critical path execute) time (cycles, modelled)"
                    : "Accelerator (execute) time (cycles, modelled)");
    for (uint32_t i = 0; i < m->n_nodes; i++) {
        const qd_slot *x = slot_at(&w, i);
        uint64_t spent = spent_of(&w, x, linting);
        uint32_t node = add_node(&w, top, i, spent);
        if (linting)
            add_linting(&w, node, m->slot_of[i], spent, wait_of(&w, x));
    }
    add_time(&w, full_hz);
}
