// SPDX-License-Identifier: MIT
//
// Writers of op traces and schematics. Little-endian, no padding, texts with a 32-bit length.
#include "backend/htp/profile/optrace.h"

#include "backend/htp/profile/events.h"
#include "backend/htp/power/power.h"
#include "backend/htp/profile/modelled.h"
#include "base/mem.h"
#include "base/outfile.h"

#include <stdio.h>
#include <string.h>

#define FORMAT_VERSION 3u

// A block that grows; `failed` sticks, so that writers need not look.
typedef struct block {
    unsigned char *bytes;
    size_t size, room;
    bool failed;
} block;

static void put(block *b, const void *src, size_t size) {
    if (b->failed)
        return;
    if (b->room - b->size < size) {
        size_t room = b->room * 2 + size + 256;
        void *grown = room > UINT32_MAX ? NULL : qrn_realloc(b->bytes, b->size, room);
        b->failed = !grown;
        if (!grown)
            return;
        b->bytes = grown;
        b->room = room;
    }
    memcpy(b->bytes + b->size, src, size);
    b->size += size;
}

static void put_u32(block *b, uint32_t v) {
    unsigned char le[4] = {(unsigned char)v, (unsigned char)(v >> 8), (unsigned char)(v >> 16),
                           (unsigned char)(v >> 24)};
    put(b, le, sizeof le);
}

static void put_u64(block *b, uint64_t v) {
    put_u32(b, (uint32_t)v);
    put_u32(b, (uint32_t)(v >> 32));
}

static void put_text(block *b, const char *s) {
    size_t n = strlen(s);
    put_u32(b, (uint32_t)n);
    put(b, s, n);
}

static void put_header(block *b, const char magic[8], const qrn_api_graph *g) {
    put(b, magic, 8);
    put_u32(b, FORMAT_VERSION);
    put_text(b, g->ir->name);
}

static void finish(qrn_api_profile *p, uint32_t parent, block *b, const char *file,
                   const char *what) {
    if (!b->failed)
        qrn_profile_add_object(p, parent, QNN_PROFILE_EVENTTYPE_TRACE, b->bytes, (uint32_t)b->size,
                               file, what);
    qrn_free(b->bytes);
}

static uint64_t bytes_of(const qrn_plan *p, const uint32_t *values, uint32_t n) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += values[i] == UINT32_MAX ? 0 : p->values[values[i]].size_bytes;
    return sum;
}

static uint32_t op_of(const qrn_htp_modelled *m, uint32_t slot) {
    return m->node_of[slot] == UINT32_MAX ? UINT32_MAX : QRN_HTP_OP_FIRST + m->node_of[slot];
}

// Bytes that a step moves: its weights, activations from and to DDR, what its unit reads and
// writes.
static void put_traffic(block *b, const qd_schedule *s, uint32_t step, uint32_t *swap) {
    const qd_slot *x = &s->slots[step];
    uint64_t moved[2] = {0, 0};
    for (; *swap < s->n_swaps && s->swaps[*swap].step == step; ++*swap)
        moved[!s->swaps[*swap].fill] += s->swaps[*swap].bytes;
    put_u64(b, (uint64_t)x->weight_bytes);
    put_u64(b, moved[0]);
    put_u64(b, moved[1]);
    put_u64(b, (uint64_t)(x->in_bytes + x->weight_bytes));
    put_u64(b, (uint64_t)x->out_bytes);
}

// Modelled steps, in nanoseconds from the call on, and the clock of full power that they assume.
static void put_steps(block *b, const qrn_htp_modelled *m) {
    uint32_t n = m ? m->x.s.n_slots : 0, swap = 0;
    put_u64(b, m ? qrn_htp_corner_hz(DCVS_VOLTAGE_VCORNER_MAX_VOLTAGE_CORNER, 0) : 0);
    put_u32(b, n);
    for (uint32_t i = 0; i < n; i++) {
        const qd_slot *x = &m->x.s.slots[i];
        const double us[] = {x->begin,     x->run,        x->end,     x->fetch.begin,
                             x->fetch.end, x->swap.begin, x->swap.end};
        put_u32(b, op_of(m, i));
        put_u32(b, x->engines);
        for (size_t k = 0; k < sizeof us / sizeof us[0]; k++)
            put_u64(b, (uint64_t)(us[k] * 1e3));
        put_traffic(b, &m->x.s, i, &swap);
    }
}

// Modelled places in the VTCM.
static void put_places(block *b, const qrn_htp_modelled *m) {
    uint32_t n = m ? m->x.s.n_tiles : 0;
    put_u32(b, m ? m->x.s.vtcm_bytes : 0);
    put_u32(b, n);
    for (uint32_t i = 0; i < n; i++) {
        const qd_tile *t = &m->x.s.tiles[i];
        const uint32_t words[] = {t->value, t->weights,         t->offset,
                                  t->bytes, op_of(m, t->first), op_of(m, t->last)};
        for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
            put_u32(b, words[k]);
    }
}

void qrn_htp_optrace_execute(qrn_api_profile *p, uint32_t parent, const qrn_call_record *r) {
    if (!r->node_times)
        return;
    const qrn_plan *plan = qrn_runner_plan(r->graph->runner);
    block b = {0};
    put_header(&b, "QRNTRACE", r->graph);
    put_u64(&b, 1000000000u); // ticks a second: the host's monotonic clock
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_nodes; i++)
        n += r->node_times[i].first_ns != 0;
    put_u32(&b, n);
    for (uint32_t i = 0; i < r->n_nodes; i++) {
        const qrn_node_time *t = &r->node_times[i];
        if (!t->first_ns)
            continue;
        put_u32(&b, QRN_HTP_OP_FIRST + i);
        put_u32(&b, 0); // thread: the main one
        put_u64(&b, t->first_ns);
        put_u64(&b, t->last_ns);
        put_u64(&b, bytes_of(plan, plan->nodes[i].in, plan->nodes[i].n_in));
        put_u64(&b, bytes_of(plan, plan->nodes[i].out, plan->nodes[i].n_out));
    }
    put_steps(&b, qrn_htp_modelled_of(r->graph));
    finish(p, parent, &b, NULL, "op trace");
}

static void put_values(block *b, const uint32_t *values, uint32_t n) {
    put_u32(b, n);
    for (uint32_t i = 0; i < n; i++)
        put_u32(b, values[i]);
}

// Clients look for the schematic in the working directory, under the name of the graph. A graph
// that cannot leave it there is finalized all the same.
static void save(const block *b, const char *file, const qrn_api_graph *g) {
    if (b->failed || qrn_outfile_save(file, b->bytes, b->size) == QRN_OK)
        return;
    qrn_log(g->context->backend->log, QNN_LOG_LEVEL_WARN,
            "graph '%s': its schematic is in the profile only: %s", g->ir->name, qrn_message());
    qrn_message_clear();
}

void qrn_htp_optrace_schematic(qrn_api_profile *p, uint32_t parent, const qrn_api_graph *g) {
    const qrn_plan *plan = qrn_runner_plan(g->runner);
    block b = {0};
    put_header(&b, "QRNSCHEM", g);
    put_u32(&b, plan->n_values);
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const qrn_value *v = &plan->values[i];
        put_u32(&b, v->tensor_id);
        put_u32(&b, v->storage);
        put_u64(&b, v->storage == QRN_STORE_ARENA ? v->offset : 0);
        put_u64(&b, v->size_bytes);
        put_text(&b, v->name);
        put_u32(&b, qrn_dtypes[v->view.dtype].code);
        put_values(&b, v->view.dims, v->view.rank);
    }
    put_u32(&b, plan->n_nodes);
    for (uint32_t i = 0; i < plan->n_nodes; i++) {
        const qrn_plan_node *n = &plan->nodes[i];
        put_u32(&b, QRN_HTP_OP_FIRST + i);
        put_text(&b, n->name);
        put_text(&b, n->type);
        put_values(&b, n->in, n->n_in);
        put_values(&b, n->out, n->n_out);
    }
    qrn_htp_modelled *m = qrn_htp_modelled_make(g); // options may still change: it is not kept
    put_places(&b, m);
    qrn_htp_modelled_free(m);
    char file[256];
    snprintf(file, sizeof file, "%.200s_schematic.bin", g->ir->name);
    for (char *c = file; *c; c++) // a name is no path
        *c = *c == '/' ? '_' : *c;
    save(&b, file, g);
    finish(p, parent, &b, file, "schematic");
}
